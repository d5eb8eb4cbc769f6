//! Segments of rows of several elements: the numbers of the rows are sorted by label, and the rows of each segment are reduced where
//! they are.

use broadloom_ir::{DType, Reduction};
use broadloom_sort::{Workers, for_each, zeros};

use super::labels::{BETWEEN, Labels, SegmentError};
use crate::Partial;
use crate::whole::reduce_rows;

/// The number of units per thread.
const UNITS: usize = 8;

/// Reduces the rows of each segment to one row.
pub(super) fn reduce(
    reduction: Reduction,
    dtype: DType,
    elements: &[u8],
    width: usize,
    labels: &Labels<'_>,
    out: &mut [u8],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let (n, segments, row) = (labels.len(), labels.segments(), width * dtype.size());
    // The places of the next rows, which are the ends of the segments once all rows have one. The last is that of rows without a
    // segment.
    let mut ends: Vec<usize> = zeros(segments + 1)?;
    labels.tiles(0..n, workers, |_, ids| {
        ids.iter().for_each(|&id| ends[id as usize] += 1);
        Ok::<(), SegmentError>(())
    })?;
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut order: Vec<usize> = zeros(n)?;
    labels.tiles(0..n, workers, |first, ids| {
        for (number, &id) in (first..).zip(ids) {
            let place = &mut ends[id as usize];
            order[*place] = number;
            *place += 1;
        }
        Ok::<(), SegmentError>(())
    })?;
    let threads = workers.threads();
    // The rows between which a thread asks whether it goes on.
    let rows = (BETWEEN / width).max(1);
    let unit = segments.div_ceil(UNITS * threads).max(1);
    let units = out.chunks_mut(unit * row).enumerate();
    for_each(
        workers,
        threads,
        units,
        || (),
        |(), (i, out)| {
            let first = i * unit;
            let mut start = first.checked_sub(1).map_or(0, |before| ends[before]);
            for (out, &end) in out.chunks_mut(row).zip(&ends[first..]) {
                workers.go_on()?;
                let numbers = &order[start..end];
                let of = |number: usize| &elements[number * row..][..row];
                if numbers.len() <= rows {
                    reduce_rows(reduction, dtype, numbers.len(), width, |i| of(numbers[i]), out)?;
                } else {
                    let mut result = Partial::new(reduction, dtype, width, 0)?;
                    for numbers in numbers.chunks(rows) {
                        workers.go_on()?;
                        result.push_rows(numbers.len(), |i| of(numbers[i]));
                    }
                    result.finish(out);
                }
                start = end;
            }
            Ok::<(), SegmentError>(())
        },
    )
}
