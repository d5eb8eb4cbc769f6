//! A bounded cache.
//!
//! The number of values and their weight stay within their limits; on overflow the least recently used half is evicted. In a
//! forked child, a look-up never waits for a lock that another thread of the parent held at the fork and that is never released.

use std::hash::Hash;

use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

use crate::engine::lock::ForkMutex;

/// A map from keys to values, which evicts the least recently used ones.
pub(crate) struct Cache<K, V> {
    inner: ForkMutex<CacheInner<K, V>>,
    max_count: usize,
    max_weight: usize,
}

struct CacheInner<K, V> {
    map: HashMap<K, CacheEntry<V>, FxBuildHasher>,
    weight: usize,
    clock: u64,
}

struct CacheEntry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    pub(crate) fn new(max_count: usize, max_weight: usize) -> Cache<K, V> {
        let inner = CacheInner { map: HashMap::with_hasher(FxBuildHasher), weight: 0, clock: 0 };
        Cache { inner: ForkMutex::new(inner), max_count, max_weight }
    }

    /// Whether a value of this weight may be kept. A value heavier than half of the limit is not kept, since it would evict all
    /// other values.
    pub(crate) fn takes(&self, weight: usize) -> bool {
        weight <= self.max_weight / 2
    }

    /// The value of this key, if it is kept.
    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        let mut inner = self.inner.lock()?;
        inner.clock += 1;
        let now = inner.clock;
        inner.map.get_mut(key).map(|entry| {
            entry.used = now;
            entry.value.clone()
        })
    }

    /// Keeps a value; the least recently used ones are evicted if necessary.
    pub(crate) fn insert(&self, key: K, value: V, weight: usize) {
        if !self.takes(weight) {
            return;
        }
        let mut dropped = Vec::new();
        if let Some(mut inner) = self.inner.lock() {
            inner.clock += 1;
            let used = inner.clock;
            if let Some(old) = inner.map.insert(key, CacheEntry { value, weight, used }) {
                inner.weight -= old.weight;
                dropped.push(old.value);
            }
            inner.weight += weight;
            if inner.map.len() > self.max_count || inner.weight > self.max_weight {
                inner.evict(self.max_count, self.max_weight, &mut dropped);
            }
        }
        // Dropping values may free machine code, so it is done outside of the lock.
        drop(dropped);
    }

    /// The number of kept values.
    pub(crate) fn len(&self) -> usize {
        self.inner.lock().map_or(0, |inner| inner.map.len())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        let old = self.inner.lock().map(|mut inner| {
            inner.weight = 0;
            std::mem::take(&mut inner.map)
        });
        drop(old);
    }
}

impl<K: Hash + Eq, V> CacheInner<K, V> {
    /// Evicts the least recently used values until the rest takes at most half of the limits, so that evictions are rare.
    fn evict(&mut self, max_count: usize, max_weight: usize, dropped: &mut Vec<V>) {
        let mut ages: Vec<(u64, usize)> = self.map.values().map(|e| (e.used, e.weight)).collect();
        ages.sort_unstable_by_key(|&(used, _)| std::cmp::Reverse(used));
        let (mut count, mut weight, mut oldest) = (0, 0, u64::MAX);
        for (used, w) in ages {
            count += 1;
            weight += w;
            if count > (max_count / 2).max(1) || weight > max_weight / 2 {
                break;
            }
            oldest = used;
        }
        let gone: Vec<CacheEntry<V>> = self.map.extract_if(|_, e| e.used < oldest).map(|(_, e)| e).collect();
        self.weight -= gone.iter().map(|e| e.weight).sum::<usize>();
        dropped.extend(gone.into_iter().map(|e| e.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recently_used_stay_within_the_limits() {
        let cache: Cache<u32, u32> = Cache::new(8, 1000);
        for i in 0..100 {
            cache.insert(i, i * 10, 1);
            assert_eq!(cache.get(&0), (i < 1 || cache.get(&0).is_some()).then_some(0));
            assert!(cache.len() <= 8, "{}", cache.len());
        }
        assert_eq!(cache.get(&99), Some(990));
        assert_eq!(cache.get(&50), None);
        assert_eq!(cache.get(&0), Some(0), "used all along");
    }

    #[test]
    fn weight_is_bounded_too() {
        let cache: Cache<u32, ()> = Cache::new(1000, 100);
        for i in 0..50 {
            cache.insert(i, (), 30);
            assert!(cache.len() <= 3);
        }
        let kept = cache.len();
        cache.insert(99, (), 1_000_000);
        assert_eq!((cache.get(&99), cache.len()), (None, kept), "too heavy to keep");
    }

    #[test]
    fn a_cache_of_one_keeps_the_last() {
        let cache: Cache<u32, ()> = Cache::new(1, 1000);
        for i in 0..10 {
            cache.insert(i, (), 1);
            assert_eq!((cache.get(&i), cache.len()), (Some(()), 1));
        }
    }
}
