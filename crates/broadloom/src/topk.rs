//! The first elements in order, without sorting the others.

use broadloom_core::routine::Routine;
use broadloom_core::{Error, ErrorKind, Result};

use crate::array::Array;
use crate::sorts::along;

impl<'a> Array<'a> {
    /// The `k` greatest elements along an axis in descending order, or the `k` least in ascending order, and their indices, int64.
    /// The order is that of [`Array::sort`]; of equal elements, the one with the lower index is first.
    ///
    /// NaNs are greater than numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist or has fewer elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (values, indices) = Array::from([3, 9, 5, 9]).topk(2, 0, true)?;
    /// assert_eq!((values.to_vec::<i32>()?, indices.to_vec::<i64>()?), (vec![9, 9], vec![1, 3]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> Result<(Array<'a>, Array<'a>)> {
        let mut results = along("topk", self, axis, Routine::TopK { k, largest })?.into_iter();
        let internal = || Error::new(ErrorKind::Internal, "a routine without a result");
        results.next().zip(results.next()).ok_or_else(internal)
    }
}
