//! Few segments of floats: the elements of each are collected in a buffer, and whole buffers become nodes of the canonical order.
//!
//! A block is four rows of 16 elements of a segment. Its node is merged with the nodes before it as carries propagate in a binary
//! counter, whose digits are the nodes of each level. Threads have a range of the array each. The elements of the ranges before are
//! counted first, so that a range knows the numbers of its elements in each segment; a node whose left sibling belongs to the
//! range before waits for it.

use std::marker::PhantomData;

use broadloom_sort::{Stopped, Workers, for_each, zeros};
use pulp::NullaryFnOnce;

use super::labels::{Labels, SegmentError, ranges};
use crate::LANES;
use crate::combine::Combine;
use crate::method::arch;
use crate::vectors::Vectors;

/// The number of elements of a block.
const BLOCK: usize = ROWS * LANES;
/// The number of rows of a block.
const ROWS: usize = 4;
/// Groups of this many elements are tested for a single label.
const RUN: usize = 64;

/// The number of levels that the nodes of up to `n` elements have.
fn depth(n: usize) -> usize {
    (n / BLOCK + 1).ilog2() as usize + 2
}

/// The approximate number of bytes of the streams of one thread.
pub(super) fn bytes(size: usize, n: usize, segments: usize) -> usize {
    (segments + 1).saturating_mul((2 * BLOCK + 2 * depth(n) * LANES) * size)
}

/// Reduces each segment.
pub(super) fn reduce<F: Combine<T>, T: Vectors>(
    elements: &[T],
    labels: &Labels<'_>,
    out: &mut [T],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let ranges = ranges(labels.len(), workers.threads());
    let starts = starts(labels, &ranges, workers)?;
    let mut parts: Vec<Option<Streams<F, T>>> = ranges.iter().map(|_| None).collect();
    let units = ranges.iter().zip(starts).zip(&mut parts);
    for_each(
        workers,
        ranges.len(),
        units,
        || (),
        |(), ((range, starts), part)| {
            let mut streams = Streams::new(starts, labels.len())?;
            labels.tiles(range.clone(), workers, |first, ids| {
                arch().dispatch(Push(&mut streams, ids, &elements[first..][..ids.len()]));
                Ok::<(), SegmentError>(())
            })?;
            *part = Some(streams);
            Ok::<(), SegmentError>(())
        },
    )?;
    let mut parts = parts.into_iter().flatten();
    let Some(mut streams) = parts.next() else { return Ok(()) };
    parts.for_each(|part| streams.append(&part));
    for (segment, out) in out.iter_mut().enumerate() {
        *out = streams.finish(segment).unwrap_or(*out);
    }
    Ok(())
}

/// For each range, how many elements of each segment the ranges before it have.
fn starts(
    labels: &Labels<'_>,
    ranges: &[std::ops::Range<usize>],
    workers: &dyn Workers,
) -> Result<Vec<Vec<u64>>, SegmentError> {
    let segments = labels.segments() + 1;
    let mut starts: Vec<Vec<u64>> = ranges.iter().map(|_| zeros(segments)).collect::<Result<_, Stopped>>()?;
    let Some((_, counted)) = starts.split_first_mut() else { return Ok(starts) };
    let units = ranges.iter().zip(&mut *counted);
    for_each(
        workers,
        ranges.len(),
        units,
        || (),
        |(), (range, counts)| {
            labels.tiles(range.clone(), workers, |_, ids| {
                ids.iter().for_each(|&id| counts[id as usize] += 1);
                Ok::<(), SegmentError>(())
            })
        },
    )?;
    for i in 2..starts.len() {
        let (before, after) = starts.split_at_mut(i);
        for (count, before) in after[0].iter_mut().zip(&before[i - 1]) {
            *count += before;
        }
    }
    Ok(starts)
}

/// The elements of a range of the array so far, for each segment and for the elements of no segment.
struct Streams<F, T> {
    /// The number of levels of nodes.
    depth: usize,
    /// The number of elements in each buffer. The elements before those of the range count.
    fills: Vec<u32>,
    buffers: Vec<[[T; LANES]; ROWS]>,
    blocks: Vec<BlockRange>,
    /// The nodes of each segment by level. The one of level k exists if the number of blocks has the binary digit k, and the node
    /// begins within the range.
    nodes: Vec<[T; LANES]>,
    /// The nodes by level whose left sibling belongs to the range before, and the first block of each segment, if it began there.
    /// Empty for the first range.
    waiting: Vec<[T; LANES]>,
    heads: Vec<[[T; LANES]; ROWS]>,
    /// The number of elements before the range.
    starts: Vec<u64>,
    operation: PhantomData<fn() -> F>,
}

/// The blocks of a segment, by their numbers in it.
#[derive(Clone, Copy, Default)]
struct BlockRange {
    /// The first block that lies within the range as a whole.
    first: u64,
    /// The block that is collected now.
    next: u64,
}

impl<F: Combine<T>, T: Vectors> Streams<F, T> {
    fn new(starts: Vec<u64>, n: usize) -> Result<Self, Stopped> {
        let (segments, depth) = (starts.len(), depth(n));
        let later = if starts.iter().all(|&start| start == 0) { 0 } else { segments };
        let block = BLOCK as u64;
        Ok(Streams {
            depth,
            fills: starts.iter().map(|start| (start % block) as u32).collect(),
            buffers: zeros(segments)?,
            blocks: starts
                .iter()
                .map(|start| BlockRange { first: start.div_ceil(block), next: start / block })
                .collect(),
            nodes: zeros(segments * depth)?,
            waiting: zeros(later * depth)?,
            heads: zeros(later)?,
            starts,
            operation: PhantomData,
        })
    }

    /// Adds elements of several segments.
    #[inline(always)]
    fn push(&mut self, mut ids: &[u32], mut elements: &[T]) {
        while let Some((count, segment)) = self.fill(ids, elements) {
            (ids, elements) = (&ids[count..], &elements[count..]);
            self.fills[segment] = 0;
            self.flush(segment);
        }
    }

    /// Adds elements until a buffer is full. Returns the number of added elements, and the segment of the buffer.
    ///
    /// PERF: the loop calls nothing, so that its slices stay in registers. A count is written before the element, or it would be
    /// read a second time.
    #[inline(always)]
    fn fill(&mut self, ids: &[u32], elements: &[T]) -> Option<(usize, usize)> {
        let (fills, buffers) = (&mut self.fills[..], &mut self.buffers[..]);
        for (i, (&id, &x)) in ids.iter().zip(elements).enumerate() {
            let (fill, buffer) = (&mut fills[id as usize], &mut buffers[id as usize]);
            let at = *fill as usize % BLOCK;
            *fill = at as u32 + 1;
            buffer[at / LANES][at % LANES] = x;
            if at + 1 == BLOCK {
                return Some((i + 1, id as usize));
            }
        }
        None
    }

    /// Adds the next elements of a segment. Whole blocks are not copied.
    #[inline(always)]
    fn push_run(&mut self, segment: usize, mut run: &[T]) {
        let fill = self.fills[segment] as usize;
        if fill > 0 {
            let taken = run.len().min(BLOCK - fill);
            self.buffers[segment].as_flattened_mut()[fill..fill + taken].copy_from_slice(&run[..taken]);
            self.fills[segment] = ((fill + taken) % BLOCK) as u32;
            if fill + taken < BLOCK {
                return;
            }
            self.flush(segment);
            run = &run[taken..];
        }
        let (blocks, rest) = run.split_at(run.len() / BLOCK * BLOCK);
        for block in blocks.as_chunks::<LANES>().0.as_chunks::<ROWS>().0 {
            self.push_node(segment, 0, rows::<F, T>(block));
        }
        self.buffers[segment].as_flattened_mut()[..rest.len()].copy_from_slice(rest);
        self.fills[segment] = rest.len() as u32;
    }

    /// Adds the node of a full buffer.
    #[inline(always)]
    fn flush(&mut self, segment: usize) {
        let BlockRange { first, next } = &mut self.blocks[segment];
        if *next < *first {
            *next += 1;
            self.heads[segment] = self.buffers[segment];
        } else {
            self.push_node(segment, 0, rows::<F, T>(&self.buffers[segment]));
        }
    }

    /// Adds the node of the next 2^`level` blocks, whose number is a multiple of that.
    #[inline(always)]
    fn push_node(&mut self, segment: usize, mut level: usize, mut node: [T; LANES]) {
        let BlockRange { first, next } = &mut self.blocks[segment];
        let (nodes, mut number) = (segment * self.depth, *next >> level);
        *next += 1 << level;
        while number & 1 == 1 {
            if (number - 1) << level < *first {
                self.waiting[nodes + level] = node;
                return;
            }
            pairs::<F, T>(&self.nodes[nodes + level], &mut node);
            (number, level) = (number >> 1, level + 1);
        }
        self.nodes[nodes + level] = node;
    }

    /// Adds the elements of the next range.
    fn append(&mut self, later: &Self) {
        for segment in 0..self.fills.len() {
            let BlockRange { first, next } = later.blocks[segment];
            let (begin, fill) =
                ((later.starts[segment] % BLOCK as u64) as usize, later.fills[segment] as usize);
            if next < first {
                self.push_run(segment, &later.buffers[segment].as_flattened()[begin..fill]);
                continue;
            }
            if begin > 0 {
                self.push_run(segment, &later.heads[segment].as_flattened()[begin..]);
            }
            let (nodes, mut at) = (segment * later.depth, first);
            while at < next {
                let level = at.trailing_zeros().min((next - at).ilog2()) as usize;
                let is_waiting = at >> level & 1 == 1;
                let of = if is_waiting { &later.waiting } else { &later.nodes };
                self.push_node(segment, level, of[nodes + level]);
                at += 1 << level;
            }
            self.push_run(segment, &later.buffers[segment].as_flattened()[..fill]);
        }
    }

    /// The result of a segment; `None` if it has no elements.
    fn finish(&self, segment: usize) -> Option<T> {
        let (fill, count) = (self.fills[segment] as usize, self.blocks[segment].next);
        if fill == 0 && count == 0 {
            return None;
        }
        // Absent elements are identities, which change no bits.
        let mut block = [[F::identity(); LANES]; ROWS];
        block.as_flattened_mut()[..fill].copy_from_slice(&self.buffers[segment].as_flattened()[..fill]);
        let mut node = rows::<F, T>(&block);
        for level in (0..self.depth).filter(|level| count >> level & 1 == 1) {
            pairs::<F, T>(&self.nodes[segment * self.depth + level], &mut node);
        }
        Some(F::result(lanes::<F, T>(node)))
    }
}

/// The node of the rows of a block.
#[inline(always)]
fn rows<F: Combine<T>, T: Vectors>(block: &[[T; LANES]; ROWS]) -> [T; LANES] {
    let mut node = [F::identity(); LANES];
    for i in 0..LANES {
        let [a, b, c, d] = block;
        node[i] = F::pair(F::pair(a[i], b[i]), F::pair(c[i], d[i]));
    }
    node
}

/// Merges the lanes of a node.
#[inline(always)]
pub(super) fn lanes<F: Combine<T>, T: Vectors>(mut node: [T; LANES]) -> T {
    let mut count = LANES;
    while count > 1 {
        count /= 2;
        for i in 0..count {
            node[i] = F::pair(node[2 * i], node[2 * i + 1]);
        }
    }
    node[0]
}

/// Merges a node with the one before it.
#[inline(always)]
fn pairs<F: Combine<T>, T: Vectors>(before: &[T; LANES], node: &mut [T; LANES]) {
    for i in 0..LANES {
        node[i] = F::pair(before[i], node[i]);
    }
}

/// Elements to be pushed, with the numbers of their segments.
struct Push<'p, F, T>(&'p mut Streams<F, T>, &'p [u32], &'p [T]);

impl<F: Combine<T>, T: Vectors> NullaryFnOnce for Push<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Push(streams, ids, elements) = self;
        let count = ids.len().min(elements.len());
        let is_run = |from: usize, id: u32| {
            let ids = &ids[from..count.min(from + RUN)];
            ids.iter().fold(0, |differ, other| differ | (id ^ other)) == 0
        };
        let mut at = 0;
        while at < count {
            let (from, id) = (at, ids[at]);
            at = count.min(at + RUN);
            if ids[at - 1] == id && is_run(from, id) {
                while at < count && is_run(at, id) {
                    at = count.min(at + RUN);
                }
                streams.push_run(id as usize, &elements[from..at]);
            } else {
                streams.push(&ids[from..at], &elements[from..at]);
            }
        }
    }
}
