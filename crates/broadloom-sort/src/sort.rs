//! Sorts rows, by their elements or as indices.

use broadloom_math::{DType, DTypeVisitor, Elem};
use pulp::{Arch, NullaryFnOnce};

use crate::bucket::Scratch;
use crate::chain::{Block, Bucket, Buckets};
use crate::counting;
use crate::item::{Layout, Long, LongIndexed, Memory, Short, ShortIndexed, with_capacity, words_of, zeros};
use crate::order::{Direction, element, key};
use crate::partition::{items_needed, partition};
use crate::workers::{Stopped, Workers, for_each};

/// Rows of more elements are divided into buckets, which threads share.
const LONG: usize = 1 << 16;
/// The number of elements of a bucket. Longer buckets leave a second-level cache of 512 KiB.
const BUCKET: usize = 1 << 13;
/// The maximum number of buckets. More take longer to fill, since each is written at a place of its own in memory.
const MOST_BUCKETS: usize = 1 << 10;
/// The least number of elements that a thread takes at a time.
const UNIT: usize = 1 << 16;
/// Buckets of more elements are divided again.
const DENSE: usize = 1 << 17;
/// The number of times that a bucket is divided before it is sorted by comparisons.
const DEPTH: u32 = 3;

/// Writes each row of contiguous rows of `row` elements in order.
///
/// # Errors
///
/// The workers stopped, or the system refused memory.
///
/// # Panics
///
/// `out` is not as long as `values`.
pub fn sort<T: Elem>(
    values: &[T::Store],
    row: usize,
    direction: Direction,
    out: &mut [T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    assert_eq!(values.len(), out.len(), "sort: one result for each value");
    if counting::pays::<T>(row) {
        let threads = workers.threads().min(values.len() / row);
        return for_each(
            workers,
            threads,
            values.chunks(row).zip(out.chunks_mut(row)),
            || (),
            |(), (row, out)| counting::sort::<T>(row, direction, out, workers),
        );
    }
    match T::DTYPE.size() {
        8 => sort_as::<T, Long>(values, row, direction, out, memory, workers),
        _ => sort_as::<T, Short>(values, row, direction, out, memory, workers),
    }
}

fn sort_as<T: Elem, L: Layout>(
    values: &[T::Store],
    row: usize,
    direction: Direction,
    out: &mut [T::Store],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    let flip = direction.flip::<T>();
    let item = |_, element| L::item(key::<T>(element) ^ flip, 0);
    let emit = |item| element::<T>(L::key(item) ^ flip);
    if row > LONG {
        for (row, out) in values.chunks(row).zip(out.chunks_mut(row)) {
            workers.go_on()?;
            let is_sorted = row.is_sorted_by_key(|&element| key::<T>(element) ^ flip);
            if is_sorted || row.is_sorted_by(|&a, &b| key::<T>(a) ^ flip >= key::<T>(b) ^ flip) {
                out.copy_from_slice(row);
                if !is_sorted {
                    out.reverse();
                }
                continue;
            }
            let buckets = divide::<L, _>(row, item, memory, workers)?;
            finish::<L, _>(&buckets, out, emit, workers)?;
        }
        return Ok(());
    }
    let units = values.chunks(rows(row)).zip(out.chunks_mut(rows(row)));
    let threads = workers.threads().min(units.len());
    for_each(workers, threads, units, Rows::<L>::default, |rows, (unit, out)| {
        for (row, out) in unit.chunks(row.max(1)).zip(out.chunks_mut(row.max(1))) {
            let sorted = rows.sort(row, item);
            out.iter_mut().zip(sorted).for_each(|(to, &mut item)| *to = emit(item));
        }
        Ok(())
    })
}

/// Writes, for each row of contiguous rows of `row` elements, the indices of its elements in their order. Equal elements keep the
/// order of their indices, in either direction.
///
/// # Errors
///
/// The workers stopped, or the system refused memory.
///
/// # Panics
///
/// `indices` is not as long as `values`.
pub fn argsort<T: Elem>(
    values: &[T::Store],
    row: usize,
    direction: Direction,
    indices: &mut [i64],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    assert_eq!(values.len(), indices.len(), "argsort: one index for each value");
    let flip = direction.flip::<T>();
    argsort_by::<T>(values, row, &|element| key::<T>(element) ^ flip, indices, memory, workers)
}

/// Does the same as [`argsort`] by other keys, of at most as many bits as an element.
pub(crate) fn argsort_by<T: Elem>(
    values: &[T::Store],
    row: usize,
    key: &(impl Fn(T::Store) -> u64 + Sync),
    indices: &mut [i64],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    if T::DTYPE.size() < 8 && row as u64 <= 1 << 32 {
        argsort_as::<T, ShortIndexed>(values, row, key, indices, memory, workers)
    } else {
        argsort_as::<T, LongIndexed>(values, row, key, indices, memory, workers)
    }
}

fn argsort_as<T: Elem, L: Layout>(
    values: &[T::Store],
    row: usize,
    key: &(impl Fn(T::Store) -> u64 + Sync),
    indices: &mut [i64],
    memory: &mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    let item = |index, element| L::item(key(element), index);
    let emit = |item| L::index(item) as i64;
    if row > LONG {
        for (row, indices) in values.chunks(row).zip(indices.chunks_mut(row)) {
            workers.go_on()?;
            if row.is_sorted_by_key(|&element| key(element)) {
                indices.iter_mut().zip(0..).for_each(|(to, index)| *to = index);
                continue;
            }
            let buckets = divide::<L, _>(row, item, memory, workers)?;
            finish::<L, _>(&buckets, indices, emit, workers)?;
        }
        return Ok(());
    }
    let units = values.chunks(rows(row)).zip(indices.chunks_mut(rows(row)));
    let threads = workers.threads().min(units.len());
    for_each(workers, threads, units, Rows::<L>::default, |rows, (unit, indices)| {
        for (row, indices) in unit.chunks(row.max(1)).zip(indices.chunks_mut(row.max(1))) {
            let sorted = rows.sort(row, item);
            indices.iter_mut().zip(sorted).for_each(|(to, &mut item)| *to = emit(item));
        }
        Ok(())
    })
}

/// The number of elements of the rows that a thread takes at a time.
fn rows(row: usize) -> usize {
    row.max(1) * (UNIT / row.max(1)).max(1)
}

/// Memory that is reused from row to row.
struct Rows<L: Layout> {
    items: Vec<L::Item>,
    scratch: Scratch<L>,
}

impl<L: Layout> Default for Rows<L> {
    fn default() -> Self {
        Rows { items: Vec::new(), scratch: Scratch::default() }
    }
}

impl<L: Layout> Rows<L> {
    /// The items of a short row, sorted.
    fn sort<S: Copy>(&mut self, row: &[S], item: impl Fn(usize, S) -> L::Item) -> &mut [L::Item] {
        self.items.clear();
        self.items.extend(row.iter().enumerate().map(|(i, &element)| item(i, element)));
        self.scratch.sort(&Bucket::of(&self.items, &mut Block::default()))
    }
}

/// Divides a long row into buckets.
fn divide<'m, L: Layout, S: Copy + Sync>(
    row: &[S],
    item: impl Fn(usize, S) -> L::Item + Sync,
    memory: &'m mut Memory<'_>,
    workers: &dyn Workers,
) -> Result<Buckets<'m, L>, Stopped> {
    let (buckets, threads) = (bucket_count(row.len()), workers.threads());
    let items = memory.items::<L>(items_needed(row.len(), buckets, threads))?;
    partition(row, items, item, buckets, threads, workers)
}

/// The number of words of 8 bytes that the items of a row of this many elements take on so many threads, with indices or without.
/// Keys that a sample of the row misses can take several times as many.
pub fn words_needed(dtype: DType, row: usize, with_indices: bool, threads: usize) -> usize {
    dtype.visit(WordsNeeded { row, with_indices, threads })
}

struct WordsNeeded {
    row: usize,
    with_indices: bool,
    threads: usize,
}

impl DTypeVisitor for WordsNeeded {
    type Out = usize;

    fn visit<T: Elem>(self) -> usize {
        let WordsNeeded { row, with_indices, threads } = self;
        let bytes = T::DTYPE.size();
        if row <= LONG || (!with_indices && counting::pays::<T>(row)) {
            return 0;
        }
        let items = items_needed(row, bucket_count(row), threads);
        match with_indices {
            false if bytes < 8 => words_of::<u32>(items),
            true if bytes == 8 || row as u64 > 1 << 32 => words_of::<[u64; 2]>(items),
            _ => words_of::<u64>(items),
        }
    }
}

/// The number of buckets of a row.
fn bucket_count(len: usize) -> usize {
    (len / BUCKET).next_power_of_two().min(MOST_BUCKETS)
}

/// Sorts buckets, and writes what `emit` makes of their items.
fn finish<L: Layout, O: Send>(
    buckets: &Buckets<'_, L>,
    out: &mut [O],
    emit: impl Fn(L::Item) -> O + Sync,
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    let (mut buckets, mut out) = (buckets.iter(), out);
    let units = std::iter::from_fn(move || {
        let (mut unit, mut len) = (Vec::new(), 0);
        while len < UNIT {
            let Some(bucket) = buckets.next() else { break };
            len += bucket.len;
            unit.push(bucket);
        }
        let unit_out;
        (unit_out, out) = std::mem::take(&mut out).split_at_mut(len);
        (!unit.is_empty()).then_some((unit, unit_out))
    });
    for_each(workers, workers.threads(), units, Scratch::<L>::default, |scratch, (unit, out)| {
        let mut rest = out;
        for bucket in &unit {
            let out;
            (out, rest) = std::mem::take(&mut rest).split_at_mut(bucket.len);
            if bucket.len > DENSE && bucket.interval.is_none_or(|interval| interval.width > 0) {
                let sorted = sort_dense(bucket, scratch, DEPTH, workers)?;
                out.iter_mut().zip(sorted).for_each(|(to, item)| *to = emit(item));
            } else if bucket.len > 0 {
                scratch.reserve(bucket.len)?;
                Arch::new().dispatch(SortInto { scratch, bucket, out, emit: &emit });
            }
        }
        Ok(())
    })
}

/// Sorts a bucket, and writes what `emit` makes of its items.
struct SortInto<'s, L: Layout, O, E> {
    scratch: &'s mut Scratch<L>,
    bucket: &'s Bucket<'s, L>,
    out: &'s mut [O],
    emit: &'s E,
}

impl<L: Layout, O, E: Fn(L::Item) -> O> NullaryFnOnce for SortInto<'_, L, O, E> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let sorted = self.scratch.sort(self.bucket);
        self.out.iter_mut().zip(sorted).for_each(|(to, &mut item)| *to = (self.emit)(item));
    }
}

/// Sorts a bucket with too many items by dividing it again, since keys that the sample missed may be dense in it.
fn sort_dense<L: Layout>(
    bucket: &Bucket<'_, L>,
    scratch: &mut Scratch<L>,
    depth: u32,
    workers: &dyn Workers,
) -> Result<Vec<L::Item>, Stopped> {
    workers.go_on()?;
    let mut items: Vec<L::Item> = with_capacity(bucket.len)?;
    bucket.slices().for_each(|slice| items.extend_from_slice(slice));
    if items.is_sorted_by_key(|&item| L::key(item)) {
        return Ok(items);
    }
    if depth == 0 {
        items.sort_unstable();
        return Ok(items);
    }
    let count = bucket_count(items.len());
    let mut moved = zeros(items_needed(items.len(), count, 1))?;
    let buckets = partition::<L, _>(&items, &mut moved, |_, item| item, count, 1, workers)?;
    drop(items);
    let mut sorted = with_capacity(bucket.len)?;
    for bucket in buckets.iter() {
        workers.go_on()?;
        if bucket.len > DENSE && bucket.interval.is_none_or(|interval| interval.width > 0) {
            sorted.extend(sort_dense(&bucket, scratch, depth - 1, workers)?);
        } else if bucket.len > 0 {
            scratch.reserve(bucket.len)?;
            sorted.extend_from_slice(scratch.sort(&bucket));
        }
    }
    Ok(sorted)
}
