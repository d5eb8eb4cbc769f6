//! What derivatives do with adjoints and tangents: products with partial derivatives, sums, and broadcasting.
//!
//! An adjoint or tangent has the dtype of its node and a shape that broadcasts to the node's. It stays small where it does not
//! vary: the adjoint of a sum's operand is that of the sum. A product with an exact zero is +0 where the derivative depends on
//! values, so that an infinite derivative of a branch that is not taken contributes nothing.

use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Op, Result, Scalar, View, fold};
use broadloom_ir::{Axes, Reduction};
use broadloom_mem::FloatEnv;
use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::expr;

/// The derivative of a function for one of its operands, as a linear map of tangents, which is also the map of adjoints.
pub(super) enum Partial<'a> {
    /// The function is constant, apart from jumps.
    Zero,
    /// The derivative is 1.
    One,
    /// The derivative is −1.
    Negative,
    /// The derivative depends on values.
    Times(Array<'a>),
    /// The derivative is the reciprocal of this.
    Over(Array<'a>),
    /// The derivative depends on values, and is 0 where the condition holds, even for an infinite adjoint.
    Flat(Array<'a>, Array<'a>),
    /// The derivative is 1 where the condition has this value, and 0 elsewhere.
    Where(Array<'a>, bool),
    /// The derivative is a product of shares.
    Shared(SmallVec<[Chosen<'a>; 2]>),
    /// There is no derivative, for this reason.
    Refused(&'static str),
}

/// The derivative of a function whose result is one of two operands: 0 unless the operand is selected, 1/2 if it is tied with the
/// other one, and 1 otherwise.
pub(super) struct Chosen<'a> {
    /// Whether the result is the operand.
    pub selected: Array<'a>,
    /// Whether the result is also the other operand.
    pub tied: Array<'a>,
}

impl<'a> Partial<'a> {
    /// The derivative's product with a tangent or an adjoint; `None` for a derivative of zero.
    pub(super) fn along(self, v: &Array<'a>) -> Result<Option<Array<'a>>> {
        Ok(Some(match self {
            Partial::Zero | Partial::Refused(_) => return Ok(None),
            Partial::One => v.clone(),
            Partial::Negative => negative(v)?,
            Partial::Times(derivative) => times(v, &derivative)?,
            Partial::Over(divisor) => over(v, &divisor)?,
            Partial::Where(condition, true) => select(&condition, v, &zero(v.dtype()))?,
            Partial::Where(condition, false) => select(&condition, &zero(v.dtype()), v)?,
            Partial::Flat(is_flat, derivative) => {
                select(&is_flat, &zero(v.dtype()), &times(v, &derivative)?)?
            }
            Partial::Shared(shares) => {
                shares.iter().try_fold(v.clone(), |v, Chosen { selected, tied }| {
                    let half = apply(Op::Multiply, &[&v, &number(0.5, v.dtype())])?;
                    select(selected, &select(tied, &half, &v)?, &zero(v.dtype()))
                })?
            }
        }))
    }
}

/// Applies an op to operands whose dtypes and shapes fit.
pub(super) fn apply<'a>(op: Op, operands: &[&Array<'a>]) -> Result<Array<'a>> {
    expr::apply(op, operands.iter().map(|&x| x.into()).collect())
}

/// `where(condition, x, y)`.
pub(super) fn select<'a>(condition: &Array<'a>, x: &Array<'a>, y: &Array<'a>) -> Result<Array<'a>> {
    apply(Op::Where, &[condition, x, y])
}

/// A 0-d array of this number, rounded to the dtype.
pub(super) fn number<'a>(x: f64, dtype: DType) -> Array<'a> {
    let _ieee = FloatEnv::ieee();
    expr::constant(fold::cast(Scalar::of(x), dtype))
}

/// A 0-d array of +0.
pub(super) fn zero<'a>(dtype: DType) -> Array<'a> {
    expr::constant(Scalar { dtype, bits: 0 })
}

/// An array of zeros with the shape of another one, and its dtype.
pub(super) fn zeros_like<'a>(like: &Array<'a>) -> Result<Array<'a>> {
    spread(&zero(like.dtype()), like)
}

/// The value of all elements, if it is known when the expression is built.
pub(super) fn constant(x: &Array<'_>) -> Option<f64> {
    // Each element of a view is an element of the array.
    let mut x = x;
    while let Kind::View { arg, .. } = &x.0.kind {
        x = arg;
    }
    let value = match x.leaf()? {
        Leaf::Const(value) | Leaf::Rounded(value, _) => *value,
        _ => return None,
    };
    let _ieee = FloatEnv::ieee();
    fold::cast(value, DType::Float64).get()
}

/// The negated tangent or adjoint.
pub(super) fn negative<'a>(v: &Array<'a>) -> Result<Array<'a>> {
    match constant(v) {
        Some(x) => spread(&number(-x, v.dtype()), v),
        None => apply(Op::Negative, &[v]),
    }
}

/// The product with a derivative, which is +0 where `v` is zero unless the derivative is a finite constant.
pub(super) fn times<'a>(v: &Array<'a>, derivative: &Array<'a>) -> Result<Array<'a>> {
    let product = || apply(Op::Multiply, &[v, derivative]);
    match (constant(v), constant(derivative)) {
        (Some(0.0), _) => Ok(zero(v.dtype())),
        (Some(1.0), _) => Ok(derivative.clone()),
        (_, Some(1.0)) => Ok(v.clone()),
        (Some(_), _) => product(),
        (_, Some(derivative)) if derivative.is_finite() => product(),
        _ => guarded(v, &product()?),
    }
}

/// The quotient by the reciprocal of a derivative, which is +0 where `v` is zero unless the divisor is a constant other than 0 and
/// NaN.
pub(super) fn over<'a>(v: &Array<'a>, divisor: &Array<'a>) -> Result<Array<'a>> {
    let quotient = || apply(Op::Divide, &[v, divisor]);
    match (constant(v), constant(divisor)) {
        (Some(0.0), _) => Ok(zero(v.dtype())),
        (_, Some(1.0)) => Ok(v.clone()),
        (Some(_), _) => quotient(),
        (_, Some(divisor)) if divisor != 0.0 && !divisor.is_nan() => quotient(),
        _ => guarded(v, &quotient()?),
    }
}

/// A product with `v`, replaced by +0 where `v` is zero.
fn guarded<'a>(v: &Array<'a>, product: &Array<'a>) -> Result<Array<'a>> {
    let zero = zero(v.dtype());
    select(&apply(Op::Equal, &[v, &zero])?, &zero, product)
}

/// The sum of two tangents or adjoints. It is never contracted with a product of theirs to a fused multiply-add.
pub(super) fn add<'a>(v: &Array<'a>, w: &Array<'a>) -> Result<Array<'a>> {
    apply(Op::Add, &[&expr::uncontracted(v)?, &expr::uncontracted(w)?])
}

/// An array with the shape of another one, to which it broadcasts.
pub(super) fn spread<'a>(v: &Array<'a>, like: &Array<'a>) -> Result<Array<'a>> {
    if v.all_dims() == like.all_dims() {
        return Ok(v.clone());
    }
    if like.dims().is_none() {
        return expr::view(v, View::BroadcastTo(like.0.shape.clone()));
    }
    // Rewriting replaces the choice by a view once the extents are known.
    select(&apply(Op::Equal, &[like, like])?, v, v)
}

/// An array with axes of extent 1 in front, up to this rank.
pub(super) fn ranked<'a>(v: &Array<'a>, rank: usize) -> Result<Array<'a>> {
    (v.rank()..rank).try_fold(v.clone(), |v, _| v.expand_dims(0))
}

/// The adjoint of an operand with the dims `target`, which was broadcast to the shape of `full`: the canonical sum of the adjoint
/// `v` of the result along the axes that were repeated.
pub(super) fn summed_to<'a>(v: &Array<'a>, full: &Array<'a>, target: &Dims) -> Result<Array<'a>> {
    let dims = full.all_dims();
    if dims == *target {
        return Ok(v.clone());
    }
    let new = dims.len() - target.len();
    let is_repeated = |axis: usize| {
        dims[axis] != Dim::Fixed(1) && axis.checked_sub(new).is_none_or(|axis| target[axis] == Dim::Fixed(1))
    };
    let repeated: Axes = (0..dims.len()).filter(|&axis| is_repeated(axis)).collect();
    if repeated.is_empty() {
        return without_axes(v, v.rank().saturating_sub(target.len()));
    }
    if dims.has_rest() {
        let why = format!("gradient: the rank of {}{dims} is open, so that it can't be summed", full.dtype());
        return Err(Error::new(ErrorKind::Shape, why).with_help("name its dimensions instead of `...`"));
    }
    let keeps = repeated != Axes::all(new);
    let sum = sum(&spread(v, full)?, repeated, keeps)?;
    without_axes(&sum, if keeps { new } else { 0 })
}

/// The array without its first axes, whose extent is 1.
fn without_axes<'a>(v: &Array<'a>, count: usize) -> Result<Array<'a>> {
    (0..count).try_fold(v.clone(), |v, _| v.squeeze(0))
}

/// The array in the dtype in which sums and means of its elements are computed: float32 for float16.
pub(super) fn widened<'a>(v: &Array<'a>) -> Array<'a> {
    expr::cast(v.clone(), if v.dtype() == DType::Float16 { DType::Float32 } else { v.dtype() })
}

/// The canonical sum along axes, in the dtype of the array.
pub(super) fn sum<'a>(v: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    let sum = expr::reduce(Reduction::Sum, &widened(v), axes, keep_dims)?;
    Ok(expr::cast(sum, v.dtype()))
}

/// The quotient by a number of elements of int64, in the dtype of `like`; 0 where the number is 0. A number may be beyond
/// float16, so the quotient is computed in float32 there.
pub(super) fn mean<'a>(v: &Array<'a>, count: &Array<'a>, like: &Array<'a>) -> Result<Array<'a>> {
    let v = widened(v);
    let quotient = over(&v, &expr::cast(count.clone(), v.dtype()))?;
    let is_empty = apply(Op::Equal, &[count, &zero(DType::Int64)])?;
    Ok(expr::cast(select(&is_empty, &zero(v.dtype()), &quotient)?, like.dtype()))
}

/// Which elements of `x` are the maximum or minimum `extreme`, or a NaN if that is one.
pub(super) fn is_extreme<'a>(x: &Array<'a>, extreme: &Array<'a>) -> Result<Array<'a>> {
    let nans = apply(Op::LogicalAnd, &[&apply(Op::IsNan, &[x])?, &apply(Op::IsNan, &[extreme])?])?;
    apply(Op::LogicalOr, &[&apply(Op::Equal, &[x, extreme])?, &nans])
}

/// An error of a derivative that does not exist.
pub(super) fn refused(operation: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Derivative, format!("{operation}: {why}"))
}

/// An error of a derivative that does not exist for an operand.
pub(super) fn no_derivative(operation: &str, operand: usize, why: &str) -> Error {
    refused(operation, format!("there is no derivative for operand {}, since {why}", operand + 1))
}

/// The error of a host function, whose derivative is unknown.
pub(super) fn of_host_function(name: &str) -> Error {
    refused(name, "the derivative of a host function is not known")
}
