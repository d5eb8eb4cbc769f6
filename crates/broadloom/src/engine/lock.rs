//! A mutex that a forked child can bypass.
//!
//! Another thread may have held the lock when the process was forked. In the child, the lock is then never released. In the
//! process that made the mutex, the lock is held only briefly, since no code of the application runs under it.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A mutex that does not block in a child of the process that made it.
pub(crate) struct ForkMutex<T> {
    inner: Mutex<T>,
    process: u32,
}

/// The number of attempts to take a held lock before the thread waits for it or bypasses it.
const TRIES: usize = 64;

impl<T> ForkMutex<T> {
    /// Makes a mutex of the current process.
    pub(crate) fn new(value: T) -> ForkMutex<T> {
        ForkMutex { inner: Mutex::new(value), process: std::process::id() }
    }

    /// Takes the lock; `None` if it is held in a process forked from the one that made the mutex.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, T>> {
        for _ in 0..TRIES {
            match self.inner.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        let is_ours = std::process::id() == self.process;
        is_ours.then(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_here_and_passed_by_in_another_process() {
        let mut mutex = ForkMutex::new(1);
        std::thread::scope(|scope| {
            let guard = mutex.lock();
            let waits = scope.spawn(|| mutex.lock().map(|value| *value));
            (0..200).for_each(|_| std::thread::yield_now());
            drop(guard);
            assert_eq!(waits.join().ok(), Some(Some(1)));
        });
        // Simulates a forked child: the mutex seems to have been made by another process.
        mutex.process = mutex.process.wrapping_add(1);
        let guard = mutex.lock();
        assert!(guard.is_some() && mutex.lock().is_none());
    }
}
