//! A mutex that a forked child can pass by.
//!
//! Another thread may have held it when the process was forked: in the child it never comes free. In the process that made it,
//! whoever holds it lets it go soon, since nothing of the application's runs under it.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// See the module's head.
pub struct ForkMutex<T> {
    inner: Mutex<T>,
    process: u32,
}

/// How often a held lock is tried again before it is waited for or passed by.
const TRIES: usize = 64;

impl<T> ForkMutex<T> {
    /// A mutex of this process.
    pub fn new(value: T) -> ForkMutex<T> {
        ForkMutex { inner: Mutex::new(value), process: std::process::id() }
    }

    /// The lock; `None` where it is held in a process that was forked from the one that made the mutex.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
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
        // As in a child: the process that made it is another.
        mutex.process = mutex.process.wrapping_add(1);
        let guard = mutex.lock();
        assert!(guard.is_some() && mutex.lock().is_none());
    }
}
