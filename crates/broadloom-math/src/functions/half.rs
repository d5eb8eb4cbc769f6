//! float16 ↔ float32: the two primitives, and their definition by integer arithmetic over the others.
//!
//! The conversions are exact for subnormals, infinities and NaNs (a NaN stays one, its sign kept); back to float16 they
//! round once to nearest even.
//! Source: the magic-number conversions described by F. Giesen, "Half to float done quick" (2012).

use crate::dtype::{Elem, Real, f16};
use crate::ops::{CastTo, Cmp, Ops};

/// The way in which loops over float16 run a function, where the target converts several elements at a time. Every function of float16
/// declares it, so that none falls to a slow loop unnoticed: a path of the table [`half_path`].
pub trait HalfPath {
    /// One of [`half_path`].
    type Path;
}

/// The paths of [`HalfPath`].
pub mod half_path {
    /// A few primitives between the conversions ([`HalfUnary`](super::HalfUnary), [`HalfBinary`](super::HalfBinary),
    /// [`HalfTernary`](super::HalfTernary)): computed a vector at a time, widened and narrowed in registers.
    #[derive(Clone, Copy, Debug)]
    pub enum Short {}
    /// A path through float32 whose result is bool, and is not narrowed.
    #[derive(Clone, Copy, Debug)]
    pub enum Comparison {}
    /// Many primitives between the conversions: computed over parts of a tile, which are float32 in the L1 cache.
    #[derive(Clone, Copy, Debug)]
    pub enum Long {}
    /// No conversions: the function acts on the bits or rounds by itself, its loops are written by hand, or it takes no
    /// float16.
    #[derive(Clone, Copy, Debug)]
    pub enum Own {}
}

/// The part of a function of float16 between conversions: from its widened operand to its result before the rounding.
/// Where a target converts by itself, its loops call this and leave the conversions to it.
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

/// A function of three float16 operands between conversions, as [`HalfUnary`].
pub trait HalfTernary {
    /// The float32 that, rounded to float16, is the result.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>, x3: O::V<f32>) -> O::V<f32>;
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
