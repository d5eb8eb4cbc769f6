//! Division and remainder of floats and of integers.
//!
//! Integer functions are total: x/0 and x%0 are 0, MIN/−1 wraps to MIN, and MIN%−1 is 0.

use crate::dtype::{Float, Int, Num, Real, f16};
use crate::functions::{declare_half_path, function, narrow, through_float32, widen};
use crate::ops::{Binary, Cmp, Ops, Rare2};

function! {
    /// x1 / x2
    Divide
    /// ⌊x1 / x2⌋; for floats, the floor of the rounded quotient
    FloorDivide
    /// x1 − x2·⌊x1 / x2⌋, with the sign of x2
    Remainder
    /// x1 / x2 truncated to an integer (ONNX Div on integers)
    TruncDivide
}

impl<T: Float> Binary<T> for Divide {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.div(x1, x2)
    }
}
through_float32!(binary Divide);
through_float32!(long binary Remainder);
// The float16 instance needs a loop of its own, since it rounds twice: first the quotient, then its floor.
declare_half_path!(Own: FloorDivide);

/// Implements floor division as the floor of the quotient rounded to the operands' dtype.
macro_rules! floor_divide {
    ($($t:ty)*) => {$(
        impl Binary<$t> for FloorDivide {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let q = o.div(x1, x2);
                o.floor(q)
            }
        }
    )*};
}
floor_divide!(f32 f64);

impl Binary<f16> for FloorDivide {
    type Out = f16;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f16>, x2: O::V<f16>) -> O::V<f16> {
        let q = Divide::call(o, x1, x2);
        let q = widen(o, q);
        let q = o.floor(q);
        narrow(o, q)
    }
}

/// The exact remainder of truncated division, computed by a loop over the exponent difference.
struct TruncatedRemainder;

impl<T: Float> Rare2<T> for TruncatedRemainder {
    #[inline(always)]
    fn call(a: T, b: T) -> T {
        a.fmod(b)
    }
}

/// Converts the truncated remainder `r` to the remainder with the sign of x2: one rounded addition of x2 where the
/// signs differ. A zero gets the sign of x2. `r` is never infinite, so `x2 = ±inf` needs no special case.
#[inline(always)]
fn sign_of_divisor<O: Ops, T: Float>(o: &mut O, r: O::V<T>, x2: O::V<T>) -> O::V<T> {
    let r_bits = o.bits::<T>(r);
    let x2_bits = o.bits::<T>(x2);
    let sign = o.splat(T::SIGN);
    let differ = o.xor(r_bits, x2_bits);
    let differ = o.and(differ, sign);
    let none = o.splat(<T::Bits as Num>::ZERO);
    let differ = o.cmp(Cmp::Ne, differ, none);
    let differ = o.mask_resize::<T::Bits, T>(differ);
    let moved = o.add(r, x2);
    let r_moved = o.select(differ, moved, r);
    let x2_sign = o.and(x2_bits, sign);
    let signed_zero = o.of_bits::<T>(x2_sign);
    let zero = o.splat(T::ZERO);
    let is_zero = o.cmp(Cmp::Eq, r, zero);
    o.select(is_zero, signed_zero, r_moved)
}

impl Binary<f32> for Remainder {
    type Out = f32;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<f32> {
        // In float64, a quotient below 2^29 truncates exactly: if it is not an integer, it is at least 2^−24 away from
        // one, which is more than half an ulp. Its product with x2 then has at most 53 bits, and the difference is
        // exact.
        let (a, b) = (o.float_resize::<f32, f64>(x1), o.float_resize::<f32, f64>(x2));
        let q = o.div(a, b);
        let q = o.trunc(q);
        let product = o.mul(q, b);
        let r = o.sub(a, product);
        let limit = o.splat((1u64 << 29) as f64);
        let minus_limit = o.splat(-((1u64 << 29) as f64));
        let below = o.cmp(Cmp::Lt, q, limit);
        let above = o.cmp(Cmp::Gt, q, minus_limit);
        let near = o.mask_and::<f64>(below, above);
        let long = o.mask_not::<f64>(near);
        let long = o.mask_resize::<f64, f32>(long);
        let r = o.float_resize::<f64, f32>(r);
        // If x1 is finite and x2 infinite, q is 0 and q·x2 is NaN; the remainder is x1.
        let r = dividend_of_infinite(o, x1, x2, r);
        let r = o.rare2::<TruncatedRemainder, f32>(long, x1, x2, r);
        sign_of_divisor::<O, f32>(o, r, x2)
    }
}

impl Binary<f64> for Remainder {
    type Out = f64;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f64>, x2: O::V<f64>) -> O::V<f64> {
        // A quotient below 2^53 in magnitude, after rounding and truncation, is either exact or too large by 1. The
        // fused remainder is exact in both cases, since it has no more bits than x2; if the quotient is too large, the
        // remainder and x1 have opposite signs.
        let q = o.div(x1, x2);
        let q = o.trunc(q);
        let sign = o.splat(f64::SIGN);
        let q_bits = o.bits::<f64>(q);
        let minus_q = o.xor(q_bits, sign);
        let minus_q = o.of_bits::<f64>(minus_q);
        let r = o.fma(minus_q, x2, x1);
        let limit = o.splat((1u64 << 53) as f64);
        let minus_limit = o.splat(-((1u64 << 53) as f64));
        let below = o.cmp(Cmp::Lt, q, limit);
        let above = o.cmp(Cmp::Gt, q, minus_limit);
        let near = o.mask_and::<f64>(below, above);
        // The product inside a fused multiply-add does not underflow, so subnormals need no special case.
        let r_bits = o.bits::<f64>(r);
        let x1_bits = o.bits::<f64>(x1);
        let against = o.xor(r_bits, x1_bits);
        let against = o.and(against, sign);
        let none = o.splat(0u64);
        let against = o.cmp(Cmp::Ne, against, none);
        let against = o.mask_resize::<u64, f64>(against);
        let zero = o.splat(0.0f64);
        let nonzero = o.cmp(Cmp::Ne, r, zero);
        let too_far = o.mask_and::<f64>(against, nonzero);
        // Corrects r by |x2| with the sign of x1.
        let magnitude = o.splat(f64::MAGNITUDE);
        let x2_bits = o.bits::<f64>(x2);
        let step = o.and(x2_bits, magnitude);
        let x1_sign = o.and(x1_bits, sign);
        let step = o.or(step, x1_sign);
        let step = o.of_bits::<f64>(step);
        let back = o.add(r, step);
        let r = o.select(too_far, back, r);
        let r = dividend_of_infinite(o, x1, x2, r);
        let long = o.mask_not::<f64>(near);
        let r = o.rare2::<TruncatedRemainder, f64>(long, x1, x2, r);
        sign_of_divisor::<O, f64>(o, r, x2)
    }
}

/// Selects x1 where x2 is infinite and x1 finite, NaN where both are infinite, else `r`.
#[inline(always)]
fn dividend_of_infinite<O: Ops, T: Float>(o: &mut O, x1: O::V<T>, x2: O::V<T>, r: O::V<T>) -> O::V<T> {
    let infinity = o.splat(T::INFINITY);
    let x2_magnitude = super::compare::magnitude::<O, T>(o, x2);
    let infinite = o.cmp(Cmp::Eq, x2_magnitude, infinity);
    let x1_magnitude = super::compare::magnitude::<O, T>(o, x1);
    let finite = o.cmp(Cmp::Lt, x1_magnitude, infinity);
    let both = o.mask_and::<T::Bits>(infinite, finite);
    let both = o.mask_resize::<T::Bits, T>(both);
    o.select(both, x1, r)
}

impl<T: Int> Binary<T> for TruncDivide {
    type Out = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
        o.quotient(x1, x2)
    }
}

macro_rules! integer_division {
    ($($t:ty)*) => {$(
        impl Binary<$t> for FloorDivide {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                o.floor_quotient(x1, x2)
            }
        }
        impl Binary<$t> for Remainder {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                // The remainder of the floored quotient has the sign of x2. If an expression also contains
                // the floor_divide of the same operands, the quotient is computed once.
                let q = o.floor_quotient(x1, x2);
                let product = o.mul(q, x2);
                let rest = o.sub(x1, product);
                let zero = o.splat(0 as $t);
                let by_zero = o.cmp(Cmp::Eq, x2, zero);
                o.select(by_zero, zero, rest)
            }
        }
    )*};
}
integer_division!(i8 i16 i32 i64 u8 u16 u32 u64);
