//! pow of float64: the exponential of y·log x, with the logarithm as a sum of two doubles, whose relative error is
//! about 2^−67, and 2^−64 at worst.
//!
//! With x = 2^e·(1 + f) and s = f/(2 + f), rounded, log x is e·ln 2 + s·(2 + 2/3·s² + s⁴·Q(s²)) plus a correction for
//! the rounding of s. The bracket and its product with s are sums of two doubles, in which Q is a term below 2^−11;
//! there is only one division. The series is that of W. J. Cody and W. Waite (1980).
//!
//! In the power, the error of the logarithm is multiplied by |y·log x|, which is at most 710. The error is largest next
//! to √2 (and √½), where s² = 0.0294 and the logarithm is 0.3466. In units of 2^−53, the roundings of Q (0.27), of s²·Q
//! (0.0078) and of s⁴·Q (2^−12) cause an error of 0.00069 in the bracket, which is 0.00012 in the product with s. The
//! addition of that product (2^−15) and the remainder of s, whose slope is accurate to s⁶, bring it to 0.00017, a
//! relative error of 2^−64. Times 710 this is 0.35 ulp of a power just below overflow, in addition to the half ulp of
//! the last rounding; for a power next to 2^n/√2 it is 0.25 ulp, and 0.21 ulp come from the exponential. Below
//! underflow, where two roundings cost 0.75 ulp, half of it is added. The total error stays below one ulp.

use crate::functions::coefficients::{ATANH_REST_FULL, EXP_FULL, LN2, LN2_DD, LOG2_E, TWO_THIRDS};
use crate::functions::float64::{Float64, MAGIC, Sum};
use crate::functions::logarithm::exponent_and_significand;
use crate::functions::power::special::{self, Exceptional, Power};
use crate::host::Scalar;
use crate::ops::{Cmp, Ops};

/// log(2^e · m) for √½ ≤ m < √2, as a sum.
#[inline(always)]
fn log<O: Ops>(o: &mut O, e: O::V<f64>, m: O::V<f64>) -> Sum<O> {
    let f = o.add_c(m, -1.0);
    let d = o.add_c(m, 1.0);
    let head = o.mul_c(e, LN2[0]);
    let l = precise_log(o, f, d, None, head, |o, lo| o.fma_c(e, LN2[1] + LN2[2], lo));
    o.fast_two_sum(l.hi, l.lo)
}

/// `head` + `tail` + log(1 + f + low), with a relative error of about 2^−66, and 2^−64 at worst. The result
/// is a sum whose low part is below 2^−12 of the high part. `d` is 2 + f, and `low` is below
/// half an ulp of 1. `head` is 0 or a multiple of ln 2, cut off so that it has trailing zeros; `tail` is the
/// part that was cut off.
#[inline(always)]
pub(crate) fn precise_log<O: Ops>(
    o: &mut O,
    f: O::V<f64>,
    d: O::V<f64>,
    low: Option<O::V<f64>>,
    head: O::V<f64>,
    tail: impl FnOnce(&mut O, O::V<f64>) -> O::V<f64>,
) -> Sum<O> {
    let one = o.constant(1.0);
    let inverse = o.div::<f64>(one, d);
    let s = o.mul::<f64>(f, inverse);
    // The remainder f + low − s·(2 + f + low); its first difference is exact.
    let rest = o.fma_c(s, -2.0, f);
    let mut rest = o.nfma(s, f, rest);
    if let Some(low) = low {
        let more = o.nfma(s, low, low);
        rest = o.add::<f64>(rest, more);
    }
    // Computes u = 2 + 2/3·z + z²·Q(z), where z = s².
    let z = o.two_product(s, s);
    // The last steps of Q are separate and round once each: the three roundings in `polynomial` would triple the error.
    let q = o.polynomial(z.hi, &ATANH_REST_FULL[1..]);
    let q = o.fma_to_c(z.hi, q, ATANH_REST_FULL[0]);
    let q = o.fma_to_c(z.hi, q, TWO_THIRDS[1]);
    let (two, two_thirds) = (o.constant(2.0), o.constant(TWO_THIRDS[0]));
    let u = o.fma_c(z.hi, TWO_THIRDS[0], two);
    let lost = o.sub::<f64>(two, u);
    let lo = o.fma_c(z.hi, TWO_THIRDS[0], lost);
    // The derivative of u with respect to z, leaving out the derivative of Q.
    let u_slope = o.fma_c(q, 2.0, two_thirds);
    let lo = o.fma::<f64>(z.lo, u_slope, lo);
    let u_lo = o.fma::<f64>(z.hi, q, lo);
    // The derivative of the logarithm with respect to s·(2 + f) is 1/(1 + s) = 2/(2 + f)/(1 − z).
    let slope = o.fma_c(z.hi, 2.0, two);
    let slope = o.fma::<f64>(slope, z.hi, two);
    let slope = o.mul::<f64>(slope, inverse);
    // Adds head + s·u.
    let product = o.two_product(s, u);
    let sum = o.fast_two_sum(head, product.hi);
    let lo = o.add::<f64>(sum.lo, product.lo);
    let lo = tail(o, lo);
    let lo = o.fma::<f64>(rest, slope, lo);
    let lo = o.fma::<f64>(s, u_lo, lo);
    Sum { hi: sum.hi, lo }
}

/// e^(y·l). y·l is clamped to a range outside of which the power is 0 or infinite. `l` may be infinite where
/// y is not 0.
#[inline(always)]
fn exp_of_product<O: Ops>(o: &mut O, l: Sum<O>, y: O::V<f64>) -> O::V<f64> {
    let product = o.mul::<f64>(y, l.hi);
    let p = o.at_most(product, 720.0);
    let p = o.at_least(p, -760.0);
    // y·l is clamped, and what the clamping removed is added to the low part. If the power is infinite, the
    // low part is then infinite or large; if the power is 0, the low part is clamped from below.
    let minus = o.neg::<f64>(p);
    let lo = o.fma::<f64>(y, l.hi, minus);
    let lo = o.fma::<f64>(y, l.lo, lo);
    let least = o.constant(-0.5);
    let above = o.cmp::<f64>(Cmp::Gt, lo, least);
    let lo = o.select::<f64>(above, lo, least);
    // p = n·ln 2 + r, exactly except for the low part.
    const BIASED: f64 = MAGIC + 2046.0;
    let biased = o.constant(BIASED);
    let t = o.fma_c(p, LOG2_E[0], biased);
    let n = o.add_c(t, -BIASED);
    let r = o.fma_c(n, -LN2_DD[0], p);
    let lo = o.fma_c(n, -LN2_DD[1], lo);
    let q = o.polynomial(r, &EXP_FULL);
    let square = o.mul::<f64>(r, r);
    let one = o.constant(1.0);
    let y = o.fast_two_sum(one, r);
    let rest = o.fma::<f64>(square, q, y.lo);
    let sum = o.add::<f64>(y.hi, rest);
    let rest = o.fma::<f64>(lo, sum, rest);
    let y = o.add::<f64>(y.hi, rest);
    // 2^n as a product of two factors, since it may not be a double: the low bits of t hold n + 2046, and each half of
    // that number is the exponent field of one factor.
    let both = o.bits::<f64>(t);
    let first = o.shr_const::<u64>(both, 1);
    let second = o.sub::<u64>(both, first);
    let first = o.shl_const::<u64>(first, 52);
    let second = o.shl_const::<u64>(second, 52);
    let (first, second) = (o.of_bits::<f64>(first), o.of_bits::<f64>(second));
    let y = o.mul::<f64>(y, first);
    o.mul::<f64>(y, second)
}

/// The power x^y.
#[inline(always)]
pub(crate) fn pow<O: Ops>(o: &mut O, x: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let (e, m) = exponent_and_significand(o, a);
    let l = log(o, e, m);
    let zero = o.is(x, Cmp::Eq, 0.0);
    let l = Sum { hi: o.put(zero, f64::NEG_INFINITY, l.hi), lo: l.lo };
    let r = exp_of_product(o, l, y);
    let r = special::finish::<O, f64>(o, x, y, r);
    let exceptional = special::exceptional::<O, f64>(o, x, y);
    o.rare2::<Exceptional, f64>(exceptional, x, y, r)
}

impl Power for f64 {
    type Signed = i64;
    const LEAST_NORMAL: u64 = f64::MIN_POSITIVE.to_bits();
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LARGE: f64 = Self::MAGIC / 3.0;
    fn power(a: f64, y: f64) -> f64 {
        let o = &mut Scalar;
        let subnormal = a < f64::MIN_POSITIVE;
        let (e, m) = exponent_and_significand(o, if subnormal { a * 18_014_398_509_481_984.0 } else { a });
        let l = log(o, if subnormal { e - 54.0 } else { e }, m);
        exp_of_product(o, l, y)
    }
}
