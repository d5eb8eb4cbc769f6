//! Segments that are contiguous: each is reduced where it is.

use std::ops::Range;

use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_sort::{Workers, for_each};

use super::SegmentError;
use super::labels::{BETWEEN, Labels, rank};
use super::streams::lanes;
use crate::LANES;
use crate::method::Method;
use crate::tree::Tree;
use crate::vectors::{CombineVectors, Vectors};

/// The number of units per thread, which differ in their numbers of elements.
const UNITS: usize = 8;

/// Reduces each segment. The labels are sorted.
pub(super) fn reduce<F: CombineVectors<T>, T: Vectors>(
    elements: &[T],
    labels: &Labels<'_>,
    out: &mut [T],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let (n, threads) = (labels.len(), workers.threads());
    let count = if threads > 1 { (UNITS * threads).min(n / BETWEEN + 1) } else { 1 };
    let mut units = Vec::with_capacity(count);
    let (mut rest, mut begin, mut done) = (out, 0, 0);
    for i in 1..=count {
        let (segment, end) =
            if i == count { (labels.segments(), n) } else { boundary(labels, n / count * i)? };
        if segment > done {
            let here;
            (here, rest) = rest.split_at_mut(segment - done);
            units.push((begin..end, done as u32, here));
            (begin, done) = (end, segment);
        }
    }
    for_each(
        workers,
        threads,
        units.into_iter(),
        || (),
        |(), (range, first, out)| {
            let mut close = |id: u32, run: Range<usize>| {
                if let Some(out) = out.get_mut(id.wrapping_sub(first) as usize) {
                    *out = reduce_run::<F, T>(&elements[run], workers)?;
                }
                Ok::<(), SegmentError>(())
            };
            let (mut start, mut last) = (range.start, u32::MAX);
            labels.tiles(range.clone(), workers, |tile, ids| {
                for (i, &id) in ids.iter().enumerate() {
                    if id != last {
                        close(last, start..tile + i)?;
                        (start, last) = (tile + i, id);
                    }
                }
                Ok(())
            })?;
            close(last, start..range.end)
        },
    )
}

/// The segment of a label, and the index of the first label of this segment.
fn boundary(labels: &Labels<'_>, index: usize) -> Result<(usize, usize), SegmentError> {
    let none = labels.segments() as u32;
    let wanted = rank(labels.id(index)?, none);
    let (mut low, mut high) = (0, index);
    while low < high {
        let middle = low + (high - low) / 2;
        match rank(labels.id(middle)?, none) < wanted {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok((wanted.saturating_sub(1) as usize, low))
}

/// The result of the elements of one segment, of which there is at least one.
#[inline(always)]
pub(super) fn reduce_run<F: CombineVectors<T>, T: Vectors>(
    run: &[T],
    workers: &dyn Workers,
) -> Result<T, SegmentError> {
    if run.len() <= LANES {
        // Absent elements are identities, which change no bits, so that all runs take the same steps.
        let mut node = [F::identity(); LANES];
        node.iter_mut().zip(run).for_each(|(lane, &x)| *lane = x);
        return Ok(F::result(lanes::<F, T>(node)));
    }
    long_run::<F, T>(run, workers)
}

fn long_run<F: CombineVectors<T>, T: Vectors>(run: &[T], workers: &dyn Workers) -> Result<T, SegmentError> {
    let (method, mut out) = (Tree::<F, T>::NEW, [F::identity()]);
    if !method.each(run.len(), bytes_of(run), bytes_of_mut(&mut out)) {
        let mut state = method.state(1, 0)?;
        for part in run.chunks(BETWEEN) {
            workers.go_on()?;
            method.push(&mut state, bytes_of(part));
        }
        method.finish(&mut state, bytes_of_mut(&mut out));
    }
    Ok(out[0])
}
