//! Runs the engine with the GIL released, while Python's signals and a progress callback are served.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::{Control, Error, Progress};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::exception;

/// Computes with the GIL released. A run that takes more than some milliseconds, or that has a progress callback, takes the GIL
/// every 50 ms to serve pending Python work: an exception raised by a signal handler, by the callback or by another thread
/// cancels the run and is raised instead.
pub fn compute<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    run: impl FnOnce(&Control<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let progress = progress.map(|function| function.clone().unbind());
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let (done, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let note = |made: Progress| {
        done.fetch_max(made.done, Ordering::Relaxed);
        total.store(made.total, Ordering::Relaxed);
    };
    let poll = || {
        let outcome = Python::try_attach(|py| {
            serve(py)?;
            let reached = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
            match &progress {
                Some(function) if reached.1 > 0 => function.call1(py, reached).map(drop),
                _ => Ok(()),
            }
        });
        match outcome {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                if let Ok(mut raised) = raised.lock() {
                    raised.get_or_insert(error);
                }
                false
            }
            // The interpreter is shutting down, so the result is not needed.
            None => false,
        }
    };
    let told: Option<&(dyn Fn(Progress) + Sync)> = if progress.is_some() { Some(&note) } else { None };
    let control = Control { progress: told, poll: Some(&poll), ..Control::default() };
    let result = py.detach(|| run(&control));
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

/// Runs the pending Python work of this thread: signal handlers in the main thread, and an exception that another thread has set
/// by `PyThreadState_SetAsyncExc`. Such an exception is raised when Python code starts to run.
fn serve(py: Python<'_>) -> PyResult<()> {
    static NOTHING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    py.check_signals()?;
    let nothing = NOTHING.get_or_try_init(py, || py.eval(c"lambda: None", None, None).map(Bound::unbind))?;
    nothing.call0(py).map(drop)
}
