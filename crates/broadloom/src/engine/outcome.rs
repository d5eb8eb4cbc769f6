//! The shared outcome of the threads that work on a stage: the first failure, a panic, divisions by zero.
//!
//! Once a thread has failed, no further part is begun. A panic of the application's progress function is resumed on the caller's
//! thread, after all threads have stopped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, catch_failure};
use smallvec::SmallVec;

use crate::engine::watch::Watch;
use crate::engine::workers;

/// The outcome of a stage's work, written by all threads and read by the caller.
pub struct Outcome<'o> {
    /// A byte for each checked division, which is not 0 once the divisor was zero.
    faults: SmallVec<[AtomicU8; 8]>,
    /// Whether no further part is begun, because one was not completed.
    stopped: AtomicBool,
    /// The failure that stopped the work.
    failure: OnceLock<Error>,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    watch: Option<&'o Watch<'o>>,
    /// Whether the watch counts finished elements.
    counts: bool,
    /// Whether a host function may fail.
    can_fail: bool,
}

/// A thread's progress through its elements. The thread checks whether to continue each time it has passed a given number of
/// elements.
pub struct Pace<'p> {
    outcome: &'p Outcome<'p>,
    every: usize,
    /// The number of elements since the last check, and how many of them count as progress.
    since: usize,
    done: usize,
}

impl<'o> Outcome<'o> {
    /// The outcome of a stage with this many checked divisions.
    pub fn new(sites: usize, can_fail: bool, watch: Option<&'o Watch<'o>>) -> Outcome<'o> {
        Outcome {
            faults: (0..sites).map(|_| AtomicU8::new(0)).collect(),
            stopped: AtomicBool::new(false),
            failure: OnceLock::new(),
            panic: Mutex::new(None),
            watch,
            counts: true,
            can_fail,
        }
    }

    /// This outcome, for work whose elements are counted elsewhere.
    pub fn uncounted(self) -> Outcome<'o> {
        Outcome { counts: false, ..self }
    }

    /// Runs `work`, which takes parts until none remain, on this thread and on up to `threads` - 1 other threads.
    ///
    /// Errors: the first failure.
    pub fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<()> {
        if threads > 1 {
            // Only the caller's thread can detect cancellation by polling.
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

    /// Does the work of one of several threads. A panic is kept for the caller's thread, and stops the work of all threads.
    fn beside_others(&self, work: &(dyn Fn() + Sync)) {
        let _ieee = FloatEnv::ieee();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.stopped.store(true, Ordering::Relaxed);
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }

    /// Whether no further part may be begun.
    pub fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Stops the work of all threads.
    pub fn fail(&self, error: Error) {
        let _ = self.failure.set(error);
        // The order ensures that a thread which sees the flag also sees the failure.
        self.stopped.store(true, Ordering::Release);
    }

    /// Runs a part of this many elements, unless the run was cancelled.
    pub fn part(&self, elements: usize, run: impl FnOnce() -> Result<()>) {
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
    pub fn watch(&self) -> Option<&'o Watch<'o>> {
        self.watch
    }

    /// Whether the run is watched.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns an error once the run was cancelled or another thread has failed.
    pub fn go_on(&self) -> Result<()> {
        let Some(watch) = self.watch else { return Ok(()) };
        if self.has_stopped() {
            // The failure that stopped the others is reported instead of this one.
            return Err(Error::new(ErrorKind::Cancelled, "another part failed"));
        }
        watch.check()
    }

    /// Counts finished elements, if they are counted here.
    pub fn count(&self, elements: usize) {
        // Nothing is reported after another thread's panic, since the application is to be informed of it once.
        if let Some(watch) = self.watch
            && self.counts
            && !self.has_stopped()
        {
            watch.done(elements);
        }
    }

    /// Records the divisions by zero that a part met.
    pub fn note_faults(&self, met: &[u8]) {
        for (shared, own) in self.faults.iter().zip(met) {
            if *own != 0 {
                shared.store(1, Ordering::Relaxed);
            }
        }
    }

    /// For each checked division, whether a divisor was zero.
    pub fn faults(&self) -> impl Iterator<Item = bool> {
        self.faults.iter().map(|fault| fault.load(Ordering::Relaxed) != 0)
    }

    /// The number of checked divisions.
    pub fn sites(&self) -> usize {
        self.faults.len()
    }
}

impl<'p> Pace<'p> {
    /// Makes the progress of a thread that checks whether to continue after each `every` elements.
    pub fn new(outcome: &'p Outcome<'p>, every: usize) -> Pace<'p> {
        Pace { outcome, every, since: 0, done: 0 }
    }

    /// Counts elements as finished, and checks whether to continue if it is time.
    #[inline]
    pub fn pass(&mut self, elements: usize) -> Result<()> {
        self.done += elements;
        self.again(elements)
    }

    /// Does the same as [`Pace::pass`], for additional work on elements that are counted only once.
    #[inline]
    pub fn again(&mut self, elements: usize) -> Result<()> {
        self.since += elements;
        if self.since < self.every {
            return Ok(());
        }
        self.end();
        self.outcome.go_on()
    }

    /// Counts the elements passed since the last check.
    pub fn end(&mut self) {
        self.since = 0;
        self.outcome.count(std::mem::take(&mut self.done));
    }
}

/// Runs code that calls host functions which can fail. The first failure is the error.
pub(super) fn failing(run: impl FnOnce() -> Result<()>) -> Result<()> {
    let (done, failure) = catch_failure(run);
    failure.map_or(done, Err)
}
