//! exp, exp2 and expm1 of float32: n·ln 2 is subtracted from the argument exactly, and the leading terms of the
//! remainder's exponential are summed together with the rounding error of their sum. The module `exponential` names the
//! source of the reduction.

use crate::functions::coefficients::{EXP_SINGLE, EXP2_SINGLE, EXPM1_SINGLE, LN2_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::Float32;
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23 plus twice the exponent bias: the sum of an integer n and this number has n + 254 in its low bits.
const MAGIC: f32 = 12_582_912.0 + 254.0;

/// e^x
#[inline(always)]
pub(crate) fn exp<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // Clamps x to bounds beyond which the result is 0 or infinite. NaN is kept.
    let (least, most) = (o.splat(-104.0f32), o.splat(89.0f32));
    let above = o.cmp::<f32>(Cmp::Lt, most, x);
    let x = o.select::<f32>(above, most, x);
    let below = o.cmp::<f32>(Cmp::Lt, x, least);
    let x = o.select::<f32>(below, least, x);
    // x = n·ln 2 + r. The first difference is exact, since it is a multiple of 2^−25 below 1/2.
    let magic = o.splat(MAGIC);
    let factor = o.splat(LOG2_E_SINGLE[0]);
    let t = o.fma::<f32>(x, factor, magic);
    let n = o.sub::<f32>(t, magic);
    let head = o.splat(-LN2_SINGLE[0]);
    let tail = o.splat(-LN2_SINGLE[1]);
    let r = o.fma::<f32>(n, head, x);
    let r = o.fma::<f32>(n, tail, r);
    // e^r = 1 + r + r²·q. The rounding error of 1 + r is carried along, so that the result is monotonic in r.
    let q = polynomial::<O, f32>(o, r, &EXP_SINGLE);
    let square = o.mul::<f32>(r, r);
    let one = o.splat(1.0f32);
    let sum = o.fast_two_sum(one, r);
    let lo = o.fma::<f32>(square, q, sum.lo);
    let y = o.add::<f32>(sum.hi, lo);
    scale(o, y, t)
}

/// y·2^n for y near 1, where t is n + [`MAGIC`].
#[inline(always)]
fn scale<O: Ops>(o: &mut O, y: F<O>, t: F<O>) -> F<O> {
    // 2^n as a product of two factors, since it may not be a float32.
    let bits = o.bits::<f32>(t);
    let first = o.shr_const::<u32>(bits, 1);
    let second = o.sub::<u32>(bits, first);
    let first = o.shl_const::<u32>(first, 23);
    let second = o.shl_const::<u32>(second, 23);
    let (first, second) = (o.of_bits::<f32>(first), o.of_bits::<f32>(second));
    let y = o.mul::<f32>(y, first);
    o.mul::<f32>(y, second)
}

/// 2^x
#[inline(always)]
pub(crate) fn exp2<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // Clamps x to bounds beyond which the result is 0 or infinite. NaN is kept.
    let x = o.at_most(x, 129.0);
    let x = o.at_least(x, -151.0);
    let t = o.add_c(x, MAGIC);
    let n = o.add_c(t, -MAGIC);
    // The difference is exact. It is 0 for an integer x, whose power is therefore exact.
    let f = o.sub::<f32>(x, n);
    // 2^f = 1 + f·c + f²·q. The rounding error of 1 + f·c is carried along, so that the result is monotonic in f.
    let one = o.splat(1.0f32);
    let hi = o.fma_c(f, EXP2_SINGLE[0], one);
    let kept = o.sub::<f32>(one, hi);
    let lo = o.fma_c(f, EXP2_SINGLE[0], kept);
    let q = polynomial::<O, f32>(o, f, &EXP2_SINGLE[1..]);
    let square = o.mul::<f32>(f, f);
    let lo = o.fma::<f32>(square, q, lo);
    let y = o.add::<f32>(hi, lo);
    scale(o, y, t)
}

/// 1.5 · 2^23 plus the exponent bias minus 1: the sum of an integer n and this number has the exponent field of 2^(n−1)
/// in its low bits.
const HALVING_MAGIC: f32 = 12_582_912.0 + 126.0;

/// e^x − 1
#[inline(always)]
pub(crate) fn expm1<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // Below −18 the result rounds to −1.
    let held = o.at_most(x, 89.0);
    let held = o.at_least(held, -18.0);
    let magic = o.splat(HALVING_MAGIC);
    let t = o.fma_c(held, LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(t, magic);
    let r = o.fma_c(n, -LN2_SINGLE[0], held);
    let c = o.mul_c(n, -LN2_SINGLE[1]);
    let q = polynomial::<O, f32>(o, r, &EXPM1_SINGLE);
    let square = o.mul::<f32>(r, r);
    let more = o.fma::<f32>(c, r, c);
    let rest = o.fma::<f32>(square, q, more);
    // Computes half of the result, since 2^128 is not a float32: (2^(n−1) − 1/2) + 2^(n−1)·(r + rest).
    let power = o.power_of_two(t);
    let head = o.add_c(power, -0.5);
    let hi = o.fma::<f32>(power, r, head);
    let kept = o.sub::<f32>(head, hi);
    let whole = o.sub::<f32>(power, head);
    let lost = o.add_c(whole, -0.5);
    let kept = o.add::<f32>(kept, lost);
    let lo = o.fma::<f32>(power, r, kept);
    let lo = o.fma::<f32>(power, rest, lo);
    let half = o.add::<f32>(hi, lo);
    let y = o.add::<f32>(half, half);
    // Half of a subnormal may not be representable. For tiny x the result is x itself, including the sign of a zero.
    let a = o.abs(x);
    let tiny = o.is(a, Cmp::Lt, TINY);
    o.select::<f32>(tiny, x, y)
}

/// For x below this magnitude, x plus a term of at most x² is equal to x in float32 precision.
const TINY: f32 = 1.0 / (1u64 << 40) as f32;
