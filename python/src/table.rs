//! What is kept of calls for later ones: the table of what was built for them, which is bounded, the oldest entry going first; and the
//! last call that inputs were bound to.

use std::sync::{Arc, Mutex, PoisonError};

use broadloom::Call;
use smallvec::SmallVec;

/// The shapes of the array arguments, one after the other.
pub type Shapes = SmallVec<[usize; 8]>;

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

/// The last call that row-major inputs were bound to, by their shapes.
#[derive(Default)]
pub struct LastCall(Mutex<Option<(Shapes, Call)>>);

impl LastCall {
    /// The last call, if its inputs had these shapes.
    pub fn find(&self, shapes: &Shapes) -> Option<Call> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(of, _)| of == shapes).map(|(_, call)| call.clone())
    }

    /// Keeps the call that inputs of these shapes were bound to.
    pub fn keep(&self, shapes: Shapes, call: &Call) {
        let made = Some((shapes, call.clone()));
        let last = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), made);
        // Not under the lock: a kernel that goes may take what it holds with it.
        drop(last);
    }
}
