//! log, log2, log10 and log1p, and the kernel that they share with the inverse hyperbolic functions. With x = 2^e·(1 +
//! f), √½ ≤ 1 + f < √2, the leading terms e·ln 2 and f enter the last addition unrounded; the operand may itself be a
//! sum of two doubles. The series in s = f/(2 + f) is that of W. J. Cody and W. Waite (1980); the split of log(1 + f)
//! into f and a small rest is K. C. Ng's (fdlibm, 1993).

use crate::functions::coefficients::{ATANH_FULL, LN2, LN2_DD, LOG_SHORT, LOG2_E, LOG10_2, LOG10_E};
use crate::functions::float64::{Float64, MAGIC_EXPONENT, Precision, Sum, power_of_two, through_float64};
use crate::functions::logarithm_ends::special;
use crate::functions::near_coefficients::LOG_NEAR;
use crate::functions::{function, single};
use crate::ops::{Cmp, Ops};

function! {
    /// The natural logarithm
    Log
    /// log(1 + x)
    Log1p
    /// The logarithm to base 2
    Log2
    /// The logarithm to base 10
    Log10
}

through_float64!(unary_with_single Log log single::log; Log2 log2 single::log2; Log10 log10 single::log10; Log1p log1p single::log1p;);

/// The decomposition of a positive number into 2^e · (1 + f + low), where `e` is an integer, √½ ≤ 1 + f < √2, and `low`
/// is far below f's last place.
pub(crate) struct Split<O: Ops> {
    pub e: O::V<f64>,
    pub f: O::V<f64>,
    pub low: Option<O::V<f64>>,
}

/// The bits of √½, rounded to a multiple of 2^32.
const SQRT_HALF: u64 = 0x3fe6_a09e_0000_0000;

/// Decomposes a normal positive `x` = 2^e·(1 + f) into e and f.
#[inline(always)]
pub(crate) fn exponent_of<O: Ops>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::V<f64>) {
    let (e, m) = exponent_and_significand(o, x);
    (e, o.add_c(m, -1.0))
}

/// Decomposes a normal positive `x` = 2^e·(1 + f) into e and 1 + f.
#[inline(always)]
pub(crate) fn exponent_and_significand<O: Ops>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::V<f64>) {
    let bits = o.bits::<f64>(x);
    let shift = o.splat((1023u64 << 52) - SQRT_HALF);
    let moved = o.add::<u64>(bits, shift);
    let field = o.shr_const::<u64>(moved, 52);
    // The field, combined with the exponent of 2^52, is exactly the float 2^52 + field.
    let high = o.splat(0x4330_0000_0000_0000u64);
    let e = o.or::<u64>(field, high);
    let e = o.of_bits::<f64>(e);
    let e = o.add_c(e, -(4_503_599_627_370_496.0 + 1023.0));
    let low = o.splat((1u64 << 52) - 1);
    let m = o.and::<u64>(moved, low);
    let least = o.splat(SQRT_HALF);
    let m = o.add::<u64>(m, least);
    (e, o.of_bits::<f64>(m))
}

/// Decomposes a positive finite number.
#[inline(always)]
pub(crate) fn split<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> Split<O> {
    let zero = o.constant(0.0);
    if !P::FULL {
        // A subnormal float32 is a normal float64, so it needs no special case.
        let (e, f) = exponent_of(o, x);
        return Split { e, f, low: None };
    }
    let subnormal = o.is(x, Cmp::Lt, f64::MIN_POSITIVE);
    // Scales a subnormal by 2^54. A selection between two constants is the cheapest form of selection.
    let one = o.constant(1.0);
    let factor = o.put(subnormal, 18_014_398_509_481_984.0, one);
    let x = o.mul::<f64>(x, factor);
    let (e, f) = exponent_of(o, x);
    let less = o.put(subnormal, 54.0, zero);
    let e = o.sub::<f64>(e, less);
    Split { e, f, low: None }
}

/// Decomposes a normal positive number given as a sum of two doubles. `below` is an optional third addend,
/// which is far below the last place of `x`, or far below the distance of `x` from a power of two.
#[inline(always)]
pub(crate) fn split_sum<O: Ops, P: Precision>(o: &mut O, x: Sum<O>, below: Option<O::V<f64>>) -> Split<O> {
    let (e, f) = exponent_of(o, x.hi);
    // The factor 2^−e, which scales the low part. e is clamped, because beside the largest doubles the low part is
    // negligible.
    let held = if P::FULL { o.at_most(e, 1000.0) } else { e };
    let power = o.c_sub(MAGIC_EXPONENT, held);
    let power = power_of_two(o, power);
    let lo = o.mul::<f64>(x.lo, power);
    // f is 0 or larger than the low part, which is at most half an ulp of 1 + f.
    let f = o.fast_two_sum(f, lo);
    let low = match below {
        Some(below) => o.fma::<f64>(below, power, f.lo),
        None => f.lo,
    };
    Split { e, f: f.hi, low: Some(low) }
}

/// log(1 + f + low) − f in full precision, with an error of at most 2^−57: −f²/2 + s·(f²/2 + z·P(z)) for z = s² and s =
/// f/(2 + f), plus the contribution of `low`. `more` is added where this causes no additional rounding.
#[inline(always)]
fn log1p_rest<O: Ops>(o: &mut O, x: &Split<O>, more: O::V<f64>) -> O::V<f64> {
    let d = o.add_c(x.f, 2.0);
    let s = o.div::<f64>(x.f, d);
    let z = o.mul::<f64>(s, s);
    let p = o.polynomial(z, &ATANH_FULL);
    let half = o.mul_c(x.f, 0.5);
    let half_square = o.mul::<f64>(half, x.f);
    let p = o.fma::<f64>(z, p, half_square);
    let mut rest = o.fma::<f64>(s, p, more);
    if let Some(low) = x.low {
        // The derivative of log(1 + f) is 1/(1 + f) = (1 − s)/(1 + s).
        let slope = o.constant(-2.0);
        let slope = o.fma_c(s, 2.0, slope);
        let slope = o.fma_to_c(slope, s, 1.0);
        rest = o.fma::<f64>(low, slope, rest);
    }
    o.nfma(half, x.f, rest)
}

/// log(1 + f) in the precisions other than full, by a polynomial in f.
#[inline(always)]
fn log1p_short<O: Ops, P: Precision>(o: &mut O, f: O::V<f64>) -> O::V<f64> {
    let p = o.polynomial(f, P::pick(&LOG_NEAR, &LOG_NEAR, &LOG_SHORT));
    let p = o.fma_to_c(f, p, -0.5);
    let square = o.mul::<f64>(f, f);
    o.fma::<f64>(square, p, f)
}

/// e·ln 2 + log(1 + f); in full precision as a sum of two doubles.
#[inline(always)]
pub(crate) fn log_of_split<O: Ops, P: Precision>(o: &mut O, x: Split<O>) -> Sum<O> {
    if !P::FULL {
        let y = log1p_short::<O, P>(o, x.f);
        let hi = o.fma_c(x.e, LN2_DD[0], y);
        return o.just(hi);
    }
    let head = o.mul_c(x.e, LN2[0]);
    let y = o.fast_two_sum(head, x.f);
    let more = o.fma_c(x.e, LN2[1] + LN2[2], y.lo);
    let lo = log1p_rest(o, &x, more);
    Sum { hi: y.hi, lo }
}

/// `head` + `more` + log(1 + f)·`unit`, rounded once, apart from the error of the logarithm. `head` is 0, or
/// greater in magnitude than log(1 + f)·`unit`.
#[inline(always)]
fn log_to_base<O: Ops, P: Precision>(
    o: &mut O,
    head: O::V<f64>,
    more: Option<O::V<f64>>,
    x: &Split<O>,
    unit: [f64; 2],
) -> O::V<f64> {
    if !P::FULL {
        let y = log1p_short::<O, P>(o, x.f);
        let head = match more {
            Some(more) => o.add::<f64>(head, more),
            None => head,
        };
        return o.fma_c(y, unit[0], head);
    }
    let zero = o.constant(0.0);
    let rest = log1p_rest(o, x, zero);
    let y = o.fast_two_sum(x.f, rest);
    let product = o.sum_mul_c(y, unit);
    let sum = o.fast_two_sum(head, product.hi);
    let mut lo = o.add::<f64>(sum.lo, product.lo);
    if let Some(more) = more {
        lo = o.add::<f64>(lo, more);
    }
    o.add::<f64>(sum.hi, lo)
}

#[inline(always)]
pub(crate) fn log<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let parts = split::<O, P>(o, x);
    let y = log_of_split::<O, P>(o, parts);
    let y = if P::FULL { o.rounded(y) } else { y.hi };
    special::<O, f64>(o, x, y)
}

#[inline(always)]
pub(crate) fn log2<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let parts = split::<O, P>(o, x);
    let y = log_to_base::<O, P>(o, parts.e, None, &parts, LOG2_E);
    special::<O, f64>(o, x, y)
}

#[inline(always)]
pub(crate) fn log10<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let parts = split::<O, P>(o, x);
    let head = o.mul_c(parts.e, LOG10_2[0]);
    let more = o.mul_c(parts.e, LOG10_2[1] + LOG10_2[2]);
    let y = log_to_base::<O, P>(o, head, Some(more), &parts, LOG10_E);
    special::<O, f64>(o, x, y)
}

/// log(1 + x + below) as a sum of two doubles, for x above −1.
#[inline(always)]
pub(crate) fn log1p_of_sum<O: Ops, P: Precision>(
    o: &mut O,
    x: O::V<f64>,
    below: Option<O::V<f64>>,
) -> Sum<O> {
    let one = o.constant(1.0);
    let u = if P::FULL {
        o.two_sum(one, x)
    } else {
        // The sum is exact for x below 1. For larger x, either x is a float32 value, or the rounding error is
        // negligible.
        o.fast_two_sum(one, x)
    };
    let parts = split_sum::<O, P>(o, u, below);
    log_of_split::<O, P>(o, parts)
}

#[inline(always)]
pub(crate) fn log1p<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let y = log1p_of_sum::<O, P>(o, x, None);
    let y = if P::FULL { o.rounded(y) } else { y.hi };
    let finite = o.is(x, Cmp::Lt, f64::INFINITY);
    let y = o.select::<f64>(finite, y, x);
    let end = o.is(x, Cmp::Eq, -1.0);
    let nan = o.constant(f64::NAN);
    let below = o.put(end, f64::NEG_INFINITY, nan);
    let inside = o.is(x, Cmp::Gt, -1.0);
    let y = o.select::<f64>(inside, y, below);
    // The result has the sign of x, even if the result is zero.
    let sign = o.sign_of(x);
    o.with_sign(y, sign)
}
