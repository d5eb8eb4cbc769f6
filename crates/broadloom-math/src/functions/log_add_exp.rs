//! logaddexp: m + log1p(e^(k−m)) for m ≥ k. In float64 the exponential and the logarithm are sums of two doubles.
//!
//! The slow path computes results whose terms cancel, results close to 0, and results for infinite or NaN operands.
//! Elsewhere the exponential is therefore a normal number (e^−700 replaces smaller values), and 1 + e^(k−m) has an
//! exponent of 0 or 1.

use crate::functions::coefficients::{ATANH_FULL, EXP_FULL, LN2, LN2_DD, LOG2_E};
use crate::functions::exponential::{Reduced, exp_of_reduced, precise_exp_of_reduced, reduce};
use crate::functions::float64::{
    Float64, Full, MAGIC_EXPONENT, Precision, Sum, power_of_two, scale, scale_sum, through_float64,
};
use crate::functions::logarithm::log1p_of_sum;
use crate::functions::power::precise_log;
use crate::functions::sum_near_one::sum_less_one;
use crate::functions::{function, single};
use crate::host::Scalar;
use crate::ops::{Cmp, Ops, Rare2};

function! {
    /// log(e^x1 + e^x2)
    LogAddExp
}

through_float64!(binary_each LogAddExp in_short_precision single::logaddexp::<Cancelling, O>, logaddexp;);

/// e^(k−m) for m ≥ k, at least e^−700.
#[inline(always)]
fn exp_of_difference<O: Ops>(o: &mut O, m: O::V<f64>, k: O::V<f64>) -> Sum<O> {
    let minus_m = o.neg::<f64>(m);
    let d = o.two_sum(k, minus_m);
    let zero = o.constant(0.0);
    let far = o.is(d.hi, Cmp::Lt, -700.0);
    let hi = o.put(far, -700.0, d.hi);
    let lo = o.select::<f64>(far, zero, d.lo);
    // Computes n and r with d = n·ln 2 + r + lo, and 2^n.
    let magic = o.constant(MAGIC_EXPONENT);
    let t = o.fma_c(hi, LOG2_E[0], magic);
    let n = o.add_c(t, -MAGIC_EXPONENT);
    let r = o.fma_c(n, -LN2_DD[0], hi);
    let lo = o.fma_c(n, -LN2_DD[1], lo);
    let power = power_of_two(o, t);
    let y = precise_exp_of_reduced(o, Sum { hi: r, lo });
    Sum { hi: o.mul::<f64>(y.hi, power), lo: o.mul::<f64>(y.lo, power) }
}

/// The decomposition 1 + t = 2^e·(1 + f + low) with e = 0 or 1 and 1 + f below √2. The argument t, from 0 to
/// 1, is a sum of two doubles.
struct Split<O: Ops> {
    f: O::V<f64>,
    low: O::V<f64>,
    /// 2 + f
    d: O::V<f64>,
    /// The first 32 bits of e·ln 2; `tail` is the rest.
    head: O::V<f64>,
    tail: O::V<f64>,
}

#[inline(always)]
fn split<O: Ops>(o: &mut O, t: Sum<O>) -> Split<O> {
    // f is t for e = 0, and (t − 1)/2 for e = 1.
    let (zero, one) = (o.constant(0.0), o.constant(1.0));
    let large = o.is(t.hi, Cmp::Gt, std::f64::consts::SQRT_2 - 1.0);
    let factor = o.put(large, 0.5, one);
    let less = o.put(large, -0.5, zero);
    let f = o.fma::<f64>(t.hi, factor, less);
    let lost = o.sub::<f64>(less, f);
    let low = o.fma::<f64>(t.hi, factor, lost);
    let low = o.fma::<f64>(t.lo, factor, low);
    let d = o.add_c(f, 2.0);
    let head = o.put(large, LN2[0], zero);
    let tail = o.put(large, LN2[1] + LN2[2], zero);
    Split { f, low, d, head, tail }
}

/// log(1 + t) for t from 0 to 1, given as a sum of two doubles, with a relative error of at most 2^−56.9: the
/// cubic term, which is at most a hundredth of the result, has five roundings, and the error of the series is
/// 2^−59.4.
#[inline(always)]
fn log1p<O: Ops>(o: &mut O, t: Sum<O>) -> Sum<O> {
    let Split { f, low, d, head, tail } = split(o, t);
    // s = (f + low)/(2 + f + low), where `low` is taken into account to first order.
    let one = o.constant(1.0);
    let inverse = o.div::<f64>(one, d);
    let s = o.mul::<f64>(f, inverse);
    let rest = o.fma_c(s, -2.0, f);
    let rest = o.nfma(s, f, rest);
    let more = o.nfma(s, low, low);
    let rest = o.add::<f64>(rest, more);
    let s_low = o.mul::<f64>(rest, inverse);
    let z = o.mul::<f64>(s, s);
    let p = o.polynomial(z, &ATANH_FULL);
    let cube = o.mul::<f64>(s, z);
    let two = o.constant(2.0);
    let slope = o.fma::<f64>(z, two, two);
    let hi = o.fma::<f64>(s, two, head);
    let kept = o.sub::<f64>(head, hi);
    let lo = o.fma::<f64>(s, two, kept);
    let lo = o.add::<f64>(lo, tail);
    let lo = o.fma::<f64>(s_low, slope, lo);
    let lo = o.fma::<f64>(cube, p, lo);
    Sum { hi, lo }
}

/// The smallest magnitude of a result of the fast path. Exponentials below e^−700 are replaced by e^−700,
/// which is negligible only for results above this bound; smaller results take the slow path.
const LEAST: f64 = 1e-270;

/// Returns m + l and l, where l = log(1 + e^(k−m)), for finite m ≥ k. The relative error of l is at most
/// 2^−56.2, of which the exponential contributes 2^−57.2, the logarithm the rest.
#[inline(always)]
fn full_sum<O: Ops>(o: &mut O, m: O::V<f64>, k: O::V<f64>) -> (O::V<f64>, O::V<f64>) {
    let t = exp_of_difference(o, m, k);
    let l = log1p(o, t);
    let y = o.two_sum(m, l.hi);
    let lo = o.add::<f64>(y.lo, l.lo);
    (o.add::<f64>(y.hi, lo), l.hi)
}

/// log(e^x1 + e^x2)
#[inline(always)]
pub(crate) fn logaddexp<O: Ops>(o: &mut O, x1: O::V<f64>, x2: O::V<f64>) -> O::V<f64> {
    let first = o.cmp::<f64>(Cmp::Ge, x1, x2);
    let m = o.select::<f64>(first, x1, x2);
    let k = o.select::<f64>(first, x2, x1);
    let (y, l) = full_sum(o, m, k);
    // If m and l nearly cancel, the error of l matters. A sum of at least l/4 has a relative error of 2^−54.2
    // before it is rounded, which is less than 0.44 ulp. For infinite operands the sum is NaN, so they take
    // the slow path as well.
    let magnitude = o.abs(y);
    let four = o.constant(4.0);
    let scaled = o.fma_to_c(magnitude, four, -4.0 * LEAST);
    let ordinary = o.cmp::<f64>(Cmp::Ge, scaled, l);
    let exceptional = o.mask_not::<f64>(ordinary);
    o.rare2::<Exceptional, f64>(exceptional, m, k, y)
}

/// The slow path of logaddexp, where the sum of the exponentials is near 1, or an operand is infinite or NaN.
pub(crate) struct Exceptional;

impl Rare2<f64> for Exceptional {
    #[inline(always)]
    fn call(a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return a + b;
        }
        let (m, k) = if a >= b { (a, b) } else { (b, a) };
        if m.is_infinite() || k - m < -800.0 {
            // log 1 is +0, even if m is −0: adding 0.0 turns −0 into +0.
            return m + 0.0;
        }
        // For m ≥ 0 nothing cancels, and below e^−600 an exponential t equals log(1 + t) to float64 precision.
        let is_small = m >= 0.0 || k - m < -600.0;
        let ((y, l), digits) = if is_small { (small_sum(m, k), 4.0) } else { (precise_sum(m, k), 64.0) };
        if m >= 0.0 || y.abs() * digits >= l {
            return y;
        }
        // The terms cancel, so the result is computed as log1p(e^m + e^k − 1), with the argument in fixed point.
        let t = sum_less_one(m, k);
        if t.is_tiny() {
            return t.rounded();
        }
        let [hi, lo] = t.parts();
        let y = log1p_of_sum::<_, Full>(&mut Scalar, hi, Some(lo));
        y.hi + y.lo
    }
}

/// Returns m + l and l, where l = log(1 + e^(k−m)) has a relative error of about 2^−62.
fn precise_sum(m: f64, k: f64) -> (f64, f64) {
    let o = &mut Scalar;
    let d = o.two_sum(k, -m);
    let reduced = reduce::<_, Full>(o, d.hi);
    let (n, r, rest) = (reduced.n, reduced.r.hi, reduced.r.lo + d.lo);
    // e^r = 1 + r + r²/2 + r³/6 + r⁴·q, with the first four terms exact or as sums of two doubles.
    let q = o.polynomial(r, &EXP_FULL[2..]);
    let half_square = o.two_product(0.5 * r, r);
    let cube = o.sum_mul_c(half_square, [r, 0.0]);
    let cube = o.sum_mul_c(cube, [2.0 * EXP_FULL[1], 0.0]);
    let y = o.fast_two_sum(1.0, r);
    let z = o.fast_two_sum(y.hi, half_square.hi);
    let w = o.fast_two_sum(z.hi, cube.hi);
    let lo = (r * r) * (r * r) * q + (y.lo + half_square.lo + z.lo + cube.lo + w.lo);
    let lo = lo + rest * (w.hi + lo);
    let t = o.fast_two_sum(w.hi, lo);
    let t = scale_sum::<_, Full>(o, t, n);
    let Split { f, low, d, head, tail } = split(o, t);
    let l = precise_log(o, f, d, Some(low), head, |_, lo| lo + tail);
    let y = o.two_sum(m, l.hi);
    (y.hi + (y.lo + l.lo), l.hi)
}

/// Returns m + t and t, where t = e^(k−m). The relative error of t is at most 2^−57.2; if a part of t is
/// subnormal, its absolute error is 2^−1074 · 3/4. The sum has no correct digits where the terms cancel.
fn small_sum(m: f64, k: f64) -> (f64, f64) {
    let o = &mut Scalar;
    let reduced = reduce::<_, Full>(o, k - m);
    let t = precise_exp_of_reduced(o, reduced.r);
    let t = scale_sum::<_, Full>(o, t, reduced.n);
    let y = o.two_sum(m, t.hi);
    (y.hi + (y.lo + t.lo), t.hi)
}

/// m + log(1 + e^(k−m)) for finite m ≥ k, in a precision below [`Full`], which does not compute the rounding errors of
/// the terms.
#[inline(always)]
fn log_of_sum<O: Ops, P: Precision>(o: &mut O, m: O::V<f64>, k: O::V<f64>) -> O::V<f64> {
    let d = o.sub::<f64>(k, m);
    let d = o.at_least(d, -200.0);
    let Reduced { n, r } = reduce::<O, P>(o, d);
    let t = exp_of_reduced::<O, P>(o, r);
    let t = o.rounded(t);
    let t = scale::<O, P>(o, t, n);
    let l = log1p_of_sum::<O, P>(o, t, None);
    let y = o.add::<f64>(m, l.hi);
    // Where the terms nearly cancel, which requires a negative m, the errors of the terms matter.
    let magnitude = o.abs(y);
    let scaled = o.mul_c(magnitude, 128.0);
    let cancels = o.cmp::<f64>(Cmp::Lt, scaled, l.hi);
    let below = o.is(m, Cmp::Lt, 0.0);
    let flagged = o.mask_and::<f64>(cancels, below);
    o.rare2::<Exceptional, f64>(flagged, m, k, y)
}

/// logaddexp in short precision, for float32 and float16 results.
#[inline(always)]
fn in_short_precision<O: Ops, P: Precision>(o: &mut O, x1: O::V<f64>, x2: O::V<f64>) -> O::V<f64> {
    let first = o.cmp::<f64>(Cmp::Ge, x1, x2);
    let m = o.select::<f64>(first, x1, x2);
    let k = o.select::<f64>(first, x2, x1);
    let y = log_of_sum::<O, P>(o, m, k);
    // If both operands are the same infinity, k − m is NaN, and the result is m. If one operand is NaN, it is either m,
    // and has propagated to y, or it is k.
    let magnitude = o.abs(m);
    let infinite = o.is(magnitude, Cmp::Eq, f64::INFINITY);
    let y = o.select::<f64>(infinite, m, y);
    let nan = o.cmp::<f64>(Cmp::Ne, k, k);
    o.select::<f64>(nan, k, y)
}

/// The smallest |y|/l at which a logarithm l with an error of 2^−59 is still precise enough for a float32 result y.
const ENOUGH: f64 = 1.0 / (1u64 << 30) as f64;

/// logaddexp of finite float32 operands where the terms cancel.
struct Cancelling;

impl Rare2<f32> for Cancelling {
    #[inline(always)]
    fn call(a: f32, b: f32) -> f32 {
        let (m, k) = if a >= b { (f64::from(a), f64::from(b)) } else { (f64::from(b), f64::from(a)) };
        let (y, l) = full_sum(&mut Scalar, m, k);
        // At least 29 of the 59 correct bits of the logarithm remain.
        if y.abs() >= l * ENOUGH { y as f32 } else { Exceptional::call(m, k) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::LogAddExp;
    use crate::ops::Binary;

    fn logaddexp(x1: f64, x2: f64) -> f64 {
        <LogAddExp as Binary<f64>>::call(&mut Scalar, x1, x2)
    }

    /// e^x2 is subnormal here, and must not be rounded a second time by the series. Expected values, in units
    /// of 2^−1074: mpmath, e^−725 = 277150689.43…, e^−730 = 1867426.66…, e^−735 = 12582.62….
    #[test]
    fn a_subnormal_term_of_logaddexp_is_left_alone() {
        for (x2, exact) in [(-725.0, 277150689.43), (-730.0, 1867426.66), (-735.0, 12582.62)] {
            let got = logaddexp(0.0, x2).to_bits() as f64;
            assert!((got - exact).abs() < 1.0, "logaddexp(0, {x2}) is {got} units, not {exact}");
        }
    }

    /// The value e^−700, which replaces smaller exponentials, must not affect a result. Here the larger
    /// operand m is tiny or zero, and the result must be m.
    #[test]
    fn a_term_far_below_a_small_one_adds_nothing() {
        for m in [0.0, 5e-324, 1e-310, 1e-300, 1e-290, -1e-300, -5e-324, 1e-271, 1e-200, 3.0] {
            for k in [f64::NEG_INFINITY, f64::MIN, -1e9, -801.0] {
                assert_eq!(logaddexp(m, k), m, "logaddexp({m}, {k})");
                assert_eq!(logaddexp(k, m), m, "logaddexp({k}, {m})");
            }
        }
    }

    /// Results close to 0 are correct to an ulp. Expected values: mpmath, m + log1p(e^(k − m)) with 800 digits.
    #[test]
    fn results_next_to_nothing_have_their_digits() {
        for (m, k, exact) in EXPECTED {
            let got = logaddexp(m, k);
            let ulp = got.abs().next_up() - got.abs();
            assert!((got - exact).abs() <= ulp, "logaddexp({m}, {k}) is {got}, not {exact}");
        }
    }

    const EXPECTED: [(f64, f64, f64); 12] = [
        (1e-300, -700.0, 1.0000985967654377e-300),
        (1e-290, -690.0, 1.0000000002171738e-290),
        (-1e-300, -690.0, 1.171738281389827e-300),
        (-1e-300, -750.0, -1e-300),
        (-1e-305, -702.0, 3.343621176711151e-306),
        (-5e-324, -744.0, 5e-324),
        (-1e-320, -735.0, 5.217e-320),
        (3e-305, -700.0, 1.285967654375977e-304),
        (-1e-271, -640.0, -9.999998874017652e-272),
        (0.0, -690.0, 2.171738281389827e-300),
        (-0.0, -650.0, 5.111951948651156e-283),
        (-9.85967654375977e-305, -700.0, 8.5e-322),
    ];
}
