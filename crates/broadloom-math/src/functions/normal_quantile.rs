//! The quantile function of the standard normal distribution, which is the inverse of its distribution function, and
//! the inverse of the error function.
//!
//! Both are computed from the probability q of the nearer tail and the logarithm of a number. In the central region,
//! where q is at least 1/64, this is v = log(4q(1 − q)), and the quantile divided by a = 1 − 2q is an almost linear
//! function of v: the variable is that of M. B. Giles, "Approximating the erfinv function" (2012). In the tail it is
//! log q, and the quantile is r = √(−2·log q) plus a slowly varying function of r, as in M. J. Wichura, "Algorithm AS
//! 241: The percentage points of the normal distribution" (1988). The nonlinear rest of each region is a rational
//! function; the quotients share one division. In full precision, v, r and the linear terms are sums of two doubles, and
//! the quotient is less than a seventh of the result.

use crate::functions::float64::{Float64, Precision, Sum, through_float64};
use crate::functions::logarithm::{Split, exponent_of, log_of_split, split_sum};
use crate::functions::quantile_coefficients::{
    CENTRE, CENTRE_DENOMINATOR_FULL, CENTRE_DENOMINATOR_SHORT, CENTRE_NUMERATOR_FULL, CENTRE_NUMERATOR_SHORT,
    CENTRE_SLOPE, CENTRE_VALUE, ROOT_HALF, SEAM, TAIL_DENOMINATOR_FULL, TAIL_DENOMINATOR_SHORT,
    TAIL_NUMERATOR_FULL, TAIL_NUMERATOR_SHORT, TAIL_OFFSET,
};
use crate::functions::{function, single};
use crate::ops::{Cmp, Ops};

function! {
    /// The inverse of the error function
    ErfInv
    /// The inverse of the distribution function of the standard normal distribution
    Ndtri
}

through_float64!(unary_with_single ErfInv erfinv single::erfinv; Ndtri ndtri single::ndtri;);

/// The probability of a tail.
struct TailProbability<O: Ops> {
    /// The probability, rounded; up to 1/2.
    q: O::V<f64>,
    /// What the rounding of q adds to 4q(1 − q).
    more: Option<O::V<f64>>,
    /// Whether q may be a subnormal double.
    may_be_subnormal: bool,
}

/// The quantile in both regions.
struct Regions<O: Ops> {
    /// The quantile divided by 1 − 2q, in the central region.
    factor: Sum<O>,
    /// The quantile in the tail.
    tail: Sum<O>,
    is_tail: O::M<f64>,
}

/// The magnitude of the quantile for 0 < q ≤ 1/2.
#[inline(always)]
fn regions<O: Ops, P: Precision>(o: &mut O, of: &TailProbability<O>) -> Regions<O> {
    let q = of.q;
    let is_tail = o.is(q, Cmp::Lt, SEAM);
    let log = log_of_tail::<O, P>(o, of, is_tail);
    // The central region: v relative to its centre.
    let centre = o.constant(-CENTRE);
    let d = if P::FULL {
        o.fast_two_sum(centre, log.hi)
    } else {
        let d = o.add::<f64>(centre, log.hi);
        o.just(d)
    };
    let value = o.constant(CENTRE_VALUE);
    let linear = o.fma_c(d.hi, CENTRE_SLOPE, value);
    let numerator = o.polynomial(d.hi, P::pick(&CENTRE_NUMERATOR_FULL, &[], &CENTRE_NUMERATOR_SHORT));
    let denominator = o.polynomial(d.hi, P::pick(&CENTRE_DENOMINATOR_FULL, &[], &CENTRE_DENOMINATOR_SHORT));
    // The tail: the residual of the root is divided by it together with the numerator.
    let twice = o.mul_c(log.hi, -2.0);
    let r = o.sqrt::<f64>(twice);
    let mut tail_numerator = o.polynomial(r, P::pick(&TAIL_NUMERATOR_FULL, &[], &TAIL_NUMERATOR_SHORT));
    let over_r = o.polynomial(r, P::pick(&TAIL_DENOMINATOR_FULL, &[], &TAIL_DENOMINATOR_SHORT));
    let tail_denominator = o.mul::<f64>(r, over_r);
    if P::FULL {
        let half = o.mul_c(r, 0.5);
        let rest = o.fma::<f64>(half, r, log.hi);
        let rest = o.add::<f64>(rest, log.lo);
        tail_numerator = o.nfma(rest, over_r, tail_numerator);
    }
    let numerator = o.select::<f64>(is_tail, tail_numerator, numerator);
    let denominator = o.select::<f64>(is_tail, tail_denominator, denominator);
    let quotient = o.div::<f64>(numerator, denominator);
    let square = o.mul::<f64>(d.hi, d.hi);
    let offset = o.constant(TAIL_OFFSET);
    if !P::FULL {
        let factor = o.fma::<f64>(square, quotient, linear);
        let tail = o.add::<f64>(r, offset);
        let tail = o.add::<f64>(tail, quotient);
        return Regions { factor: o.just(factor), tail: o.just(tail), is_tail };
    }
    // The linear term is within a factor of two of its value at the centre, so that the difference is exact.
    let kept = o.sub::<f64>(value, linear);
    let lo = o.fma_c(d.hi, CENTRE_SLOPE, kept);
    let d_lo = o.add::<f64>(d.lo, log.lo);
    let lo = o.fma_c(d_lo, CENTRE_SLOPE, lo);
    let lo = o.fma::<f64>(square, quotient, lo);
    let tail = o.fast_two_sum(r, offset);
    let tail_lo = o.add::<f64>(tail.lo, quotient);
    Regions { factor: Sum { hi: linear, lo }, tail: Sum { hi: tail.hi, lo: tail_lo }, is_tail }
}

/// log(4q(1 − q)), or log q in the tail.
#[inline(always)]
fn log_of_tail<O: Ops, P: Precision>(o: &mut O, of: &TailProbability<O>, is_tail: O::M<f64>) -> Sum<O> {
    // With b = 2q, 4q(1 − q) is 2b − b².
    let q = of.q;
    let (b, twice) = (o.mul_c(q, 2.0), o.mul_c(q, 4.0));
    let product = o.nfma(b, b, twice);
    let hi = o.select::<f64>(is_tail, q, product);
    if !P::FULL {
        let (e, f) = exponent_of(o, hi);
        return log_of_split::<O, P>(o, Split { e, f, low: None });
    }
    // The difference is exact, since the product is between b and 2b.
    let kept = o.sub::<f64>(twice, product);
    let mut lo = o.nfma(b, b, kept);
    if let Some(more) = of.more {
        lo = o.add::<f64>(lo, more);
    }
    let lo = o.put(is_tail, 0.0, lo);
    let parts = if of.may_be_subnormal {
        // Scales a subnormal by 2^54.
        let (one, zero) = (o.constant(1.0), o.constant(0.0));
        let subnormal = o.is(q, Cmp::Lt, f64::MIN_POSITIVE);
        let factor = o.put(subnormal, 18_014_398_509_481_984.0, one);
        let hi = o.mul::<f64>(hi, factor);
        let less = o.put(subnormal, 54.0, zero);
        let parts = split_sum::<O, P>(o, Sum { hi, lo }, None);
        Split { e: o.sub::<f64>(parts.e, less), ..parts }
    } else {
        split_sum::<O, P>(o, Sum { hi, lo }, None)
    };
    let log = log_of_split::<O, P>(o, parts);
    o.fast_two_sum(log.hi, log.lo)
}

/// Replaces the magnitude `y` of a result by infinity where the probability `q` of the tail is 0, and by NaN where it is
/// negative or NaN.
#[inline(always)]
fn at_ends<O: Ops>(o: &mut O, q: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let nan = o.constant(f64::NAN);
    let is_end = o.is(q, Cmp::Eq, 0.0);
    let end = o.put(is_end, f64::INFINITY, nan);
    let inside = o.is(q, Cmp::Gt, 0.0);
    o.select::<f64>(inside, y, end)
}

#[inline(always)]
pub(crate) fn ndtri<O: Ops, P: Precision>(o: &mut O, p: O::V<f64>) -> O::V<f64> {
    // 1 − p is exact for p ≥ 1/2.
    let upper = o.c_sub(1.0, p);
    let below = o.is(p, Cmp::Lt, 0.5);
    let q = o.select::<f64>(below, p, upper);
    let Regions { factor, tail, is_tail } =
        regions::<O, P>(o, &TailProbability { q, more: None, may_be_subnormal: true });
    let one = o.constant(1.0);
    let (central, tail) = if P::FULL {
        let minus = o.mul_c(q, -2.0);
        let a = o.fast_two_sum(one, minus);
        let lo = o.mul::<f64>(a.lo, factor.hi);
        let lo = o.fma::<f64>(a.hi, factor.lo, lo);
        (o.fma::<f64>(a.hi, factor.hi, lo), o.rounded(tail))
    } else {
        let a = o.fma_c(q, -2.0, one);
        (o.mul::<f64>(a, factor.hi), tail.hi)
    };
    let y = o.select::<f64>(is_tail, tail, central);
    let y = at_ends(o, q, y);
    let positive = o.constant(0.0);
    let sign = o.put(below, -0.0, positive);
    let sign = o.bits::<f64>(sign);
    o.with_sign(y, sign)
}

/// 2^64. Results of erfinv are computed times this, so that the products with low parts are normal numbers.
const SCALE: f64 = 18_446_744_073_709_551_616.0;

#[inline(always)]
pub(crate) fn erfinv<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let (one, minus) = (o.constant(1.0), o.neg::<f64>(a));
    let (b, more) = if P::FULL {
        let b = o.fast_two_sum(one, minus);
        // The derivative of 2b − b² is 2a.
        let slope = o.add::<f64>(a, a);
        (b.hi, Some(o.mul::<f64>(slope, b.lo)))
    } else {
        // The difference of float32 values is exact where it is a tail, and rounded to 2^−54 elsewhere.
        (o.add::<f64>(one, minus), None)
    };
    let q = o.mul_c(b, 0.5);
    let Regions { factor, tail, is_tail } =
        regions::<O, P>(o, &TailProbability { q, more, may_be_subnormal: false });
    let y = if P::FULL {
        let hi = o.select::<f64>(is_tail, tail.hi, factor.hi);
        let lo = o.select::<f64>(is_tail, tail.lo, factor.lo);
        let y = o.sum_mul_c(Sum { hi, lo }, ROOT_HALF.map(|part| part * SCALE));
        let y = o.fast_two_sum(y.hi, y.lo);
        let lo = o.mul::<f64>(a, y.lo);
        let central = o.fma::<f64>(a, y.hi, lo);
        let y = o.select::<f64>(is_tail, y.hi, central);
        o.mul_c(y, 1.0 / SCALE)
    } else {
        let central = o.mul::<f64>(a, factor.hi);
        let y = o.select::<f64>(is_tail, tail.hi, central);
        o.mul_c(y, ROOT_HALF[0])
    };
    let y = at_ends(o, b, y);
    o.with_sign(y, sign)
}
