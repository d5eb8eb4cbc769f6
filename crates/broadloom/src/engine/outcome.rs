//! The shared outcome of the threads that work on a stage: the first failure, a panic, divisions by zero.
//!
//! Once a thread has failed, no further part is begun. A panic of the application's progress function is resumed on the caller's
//! thread, after all threads have stopped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, LoopRun, catch_failure};
use smallvec::SmallVec;

use crate::engine::options::Options;
use crate::engine::watch::Watch;
use crate::engine::workers;

/// The outcome of a stage's work, written by all threads and read by the caller.
pub(crate) struct Outcome<'o> {
    /// One byte for each checked division: 0, or 1 after a division by zero.
    faults: SmallVec<[AtomicU8; 8]>,
    /// Whether a part has failed, so that no further part is begun.
    stopped: AtomicBool,
    /// The failure that stopped the work.
    failure: OnceLock<Error>,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    watch: Option<&'o Watch<'o>>,
    /// Whether finished elements are reported to the watch.
    counts: bool,
    /// Whether a host function may fail.
    can_fail: bool,
    /// The lowest number of an element that has not ended a loop ([`LoopRun::endless`]).
    endless: AtomicU64,
}

/// Counts the elements that a thread has processed, and checks after every `every` elements whether to continue.
pub(crate) struct Pace<'p> {
    outcome: &'p Outcome<'p>,
    every: usize,
    /// The number of elements processed since the last check, and the number of them that count as progress.
    since: usize,
    done: usize,
}

impl<'o> Outcome<'o> {
    /// The outcome of a stage with this many checked divisions.
    pub(crate) fn new(sites: usize, can_fail: bool, watch: Option<&'o Watch<'o>>) -> Outcome<'o> {
        Outcome {
            faults: (0..sites).map(|_| AtomicU8::new(0)).collect(),
            stopped: AtomicBool::new(false),
            failure: OnceLock::new(),
            panic: Mutex::new(None),
            watch,
            counts: true,
            can_fail,
            endless: AtomicU64::new(u64::MAX),
        }
    }

    /// This outcome, for work whose elements are counted elsewhere.
    pub(crate) fn uncounted(self) -> Outcome<'o> {
        Outcome { counts: false, ..self }
    }

    /// Runs `work`, which takes parts until none remain, on this thread and on up to `threads` - 1 others.
    ///
    /// Errors: the first failure.
    pub(crate) fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<()> {
        if threads > 1 {
            // While the calling thread waits, it checks for cancellation, since only this thread may call the application's poll
            // function.
            let look = || self.beside_others(&|| self.go_on().unwrap_or_else(|error| self.fail(error)));
            let meanwhile = self.watch.map(|_| &look as &dyn Fn());
            workers::share(threads, &|| self.beside_others(work), meanwhile)?;
        } else {
            work();
        }
        if let Some(panic) = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(panic);
        }
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Runs `work` as one of several threads. A panic stops all of them, and is kept to be resumed on the calling thread.
    fn beside_others(&self, work: &(dyn Fn() + Sync)) {
        let _ieee = FloatEnv::ieee();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.stopped.store(true, Ordering::Relaxed);
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }

    /// Whether no further part may be begun.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Stops the work of all threads.
    pub(crate) fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        // The order ensures that a thread which sees the flag also sees the failure.
        self.stopped.store(true, Ordering::Release);
    }

    /// Runs a part of this many elements, unless the run was cancelled.
    pub(crate) fn part(&self, elements: usize, run: impl FnOnce() -> Result<()>) {
        let run = || {
            self.go_on()?;
            run()
        };
        if let Err(failure) = if self.can_fail { failing(run) } else { run() } {
            self.fail(failure);
        }
        self.count(elements);
    }

    /// The watch of the run, if any.
    pub(crate) fn watch(&self) -> Option<&'o Watch<'o>> {
        self.watch
    }

    /// Whether the run is watched.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns an error once the run was cancelled or another thread has failed.
    pub(crate) fn go_on(&self) -> Result<()> {
        let Some(watch) = self.watch else { return Ok(()) };
        if self.has_stopped() {
            // This error is not reported: the caller gets the failure that stopped the other threads.
            return Err(Error::new(ErrorKind::Cancelled, "another part failed"));
        }
        watch.check()
    }

    /// Returns an error once the run was cancelled or another thread has failed, also if the run is not watched; for loops, whose
    /// parts may take long.
    pub(crate) fn go_on_looping(&self) -> Result<()> {
        if self.has_stopped() {
            return Err(Error::new(ErrorKind::Cancelled, "another part failed"));
        }
        self.go_on()
    }

    /// Whether an element has not ended a loop.
    pub(crate) fn is_endless(&self) -> bool {
        self.endless.load(Ordering::Relaxed) != u64::MAX
    }

    /// The properties of the run for the loops of its kernel; `go_on` is [`Outcome::go_on_looping`].
    pub(crate) fn loops<'l>(
        &'l self,
        options: &Options,
        go_on: &'l (dyn Fn() -> Result<()> + 'l),
    ) -> LoopRun<'l> {
        LoopRun { max_iterations: options.max_iterations, go_on, endless: &self.endless }
    }

    /// Reports finished elements to the watch, if this outcome counts them.
    pub(crate) fn count(&self, elements: usize) {
        // The application's progress function is not called again after it has panicked on another thread.
        if let Some(watch) = self.watch
            && self.counts
            && !self.has_stopped()
        {
            watch.done(elements);
        }
    }

    /// Records the divisions by zero that occurred in a part.
    pub(crate) fn note_faults(&self, met: &[u8]) {
        for (shared, own) in self.faults.iter().zip(met) {
            if *own != 0 {
                shared.store(1, Ordering::Relaxed);
            }
        }
    }

    /// For each checked division, in order, whether a divisor was zero.
    pub(crate) fn faults(&self) -> impl Iterator<Item = bool> {
        self.faults.iter().map(|fault| fault.load(Ordering::Relaxed) != 0)
    }

    /// The number of checked divisions.
    pub(crate) fn sites(&self) -> usize {
        self.faults.len()
    }
}

impl<'p> Pace<'p> {
    /// A counter that checks after every `every` elements whether to continue.
    pub(crate) fn new(outcome: &'p Outcome<'p>, every: usize) -> Pace<'p> {
        Pace { outcome, every, since: 0, done: 0 }
    }

    /// Counts elements as finished, and checks whether to continue once `every` elements have been counted.
    #[inline]
    pub(crate) fn pass(&mut self, elements: usize) -> Result<()> {
        self.done += elements;
        self.again(elements)
    }

    /// [`Pace::pass`] for further work on elements that are already counted as finished.
    #[inline]
    pub(crate) fn again(&mut self, elements: usize) -> Result<()> {
        self.since += elements;
        if self.since < self.every {
            return Ok(());
        }
        self.end();
        self.outcome.go_on()
    }

    /// Reports the elements finished since the last check.
    pub(crate) fn end(&mut self) {
        self.since = 0;
        self.outcome.count(std::mem::take(&mut self.done));
    }
}

/// Runs code that calls host functions which can fail. Returns the first failure of a host function as the error.
pub(super) fn failing(run: impl FnOnce() -> Result<()>) -> Result<()> {
    let (done, failure) = catch_failure(run);
    failure.map_or(done, Err)
}
