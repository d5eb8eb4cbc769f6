//! asin, acos, atan and atan2, in float64 (`single` has the versions for float32). A result is a multiple of π/4, as a
//! sum of two doubles, plus or minus a series in an argument of at most tan(π/8) (atan) or 1/2 (asin); so only small
//! terms are rounded before the last addition.

use crate::functions::coefficients::{ASIN_FULL, ASIN_SHORT, ATAN_FULL, ATAN_SHORT, HALF_PI};
use crate::functions::float64::{Float64, Precision, Sum, through_float64};
use crate::functions::near_coefficients::{ASIN_NEAR, ATAN_NEAR};
use crate::functions::{function, single};
use crate::ops::{Cmp, Ops};

function! {
    /// The angle whose cosine is x, from 0 to π
    Acos
    /// The angle whose sine is x, from −π/2 to π/2
    Asin
    /// The angle whose tangent is x, from −π/2 to π/2
    Atan
    /// The angle of the point (x2, x1), from −π to π
    Atan2
}

through_float64!(unary_with_single Acos acos single::acos; Asin asin single::asin; Atan atan single::atan;);
through_float64!(binary_with_single Atan2 atan2 single::atan2;);

/// asin s as s + s·z·P(z) with z = s². For |x| up to 1/2, s is |x|; above, it is √((1 − |x|)/2), and asin |x| is π/2
/// minus twice the result.
struct ArcSine<O: Ops> {
    above_half: O::M<f64>,
    s: Sum<O>,
    /// s·z·P(z)
    rest: O::V<f64>,
}

#[inline(always)]
fn arc_sine<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>) -> ArcSine<O> {
    let above_half = o.is(a, Cmp::Gt, 0.5);
    let half = o.constant(0.5);
    // The complement (1 − a)/2 is exact for a ≥ 1/2.
    let complement = o.fma_c(a, -0.5, half);
    let square = o.mul::<f64>(a, a);
    let z = o.select::<f64>(above_half, complement, square);
    let root = o.sqrt::<f64>(complement);
    let hi = o.select::<f64>(above_half, root, a);
    let p = o.polynomial(z, P::pick(&ASIN_FULL, &ASIN_NEAR, &ASIN_SHORT));
    let p = o.mul::<f64>(z, p);
    let rest = o.mul::<f64>(hi, p);
    if !P::FULL {
        return ArcSine { above_half, s: o.just(hi), rest };
    }
    let lost = o.nfma(root, root, complement);
    let double = o.add::<f64>(root, root);
    let double = o.add_c(double, 1e-300);
    let lo = o.div::<f64>(lost, double);
    let zero = o.constant(0.0);
    let lo = o.select::<f64>(above_half, lo, zero);
    ArcSine { above_half, s: Sum { hi, lo }, rest }
}

#[inline(always)]
pub(crate) fn asin<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let part = arc_sine::<O, P>(o, a);
    let small = o.add::<f64>(part.s.hi, part.rest);
    let lo = if P::FULL { o.add::<f64>(part.s.lo, part.rest) } else { part.rest };
    let twice = o.mul_c(part.s.hi, -2.0);
    let base = o.constant(HALF_PI[0]);
    let large = if P::FULL {
        let sum = o.fast_two_sum(base, twice);
        let tail = o.add_c(sum.lo, HALF_PI[1]);
        let tail = o.fma_c(lo, -2.0, tail);
        o.add::<f64>(sum.hi, tail)
    } else {
        let sum = o.add::<f64>(base, twice);
        o.fma_c(lo, -2.0, sum)
    };
    let y = o.select::<f64>(part.above_half, large, small);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[inline(always)]
pub(crate) fn acos<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let part = arc_sine::<O, P>(o, a);
    let sign = o.sign_of(x);
    let zero = o.constant(0.0);
    let negative = o.is(x, Cmp::Lt, 0.0);
    // `part` is asin s. acos x is 2·`part` for x > 1/2, π − 2·`part` for x < −1/2, and otherwise π/2 minus
    // `part` with the sign of x.
    let pi = o.constant(2.0 * HALF_PI[0]);
    let far = o.select::<f64>(negative, pi, zero);
    let half_pi = o.constant(HALF_PI[0]);
    let base = o.select::<f64>(part.above_half, far, half_pi);
    let minus_one = o.constant(-1.0);
    let factor = o.put(part.above_half, 2.0, minus_one);
    let factor = o.flip(factor, sign);
    let term = o.mul::<f64>(part.s.hi, factor);
    if !P::FULL {
        let sum = o.add::<f64>(base, term);
        return o.fma::<f64>(part.rest, factor, sum);
    }
    let sum = o.fast_two_sum(base, term);
    let lo = o.add::<f64>(part.s.lo, part.rest);
    // The base is 0, π/2 or π, and has the same ratio to its low part as π/2.
    let tail = o.fma_c(base, HALF_PI[1] / HALF_PI[0], sum.lo);
    let tail = o.fma::<f64>(lo, factor, tail);
    o.add::<f64>(sum.hi, tail)
}

/// The tangent above which π/4 is subtracted from the angle: tan(π/8).
const TURN: f64 = 0.414_213_562_373_095_03;

/// The angle, from 0 to π, of a point whose coordinates have the magnitudes `small` ≤ `large`.
///
/// `swapped` is set where the abscissa is the smaller coordinate, so that the angle is between π/4 and 3π/4; `opposite`
/// is set where the abscissa is negative. The result is a multiple of π/4 plus or minus atan(t), |t| ≤ tan(π/8).
#[inline(always)]
fn angle<O: Ops, P: Precision>(
    o: &mut O,
    small: O::V<f64>,
    large: O::V<f64>,
    swapped: O::M<f64>,
    opposite: Option<O::M<f64>>,
) -> O::V<f64> {
    let limit = o.mul_c(large, TURN);
    let turned = o.cmp::<f64>(Cmp::Gt, small, limit);
    let zero = o.constant(0.0);
    // (small − large)/(small + large) is the tangent of the angle minus π/4.
    let back = o.neg::<f64>(large);
    let part = o.select::<f64>(turned, back, zero);
    let more = o.select::<f64>(turned, small, zero);
    let t: Sum<O> = if P::FULL {
        let above = o.fast_two_sum(part, small);
        let below = o.fast_two_sum(large, more);
        match opposite {
            None => o.sum_div(above, below),
            Some(_) => {
                // The high part of the quotient comes from a separate division, which rounds correctly: if
                // the quotient is subnormal, no low part can correct it.
                let hi = o.div::<f64>(above.hi, below.hi);
                let one = o.constant(1.0);
                let inverse = o.div::<f64>(one, below.hi);
                let rest = o.nfma(hi, below.hi, above.hi);
                let rest = o.add::<f64>(rest, above.lo);
                let rest = o.nfma(hi, below.lo, rest);
                let lo = o.mul::<f64>(rest, inverse);
                Sum { hi, lo }
            }
        }
    } else {
        let above = o.add::<f64>(small, part);
        let below = o.add::<f64>(large, more);
        let hi = o.div::<f64>(above, below);
        o.just(hi)
    };
    let z = o.mul::<f64>(t.hi, t.hi);
    let p = o.polynomial(z, P::pick(&ATAN_FULL, &ATAN_NEAR, &ATAN_SHORT));
    let p = o.mul::<f64>(z, p);
    // The angle is a multiple of π/4 plus or minus atan(t); the multiple is called quarters here. `turned`
    // adds 1 to quarters, then `swapped` replaces it by 2 − quarters, and then `opposite` replaces it by 4 −
    // quarters.
    let quarters = o.put(turned, 1.0, zero);
    let from = o.c_sub(2.0, quarters);
    let mut quarters = o.select::<f64>(swapped, from, quarters);
    let (plus, minus) = (o.splat(0u64), o.splat(1u64 << 63));
    let swapped_bits = o.mask_resize::<f64, u64>(swapped);
    let mut sign = o.select::<u64>(swapped_bits, minus, plus);
    if let Some(opposite) = opposite {
        let from = o.c_sub(4.0, quarters);
        quarters = o.select::<f64>(opposite, from, quarters);
        let opposite_bits = o.mask_resize::<f64, u64>(opposite);
        let flipped = o.xor::<u64>(sign, minus);
        sign = o.select::<u64>(opposite_bits, flipped, sign);
    }
    let hi = o.flip(t.hi, sign);
    if !P::FULL {
        let base = o.fma_c(quarters, HALF_PI[0] / 2.0, hi);
        return o.fma::<f64>(hi, p, base);
    }
    let quarter = o.constant(HALF_PI[0] / 2.0);
    let base = o.two_product(quarters, quarter);
    let sum = o.fast_two_sum(base.hi, hi);
    let lo = o.flip(t.lo, sign);
    let lo = o.fma::<f64>(hi, p, lo);
    let tail = o.add::<f64>(sum.lo, base.lo);
    let tail = o.fma_c(quarters, HALF_PI[1] / 2.0, tail);
    let lo = o.add::<f64>(lo, tail);
    o.add::<f64>(sum.hi, lo)
}

#[inline(always)]
pub(crate) fn atan<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    // From 2^60 on the result rounds to π/2, so larger arguments are clamped.
    let a = o.at_most(a, (1u64 << 60) as f64);
    let one = o.constant(1.0);
    let swapped = o.is(a, Cmp::Gt, 1.0);
    let small = o.select::<f64>(swapped, one, a);
    let large = o.select::<f64>(swapped, a, one);
    let y = angle::<O, P>(o, small, large, swapped, None);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[inline(always)]
fn atan2<O: Ops, P: Precision>(o: &mut O, x1: O::V<f64>, x2: O::V<f64>) -> O::V<f64> {
    let (a1, a2) = (o.abs(x1), o.abs(x2));
    let swapped = o.cmp::<f64>(Cmp::Gt, a1, a2);
    let small = o.select::<f64>(swapped, a2, a1);
    let large = o.select::<f64>(swapped, a1, a2);
    // If both operands are infinite, they are treated as a point on the diagonal; if one is, as a point on an axis. Two
    // zeros are treated as a point on an axis.
    let infinite = o.is(large, Cmp::Eq, f64::INFINITY);
    let diagonal = o.is(small, Cmp::Eq, f64::INFINITY);
    let zero = o.constant(0.0);
    let one = o.constant(1.0);
    let axis = o.put(diagonal, 1.0, zero);
    let small = o.select::<f64>(infinite, axis, small);
    let none = o.is(large, Cmp::Eq, 0.0);
    let axis = o.mask_or::<f64>(infinite, none);
    let large = o.select::<f64>(axis, one, large);
    let (small, large) = if P::FULL {
        // The operands are scaled, so that their sum is finite, and the remainder of any nonzero quotient
        // does not underflow.
        let huge = o.is(large, Cmp::Gt, 1e300);
        let tiny = o.is(large, Cmp::Lt, 1e100);
        let factor = o.put(tiny, f64::from_bits((1023 + 600) << 52), one);
        let factor = o.put(huge, f64::from_bits((1023 - 4) << 52), factor);
        (o.mul::<f64>(small, factor), o.mul::<f64>(large, factor))
    } else {
        (small, large)
    };
    let negative = o.bits::<f64>(x2);
    let minus = o.splat(1u64 << 63);
    let negative = o.and::<u64>(negative, minus);
    let negative = o.cmp::<u64>(Cmp::Eq, negative, minus);
    let negative = o.mask_resize::<u64, f64>(negative);
    let y = angle::<O, P>(o, small, large, swapped, Some(negative));
    let sign = o.sign_of(x1);
    let y = o.flip(y, sign);
    let nan = o.add::<f64>(a1, a2);
    let is_nan = o.cmp::<f64>(Cmp::Ne, nan, nan);
    o.select::<f64>(is_nan, nan, y)
}
