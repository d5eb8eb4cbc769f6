//! Constant folding: applies an op to typed scalars through the scalar instance of `broadloom-math`. The executors are instances
//! of the same definitions, and tests compare each executor with constant folding. A NaN that an op computes (rather
//! than propagates) is replaced by the positive quiet NaN without payload, because its bits may be read later and
//! differ between CPUs.

use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary};

use crate::accuracy::Accuracy;
use crate::op::{self, Op, Visitor};
use crate::scalar::Scalar;

/// Applies an op to constant operands. The result is `None` if the op does not take this number of operands or their
/// dtypes.
pub fn apply(op: Op, operands: &[Scalar]) -> Option<Scalar> {
    apply_at(op, Accuracy::Fast, operands)
}

/// Applies an op with an accuracy. The result is also `None` if the op has no definition of this accuracy for the
/// operands' dtype.
pub fn apply_at(op: Op, accuracy: Accuracy, operands: &[Scalar]) -> Option<Scalar> {
    let dtype = operands.last()?.dtype;
    if operands.len() != op.operands() {
        return None;
    }
    let value = op::dispatch(op, accuracy, dtype, Fold(operands)).flatten()?;
    Some(if op.leaves_nan_open() { canonical(value) } else { value })
}

/// Converts a value to another dtype.
pub fn cast(x: Scalar, to: DType) -> Scalar {
    if x.dtype == to {
        return x;
    }
    // A conversion is defined for every pair of dtypes, and the visitor is called with the value's own dtype, so there is always
    // a result.
    canonical(op::dispatch_cast(x.dtype, to, Fold(&[x])).unwrap_or(x))
}

fn canonical(x: Scalar) -> Scalar {
    if !x.is_nan() {
        return x;
    }
    apply(Op::CanonicalNan, &[x]).unwrap_or(x)
}

struct Fold<'a>(&'a [Scalar]);

impl Visitor for Fold<'_> {
    type Out = Option<Scalar>;

    fn unary<F: Unary<T>, T: Elem>(self) -> Option<Scalar> {
        Some(Scalar::of(F::call(&mut broadloom_math::Scalar, self.0[0].get::<T>()?)))
    }

    fn binary<F: Binary<T>, T: Elem>(self) -> Option<Scalar> {
        Some(Scalar::of(F::call(&mut broadloom_math::Scalar, self.0[0].get::<T>()?, self.0[1].get::<T>()?)))
    }

    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> Option<Scalar> {
        let [a, b, c] = [self.0[0].get::<T>()?, self.0[1].get::<T>()?, self.0[2].get::<T>()?];
        Some(Scalar::of(F::call(&mut broadloom_math::Scalar, a, b, c)))
    }

    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> Option<Scalar> {
        let (condition, a, b) = (self.0[0].get::<bool>()?, self.0[1].get::<T>()?, self.0[2].get::<T>()?);
        Some(Scalar::of(F::call(&mut broadloom_math::Scalar, condition, a, b)))
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> Option<Scalar> {
        Some(Scalar::of(T::cast(&mut broadloom_math::Scalar, self.0[0].get::<T>()?)))
    }
}
