//! Moves the elements of a row into buckets of increasing keys, in the order of the row.
//!
//! A sample of the keys decides how many leading bits of a key number its bucket, so that buckets are about equally long
//! wherever keys are dense: half of the float64 drawn from [0, 1) have one exponent of a thousand. A bucket is a
//! chain of short blocks, which buckets take from memory in order. The blocks that are being filled are therefore close together,
//! and neither caches nor pages are missed as they are if each bucket is one range of memory.

use std::slice;

use pulp::Arch;

use crate::chain::{Block, Buckets, Interval};
use crate::item::Layout;
use crate::workers::{Stopped, Workers, for_each};

/// log2 of the number of cells into which the keys of the sample are divided before cells are divided into buckets.
const CELLS: u32 = 10;
/// The number of keys in a sample.
const SAMPLE: usize = 1 << 12;
/// The number of items in a block.
const BLOCK: usize = 256;
/// Between this many elements, a thread asks whether it goes on.
const BETWEEN: usize = 1 << 18;

/// The bucket of a key whose bits after the first [`CELLS`] are shifted out by `shift`: the shifted distance plus `offset`.
#[derive(Clone, Copy, Default)]
struct Cell {
    shift: u32,
    offset: u32,
}

/// The division of keys into buckets. The first bucket is that of keys below the sample's, and the last one that of keys above.
struct Division {
    low: u64,
    span: u64,
    shift: u32,
    cells: [Cell; 1 << CELLS],
    intervals: Vec<Option<Interval>>,
}

impl Division {
    /// A division into about this many buckets, and up to 2^[`CELLS`] more that are usually empty.
    fn new(keys: impl Fn(usize) -> u64, len: usize, buckets: usize) -> Division {
        let sample: Vec<u64> = (0..SAMPLE as u64).map(|i| keys(place(i, len))).collect();
        let (low, high) =
            sample.iter().fold((u64::MAX, 0), |(low, high), &key| (key.min(low), key.max(high)));
        let span = high - low;
        let width = u64::BITS - span.leading_zeros();
        let shift = width.saturating_sub(CELLS);
        let mut counts = [0_usize; 1 << CELLS];
        sample.iter().for_each(|key| counts[((key - low) >> shift) as usize] += 1);
        let mut cells = [Cell::default(); 1 << CELLS];
        let mut intervals = vec![None];
        let used = (span >> shift) as usize + 1;
        for (i, (cell, count)) in cells.iter_mut().zip(counts).enumerate().take(used) {
            let bits = (count * buckets / SAMPLE).max(1).ilog2().min(shift);
            let width = shift - bits;
            *cell = Cell { shift: width, offset: (intervals.len() as u32).wrapping_sub((i as u32) << bits) };
            let start = low + ((i as u64) << shift);
            let starts = (0..1_u64 << bits).map(|j| start.wrapping_add(j << width));
            intervals.extend(starts.map(|start| Some(Interval { start, width })));
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

/// The blocks that one thread has filled.
#[derive(Default)]
struct Filled {
    /// The bucket of each block, in the order of memory.
    owners: Vec<u32>,
    /// The number of items that are missing in the last block of each bucket.
    missing: Vec<usize>,
}

/// The blocks that one thread is filling.
struct Filling<'m, L: Layout> {
    /// The places that remain in the last block of each bucket.
    places: Vec<slice::IterMut<'m, L::Item>>,
    /// The blocks that have no bucket.
    free: slice::ChunksExactMut<'m, L::Item>,
    owners: Vec<u32>,
}

impl<'m, L: Layout> Filling<'m, L> {
    fn new(items: &'m mut [L::Item], buckets: usize) -> Self {
        let mut places = Vec::new();
        places.resize_with(buckets, Default::default);
        Filling { places, free: items.chunks_exact_mut(BLOCK), owners: Vec::new() }
    }

    /// Adds the items of elements to their buckets.
    #[inline(always)]
    fn add<S: Copy>(&mut self, division: &Division, elements: &[S], item: impl Fn(usize, S) -> L::Item) {
        for (i, &element) in elements.iter().enumerate() {
            let item = item(i, element);
            let bucket = division.bucket(L::key(item));
            match self.places[bucket].next() {
                Some(place) => *place = item,
                None => self.add_to_new_block(bucket, item),
            }
        }
    }

    #[cold]
    fn add_to_new_block(&mut self, bucket: usize, item: L::Item) {
        let block = self.free.next().expect("a block for each bucket");
        // PERF: this asks for all lines of the block at once. Sorting int32 takes 1.1 × as long if each is missed for itself.
        block.fill(item);
        self.places[bucket] = block.iter_mut();
        self.places[bucket].next();
        self.owners.push(bucket as u32);
    }

    fn finish(self) -> Filled {
        let missing = self.places.into_iter().map(|places| places.len()).collect();
        Filled { owners: self.owners, missing }
    }
}

/// The number of items that [`partition`] needs.
pub(crate) fn items_needed(len: usize, buckets: usize, threads: usize) -> usize {
    // Each range ends in a part of a block for each bucket.
    len + threads * BLOCK * (buckets + (1 << CELLS) + 3)
}

/// Divides a row into about this many buckets, on this many threads. `items` has as many as [`items_needed`] says.
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
    let stride = row.len().div_ceil(threads).max(1);
    let region = (items.len() / threads / BLOCK).max(1) * BLOCK;
    let mut filled: Vec<Filled> = row.chunks(stride).map(|_| Filled::default()).collect();
    let units = row.chunks(stride).zip(items.chunks_mut(region)).zip(&mut filled).enumerate();
    for_each(
        workers,
        threads,
        units,
        || (),
        |(), (i, ((range, items), filled))| {
            let mut filling = Filling::<L>::new(items, buckets);
            for (j, part) in range.chunks(BETWEEN).enumerate() {
                workers.go_on()?;
                let first = i * stride + j * BETWEEN;
                Arch::new().dispatch(
                    #[inline(always)]
                    || filling.add(&division, part, |j, element| item(first + j, element)),
                );
            }
            *filled = filling.finish();
            Ok(())
        },
    )?;
    Ok(chains(items, region, &filled, division.intervals))
}

/// Chains the blocks of each bucket, by a counting sort of the blocks.
fn chains<'m, L: Layout>(
    items: &'m [L::Item],
    region: usize,
    filled: &[Filled],
    intervals: Vec<Option<Interval>>,
) -> Buckets<'m, L> {
    let mut ends = vec![0; intervals.len()];
    for &owner in filled.iter().flat_map(|filled| &filled.owners) {
        ends[owner as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut blocks = vec![Block::default(); sum];
    let mut lens = vec![0; intervals.len()];
    for (i, filled) in filled.iter().enumerate() {
        for (j, &owner) in filled.owners.iter().enumerate() {
            let owner = owner as usize;
            blocks[ends[owner]] = Block { start: i * region + j * BLOCK, len: BLOCK };
            ends[owner] += 1;
            lens[owner] += BLOCK;
        }
        for ((&missing, &end), len) in filled.missing.iter().zip(&ends).zip(&mut lens) {
            if missing > 0 {
                blocks[end - 1].len -= missing;
                *len -= missing;
            }
        }
    }
    let buckets = ends.into_iter().zip(lens).zip(intervals);
    Buckets { items, blocks, buckets: buckets.map(|((end, len), interval)| (end, len, interval)).collect() }
}
