//! The form of a divided row: buckets of increasing keys, each a chain of blocks of items.

use crate::item::Layout;

/// An interval of keys: the first one, and the number of bits of a distance from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: u64,
    pub(crate) width: u32,
}

impl Interval {
    /// The interval from the minimum to the maximum of the keys.
    #[inline(always)]
    pub(crate) fn of<L: Layout>(items: &[L::Item]) -> Interval {
        let (mut low, mut high) = (u64::MAX, 0);
        for &item in items {
            low = low.min(L::key(item));
            high = high.max(L::key(item));
        }
        Interval { start: low, width: u64::BITS - high.saturating_sub(low).leading_zeros() }
    }
}

/// The items of one bucket, in blocks.
#[derive(Clone)]
pub(crate) struct Bucket<'b, L: Layout> {
    /// The number of items.
    pub(crate) len: usize,
    /// The interval of the keys, if it is known.
    pub(crate) interval: Option<Interval>,
    items: &'b [L::Item],
    blocks: &'b [Block],
}

impl<'b, L: Layout> Bucket<'b, L> {
    /// All items of a slice as one bucket, for which `blocks` is written.
    pub(crate) fn of(items: &'b [L::Item], block: &'b mut Block) -> Self {
        *block = Block { start: 0, len: items.len() };
        Bucket { len: items.len(), interval: None, items, blocks: std::slice::from_ref(block) }
    }

    /// The slices that the bucket consists of.
    #[inline(always)]
    pub(crate) fn slices(&self) -> impl Iterator<Item = &'b [L::Item]> + use<'b, L> {
        let items = self.items;
        self.blocks.iter().map(move |block| &items[block.start..][..block.len])
    }
}

/// A range of the items.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// The elements of a row, as items in buckets.
pub(crate) struct Buckets<'m, L: Layout> {
    pub(crate) items: &'m [L::Item],
    pub(crate) blocks: Vec<Block>,
    /// The end of the blocks of each bucket, the number of its items, and their interval.
    pub(crate) buckets: Vec<(usize, usize, Option<Interval>)>,
}

impl<L: Layout> Buckets<'_, L> {
    /// The buckets, by increasing keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Bucket<'_, L>> + Send {
        let mut first = 0;
        self.buckets.iter().map(move |&(end, len, interval)| {
            let blocks = &self.blocks[std::mem::replace(&mut first, end)..end];
            Bucket { len, interval, items: self.items, blocks }
        })
    }
}
