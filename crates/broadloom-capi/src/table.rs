//! Handle tables: they map 64-bit handles, which contain a generation, to reference-counted objects.
//!
//! Looking up a number returns the live object for which the number was issued, or an error. An object is dropped once, when it
//! has neither references nor pins. Lookups take no lock.

use std::cell::UnsafeCell;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

/// The fields of an id, from the most significant bits: kind, generation, index. No kind is 0, so no id is 0.
const INDEX_BITS: u32 = 32;
const GENERATION_BITS: u32 = 24;

/// The fields of a slot's state, from the most significant bits: generation, number of references, number of pins.
const COUNT_BITS: u32 = 20;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
const ONE_PIN: u64 = 1;
const ONE_REFERENCE: u64 = 1 << COUNT_BITS;
const ONE_GENERATION: u64 = 1 << (2 * COUNT_BITS);

/// The number of slots in the first chunk. Each further chunk has twice as many as the one before.
const FIRST: u32 = 64;
const CHUNKS: usize = 22;

/// The number of attempts to take the lock. They last some tenths of a second, while the lock is normally held for microseconds.
const TRIES: usize = 1 << 18;

/// The reason why a number is not a valid handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The number is 0.
    Null,
    /// The number is the handle of an object of another kind, or not a handle.
    Kind,
    /// The object was released, or never existed.
    Stale,
    /// The number of objects, references or pins has reached its maximum.
    Full,
}

fn references(state: u64) -> u64 {
    state >> COUNT_BITS & COUNT_MAX
}

fn pins(state: u64) -> u64 {
    state & COUNT_MAX
}

fn generation(state: u64) -> u64 {
    state >> (2 * COUNT_BITS)
}

/// A slot, which holds one object at a time.
#[repr(align(64))]
struct Slot<T> {
    state: AtomicU64,
    object: UnsafeCell<Option<T>>,
}

// SAFETY: only `insert` and `ObjectTable::free` access the object mutably, each on one thread and while `state` counts neither
// references nor pins. Otherwise it is accessed through shared references, by threads that have a pin.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

/// All objects of one kind.
pub(crate) struct ObjectTable<T> {
    kind: u8,
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    vacant: Mutex<Vacant>,
}

/// The vacant slots.
struct Vacant {
    given_back: Vec<u32>,
    /// The lowest index that was never used.
    next: u32,
}

/// Access to an object. The object is not dropped while it has a pin, even if its handle is released.
pub(crate) struct Pin<'t, T> {
    table: &'t ObjectTable<T>,
    slot: &'t Slot<T>,
    index: u32,
}

impl<T> ObjectTable<T> {
    /// An empty table for ids of a kind, which must not be 0.
    pub(crate) const fn new(kind: u8) -> ObjectTable<T> {
        assert!(kind != 0);
        ObjectTable {
            kind,
            chunks: [const { OnceLock::new() }; CHUNKS],
            vacant: Mutex::new(Vacant { given_back: Vec::new(), next: 0 }),
        }
    }

    /// The chunk of an index, and the offset within that chunk.
    fn place(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + u64::from(FIRST);
        let chunk = shifted.ilog2() - FIRST.ilog2();
        (chunk as usize, (shifted - (u64::from(FIRST) << chunk)) as usize)
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (chunk, at) = ObjectTable::<T>::place(index);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    /// Locks the list of vacant slots. Returns `None` if the lock does not become free: in a child process that was forked while
    /// another thread held it, it never would.
    fn vacant(&self) -> Option<MutexGuard<'_, Vacant>> {
        for _ in 0..TRIES {
            match self.vacant.try_lock() {
                Ok(vacant) => return Some(vacant),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    fn id(&self, index: u32, generation: u64) -> u64 {
        u64::from(self.kind) << (INDEX_BITS + GENERATION_BITS) | generation << INDEX_BITS | u64::from(index)
    }

    /// Adds an object, with one reference to it. Returns its id.
    pub(crate) fn insert(&self, object: T) -> Result<u64, Refused> {
        let mut vacant = self.vacant().ok_or(Refused::Full)?;
        let index = match vacant.given_back.pop() {
            Some(index) => index,
            None => {
                let index = vacant.next;
                let (chunk, _) = ObjectTable::<T>::place(index);
                let chunk_of = self.chunks.get(chunk).ok_or(Refused::Full)?;
                chunk_of.get_or_init(|| {
                    let empty = || Slot { state: AtomicU64::new(0), object: UnsafeCell::new(None) };
                    (0..FIRST << chunk).map(|_| empty()).collect()
                });
                vacant.next += 1;
                index
            }
        };
        drop(vacant);
        let slot = self.slot(index).ok_or(Refused::Full)?;
        let generation = generation(slot.state.load(Ordering::Relaxed));
        // SAFETY: the slot was vacant, and its index was taken from the list under the lock, so no other thread has it. No pin is
        // issued before the state set below counts a reference.
        unsafe { *slot.object.get() = Some(object) };
        slot.state.store(generation * ONE_GENERATION + ONE_REFERENCE, Ordering::Release);
        Ok(self.id(index, generation))
    }

    /// The slot of an id, which may by now hold an object of another generation.
    fn find(&self, id: u64) -> Result<(&Slot<T>, u32, u64), Refused> {
        if id >> (INDEX_BITS + GENERATION_BITS) != u64::from(self.kind) {
            return Err(if id == 0 { Refused::Null } else { Refused::Kind });
        }
        let index = id as u32;
        let slot = self.slot(index).ok_or(Refused::Stale)?;
        Ok((slot, index, id >> INDEX_BITS & ((1 << GENERATION_BITS) - 1)))
    }

    /// Changes the counts of a slot, provided that its object still has this generation and a reference.
    fn count(slot: &Slot<T>, of: u64, change: impl Fn(u64) -> Option<u64>) -> Result<u64, Refused> {
        let mut state = slot.state.load(Ordering::Relaxed);
        loop {
            if generation(state) != of || references(state) == 0 {
                return Err(Refused::Stale);
            }
            let next = change(state).ok_or(Refused::Full)?;
            // Acquire: makes the writes of `insert` visible. Release: orders this thread's use of the object before the drop.
            match slot.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(next),
                Err(now) => state = now,
            }
        }
    }

    /// Pins the object of an id.
    #[inline]
    pub(crate) fn pin(&self, id: u64) -> Result<Pin<'_, T>, Refused> {
        let (slot, index, of) = self.find(id)?;
        ObjectTable::count(slot, of, |state| (pins(state) < COUNT_MAX).then_some(state + ONE_PIN))?;
        Ok(Pin { table: self, slot, index })
    }

    /// Adds a reference.
    pub(crate) fn retain(&self, id: u64) -> Result<(), Refused> {
        let (slot, _, of) = self.find(id)?;
        let more = |state| (references(state) < COUNT_MAX).then_some(state + ONE_REFERENCE);
        ObjectTable::count(slot, of, more).map(drop)
    }

    /// Removes a reference. After the last one the id is stale, and the object is dropped once it has no pins.
    pub(crate) fn release(&self, id: u64) -> Result<(), Refused> {
        let (slot, index, of) = self.find(id)?;
        let state = ObjectTable::count(slot, of, |state| Some(state - ONE_REFERENCE))?;
        if references(state) == 0 && pins(state) == 0 {
            self.free(slot, index);
        }
        Ok(())
    }

    /// Drops the object of a slot. Called once, by the thread that removed the last reference or pin.
    fn free(&self, slot: &Slot<T>, index: u32) {
        // SAFETY: without references no further pin is issued, and no pin is left. The caller made the state change that led to
        // this, and its acquire ordering places all uses of the object before this point.
        let object = unsafe { (*slot.object.get()).take() };
        drop(object);
        let next = generation(slot.state.load(Ordering::Relaxed)) + 1;
        // A slot that has used its last generation is never used again, so that no id refers to two objects.
        if next < 1 << GENERATION_BITS {
            slot.state.store(next * ONE_GENERATION, Ordering::Release);
            // If the lock can't be taken, the slot is never used again.
            if let Some(mut vacant) = self.vacant() {
                vacant.given_back.push(index);
            }
        }
    }
}

impl<T> Deref for Pin<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the pin is counted, so the object exists, and nothing removes or changes it.
        let object = unsafe { &*self.slot.object.get() };
        object.as_ref().expect("a pinned slot has its object")
    }
}

impl<T> Drop for Pin<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let before = self.slot.state.fetch_sub(ONE_PIN, Ordering::AcqRel);
        if references(before) == 0 && pins(before) == 1 {
            self.table.free(self.slot, self.index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    /// Counts how often it is dropped.
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_id_means_its_object_until_the_last_reference_is_gone() {
        let (table, drops) = (ObjectTable::new(3), Arc::new(AtomicUsize::new(0)));
        let id = table.insert(Counted(drops.clone())).expect("a free slot");
        table.retain(id).expect("alive");
        table.release(id).expect("two references");
        assert!(table.pin(id).is_ok());
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        table.release(id).expect("one reference");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        let next = table.insert(Counted(drops.clone())).expect("a free slot");
        assert_eq!(next as u32, id as u32, "the same slot");
        for (number, why) in [
            (id, Refused::Stale),
            (0, Refused::Null),
            (id ^ 1 << 60, Refused::Kind),
            (u64::MAX, Refused::Kind),
            (next + 1, Refused::Stale),
            (next | 0xffff_ffff, Refused::Stale),
        ] {
            assert_eq!(table.pin(number).err(), Some(why), "{number:#x}");
            assert_eq!(table.retain(number).err(), Some(why), "{number:#x}");
            assert_eq!(table.release(number).err(), Some(why), "{number:#x}");
        }
        assert!(table.pin(next).is_ok());
    }

    #[test]
    fn what_is_in_use_is_dropped_afterwards() {
        let (table, drops) = (ObjectTable::new(1), Arc::new(AtomicUsize::new(0)));
        let id = table.insert(Counted(drops.clone())).expect("a free slot");
        let pins = [table.pin(id).expect("alive"), table.pin(id).expect("alive")];
        table.release(id).expect("alive");
        assert_eq!(table.release(id), Err(Refused::Stale), "twice");
        assert_eq!(table.pin(id).err(), Some(Refused::Stale));
        let [first, second] = pins;
        drop(first);
        assert_eq!((drops.load(Ordering::Relaxed), Arc::strong_count(&second.0)), (0, 2));
        drop(second);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_slot_out_of_generations_is_used_no_more() {
        let table = ObjectTable::new(1);
        let first = table.insert(0).expect("a free slot");
        table.release(first).expect("alive");
        let slot = table.slot(0).expect("the first");
        slot.state.store(((1 << GENERATION_BITS) - 1) * ONE_GENERATION, Ordering::Relaxed);
        let last = table.insert(1).expect("a free slot");
        assert_eq!(last as u32, 0);
        table.release(last).expect("alive");
        let other = table.insert(2).expect("a free slot");
        assert_eq!(other as u32, 1);
        assert_eq!(
            (table.pin(last).err(), table.pin(first).err()),
            (Some(Refused::Stale), Some(Refused::Stale))
        );
    }

    #[test]
    fn counts_do_not_overflow() {
        let table = ObjectTable::new(1);
        let id = table.insert(()).expect("a free slot");
        let slot = table.slot(0).expect("the first");
        slot.state.store(COUNT_MAX * ONE_REFERENCE + COUNT_MAX, Ordering::Relaxed);
        assert_eq!((table.retain(id), table.pin(id).err()), (Err(Refused::Full), Some(Refused::Full)));
    }

    #[test]
    fn many_objects_have_ids_of_their_own() {
        let table = ObjectTable::new(1);
        let ids: Vec<u64> = (0..10_000).map(|i| table.insert(i).expect("a free slot")).collect();
        assert!(ids.iter().enumerate().all(|(i, &id)| table.pin(id).is_ok_and(|pin| *pin == i)));
    }

    /// Threads use, retain and release each other's ids; every object must be dropped once.
    #[test]
    fn threads_agree() {
        let (threads, rounds) = (4, if cfg!(miri) { 20 } else { 3000 });
        let (table, drops) = (ObjectTable::new(1), Arc::new(AtomicUsize::new(0)));
        let ids: [AtomicU64; 3] = Default::default();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (table, ids, drops) = (&table, &ids, &drops);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let place = &ids[(thread + round) % ids.len()];
                        let fresh = table.insert(Counted(drops.clone())).expect("a free slot");
                        table.retain(fresh).expect("alive");
                        let old = place.swap(fresh, Ordering::Relaxed);
                        if let Ok(pin) = table.pin(old) {
                            let _ = table.release(old);
                            assert!(Arc::ptr_eq(&pin.0, drops));
                        }
                        table.release(fresh).expect("its own reference");
                    }
                });
            }
        });
        let left = ids.iter().filter(|id| table.release(id.load(Ordering::Relaxed)).is_ok()).count();
        assert_eq!((left, drops.load(Ordering::Relaxed)), (3, threads * rounds));
    }
}
