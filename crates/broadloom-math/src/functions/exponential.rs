//! exp, exp2 and expm1, and the argument reduction that they share with the hyperbolic functions.
//!
//! In x = n·ln 2 + r, r has an error of about 2^−100, and rounding errors arise only in terms of at most r²/2, before
//! these are added to 1. Source: the argument reduction of W. J. Cody and W. Waite (1980), with fused multiply-adds.

use crate::dtype::f16;
use crate::functions::coefficients::{
    COSH_FULL, COSH_SHORT, EXP_FULL, EXP_SHORT, LN2_DD, LOG2_E, SINH_FULL, SINH_SHORT,
};
use crate::functions::float64::{Float64, Full, MAGIC, Precision, Short, Sum, scale, through_float64};
use crate::functions::near_coefficients::{COSH_NEAR, EXP_NEAR, SINH_NEAR};
use crate::functions::{declare_half_path, function, single};
use crate::ops::{Ops, Unary};

function! {
    /// e^x
    Exp
    /// 2^x
    Exp2
    /// e^x − 1
    ExpM1
}

through_float64!(unary_with_single Exp2 exp2 single::exp2; ExpM1 expm1 single::expm1;);
// The float16 instance of exp rounds its own result, without a conversion.
declare_half_path!(Own: Exp);

impl Unary<f64> for Exp {
    type Out = f64;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
        exp::<O, Full>(o, x)
    }
}

impl Unary<f16> for Exp {
    type Out = f16;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f16> {
        single::exp_half(o, x)
    }
}

impl Unary<f32> for Exp {
    type Out = f32;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32> {
        single::exp(o, x)
    }
}

/// A reduced argument: x = n·ln 2 + r.hi + r.lo, where |r| is at most slightly above ln 2 / 2.
///
/// The subtraction x − n·LN2_DD[0] is exact: for n = 0 the difference is x; otherwise both terms are multiples of 2^−54
/// and the difference is below 1/2.
pub(crate) struct Reduced<O: Ops> {
    pub n: O::V<f64>,
    pub r: Sum<O>,
}

#[inline(always)]
pub(crate) fn reduce<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> Reduced<O> {
    let magic = o.constant(MAGIC);
    let n = o.fma_c(x, LOG2_E[0], magic);
    let n = o.add_c(n, -MAGIC);
    let r = o.fma_c(n, -LN2_DD[0], x);
    let lo = o.mul_c(n, -LN2_DD[1]);
    if P::FULL {
        // `fast_two_sum` needs r to be at least as large in magnitude as lo, or a multiple of lo's last
        // place. One of the two holds here.
        let r = o.fast_two_sum(r, lo);
        return Reduced { n, r };
    }
    Reduced { n, r: Sum { hi: r, lo } }
}

/// exp(r.hi + r.lo) as a sum of two doubles, whose low part has an error of about 2^−58. The low part of r, which is at
/// most 2^−40, is used in full precision only.
#[inline(always)]
pub(crate) fn exp_of_reduced<O: Ops, P: Precision>(o: &mut O, r: Sum<O>) -> Sum<O> {
    let q = o.polynomial(r.hi, P::pick(&EXP_FULL, &EXP_NEAR, &EXP_SHORT));
    let square = o.mul::<f64>(r.hi, r.hi);
    let one = o.constant(1.0);
    if !P::FULL {
        let t = o.fma::<f64>(square, q, r.hi);
        return Sum { hi: one, lo: t };
    }
    let y = o.fast_two_sum(one, r.hi);
    let lo = o.fma::<f64>(square, q, y.lo);
    // e^(hi + lo) ≈ e^hi + lo·e^hi; the neglected term is lo²/2.
    let sum = o.add::<f64>(y.hi, lo);
    let lo = o.fma::<f64>(r.lo, sum, lo);
    Sum { hi: y.hi, lo }
}

/// exp(r.hi + r.lo) as a sum of two doubles, whose low part has an error of about 2^−61, because the term r²/2 is exact
/// as well.
#[inline(always)]
pub(crate) fn precise_exp_of_reduced<O: Ops>(o: &mut O, r: Sum<O>) -> Sum<O> {
    let q = o.polynomial(r.hi, &EXP_FULL[1..]);
    let square = o.mul::<f64>(r.hi, r.hi);
    let cube = o.mul::<f64>(square, r.hi);
    let one = o.constant(1.0);
    let half = o.mul_c(r.hi, 0.5);
    let half_square = o.two_product(half, r.hi);
    let first = o.fast_two_sum(one, r.hi);
    let y = o.fast_two_sum(first.hi, half_square.hi);
    let lo = o.add::<f64>(first.lo, half_square.lo);
    let lo = o.add::<f64>(lo, y.lo);
    let lo = o.fma::<f64>(cube, q, lo);
    let sum = o.add::<f64>(y.hi, lo);
    let lo = o.fma::<f64>(r.lo, sum, lo);
    o.fast_two_sum(y.hi, lo)
}

// The slices `EXP_FULL[1..]` and `COSH_FULL[1..]` leave out the first coefficient. Functions that evaluate
// them add its term separately, without rounding error, as r²/2.
const _: () = assert!(EXP_FULL[0] == 0.5 && COSH_FULL[0] == 0.5);

/// Clamps x to bounds beyond which the result is 0 or infinite.
#[inline(always)]
fn clamp<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let (lo, hi) = if P::FULL { (-746.0, 710.0) } else { (-200.0, 200.0) };
    let x = o.at_most(x, hi);
    o.at_least(x, lo)
}

#[inline(always)]
pub(crate) fn exp<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let x = clamp::<O, P>(o, x);
    let Reduced { n, r } = reduce::<O, Short>(o, x);
    let y = exp_of_reduced::<O, P>(o, r);
    let y = o.rounded(y);
    scale::<O, P>(o, y, n)
}

#[inline(always)]
pub(crate) fn exp2<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let (lo, hi) = if P::FULL { (-1080.0, 1025.0) } else { (-200.0, 200.0) };
    let x = o.at_most(x, hi);
    let x = o.at_least(x, lo);
    let n = o.add_c(x, MAGIC);
    let n = o.add_c(n, -MAGIC);
    // The difference is exact. It is 0 for an integer x, whose power is therefore exact.
    let fraction = o.sub::<f64>(x, n);
    let r = if P::FULL {
        let fraction = o.just(fraction);
        o.sum_mul_c(fraction, LN2_DD)
    } else {
        let r = o.mul_c(fraction, LN2_DD[0]);
        o.just(r)
    };
    let y = exp_of_reduced::<O, P>(o, r);
    let y = o.rounded(y);
    scale::<O, P>(o, y, n)
}

/// cosh(r) − 1 and sinh(r) − r, for the high part r of a reduced argument.
#[inline(always)]
pub(crate) fn even_and_odd<O: Ops, P: Precision>(o: &mut O, r: O::V<f64>) -> (O::V<f64>, O::V<f64>) {
    let u = o.mul::<f64>(r, r);
    let even = o.polynomial(u, P::pick(&COSH_FULL, &COSH_NEAR, &COSH_SHORT));
    let even = o.mul::<f64>(u, even);
    let odd = o.polynomial(u, P::pick(&SINH_FULL, &SINH_NEAR, &SINH_SHORT));
    let cube = o.mul::<f64>(u, r);
    let odd = o.mul::<f64>(cube, odd);
    (even, odd)
}

/// 2^−(n·times), clamped from below at 2^−200, which is negligible beside 1.
#[inline(always)]
pub(crate) fn reciprocal_power<O: Ops>(o: &mut O, n: O::V<f64>, times: f64) -> O::V<f64> {
    let exponent = o.mul_c(n, -times);
    let exponent = o.at_least(exponent, -200.0);
    let magic = o.add_c(exponent, crate::functions::float64::MAGIC_EXPONENT);
    crate::functions::float64::power_of_two(o, magic)
}

#[inline(always)]
pub(crate) fn expm1<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    // Arguments below −40 are replaced, since their result rounds to −1.
    let sign = o.sign_of(x);
    let (lo, hi) = if P::FULL { (-40.0, 710.0) } else { (-40.0, 200.0) };
    let x = o.at_most(x, hi);
    let x = o.at_least(x, lo);
    let Reduced { n, r } = reduce::<O, P>(o, x);
    let (even, odd) = even_and_odd::<O, P>(o, r.hi);
    // Computes 2^n · ((1 − 2^−n) + r + (cosh r − 1) + (sinh r − r)).
    let q = reciprocal_power(o, n, 1.0);
    let y = if P::FULL {
        let one = o.constant(1.0);
        let minus_q = o.neg::<f64>(q);
        let h = o.two_sum(one, minus_q);
        // r²/2 may be a large part of the result, so it is added exactly as well.
        let half = o.mul_c(r.hi, 0.5);
        let square = o.two_product(half, r.hi);
        let y = o.fast_two_sum(h.hi, r.hi);
        let z = o.two_sum(y.hi, square.hi);
        let u = o.mul::<f64>(r.hi, r.hi);
        let p = o.polynomial(u, &COSH_FULL[1..]);
        let p = o.mul::<f64>(u, p);
        let tail = o.fma::<f64>(u, p, odd);
        let low = o.add::<f64>(y.lo, h.lo);
        let low = o.add::<f64>(low, square.lo);
        let low = o.fma::<f64>(r.lo, r.hi, low);
        let low = o.add::<f64>(low, r.lo);
        let low = o.add::<f64>(low, z.lo);
        let tail = o.add::<f64>(tail, low);
        o.add::<f64>(z.hi, tail)
    } else {
        let h = o.c_sub(1.0, q);
        let r = o.add::<f64>(r.hi, r.lo);
        let y = o.add::<f64>(h, r);
        let tail = o.add::<f64>(even, odd);
        o.add::<f64>(y, tail)
    };
    let y = scale::<O, P>(o, y, n);
    // The result has the sign of x, even if the result is zero.
    o.with_sign(y, sign)
}
