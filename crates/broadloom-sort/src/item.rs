//! What a radix sort moves: keys alone, or keys with the index of their element.

use std::fmt::Debug;

use crate::workers::Stopped;

/// How a key, and perhaps an index, is laid out in memory. Items are integers and pairs of them, since
/// the allocator has zeros of those for nothing.
pub(crate) trait Layout: 'static {
    /// An item. Its own order is that of keys, and of indices among equal keys.
    type Item: Copy + Ord + Default + Debug + Send + Sync;
    /// The key of an item.
    fn key(item: Self::Item) -> u64;
    /// The item of the element with this index.
    fn item(key: u64, index: usize) -> Self::Item;
    /// The index of an item, of layouts that have one.
    fn index(item: Self::Item) -> usize;
    /// The memory for items of this layout.
    fn memory(memory: &mut Memory) -> &mut Vec<Self::Item>;
}

/// Memory that sorts reuse from call to call. It holds as much as the longest row of each layout so far needs: up to 16 bytes for
/// each element, and some MB for each thread.
///
/// PERF: memory that is new to the process takes a fourth of the time of a sort, since the system zeroes its pages.
#[derive(Debug, Default)]
pub struct Memory {
    short: Vec<u32>,
    long: Vec<u64>,
    indexed: Vec<(u64, u64)>,
}

impl Memory {
    /// The number of bytes that are kept.
    pub fn bytes(&self) -> usize {
        4 * self.short.capacity() + 8 * self.long.capacity() + 16 * self.indexed.capacity()
    }

    /// At least this many items.
    pub(crate) fn items<L: Layout>(&mut self, len: usize) -> Result<&mut [L::Item], Stopped> {
        let items = L::memory(self);
        if items.len() < len {
            // Nothing is copied, and the new memory may be zero already.
            *items = Vec::new();
            *items = zeros(len)?;
        }
        Ok(&mut items[..len])
    }
}

/// Zeros, of which the system may have whole pages.
///
/// # Errors
///
/// The system refused memory.
pub fn zeros<I: Clone + Default>(len: usize) -> Result<Vec<I>, Stopped> {
    // A request that the system refuses here would end the process below.
    drop(with_capacity::<I>(len)?);
    Ok(vec![I::default(); len])
}

/// An empty vector with room for as many items.
pub(crate) fn with_capacity<I>(len: usize) -> Result<Vec<I>, Stopped> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).map_err(|_| Stopped::ByMemory)?;
    Ok(items)
}

/// Keys of at most 32 bits.
pub(crate) struct Short;
/// Keys of 64 bits.
pub(crate) struct Long;
/// A key of at most 32 bits above an index below 2^32.
pub(crate) struct ShortIndexed;
/// A key of 64 bits, and an index.
pub(crate) struct LongIndexed;

impl Layout for Short {
    type Item = u32;

    #[inline(always)]
    fn key(item: u32) -> u64 {
        item.into()
    }

    #[inline(always)]
    fn item(key: u64, _: usize) -> u32 {
        key as u32
    }

    fn index(_: u32) -> usize {
        0
    }

    fn memory(memory: &mut Memory) -> &mut Vec<u32> {
        &mut memory.short
    }
}

impl Layout for Long {
    type Item = u64;

    #[inline(always)]
    fn key(item: u64) -> u64 {
        item
    }

    #[inline(always)]
    fn item(key: u64, _: usize) -> u64 {
        key
    }

    fn index(_: u64) -> usize {
        0
    }

    fn memory(memory: &mut Memory) -> &mut Vec<u64> {
        &mut memory.long
    }
}

impl Layout for ShortIndexed {
    type Item = u64;

    #[inline(always)]
    fn key(item: u64) -> u64 {
        item >> 32
    }

    #[inline(always)]
    fn item(key: u64, index: usize) -> u64 {
        key << 32 | index as u64
    }

    #[inline(always)]
    fn index(item: u64) -> usize {
        item as u32 as usize
    }

    fn memory(memory: &mut Memory) -> &mut Vec<u64> {
        &mut memory.long
    }
}

impl Layout for LongIndexed {
    type Item = (u64, u64);

    #[inline(always)]
    fn key(item: (u64, u64)) -> u64 {
        item.0
    }

    #[inline(always)]
    fn item(key: u64, index: usize) -> (u64, u64) {
        (key, index as u64)
    }

    #[inline(always)]
    fn index(item: (u64, u64)) -> usize {
        item.1 as usize
    }

    fn memory(memory: &mut Memory) -> &mut Vec<(u64, u64)> {
        &mut memory.indexed
    }
}
