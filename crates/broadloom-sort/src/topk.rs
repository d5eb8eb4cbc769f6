//! The first elements of rows in their order, without sorting the others.

use broadloom_math::Elem;

use crate::item::with_capacity;
use crate::order::{Direction, element, key};
use crate::workers::{Stopped, Workers, for_each};

/// Between this many elements, a thread asks whether it goes on.
const BETWEEN: usize = 1 << 18;
/// The minimum number of candidates that are added before the best are selected.
const ADDED: usize = 1 << 10;
/// The minimum number of elements of a range of a row that has candidates of its own.
const RANGE: usize = 1 << 16;

/// A key and an index.
type Candidate = [u64; 2];

/// Writes the first `k` elements of each row in the order of [`sort`](crate::sort()), and their indices: the maxima if the
/// direction is descending. Of equal elements, the one with the lower index is first.
///
/// NaNs are after +inf, and so they are among the maxima.
///
/// # Errors
///
/// The workers stopped, or the system refused memory.
///
/// # Panics
///
/// A row has less than `k` elements, or the results are not `k` for each row.
pub fn topk<T: Elem>(
    values: &[T::Store],
    row: usize,
    k: usize,
    direction: Direction,
    (out, indices): (&mut [T::Store], &mut [i64]),
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    assert!(k <= row, "topk: {k} of {row} elements");
    let rows = values.len() / row.max(1);
    assert!(out.len() == rows * k && indices.len() == rows * k, "topk: {k} results for each of {rows} rows");
    if k == 0 || row == 0 {
        return Ok(());
    }
    let flip = direction.flip::<T>();
    let threads = workers.threads();
    // Rows are divided if there are fewer than threads. A range far longer than k leaves few candidates.
    let ranges = if rows < threads { threads.min(row / RANGE.max(4 * k)).max(1) } else { 1 };
    if ranges == 1 {
        let units = values.chunks(row).zip(out.chunks_mut(k)).zip(indices.chunks_mut(k));
        return for_each(
            workers,
            threads.min(rows),
            units,
            || (),
            |(), ((row, out), indices)| {
                let best = candidates::<T>(row, 0, k, flip, workers)?;
                write::<T>(best, flip, out, indices);
                Ok(())
            },
        );
    }
    for ((values, out), indices) in values.chunks(row).zip(out.chunks_mut(k)).zip(indices.chunks_mut(k)) {
        let stride = row.div_ceil(ranges);
        let mut best = vec![Vec::new(); row.div_ceil(stride)];
        let units = values.chunks(stride).enumerate().zip(&mut best);
        for_each(
            workers,
            threads,
            units,
            || (),
            |(), ((i, range), best)| {
                *best = candidates::<T>(range, i * stride, k, flip, workers)?;
                Ok(())
            },
        )?;
        let mut best = concat(&best)?;
        select(&mut best, k);
        write::<T>(best, flip, out, indices);
    }
    Ok(())
}

/// The best `k` elements of a range that begins at index `first`, or all if there are fewer, in any order.
fn candidates<T: Elem>(
    range: &[T::Store],
    first: usize,
    k: usize,
    flip: u64,
    workers: &dyn Workers,
) -> Result<Vec<Candidate>, Stopped> {
    let limit = k + k.max(ADDED);
    let (head, tail) = range.split_at(limit.min(range.len()));
    let candidate = |i: usize, element| [key::<T>(element) ^ flip, (first + i) as u64];
    let mut best: Vec<Candidate> = with_capacity(limit.min(range.len()))?;
    best.extend(head.iter().enumerate().map(|(i, &element)| candidate(i, element)));
    let mut worst = select(&mut best, k);
    for (j, part) in tail.chunks(BETWEEN).enumerate() {
        workers.go_on()?;
        for (i, &element) in part.iter().enumerate() {
            let candidate = candidate(limit + j * BETWEEN + i, element);
            // An equal element is worse, since its index is greater than those of all candidates.
            if candidate[0] < worst {
                best.push(candidate);
                if best.len() == limit {
                    worst = select(&mut best, k);
                }
            }
        }
    }
    select(&mut best, k);
    Ok(best)
}

/// The candidates of all ranges.
fn concat(ranges: &[Vec<Candidate>]) -> Result<Vec<Candidate>, Stopped> {
    let mut all = with_capacity(ranges.iter().map(Vec::len).sum())?;
    ranges.iter().for_each(|range| all.extend_from_slice(range));
    Ok(all)
}

/// The number of bytes that the candidates of rows take on so many threads.
pub fn bytes_of_candidates(row: usize, k: usize, threads: usize) -> usize {
    // Candidates of ranges, and those of all ranges together.
    let most = k.saturating_add(k.max(ADDED)).min(row);
    most.saturating_add(k).saturating_mul(threads).saturating_mul(size_of::<Candidate>())
}

/// Keeps the best `k` candidates. Returns the key of the worst of them.
fn select(best: &mut Vec<Candidate>, k: usize) -> u64 {
    if best.len() > k {
        best.select_nth_unstable(k - 1);
        best.truncate(k);
        return best[k - 1][0];
    }
    best.iter().map(|&[key, _]| key).max().unwrap_or(0)
}

fn write<T: Elem>(mut best: Vec<Candidate>, flip: u64, out: &mut [T::Store], indices: &mut [i64]) {
    best.sort_unstable();
    for ((&[key, index], out), to) in best.iter().zip(out).zip(indices) {
        *out = element::<T>(key ^ flip);
        *to = index as i64;
    }
}
