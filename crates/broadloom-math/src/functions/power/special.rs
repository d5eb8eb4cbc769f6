//! The effect of signs and exceptional operands on a power, for float64 and float32.
//!
//! Negative bases, zeros, and the exponents 0, 1 and 2 are handled in the fast path. Bases that are
//! subnormal, infinite or NaN take the slow path. So do the exponent −1 and exponents that are NaN, infinite,
//! or too large for their parity to be in the last bit of a sum. These operands are so rare that testing for
//! each of them in the fast path would cost more than the slow path does.

use crate::dtype::{Float, Int, Num};
use crate::functions::compare;
use crate::ops::{Cmp, Ops, Rare2};

/// A float type that has an implementation of powers.
pub(crate) trait Power: Float {
    /// The signed integer type of the same width.
    type Signed: Int;
    /// The bits of the smallest positive normal number.
    const LEAST_NORMAL: Self::Bits;
    /// 1.5 · 2^(DIGITS − 1). Adding it to a number of less than a third of its magnitude leaves the nearest integer in
    /// the low bits.
    const MAGIC: Self;
    /// The magnitude from which on exponents take the slow path: a third of [`Power::MAGIC`].
    const LARGE: Self;
    /// a^y for a positive finite `a` and a finite `y`.
    fn power(a: Self, y: Self) -> Self;
}

/// A mask of the lanes that take the slow path.
#[inline(always)]
pub(crate) fn exceptional<O: Ops, T: Power>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::M<T> {
    // One comparison detects bases that are infinite, NaN or subnormal. Adding the bits of the smallest
    // normal number makes the bits of infinities and NaN negative, and leaves those of subnormals below twice
    // that number.
    let base = compare::magnitude::<O, T>(o, x);
    let least = o.splat(T::LEAST_NORMAL);
    let moved = o.add::<T::Bits>(base, least);
    let moved = o.int_resize::<T::Bits, T::Signed>(moved);
    let twice = o.splat(T::Signed::wrap(T::LEAST_NORMAL.plus(T::LEAST_NORMAL).wide()));
    let base = o.cmp::<T::Signed>(Cmp::Lt, moved, twice);
    let base = o.mask_resize::<T::Signed, T>(base);
    let zero = o.splat(T::ZERO);
    let not_zero = o.cmp::<T>(Cmp::Ne, x, zero);
    let base = o.mask_and::<T>(base, not_zero);
    let exponent = compare::magnitude::<O, T>(o, y);
    let exponent = o.int_resize::<T::Bits, T::Signed>(exponent);
    let large = o.splat(T::Signed::wrap(T::LARGE.bits().wide()));
    let large = o.cmp::<T::Signed>(Cmp::Ge, exponent, large);
    let large = o.mask_resize::<T::Signed, T>(large);
    let minus_one = o.splat(T::MINUS_ONE);
    let inverse = o.cmp::<T>(Cmp::Eq, y, minus_one);
    let exponent = o.mask_or::<T>(large, inverse);
    o.mask_or::<T>(base, exponent)
}

/// x^y from r = |x|^y, valid for lanes that are not [`exceptional`].
#[inline(always)]
pub(crate) fn finish<O: Ops, T: Power>(o: &mut O, x: O::V<T>, y: O::V<T>, r: O::V<T>) -> O::V<T> {
    let (zero, one) = (o.splat(T::ZERO), o.splat(T::ONE));
    // 0^0 is the only value of r that is wrong.
    let y_zero = o.cmp::<T>(Cmp::Eq, y, zero);
    let r = o.select::<T>(y_zero, one, r);
    // An odd power of a negative base is negative: the parity of y becomes the sign bit.
    let magic = o.splat(T::MAGIC);
    let sum = o.add::<T>(y, magic);
    let whole = o.sub::<T>(sum, magic);
    let fraction = o.cmp::<T>(Cmp::Ne, whole, y);
    let parity = o.bits::<T>(sum);
    let parity = o.shl_const::<T::Bits>(parity, <T::Bits as Int>::WIDTH - 1);
    let parity = o.of_bits::<T>(parity);
    let parity = o.select::<T>(fraction, zero, parity);
    let parity = o.bits::<T>(parity);
    let x_bits = o.bits::<T>(x);
    let sign = o.and::<T::Bits>(parity, x_bits);
    let r = o.bits::<T>(r);
    let r = o.xor::<T::Bits>(r, sign);
    let r = o.of_bits::<T>(r);
    // A power of a negative base with a non-integral exponent is NaN.
    let below = o.cmp::<T>(Cmp::Lt, x, zero);
    let broken = o.mask_and::<T>(below, fraction);
    let nan = o.splat(T::of_bits(T::NAN));
    let r = o.select::<T>(broken, nan, r);
    // The power with exponent 2 is x·x by definition.
    let square = o.mul::<T>(x, x);
    let two = o.splat(T::from_f64(2.0));
    let two = o.cmp::<T>(Cmp::Eq, y, two);
    o.select::<T>(two, square, r)
}

/// The slow path: powers of exceptional operands.
pub(crate) struct Exceptional;

impl<T: Power> Rare2<T> for Exceptional {
    #[inline(always)]
    fn call(x: T, y: T) -> T {
        let infinity = T::of_bits(T::INFINITY);
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        if y == T::ONE {
            return x;
        }
        if y == T::ZERO || x == T::ONE {
            return T::ONE;
        }
        if is_nan(x) || is_nan(y) {
            return T::of_bits(T::NAN);
        }
        if y == T::MINUS_ONE {
            return T::ONE.over(x);
        }
        if y == T::from_f64(2.0) {
            return x.times(x);
        }
        let negative = x.bits().and(T::SIGN) != <T::Bits as Num>::ZERO;
        let whole = y.toward_zero();
        let half = whole.times(T::from_f64(0.5));
        let odd = whole == y && half.toward_zero() != half;
        let a = if negative { x.opposite() } else { x };
        let grows = (a > T::ONE) == (y > T::ZERO);
        let r = if x < T::ZERO && a < infinity && whole != y {
            T::of_bits(T::NAN)
        } else if a == T::ONE {
            T::ONE
        } else if a == T::ZERO || a == infinity || y == infinity || y == infinity.opposite() {
            if grows { infinity } else { T::ZERO }
        } else {
            T::power(a, y)
        };
        if negative && odd { r.opposite() } else { r }
    }
}
