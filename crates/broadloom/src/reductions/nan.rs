//! Reductions that ignore NaN, as in NumPy and xarray.
//!
//! They are composed of other reductions and functions: each NaN is replaced by the identity of the reduction, and the other
//! elements are counted where necessary. For integers they are the same as the reductions without the prefix `nan`.

use broadloom_core::{DType, Op, Result, Scalar, fold};
use broadloom_ir::{Axes, Reduction};
use smallvec::smallvec;

use super::moments::{divisor, squared};
use super::{Over, floats, sum};
use crate::array::Array;
use crate::expr;

impl<'a> Array<'a> {
    /// The sum of the elements along axes that are not NaN (a NaN counts as +0); see [`Array::sum`].
    ///
    /// # Errors
    /// The errors of [`Array::sum`].
    pub fn nansum(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        replaced(self, 0.0)?.accumulated("nansum", Reduction::Sum, &over.into())
    }

    /// The product of the elements along axes that are not NaN (a NaN counts as 1); see [`Array::prod`].
    ///
    /// # Errors
    /// The errors of [`Array::prod`].
    pub fn nanprod(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        replaced(self, 1.0)?.accumulated("nanprod", Reduction::Prod, &over.into())
    }

    /// The maximum of the elements along axes that are not NaN; NaN if all elements are NaN.
    ///
    /// # Errors
    /// The errors of [`Array::max`].
    pub fn nanmax(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        let over = over.into();
        all_nan_or(self, &over, replaced(self, f64::NEG_INFINITY)?.max(over.clone())?)
    }

    /// The minimum of the elements along axes that are not NaN; NaN if all elements are NaN.
    ///
    /// # Errors
    /// The errors of [`Array::min`].
    pub fn nanmin(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        let over = over.into();
        all_nan_or(self, &over, replaced(self, f64::INFINITY)?.min(over.clone())?)
    }

    /// The mean of the elements along axes that are not NaN: their sum divided by their number; NaN if all elements are NaN.
    ///
    /// # Errors
    /// The errors of [`Array::mean`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1.0_f32, f32::NAN, 5.0], [f32::NAN; 3]]);
    /// let means = x.nanmean(1)?.to_vec::<f32>()?;
    /// assert!(means[0] == 3.0 && means[1].is_nan());
    /// assert_eq!(x.nansum(1)?.to_vec::<f32>()?, [6.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nanmean(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        let over = over.into();
        over.without_dtype("nanmean")?;
        let axes = over.resolve("nanmean", self)?;
        let (x, dtype) = floats("nanmean", self)?;
        Ok(expr::cast(mean(&x, axes, over.keeps_dims())?, dtype))
    }

    /// The variance of the elements along axes that are not NaN; see [`Array::var`].
    ///
    /// # Errors
    /// The errors of [`Array::var`].
    pub fn nanvar(&self, over: impl Into<Over>, correction: f64) -> Result<Array<'a>> {
        let (variance, dtype) = variance("nanvar", self, &over.into(), correction)?;
        Ok(expr::cast(variance, dtype))
    }

    /// The standard deviation of the elements along axes that are not NaN; see [`Array::std`].
    ///
    /// # Errors
    /// The errors of [`Array::std`].
    pub fn nanstd(&self, over: impl Into<Over>, correction: f64) -> Result<Array<'a>> {
        let (variance, dtype) = variance("nanstd", self, &over.into(), correction)?;
        Ok(expr::cast(expr::apply(Op::Sqrt, smallvec![variance.into()])?, dtype))
    }
}

fn is_nan<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    expr::apply(Op::IsNan, smallvec![x.into()])
}

/// The elements with each NaN replaced by a number.
fn replaced<'a>(x: &Array<'a>, by: f64) -> Result<Array<'a>> {
    let x = expr::typed(x)?;
    if !x.dtype().is_float() {
        return Ok(x);
    }
    let by = expr::constant(fold::cast(Scalar::of(by), x.dtype()));
    expr::apply(Op::Where, smallvec![is_nan(&x)?.into(), by.into(), (&x).into()])
}

/// NaN if all elements are NaN, else `of_others`, the result for the others.
fn all_nan_or<'a>(x: &Array<'a>, over: &Over, of_others: Array<'a>) -> Result<Array<'a>> {
    let x = expr::typed(x)?;
    if !x.dtype().is_float() {
        return Ok(of_others);
    }
    let nan = expr::constant(fold::cast(Scalar::of(f64::NAN), x.dtype()));
    let all = is_nan(&x)?.all(over.clone())?;
    expr::apply(Op::Where, smallvec![all.into(), nan.into(), of_others.into()])
}

/// The number of elements that are not NaN, counted as int64.
fn others<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let others = expr::apply(Op::LogicalNot, smallvec![is_nan(x)?.into()])?;
    expr::reduce(Reduction::Sum, &expr::cast(others, DType::Int64), axes, keep_dims)
}

fn mean<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let sum = sum(&replaced(x, 0.0)?, axes, keep_dims)?;
    let count = expr::cast(others(x, axes, keep_dims)?, x.dtype());
    expr::apply(Op::Divide, smallvec![sum.into(), count.into()])
}

/// The variance in the accumulator's dtype, and the dtype of the final result.
fn variance<'a>(name: &str, x: &Array<'a>, over: &Over, correction: f64) -> Result<(Array<'a>, DType)> {
    over.without_dtype(name)?;
    let axes = over.resolve(name, x)?;
    let (x, dtype) = floats(name, x)?;
    let (elements, mean) = (expr::uncontracted(&x)?, mean(&x, axes, true)?);
    let differences = expr::apply(Op::Subtract, smallvec![elements.into(), mean.into()])?;
    // A difference is replaced by 0 if the element is NaN, but not if the mean is NaN because of infinities.
    let zero = expr::constant(fold::cast(Scalar::of(0.0), x.dtype()));
    let differences = expr::apply(Op::Where, smallvec![is_nan(&x)?.into(), zero.into(), differences.into()])?;
    let count = expr::cast(others(&x, axes, over.keeps_dims())?, DType::Float64);
    let divisor = divisor(name, &count, correction, x.dtype())?;
    let sum = sum(&squared(&differences)?, axes, over.keeps_dims())?;
    Ok((expr::apply(Op::Divide, smallvec![sum.into(), divisor.into()])?, dtype))
}
