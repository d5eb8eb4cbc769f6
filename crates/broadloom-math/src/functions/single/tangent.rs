//! tan of float32, from the tangent of half the reduced angle. With w = 2·tan(r/2), tan r is w/(1 − w²/4); in odd
//! quadrants the result is the negative reciprocal. In either case it is one quotient, whose dividend and divisor are
//! sums of two float32.

use crate::functions::coefficients::TAN_SINGLE;
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::Float32;
use crate::functions::single::trigonometric::{finish, is_odd, reduce};
use crate::ops::{Ops, Rare2};

/// tan x. `Wide` is the slow path, for angles that are too large for the reduction in float32.
#[inline(always)]
pub(crate) fn tan<Wide: Rare2<f32>, O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let angle = reduce(o, x);
    let square = o.mul::<f32>(angle.hi, angle.hi);
    let p = polynomial::<O, f32>(o, square, &TAN_SINGLE);
    let cube = o.mul::<f32>(square, angle.hi);
    // The derivative of w with respect to r is 1 + w²/4, approximately 1 + 0.27·r².
    let slope = o.line(square, 0.27, 1.0);
    let rest = o.mul::<f32>(angle.lo, slope);
    let rest = o.fma::<f32>(cube, p, rest);
    let w = o.fast_two_sum(angle.hi, rest);
    // d = 1 − w²/4, whose difference from 1 is exact.
    let one = o.splat(1.0f32);
    let half = o.mul_c(w.hi, 0.5);
    let d = o.nfma(half, half, one);
    let kept = o.c_sub(1.0, d);
    let d_low = o.nfma(half, half, kept);
    let d_low = o.nfma(half, w.lo, d_low);
    let odd = is_odd(o, angle.quadrant);
    let above = o.select::<f32>(odd, d, w.hi);
    let below = o.select::<f32>(odd, w.hi, d);
    let above_low = o.select::<f32>(odd, d_low, w.lo);
    let below_low = o.select::<f32>(odd, w.lo, d_low);
    let inverse = o.div::<f32>(one, below);
    let q = o.mul::<f32>(above, inverse);
    let rest = o.nfma(q, below, above);
    let rest = o.add::<f32>(rest, above_low);
    let rest = o.nfma(q, below_low, rest);
    let y = o.fma::<f32>(rest, inverse, q);
    let sign = o.shl_const::<u32>(angle.quadrant, 31);
    let bits = o.bits::<f32>(x);
    let sign = o.xor::<u32>(sign, bits);
    finish::<Wide, O>(o, &angle, y, sign)
}
