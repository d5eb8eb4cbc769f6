//! Results of calls that are kept for later calls: a bounded table of what was built, which drops the oldest entry first, and the
//! last bound call.

use std::sync::{Arc, Mutex, PoisonError};

use broadloom::Call;
use smallvec::SmallVec;

/// The shapes of the array arguments, one after the other.
pub type Shapes = SmallVec<[usize; 8]>;

/// The most entries that a table has.
const ENTRIES: usize = 64;

/// The entries that were built for kinds of calls, the newest last.
pub struct Table<T>(Mutex<Vec<Arc<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Mutex::default())
    }
}

impl<T> Table<T> {
    /// The newest entry that fits a call.
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
        // The oldest entry is dropped after the lock is released: dropping the Python objects that it holds may run Python code.
        drop(oldest);
        made
    }

    /// All entries of the table, the oldest first.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The last bound call, with the shapes of the row-major inputs to which it was bound.
#[derive(Default)]
pub struct LastCall(Mutex<Option<(Shapes, Call)>>);

impl LastCall {
    /// The last bound call, if its inputs had these shapes.
    pub fn find(&self, shapes: &Shapes) -> Option<Call> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(of, _)| of == shapes).map(|(_, call)| call.clone())
    }

    /// Keeps the call that was bound to inputs of these shapes.
    pub fn keep(&self, shapes: Shapes, call: &Call) {
        let made = Some((shapes, call.clone()));
        let last = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), made);
        // The previous call is dropped after the lock is released: it may drop a kernel with all that the kernel holds.
        drop(last);
    }
}
