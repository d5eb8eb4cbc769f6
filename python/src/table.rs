//! Caches of a function: a bounded table of the entries built for its calls, which evicts the oldest first, and the call that
//! inputs were bound to last.

use std::sync::{Arc, Mutex, PoisonError};

use broadloom::Call;
use smallvec::SmallVec;

/// The shapes of the array arguments, concatenated.
pub type Shapes = SmallVec<[usize; 8]>;

/// The maximum number of entries of a table.
const ENTRIES: usize = 64;

/// A bounded table of built entries, newest last.
pub struct Table<T>(Mutex<Vec<Arc<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Mutex::default())
    }
}

impl<T> Table<T> {
    /// The newest entry that matches.
    pub fn find(&self, fits: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().rev().find(|entry| fits(entry)).cloned()
    }

    /// Adds an entry, and evicts the oldest if the table is full.
    pub fn insert(&self, made: T) -> Arc<T> {
        let made = Arc::new(made);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (entries.len() >= ENTRIES).then(|| entries.remove(0));
        entries.push(made.clone());
        drop(entries);
        // Dropping an entry may run Python code, so the lock is released first.
        drop(oldest);
        made
    }

    /// All entries, oldest first.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The call that row-major inputs were bound to last, with the shapes of those inputs.
#[derive(Default)]
pub struct LastCall(Mutex<Option<(Shapes, Call)>>);

impl LastCall {
    /// The stored call, if its inputs had these shapes.
    pub fn find(&self, shapes: &Shapes) -> Option<Call> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(of, _)| of == shapes).map(|(_, call)| call.clone())
    }

    /// Stores the call that inputs of these shapes were bound to.
    pub fn keep(&self, shapes: Shapes, call: &Call) {
        let made = Some((shapes, call.clone()));
        let last = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), made);
        // Dropping a call may drop its kernel, so the lock is released first.
        drop(last);
    }
}
