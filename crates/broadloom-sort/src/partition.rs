//! Moves the elements of a row into buckets of increasing keys, in the order of the row.
//!
//! A sample of the keys decides how many leading bits of a key number its bucket, so that buckets are about equally long
//! wherever keys are dense: float64 drawn from [0, 1) have half of their keys in one of a thousand exponents. Each thread moves the elements of one
//! range of the row, and has of each bucket a slice of its own.

use crate::bucket::Interval;
use crate::item::Layout;
use crate::workers::{Stopped, Workers, for_each};

/// log2 of the number of cells into which the keys of the sample are divided before cells are divided into buckets.
const CELLS: u32 = 10;
/// The number of keys in a sample.
const SAMPLE: usize = 1 << 12;
/// Between this many elements, a thread asks whether it goes on.
const BETWEEN: usize = 1 << 18;

/// The bucket of a key whose bits after the first [`CELLS`] are shifted out by `shift`: the shifted distance plus `offset`.
#[derive(Clone, Copy, Default)]
struct Cell {
    shift: u32,
    offset: u32,
}

/// The division of keys into buckets. The first bucket is that of keys below the sample's, and the last one that of keys above.
pub(crate) struct Division {
    low: u64,
    span: u64,
    shift: u32,
    cells: [Cell; 1 << CELLS],
    intervals: Vec<Option<Interval>>,
}

impl Division {
    /// A division into about this many buckets, and up to 2^[`CELLS`] more that are usually empty.
    fn new(keys: impl Fn(usize) -> u64, len: usize, buckets: usize) -> Division {
        let mut sample: Vec<u64> = (0..SAMPLE as u64).map(|i| keys(place(i, len))).collect();
        let (low, high) =
            sample.iter().fold((u64::MAX, 0), |(low, high), &key| (key.min(low), key.max(high)));
        let span = high - low;
        let width = u64::BITS - span.leading_zeros();
        let shift = width.saturating_sub(CELLS);
        let mut counts = [0_usize; 1 << CELLS];
        sample.iter_mut().for_each(|key| counts[((*key - low) >> shift) as usize] += 1);
        let mut cells = [Cell::default(); 1 << CELLS];
        let mut intervals = vec![None];
        for (i, (cell, count)) in cells.iter_mut().zip(counts).enumerate().take((span >> shift) as usize + 1)
        {
            let bits = (count * buckets / SAMPLE).max(1).ilog2().min(shift);
            *cell = Cell {
                shift: shift - bits,
                offset: (intervals.len() as u32).wrapping_sub((i as u32) << bits),
            };
            let start = low + ((i as u64) << shift);
            intervals.extend(
                (0..1_u64 << bits).map(|j| {
                    Some(Interval { start: start.wrapping_add(j << cell.shift), width: cell.shift })
                }),
            );
        }
        intervals.push(None);
        Division { low, span, shift, cells, intervals }
    }

    /// The bucket of the key.
    #[inline(always)]
    fn bucket(&self, key: u64) -> usize {
        let distance = key.wrapping_sub(self.low);
        if distance > self.span {
            return if key < self.low { 0 } else { self.intervals.len() - 1 };
        }
        let cell = self.cells[(distance >> self.shift) as usize & ((1 << CELLS) - 1)];
        ((distance >> cell.shift) as u32).wrapping_add(cell.offset) as usize
    }
}

/// The place in the row of the `i`th key of a sample. Places are pseudorandom, so that no period of the row is their own.
fn place(i: u64, len: usize) -> usize {
    let mut z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % len as u64) as usize
}

/// The elements of a row, as items in buckets.
pub(crate) struct Buckets<'m, L: Layout> {
    pub(crate) items: &'m mut [L::Item],
    /// The number of items of each bucket, and the interval of their keys if it is known.
    pub(crate) buckets: Vec<(usize, Option<Interval>)>,
}

/// Divides a row into about this many buckets.
pub(crate) fn partition<'m, L: Layout, S: Copy + Sync>(
    row: &[S],
    items: &'m mut [L::Item],
    item: impl Fn(usize, S) -> L::Item + Sync,
    buckets: usize,
    threads: usize,
    workers: &dyn Workers,
) -> Result<Buckets<'m, L>, Stopped> {
    let division = Division::new(|i| L::key(item(i, row[i])), row.len(), buckets);
    let buckets = division.intervals.len();
    let stride = row.len().div_ceil(threads).clamp(1, u32::MAX as usize);
    let mut counts: Vec<Vec<u32>> = vec![Vec::new(); row.len().div_ceil(stride)];

    let units = row.chunks(stride).zip(&mut counts);
    for_each(
        workers,
        threads,
        units,
        || (),
        |(), (part, counts)| {
            *counts = vec![0; buckets];
            for part in part.chunks(BETWEEN) {
                workers.go_on()?;
                for &element in part {
                    counts[division.bucket(L::key(item(0, element)))] += 1;
                }
            }
            Ok(())
        },
    )?;

    let mut slices: Vec<Vec<std::slice::IterMut<'_, L::Item>>> =
        counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    let mut rest = &mut *items;
    for bucket in 0..buckets {
        for (counts, slices) in counts.iter().zip(&mut slices) {
            let (slice, others) = std::mem::take(&mut rest).split_at_mut(counts[bucket] as usize);
            slices.push(slice.iter_mut());
            rest = others;
        }
    }
    let units = row.chunks(stride).enumerate().zip(slices);
    for_each(
        workers,
        threads,
        units,
        || (),
        |(), ((i, part), mut slices)| {
            for (j, part) in part.chunks(BETWEEN).enumerate() {
                workers.go_on()?;
                let first = i * stride + j * BETWEEN;
                for (j, &element) in part.iter().enumerate() {
                    let item = item(first + j, element);
                    if let Some(place) = slices[division.bucket(L::key(item))].next() {
                        *place = item;
                    }
                }
            }
            Ok(())
        },
    )?;

    let lens = (0..buckets).map(|bucket| counts.iter().map(|counts| counts[bucket] as usize).sum());
    Ok(Buckets { buckets: lens.zip(division.intervals).collect(), items })
}
