//! The table of what calls were built: bounded, and the oldest entry goes first.

use std::sync::{Arc, Mutex, PoisonError};

/// Entries that a table has at most.
const ENTRIES: usize = 64;

/// What was built for kinds of calls, the newest last.
pub struct Table<T>(Mutex<Vec<Arc<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Mutex::default())
    }
}

impl<T> Table<T> {
    /// The newest entry that fits.
    pub fn find(&self, fits: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().rev().find(|entry| fits(entry)).cloned()
    }

    /// Adds an entry; the oldest is dropped if there are too many.
    pub fn insert(&self, made: T) -> Arc<T> {
        let made = Arc::new(made);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (entries.len() >= ENTRIES).then(|| entries.remove(0));
        entries.push(made.clone());
        drop(entries);
        // Not under the lock: what it holds of Python's may run functions when it goes.
        drop(oldest);
        made
    }

    /// All entries, the oldest first.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
