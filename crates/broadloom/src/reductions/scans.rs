//! Cumulative sums and products.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Scan;

use super::accumulated_from;
use crate::array::Array;
use crate::expr;

impl<'a> Array<'a> {
    /// The running sum along an axis: of each element and the previous ones. `axis` may be `None` if the array has only one. Dtypes
    /// are those of [`Array::sum`]; with `include_initial` the axis is longer by one, and begins with 0.
    ///
    /// Element i of the result is the sum, from left to right, of the blocks of previous elements given by the binary digits of i,
    /// the largest first, and of element i; each block is summed pairwise. The error grows with the logarithm of i.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that the array does not have, and for `None` unless it has exactly one;
    /// [`ErrorKind::DType`] for bools, which [`Promotion::NumPy`](crate::Promotion::NumPy) converts to int64.
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

    fn scanned(
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
