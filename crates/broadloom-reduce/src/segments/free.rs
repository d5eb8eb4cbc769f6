//! Segments whose elements may be merged in any order: one accumulator for each, on each thread.

use std::marker::PhantomData;

use broadloom_math::Elem;
use broadloom_sort::{Workers, for_each, zeros};
use pulp::NullaryFnOnce;

use super::labels::{Labels, SegmentError, ranges};
use crate::combine::Combine;
use crate::method::arch;

/// A thread has accumulators of its own if its range has at least this many elements for each.
const PER_ACCUMULATOR: usize = 4;

/// Reduces each segment.
pub(super) fn reduce<F: Combine<T>, T: Elem>(
    elements: &[T::Store],
    labels: &Labels<'_>,
    out: &mut [T::Store],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let accumulators = accumulated(labels, workers, F::identity(), |accumulators, first, ids| {
        arch().dispatch(Fold::<F, T>(accumulators, ids, &elements[first..][..ids.len()], PhantomData));
    })?;
    let mut accumulators = accumulators.into_iter();
    let Some(mut results) = accumulators.next() else { return Ok(()) };
    for later in accumulators {
        for (result, x) in results.iter_mut().zip(later) {
            *result = F::pair(*result, x);
        }
    }
    for (out, x) in out.iter_mut().zip(results) {
        *out = F::result(x);
    }
    Ok(())
}

/// The number of elements of each segment.
pub(super) fn count(labels: &Labels<'_>, out: &mut [i64], workers: &dyn Workers) -> Result<(), SegmentError> {
    let counts = accumulated(labels, workers, 0_i64, |counts, _, ids| {
        ids.iter().for_each(|&id| counts[id as usize] += 1);
    })?;
    out.fill(0);
    for counts in counts {
        out.iter_mut().zip(counts).for_each(|(out, count)| *out += count);
    }
    Ok(())
}

/// The accumulators of each range of the elements, and one of elements without a segment, after `fold` has been called with
/// each tile of labels and the index of its first one.
fn accumulated<A: Copy + Default + Send + Sync>(
    labels: &Labels<'_>,
    workers: &dyn Workers,
    identity: A,
    fold: impl Fn(&mut [A], usize, &[u32]) + Sync,
) -> Result<Vec<Vec<A>>, SegmentError> {
    let (n, segments) = (labels.len(), labels.segments() + 1);
    let ranges = ranges(n, workers.threads().min(n / segments / PER_ACCUMULATOR));
    let mut accumulators: Vec<Vec<A>> = vec![Vec::new(); ranges.len()];
    for_each(
        workers,
        ranges.len(),
        ranges.iter().zip(&mut accumulators),
        || (),
        |(), (range, accumulators)| {
            *accumulators = zeros(segments)?;
            accumulators.fill(identity);
            labels.tiles(range.clone(), workers, |first, ids| {
                fold(accumulators, first, ids);
                Ok::<(), SegmentError>(())
            })
        },
    )?;
    Ok(accumulators)
}

/// Elements that are merged with the accumulators of their segments.
struct Fold<'a, F, T: Elem>(&'a mut [T::Store], &'a [u32], &'a [T::Store], PhantomData<F>);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for Fold<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Fold(accumulators, ids, elements, _) = self;
        for (&id, &x) in ids.iter().zip(elements) {
            let accumulator = &mut accumulators[id as usize];
            *accumulator = F::pair(*accumulator, x);
        }
    }
}
