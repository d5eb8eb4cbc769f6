//! Progress and cancellation of a run.
//!
//! A run that is watched is cut into chunks of a bounded size, which look at the caller's flag before they begin, and report
//! when they end. A chunk that has begun is finished; nothing is held or borrowed while the caller's function runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom_core::{Error, ErrorKind, Result};

/// How a run of a kernel, or an evaluation of arrays, can be watched and stopped.
///
/// It goes to [`Kernel::run_with`](crate::Kernel::run_with) and [`Call::run_with`](crate::Call::run_with), to
/// [`Array::eval_watched`](crate::Array::eval_watched) and its like, and to
/// [`eval_many_watched`](crate::eval_many_watched).
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
    /// Once it is true, the run ends with an error of kind [`Cancelled`](ErrorKind::Cancelled). It is looked at before
    /// anything is planned and before each chunk, which is 131 072 elements at most, and fewer (down to some 16 384) where
    /// they are estimated to take more than two milliseconds; also while another thread compiles what this one waits for.
    /// Any thread may set it, and a signal handler.
    pub cancel: Option<&'c AtomicBool>,
    /// Called after each chunk, from the thread that computed it: on several threads at once, and not in order. The
    /// floating-point environment is the IEEE default. A panic of it ends the run, as soon as the chunks that have begun
    /// are done, and goes on in the thread that runs or evaluates.
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

impl Control<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

/// A run that is watched.
pub(crate) struct Watch<'w> {
    control: &'w Control<'w>,
    done: AtomicUsize,
    /// Elements of all loops; 0 before they are planned.
    pub total: usize,
}

impl<'w> Watch<'w> {
    /// Elements of a chunk, at most: some 20 µs of a cheap body.
    pub(super) const CHUNK: usize = 1 << 17;
    /// Estimated nanoseconds of a chunk, at most.
    const CHUNK_TIME: f64 = 2e6;

    /// How many chunks a loop over so many elements is cut into, which takes so many nanoseconds on one thread.
    pub(super) fn chunks(elements: usize, time: f64) -> usize {
        let by_time = (time / Watch::CHUNK_TIME) as usize + 1;
        elements.div_ceil(Watch::CHUNK).max(by_time).min(elements)
    }

    pub fn new(control: &'w Control<'w>) -> Watch<'w> {
        Watch { control, done: AtomicUsize::new(0), total: 0 }
    }

    /// Whether to go on.
    pub fn check(&self) -> Result<()> {
        if !self.control.is_cancelled() {
            return Ok(());
        }
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total);
        let why = match total {
            0 => "the run was cancelled before it began".to_owned(),
            _ => format!("the run was cancelled after {done} of {total} elements"),
        };
        Err(Error::new(ErrorKind::Cancelled, why))
    }

    /// Notes that a chunk is done.
    pub(super) fn done(&self, elements: usize) {
        let done = self.done.fetch_add(elements, Ordering::Relaxed) + elements;
        if let Some(progress) = self.control.progress {
            progress(Progress { done, total: self.total });
        }
    }
}
