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
/// [`SegmentError::Refused`] for a dtype other than float32, float64, int64 and uint64; [`SegmentError::Stopped`].
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
    match dtype {
        DType::Float32 => count::<f32>(elements, edges, out, workers),
        DType::Float64 => count::<f64>(elements, edges, out, workers),
        DType::Int64 => count::<i64>(elements, edges, out, workers),
        DType::UInt64 => count::<u64>(elements, edges, out, workers),
        _ => Err(Error::new(ErrorKind::Internal, format!("bins of {dtype}")).into()),
    }
}

/// The approximate number of bytes that [`count_in_bins`] needs.
pub fn histogram_bytes(bins: usize, threads: usize) -> usize {
    bins.saturating_add(2).saturating_mul(8 * threads)
}

fn count<T: Binned>(
    elements: &[u8],
    edges: &[u8],
    out: &mut [i64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let edges = typed::<T>(edges).expect("aligned edges");
    let elements = typed::<T>(elements).expect("aligned elements");
    let bins = Bins::new(edges);
    let ranges = ranges(elements.len(), workers.threads());
    let mut counts: Vec<Vec<i64>> = vec![Vec::new(); ranges.len()];
    for_each(
        workers,
        ranges.len(),
        ranges.iter().zip(&mut counts),
        || (),
        |(), (range, counts)| {
            // The last one is of elements outside of all bins, and of NaNs.
            *counts = zeros(out.len() + 1)?;
            for part in elements[range.clone()].chunks(BETWEEN) {
                workers.go_on()?;
                for tile in part.chunks(TILE) {
                    arch().dispatch(Count { bins: &bins, elements: tile, counts });
                }
            }
            Ok::<(), SegmentError>(())
        },
    )?;
    out.fill(0);
    for counts in counts {
        out.iter_mut().zip(counts).for_each(|(out, count)| *out += count);
    }
    Ok(())
}

/// Bins between edges.
struct Bins<'e, T> {
    edges: &'e [T],
    /// The first edge and the number of bins per unit, if the bin that follows from them is at most one off.
    even: Option<(f64, f64)>,
}

impl<'e, T: Binned> Bins<'e, T> {
    fn new(edges: &'e [T]) -> Bins<'e, T> {
        let (count, first, last) =
            (edges.len() - 1, edges[0].approximate(), edges[edges.len() - 1].approximate());
        let scale = count as f64 / (last - first);
        let bins = Bins { edges, even: Some((first, scale)) };
        // Guesses ascend with the elements. If those of the edges are right or one too low, those of the elements between are at
        // most one off.
        let is_near = |(i, &edge): (usize, &T)| {
            let guess = bins.guess(edge, first, scale);
            guess == i.min(count.saturating_sub(1)) || guess + 1 == i
        };
        let is_even = count < i32::MAX as usize && edges.iter().enumerate().all(is_near);
        if is_even { bins } else { Bins { even: None, ..bins } }
    }

    /// The number of bins.
    #[inline(always)]
    fn count(&self) -> usize {
        self.edges.len() - 1
    }

    #[inline(always)]
    fn guess(&self, x: T, first: f64, scale: f64) -> usize {
        let guess = ((x.approximate() - first) * scale) as i32;
        (guess.max(0) as usize).min(self.count().saturating_sub(1))
    }

    /// The bin of an element; the number of bins if there is none.
    #[inline(always)]
    fn bin(&self, x: T) -> usize {
        let count = self.count();
        // A NaN is not in this range either.
        let is_in = (self.edges[0] <= x) & (x <= self.edges[count]) & (count > 0);
        if !is_in {
            return count;
        }
        match self.even {
            Some((first, scale)) => {
                let guess = self.guess(x, first, scale);
                let is_below = x < self.edges[guess];
                let is_above = (x >= self.edges[guess + 1]) & (guess + 1 < count);
                guess + usize::from(is_above) - usize::from(is_below)
            }
            None => self.edges.partition_point(|edge| *edge <= x).min(count) - 1,
        }
    }
}

/// Elements to be counted.
struct Count<'c, T> {
    bins: &'c Bins<'c, T>,
    elements: &'c [T],
    counts: &'c mut [i64],
}

impl<T: Binned> NullaryFnOnce for Count<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Count { bins, elements, counts } = self;
        for &x in elements {
            counts[bins.bin(x)] += 1;
        }
    }
}
