//! Sorts items that fit a second-level cache: a stable radix sort by as many leading bits as tell most keys apart, and an insertion
//! sort of what remains.

use crate::item::Layout;

/// Up to this many items are sorted by comparisons.
const FEW: usize = 64;
/// The maximum number of bits of a digit. The counts of a digit take 8 KiB.
const DIGIT: u32 = 11;
/// The maximum number of digits.
const DIGITS: usize = 3;
/// The number of bits by which the sorted prefix exceeds what numbers the items. At 2, an item in four has an equal prefix.
const SLACK: u32 = 2;
/// The number of moves per item after which an insertion sort is given up.
const PATIENCE: usize = 8;
/// The maximum number of items whose keys are told apart by the digits.
pub(crate) const MOST: usize = 1 << (DIGIT * DIGITS as u32 - SLACK - 1);

/// An interval of keys: the first one, and the number of bits of a distance from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: u64,
    pub(crate) width: u32,
}

impl Interval {
    /// The interval from the minimum to the maximum of the keys.
    fn of<L: Layout>(items: &[L::Item]) -> Interval {
        let (mut low, mut high) = (u64::MAX, 0);
        for &item in items {
            low = low.min(L::key(item));
            high = high.max(L::key(item));
        }
        Interval { start: low, width: u64::BITS - high.saturating_sub(low).leading_zeros() }
    }
}

/// Memory that is reused from bucket to bucket.
pub(crate) struct Scratch<L: Layout> {
    items: Vec<L::Item>,
    counts: Box<[[u32; 1 << DIGIT]; DIGITS]>,
}

impl<L: Layout> Default for Scratch<L> {
    fn default() -> Self {
        Scratch { items: Vec::new(), counts: Box::new([[0; 1 << DIGIT]; DIGITS]) }
    }
}

impl<L: Layout> Scratch<L> {
    /// Sorts the items, whose keys are in the interval if one is given. Returns them where they are: in place, or in the scratch.
    pub(crate) fn sort<'s>(
        &'s mut self,
        items: &'s mut [L::Item],
        interval: Option<Interval>,
    ) -> &'s mut [L::Item] {
        let n = items.len();
        if n <= FEW || n > MOST {
            items.sort_unstable();
            return items;
        }
        if items.is_sorted_by_key(|&item| L::key(item)) {
            return items;
        }
        let Interval { start, width } = interval.unwrap_or_else(|| Interval::of::<L>(items));
        let prefix = width.min(usize::BITS - n.leading_zeros() + SLACK);
        let digits = prefix.div_ceil(DIGIT) as usize;
        let digit = prefix.div_ceil(digits as u32);
        let prefix = (digit * digits as u32).min(width);
        let rest = width - prefix;
        if self.items.len() < n {
            self.items.resize(n, L::Item::default());
        }

        let size = 1 << digit;
        let counts = &mut self.counts[..digits];
        counts.iter_mut().for_each(|counts| counts[..size].fill(0));
        let mask = size - 1;
        for &item in items.iter() {
            let mut prefix = (L::key(item) - start) >> rest;
            for counts in counts.iter_mut() {
                counts[prefix as usize & mask & (counts.len() - 1)] += 1;
                prefix >>= digit;
            }
        }
        let (mut from, mut to) = (items, &mut self.items[..n]);
        for (i, next) in counts.iter_mut().enumerate() {
            let mut sum = 0;
            for next in &mut next[..size] {
                sum += std::mem::replace(next, sum);
            }
            let shift = rest + digit * i as u32;
            for &item in from.iter() {
                let next = &mut next[((L::key(item) - start) >> shift) as usize & mask & ((1 << DIGIT) - 1)];
                to[*next as usize] = item;
                *next += 1;
            }
            (from, to) = (to, from);
        }
        if rest > 0 {
            insert::<L>(from);
        }
        from
    }
}

/// Sorts items that are nearly sorted.
fn insert<L: Layout>(items: &mut [L::Item]) {
    let mut moves = PATIENCE * items.len();
    for i in 1..items.len() {
        let (item, mut to) = (items[i], i);
        while to > 0 && L::key(items[to - 1]) > L::key(item) {
            items[to] = items[to - 1];
            to -= 1;
        }
        items[to] = item;
        match moves.checked_sub(i - to) {
            Some(left) => moves = left,
            None => return items.sort_unstable(),
        }
    }
}
