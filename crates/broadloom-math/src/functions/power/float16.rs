//! pow of float16: the exponential of y·log x in float64 arithmetic, with an error of about 2^−33, rounded
//! once by way of rounding to odd.
//!
//! There is no slow path for exceptional operands: handling them in every lane costs no more than the
//! conversions that a loop over float16 does anyway.

use crate::dtype::{Num, Real};
use crate::functions::coefficients::{LN2_DD, LOG2_E};
use crate::functions::exponential::exp_of_reduced;
use crate::functions::float64::{Float64, MAGIC, Precision, Sum, scale};
use crate::functions::logarithm::{log_of_split, split};
use crate::functions::logarithm_ends;
use crate::ops::{Cmp, Ops};

/// a^y for a ≥ 0 and a finite y; NaN if an operand is NaN.
#[inline(always)]
fn power_of_magnitude<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let parts = split::<O, P>(o, a);
    let l = log_of_split::<O, P>(o, parts);
    let l = logarithm_ends::ends::<O, f64>(o, a, l.hi);
    // y·log a, clamped to a range outside of which the exponential is 0 or infinite.
    let product = o.mul::<f64>(y, l);
    let product = o.at_most(product, 200.0);
    let product = o.at_least(product, -200.0);
    let magic = o.constant(MAGIC);
    let n = o.fma_c(product, LOG2_E[0], magic);
    let n = o.add_c(n, -MAGIC);
    let r = o.fma_c(n, -LN2_DD[0], product);
    let zero = o.constant(0.0);
    let y = exp_of_reduced::<O, P>(o, Sum { hi: r, lo: zero });
    let y = o.rounded(y);
    scale::<O, P>(o, y, n)
}

/// x^y from r = |x|^y: applies the sign of x and handles exceptional operands.
#[inline(always)]
fn power<O: Ops>(o: &mut O, x: O::V<f64>, y: O::V<f64>, r: O::V<f64>) -> O::V<f64> {
    let (zero, one) = (o.constant(0.0), o.constant(1.0));
    // For a negative base, an odd power is negative, and a power with a non-integral exponent is NaN.
    let whole = o.trunc::<f64>(y);
    let integral = o.cmp::<f64>(Cmp::Eq, whole, y);
    let half = o.mul_c(whole, 0.5);
    let even = o.trunc::<f64>(half);
    let even = o.cmp::<f64>(Cmp::Eq, even, half);
    let odd = o.mask_not::<f64>(even);
    let odd = o.mask_and::<f64>(integral, odd);
    let sign = o.put(odd, -0.0, zero);
    let sign = o.bits::<f64>(sign);
    let x_bits = o.bits::<f64>(x);
    let sign = o.and::<u64>(sign, x_bits);
    let r = o.bits::<f64>(r);
    let r = o.xor::<u64>(r, sign);
    let below = o.cmp::<f64>(Cmp::Lt, x, zero);
    let finite = o.is(x, Cmp::Gt, f64::NEG_INFINITY);
    let broken = o.mask_not::<f64>(integral);
    let no_power = o.mask_and::<f64>(below, finite);
    let no_power = o.mask_and::<f64>(no_power, broken);
    // The float with all bits set, a NaN.
    let nan = o.put(no_power, f64::of_bits(<u64 as Num>::MINUS_ONE), zero);
    let nan = o.bits::<f64>(nan);
    let r = o.or::<u64>(r, nan);
    let r = o.of_bits::<f64>(r);
    // The powers with the exponents 1, −1 and 2 are x, 1/x and x·x by definition.
    let first = o.is(y, Cmp::Eq, 1.0);
    let r = o.select::<f64>(first, x, r);
    let reciprocal = o.div::<f64>(one, x);
    let inverse = o.is(y, Cmp::Eq, -1.0);
    let r = o.select::<f64>(inverse, reciprocal, r);
    let square = o.mul::<f64>(x, x);
    let two = o.is(y, Cmp::Eq, 2.0);
    let r = o.select::<f64>(two, square, r);
    let unit = o.is(x, Cmp::Eq, 1.0);
    let y_zero = o.is(y, Cmp::Eq, 0.0);
    let unit = o.mask_or::<f64>(unit, y_zero);
    o.select::<f64>(unit, one, r)
}

#[inline(always)]
pub(super) fn pow<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    // 1 to an infinite power is 1. Replacing an infinite exponent by the largest finite one yields this result, and the
    // right result for every other base.
    let exponent = o.at_most(y, f64::MAX);
    let exponent = o.at_least(exponent, -f64::MAX);
    let r = power_of_magnitude::<O, P>(o, a, exponent);
    power(o, x, y, r)
}
