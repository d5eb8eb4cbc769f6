//! Mean, variance and standard deviation.

use broadloom_core::{DType, Error, ErrorKind, Literal, Op, Result, Scalar, fold};
use broadloom_ir::Axes;
use broadloom_mem::FloatEnv;
use smallvec::smallvec;

use super::{Over, floats, sum};
use crate::array::{Array, Leaf, Operand};
use crate::expr;

impl<'a> Array<'a> {
    /// The arithmetic mean of floats along axes: their sum, divided once by their number. A float16 is rounded once, at the end.
    ///
    /// The mean of no elements is NaN.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for axes that the array does not have or that are named twice; [`ErrorKind::DType`] for integers, which
    /// [`Promotion::NumPy`](crate::Promotion::NumPy) converts to float64.
    pub fn mean(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        let over = over.into();
        over.without_dtype("mean")?;
        let axes = over.resolve("mean", self)?;
        let (x, dtype) = floats("mean", self)?;
        Ok(expr::cast(mean(&x, axes, over.keeps_dims())?, dtype))
    }

    /// The variance of floats along axes: the sum of the squared differences from the mean, divided once by the number of elements
    /// less `correction` (0 for a population, 1 for a sample). For float16 it is computed in float32.
    ///
    /// The variance is NaN if that divisor is not positive.
    ///
    /// # Errors
    /// The errors of [`Array::mean`]; [`ErrorKind::Literal`] for a correction that is NaN.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f64, 2.0, 3.0, 4.0]);
    /// assert_eq!((x.var((), 0.0)?.item::<f64>()?, x.std((), 0.0)?.item::<f64>()?), (1.25, 1.25_f64.sqrt()));
    /// assert_eq!(x.var((), 1.0)?.item::<f64>()?, 5.0 / 3.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn var(&self, over: impl Into<Over>, correction: f64) -> Result<Array<'a>> {
        let (variance, dtype) = variance("var", self, &over.into(), correction)?;
        Ok(expr::cast(variance, dtype))
    }

    /// The standard deviation of floats along axes: the square root of [`Array::var`], without rounding in between.
    ///
    /// # Errors
    /// The errors of [`Array::var`].
    pub fn std(&self, over: impl Into<Over>, correction: f64) -> Result<Array<'a>> {
        let (variance, dtype) = variance("std", self, &over.into(), correction)?;
        Ok(expr::cast(expr::apply(Op::Sqrt, smallvec![variance.into()])?, dtype))
    }
}

/// The mean of elements, in their dtype.
fn mean<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let count = expr::count(x, axes, x.dtype());
    expr::apply(Op::Divide, smallvec![sum(x, axes, keep_dims)?.into(), count.into()])
}

/// The variance in the accumulator's dtype, and the dtype of the result.
fn variance<'a>(name: &str, x: &Array<'a>, over: &Over, correction: f64) -> Result<(Array<'a>, DType)> {
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

/// The divisor of the sum of squared differences: a number of elements (float64) minus the correction, rounded to a dtype. NaN if
/// it is not positive.
pub(super) fn divisor<'a>(name: &str, count: &Array<'a>, correction: f64, to: DType) -> Result<Array<'a>> {
    if correction.is_nan() {
        return Err(Error::new(ErrorKind::Literal, format!("{name}: the correction is NaN")));
    }
    if let Some(Leaf::Const(count)) = count.leaf() {
        // It is computed here and not in the graph, because a plan that depends on the values of constants is not kept.
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
