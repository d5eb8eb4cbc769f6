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
use pulp::{Arch, NullaryFnOnce};

use crate::order::{key, keys_of_equals};
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
            let (last, _) = last.as_chunks::<1>();
            let (last_places, _) = last_places.as_chunks_mut::<1>();
            Arch::new().dispatch(Search::<T, TOGETHER> { sorted, queries: together, places, side });
            Search::<T, 1> { sorted, queries: last, places: last_places, side }.call();
            Ok(())
        },
    )
}

/// Searches for several queries in turns.
struct Search<'s, T: Elem, const N: usize> {
    sorted: &'s [T::Store],
    queries: &'s [[T::Store; N]],
    places: &'s mut [[i64; N]],
    side: Side,
}

impl<T: Elem, const N: usize> NullaryFnOnce for Search<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (queries, places) in self.queries.iter().zip(self.places) {
            let equals = queries.map(keys_of_equals::<T>);
            *places = match self.side {
                Side::Left => bisect(self.sorted, equals.map(|(first, _)| first), |element, first| {
                    key::<T>(element) < first
                }),
                Side::Right => bisect(self.sorted, equals.map(|(_, last)| last), |element, last| {
                    key::<T>(element) <= last
                }),
            };
        }
    }
}

/// Bisects for several queries in turns, without a branch that depends on an element.
///
/// An interval of `len` elements is followed by one of `len / 2` or `(len - 1) / 2` elements. All intervals are therefore empty
/// after as many steps, or all but for one more step.
#[inline(always)]
fn bisect<S: Copy, const N: usize>(
    sorted: &[S],
    queries: [u64; N],
    before: impl Fn(S, u64) -> bool,
) -> [i64; N] {
    let (mut low, mut len) = ([0; N], [sorted.len(); N]);
    let step = |low: &mut usize, len: &mut usize, query: u64| {
        let half = *len / 2;
        // PERF: a choice would become a branch, which is mispredicted every other time.
        let is_before = usize::from(before(sorted[*low + half], query));
        *low += (half + 1) & is_before.wrapping_neg();
        *len = half - (is_before & !*len & 1);
    };
    let mut least = sorted.len();
    while least > 0 {
        for ((low, len), query) in low.iter_mut().zip(&mut len).zip(queries) {
            step(low, len, query);
        }
        least = (least - 1) / 2;
    }
    for ((low, len), query) in low.iter_mut().zip(&mut len).zip(queries) {
        while *len > 0 {
            step(low, len, query);
        }
    }
    low.map(|low| low as i64)
}
