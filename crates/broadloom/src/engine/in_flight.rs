//! Values under construction: several threads that need the same value at the same time build it once.
//!
//! The first thread builds the value; the others wait or continue without it. If the attempt ends with an error or a panic, or if
//! its thread belongs to the parent of this forked process, another thread takes the attempt over, so that waiting always ends.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use broadloom_core::Result;
use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

use crate::engine::lock::ForkMutex;
use crate::engine::watch::Watch;

/// The attempts in progress to make values, by key.
pub(crate) struct InFlight<K, V> {
    attempts: ForkMutex<HashMap<K, Arc<Attempt<V>>, FxBuildHasher>>,
}

/// The behaviour of a thread while another thread builds the value.
#[derive(Clone, Copy)]
pub(crate) enum Meanwhile<'w> {
    /// It continues without the value.
    Leave,
    /// It waits for the value, or until the run is cancelled.
    Wait(Option<&'w Watch<'w>>),
}

/// One thread's attempt to make a value.
struct Attempt<V> {
    process: u32,
    /// Whether the attempt has an outcome. It is read without the mutex.
    over: AtomicBool,
    outcome: Mutex<Option<FlightOutcome<V>>>,
    ended: Condvar,
}

#[derive(Clone)]
enum FlightOutcome<V> {
    Made(V),
    /// The attempt ended with an error or a panic.
    Abandoned,
}

/// The number of times that a waiting thread yields before it sleeps. A plan is often made within that time.
const YIELDS: usize = 50;
/// The maximum time between two checks for cancellation by a waiting thread.
const PATIENCE: Duration = Duration::from_millis(5);

impl<K: Hash + Eq + Clone, V: Clone> InFlight<K, V> {
    pub(crate) fn new() -> InFlight<K, V> {
        InFlight { attempts: ForkMutex::new(HashMap::with_hasher(FxBuildHasher)) }
    }

    /// Returns the value of a key: the one that another thread builds for an equal key, the one that `known` finds in a cache, or
    /// the result of `make` for the owned key. `None` if another thread is building it and `meanwhile` is [`Meanwhile::Leave`].
    ///
    /// Errors: those of `make`, and cancellation of the run while waiting. After an error of another thread, a waiting thread
    /// calls its own `make`.
    pub(crate) fn once<Q: Hash + Equivalent<K>>(
        &self,
        key: &Q,
        owned: impl Fn() -> K,
        meanwhile: Meanwhile<'_>,
        known: impl Fn() -> Option<V>,
        make: impl FnOnce(K) -> Result<V>,
    ) -> Result<Option<V>> {
        loop {
            let Some(mut attempts) = self.attempts.lock() else { return make(owned()).map(Some) };
            let other = attempts.get(key).filter(|other| other.is_going_on()).cloned();
            let Some(other) = other else {
                let (key, attempt) = (owned(), Arc::new(Attempt::new()));
                attempts.insert(key.clone(), attempt.clone());
                drop(attempts);
                let own = Own { in_flight: self, attempt };
                // Another thread may have made the value and ended its attempt between this thread's look-up and the lock.
                let value = known().map_or_else(|| make(key), Ok)?;
                own.attempt.end(FlightOutcome::Made(value.clone()));
                return Ok(Some(value));
            };
            drop(attempts);
            let Meanwhile::Wait(watch) = meanwhile else { return Ok(None) };
            if let FlightOutcome::Made(value) = other.wait(watch)? {
                return Ok(Some(value));
            }
        }
    }

    /// Removes an attempt from the map.
    fn remove(&self, attempt: &Arc<Attempt<V>>) {
        if let Some(mut attempts) = self.attempts.lock() {
            attempts.retain(|_, other| !Arc::ptr_eq(other, attempt));
        }
    }
}

impl<V: Clone> Attempt<V> {
    fn new() -> Attempt<V> {
        Attempt {
            process: std::process::id(),
            over: AtomicBool::new(false),
            outcome: Mutex::new(None),
            ended: Condvar::new(),
        }
    }

    /// Whether a thread of this process is still working on the attempt.
    fn is_going_on(&self) -> bool {
        !self.over.load(Ordering::Acquire) && self.process == std::process::id()
    }

    /// Ends the attempt, unless it has ended.
    fn end(&self, outcome: FlightOutcome<V>) {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
        self.over.store(true, Ordering::Release);
        self.ended.notify_all();
    }

    fn wait(&self, watch: Option<&Watch<'_>>) -> Result<FlightOutcome<V>> {
        for _ in 0..YIELDS {
            if self.over.load(Ordering::Acquire) {
                break;
            }
            std::thread::yield_now();
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &*outcome {
                return Ok(outcome.clone());
            }
            outcome = match watch {
                Some(watch) => {
                    watch.check()?;
                    let woken = self.ended.wait_timeout(outcome, PATIENCE);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.ended.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// A guard for this thread's attempt. When it is dropped, the attempt ends: waiting threads continue, and later ones begin a new
/// attempt.
struct Own<'i, K: Hash + Eq + Clone, V: Clone> {
    in_flight: &'i InFlight<K, V>,
    attempt: Arc<Attempt<V>>,
}

impl<K: Hash + Eq + Clone, V: Clone> Drop for Own<'_, K, V> {
    fn drop(&mut self) {
        self.in_flight.remove(&self.attempt);
        self.attempt.end(FlightOutcome::Abandoned);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use broadloom_core::{Error, ErrorKind};

    use super::*;
    use crate::engine::options::Options;
    use crate::engine::watch::Control;

    const WAIT: Meanwhile<'static> = Meanwhile::Wait(None);

    /// Requests the value of a key, to be made by `make`.
    fn ask(
        values: &InFlight<u32, u32>,
        meanwhile: Meanwhile<'_>,
        make: impl FnOnce() -> Result<u32>,
    ) -> Result<Option<u32>> {
        values.once(&7u32, || 7, meanwhile, || None, |_| make())
    }

    /// Lets one thread build a value by `first`, while three other threads run `others`.
    fn with_others(first: impl FnOnce() -> Result<u32> + Send, others: impl Fn(&InFlight<u32, u32>) + Sync) {
        let (values, begun) = (InFlight::new(), Barrier::new(4));
        std::thread::scope(|scope| {
            let maker = scope.spawn(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    ask(&values, WAIT, || {
                        begun.wait();
                        first()
                    })
                }))
            });
            for _ in 0..3 {
                scope.spawn(|| {
                    begun.wait();
                    others(&values);
                });
            }
            drop(maker.join().expect("caught"));
        });
        assert!(values.attempts.lock().is_some_and(|attempts| attempts.is_empty()), "nothing is left");
    }

    #[test]
    fn whoever_asks_meanwhile_gets_the_same() {
        let made = AtomicUsize::new(0);
        let others = |values: &InFlight<u32, u32>| {
            let make = || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok(9)
            };
            // A thread that comes after the first has finished makes the value again, since an `InFlight` does not keep values.
            assert!(matches!(ask(values, WAIT, make), Ok(Some(8 | 9))));
            assert_eq!(values.once(&7, || 7, WAIT, || Some(5), |_| Ok(6)), Ok(Some(5)), "it is kept by now");
        };
        with_others(|| Ok(8), others);
    }

    #[test]
    fn an_attempt_that_fails_is_taken_over() {
        let fail = || Error::new(ErrorKind::Limit, "no");
        for panics in [false, true] {
            let first = move || match panics {
                true => std::panic::resume_unwind(Box::new(())),
                false => Err(fail()),
            };
            with_others(first, |values| assert_eq!(ask(values, WAIT, || Ok(9)), Ok(Some(9))));
        }
        with_others(
            || Ok(8),
            |values| {
                let error = ask(values, WAIT, || Err(fail()));
                assert!(matches!(error, Ok(Some(8))) || error == Err(fail()));
            },
        );
    }

    /// A thread waits only if it asked to, and stops waiting when it is cancelled.
    #[test]
    fn going_on_without_it() {
        let left = Barrier::new(4);
        let first = || {
            left.wait();
            Ok(8)
        };
        with_others(first, |values| {
            let never = || -> Result<u32> { unreachable!("another thread is at it") };
            assert_eq!(ask(values, Meanwhile::Leave, never), Ok(None));
            let stop = AtomicBool::new(false);
            let control = Control { cancel: Some(&stop), ..Control::default() };
            let watch = Watch::begin(Some(&control), &Options::default()).expect("not cancelled yet");
            stop.store(true, Ordering::Relaxed);
            let cancelled = ask(values, Meanwhile::Wait(watch.as_ref()), never);
            assert_eq!(cancelled.map_err(|e| e.kind()), Err(ErrorKind::Cancelled));
            left.wait();
        });
    }

    /// In a forked child, the attempts of the parent's threads don't count as being in progress.
    #[test]
    fn what_stayed_behind_is_taken_over() {
        let values: InFlight<u32, u32> = InFlight::new();
        let mut behind = Attempt::new();
        behind.process = behind.process.wrapping_add(1);
        values.attempts.lock().expect("free").insert(7, Arc::new(behind));
        assert_eq!(ask(&values, WAIT, || Ok(9)), Ok(Some(9)));
        assert!(values.attempts.lock().is_some_and(|attempts| attempts.is_empty()));
    }
}
