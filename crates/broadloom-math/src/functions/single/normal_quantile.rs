//! The quantile function of the standard normal distribution, and the inverse of the error function, of float32. The method
//! is that of the float64 functions (module `normal_quantile`), with shorter rational functions, a seam at 1/32, and the
//! logarithm as a sum of two float32.

use crate::functions::float64::polynomial;
use crate::functions::quantile_coefficients::{
    CENTRE_DENOMINATOR_SINGLE, CENTRE_NUMERATOR_SINGLE, CENTRE_SINGLE, CENTRE_SLOPE_SINGLE,
    CENTRE_VALUE_SINGLE, ROOT_HALF_SINGLE, SEAM_SINGLE, TAIL_DENOMINATOR_SINGLE, TAIL_NUMERATOR_SINGLE,
    TAIL_OFFSET_SINGLE,
};
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::functions::single::logarithm::log_and_more;
use crate::ops::{Cmp, Ops};

/// The quantile in both regions.
struct Regions<O: Ops> {
    /// The quantile divided by 1 − 2q, in the central region.
    factor: Sum<O>,
    /// The quantile in the tail.
    tail: Sum<O>,
    is_tail: O::M<f32>,
}

/// The magnitude of the quantile for 0 < q ≤ 1/2. `more` is what the rounding of q adds to 4q(1 − q).
#[inline(always)]
fn regions<O: Ops>(o: &mut O, q: F<O>, more: Option<F<O>>) -> Regions<O> {
    let is_tail = o.is(q, Cmp::Lt, SEAM_SINGLE);
    let log = log_of_tail(o, q, more, is_tail);
    // The central region.
    let centre = o.splat(-CENTRE_SINGLE);
    let d = o.fast_two_sum(centre, log.hi);
    let d_lo = o.add::<f32>(d.lo, log.lo);
    let value = o.splat(CENTRE_VALUE_SINGLE);
    let linear = o.fma_c(d.hi, CENTRE_SLOPE_SINGLE, value);
    let kept = o.sub::<f32>(value, linear);
    let lo = o.fma_c(d.hi, CENTRE_SLOPE_SINGLE, kept);
    let lo = o.fma_c(d_lo, CENTRE_SLOPE_SINGLE, lo);
    let numerator = polynomial::<O, f32>(o, d.hi, &CENTRE_NUMERATOR_SINGLE);
    let denominator = polynomial::<O, f32>(o, d.hi, &CENTRE_DENOMINATOR_SINGLE);
    // The tail: the residual of the root is divided by it together with the numerator.
    let twice = o.mul_c(log.hi, -2.0);
    let r = o.sqrt::<f32>(twice);
    let half = o.mul_c(r, 0.5);
    let rest = o.fma::<f32>(half, r, log.hi);
    let rest = o.add::<f32>(rest, log.lo);
    let tail_numerator = polynomial::<O, f32>(o, r, &TAIL_NUMERATOR_SINGLE);
    let over_r = polynomial::<O, f32>(o, r, &TAIL_DENOMINATOR_SINGLE);
    let tail_numerator = o.nfma(rest, over_r, tail_numerator);
    let tail_denominator = o.mul::<f32>(r, over_r);
    let numerator = o.select::<f32>(is_tail, tail_numerator, numerator);
    let denominator = o.select::<f32>(is_tail, tail_denominator, denominator);
    let quotient = o.div::<f32>(numerator, denominator);
    let square = o.mul::<f32>(d.hi, d.hi);
    let lo = o.fma::<f32>(square, quotient, lo);
    let offset = o.splat(TAIL_OFFSET_SINGLE);
    let tail = o.fast_two_sum(r, offset);
    let tail_lo = o.add::<f32>(tail.lo, quotient);
    Regions { factor: Sum { hi: linear, lo }, tail: Sum { hi: tail.hi, lo: tail_lo }, is_tail }
}

/// log(4q(1 − q)), or log q in the tail.
#[inline(always)]
fn log_of_tail<O: Ops>(o: &mut O, q: F<O>, more: Option<F<O>>, is_tail: O::M<f32>) -> Sum<O> {
    // With b = 2q, 4q(1 − q) is 2b − b². It is between b and 2b, so that the difference is exact.
    let (b, twice) = (o.mul_c(q, 2.0), o.mul_c(q, 4.0));
    let product = o.nfma(b, b, twice);
    let kept = o.sub::<f32>(twice, product);
    let mut low = o.nfma(b, b, kept);
    if let Some(more) = more {
        low = o.add::<f32>(low, more);
    }
    // The low part changes the logarithm by its quotient.
    let reciprocal = o.rough_reciprocal(product, 1.0);
    let low = o.mul::<f32>(low, reciprocal);
    let zero = o.splat(0.0f32);
    let low = o.select::<f32>(is_tail, zero, low);
    let x = o.select::<f32>(is_tail, q, product);
    log_and_more(o, x, low)
}

/// Replaces the magnitude `y` of a result by infinity where the probability `q` of the tail is 0, and by NaN where it is
/// negative or NaN.
#[inline(always)]
fn at_ends<O: Ops>(o: &mut O, q: F<O>, y: F<O>) -> F<O> {
    let (infinity, nan) = (o.splat(f32::INFINITY), o.splat(f32::NAN));
    let is_end = o.is(q, Cmp::Eq, 0.0);
    let end = o.select::<f32>(is_end, infinity, nan);
    let inside = o.is(q, Cmp::Gt, 0.0);
    o.select::<f32>(inside, y, end)
}

/// The quantile of the probability p
#[inline(always)]
pub(crate) fn ndtri<O: Ops>(o: &mut O, p: F<O>) -> F<O> {
    // 1 − p is exact for p ≥ 1/2.
    let upper = o.c_sub(1.0, p);
    let below = o.is(p, Cmp::Lt, 0.5);
    let q = o.select::<f32>(below, p, upper);
    let Regions { factor, tail, is_tail } = regions(o, q, None);
    let (one, minus) = (o.splat(1.0f32), o.mul_c(q, -2.0));
    let a = o.fast_two_sum(one, minus);
    let lo = o.mul::<f32>(a.lo, factor.hi);
    let lo = o.fma::<f32>(a.hi, factor.lo, lo);
    let central = o.fma::<f32>(a.hi, factor.hi, lo);
    let tail = o.add::<f32>(tail.hi, tail.lo);
    let y = o.select::<f32>(is_tail, tail, central);
    let y = at_ends(o, q, y);
    let (negative, positive) = (o.splat(-0.0f32), o.splat(0.0f32));
    let sign = o.select::<f32>(below, negative, positive);
    let sign = o.bits::<f32>(sign);
    o.with_sign(y, sign)
}

/// 2^64. Results of erfinv are computed times this, so that the products with low parts are normal numbers.
const SCALE: f32 = 18_446_744_073_709_551_616.0;

/// The inverse of erf
#[inline(always)]
pub(crate) fn erfinv<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let (one, minus) = (o.splat(1.0f32), o.neg::<f32>(a));
    let b = o.fast_two_sum(one, minus);
    // The derivative of 2b − b² is 2a.
    let slope = o.add::<f32>(a, a);
    let more = o.mul::<f32>(slope, b.lo);
    let q = o.mul_c(b.hi, 0.5);
    let Regions { factor, tail, is_tail } = regions(o, q, Some(more));
    let hi = o.select::<f32>(is_tail, tail.hi, factor.hi);
    let lo = o.select::<f32>(is_tail, tail.lo, factor.lo);
    let root = o.splat(ROOT_HALF_SINGLE[0] * SCALE);
    let product = o.two_product(hi, root);
    let lo = o.fma::<f32>(lo, root, product.lo);
    let lo = o.fma_c(hi, ROOT_HALF_SINGLE[1] * SCALE, lo);
    let y = o.fast_two_sum(product.hi, lo);
    let lo = o.mul::<f32>(a, y.lo);
    let central = o.fma::<f32>(a, y.hi, lo);
    let y = o.select::<f32>(is_tail, y.hi, central);
    let y = o.mul_c(y, 1.0 / SCALE);
    let y = at_ends(o, b.hi, y);
    o.with_sign(y, sign)
}
