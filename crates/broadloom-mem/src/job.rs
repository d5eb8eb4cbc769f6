//! Shares a closure with other threads for a limited time.
//!
//! [`lend`] makes a [`SharedJob`], a handle without a lifetime that threads may keep for as long as the process lives. [`lend`]
//! returns when no other thread is in the closure any more; it does not wait for threads that hold the handle but have not
//! begun. A thread that tries to run the job later finds it closed.

use std::fmt;
use std::hint;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The bit of [`SharedJob::state`] that is set when no further thread may begin. The bits above it count the threads that are in
/// the closure.
const CLOSED: usize = 1;
const INSIDE: usize = 2;

/// Before it sleeps, the owner checks [`SPINS`] times whether all threads have left, and then [`YIELDS`] times more, yielding to
/// other threads each time. Together the checks take some microseconds, about as long as it takes to sleep and wake up.
const SPINS: u32 = 200;
const YIELDS: u32 = 50;

/// A closure of another thread that this thread may run while the job is open.
pub struct SharedJob {
    state: AtomicUsize,
    /// The closure, which [`lend`] borrows at least until the job is closed and no thread is in it.
    work: NonNull<dyn Fn() + Sync>,
    owner: Thread,
    process: u32,
}

// SAFETY: the pointer represents a shared borrow of a closure that is `Sync`, so that any thread may call it; a comment in `run`
// proves that the borrow is alive at the call. The other fields are `Send`.
unsafe impl Send for SharedJob {}
// SAFETY: as for `Send`: a `&SharedJob` calls the closure by reference, and changes only an atomic.
unsafe impl Sync for SharedJob {}

/// The error that the process was forked while other threads were in the closure. Those threads exist only in the parent, and the
/// work that they had begun is not done in the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forked;

impl fmt::Display for Forked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process was forked while other threads had begun a part of this evaluation")
    }
}

impl std::error::Error for Forked {}

/// Shares `work` with other threads while `with` runs on this one; any thread that holds the job may [run](SharedJob::run) it.
/// Returns when `with` is done and no other thread is in `work`, even if `with` panics.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use broadloom_mem::lend;
///
/// let calls = AtomicUsize::new(0); // not 'static
/// let work = || drop(calls.fetch_add(1, Ordering::Relaxed));
/// let (kept, thread) = lend(&work, |job| {
///     let (kept, lent) = (job.clone(), job.clone());
///     work();
///     (kept, std::thread::spawn(move || lent.run()))
/// })?;
/// let ran = thread.join().expect("no panic"); // false if the job was closed before the thread began
/// assert_eq!(calls.load(Ordering::Relaxed), 1 + usize::from(ran));
/// assert!(!kept.run(), "it is closed");
/// # Ok::<(), broadloom_mem::Forked>(())
/// ```
///
/// # Errors
/// [`Forked`] in a child process created during `with`, if other threads were in `work` at the fork.
pub fn lend<'w, R>(
    work: &'w (dyn Fn() + Sync + 'w),
    with: impl FnOnce(&Arc<SharedJob>) -> R,
) -> Result<R, Forked> {
    let work: NonNull<dyn Fn() + Sync + 'w> = NonNull::from(work);
    // SAFETY: the two types differ only in a lifetime bound, which is not part of a pointer's representation. Only `SharedJob::run`
    // dereferences it, within 'w, as argued there.
    let work =
        unsafe { std::mem::transmute::<NonNull<dyn Fn() + Sync + 'w>, NonNull<dyn Fn() + Sync>>(work) };
    let (owner, process) = (thread::current(), std::process::id());
    let job = Arc::new(SharedJob { state: AtomicUsize::new(0), work, owner, process });
    let open = Open(&job);
    let given = with(&job);
    // The job is closed below; the guard closes it only if `with` panics.
    std::mem::forget(open);
    job.close().map(|()| given)
}

/// A guard that closes the job when it is dropped, so that no thread is in the closure when its borrow ends,
/// even after a panic.
struct Open<'j>(&'j SharedJob);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let _ = self.0.close();
    }
}

impl SharedJob {
    /// Runs the closure unless the job is closed; returns whether it ran.
    pub fn run(&self) -> bool {
        let enter = |state: usize| (state & CLOSED == 0).then_some(state + INSIDE);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return false;
        }
        let _inside = Inside(self);
        // SAFETY: `lend` borrows the closure until it returns, normally or by a panic, and before that it has set `CLOSED` and
        // then seen a count of 0 (`close`). This thread has raised the count while `CLOSED` was not set, both in one atomic
        // step, and lowers it when `_inside` drops: until then `lend` has not returned. (In a forked child `close` may return
        // earlier, but this thread does not exist in the child.)
        unsafe { self.work.as_ref()() };
        true
    }

    /// Whether the job is closed, so that no thread may begin.
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Closes the job and waits until all threads have left the closure, as [`lend`] does at its end. While it waits it calls
    /// `meanwhile` repeatedly, at intervals of at most `patience`. It must be called on the thread that called [`lend`].
    ///
    /// # Errors
    /// The error of [`lend`].
    pub fn wait(&self, patience: Duration, mut meanwhile: impl FnMut()) -> Result<(), Forked> {
        self.close_and(|| {
            thread::park_timeout(patience);
            meanwhile();
        })
    }

    fn close(&self) -> Result<(), Forked> {
        self.close_and(thread::park)
    }

    /// Closes the job and waits until all threads have left the closure. After some checks it calls `sleep`, which must return
    /// when this thread is unparked.
    fn close_and(&self, mut sleep: impl FnMut()) -> Result<(), Forked> {
        // The load that finds no thread in the closure acquires what each thread released when it left, so that the writes of
        // these threads are visible.
        let mut state = self.state.fetch_or(CLOSED, Ordering::Acquire) | CLOSED;
        let mut spins = 0;
        while state != CLOSED {
            if spins < SPINS {
                spins += 1;
                hint::spin_loop();
            } else if spins < SPINS + YIELDS {
                spins += 1;
                thread::yield_now();
            } else if std::process::id() != self.process {
                return Err(Forked);
            } else {
                // The last thread that leaves the closure unparks this thread, before or after it goes to
                // sleep. This thread may wake for other reasons as well.
                sleep();
            }
            state = self.state.load(Ordering::Acquire);
        }
        Ok(())
    }
}

/// A guard that counts a thread as being in the closure of a job.
struct Inside<'j>(&'j SharedJob);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.0.state.fetch_sub(INSIDE, Ordering::Release) == (CLOSED | INSIDE) {
            self.0.owner.unpark();
        }
    }
}

impl fmt::Debug for SharedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Ordering::Relaxed);
        write!(f, "SharedJob {{ closed: {}, inside: {} }}", state & CLOSED != 0, state / INSIDE)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    use super::*;

    /// Tests that `lend` waits for all threads that have begun the job, and for no other thread.
    #[test]
    fn it_waits_for_those_who_have_begun_and_for_nobody_else() {
        let (done, begun) = (AtomicUsize::new(0), Barrier::new(2));
        let local = [1usize, 2, 3];
        let work = || {
            begun.wait();
            // The closure stays borrowed however long the thread takes.
            (0..100).for_each(|_| thread::yield_now());
            done.fetch_add(local.iter().sum(), Ordering::Relaxed);
        };
        let (late, threads) = lend(&work, |job| {
            let runner = job.clone();
            let thread = thread::spawn(move || assert!(runner.run()));
            begun.wait();
            (job.clone(), thread)
        })
        .expect("not forked");
        assert_eq!(done.load(Ordering::Relaxed), 6, "the other thread was inside");
        assert!(late.is_closed() && !late.run());
        threads.join().expect("no panic");
    }

    /// The borrow ends after the other threads have left, even if either side panics.
    #[test]
    fn panics_leave_nobody_inside() {
        let (out, begun) = (AtomicBool::new(false), Barrier::new(2));
        let work = || {
            begun.wait();
            (0..100).for_each(|_| thread::yield_now());
            out.store(true, Ordering::Relaxed);
            std::panic::resume_unwind(Box::new("a panic of the borrower"));
        };
        let (sender, receiver) = mpsc::channel();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            lend(&work, |job| {
                let runner = job.clone();
                let run = move || catch_unwind(AssertUnwindSafe(|| runner.run())).is_err();
                sender.send(thread::spawn(run)).expect("the receiver lives");
                begun.wait();
                std::panic::resume_unwind(Box::new("a panic of the owner"));
            })
        }));
        assert!(
            caught.is_err() && out.load(Ordering::Relaxed),
            "the borrower was out before the owner went on"
        );
        let panicked = receiver.recv().expect("a thread").join();
        assert_eq!(panicked.ok(), Some(true));
    }

    /// The owner does other work while it waits for threads that have begun.
    #[test]
    fn the_owner_is_called_while_it_waits() {
        let (begun, enough) = (Barrier::new(2), AtomicBool::new(false));
        let work = || {
            begun.wait();
            while !enough.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        let mut calls = 0;
        let runner = lend(&work, |job| {
            let runner = job.clone();
            let runner = thread::spawn(move || runner.run());
            begun.wait();
            let waited = job.wait(Duration::from_millis(1), || {
                calls += 1;
                enough.store(calls >= 3, Ordering::Relaxed);
            });
            assert_eq!(waited, Ok(()));
            assert!(job.is_closed() && !job.run());
            runner
        });
        assert_eq!(runner.expect("not forked").join().ok(), Some(true));
        assert!(calls >= 3);
    }

    /// Threads run jobs while the jobs open and close; each call happens within the lifetime of its job's closure.
    #[test]
    fn many_threads_and_jobs() {
        let (threads, rounds) = (4, if cfg!(miri) { 20 } else { 2000 });
        let current: std::sync::Mutex<Option<Arc<SharedJob>>> = std::sync::Mutex::default();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let job = current.lock().expect("not poisoned").clone();
                        match job {
                            Some(job) => drop(job.run()),
                            None => thread::yield_now(),
                        }
                    }
                });
            }
            for round in 0..rounds {
                // The data is on the heap, so that a sanitizer detects memory that is freed too early.
                let data = Box::new(AtomicUsize::new(round));
                let work = || assert_eq!(data.load(Ordering::Relaxed), round);
                lend(&work, |job| {
                    *current.lock().expect("not poisoned") = Some(job.clone());
                    work();
                })
                .expect("not forked");
                data.store(usize::MAX, Ordering::Relaxed);
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
