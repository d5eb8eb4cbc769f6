//! The table of a jitted function, a kernel or a text of numexpr: one entry per signature, each with its most recently bound
//! calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::Borrowed;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::bound_call::BoundCall;
use crate::entry::Entry;

/// The dtypes, ranks and equal extents of a call's arguments, encoded as bytes for comparison.
pub type Signature = SmallVec<[u8; 32]>;

/// The shapes of the array arguments, concatenated.
pub type Shapes = SmallVec<[usize; 8]>;

/// The maximum number of entries of a table.
const ENTRIES: usize = 64;

/// The maximum number of bound calls of an entry.
const CALLS: usize = 4;

/// What an entry was built for.
#[derive(Default)]
pub struct CallKey {
    /// The options of the call, encoded as a number.
    pub tag: u64,
    pub signature: Signature,
    /// The shapes that the entry is restricted to; `None` if it accepts all shapes of the signature.
    pub shapes: Option<Shapes>,
}

struct KnownCalls {
    key: CallKey,
    entry: Py<Entry>,
    calls: Vec<Py<BoundCall>>,
}

/// The entries and their bound calls, oldest first. If there are too many entries, or too many bound calls of an entry, the
/// oldest is evicted.
///
/// While the lock is held, no Python code runs and the GIL is not released.
#[derive(Default)]
pub struct CallTable(Mutex<Vec<KnownCalls>>);

impl CallTable {
    fn rows(&self) -> MutexGuard<'_, Vec<KnownCalls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest bound call that has this tag and fits the arguments.
    #[inline]
    pub fn call<'py>(
        &self,
        py: Python<'py>,
        tag: u64,
        objects: &[Borrowed<'_, 'py, PyAny>],
    ) -> Option<Bound<'py, BoundCall>> {
        for row in self.rows().iter().rev().filter(|row| row.key.tag == tag) {
            for call in row.calls.iter().rev() {
                if call.get().fits(py, objects) {
                    return Some(call.bind(py).clone());
                }
            }
        }
        None
    }

    /// Returns the newest entry for a signature and shapes. If `by_shape` is set, the entry must be restricted to exactly these
    /// shapes.
    pub fn entry<'py>(
        &self,
        py: Python<'py>,
        tag: u64,
        signature: &Signature,
        shapes: &Shapes,
        by_shape: bool,
    ) -> Option<Bound<'py, Entry>> {
        let fits = |row: &&KnownCalls| {
            row.key.tag == tag
                && row.key.signature == *signature
                && row.key.shapes.as_ref().map_or(!by_shape, |of| of == shapes)
        };
        self.rows().iter().rev().find(fits).map(|row| row.entry.bind(py).clone())
    }

    /// Adds an entry.
    pub fn insert(&self, key: CallKey, entry: Py<Entry>) {
        let evicted = add(&mut self.rows(), ENTRIES, KnownCalls { key, entry, calls: Vec::new() });
        drop(evicted);
    }

    /// Adds a bound call to its entry, unless the entry was evicted.
    pub fn keep(&self, tag: u64, call: &Bound<'_, BoundCall>) {
        let mut rows = self.rows();
        let row = rows.iter_mut().rev().find(|row| row.key.tag == tag && row.entry.is(call.get().entry()));
        let evicted = row.map(|row| add(&mut row.calls, CALLS, call.clone().unbind()));
        drop(rows);
        drop(evicted);
    }

    /// All entries, oldest first.
    pub fn entries(&self, py: Python<'_>) -> Vec<Py<Entry>> {
        self.rows().iter().map(|row| row.entry.clone_ref(py)).collect()
    }
}

/// Adds an item to a bounded list, and returns the oldest one if the list was full. Dropping it may run Python code, so locks are
/// released first.
#[must_use]
fn add<T>(list: &mut Vec<T>, most: usize, item: T) -> Option<T> {
    let oldest = (list.len() >= most).then(|| list.remove(0));
    list.push(item);
    oldest
}
