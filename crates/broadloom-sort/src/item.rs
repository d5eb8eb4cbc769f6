//! What a radix sort moves: keys alone, or keys with the index of their element.

use std::fmt::Debug;

use pulp::bytemuck::{Pod, cast_slice_mut};

use crate::workers::Stopped;

/// How a key, and perhaps an index, is laid out in memory. Items are integers and pairs of them, since
/// the allocator has zeros of those for nothing.
pub(crate) trait Layout: 'static {
    /// An item. Its own order is that of keys, and of indices among equal keys.
    type Item: Pod + Ord + Default + Debug + Send + Sync;
    /// The key of an item.
    fn key(item: Self::Item) -> u64;
    /// The item of the element with this index.
    fn item(key: u64, index: usize) -> Self::Item;
    /// The index of an item, of layouts that have one.
    fn index(item: Self::Item) -> usize;
}

/// Memory for the items of long rows: words that the caller lends, or others that are allocated where these are too few.
/// [`words_needed`](crate::words_needed) has their number, up to 16 bytes for each element, and some MB for each thread.
///
/// PERF: memory that is new to the process takes a fourth of the time of a sort, since the system zeroes its pages.
#[derive(Debug, Default)]
pub struct Memory<'m> {
    lent: &'m mut [u64],
    own: Vec<u64>,
}

impl<'m> Memory<'m> {
    /// Memory of the caller, with any contents.
    pub fn lent(words: &'m mut [u64]) -> Memory<'m> {
        Memory { lent: words, own: Vec::new() }
    }

    /// The number of bytes that are kept from call to call, beside those of the caller.
    pub fn bytes(&self) -> usize {
        8 * self.own.capacity()
    }

    /// At least this many items.
    pub(crate) fn items<L: Layout>(&mut self, len: usize) -> Result<&mut [L::Item], Stopped> {
        let words = words_of::<L::Item>(len);
        let memory = if words <= self.lent.len() {
            &mut *self.lent
        } else {
            if self.own.len() < words {
                // Nothing is copied, and the new memory may be zero already.
                self.own = Vec::new();
                self.own = zeros(words)?;
            }
            &mut self.own
        };
        Ok(&mut cast_slice_mut(&mut memory[..words])[..len])
    }
}

/// The number of words that this many items take.
pub(crate) fn words_of<I>(len: usize) -> usize {
    len.saturating_mul(size_of::<I>()).div_ceil(size_of::<u64>())
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
}

impl Layout for LongIndexed {
    type Item = [u64; 2];

    #[inline(always)]
    fn key(item: [u64; 2]) -> u64 {
        item[0]
    }

    #[inline(always)]
    fn item(key: u64, index: usize) -> [u64; 2] {
        [key, index as u64]
    }

    #[inline(always)]
    fn index(item: [u64; 2]) -> usize {
        item[1] as usize
    }
}
