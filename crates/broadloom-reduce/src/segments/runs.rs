//! Segments that are contiguous: each is reduced where it is.

use std::marker::PhantomData;

use broadloom_mem::{ask_ahead, bytes_of, bytes_of_mut};
use broadloom_sort::{Stopped, Workers, for_each};
use pulp::NullaryFnOnce;

use super::labels::{BETWEEN, Labels, SegmentError, TILE, rank};
use super::short::ShortSegments;
use super::streams::{BLOCK, block};
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
            let (start, last, ends, short) = (range.start, u32::MAX, [0; TILE], ShortSegments::new());
            let mut walk = Walk { elements, start, last, first, none, ends, short, out, workers };
            labels.tiles(range.clone(), workers, |tile, ids| {
                arch().dispatch(Step::<F, T>(&mut walk, tile, ids, PhantomData))
            })?;
            walk.close::<F>(range.end)?;
            walk.short.flush::<F>(walk.out);
            Ok(())
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
    /// Memory for the ends of the runs of a tile.
    ends: [u16; TILE],
    short: ShortSegments<T>,
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
        let result = self.last.wrapping_sub(self.first) as usize;
        if result >= self.out.len() {
            return Err(Halt::Unsorted);
        }
        if end - self.start <= LANES {
            self.short.push::<F>(self.elements, self.start, end - self.start, result, self.out);
        } else {
            self.out[result] = long_run::<F, T>(&self.elements[self.start..end], self.workers)?;
        }
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
        ask_ahead(walk.elements, tile, ids.len());
        if ids.iter().fold(0, |differ, id| differ | (id ^ walk.last)) == 0 {
            return Ok(());
        }
        // Elements without a segment are before all others. Before the first run there is none.
        let descends = |before: u32, id: u32| rank(id, walk.none) < rank(before, walk.none);
        let mut unsorted = walk.last != u32::MAX && descends(walk.last, ids[0]);
        ids.iter().zip(&ids[1..]).for_each(|(&before, &id)| unsorted |= descends(before, id));
        if unsorted {
            return Err(Halt::Unsorted);
        }
        // PERF: ends are collected without branches, which short runs would mispredict.
        let (mut count, mut before) = (0, walk.last);
        for (i, &id) in ids.iter().enumerate() {
            walk.ends[count % TILE] = i as u16;
            count += usize::from(id != before);
            before = id;
        }
        for i in 0..count {
            let end = usize::from(walk.ends[i]);
            walk.close::<F>(tile + end)?;
            (walk.start, walk.last) = (tile + end, ids[end]);
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
pub(super) fn long_run<F: CombineVectors<T>, T: Vectors>(
    run: &[T],
    workers: &dyn Workers,
) -> Result<T, SegmentError> {
    if run.len() <= BLOCK { Ok(block::<F, T>(run)) } else { longer_run::<F, T>(run, workers) }
}

fn longer_run<F: CombineVectors<T>, T: Vectors>(run: &[T], workers: &dyn Workers) -> Result<T, SegmentError> {
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
