//! sin and cos of float32, and the argument reduction that tan shares. Angles up to 2^17 are reduced with π/2 as a sum
//! of three float32; the few larger ones take the slow path.

use crate::functions::coefficients::{COS_SINGLE, HALF_PI_SINGLE, SIN_SINGLE, TWO_OVER_PI_SINGLE};
use crate::functions::compare::magnitude;
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops, Rare2};

/// 1.5 · 2^23. Adding it to a number of magnitude below 2^22 leaves the nearest integer in the low bits.
const INTEGER_MAGIC: f32 = 12_582_912.0;

/// Angles up to this bound are reduced in float32; for larger ones the function is computed in float64, lane
/// by lane.
///
/// Up to this bound, n is below 2^17. It is the integer nearest to x·2/π, with an error of 2^−8 from the
/// rounding of 2/π. So |r| is at most 0.7907, the range of the polynomials. The error of π/2 as three float32
/// contributes n·2^−76, below 2^−59, and no float32 in the range is closer to a multiple of π/2 than 2^−28.
const WIDEST: f32 = 131_072.0;

/// The sum of this number and the bits of infinity or NaN has its highest bit set.
const BEYOND_INFINITY: u32 = (1 << 31) - f32::INFINITY.to_bits();

/// A reduced angle. |x| is equal to (quadrant + 4k)·π/2 + hi + lo for an integer k, and |lo| is at most half
/// of hi's last place plus 2^−30.
pub(super) struct Angle<O: Ops> {
    x: F<O>,
    magnitude: O::V<u32>,
    pub(super) quadrant: O::V<u32>,
    pub(super) hi: F<O>,
    pub(super) lo: F<O>,
}

/// Reduces an angle of magnitude up to [`WIDEST`].
#[inline(always)]
pub(super) fn reduce<O: Ops>(o: &mut O, x: F<O>) -> Angle<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let magic = o.splat(INTEGER_MAGIC);
    let factor = o.splat(TWO_OVER_PI_SINGLE);
    let t = o.fma::<f32>(a, factor, magic);
    let quadrant = o.bits::<f32>(t);
    let n = o.sub::<f32>(t, magic);
    // `first` is exact: a multiple of 2^−24 below 1, or |x| itself. `kept` is exact as well, since `first` is a
    // multiple of `product`'s last place. So `lo` holds all of n·middle that `hi` does not.
    let [head, middle, tail] = HALF_PI_SINGLE.map(|part| o.splat(-part));
    let first = o.fma::<f32>(n, head, a);
    let product = o.mul::<f32>(n, middle);
    let hi = o.add::<f32>(first, product);
    let kept = o.sub::<f32>(first, hi);
    let lo = o.fma::<f32>(n, middle, kept);
    let lo = o.fma::<f32>(n, tail, lo);
    Angle { x, magnitude: bits, quadrant, hi, lo }
}

/// sin r and cos r of a reduced angle.
#[inline(always)]
fn sine_and_cosine<O: Ops>(o: &mut O, angle: &Angle<O>) -> (F<O>, F<O>) {
    let Angle { hi, lo, .. } = *angle;
    // cos r = (1 − r²/2, rounded) + (its rounding error + r⁴·C − hi·lo)
    let square = o.mul::<f32>(hi, hi);
    let fourth = o.mul::<f32>(square, square);
    let (one, half) = (o.splat(1.0f32), o.splat(-0.5f32));
    let half = o.mul::<f32>(hi, half);
    let slope = o.fma::<f32>(half, hi, one);
    let lost = o.sub::<f32>(one, slope);
    let rest = o.fma::<f32>(half, hi, lost);
    let p = polynomial::<O, f32>(o, square, &COS_SINGLE);
    let rest = o.fma::<f32>(fourth, p, rest);
    let minus = o.neg::<f32>(hi);
    let rest = o.fma::<f32>(minus, lo, rest);
    let cosine = o.add::<f32>(slope, rest);
    // sin r = hi + (hi³·S + lo·cos r).
    let p = polynomial::<O, f32>(o, square, &SIN_SINGLE);
    let cube = o.mul::<f32>(square, hi);
    let rest = o.mul::<f32>(lo, slope);
    let rest = o.fma::<f32>(cube, p, rest);
    let sine = o.add::<f32>(hi, rest);
    (sine, cosine)
}

/// Whether the quadrant is odd.
#[inline(always)]
pub(super) fn is_odd<O: Ops>(o: &mut O, quadrant: O::V<u32>) -> O::M<f32> {
    let one = o.splat(1u32);
    let low = o.and::<u32>(quadrant, one);
    let odd = o.cmp::<u32>(Cmp::Eq, low, one);
    o.mask_resize::<u32, f32>(odd)
}

/// Flips the sign of `y` where the highest bit of `sign` is set, and computes the function of large angles by the slow
/// path.
#[inline(always)]
pub(super) fn finish<W: Rare2<f32>, O: Ops>(o: &mut O, angle: &Angle<O>, y: F<O>, sign: O::V<u32>) -> F<O> {
    let mask = o.splat(1u32 << 31);
    let sign = o.and::<u32>(sign, mask);
    let y = o.bits::<f32>(y);
    let y = o.xor::<u32>(y, sign);
    let y = o.of_bits::<f32>(y);
    // Infinities and NaN, for which y is NaN already, become negative and do not take the slow path.
    let up = o.splat(BEYOND_INFINITY);
    let moved = o.add::<u32>(angle.magnitude, up);
    let moved = o.int_resize::<u32, i32>(moved);
    let widest = o.splat((WIDEST.to_bits() + BEYOND_INFINITY) as i32);
    let wide = o.cmp::<i32>(Cmp::Gt, moved, widest);
    let wide = o.mask_resize::<i32, f32>(wide);
    o.rare2::<W, f32>(wide, angle.x, angle.x, y)
}

/// sin x. `Wide` is the slow path, for angles that are too large for the reduction in float32.
#[inline(always)]
pub(crate) fn sin<Wide: Rare2<f32>, O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let angle = reduce(o, x);
    let (sine, cosine) = sine_and_cosine(o, &angle);
    let odd = is_odd(o, angle.quadrant);
    let y = o.select::<f32>(odd, cosine, sine);
    let sign = o.shl_const::<u32>(angle.quadrant, 30);
    let bits = o.bits::<f32>(x);
    let sign = o.xor::<u32>(sign, bits);
    finish::<Wide, O>(o, &angle, y, sign)
}

/// cos x. `Wide` is the slow path, for angles that are too large for the reduction in float32.
#[inline(always)]
pub(crate) fn cos<Wide: Rare2<f32>, O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let angle = reduce(o, x);
    let (sine, cosine) = sine_and_cosine(o, &angle);
    let odd = is_odd(o, angle.quadrant);
    let y = o.select::<f32>(odd, sine, cosine);
    // cos x has the sign that the sine has one quadrant further.
    let one = o.splat(1u32);
    let next = o.add::<u32>(angle.quadrant, one);
    let sign = o.shl_const::<u32>(next, 30);
    finish::<Wide, O>(o, &angle, y, sign)
}
