//! A map for the usually few keys of one expression. The first 16 keys are in a list, which is searched linearly and needs no
//! allocation; further keys are in a hash table.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A map that is a list while it is short.
pub(super) struct Memo<K, V> {
    short: SmallVec<[(K, V); 16]>,
    long: FxHashMap<K, V>,
}

impl<K: Hash + Eq + Copy, V: Copy> Memo<K, V> {
    pub(crate) fn new() -> Memo<K, V> {
        Memo { short: SmallVec::new(), long: FxHashMap::default() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        match self.short.iter().find(|(k, _)| k == key) {
            Some((_, value)) => Some(*value),
            None if self.long.is_empty() => None,
            None => self.long.get(key).copied(),
        }
    }

    /// Adds a value for a new key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.short.len() < self.short.inline_size() {
            self.short.push((key, value));
        } else {
            self.long.insert(key, value);
        }
    }
}
