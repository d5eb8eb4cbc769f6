//! Sums, differences, products and what is made of them.

use crate::dtype::{Float, Num};
use crate::functions::compare::magnitude;
use crate::functions::{declare_half_path, function, through_float32};
use crate::ops::{Binary, Cmp, Ops, Unary};

function! {
    /// x1 + x2
    Add
    /// x1 − x2
    Subtract
    /// x1 · x2
    Multiply
    /// x · x
    Square
    /// 1 / x
    Reciprocal
    /// √x, correctly rounded
    Sqrt
    /// x
    Positive
}

impl<T: Num> Binary<T> for Add {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.add(x1, x2)
    }
}

impl<T: Num> Binary<T> for Subtract {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.sub(x1, x2)
    }
}

impl<T: Num> Binary<T> for Multiply {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.mul(x1, x2)
    }
}
through_float32!(binary Add Subtract Multiply);

impl<T: Num> Unary<T> for Square {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        o.mul(x, x)
    }
}

impl<T: Float> Unary<T> for Reciprocal {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        let one = o.splat(T::ONE);
        o.div(one, x)
    }
}

impl<T: Float> Unary<T> for Sqrt {
    type Out = T;
    /// With the canonical NaN, which takes no time beside a square root: LLVM takes any NaN for any other where a selection
    /// by `isnan(√x)` follows, so that the loops of executors can't be left to put it there. Of the bits it knows nothing.
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
        let root = o.sqrt(x);
        let size = magnitude::<O, T>(o, root);
        let infinity = o.splat(T::INFINITY);
        let is_nan = o.cmp(Cmp::Gt, size, infinity);
        let is_nan = o.mask_resize::<T::Bits, T>(is_nan);
        let nan = o.splat(T::of_bits(T::NAN));
        o.select(is_nan, nan, root)
    }
}
through_float32!(unary Square Reciprocal Sqrt);
declare_half_path!(Own: Positive);

impl<T: crate::Elem> Unary<T> for Positive {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(_: &mut O, x: O::V<T>) -> O::V<T> {
        x
    }
}
