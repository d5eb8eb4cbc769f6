//! float16 ↔ float32: the two primitives, and what they are by integer arithmetic over the others.
//!
//! The conversions are exact for subnormals, infinities and NaNs (a NaN stays one, its sign kept); back to float16 they
//! round once to nearest even.
//! Source: the magic-number conversions described by F. Giesen, "Half to float done quick" (2012).

use crate::dtype::{Elem, Real, f16};
use crate::ops::{CastTo, Cmp, Ops};

/// How loops over float16 run a function, where the target converts several elements at a time. Every function of float16
/// declares it, so that none falls to a slow loop unnoticed: a path of the table [`half_path`].
pub trait HalfPath {
    /// One of [`half_path`].
    type Path;
}

/// The paths of [`HalfPath`].
pub mod half_path {
    /// A few primitives between the conversions ([`HalfUnary`](super::HalfUnary), [`HalfBinary`](super::HalfBinary)):
    /// computed a vector at a time, widened and narrowed in registers.
    #[derive(Clone, Copy, Debug)]
    pub enum Short {}
    /// The same with a bool result, which is not narrowed.
    #[derive(Clone, Copy, Debug)]
    pub enum Comparison {}
    /// Many primitives between the conversions: computed over parts of a tile, which are float32 in the L1 cache.
    #[derive(Clone, Copy, Debug)]
    pub enum Long {}
    /// No conversions: the function acts on the bits or rounds by itself, or its loops are written by hand.
    #[derive(Clone, Copy, Debug)]
    pub enum Own {}
}

/// A function of float16 as what it is between conversions: its operand widened, its result before the one rounding.
/// Where a host converts by itself, its loops call this and leave the conversions to it.
pub trait HalfUnary {
    /// The float32 that, rounded to float16, is the result.
    fn wide<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32>;
}

/// A function of two float16 operands between conversions, as [`HalfUnary`].
pub trait HalfBinary {
    /// float32, which is rounded to float16; or bool, which is the result.
    type Wide: Elem;
    /// The result, or the float32 that it is rounded from.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<Self::Wide>;
}

/// A conversion to float16 up to its last step.
pub trait IntoHalf: CastTo<f16> {
    /// The float32 that, rounded to float16, is the result.
    fn wide<O: Ops>(o: &mut O, x: O::V<Self>) -> O::V<f32>;
}

/// float32 with the value of `x`.
#[inline(always)]
pub(crate) fn widen<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f32> {
    o.half_to_float(x)
}

/// `x` rounded to float16.
#[inline(always)]
pub(crate) fn narrow<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f16> {
    o.float_to_half(x)
}

/// [`Ops::half_to_float`] on the bits, for instances that have no instruction for it.
#[inline(always)]
pub fn half_to_float_by_bits<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f32> {
    let bits = o.bits::<f16>(x);
    let bits = o.int_resize::<u16, u32>(bits);
    let low = o.splat(0x7fffu32);
    let magnitude = o.and(bits, low);
    // Exponent and significand in their float32 places are the value times 2^−112, subnormals included.
    let shifted = o.shl_const(magnitude, 13);
    let scaled = o.of_bits::<f32>(shifted);
    let two_to_112 = o.splat(f32::from_bits((127 + 112) << 23));
    let finite = o.mul(scaled, two_to_112);
    // Infinities and NaNs: the exponent becomes all ones.
    let finite = o.bits::<f32>(finite);
    let ones = o.splat(0x7f80_0000u32);
    let special = o.or(shifted, ones);
    let threshold = o.splat(0x7c00u32);
    let is_special = o.cmp(Cmp::Ge, magnitude, threshold);
    let value = o.select(is_special, special, finite);
    let sign = o.xor(bits, magnitude);
    let sign = o.shl_const(sign, 16);
    let value = o.or(value, sign);
    o.of_bits::<f32>(value)
}

/// [`Ops::float_to_half`] on the bits, for instances that have no instruction for it.
#[inline(always)]
pub fn float_to_half_by_bits<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f16> {
    let bits = o.bits::<f32>(x);
    let low = o.splat(f32::MAGNITUDE);
    let magnitude = o.and(bits, low);
    // Normal: rebias, add just under half an ulp and the bit that makes ties even, drop 13 bits. A carry out
    // of the significand is the next exponent, and out of the last exponent it is infinity.
    let dropped = o.shr_const(magnitude, 13);
    let one = o.splat(1u32);
    let odd = o.and(dropped, one);
    let rebias = o.splat(0xfffu32.wrapping_sub(112 << 23));
    let normal = o.add(magnitude, rebias);
    let normal = o.add(normal, odd);
    let normal = o.shr_const(normal, 13);
    // Subnormal: adding 1/2 rounds at 2^−24, the unit of float16's subnormals, and leaves it in the low bits.
    let half = o.splat(0.5f32);
    let value = o.of_bits::<f32>(magnitude);
    let sum = o.add(value, half);
    let sum = o.bits::<f32>(sum);
    let half = o.bits::<f32>(half);
    let subnormal = o.sub(sum, half);
    let least_normal = o.splat(0x3880_0000u32);
    let small = o.cmp(Cmp::Lt, magnitude, least_normal);
    let rounded = o.select(small, subnormal, normal);
    let overflow = o.splat(0x477f_f000u32);
    let large = o.cmp(Cmp::Ge, magnitude, overflow);
    let infinity = o.splat(0x7c00u32);
    let rounded = o.select(large, infinity, rounded);
    let float_infinity = o.splat(<f32 as Real>::INFINITY);
    let nan = o.cmp(Cmp::Gt, magnitude, float_infinity);
    let quiet = o.splat(0x7e00u32);
    let rounded = o.select(nan, quiet, rounded);
    let sign = o.xor(bits, magnitude);
    let sign = o.shr_const(sign, 16);
    let rounded = o.or(rounded, sign);
    let rounded = o.int_resize::<u32, u16>(rounded);
    o.of_bits::<f16>(rounded)
}

/// `x` rounded once to float16, by way of [`to_odd`].
#[inline(always)]
pub(crate) fn narrow_f64<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f16> {
    let x = to_odd(o, x);
    narrow(o, x)
}

/// `x` in float32 with rounding to odd, from which a second rounding to float16 is as good as one
/// (24 ≥ 11 + 2 bits; Boldo and Melquiond, "When double rounding is odd", 2005).
#[inline(always)]
pub(crate) fn to_odd<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f32> {
    let nearest = o.float_resize::<f64, f32>(x);
    let back = o.float_resize::<f32, f64>(nearest);
    let nearest = o.bits::<f32>(nearest);
    let (magnitude_mask, one) = (o.splat(f64::MAGNITUDE), o.splat(1u32));
    let back_bits = o.bits::<f64>(back);
    let back_magnitude = o.and(back_bits, magnitude_mask);
    let bits = o.bits::<f64>(x);
    let magnitude = o.and(bits, magnitude_mask);
    let too_large = o.cmp(Cmp::Gt, back_magnitude, magnitude);
    let too_large = o.mask_resize::<u64, u32>(too_large);
    let below = o.sub(nearest, one);
    let toward_zero = o.select(too_large, below, nearest);
    // NaN compares unequal too: an odd NaN is a NaN.
    let inexact = o.cmp(Cmp::Ne, back, x);
    let inexact = o.mask_resize::<f64, u32>(inexact);
    let odd = o.or(toward_zero, one);
    let to_odd = o.select(inexact, odd, nearest);
    o.of_bits::<f32>(to_odd)
}
