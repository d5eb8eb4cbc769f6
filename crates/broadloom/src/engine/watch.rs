//! Progress and cancellation of a run.
//!
//! A run that is watched is cut into chunks, which look at the caller's flag before they begin, and report when they end. A
//! chunk that has begun is finished; nothing is held or borrowed while the caller's function runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom_core::{Error, ErrorKind, Result};

/// How a run can be watched and stopped.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use broadloom::prelude::*;
/// use broadloom::{Control, ErrorKind, Kernel, Options};
///
/// let x = Array::input("x", DType::Float64, &["n".into()])?;
/// let kernel = Kernel::new(&[&x.exp()], &[&x], &Options::default())?;
/// let (data, mut out) = (vec![0.5_f64; 1000], vec![0.0_f64; 1000]);
///
/// let stop = AtomicBool::new(true); // another thread's to set
/// let control = Control { cancel: Some(&stop), ..Control::default() };
/// let e = kernel.run_with(&[(&data[..]).into()], [(&mut out[..]).into()], &control).unwrap_err();
/// assert_eq!(e.kind(), ErrorKind::Cancelled);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Control<'c> {
    /// Looked at before each chunk, some 100 000 elements: once it is true, the run ends with an error of kind
    /// [`Cancelled`](ErrorKind::Cancelled).
    pub cancel: Option<&'c AtomicBool>,
    /// Called after each chunk, from the thread that computed it: on several threads at once, and not in order. The
    /// floating-point environment is the IEEE default.
    pub progress: Option<&'c (dyn Fn(Progress) + Sync)>,
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Control {{ cancel: {:?}, progress: {} }}", self.cancel, self.progress.is_some())
    }
}

/// How far a run is: in elements of all of its loops together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Elements that are computed.
    pub done: usize,
    /// Elements to compute.
    pub total: usize,
}

/// A run that is watched.
pub(crate) struct Watch<'w> {
    control: &'w Control<'w>,
    done: AtomicUsize,
    total: usize,
}

impl<'w> Watch<'w> {
    /// Elements of a chunk, at most: some 20 µs of a cheap body, and some milliseconds of the costliest.
    pub(super) const CHUNK: usize = 1 << 17;

    pub fn new(control: &'w Control<'w>, total: usize) -> Watch<'w> {
        Watch { control, done: AtomicUsize::new(0), total }
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<()> {
        match self.control.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => {
                let (done, total) = (self.done.load(Ordering::Relaxed), self.total);
                let why = format!("the run was cancelled after {done} of {total} elements");
                Err(Error::new(ErrorKind::Cancelled, why))
            }
            _ => Ok(()),
        }
    }

    /// Notes that a chunk is done.
    pub(super) fn done(&self, elements: usize) {
        let done = self.done.fetch_add(elements, Ordering::Relaxed) + elements;
        if let Some(progress) = self.control.progress {
            progress(Progress { done, total: self.total });
        }
    }
}
