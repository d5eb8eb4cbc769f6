//! Computing without the GIL, so that signals and a caller's function for progress are served meanwhile.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use broadloom::{Control, Error, Progress};
use pyo3::prelude::*;

use crate::error::exception;

/// Element operations from which on a run is watched for signals: some tenths of a second. Shorter runs end before anyone
/// presses a key, and are not cut into chunks.
const LONG: usize = 1 << 28;

/// How often a watched run takes the GIL.
const INTERVAL: Duration = Duration::from_millis(50);

/// Computes with the GIL released. A long run, or one with a function for progress, looks after signals: an exception that
/// a signal handler or the function raises cancels the run and is raised in its place.
///
/// `operations` is the number of elements times that of the operations on them.
pub fn compute<T: Send>(
    py: Python<'_>,
    operations: usize,
    progress: Option<&Bound<'_, PyAny>>,
    run: impl FnOnce(Option<&Control<'_>>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    if operations < LONG && progress.is_none() {
        return py.detach(|| run(None)).map_err(|error| exception(&error));
    }
    let progress = progress.map(|function| function.clone().unbind());
    let cancel = AtomicBool::new(false);
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let caller = std::thread::current().id();
    let last = Mutex::new(Instant::now());
    let total = AtomicUsize::new(0);
    let note = |made: Progress| {
        total.store(made.total, Ordering::Relaxed);
        if std::thread::current().id() != caller {
            return;
        }
        let Ok(mut last) = last.lock() else { return };
        if last.elapsed() < INTERVAL {
            return;
        }
        *last = Instant::now();
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |function| function.call1(py, (made.done, made.total)).map(drop))
        });
        if let Err(error) = outcome {
            if let Ok(mut raised) = raised.lock() {
                raised.get_or_insert(error);
            }
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let result = py.detach(|| run(Some(&Control { cancel: Some(&cancel), progress: Some(&note) })));
    if let Ok(Some(error)) = raised.into_inner() {
        return Err(error);
    }
    let value = result.map_err(|error| exception(&error))?;
    if let Some(function) = &progress {
        let total = total.into_inner();
        function.call1(py, (total, total))?;
    }
    Ok(value)
}
