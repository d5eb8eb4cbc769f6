//! Sorts items that fit a second-level cache: a stable radix sort by as many leading bits as tell most keys apart, and an insertion
//! sort of what remains.

use crate::chain::{Bucket, Interval};
use crate::item::Layout;
use crate::workers::Stopped;

/// Up to this many items are sorted by comparisons.
const FEW: usize = 64;
/// The maximum number of bits of a digit. The counts of a digit take 8 KiB.
const DIGIT: u32 = 11;
/// The maximum number of digits.
const DIGITS: usize = 3;
/// The number of bits by which the sorted prefix exceeds what numbers the items, so that of evenly spread keys at most one in 16 has
/// the prefix of another.
const SLACK: u32 = 4;
/// The number of moves per item after which an insertion sort is given up.
const PATIENCE: usize = 8;
/// The maximum number of items whose keys are told apart by the digits.
pub(crate) const MOST: usize = 1 << (DIGIT * DIGITS as u32 - SLACK - 1);

/// Memory that is reused from bucket to bucket.
pub(crate) struct Scratch<L: Layout> {
    items: [Vec<L::Item>; 2],
    counts: Box<[[u32; 1 << DIGIT]; DIGITS]>,
}

impl<L: Layout> Default for Scratch<L> {
    fn default() -> Self {
        Scratch { items: Default::default(), counts: Box::new([[0; 1 << DIGIT]; DIGITS]) }
    }
}

impl<L: Layout> Scratch<L> {
    /// Makes room for a bucket, which may be as long as a row if its keys are equal.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), Stopped> {
        let items = &mut self.items[0];
        items.try_reserve_exact(len.saturating_sub(items.len())).map_err(|_| Stopped::ByMemory)
    }

    /// The items of the bucket, sorted.
    #[inline(always)]
    pub(crate) fn sort(&mut self, bucket: &Bucket<'_, L>) -> &mut [L::Item] {
        let n = bucket.len;
        let known = bucket.interval.filter(|interval| n > FEW && interval.width > 0);
        let Interval { start, width } = match known {
            Some(interval) => interval,
            None => {
                let items = &mut self.items[0];
                items.clear();
                bucket.slices().for_each(|slice| items.extend_from_slice(slice));
                let sorted = items.is_sorted_by_key(|&item| L::key(item));
                if !sorted && (n <= FEW || n > MOST) {
                    items.sort_unstable();
                }
                if sorted || n <= FEW || n > MOST {
                    return &mut self.items[0];
                }
                Interval::of::<L>(items)
            }
        };
        let prefix = width.min(usize::BITS - n.leading_zeros() + SLACK);
        // Two digits may hold all bits, and then nothing is left to be inserted.
        let prefix = if width <= 2 * DIGIT && n >= 1 << DIGIT { width } else { prefix };
        let digits = prefix.div_ceil(DIGIT) as usize;
        let digit = prefix.div_ceil(digits as u32);
        let rest = width - (digit * digits as u32).min(width);

        let (size, mask) = (1 << digit, (1 << digit) - 1);
        let counts = &mut self.counts[..digits];
        counts.iter_mut().for_each(|counts| counts[..size].fill(0));
        count(bucket, |item| (L::key(item) - start) >> rest, digit, counts);
        let [to, other] = &mut self.items;
        for items in [&mut *to, &mut *other] {
            if items.len() < n {
                items.resize(n, L::Item::default());
            }
        }
        let (mut to, mut other) = (&mut to[..n], &mut other[..n]);
        for (i, places) in counts.iter_mut().enumerate() {
            let mut sum = 0;
            for place in &mut places[..size] {
                sum += std::mem::replace(place, sum);
            }
            let shift = rest + digit * i as u32;
            let digit_of = |item| ((L::key(item) - start) >> shift) as usize & mask & ((1 << DIGIT) - 1);
            if i == 0 {
                for items in bucket.slices() {
                    place(items, to, digit_of, places);
                }
            } else {
                place(other, to, digit_of, places);
            }
            (to, other) = (other, to);
        }
        if rest > 0 {
            insert::<L>(other);
        }
        other
    }
}

/// Counts each value of each digit of the prefixes.
#[inline(always)]
fn count<L: Layout>(
    bucket: &Bucket<'_, L>,
    prefix: impl Fn(L::Item) -> u64,
    digit: u32,
    counts: &mut [[u32; 1 << DIGIT]],
) {
    let mask = (1 << digit) - 1;
    for items in bucket.slices() {
        // PERF: two digits are by far the most frequent, and take half as long without an inner loop.
        if let [low, high] = counts {
            for &item in items {
                let prefix = prefix(item) as usize;
                low[prefix & mask & ((1 << DIGIT) - 1)] += 1;
                high[prefix >> digit & ((1 << DIGIT) - 1)] += 1;
            }
        } else {
            for &item in items {
                let mut prefix = prefix(item) as usize;
                for counts in counts.iter_mut() {
                    counts[prefix & mask & ((1 << DIGIT) - 1)] += 1;
                    prefix >>= digit;
                }
            }
        }
    }
}

/// Moves items to the next places of their digits.
#[inline(always)]
fn place<I: Copy>(items: &[I], to: &mut [I], digit: impl Fn(I) -> usize, places: &mut [u32; 1 << DIGIT]) {
    for &item in items {
        let place = &mut places[digit(item)];
        to[*place as usize] = item;
        *place += 1;
    }
}

/// Sorts items that are nearly sorted.
#[inline(always)]
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
