//! asin, acos, atan and atan2 of float32: a multiple of π/4, plus or minus a series in an argument of at most 1/2. The multiple
//! and the leading term are added without loss, and what a quotient or a root has lost is carried along.

use crate::functions::coefficients::{ASIN_SINGLE, ATAN_SINGLE, HALF_PI_SINGLE};
use crate::functions::compare::magnitude;
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

const PI: f32 = 2.0 * HALF_PI_SINGLE[0];
const HALF_PI: f32 = HALF_PI_SINGLE[0];
const QUARTER_PI: f32 = 0.5 * HALF_PI_SINGLE[0];

/// What π/2 has beyond the nearest float32, over that float32; of multiples by powers of two it is the same part.
const HALF_PI_REST: f32 = HALF_PI_SINGLE[1] / HALF_PI_SINGLE[0];

/// Less the bits of a positive float32 these are the bits of its reciprocal, to an eighth of it. Numbers so rough do for
/// what is below half an ulp itself.
const RECIPROCAL: u32 = 0x7ef3_11c7;

/// `base` + `term` + `low`, where `base` is a multiple of π/4 by a power of two and above `term`, or 0.
#[inline(always)]
fn join<O: Ops>(o: &mut O, base: F<O>, term: F<O>, low: F<O>) -> F<O> {
    let sum = o.add::<f32>(base, term);
    let kept = o.sub::<f32>(base, sum);
    let lost = o.add::<f32>(kept, term);
    let rest = o.splat(HALF_PI_REST);
    let lost = o.fma::<f32>(base, rest, lost);
    let low = o.add::<f32>(low, lost);
    o.add::<f32>(sum, low)
}

/// The sign bit of `x` on the positive `y`.
#[inline(always)]
fn with_sign_of<O: Ops>(o: &mut O, x: F<O>, y: F<O>) -> F<O> {
    let mask = o.splat(1u32 << 31);
    let x = o.bits::<f32>(x);
    let sign = o.and::<u32>(x, mask);
    let y = o.bits::<f32>(y);
    let y = o.or::<u32>(y, sign);
    o.of_bits::<f32>(y)
}

/// The reciprocal of 9/8 as bits are scaled, which is about the slope of atan up to 1/2.
const SLOPE: u32 = 1_425_000;

/// The angle whose tangent is `small`/`large`, less π/4 where `turned` is set, as the sum of two float32; negative where
/// `sign` has its highest bit set. 0 ≤ `small` ≤ `large`, and where `turned` is set `small` is at least half of `large`.
#[inline(always)]
fn angle<O: Ops>(o: &mut O, small: F<O>, large: F<O>, turned: O::M<f32>, sign: O::V<u32>) -> (F<O>, F<O>) {
    // (small − large)/(small + large) is the tangent of the angle less π/4; the dividend is exact.
    let zero = o.splat(0.0f32);
    let part = o.select::<f32>(turned, large, zero);
    let more = o.select::<f32>(turned, small, zero);
    let above = o.sub::<f32>(small, part);
    let below = o.add::<f32>(large, more);
    let kept = o.sub::<f32>(large, below);
    let below_low = o.add::<f32>(kept, more);
    let above = o.bits::<f32>(above);
    let above = o.xor::<u32>(above, sign);
    let above = o.of_bits::<f32>(above);
    let t = o.div::<f32>(above, below);
    // The remainder over the divisor, times the slope.
    let minus = o.neg::<f32>(t);
    let rest = o.fma::<f32>(minus, below, above);
    let rest = o.fma::<f32>(minus, below_low, rest);
    let reciprocal = o.splat(RECIPROCAL - SLOPE);
    let below = o.bits::<f32>(below);
    let reciprocal = o.sub::<u32>(reciprocal, below);
    let reciprocal = o.of_bits::<f32>(reciprocal);
    let z = o.mul::<f32>(t, t);
    let p = polynomial::<O, f32>(o, z, &ATAN_SINGLE);
    let cube = o.mul::<f32>(z, t);
    let rest = o.mul::<f32>(rest, reciprocal);
    (t, o.fma::<f32>(cube, p, rest))
}

/// Whether an angle with the tangent `small`/`large` is turned by π/4.
#[inline(always)]
fn is_turned<O: Ops>(o: &mut O, small: F<O>, large: F<O>) -> O::M<f32> {
    let half = o.splat(0.5f32);
    let limit = o.mul::<f32>(large, half);
    o.cmp::<f32>(Cmp::Gt, small, limit)
}

/// atan x
#[inline(always)]
pub(crate) fn atan<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    // Beyond this the result rounds to π/2; NaN stays.
    let most = o.splat((1u64 << 60) as f32);
    let above = o.cmp::<f32>(Cmp::Lt, most, a);
    let a = o.select::<f32>(above, most, a);
    // Above 1: π/2 less the angle of the reciprocal.
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
    with_sign_of(o, x, y)
}

/// The angle of the point (x2, x1)
#[inline(always)]
pub(crate) fn atan2<O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let (a1, a2) = (magnitude::<O, f32>(o, x1), magnitude::<O, f32>(o, x2));
    let (a1, a2) = (o.of_bits::<f32>(a1), o.of_bits::<f32>(a2));
    let swapped = o.cmp::<f32>(Cmp::Gt, a1, a2);
    let small = o.select::<f32>(swapped, a2, a1);
    let large = o.select::<f32>(swapped, a1, a2);
    // One infinity is on an axis, two are on a diagonal.
    let (zero, most) = (o.splat(0.0f32), o.splat(f32::MAX));
    let apart = o.sub::<f32>(large, small);
    let axis = o.cmp::<f32>(Cmp::Lt, most, apart);
    let above = o.cmp::<f32>(Cmp::Lt, most, small);
    let small = o.select::<f32>(above, most, small);
    let small = o.select::<f32>(axis, zero, small);
    let above = o.cmp::<f32>(Cmp::Lt, most, large);
    let large = o.select::<f32>(above, most, large);
    // Scaled so that sums stay finite, reciprocals normal, and the remainder of a quotient above underflow unless the quotient is
    // a subnormal number, which has none. Two zeros have the quotient 0.
    let limit = o.splat((1u64 << 30) as f32);
    let below = o.cmp::<f32>(Cmp::Lt, large, limit);
    let (up, down) = (o.splat((1u64 << 63) as f32), o.splat(0.0625f32));
    let factor = o.select::<f32>(below, up, down);
    let small = o.mul::<f32>(small, factor);
    let large = o.mul::<f32>(large, factor);
    let least = o.splat(f32::MIN_POSITIVE);
    let below = o.cmp::<f32>(Cmp::Lt, large, least);
    let large = o.select::<f32>(below, least, large);
    // The angle is taken from π/2 where the second coordinate is the small one, and all from π where that is negative.
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
    // 3π/4 is no float32.
    let quarter = o.splat(QUARTER_PI);
    let base = o.mul::<f32>(quarters, quarter);
    let minus = o.neg::<f32>(base);
    let lost = o.fma::<f32>(quarters, quarter, minus);
    let low = o.add::<f32>(low, lost);
    let y = join(o, base, t, low);
    with_sign_of(o, x1, y)
}
/// `base` + `factor`·asin s, where s is `a` up to 1/2, and √((1 − a)/2) above: s + s·z·P(z), z = s².
#[inline(always)]
fn arc_sine<O: Ops>(o: &mut O, a: F<O>, above_half: O::M<f32>, base: F<O>, factor: F<O>) -> F<O> {
    // Exact from 1/2 on.
    let (half, minus_half) = (o.splat(0.5f32), o.splat(-0.5f32));
    let complement = o.fma::<f32>(a, minus_half, half);
    let square = o.mul::<f32>(a, a);
    let z = o.select::<f32>(above_half, complement, square);
    let root = o.sqrt::<f32>(complement);
    let s = o.select::<f32>(above_half, root, a);
    // What the root has lost: its remainder over twice the root.
    let minus = o.neg::<f32>(root);
    let rest = o.fma::<f32>(minus, root, complement);
    let zero = o.splat(0.0f32);
    let rest = o.select::<f32>(above_half, rest, zero);
    let reciprocal = o.splat(RECIPROCAL - (1 << 23));
    let bits = o.bits::<f32>(root);
    let reciprocal = o.sub::<u32>(reciprocal, bits);
    let reciprocal = o.of_bits::<f32>(reciprocal);
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
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let half = o.splat(0.5f32);
    let above_half = o.cmp::<f32>(Cmp::Gt, a, half);
    let (zero, half_pi) = (o.splat(0.0f32), o.splat(HALF_PI));
    let base = o.select::<f32>(above_half, half_pi, zero);
    let (one, minus_two) = (o.splat(1.0f32), o.splat(-2.0f32));
    let factor = o.select::<f32>(above_half, minus_two, one);
    let y = arc_sine(o, a, above_half, base, factor);
    with_sign_of(o, x, y)
}

/// acos x
#[inline(always)]
pub(crate) fn acos<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let half = o.splat(0.5f32);
    let above_half = o.cmp::<f32>(Cmp::Gt, a, half);
    // Above 1/2: 2·asin s, below −1/2: π − 2·asin s, else π/2 − asin x.
    let zero = o.splat(0.0f32);
    let negative = o.cmp::<f32>(Cmp::Lt, x, zero);
    let (half_pi, pi) = (o.splat(HALF_PI), o.splat(PI));
    let far = o.select::<f32>(negative, pi, zero);
    let base = o.select::<f32>(above_half, far, half_pi);
    let (two, minus_one) = (o.splat(2.0f32), o.splat(-1.0f32));
    let factor = o.select::<f32>(above_half, two, minus_one);
    let x_bits = o.bits::<f32>(x);
    let sign = o.xor::<u32>(x_bits, bits);
    let factor = o.bits::<f32>(factor);
    let factor = o.xor::<u32>(factor, sign);
    let factor = o.of_bits::<f32>(factor);
    arc_sine(o, a, above_half, base, factor)
}
