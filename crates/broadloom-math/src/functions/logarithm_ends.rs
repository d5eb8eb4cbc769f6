//! Corrections at the ends of the domain of logarithms, for the logarithms in float64 and in float32 arithmetic.
//!
//! A correction is added to the logarithm: it is 0 where the argument is positive and finite, so that no bit changes there.

use crate::dtype::{Float, Num};
use crate::ops::{Cmp, Ops};

/// `y` corrected for the logarithm of 0, infinity and NaN, where an infinite or NaN number is added. Elsewhere 0 is added.
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

/// `y` corrected at the ends of the logarithm's domain: at 0, at infinity, for NaN, and with NaN for negative arguments.
#[inline(always)]
pub(crate) fn special<O: Ops, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::V<T> {
    let zero = o.splat(T::ZERO);
    let infinity = o.splat(T::of_bits(T::INFINITY));
    let finite = o.cmp::<T>(Cmp::Lt, x, infinity);
    let y = o.select::<T>(finite, y, x);
    // A float whose bits are all ones is a NaN.
    let nan = o.splat(T::of_bits(<T::Bits as Num>::MINUS_ONE));
    let minus_infinity = o.splat(T::from_f64(f64::NEG_INFINITY));
    let is_zero = o.cmp::<T>(Cmp::Eq, x, zero);
    let outside = o.select::<T>(is_zero, minus_infinity, nan);
    let inside = o.cmp::<T>(Cmp::Gt, x, zero);
    o.select::<T>(inside, y, outside)
}
