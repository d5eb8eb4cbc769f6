//! float16 ↔ float32: the two primitives, and their definition by integer arithmetic over the others.
//!
//! The conversions are exact for subnormals, infinities and NaNs (a NaN stays one, its sign kept); back to float16 they
//! round once to nearest even.
//! Source: the magic-number conversions described by F. Giesen, "Half to float done quick" (2012).

use crate::dtype::{Elem, Real, f16};
use crate::ops::{CastTo, Cmp, Ops};

/// Declares how loops over float16 run a function on targets that convert several elements at once. Every function of float16
/// declares one of the paths in [`half_path`], so that no function gets a slow loop unnoticed.
pub trait HalfPath {
    /// The declared path, from [`half_path`].
    type Path;
}

/// The paths of [`HalfPath`].
pub mod half_path {
    /// For functions with few primitives between the conversions ([`HalfUnary`](super::HalfUnary),
    /// [`HalfBinary`](super::HalfBinary), [`HalfTernary`](super::HalfTernary)): they are computed a vector at a time, and widened
    /// and narrowed in registers.
    #[derive(Clone, Copy, Debug)]
    pub enum Short {}
    /// For functions through float32 whose result is a bool, which is not narrowed.
    #[derive(Clone, Copy, Debug)]
    pub enum Comparison {}
    /// For functions with many primitives between the conversions: they are computed over chunks of a tile, which are float32 in
    /// the L1 cache.
    #[derive(Clone, Copy, Debug)]
    pub enum Long {}
    /// For functions without conversions: the function acts on the bits, rounds by itself, or takes no float16. Its loops are
    /// written by hand.
    #[derive(Clone, Copy, Debug)]
    pub enum Own {}
}

/// The part of a float16 function between the conversions: from its widened operand to its result before rounding. Loops on
/// targets that convert by instructions call it and do the conversions themselves.
pub trait HalfUnary {
    /// The float32 that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32>;
}

/// The part of a float16 function of two operands between the conversions, as in [`HalfUnary`].
pub trait HalfBinary {
    /// The type of the result: float32, which is rounded to float16, or bool.
    type Wide: Elem;
    /// The bool result, or the float32 that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<Self::Wide>;
}

/// The part of a float16 function of three operands between the conversions, as in [`HalfUnary`].
pub trait HalfTernary {
    /// The float32 that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>, x3: O::V<f32>) -> O::V<f32>;
}

/// A conversion to float16 without its last step.
pub trait IntoHalf: CastTo<f16> {
    /// The float32 that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x: O::V<Self>) -> O::V<f32>;
}

/// The float32 with the value of `x`.
#[inline(always)]
pub(crate) fn widen<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f32> {
    o.half_to_float(x)
}

/// `x` rounded to float16.
#[inline(always)]
pub(crate) fn narrow<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f16> {
    o.float_to_half(x)
}

/// `x` rounded once to float16, through [`to_odd`].
#[inline(always)]
pub(crate) fn narrow_f64<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f16> {
    let x = to_odd(o, x);
    narrow(o, x)
}

/// `x` rounded to odd in float32. A second rounding to float16 then gives the correctly rounded result (24 ≥ 11 + 2 bits; Boldo
/// and Melquiond, "When double rounding is odd", 2005).
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
    // NaN compares unequal too; making its bits odd leaves it a NaN.
    let inexact = o.cmp(Cmp::Ne, back, x);
    let inexact = o.mask_resize::<f64, u32>(inexact);
    let odd = o.or(toward_zero, one);
    let to_odd = o.select(inexact, odd, nearest);
    o.of_bits::<f32>(to_odd)
}
