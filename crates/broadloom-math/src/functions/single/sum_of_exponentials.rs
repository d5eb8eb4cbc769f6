//! logaddexp of float32: the greater operand plus L = log(1 + t) with t = e^(lesser − greater), all carried as sums of
//! two float32.
//!
//! If the greater operand is negative, the two terms may cancel. L has a relative error of about 2^−27, so the result
//! is still accurate if two bits are lost. The few lanes that lose more take the slow path.

use crate::functions::coefficients::{ATANH_SINGLE, EXPM1_SINGLE, LN2_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::functions::single::hyperbolic::EXPONENT_MAGIC;
use crate::ops::{Cmp, Ops, Rare2};

// The term r²/2, which has this coefficient, is added exactly.
const _: () = assert!(EXPM1_SINGLE[0] == 0.5);

/// For differences below this, the result is the greater operand, unless the greater operand is close to 0.
const FAR: f32 = -87.0;
/// For differences d below this, e^d is less than half of the smallest float32.
const FARTHEST: f32 = -104.0;
/// Results of less than this magnitude take the slow path, since e^d may be subnormal there, and its rounding error
/// matters.
const SMALL: f32 = f32::MIN_POSITIVE * (1u64 << 26) as f32;

/// log(1 + e^d) for a sum d from [`FAR`] to 0.
///
/// With t = e^d and q = 0 or 1, 1 + t is 2^q·(1 + s)/(1 − s) for s = (t − q)/(t + 2 + q), and log(1 + t) is q·ln 2 +
/// 2·artanh s. q is 1 where t is above 1/√8, so that |s| is below 0.194.
#[inline(always)]
fn log1p_of_exp<O: Ops>(o: &mut O, d: Sum<O>) -> Sum<O> {
    let magic = o.splat(EXPONENT_MAGIC);
    let t = o.fma_c(d.hi, LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(t, magic);
    let power = o.power_of_two(t);
    let upper = o.is(t, Cmp::Ge, EXPONENT_MAGIC - 1.0);
    let (zero, one) = (o.splat(0.0f32), o.splat(1.0f32));
    let q = o.select::<f32>(upper, one, zero);
    // Uses e^(r + c) − 1 = r + rest.
    let r = o.fma_c(n, -LN2_SINGLE[0], d.hi);
    let c = o.fma_c(n, -LN2_SINGLE[1], d.lo);
    let square = o.mul::<f32>(r, r);
    let beyond = o.nfma(r, r, square);
    let p = polynomial::<O, f32>(o, r, &EXPM1_SINGLE[1..]);
    let cube = o.mul::<f32>(square, r);
    let slope = o.fma_c(square, 0.5, r);
    let more = o.fma::<f32>(c, slope, c);
    let more = o.fma_c(beyond, -0.5, more);
    let more = o.fma::<f32>(cube, p, more);
    let rest = o.fma_c(square, 0.5, more);
    // The numerator t − q and the divisor t + 2 + q, each with its rounding error. The rounding error of the
    // divisor is exact, since q + q + 2 is a multiple of the sum's last place.
    let head = o.sub::<f32>(power, q);
    let hi = o.fma::<f32>(power, r, head);
    let kept = o.sub::<f32>(head, hi);
    let lo = o.fma::<f32>(power, r, kept);
    let lo = o.fma::<f32>(power, rest, lo);
    let numerator = o.fast_two_sum(hi, lo);
    let beside = o.line(q, 2.0, 2.0);
    let divisor = o.add::<f32>(numerator.hi, beside);
    let kept = o.sub::<f32>(beside, divisor);
    let lost = o.add::<f32>(kept, numerator.hi);
    let lost = o.add::<f32>(lost, numerator.lo);
    // The quotient s, and its low part from the remainder that s leaves.
    let inverse = o.div::<f32>(one, divisor);
    let s = o.mul::<f32>(numerator.hi, inverse);
    let left = o.nfma(s, divisor, numerator.hi);
    let left = o.add::<f32>(left, numerator.lo);
    let left = o.nfma(s, lost, left);
    let s_low = o.mul::<f32>(left, inverse);
    // The derivative of 2·artanh s is 2·(1 + s² + …).
    let square = o.mul::<f32>(s, s);
    let s_low = o.fma::<f32>(s_low, square, s_low);
    let p = polynomial::<O, f32>(o, square, &ATANH_SINGLE);
    let cube = o.mul::<f32>(square, s);
    let double = o.add::<f32>(s, s);
    let hi = o.fma_c(q, LN2_SINGLE[0], double);
    let kept = o.fma_c(q, -LN2_SINGLE[0], hi);
    let lo = o.sub::<f32>(double, kept);
    let lo = o.fma_c(q, LN2_SINGLE[1], lo);
    let lo = o.fma_c(s_low, 2.0, lo);
    let lo = o.fma::<f32>(cube, p, lo);
    Sum { hi, lo }
}

/// log(e^x1 + e^x2). `Cancelling` is the slow path, for lanes whose terms cancel.
#[inline(always)]
pub(crate) fn logaddexp<Cancelling: Rare2<f32>, O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let less = o.cmp::<f32>(Cmp::Lt, x1, x2);
    let m = o.select::<f32>(less, x2, x1);
    let k = o.select::<f32>(less, x1, x2);
    // `lost` is the exact rounding error of the difference unless |m| > |k|, where it hardly matters.
    let difference = o.sub::<f32>(k, m);
    let kept = o.sub::<f32>(k, difference);
    let lost = o.sub::<f32>(kept, m);
    let held = o.at_least(difference, FAR);
    let l = log1p_of_exp(o, Sum { hi: held, lo: lost });
    let y = o.two_sum(m, l.hi);
    let lo = o.add::<f32>(y.lo, l.lo);
    let y = o.add::<f32>(y.hi, lo);
    // For larger differences and infinities the result is m, and for NaN it is NaN. Adding 0.0 turns −0 into +0, since
    // log 1 is +0.
    let near = o.is(difference, Cmp::Gt, FAR);
    let alone = o.add_c(m, 0.0);
    let sum = o.select::<f32>(near, y, alone);
    let nan = o.cmp::<f32>(Cmp::Ne, k, k);
    let sum = o.select::<f32>(nan, k, sum);
    let a = o.abs(y);
    let least = o.mul_c(l.hi, 1.0 / 4.0);
    let least = o.at_least(least, SMALL);
    let cancels = o.cmp::<f32>(Cmp::Lt, a, least);
    let counts = o.is(difference, Cmp::Gt, FARTHEST);
    let flagged = o.mask_and::<f32>(cancels, counts);
    o.rare2::<Cancelling, f32>(flagged, m, k, sum)
}
