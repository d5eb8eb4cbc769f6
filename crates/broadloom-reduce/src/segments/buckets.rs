//! Many segments of floats: elements are moved to buckets of adjacent segments, whose elements then fit a cache, and there to
//! their segments. Both moves keep the order of the elements of a segment.

use std::marker::PhantomData;

use broadloom_mem::{ask_for, bytes_of_mut, typed_mut};
use broadloom_sort::{Stopped, Workers, for_each, zeros};
use pulp::NullaryFnOnce;

use super::labels::{BETWEEN, Labels, SegmentError, ranges};
use super::runs::long_run;
use super::short::ShortSegments;
use crate::LANES;
use crate::method::arch;
use crate::vectors::{CombineVectors, Vectors};

/// The binary logarithm of the number of segments of a bucket: such that there are at most 256 buckets, so that a line of each fits
/// a first-level cache; but at most 16, since the numbers of segments in a bucket have so many bits.
fn bits(segments: usize) -> u32 {
    (usize::BITS - segments.leading_zeros()).saturating_sub(8).clamp(10, 16)
}

/// The number of elements from an element of a bucket to the one whose place is prefetched then.
///
/// PERF: elements are moved to so many buckets that no hardware prefetches the next lines of each: 256 buckets take 0.45 of the
/// time of a loop without prefetches, and 32 buckets the same time.
const ASKED: usize = 16;

/// The places of the elements of a bucket: their values, the numbers of their segments in the bucket, and the index of the next
/// place.
struct BucketPlaces<'p, T> {
    values: &'p mut [T],
    numbers: &'p mut [u16],
    next: usize,
}

/// The number of words that [`reduce`] takes for `n` elements of this size.
pub(super) fn words(size: usize, n: usize) -> usize {
    words_of(size, n).saturating_add(words_of(size_of::<u16>(), n))
}

fn words_of(size: usize, n: usize) -> usize {
    n.saturating_mul(size).div_ceil(size_of::<u64>())
}

/// Reduces each segment. Elements are moved to `memory`, or to other memory if that has too few words.
pub(super) fn reduce<F: CombineVectors<T>, T: Vectors>(
    elements: &[T],
    labels: &Labels<'_>,
    out: &mut [T],
    memory: &mut [u64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let (n, threads) = (labels.len(), workers.threads());
    let bits = bits(labels.segments());
    let count = (labels.segments() >> bits) + 1;
    let ranges = ranges(n, threads);
    let mut counts: Vec<Vec<usize>> = ranges.iter().map(|_| zeros(count)).collect::<Result<_, Stopped>>()?;
    for_each(
        workers,
        ranges.len(),
        ranges.iter().zip(&mut counts),
        || (),
        |(), (range, counts)| {
            labels.tiles(range.clone(), workers, |_, ids| {
                ids.iter().for_each(|&id| counts[(id >> bits) as usize] += 1);
                Ok::<(), SegmentError>(())
            })
        },
    )?;
    let needed = words(size_of::<T>(), n);
    let mut own = if memory.len() < needed { zeros(needed)? } else { Vec::new() };
    let memory = if own.is_empty() { memory } else { &mut own };
    let (values, numbers) = memory.split_at_mut(words_of(size_of::<T>(), n));
    let values = typed_mut::<T>(bytes_of_mut(values)).expect("words are aligned for elements");
    let numbers = typed_mut::<u16>(bytes_of_mut(numbers)).expect("words are aligned for numbers");
    let places = places(&counts, &mut values[..n], &mut numbers[..n]);
    for_each(
        workers,
        ranges.len(),
        ranges.iter().zip(places),
        || (),
        |(), (range, mut places)| {
            labels.tiles(range.clone(), workers, |first, ids| {
                // PERF: copies of what the closure refers to, which would be read again after each store.
                let (places, bits, mask) = (&mut places[..], bits, (1 << bits) - 1);
                for (&id, &x) in ids.iter().zip(&elements[first..]) {
                    let BucketPlaces { values, numbers, next } = &mut places[(id >> bits) as usize];
                    ask_for(values, *next + ASKED, 1);
                    ask_for(numbers, *next + 2 * ASKED, 1);
                    (values[*next], numbers[*next]) = (x, (id & mask) as u16);
                    *next += 1;
                }
                Ok::<(), SegmentError>(())
            })
        },
    )?;
    let (mut values, mut numbers) = (&values[..n], &numbers[..n]);
    let units = out.chunks_mut(1 << bits).enumerate().map(|(bucket, out)| {
        let len = counts.iter().map(|counts| counts[bucket]).sum();
        let (these, of);
        (these, values) = values.split_at(len);
        (of, numbers) = numbers.split_at(len);
        (these, of, out)
    });
    for_each(workers, threads, units, SortedBucket::default, |scratch, (values, numbers, out)| {
        scratch.sort(values, numbers, 1 << bits, workers)?;
        arch().dispatch(Runs::<F, T>(&scratch.sorted, &scratch.ends, out, workers, PhantomData))
    })
}

/// Segments of a bucket: the sorted elements, the ends of the segments, and their results.
struct Runs<'r, F, T>(&'r [T], &'r [usize], &'r mut [T], &'r dyn Workers, PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> NullaryFnOnce for Runs<'_, F, T> {
    type Output = Result<(), SegmentError>;

    #[inline(always)]
    fn call(self) -> Result<(), SegmentError> {
        let Runs(sorted, ends, out, workers, _) = self;
        let (mut start, mut short) = (0, ShortSegments::new());
        for (result, &end) in ends.iter().enumerate().take(out.len()) {
            if end - start > LANES {
                out[result] = long_run::<F, T>(&sorted[start..end], workers)?;
            } else if end > start {
                short.push::<F>(sorted, start, end - start, result, out);
            }
            start = end;
        }
        short.flush::<F>(out);
        Ok(())
    }
}

/// For each range, the places of its elements in each bucket.
fn places<'p, T>(
    counts: &[Vec<usize>],
    mut values: &'p mut [T],
    mut numbers: &'p mut [u16],
) -> Vec<Vec<BucketPlaces<'p, T>>> {
    let buckets = counts.first().map_or(0, Vec::len);
    let mut places: Vec<Vec<BucketPlaces<'p, T>>> =
        counts.iter().map(|counts| Vec::with_capacity(counts.len())).collect();
    for bucket in 0..buckets {
        for (places, counts) in places.iter_mut().zip(counts) {
            let (these, of);
            (these, values) = std::mem::take(&mut values).split_at_mut(counts[bucket]);
            (of, numbers) = std::mem::take(&mut numbers).split_at_mut(counts[bucket]);
            places.push(BucketPlaces { values: these, numbers: of, next: 0 });
        }
    }
    places
}

/// Memory of a thread, which is reused from bucket to bucket.
struct SortedBucket<T> {
    sorted: Vec<T>,
    /// The index after the last element of each segment.
    ends: Vec<usize>,
}

impl<T> Default for SortedBucket<T> {
    fn default() -> Self {
        SortedBucket { sorted: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Vectors> SortedBucket<T> {
    /// Moves the elements of a bucket to those of their segments.
    fn sort(
        &mut self,
        values: &[T],
        numbers: &[u16],
        segments: usize,
        workers: &dyn Workers,
    ) -> Result<(), SegmentError> {
        self.ends.clear();
        self.ends.resize(segments, 0);
        if self.sorted.len() < values.len() {
            self.sorted = zeros(values.len())?;
        }
        for numbers in numbers.chunks(BETWEEN) {
            workers.go_on()?;
            numbers.iter().for_each(|&number| self.ends[usize::from(number)] += 1);
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        // The places of the next elements, which are the ends once all elements have moved.
        for (values, numbers) in values.chunks(BETWEEN).zip(numbers.chunks(BETWEEN)) {
            workers.go_on()?;
            let (ends, sorted) = (&mut self.ends[..], &mut self.sorted[..]);
            for (&value, &number) in values.iter().zip(numbers) {
                let place = &mut ends[usize::from(number)];
                sorted[*place] = value;
                *place += 1;
            }
        }
        Ok(())
    }
}
