//! Inner products and norms of vectors along axes.

use broadloom_core::infer::BY_NUMPY;
use broadloom_core::{DType, Dim, Error, ErrorKind, Op, Promotion, Result, Scalar, fold, infer};
use broadloom_ir::{Axes, Reduction};
use smallvec::smallvec;

use super::moments::squared;
use super::{Over, accumulator, count_nonzero, floats, sum};
use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;
use crate::promote::promotion;

impl<'a> Array<'a> {
    /// The inner product of vectors along an axis, which is counted from the end in both operands: −1 is the last. Both operands
    /// must have the same extent along this axis; the other axes broadcast.
    ///
    /// The result has the dtype that the operands promote to; products of float16 are computed and added in float32. Integers wrap.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that an operand does not have, or along which the extents differ; [`ErrorKind::DType`]
    /// for dtypes without a common dtype, and for bools unless promotion is [`Promotion::NumPy`](crate::Promotion::NumPy).
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (a, b) = (Array::from([[1.0_f32, 2.0], [3.0, 4.0]]), Array::from_vec(vec![10.0_f32, 1.0]));
    /// assert_eq!(a.vecdot(&b, -1)?.to_vec::<f32>()?, [12.0, 34.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn vecdot(&self, x2: impl IntoArray<'a>, axis: isize) -> Result<Array<'a>> {
        let (a, b) = (expr::typed(self)?, expr::typed(&x2.into_array())?);
        let fail = |why: String| Err(Error::new(ErrorKind::Shape, format!("vecdot: {why}")));
        // The axis is counted from the end, since broadcasting adds axes at the front.
        let axis = if axis < 0 { axis } else { axis - a.rank() as isize };
        let (first, second) = (a.axis("vecdot", axis)?, b.axis("vecdot", axis)?);
        let (dims, others) = (a.all_dims(), b.all_dims());
        let [n, m] = [(&dims, &a, first), (&others, &b, second)]
            .map(|(dims, of, axis)| &dims[dims.len() - of.rank() + axis]);
        // Symbolic extents that may be equal are compared when the kernel is bound. But an extent that may be 1 is rejected here,
        // since a product would be broadcast along it.
        let is_later = n.may_equal(m) && ![n, m].iter().any(|dim| dim.may_equal(&Dim::Fixed(1)));
        if n != m && !is_later {
            return fail(format!(
                "the vectors of {dims} and {others} along axis {axis} have {n} and {m} elements"
            ));
        }
        let promoted = infer::pair(a.dtype(), b.dtype(), promotion());
        // Under NumPy's promotion, the inner product of bools is whether any two corresponding elements are both true.
        let takes_bools = promotion() == Promotion::NumPy;
        let Some(dtype) = promoted.filter(|dtype| takes_bools || *dtype != DType::Bool) else {
            let why = format!("vecdot: does not take {} and {}", a.dtype(), b.dtype());
            return Err(Error::new(ErrorKind::DType, why)
                .with_help(format!("write astype(x, float64), or {BY_NUMPY}")));
        };
        let wide = accumulator(dtype);
        let wide_of = |x: Array<'a>| expr::cast(expr::cast(x, dtype), wide);
        let products = expr::apply(Op::Multiply, smallvec![wide_of(a).into(), wide_of(b).into()])?;
        let axis = products.axis("vecdot", axis)?;
        Ok(expr::cast(sum(&products, [axis].into_iter().collect(), false)?, dtype))
    }

    /// The norm of the vectors of floats along axes: `order` is 1 for the sum of magnitudes, 2 for the Euclidean norm, infinity
    /// or −infinity for the maximum or minimum magnitude, 0 for the number of elements that are not 0, and any other p for
    /// (Σ|x|^p)^(1/p).
    ///
    /// The Euclidean norm does not overflow or underflow unless its result does: if the sum of squares is infinite, or so small
    /// that squares may have lost digits, the sum of squares of elements scaled by a power of two is used instead. For float16
    /// the norm is computed in float32.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for axes that the array does not have or that are named twice, and for the maximum or minimum
    /// magnitude of no elements; [`ErrorKind::DType`] for integers, unless promotion is
    /// [`Promotion::NumPy`](crate::Promotion::NumPy), which converts them to float64; [`ErrorKind::Literal`] if `order` is NaN.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let large = 2_f64.powi(900);
    /// let x = Array::from_vec(vec![3.0 * large, -4.0 * large]);
    /// assert_eq!(x.vector_norm((), 2.0)?.item::<f64>()?, 5.0 * large);
    /// assert_eq!(x.vector_norm((), 1.0)?.item::<f64>()?, 7.0 * large);
    /// assert_eq!(x.vector_norm((), f64::INFINITY)?.item::<f64>()?, 4.0 * large);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn vector_norm(&self, over: impl Into<Over>, order: f64) -> Result<Array<'a>> {
        let (name, over) = ("vector_norm", over.into());
        over.without_dtype(name)?;
        let axes = over.resolve(name, self)?;
        let (x, dtype) = floats(name, self)?;
        if order.is_nan() {
            return Err(Error::new(ErrorKind::Literal, format!("{name}: the order is NaN")));
        }
        let keep_dims = over.keeps_dims();
        let magnitudes = || expr::apply(Op::Abs, smallvec![(&x).into()]);
        let reduced = |reduction| {
            expr::reduce(reduction, &magnitudes()?, axes, keep_dims)
                .map_err(|e| Error::new(e.kind(), format!("{name}: {}", e.message())))
        };
        let norm = match order {
            f64::INFINITY => reduced(Reduction::Max)?,
            f64::NEG_INFINITY => reduced(Reduction::Min)?,
            1.0 => sum(&magnitudes()?, axes, keep_dims)?,
            2.0 => euclidean(&x, dtype, axes, keep_dims)?,
            0.0 => expr::cast(count_nonzero(&x, &over)?, x.dtype()),
            order => {
                let number = |p: f64| expr::constant(fold::cast(Scalar::of(p), x.dtype()));
                let powers = expr::apply(Op::Pow, smallvec![magnitudes()?.into(), number(order).into()])?;
                let sum = sum(&powers, axes, keep_dims)?;
                expr::apply(Op::Pow, smallvec![sum.into(), number(1.0 / order).into()])?
            }
        };
        Ok(expr::cast(norm, dtype))
    }
}

/// The square root of the sum of squares, without overflow or underflow of intermediate results.
fn euclidean<'a>(x: &Array<'a>, dtype: DType, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let root = |x: Array<'a>| expr::apply(Op::Sqrt, smallvec![x.into()]);
    let plain = sum(&squared(x)?, axes, keep_dims)?;
    // Exponents of powers of two: the scale for large elements, the scale for small elements, and the smallest sum of squares to
    // which squares that underflow contribute less than half a unit in the last place.
    let (down, up, least) = match dtype {
        // In float32, squares of float16 values neither overflow nor underflow.
        DType::Float16 => return root(plain),
        DType::Float32 => (-70, 90, -60),
        _ => (-600, 600, -900),
    };
    let power = |exponent: i32| expr::constant(fold::cast(Scalar::of(2_f64.powi(exponent)), x.dtype()));
    let scaled = |exponent: i32| {
        let small = expr::apply(Op::Multiply, smallvec![x.into(), power(exponent).into()])?;
        let sum = sum(&squared(&small)?, axes, keep_dims)?;
        expr::apply(Op::Multiply, smallvec![root(sum)?.into(), power(-exponent).into()])
    };
    let (large, small) = (scaled(down)?, scaled(up)?);
    let infinity = expr::constant(fold::cast(Scalar::of(f64::INFINITY), x.dtype()));
    let overflows = expr::apply(Op::Equal, smallvec![(&plain).into(), infinity.into()])?;
    let underflows = expr::apply(Op::Less, smallvec![(&plain).into(), power(least).into()])?;
    let above = expr::apply(Op::Where, smallvec![overflows.into(), large.into(), root(plain)?.into()])?;
    expr::apply(Op::Where, smallvec![underflows.into(), small.into(), above.into()])
}
