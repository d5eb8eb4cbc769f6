//! Reductions that ignore NaN, as in NumPy and xarray.
//!
//! They are composed of other reductions and functions: each NaN is replaced by the identity of the reduction, and the other
//! elements are counted where necessary. For integers they are the same as the reductions without the prefix `nan`.

use broadloom_core::{DType, Op, Result, Scalar, fold};
use broadloom_ir::{Axes, Reduction};
use smallvec::smallvec;

use super::extremes::extreme;
use super::moments::{divisor, squared};
use super::{Over, floats, sum};
use crate::array::Array;
use crate::expr;

fn is_nan<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    expr::apply(Op::IsNan, smallvec![x.into()])
}

/// The elements with each NaN replaced by a number.
pub(super) fn replaced<'a>(x: &Array<'a>, by: f64) -> Result<Array<'a>> {
    let x = expr::typed(x)?;
    if !x.dtype().is_float() {
        return Ok(x);
    }
    let by = expr::constant(fold::cast(Scalar::of(by), x.dtype()));
    expr::apply(Op::Where, smallvec![is_nan(&x)?.into(), by.into(), (&x).into()])
}

/// The minimum or maximum of the elements that are not NaN; NaN if there are none. `neutral` is the identity of the reduction.
pub(super) fn extreme_of_numbers<'a>(
    reduction: Reduction,
    neutral: f64,
    x: &Array<'a>,
    over: &Over,
) -> Result<Array<'a>> {
    let of_others = extreme(reduction, &replaced(x, neutral)?, over)?;
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

/// The mean of the elements that are not NaN, computed in their dtype.
pub(super) fn mean<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let sum = sum(&replaced(x, 0.0)?, axes, keep_dims)?;
    let count = expr::cast(others(x, axes, keep_dims)?, x.dtype());
    expr::apply(Op::Divide, smallvec![sum.into(), count.into()])
}

/// The variance in the accumulator's dtype, and the dtype of the final result.
pub(super) fn variance<'a>(
    name: &str,
    x: &Array<'a>,
    over: &Over,
    correction: f64,
) -> Result<(Array<'a>, DType)> {
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
