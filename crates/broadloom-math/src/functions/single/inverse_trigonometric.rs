//! asin, acos, atan and atan2 of float32: a multiple of π/4, plus or minus a series in an argument of at most 1/2. The
//! multiple and the leading term are added without loss, and the rounding error of a quotient or a root is carried
//! along.

use crate::functions::coefficients::{ASIN_SINGLE, ATAN_SINGLE, HALF_PI_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::Float32;
use crate::ops::{Cmp, Ops};

const PI: f32 = 2.0 * HALF_PI_SINGLE[0];
const HALF_PI: f32 = HALF_PI_SINGLE[0];
const QUARTER_PI: f32 = 0.5 * HALF_PI_SINGLE[0];

/// (π/2 − p)/p, where p is the float32 nearest to π/2. A power of two times π/2 has the same ratio.
const HALF_PI_REST: f32 = HALF_PI_SINGLE[1] / HALF_PI_SINGLE[0];

/// `base` + `term` + `low`, where `base` is 0, or π/4 times a power of two and greater than `term`.
#[inline(always)]
fn join<O: Ops>(o: &mut O, base: F<O>, term: F<O>, low: F<O>) -> F<O> {
    let sum = o.fast_two_sum(base, term);
    let lost = o.fma_c(base, HALF_PI_REST, sum.lo);
    let low = o.add::<f32>(low, lost);
    o.add::<f32>(sum.hi, low)
}

/// An approximate slope of atan between 0 and 1/2, where it is between 4/5 and 1.
const SLOPE: f32 = 0.9150634;

/// The angle with the tangent `small`/`large`, minus π/4 where `turned` is set, as a sum of two float32. The
/// sum is negated where the highest bit of `sign` is set. Requires 0 ≤ `small` ≤ `large`, and `small` ≥
/// `large`/2 where `turned` is set.
#[inline(always)]
fn angle<O: Ops>(o: &mut O, small: F<O>, large: F<O>, turned: O::M<f32>, sign: O::V<u32>) -> (F<O>, F<O>) {
    // (small − large)/(small + large) is the tangent of the angle minus π/4; the dividend is exact.
    let zero = o.splat(0.0f32);
    let part = o.select::<f32>(turned, large, zero);
    let more = o.select::<f32>(turned, small, zero);
    let above = o.sub::<f32>(small, part);
    let below = o.fast_two_sum(large, more);
    let above = o.bits::<f32>(above);
    let above = o.xor::<u32>(above, sign);
    let above = o.of_bits::<f32>(above);
    let t = o.div::<f32>(above, below.hi);
    // The low part of the angle: the remainder divided by the divisor, times the slope.
    let rest = o.nfma(t, below.hi, above);
    let rest = o.nfma(t, below.lo, rest);
    let reciprocal = o.rough_reciprocal(below.hi, SLOPE);
    let z = o.mul::<f32>(t, t);
    let p = polynomial::<O, f32>(o, z, &ATAN_SINGLE);
    let cube = o.mul::<f32>(z, t);
    let rest = o.mul::<f32>(rest, reciprocal);
    (t, o.fma::<f32>(cube, p, rest))
}

/// Whether π/4 is subtracted from the angle with the tangent `small`/`large`.
#[inline(always)]
fn is_turned<O: Ops>(o: &mut O, small: F<O>, large: F<O>) -> O::M<f32> {
    let limit = o.mul_c(large, 0.5);
    o.cmp::<f32>(Cmp::Gt, small, limit)
}

/// atan x
#[inline(always)]
pub(crate) fn atan<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let x_sign = o.sign_of(x);
    let a = o.abs(x);
    // Above this bound the result rounds to π/2.
    let a = o.at_most(a, (1u64 << 60) as f32);
    // For a above 1, the result is π/2 minus the angle of the reciprocal.
    let one = o.splat(1.0f32);
    let swapped = o.cmp::<f32>(Cmp::Gt, a, one);
    let small = o.select::<f32>(swapped, one, a);
    let large = o.select::<f32>(swapped, a, one);
    let turned = is_turned(o, small, large);
    let swapped_bits = o.mask_resize::<f32, u32>(swapped);
    let (plus, minus) = (o.splat(0u32), o.splat(1u32 << 31));
    let sign = o.select::<u32>(swapped_bits, minus, plus);
    let (t, low) = angle(o, small, large, turned, sign);
    let (zero, quarter, half) = (o.splat(0.0f32), o.splat(QUARTER_PI), o.splat(HALF_PI));
    let base = o.select::<f32>(swapped, half, zero);
    let base = o.select::<f32>(turned, quarter, base);
    let y = join(o, base, t, low);
    o.with_sign(y, x_sign)
}

/// The angle of the point (x2, x1)
#[inline(always)]
pub(crate) fn atan2<O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let (a1, a2) = (o.abs(x1), o.abs(x2));
    let swapped = o.cmp::<f32>(Cmp::Gt, a1, a2);
    let small = o.select::<f32>(swapped, a2, a1);
    let large = o.select::<f32>(swapped, a1, a2);
    // If one operand is infinite, the operands are treated as a point on an axis; if both are, as a point on the
    // diagonal.
    let zero = o.splat(0.0f32);
    let apart = o.sub::<f32>(large, small);
    let axis = o.is(apart, Cmp::Gt, f32::MAX);
    let small = o.at_most(small, f32::MAX);
    let small = o.select::<f32>(axis, zero, small);
    let large = o.at_most(large, f32::MAX);
    // The operands are scaled, so that sums are finite and reciprocals are normal. The remainder of a
    // quotient then does not underflow, unless the quotient is subnormal, and then exact. Two zeros have the
    // quotient 0.
    let below = o.is(large, Cmp::Lt, (1u64 << 30) as f32);
    let (up, down) = (o.splat((1u64 << 63) as f32), o.splat(0.0625f32));
    let factor = o.select::<f32>(below, up, down);
    let small = o.mul::<f32>(small, factor);
    let large = o.mul::<f32>(large, factor);
    let large = o.at_least(large, f32::MIN_POSITIVE);
    // The angle is subtracted from π/2 where the abscissa x2 is the smaller coordinate, and then from π where x2 is
    // negative.
    let minus = o.splat(1u32 << 31);
    let bits = o.bits::<f32>(x2);
    let sign = o.and::<u32>(bits, minus);
    let signed = o.int_resize::<u32, i32>(bits);
    let none = o.splat(0i32);
    let negative = o.cmp::<i32>(Cmp::Lt, signed, none);
    let negative = o.mask_resize::<i32, f32>(negative);
    let turned = is_turned(o, small, large);
    let [one, two, three, four] = [1.0f32, 2.0, 3.0, 4.0].map(|k| o.splat(k));
    let quarters = o.select::<f32>(negative, four, zero);
    let quarters = o.select::<f32>(swapped, two, quarters);
    let odd = o.select::<f32>(negative, three, one);
    let quarters = o.select::<f32>(turned, odd, quarters);
    let flipped = o.xor::<u32>(sign, minus);
    let swapped = o.mask_resize::<f32, u32>(swapped);
    let sign = o.select::<u32>(swapped, flipped, sign);
    let (t, low) = angle(o, small, large, turned, sign);
    // 3π/4 is not a float32, so the base is a sum of two.
    let quarter = o.splat(QUARTER_PI);
    let base = o.two_product(quarters, quarter);
    let low = o.add::<f32>(low, base.lo);
    let y = join(o, base.hi, t, low);
    let sign = o.sign_of(x1);
    o.with_sign(y, sign)
}
/// `base` + `factor`·asin s, where s is `a` up to 1/2, and √((1 − a)/2) above; asin s is s + s·z·P(z) with z = s².
#[inline(always)]
fn arc_sine<O: Ops>(o: &mut O, a: F<O>, above_half: O::M<f32>, base: F<O>, factor: F<O>) -> F<O> {
    // The complement (1 − a)/2 is exact for a ≥ 1/2.
    let complement = o.line(a, -0.5, 0.5);
    let square = o.mul::<f32>(a, a);
    let z = o.select::<f32>(above_half, complement, square);
    let root = o.sqrt::<f32>(complement);
    let s = o.select::<f32>(above_half, root, a);
    // The rounding error of the root: its remainder divided by twice the root.
    let rest = o.nfma(root, root, complement);
    let zero = o.splat(0.0f32);
    let rest = o.select::<f32>(above_half, rest, zero);
    let reciprocal = o.rough_reciprocal(root, 0.5);
    let rest = o.mul::<f32>(rest, reciprocal);
    let p = polynomial::<O, f32>(o, z, &ASIN_SINGLE);
    let cube = o.mul::<f32>(z, s);
    let rest = o.fma::<f32>(cube, p, rest);
    let term = o.mul::<f32>(s, factor);
    let low = o.mul::<f32>(rest, factor);
    join(o, base, term, low)
}

/// asin x
#[inline(always)]
pub(crate) fn asin<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let above_half = o.is(a, Cmp::Gt, 0.5);
    let (zero, half_pi) = (o.splat(0.0f32), o.splat(HALF_PI));
    let base = o.select::<f32>(above_half, half_pi, zero);
    let (one, minus_two) = (o.splat(1.0f32), o.splat(-2.0f32));
    let factor = o.select::<f32>(above_half, minus_two, one);
    let y = arc_sine(o, a, above_half, base, factor);
    o.with_sign(y, sign)
}

/// acos x
#[inline(always)]
pub(crate) fn acos<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let above_half = o.is(a, Cmp::Gt, 0.5);
    // acos x is 2·asin s for x > 1/2, π − 2·asin s for x < −1/2, and π/2 − asin x otherwise.
    let zero = o.splat(0.0f32);
    let negative = o.is(x, Cmp::Lt, 0.0);
    let (half_pi, pi) = (o.splat(HALF_PI), o.splat(PI));
    let far = o.select::<f32>(negative, pi, zero);
    let base = o.select::<f32>(above_half, far, half_pi);
    let (two, minus_one) = (o.splat(2.0f32), o.splat(-1.0f32));
    let factor = o.select::<f32>(above_half, two, minus_one);
    let factor = o.bits::<f32>(factor);
    let factor = o.xor::<u32>(factor, sign);
    let factor = o.of_bits::<f32>(factor);
    arc_sine(o, a, above_half, base, factor)
}
