//! Sorting and searching. The order is that of the crate `broadloom-sort`.

use broadloom_core::routine::Routine;
use broadloom_core::{Error, ErrorKind, Result, View};
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr;

impl<'a> Array<'a> {
    /// The elements along an axis in ascending order, or in descending order.
    ///
    /// −0 comes before +0 and NaN after infinity, and the descending order is the reverse.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[3, 1, 2], [4, 6, 5]]);
    /// assert_eq!(x.sort(1, false)?.to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.sort(0, true)?.to_vec::<i32>()?, [4, 6, 5, 3, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sort(&self, axis: isize, descending: bool) -> Result<Array<'a>> {
        first_of(along("sort", self, axis, Routine::Sort { descending })?)
    }

    /// The indices, int64, that sort the elements along an axis as [`Array::sort`] does. Equal elements keep their order in
    /// either direction.
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let order = Array::from([2.0, f64::NAN, 1.0, 2.0]).argsort(0, true)?;
    /// assert_eq!(order.to_vec::<i64>()?, [1, 0, 3, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn argsort(&self, axis: isize, descending: bool) -> Result<Array<'a>> {
        first_of(along("argsort", self, axis, Routine::ArgSort { descending })?)
    }

    /// For each of the other elements, the index in this sorted array of one axis before which it is inserted to keep the order,
    /// int64: the first such index or, if `right`, the last. The dtypes are the same.
    ///
    /// −0 and +0 are equal, and NaN comes after all numbers. Of an array that is not sorted, the result is that of a bisection
    /// from the middle, `low + (high - low) / 2`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array of another rank;
    /// [`ErrorKind::DType`] for different dtypes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1.0, 2.0, 2.0, 5.0]);
    /// let queries = Array::from([2.0, 9.0]);
    /// assert_eq!(x.searchsorted(&queries, false)?.to_vec::<i64>()?, [1, 4]);
    /// assert_eq!(x.searchsorted(&queries, true)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn searchsorted(&self, queries: &Array<'a>, right: bool) -> Result<Array<'a>> {
        expr::routine(Routine::SearchSorted { right }, &[self.clone(), queries.clone()]).and_then(first_of)
    }
}

/// The results of a routine along an axis, which is moved to the last place for it and back.
pub(crate) fn along<'a>(
    function: &str,
    array: &Array<'a>,
    axis: isize,
    routine: Routine,
) -> Result<SmallVec<[Array<'a>; 2]>> {
    let array = expr::typed(array)?;
    let axis = array.axis(function, axis)?;
    let rank = array.rank();
    let last = (0..rank).filter(|&other| other != axis).chain([axis]).map(|axis| axis as u8);
    let rows = expr::view(&array, View::Permute(last.collect()))?;
    let back = |other: usize| match other.cmp(&axis) {
        std::cmp::Ordering::Less => other as u8,
        std::cmp::Ordering::Equal => rank as u8 - 1,
        std::cmp::Ordering::Greater => other as u8 - 1,
    };
    let results = expr::routine(routine, &[rows])?;
    results.iter().map(|result| expr::view(result, View::Permute((0..rank).map(back).collect()))).collect()
}

/// The first result of a routine.
pub(crate) fn first_of(results: SmallVec<[Array<'_>; 2]>) -> Result<Array<'_>> {
    let internal = || Error::new(ErrorKind::Internal, "a routine without a result");
    results.into_iter().next().ok_or_else(internal)
}
