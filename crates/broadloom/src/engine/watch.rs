//! Progress, cancellation and time limits of a run.
//!
//! Everything that can run long calls [`Watch::check`] at intervals of bounded time: between the parts of a stage, between tiles
//! and stretches of a reduction, and while it waits for another thread. An exceeded time limit ends a run as a cancellation does.
//! No lock or borrow is held while a function of the application runs.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use broadloom_core::{Error, ErrorKind, Result};

use crate::engine::options::Options;

/// The means to watch and stop a run of a kernel, or an evaluation of arrays.
///
/// It is an argument of [`Kernel::run_with`](crate::Kernel::run_with) and [`Call::run_with`](crate::Call::run_with), of
/// [`Evaluation::control`](crate::Evaluation::control).
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
/// let stop = AtomicBool::new(true); // another thread may set it
/// let control = Control { cancel: Some(&stop), ..Control::default() };
/// let e = kernel.run_with(&[(&data[..]).into()], [(&mut out[..]).into()], &control).unwrap_err();
/// assert_eq!(e.kind(), ErrorKind::Cancelled);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Control<'c> {
    /// Once it is true, the run ends with an error of kind [`Cancelled`](ErrorKind::Cancelled). It is checked before anything is
    /// planned, while this thread waits for another one to compile a kernel, and before each chunk of a loop. A chunk has at most
    /// 131 072 elements, and fewer (down to 256) if functions are computed. A run without `progress` and without host functions
    /// that is estimated to take less than 10 ms on one thread is one chunk. Any thread may set it, and so may a signal handler.
    pub cancel: Option<&'c AtomicBool>,
    /// Called after each chunk, on the thread that computed it; calls on several threads may overlap and come in any order. The
    /// floating-point environment is the IEEE default. A panic in the function ends the run as soon as the chunks that have begun
    /// are done, and is resumed on the calling thread.
    pub progress: Option<&'c (dyn Fn(Progress) + Sync)>,
    /// Returns whether to continue. It is called where `cancel` is checked, but only on the calling thread, and at most every 50
    /// ms. Once it returns false, the run ends as if `cancel` were set. It is meant for applications that have to poll, such as
    /// the interpreter of a language that checks for signals.
    pub poll: Option<&'c (dyn Fn() -> bool + Sync)>,
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (progress, poll) = (self.progress.is_some(), self.poll.is_some());
        write!(f, "Control {{ cancel: {:?}, progress: {progress}, poll: {poll} }}", self.cancel)
    }
}

impl Control<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Checks whether a call that has not begun is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::new(ErrorKind::Cancelled, "the run was cancelled before it began")),
            false => Ok(()),
        }
    }
}

/// The progress of a run, in elements of all of its loops together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of elements computed so far.
    pub done: usize,
    /// The number of elements to compute.
    pub total: usize,
}

/// The work of a plan: the number of elements that it reads and computes, and an estimate of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// The number of elements of all loops, including those that are reduced.
    pub elements: usize,
    /// A high estimate of the nanoseconds on one thread. It is infinite with host functions, whose cost is unknown.
    pub time: f64,
}

impl Work {
    /// The sum of the work of two plans.
    pub(crate) fn and(self, other: Work) -> Work {
        Work { elements: self.elements.saturating_add(other.elements), time: self.time + other.time }
    }
}

/// A run that is estimated to take at least this many nanoseconds is watched.
const LONG: f64 = 10e6;
/// A run is also watched if its estimated time is at least the time limit divided by this.
const MARGIN: f64 = 16.0;
/// The minimum time between two calls of [`Control::poll`].
const POLL: Duration = Duration::from_millis(50);

/// The watch of a call: its control, its time limit, and its progress.
pub(crate) struct Watch<'w> {
    control: Control<'w>,
    began: Instant,
    limit: Option<Duration>,
    /// The calling thread, the only thread that calls the poll function.
    caller: ThreadId,
    /// The time of the last call of the poll function, in nanoseconds from the beginning.
    polled: AtomicU64,
    /// Whether the poll function has returned false.
    refused: AtomicBool,
    done: AtomicUsize,
    /// The number of elements of all loops; 0 before they are planned.
    total: usize,
}

impl<'w> Watch<'w> {
    /// The watch of a call that begins now; `None` if there is neither a control nor a time limit.
    ///
    /// Errors: the call was already cancelled.
    pub(crate) fn begin(control: Option<&Control<'w>>, options: &Options) -> Result<Option<Watch<'w>>> {
        if control.is_none() && options.max_time.is_none() {
            return Ok(None);
        }
        let watch = Watch {
            control: control.copied().unwrap_or_default(),
            began: Instant::now(),
            limit: options.max_time,
            caller: std::thread::current().id(),
            polled: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            total: 0,
        };
        watch.check().map(|()| Some(watch))
    }

    /// Adds the work to a watch, once the work is known. Returns `None` for a call that is too short to be worth watching.
    ///
    /// Errors: those of [`Watch::check`].
    pub(crate) fn over(watch: Option<Watch<'w>>, work: Work) -> Result<Option<Watch<'w>>> {
        let Some(mut watch) = watch else { return Ok(None) };
        watch.check()?;
        watch.total = work.elements;
        Ok(is_long(Some(&watch.control), watch.limit, work).then_some(watch))
    }

    /// Returns an error if the call is cancelled or its time limit exceeded.
    pub(crate) fn check(&self) -> Result<()> {
        let control = &self.control;
        if control.is_cancelled() || self.refused.load(Ordering::Relaxed) {
            return Err(self.error(ErrorKind::Cancelled, "the run was cancelled"));
        }
        if self.limit.is_none() && control.poll.is_none() {
            return Ok(());
        }
        let now = self.began.elapsed();
        if let Some(limit) = self.limit
            && now >= limit
        {
            let why = format!("the run was stopped by its time limit of {limit:?}");
            return Err(self
                .error(ErrorKind::TimeLimit, &why)
                .with_help("the option max_time sets the limit"));
        }
        match control.poll {
            Some(poll) if !self.poll(poll, now) => {
                self.refused.store(true, Ordering::Relaxed);
                Err(self.error(ErrorKind::Cancelled, "the run was cancelled"))
            }
            _ => Ok(()),
        }
    }

    /// Calls the application's poll function, if this is the calling thread and the last call was long enough ago. Returns
    /// whether to continue.
    fn poll(&self, poll: &(dyn Fn() -> bool + Sync), now: Duration) -> bool {
        let now = now.as_nanos() as u64;
        let is_due = now.saturating_sub(self.polled.load(Ordering::Relaxed)) >= POLL.as_nanos() as u64;
        if !is_due || std::thread::current().id() != self.caller {
            return true;
        }
        self.polled.store(now, Ordering::Relaxed);
        poll()
    }

    #[cold]
    fn error(&self, kind: ErrorKind, what: &str) -> Error {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total);
        match total {
            0 => Error::new(kind, format!("{what} before it began")),
            _ => Error::new(kind, format!("{what} after {done} of {total} elements")),
        }
    }

    /// Counts elements as done.
    pub(super) fn done(&self, elements: usize) {
        if elements == 0 {
            return;
        }
        let done = self.done.fetch_add(elements, Ordering::Relaxed) + elements;
        if let Some(progress) = self.control.progress {
            progress(Progress { done, total: self.total });
        }
    }
}

/// Whether a run has to be watched: it reports progress, or by its estimated time it may have to be stopped.
pub(crate) fn is_long(control: Option<&Control<'_>>, limit: Option<Duration>, work: Work) -> bool {
    if control.is_none() && limit.is_none() {
        return false;
    }
    let least = limit.map_or(LONG, |limit| (limit.as_secs_f64() * 1e9 / MARGIN).min(LONG));
    work.time >= least || control.is_some_and(|control| control.progress.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched() {
        let work = |time| Work { elements: 1, time };
        let (flag, told) = (Control::default(), Control { progress: Some(&|_| ()), ..Control::default() });
        let second = Some(Duration::from_secs(1));
        // Without a control and a limit, nothing can stop a run.
        assert!(!is_long(None, None, work(f64::INFINITY)));
        assert!(!is_long(Some(&flag), None, work(9e6)) && is_long(Some(&flag), None, work(11e6)));
        assert!(is_long(Some(&told), None, work(1.0)) && is_long(Some(&flag), None, work(f64::INFINITY)));
        assert!(!is_long(None, second, work(9e6)) && is_long(None, second, work(11e6)));
        let short = Some(Duration::from_millis(16));
        assert!(!is_long(None, short, work(0.9e6)) && is_long(None, short, work(1.1e6)));
        assert!(is_long(None, Some(Duration::ZERO), work(0.0)));
    }
}
