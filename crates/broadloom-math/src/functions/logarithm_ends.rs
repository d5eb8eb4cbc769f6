//! Results of logarithms at the ends of the domain, for float64 and for float32 arithmetic.
//!
//! [`ends`] adds a correction, which is 0 for positive finite arguments, so that their results keep every bit.

use crate::dtype::{Float, Num};
use crate::ops::{Cmp, Ops};

/// Adds infinity, −infinity or NaN to the logarithm `y` where x is infinity, 0 or NaN, and 0 elsewhere.
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

/// Replaces the logarithm `y` at the ends of its domain: −infinity for 0, infinity for infinity, and NaN for NaN and
/// for negative arguments.
#[inline(always)]
pub(crate) fn special<O: Ops, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::V<T> {
    let zero = o.splat(T::ZERO);
    let infinity = o.splat(T::of_bits(T::INFINITY));
    let finite = o.cmp::<T>(Cmp::Lt, x, infinity);
    let y = o.select::<T>(finite, y, x);
    // The float with all bits set, a NaN.
    let nan = o.splat(T::of_bits(<T::Bits as Num>::MINUS_ONE));
    let minus_infinity = o.splat(T::from_f64(f64::NEG_INFINITY));
    let is_zero = o.cmp::<T>(Cmp::Eq, x, zero);
    let outside = o.select::<T>(is_zero, minus_infinity, nan);
    let inside = o.cmp::<T>(Cmp::Gt, x, zero);
    o.select::<T>(inside, y, outside)
}
