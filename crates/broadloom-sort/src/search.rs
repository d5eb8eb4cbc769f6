//! Searches sorted rows.
//!
//! The result is that of one bisection, for rows that are not sorted as well:
//!
//! ```text
//! low = 0, high = n
//! while low < high:
//!     middle = low + (high - low) / 2
//!     if before(sorted[middle], query): low = middle + 1
//!     else:                             high = middle
//! return low
//! ```
//!
//! `before` is `<` for the left side, and the negation of `query < element` for the right one. `<` compares values: −0 equals +0,
//! and all NaNs are equal to each other and greater than everything else.

use broadloom_math::Elem;

use crate::order::rank;
use crate::workers::{Stopped, Workers, for_each};

/// The side of equal elements on which a search ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// Before the first element that is equal to the query.
    #[default]
    Left,
    /// After the last element that is equal to the query.
    Right,
}

/// The number of queries that are answered together, so that their cache misses overlap.
const TOGETHER: usize = 16;
/// The number of queries that a thread takes at a time.
const UNIT: usize = 1 << 14;

/// Writes, for each query, the number of elements of `sorted` that are before it: the result of the bisection of this module's
/// documentation.
///
/// Shares queries among threads.
///
/// ```
/// use broadloom_sort::{Alone, Side, searchsorted};
///
/// let mut places = [0; 3];
/// searchsorted::<f64>(&[1.0, 2.0, 2.0, 3.0], &[2.0, 0.0, f64::NAN], Side::Right, &mut places, &Alone)?;
/// assert_eq!(places, [3, 0, 4]);
/// # Ok::<(), broadloom_sort::Stopped>(())
/// ```
///
/// # Errors
///
/// The workers stopped.
///
/// # Panics
///
/// `places` is not as long as `queries`.
pub fn searchsorted<T: Elem>(
    sorted: &[T::Store],
    queries: &[T::Store],
    side: Side,
    places: &mut [i64],
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    assert_eq!(queries.len(), places.len(), "searchsorted: one place for each query");
    let units = queries.chunks(UNIT).zip(places.chunks_mut(UNIT));
    let threads = workers.threads().min(units.len());
    for_each(
        workers,
        threads,
        units,
        || (),
        |(), (queries, places)| {
            let (together, last) = queries.as_chunks::<TOGETHER>();
            let (places, last_places) = places.as_chunks_mut::<TOGETHER>();
            for (queries, places) in together.iter().zip(places) {
                *places = search::<T, TOGETHER>(sorted, queries, side);
            }
            for (&query, place) in last.iter().zip(last_places) {
                [*place] = search::<T, 1>(sorted, &[query], side);
            }
            Ok(())
        },
    )
}

fn search<T: Elem, const N: usize>(sorted: &[T::Store], queries: &[T::Store; N], side: Side) -> [i64; N] {
    let ranks = queries.map(rank::<T>);
    match side {
        Side::Left => bisect(sorted, |element, i| rank::<T>(element) < ranks[i]),
        Side::Right => bisect(sorted, |element, i| rank::<T>(element) <= ranks[i]),
    }
}

/// Bisects for several queries in turns, without a branch that depends on an element.
///
/// An interval of `len` elements is followed by one of `len / 2` or `(len - 1) / 2` elements. All intervals are therefore empty
/// after as many steps, or all but for one more step.
#[inline(always)]
fn bisect<S: Copy, const N: usize>(sorted: &[S], before: impl Fn(S, usize) -> bool) -> [i64; N] {
    let (mut low, mut len) = ([0; N], [sorted.len(); N]);
    let mut least = sorted.len();
    while least > 0 {
        for i in 0..N {
            let half = len[i] / 2;
            let after = low[i] + half + 1;
            let is_before = before(sorted[after - 1], i);
            low[i] = if is_before { after } else { low[i] };
            len[i] = if is_before { len[i] - half - 1 } else { half };
        }
        least = (least - 1) / 2;
    }
    for i in 0..N {
        while len[i] > 0 {
            let half = len[i] / 2;
            let is_before = before(sorted[low[i] + half], i);
            low[i] += if is_before { half + 1 } else { 0 };
            len[i] = if is_before { len[i] - half - 1 } else { half };
        }
    }
    low.map(|low| low as i64)
}
