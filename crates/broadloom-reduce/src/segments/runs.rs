//! Segments that are contiguous: each is reduced where it is.

use std::marker::PhantomData;
use std::ops::Range;

use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_sort::{Stopped, Workers, for_each};
use pulp::NullaryFnOnce;

use super::labels::{BETWEEN, Labels, SegmentError, rank};
use super::streams::lanes;
use crate::LANES;
use crate::method::{Method, arch};
use crate::tree::Tree;
use crate::vectors::{CombineVectors, Vectors};

/// The number of units per thread, which differ in their numbers of elements.
const UNITS: usize = 8;

/// Reduces each segment if the labels never decrease. Returns whether that is so; otherwise results of segments that have elements are
/// unspecified.
pub(super) fn reduce<F: CombineVectors<T>, T: Vectors>(
    elements: &[T],
    labels: &Labels<'_>,
    out: &mut [T],
    workers: &dyn Workers,
) -> Result<bool, SegmentError> {
    let (n, threads) = (labels.len(), workers.threads());
    let count = if threads > 1 { (UNITS * threads).min(n / BETWEEN + 1) } else { 1 };
    let mut units = Vec::with_capacity(count);
    let (mut rest, mut begin, mut done) = (out, 0, 0);
    for i in 1..=count {
        let (segment, end) =
            if i == count { (labels.segments(), n) } else { boundary(labels, n / count * i)? };
        if segment >= done && end >= begin {
            let here;
            (here, rest) = rest.split_at_mut(segment - done);
            units.push((begin..end, done as u32, here));
            (begin, done) = (end, segment);
        }
    }
    let none = labels.segments() as u32;
    let walked = for_each(
        workers,
        threads,
        units.into_iter(),
        || (),
        |(), (range, first, out)| {
            let mut walk = Walk { elements, start: range.start, last: u32::MAX, first, none, out, workers };
            labels.tiles(range.clone(), workers, |tile, ids| {
                arch().dispatch(Step::<F, T>(&mut walk, tile, ids, PhantomData))
            })?;
            walk.close::<F>(range.end)
        },
    );
    match walked {
        Ok(()) => Ok(true),
        Err(Halt::Unsorted) => Ok(false),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// Why a walk over labels has ended early.
enum Halt {
    /// A label is less than the one before it, or than those of the range.
    Unsorted,
    Failed(SegmentError),
}

impl From<Stopped> for Halt {
    fn from(why: Stopped) -> Halt {
        Halt::Failed(why.into())
    }
}

impl From<SegmentError> for Halt {
    fn from(error: SegmentError) -> Halt {
        Halt::Failed(error)
    }
}

/// A walk over a range of labels, which reduces each run as it ends.
struct Walk<'w, T> {
    elements: &'w [T],
    /// The index of the first element of the run.
    start: usize,
    /// The number of the segment of the run; `u32::MAX` before the first one.
    last: u32,
    /// The number of the first segment of the range.
    first: u32,
    /// The number of segments, which is that of elements without one.
    none: u32,
    out: &'w mut [T],
    workers: &'w dyn Workers,
}

impl<T: Vectors> Walk<'_, T> {
    /// Ends the run before the element with index `end`.
    #[inline(always)]
    fn close<F: CombineVectors<T>>(&mut self, end: usize) -> Result<(), Halt> {
        if end == self.start || self.last == self.none {
            return Ok(());
        }
        let Some(out) = self.out.get_mut(self.last.wrapping_sub(self.first) as usize) else {
            return Err(Halt::Unsorted);
        };
        *out = reduce_run::<F, T>(self.elements, self.start..end, self.workers)?;
        Ok(())
    }
}

/// A step of a walk: the index of the first label of a tile, and the numbers of the segments.
struct Step<'s, 'w, F, T>(&'s mut Walk<'w, T>, usize, &'s [u32], PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> NullaryFnOnce for Step<'_, '_, F, T> {
    type Output = Result<(), Halt>;

    #[inline(always)]
    fn call(self) -> Result<(), Halt> {
        let Step(walk, tile, ids, _) = self;
        for (i, &id) in ids.iter().enumerate() {
            if id != walk.last {
                walk.close::<F>(tile + i)?;
                // Elements without a segment are before all others.
                if walk.last != u32::MAX && rank(id, walk.none) < rank(walk.last, walk.none) {
                    return Err(Halt::Unsorted);
                }
                (walk.start, walk.last) = (tile + i, id);
            }
        }
        Ok(())
    }
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

/// The result of a range of elements, of which there is at least one.
#[inline(always)]
pub(super) fn reduce_run<F: CombineVectors<T>, T: Vectors>(
    elements: &[T],
    range: Range<usize>,
    workers: &dyn Workers,
) -> Result<T, SegmentError> {
    let count = range.len();
    if count > LANES {
        return long_run::<F, T>(&elements[range], workers);
    }
    // Absent elements are identities, which change no bits, so that all short runs take the same steps.
    let mut node = [F::identity(); LANES];
    if let Some(next) = elements[range.start..].first_chunk::<LANES>() {
        for i in 0..LANES {
            node[i] = if i < count { next[i] } else { F::identity() };
        }
    } else {
        node[..count].copy_from_slice(&elements[range]);
    }
    Ok(F::result(lanes::<F, T>(node)))
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
