//! logaddexp of float32: the greater operand and L = log(1 + t) with t = e^(lesser − greater), all of them carried as sums.
//!
//! Where the operand is below 0 the two may cancel: L is known to 2^−29 of itself, so that five bits can be lost. The few
//! lanes that lose more take the slow path.

use crate::functions::coefficients::{ATANH_SINGLE, EXPM1_SINGLE, LN2_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::functions::single::hyperbolic::EXPONENT_MAGIC;
use crate::ops::{Cmp, Ops, Rare2};

/// e^r = 1 + r + r²/2 + (r³/2)·P(r): twice the coefficients of e^r − 1 but for the first, which is 1/2.
const TWICE_EXP: [f32; 5] = {
    assert!(EXPM1_SINGLE[0] == 0.5);
    let mut all = [0.0; 5];
    let mut k = 0;
    while k < all.len() {
        all[k] = 2.0 * EXPM1_SINGLE[k + 1];
        k += 1;
    }
    all
};

/// Differences below this leave the greater operand as it is, but for an operand of next to nothing.
const FAR: f32 = -87.0;
/// Below this e^d is less than half the least float32.
const FARTHEST: f32 = -104.0;
/// Where e^d may be subnormal and counts.
const SMALL: f32 = f32::MIN_POSITIVE * (1u64 << 26) as f32;

/// e^d for a sum from [`FAR`] to 0.
#[inline(always)]
fn exp<O: Ops>(o: &mut O, d: Sum<O>) -> Sum<O> {
    let magic = o.splat(EXPONENT_MAGIC);
    let t = o.fma_c(d.hi, LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(t, magic);
    let power = o.power_of_two(t);
    let r = o.fma_c(n, -LN2_SINGLE[0], d.hi);
    let c = o.fma_c(n, -LN2_SINGLE[1], d.lo);
    // 1 + r + r²/2 exactly.
    let one = o.splat(1.0f32);
    let half = o.mul_c(r, 0.5);
    let half_square = o.mul::<f32>(half, r);
    let minus = o.neg::<f32>(half_square);
    let lost = o.fma::<f32>(half, r, minus);
    let first = o.fast_two_sum(one, r);
    let second = o.fast_two_sum(first.hi, half_square);
    let lo = o.add::<f32>(first.lo, second.lo);
    let lo = o.add::<f32>(lo, lost);
    let p = polynomial::<O, f32>(o, r, &TWICE_EXP);
    let cube = o.mul::<f32>(half_square, r);
    let lo = o.fma::<f32>(cube, p, lo);
    let lo = o.fma::<f32>(c, second.hi, lo);
    let t = o.fast_two_sum(second.hi, lo);
    Sum { hi: o.mul::<f32>(t.hi, power), lo: o.mul::<f32>(t.lo, power) }
}

/// log(1 + t) for a sum from 0 to 1. With 1 + t = 2^e·(1 + f) it is e·ln 2 + 2·artanh s, s = f/(2 + f).
#[inline(always)]
fn log1p<O: Ops>(o: &mut O, t: Sum<O>) -> Sum<O> {
    let upper = o.is(t.hi, Cmp::Gt, 0.414_213_57);
    let (zero, one, half) = (o.splat(0.0f32), o.splat(1.0f32), o.splat(0.5f32));
    let minus_half = o.splat(-0.5f32);
    let scale = o.select::<f32>(upper, half, one);
    let start = o.select::<f32>(upper, minus_half, zero);
    let (head, tail) = (o.splat(LN2_SINGLE[0]), o.splat(LN2_SINGLE[1]));
    let head = o.select::<f32>(upper, head, zero);
    let tail = o.select::<f32>(upper, tail, zero);
    let f = o.fma::<f32>(t.hi, scale, start);
    let kept = o.sub::<f32>(start, f);
    let low = o.fma::<f32>(t.hi, scale, kept);
    let low = o.fma::<f32>(t.lo, scale, low);
    // The quotient s, and what it leaves of f + low.
    let divisor = o.add_c(f, 2.0);
    let kept = o.c_sub(2.0, divisor);
    let lost = o.add::<f32>(kept, f);
    let lost = o.add::<f32>(lost, low);
    let inverse = o.div::<f32>(one, divisor);
    let s = o.mul::<f32>(f, inverse);
    let left = o.nfma(s, divisor, f);
    let left = o.add::<f32>(left, low);
    let left = o.nfma(s, lost, left);
    let s_low = o.mul::<f32>(left, inverse);
    // d(2·artanh s) = 2·(1 + s² + …)·ds
    let square = o.mul::<f32>(s, s);
    let s_low = o.fma::<f32>(s_low, square, s_low);
    let p = polynomial::<O, f32>(o, square, &ATANH_SINGLE);
    let cube = o.mul::<f32>(square, s);
    let double = o.add::<f32>(s, s);
    let y = o.fast_two_sum(head, double);
    let lo = o.add::<f32>(y.lo, tail);
    let lo = o.fma_c(s_low, 2.0, lo);
    let lo = o.fma::<f32>(cube, p, lo);
    Sum { hi: y.hi, lo }
}

/// log(e^x1 + e^x2); `Cancelling` computes it where the terms cancel.
#[inline(always)]
pub(crate) fn logaddexp<Cancelling: Rare2<f32>, O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let first = o.cmp::<f32>(Cmp::Ge, x1, x2);
    let m = o.select::<f32>(first, x1, x2);
    let k = o.select::<f32>(first, x2, x1);
    let minus_m = o.neg::<f32>(m);
    let d = o.two_sum(k, minus_m);
    let held = o.at_least(d.hi, FAR);
    let t = exp(o, Sum { hi: held, lo: d.lo });
    let l = log1p(o, t);
    let y = o.two_sum(m, l.hi);
    let lo = o.add::<f32>(y.lo, l.lo);
    let y = o.add::<f32>(y.hi, lo);
    // Farther ones, those of infinities, and NaN.
    let near = o.is(d.hi, Cmp::Gt, FAR);
    let sum = o.select::<f32>(near, y, m);
    let nan = o.cmp::<f32>(Cmp::Ne, k, k);
    let sum = o.select::<f32>(nan, k, sum);
    let a = o.abs(y);
    let least = o.mul_c(l.hi, 1.0 / 32.0);
    let least = o.at_least(least, SMALL);
    let cancels = o.cmp::<f32>(Cmp::Lt, a, least);
    let counts = o.is(d.hi, Cmp::Gt, FARTHEST);
    let flagged = o.mask_and::<f32>(cancels, counts);
    o.rare2::<Cancelling, f32>(flagged, m, k, sum)
}
