//! The ends of the domain of logarithms, which those of float64 and those in float32 arithmetic share.
//!
//! A correction is added to the logarithm: it is 0 where the argument is positive and finite, so that no bit changes there.

use crate::dtype::{Float, Num};
use crate::ops::{Cmp, Ops};

/// The logarithm of 0, infinity and NaN: what is added to `y` there is infinite or NaN, and 0 elsewhere.
#[inline(always)]
pub(crate) fn ends<O: Ops, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::V<T> {
    let zero = o.splat(T::ZERO);
    let infinity = o.splat(T::of_bits(T::INFINITY));
    let finite = o.cmp::<T>(Cmp::Lt, x, infinity);
    let above = o.select::<T>(finite, zero, x);
    let minus_infinity = o.splat(T::from_f64(f64::NEG_INFINITY));
    let is_zero = o.cmp::<T>(Cmp::Eq, x, zero);
    let below = o.select::<T>(is_zero, minus_infinity, zero);
    let y = o.add::<T>(y, above);
    o.add::<T>(y, below)
}

/// `y` with the logarithm's values at the ends of its domain: at 0, at infinity, for NaN, and NaN below 0.
#[inline(always)]
pub(crate) fn special<O: Ops, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::V<T> {
    let zero = o.splat(T::ZERO);
    let infinity = o.splat(T::of_bits(T::INFINITY));
    let finite = o.cmp::<T>(Cmp::Lt, x, infinity);
    let y = o.select::<T>(finite, y, x);
    // All ones are a NaN.
    let nan = o.splat(T::of_bits(<T::Bits as Num>::MINUS_ONE));
    let minus_infinity = o.splat(T::from_f64(f64::NEG_INFINITY));
    let is_zero = o.cmp::<T>(Cmp::Eq, x, zero);
    let outside = o.select::<T>(is_zero, minus_infinity, nan);
    let inside = o.cmp::<T>(Cmp::Gt, x, zero);
    o.select::<T>(inside, y, outside)
}
