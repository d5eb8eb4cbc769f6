//! The numbers of elements between ascending edges.

use broadloom_ir::{DType, Error, ErrorKind};
use broadloom_math::Num;
use broadloom_mem::typed;
use broadloom_sort::{Workers, for_each, zeros};
use pulp::NullaryFnOnce;

use super::labels::{BETWEEN, SegmentError, TILE, ranges};
use crate::method::arch;

/// A type whose elements are counted between edges.
trait Binned: Num<Store = Self> {
    /// The nearest float64, which guesses a bin.
    fn approximate(self) -> f64;
}

macro_rules! binned {
    ($($t:ident)*) => {$(
        impl Binned for $t {
            #[inline(always)]
            fn approximate(self) -> f64 {
                self as f64
            }
        }
    )*};
}
binned!(f32 f64 i64 u64);

/// The number of elements in each bin, which contains its left edge and not its right one; the last bin contains both. Elements
/// outside of all bins, and NaNs, are not counted. The edges, one more than bins, have the dtype of the elements and ascend.
///
/// # Errors
/// [`SegmentError::Refused`] for a dtype other than float32, float64, int64 and uint64, and for 2^32 − 1 bins or more;
/// [`SegmentError::Stopped`].
///
/// # Panics
/// If the bytes are not aligned for the dtype, or there are not as many bins as `out` has elements.
pub fn count_in_bins(
    dtype: DType,
    elements: &[u8],
    edges: &[u8],
    out: &mut [i64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    assert_eq!(edges.len(), (out.len() + 1) * dtype.size(), "an edge more than bins");
    if out.len() >= UNKNOWN as usize {
        return Err(Error::new(ErrorKind::Limit, "2^32 − 1 bins or more").into());
    }
    match dtype {
        DType::Float32 => count::<f32>(elements, edges, out, workers),
        DType::Float64 => count::<f64>(elements, edges, out, workers),
        DType::Int64 => count::<i64>(elements, edges, out, workers),
        DType::UInt64 => count::<u64>(elements, edges, out, workers),
        _ => Err(Error::new(ErrorKind::Internal, format!("bins of {dtype}")).into()),
    }
}

/// If there are at most this many bins, each has several counters, of which adjacent elements take different ones: a counter that
/// was just stored is slow to load.
const FEW: usize = 1024;
/// The number of counters of each bin then.
const COUNTERS: usize = 4;

/// The number of counters of each of so many bins.
fn counters(bins: usize) -> usize {
    if bins <= FEW { COUNTERS } else { 1 }
}

/// Adds one to a counter of the bin of each element. A bin has `EACH` counters, which take turns.
fn add<const EACH: usize>(places: &[u32], counts: &mut [i64]) {
    let counts = counts.as_chunks_mut::<EACH>().0;
    let (groups, rest) = places.as_chunks::<EACH>();
    for group in groups {
        for (i, &bin) in group.iter().enumerate() {
            counts[bin as usize][i] += 1;
        }
    }
    for &bin in rest {
        counts[bin as usize][0] += 1;
    }
}

/// The approximate number of bytes that [`count_in_bins`] needs.
pub fn histogram_bytes(bins: usize, threads: usize) -> usize {
    bins.saturating_add(2).saturating_mul(8 * counters(bins) * threads)
}

fn count<T: Binned>(
    elements: &[u8],
    edges: &[u8],
    out: &mut [i64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let edges = typed::<T>(edges).expect("aligned edges");
    let elements = typed::<T>(elements).expect("aligned elements");
    let (bins, each) = (Bins::new(edges), counters(out.len()));
    let ranges = ranges(elements.len(), workers.threads());
    let mut counts: Vec<Vec<i64>> = vec![Vec::new(); ranges.len()];
    for_each(
        workers,
        ranges.len(),
        ranges.iter().zip(&mut counts),
        || (),
        |(), (range, counts)| {
            // The last ones are of elements outside of all bins, and of NaNs.
            *counts = zeros((out.len() + 1) * each)?;
            let mut places = [0; TILE];
            for part in elements[range.clone()].chunks(BETWEEN) {
                workers.go_on()?;
                for tile in part.chunks(TILE) {
                    let places = &mut places[..tile.len()];
                    arch().dispatch(Find { bins: &bins, elements: tile, places });
                    match each {
                        COUNTERS => add::<COUNTERS>(places, counts),
                        _ => add::<1>(places, counts),
                    }
                }
            }
            Ok::<(), SegmentError>(())
        },
    )?;
    out.fill(0);
    for counts in counts {
        out.iter_mut().zip(counts.chunks(each)).for_each(|(out, counts)| *out += counts.iter().sum::<i64>());
    }
    Ok(())
}

/// Bins between edges.
struct Bins<'e, T> {
    edges: &'e [T],
    /// Equal bins.
    even: Option<EvenBins>,
}

/// Bins whose numbers follow from a multiplication.
#[derive(Clone, Copy)]
struct EvenBins {
    /// The first edge, and the number of bins per unit.
    first: f64,
    scale: f64,
    /// The maximum difference between the number of an edge and the position that is computed for it.
    error: f64,
}

impl EvenBins {
    /// The position of an element in units of bins. It ascends with the element.
    #[inline(always)]
    fn position(self, x: f64) -> f64 {
        (x - self.first) * self.scale
    }
}

impl<'e, T: Binned> Bins<'e, T> {
    fn new(edges: &'e [T]) -> Bins<'e, T> {
        let (count, first, last) =
            (edges.len() - 1, edges[0].approximate(), edges[edges.len() - 1].approximate());
        let mut even = EvenBins { first, scale: count as f64 / (last - first), error: 0.0 };
        for (i, edge) in edges.iter().enumerate() {
            // A NaN, where edges are equal or infinite, is no small error.
            let error = (even.position(edge.approximate()) - i as f64).abs();
            even.error = if error <= even.error { even.error } else { error };
        }
        Bins { edges, even: (even.error < MOST_ERROR).then_some(even) }
    }

    /// The number of bins.
    #[inline(always)]
    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The bin of an element; the number of bins if there is none.
    fn bin(&self, x: T) -> usize {
        let count = self.count();
        // A NaN is not in this range either.
        let is_in = (self.edges[0] <= x) & (x <= self.edges[count]) & (count > 0);
        if is_in { self.edges.partition_point(|edge| *edge <= x).min(count) - 1 } else { count }
    }
}

/// Bins are found by a multiplication if the positions of their edges have less than this error.
const MOST_ERROR: f64 = 1.0 / 64.0;
/// 1.5 · 2^52: a sum with it is rounded to the nearest whole number, whose 32 lowest bits are those of the sum.
///
/// PERF: a conversion to an integer, which saturates, takes each lane by itself, and three times as long.
const TO_WHOLE: f64 = 6_755_399_441_055_744.0;
/// The place of an element whose bin has to be found among the edges.
const UNKNOWN: u32 = u32::MAX;

/// Elements whose bins are to be found.
struct Find<'c, T> {
    bins: &'c Bins<'c, T>,
    elements: &'c [T],
    places: &'c mut [u32],
}

impl<T: Binned> NullaryFnOnce for Find<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Find { bins, elements, places } = self;
        let Some(even) = bins.even else {
            places.iter_mut().zip(elements).for_each(|(place, &x)| *place = bins.bin(x) as u32);
            return;
        };
        let (count, first, last) = (bins.count(), bins.edges[0], bins.edges[bins.count()]);
        for (places, elements) in places.chunks_mut(GROUP).zip(elements.chunks(GROUP)) {
            let mut unknown = 0;
            for (place, &x) in places.iter_mut().zip(elements) {
                // Let x be at or above edge i and below edge i + 1. Its position p ascends with x, so that i - error <= p <= i + 1 +
                // error. If p is further than that from a whole number, i is the whole part of p.
                let position = even.position(x.approximate());
                let whole = position + TO_WHOLE;
                let part = position - (whole - TO_WHOLE);
                let bin = (whole.to_bits() as u32).wrapping_sub(u32::from(part < 0.0));
                let is_known = part.abs() > even.error;
                let is_in = (first <= x) & (x <= last);
                let found = if is_known { bin } else { UNKNOWN };
                *place = if is_in { found } else { count as u32 };
                unknown |= u32::from(is_in & !is_known);
            }
            if unknown != 0 {
                for (place, &x) in places.iter_mut().zip(elements).filter(|(place, _)| **place == UNKNOWN) {
                    *place = bins.bin(x) as u32;
                }
            }
        }
    }
}

/// Unknown bins are looked for in groups of this many elements.
const GROUP: usize = 64;
