//! Cumulative sums and products.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Scan;

use super::accumulated_from;
use crate::array::Array;
use crate::expr;

impl<'a> Array<'a> {
    /// The running sum along an axis: each element of the result is the sum of the element at its index and all previous ones.
    /// `axis` may be `None` if the array has exactly one axis. The dtypes are those of [`Array::sum`]. With `include_initial`,
    /// the result begins with an additional 0 along the axis.
    ///
    /// The i elements before element i are divided into blocks according to the binary digits of i, the largest block first.
    /// Element i of the result is the sum, from left to right, of the sums of these blocks and of element i; the elements of a
    /// block are summed pairwise. The error grows with the logarithm of i.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that the array does not have, and for `None` unless it has exactly one axis;
    /// [`ErrorKind::DType`] for bools, unless promotion is [`Promotion::NumPy`](crate::Promotion::NumPy), which converts them to
    /// int64.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1_u8, 2, 3, 250]);
    /// assert_eq!(x.cumulative_sum(None, None, false)?.to_vec::<u64>()?, [1, 3, 6, 256]);
    /// assert_eq!(x.cumulative_prod(Some(-1), None, true)?.to_vec::<u64>()?, [1, 1, 2, 6, 1500]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cumulative_sum(
        &self,
        axis: Option<isize>,
        dtype: Option<DType>,
        include_initial: bool,
    ) -> Result<Array<'a>> {
        self.scanned(Scan::Sum, axis, dtype, include_initial)
    }

    /// The running product along an axis, with the conventions of [`Array::cumulative_sum`]; the initial element is 1.
    ///
    /// # Errors
    /// The errors of [`Array::cumulative_sum`].
    pub fn cumulative_prod(
        &self,
        axis: Option<isize>,
        dtype: Option<DType>,
        include_initial: bool,
    ) -> Result<Array<'a>> {
        self.scanned(Scan::Prod, axis, dtype, include_initial)
    }

    pub(super) fn scanned(
        &self,
        scan: Scan,
        axis: Option<isize>,
        dtype: Option<DType>,
        initial: bool,
    ) -> Result<Array<'a>> {
        let name = scan.name();
        let axis = match axis {
            Some(axis) => self.axis(name, axis)?,
            None if self.rank() == 1 => 0,
            None => {
                let why = format!("{name}: an array of rank {} needs an axis", self.rank());
                return Err(Error::new(ErrorKind::Shape, why));
            }
        };
        let (x, result) = accumulated_from(name, self, dtype)?;
        Ok(expr::cast(expr::scan(scan, &x, axis, initial)?, result))
    }
}
