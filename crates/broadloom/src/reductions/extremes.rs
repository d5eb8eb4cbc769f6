//! Minimum and maximum, and their indices.

use broadloom_core::infer::BY_NUMPY;
use broadloom_core::{DType, Error, ErrorKind, Promotion, Result};
use broadloom_ir::Reduction;

use super::Over;
use crate::array::Array;
use crate::expr;
use crate::promote::promotion;

impl<'a> Array<'a> {
    /// The maximum of the elements along axes, as defined by the function `maximum`: NaN propagates, and −0 is less than +0.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for axes that the array does not have or that are named twice, and if there are no elements along the
    /// axes; [`ErrorKind::DType`] for bools, unless promotion is NumPy's.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1_i16, -5], [7, 3]]);
    /// assert_eq!((x.max(())?.item::<i16>()?, x.min(0)?.to_vec::<i16>()?), (7, vec![1, -5]));
    /// assert_eq!(x.argmax(())?.item::<i64>()?, 2);
    /// assert_eq!(x.argmin(-1)?.to_vec::<i64>()?, [1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn max(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        extreme("max", Reduction::Max, self, &over.into())
    }

    /// The minimum of the elements along axes, as defined by the function `minimum`: NaN propagates, and −0 is less than +0.
    ///
    /// # Errors
    /// The errors of [`Array::max`].
    pub fn min(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        extreme("min", Reduction::Min, self, &over.into())
    }

    /// The index (int64) of the first maximum along an axis, or among all elements in row-major order. −0 and +0 are equal. If
    /// there are NaNs, the result is the index of the first NaN.
    ///
    /// Over several axes, the result is the index in row-major order of these axes.
    ///
    /// # Errors
    /// The errors of [`Array::max`].
    pub fn argmax(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        extreme("argmax", Reduction::ArgMax, self, &over.into())
    }

    /// The index of the first minimum, with the conventions of [`Array::argmax`].
    ///
    /// # Errors
    /// The errors of [`Array::argmax`].
    pub fn argmin(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        extreme("argmin", Reduction::ArgMin, self, &over.into())
    }
}

fn extreme<'a>(name: &str, reduction: Reduction, x: &Array<'a>, over: &Over) -> Result<Array<'a>> {
    over.without_dtype(name)?;
    let axes = over.resolve(name, x)?;
    let x = expr::typed(x)?;
    if x.dtype() != DType::Bool {
        return expr::reduce(reduction, &x, axes, over.keeps_dims());
    }
    if promotion() == Promotion::Strict {
        let error = Error::new(ErrorKind::DType, format!("{name}: does not take bool"));
        return Err(error.with_help(format!("any and all reduce bools; or {BY_NUMPY}")));
    }
    let reduced = expr::reduce(reduction, &expr::cast(x, DType::UInt8), axes, over.keeps_dims())?;
    match reduction {
        Reduction::ArgMax | Reduction::ArgMin => Ok(reduced),
        _ => Ok(expr::cast(reduced, DType::Bool)),
    }
}
