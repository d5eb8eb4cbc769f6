//! Mean, variance and standard deviation.

use broadloom_core::{DType, Error, ErrorKind, Literal, Op, Result, Scalar, fold};
use broadloom_ir::Axes;
use broadloom_mem::FloatEnv;
use smallvec::smallvec;

use super::{Over, floats, sum};
use crate::array::{Array, Leaf, Operand};
use crate::expr;

/// A function that computes the mean along axes, in the dtype of the elements. The last argument is whether the axes are kept.
pub(super) type Mean<'a> = fn(&Array<'a>, Axes, bool) -> Result<Array<'a>>;

/// A mean of floats, rounded once to the dtype of the result.
pub(super) fn averaged<'a>(name: &str, x: &Array<'a>, over: &Over, mean: Mean<'a>) -> Result<Array<'a>> {
    over.without_dtype(name)?;
    let axes = over.resolve(name, x)?;
    let (x, dtype) = floats(name, x)?;
    Ok(expr::cast(mean(&x, axes, over.keeps_dims())?, dtype))
}

/// The mean, computed in the dtype of the elements.
pub(super) fn mean<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let count = expr::count(x, axes, x.dtype());
    expr::apply(Op::Divide, smallvec![sum(x, axes, keep_dims)?.into(), count.into()])
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
    let mean = mean(&x, axes, true)?;
    let elements = expr::uncontracted(&x)?;
    let squares = squared(&expr::apply(Op::Subtract, smallvec![elements.into(), mean.into()])?)?;
    let count = expr::count(&x, axes, DType::Float64);
    let divisor = divisor(name, &count, correction, x.dtype())?;
    let sum = sum(&squares, axes, over.keeps_dims())?;
    Ok((expr::apply(Op::Divide, smallvec![sum.into(), divisor.into()])?, dtype))
}

/// The square of each element.
pub(super) fn squared<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    expr::apply(Op::Multiply, smallvec![x.into(), x.into()])
}

/// The divisor of the sum of squared differences: the number of elements (float64) minus the correction, rounded to dtype `to`;
/// NaN if it is not positive.
pub(super) fn divisor<'a>(name: &str, count: &Array<'a>, correction: f64, to: DType) -> Result<Array<'a>> {
    if correction.is_nan() {
        return Err(Error::new(ErrorKind::Literal, format!("{name}: the correction is NaN")));
    }
    if let Some(Leaf::Const(count)) = count.leaf() {
        // The divisor is computed here and not in the graph, since a plan that depends on the values of constants is not cached.
        let _ieee = FloatEnv::ieee();
        let left = count.get::<f64>().unwrap_or(f64::NAN) - correction;
        let divisor = if left > 0.0 { left } else { f64::NAN };
        return Ok(expr::constant(fold::cast(Scalar::of(divisor), to)));
    }
    let number = |x: f64| Operand::Array(expr::constant(Scalar::of(x)));
    let left = expr::apply(Op::Subtract, smallvec![count.into(), number(correction)])?;
    let positive =
        expr::apply(Op::Greater, smallvec![(&left).into(), Operand::Number(Literal::Float(0.0).into())])?;
    Ok(expr::cast(expr::apply(Op::Where, smallvec![positive.into(), left.into(), number(f64::NAN)])?, to))
}
