//! The error function and its complement.
//!
//! Near 0, erf is x times an even polynomial. Elsewhere both functions are exp(−x²) times a slowly decreasing function,
//! which is approximated by a polynomial in t = (x − c)/(x + c). This substitution maps the half-line to an interval,
//! after M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x)exp(x²)erfc x in 0 ≤ x < ∞" (1981).
//! The approximated function varies least with the factor 1 + 9x/8, which is used instead of 1 + 2x. In float64, erfc
//! computes x², t, the exponential and the quotients as sums of two doubles; erf does not need them, since it subtracts
//! a small term from 1.

use crate::functions::coefficients::{
    ERF_CENTRE, ERF_FAR_FULL, ERF_FAR_SHORT, ERF_FULL, ERF_SHORT, ERF_SLOPE, ERFC_CENTRE, ERFC_FULL,
    ERFC_SHORT,
};
use crate::functions::exponential::{Reduced, exp_of_reduced, reduce};
use crate::functions::float64::{Float64, Full, Precision, Short, Sum, scale, scale_sum, through_float64};
use crate::functions::near_coefficients::{ERF_NEAR, ERFC_NEAR};
use crate::functions::{function, single};
use crate::ops::{Cmp, Ops};

function! {
    /// The error function
    Erf
    /// 1 − erf(x), without cancellation where the result is small
    Erfc
}

through_float64!(unary_with_single Erf erf single::erf; Erfc erfc single::erfc;);

/// (a − 4)/(a + 4) as a sum of two doubles.
#[inline(always)]
fn quotient<O: Ops>(o: &mut O, a: O::V<f64>) -> Sum<O> {
    let (below, above) = (o.add_c(a, -4.0), o.add_c(a, 4.0));
    let one = o.constant(1.0);
    let inverse = o.div::<f64>(one, above);
    let hi = o.mul::<f64>(below, inverse);
    // The rounding errors of `below` and `above` are computed exactly, since 0 ≤ a ≤ 28.
    let back = o.add_c(below, 4.0);
    let below_lo = o.sub::<f64>(a, back);
    let back = o.add_c(above, -4.0);
    let above_lo = o.sub::<f64>(a, back);
    let rest = o.nfma(hi, above, below);
    let rest = o.nfma(hi, above_lo, rest);
    let rest = o.add::<f64>(rest, below_lo);
    let lo = o.mul::<f64>(rest, inverse);
    o.fast_two_sum(hi, lo)
}

#[inline(always)]
pub(crate) fn erf<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let y = erf_of_magnitude::<O, P>(o, a);
    o.with_sign(y, sign)
}

/// erf(a) for a ≥ 0.
#[inline(always)]
pub(crate) fn erf_of_magnitude<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>) -> O::V<f64> {
    let near = erf_near::<O, P>(o, a);
    let far = erf_far::<O, P>(o, a);
    let is_near = o.is(a, Cmp::Lt, 1.0);
    o.select::<f64>(is_near, near, far)
}

/// erf(a) for 0 ≤ a ≤ 1, as a + a·q with |q| below 0.16. The first two terms of q are added without rounding error.
#[inline(always)]
fn erf_near<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>) -> O::V<f64> {
    let slope = o.constant(ERF_SLOPE);
    if !P::FULL {
        let u = o.mul::<f64>(a, a);
        let q = o.polynomial(u, P::pick(&ERF_FULL, &ERF_NEAR, &ERF_SHORT));
        let q = o.fma::<f64>(u, q, slope);
        return o.fma::<f64>(a, q, a);
    }
    let u = o.two_product(a, a);
    let second = o.constant(ERF_FULL[0]);
    let linear = o.two_product(u.hi, second);
    let small = o.fma::<f64>(u.lo, second, linear.lo);
    let q = o.two_sum(slope, linear.hi);
    let small = o.add::<f64>(small, q.lo);
    let square = o.mul::<f64>(u.hi, u.hi);
    let rest = o.polynomial(u.hi, &ERF_FULL[1..]);
    let small = o.fma::<f64>(square, rest, small);
    // |q.hi| is at most 1/4, so the operands are in the order that `fast_two_sum` requires.
    let product = o.two_product(a, q.hi);
    let y = o.fast_two_sum(a, product.hi);
    let small = o.fma::<f64>(a, small, product.lo);
    let small = o.add::<f64>(small, y.lo);
    o.add::<f64>(y.hi, small)
}

/// erf(a) for a ≥ 1, as 1 minus a term of at most 1/6. From a = 6 the result rounds to 1.
#[inline(always)]
fn erf_far<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>) -> O::V<f64> {
    let a = o.at_most(a, 6.0);
    let square = o.two_product(a, a);
    let minus = o.neg::<f64>(square.hi);
    let Reduced { n, r } = reduce::<O, Short>(o, minus);
    let e = exp_of_reduced::<O, P>(o, r);
    let e = scale_sum::<O, Short>(o, e, n);
    let (below, above) = (o.add_c(a, -2.0), o.add_c(a, 2.0));
    let t = o.div::<f64>(below, above);
    let p = o.polynomial(t, P::pick(&ERF_FAR_FULL, &ERF_FAR_SHORT, &ERF_FAR_SHORT));
    let centre = o.constant(ERF_CENTRE);
    let p = o.fma::<f64>(t, p, centre);
    let one = o.constant(1.0);
    if !P::FULL {
        let e = o.rounded(e);
        return o.nfma(e, p, one);
    }
    let lo = o.nfma(square.lo, e.hi, e.lo);
    let product = o.two_product(e.hi, p);
    let minus = o.neg::<f64>(product.hi);
    let y = o.fast_two_sum(one, minus);
    let small = o.fma::<f64>(lo, p, product.lo);
    let small = o.sub::<f64>(y.lo, small);
    o.add::<f64>(y.hi, small)
}

#[inline(always)]
pub(crate) fn erfc<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    // From these bounds on, the result of erfc is 0 in float64 and in float32 respectively.
    let a = o.at_most(a, if P::FULL { 28.0 } else { 10.5 });
    let y = if P::FULL { complement(o, a) } else { short_complement::<O, P>(o, a) };
    // erfc(−x) = 2 − erfc(x)
    let other = o.c_sub(2.0, y);
    let negative = o.is(x, Cmp::Lt, 0.0);
    o.select::<f64>(negative, other, y)
}

/// erfc(a) for 0 ≤ a ≤ 28, in full precision.
#[inline(always)]
fn complement<O: Ops>(o: &mut O, a: O::V<f64>) -> O::V<f64> {
    let square = o.two_product(a, a);
    let minus = o.neg::<f64>(square.hi);
    let Reduced { n, r } = reduce::<O, Full>(o, minus);
    let lo = o.sub::<f64>(r.lo, square.lo);
    let e = exp_of_reduced::<O, Full>(o, Sum { hi: r.hi, lo });
    let e = o.fast_two_sum(e.hi, e.lo);
    // The numerator is ERFC_CENTRE + t·P(t). Its first two terms are added without rounding error; the other terms are
    // less than a tenth of the numerator. The low part of t is multiplied by half of the slope at 0, which is about the
    // mean slope.
    let t = quotient(o, a);
    let (head, slope) = (o.constant(ERFC_CENTRE[0]), o.constant(ERFC_FULL[0]));
    let linear = o.two_product(t.hi, slope);
    let q = o.polynomial(t.hi, &ERFC_FULL[1..]);
    let square = o.mul::<f64>(t.hi, t.hi);
    let small = o.add_c(linear.lo, ERFC_CENTRE[1]);
    let small = o.fma_c(t.lo, ERFC_FULL[0] / 2.0, small);
    let p = o.fast_two_sum(head, linear.hi);
    let small = o.add::<f64>(small, p.lo);
    let small = o.fma::<f64>(square, q, small);
    let p = o.fast_two_sum(p.hi, small);
    // 1 + 9a/8 as a sum of two doubles: `kept` and `lo` are exact.
    let one = o.constant(1.0);
    let hi = o.fma_c(a, 1.125, one);
    let kept = o.sub::<f64>(one, hi);
    let lo = o.fma_c(a, 1.125, kept);
    let y = o.sum_div(p, Sum { hi, lo });
    let y = o.sum_mul(e, y);
    let y = o.rounded(y);
    scale::<O, Full>(o, y, n)
}

/// erfc(a) for 0 ≤ a ≤ 10.5, precise enough for a float32 or float16 result.
#[inline(always)]
fn short_complement<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>) -> O::V<f64> {
    let square = o.mul::<f64>(a, a);
    let minus = o.neg::<f64>(square);
    let Reduced { n, r } = reduce::<O, Short>(o, minus);
    let e = exp_of_reduced::<O, P>(o, r);
    let e = o.rounded(e);
    let e = scale::<O, Short>(o, e, n);
    // The quotients (a − 4)/(a + 4) and 1/(1 + 9a/8) are computed with a single division.
    let one = o.constant(1.0);
    let (below, above) = (o.add_c(a, -4.0), o.add_c(a, 4.0));
    let flat = o.fma_c(a, 1.125, one);
    let both = o.mul::<f64>(above, flat);
    let inverse = o.div::<f64>(one, both);
    let t = o.mul::<f64>(below, flat);
    let t = o.mul::<f64>(t, inverse);
    let p = o.polynomial(t, P::pick(&ERFC_FULL, &ERFC_NEAR, &ERFC_SHORT));
    let centre = o.constant(ERFC_CENTRE[0]);
    let p = o.fma::<f64>(t, p, centre);
    let p = o.mul::<f64>(p, above);
    let p = o.mul::<f64>(p, inverse);
    o.mul::<f64>(e, p)
}
