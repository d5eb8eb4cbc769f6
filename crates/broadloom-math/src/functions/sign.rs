//! Functions of the sign bit, and nextafter. All of them operate on the bits of floats, including float16, so that the
//! sign of a NaN is its stored sign bit.

use crate::dtype::{Int, Num, Real, f16};
use crate::functions::compare::{is_negative, magnitude};
use crate::functions::{declare_half_path, function};
use crate::ops::{Binary, Cmp, Ops, Unary};

function! {
    /// |x|; the minimum of a signed dtype is unchanged
    Abs
    /// −x
    Negative
    /// The sign of x as −1, 0 or 1; NaN for NaN
    Sign
    /// Whether the sign bit of x is set
    SignBit
    /// x1 with the sign of x2
    CopySign
    /// The next value of the dtype after x1 in the direction of x2
    NextAfter
    /// x, with any NaN replaced by the canonical one
    CanonicalNan
}

declare_half_path!(Own: Abs Negative Sign SignBit CopySign NextAfter CanonicalNan);

macro_rules! for_ints {
    ($($t:ty)*) => {$(
        impl Unary<$t> for Abs {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                if !<$t as Int>::SIGNED {
                    return x;
                }
                let minus = Negative::call(o, x);
                let negative = is_negative::<O, $t>(o, x);
                o.select(negative, minus, x)
            }
        }
        impl Unary<$t> for Negative {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let zero = o.splat(0 as $t);
                o.sub(zero, x)
            }
        }
        impl Unary<$t> for Sign {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let (zero, one) = (o.splat(<$t>::ZERO), o.splat(<$t>::ONE));
                let is_zero = o.cmp(Cmp::Eq, x, zero);
                let positive = o.select(is_zero, zero, one);
                if !<$t as Int>::SIGNED {
                    return positive;
                }
                let minus_one = o.splat(<$t>::MINUS_ONE);
                let negative = is_negative::<O, $t>(o, x);
                o.select(negative, minus_one, positive)
            }
        }
    )*};
}
for_ints!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! for_reals {
    ($($t:ident $one:expr;)*) => {$(
        impl Unary<$t> for Abs {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let bits = magnitude::<O, $t>(o, x);
                o.of_bits::<$t>(bits)
            }
        }
        impl Unary<$t> for Negative {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let (bits, sign) = (o.bits::<$t>(x), o.splat(<$t as Real>::SIGN));
                let bits = o.xor(bits, sign);
                o.of_bits::<$t>(bits)
            }
        }
        impl Unary<$t> for Sign {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let (bits, sign) = (o.bits::<$t>(x), o.splat(<$t as Real>::SIGN));
                let sign = o.and(bits, sign);
                let one = o.splat(<$t as Real>::bits($one));
                let unit = o.or(sign, one);
                let size = o.xor(bits, sign);
                let zero = o.splat(<<$t as Real>::Bits as Num>::ZERO);
                let is_zero = o.cmp(Cmp::Eq, size, zero);
                let out = o.select(is_zero, zero, unit);
                let infinity = o.splat(<$t as Real>::INFINITY);
                let is_nan = o.cmp(Cmp::Gt, size, infinity);
                let nan = o.splat(<$t as Real>::NAN);
                let out = o.select(is_nan, nan, out);
                o.of_bits::<$t>(out)
            }
        }
        impl Unary<$t> for SignBit {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<bool> {
                let (bits, sign) = (o.bits::<$t>(x), o.splat(<$t as Real>::SIGN));
                let m = o.cmp(Cmp::Ge, bits, sign);
                o.boolean::<<$t as Real>::Bits>(m)
            }
        }
        impl Binary<$t> for CopySign {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let size = magnitude::<O, $t>(o, x1);
                let (bits, sign) = (o.bits::<$t>(x2), o.splat(<$t as Real>::SIGN));
                let sign = o.and(bits, sign);
                let bits = o.or(size, sign);
                o.of_bits::<$t>(bits)
            }
        }
        impl Binary<$t> for NextAfter {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                next_after::<O, $t>(o, x1, x2)
            }
        }
    )*};
}
for_reals! {
    f16 f16::ONE;
    f32 1.0;
    f64 1.0;
}

impl Unary<f16> for CanonicalNan {
    type Out = f16;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f16> {
        let size = magnitude::<O, f16>(o, x);
        // The bits are compared as signed integers, since not every target compares unsigned ones. The sign
        // bit is cleared, so both orders are the same.
        let size = o.int_resize::<u16, i16>(size);
        let infinity = o.splat(f16::INFINITY.to_bits() as i16);
        let is_nan = o.cmp(Cmp::Gt, size, infinity);
        let is_nan = o.mask_resize::<i16, f16>(is_nan);
        let nan = o.splat(f16::of_bits(<f16 as Real>::NAN));
        o.select(is_nan, nan, x)
    }
}

macro_rules! canonical_nan {
    ($($t:ident)*) => {$(
        impl Unary<$t> for CanonicalNan {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let nan = o.splat(<$t>::of_bits(<$t as Real>::NAN));
                let is_nan = o.cmp(Cmp::Ne, x, x);
                o.select(is_nan, nan, x)
            }
        }
    )*};
}
canonical_nan!(f32 f64);

/// nextafter on the bits: the bits of floats with adjacent magnitudes are consecutive integers.
#[inline(always)]
fn next_after<O: Ops, T: Real>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<T> {
    let (a, b) = (o.bits::<T>(x1), o.bits::<T>(x2));
    let (zero, one) = (o.splat(T::Bits::ZERO), o.splat(T::Bits::ONE));
    let sign = o.splat(T::SIGN);
    let (a_size, b_size) = (magnitude::<O, T>(o, x1), magnitude::<O, T>(o, x2));
    let a_sign = o.and(a, sign);
    let b_sign = o.and(b, sign);
    // Steps away from zero where x2 has the sign of x1 and the greater magnitude, else toward zero.
    let same_sign = o.cmp(Cmp::Eq, a_sign, b_sign);
    let larger = o.cmp(Cmp::Gt, b_size, a_size);
    let away = o.mask_and::<T::Bits>(same_sign, larger);
    let (up, down) = (o.add(a, one), o.sub(a, one));
    let stepped = o.select(away, up, down);
    // The step from ±0 gives the smallest subnormal with the sign of x2.
    let least = o.or(b_sign, one);
    let a_zero = o.cmp(Cmp::Eq, a_size, zero);
    let stepped = o.select(a_zero, least, stepped);
    // Equal values give x2, including zeros of different signs.
    let same = o.cmp(Cmp::Eq, a, b);
    let sizes = o.or(a_size, b_size);
    let both_zero = o.cmp(Cmp::Eq, sizes, zero);
    let equal = o.mask_or::<T::Bits>(same, both_zero);
    let out = o.select(equal, b, stepped);
    let infinity = o.splat(T::INFINITY);
    let a_nan = o.cmp(Cmp::Gt, a_size, infinity);
    let b_nan = o.cmp(Cmp::Gt, b_size, infinity);
    let either = o.mask_or::<T::Bits>(a_nan, b_nan);
    let nan = o.splat(T::NAN);
    let out = o.select(either, nan, out);
    o.of_bits::<T>(out)
}
