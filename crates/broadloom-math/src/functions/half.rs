//! Conversions between float16 and float32: the two primitives, and their definition by integer arithmetic.
//!
//! The conversions are exact for subnormals and infinities, and a NaN stays a NaN of the same sign; the conversion to
//! float16 rounds once to nearest even. Source: the magic-number conversions described by F. Giesen, "Half to float
//! done quick" (2012).

use crate::dtype::{Elem, Real, f16};
use crate::ops::{CastTo, Cmp, Ops};

/// Declares how loops over float16 run a function on targets that convert several elements at a time. Every function
/// has one of the types in [`half_path`], so that no function is run by a slow loop without anyone noticing.
pub trait HalfPath {
    /// The path, one of the types in [`half_path`].
    type Path;
}

/// The values of [`HalfPath::Path`].
pub mod half_path {
    /// The path of functions of a few primitives ([`HalfUnary`](super::HalfUnary),
    /// [`HalfBinary`](super::HalfBinary), [`HalfTernary`](super::HalfTernary)): they are computed one vector
    /// at a time, with the conversions in registers.
    #[derive(Clone, Copy, Debug)]
    pub enum Short {}
    /// The path of functions that compare in float32: the bool result needs no conversion back.
    #[derive(Clone, Copy, Debug)]
    pub enum Comparison {}
    /// The path of functions of many primitives: they are computed over sections of a tile, which are kept as
    /// float32 in the L1 cache.
    #[derive(Clone, Copy, Debug)]
    pub enum Long {}
    /// The path of functions that are not computed by converting to float32: they operate on the bits, round
    /// their own results, or have hand-written loops.
    #[derive(Clone, Copy, Debug)]
    pub enum Own {}
}

/// The part of a float16 function between its conversions: from the widened operand to the result before
/// rounding. Loops for targets with conversion instructions call this, and do the conversions themselves.
pub trait HalfUnary {
    /// The float32 value that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32>;
}

/// The part of a function of two float16 operands between its conversions, like [`HalfUnary`].
pub trait HalfBinary {
    /// The type of the value that `wide` returns: float32 if it is to be rounded to float16, or bool if it is
    /// the result.
    type Wide: Elem;
    /// The bool result, or the float32 value that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<Self::Wide>;
}

/// The part of a function of three float16 operands between its conversions, like [`HalfUnary`].
pub trait HalfTernary {
    /// The float32 value that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>, x3: O::V<f32>) -> O::V<f32>;
}

/// A conversion to float16, without its final rounding from float32.
pub trait IntoHalf: CastTo<f16> {
    /// The float32 value that is rounded to the float16 result.
    fn wide<O: Ops>(o: &mut O, x: O::V<Self>) -> O::V<f32>;
}

/// Converts `x` to float32, exactly.
#[inline(always)]
pub(crate) fn widen<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f32> {
    o.half_to_float(x)
}

/// Rounds `x` to float16.
#[inline(always)]
pub(crate) fn narrow<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f16> {
    o.float_to_half(x)
}

/// Rounds `x` to float16 once, by way of [`to_odd`].
#[inline(always)]
pub(crate) fn narrow_f64<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f16> {
    let x = to_odd(o, x);
    narrow(o, x)
}

/// Converts `x` to float32 with rounding to odd. Rounding that to float16 gives the same result as rounding `x`
/// directly (24 ≥ 11 + 2 bits; Boldo and Melquiond, "When double rounding is odd", 2005).
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
    // A NaN compares unequal as well, and setting its lowest bit leaves it a NaN.
    let inexact = o.cmp(Cmp::Ne, back, x);
    let inexact = o.mask_resize::<f64, u32>(inexact);
    let odd = o.or(toward_zero, one);
    let to_odd = o.select(inexact, odd, nearest);
    o.of_bits::<f32>(to_odd)
}
