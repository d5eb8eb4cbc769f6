//! sinh, cosh and tanh, and their inverses, computed in float64. With |x| = n·ln 2 + r and q = 2^−2n, the identities
//! 2^(1−n)·sinh|x| = (1 − q)·cosh r + (1 + q)·sinh r and 2^(1−n)·cosh x = (1 + q)·cosh r + (1 − q)·sinh r hold for all
//! arguments, so that each function is one formula without branches. tanh is also one formula, a single quotient. The
//! inverses are logarithms of sums of two doubles.

use crate::functions::coefficients::{LN2_DD, LOG2_E, TANH_FULL, TANH_SHORT};
use crate::functions::exponential::{Reduced, even_and_odd, reciprocal_power, reduce};
use crate::functions::float64::{
    Float64, Full, MAGIC_EXPONENT, Precision, Sum, power_of_two, scale, through_float64,
};
use crate::functions::logarithm::{log_of_split, log1p_of_sum, split, split_sum};
use crate::functions::near_coefficients::TANH_NEAR;
use crate::functions::{function, single};
use crate::host::Scalar;
use crate::ops::{Cmp, Ops, Rare2};

function! {
    /// The hyperbolic sine
    Sinh
    /// The hyperbolic cosine
    Cosh
    /// The hyperbolic tangent
    Tanh
    /// The inverse hyperbolic sine
    Asinh
    /// The inverse hyperbolic cosine, not negative
    Acosh
    /// The inverse hyperbolic tangent
    Atanh
}

through_float64!(unary_with_single Sinh sinh single::sinh; Cosh cosh single::cosh; Tanh tanh single::tanh; Asinh asinh single::asinh; Acosh acosh single::acosh; Atanh atanh single::atanh;);

/// The common parts of sinh and cosh of n·ln 2 + r, with q = 2^−2n: `minus` is 1 − q and `plus` is 1 + q, both exact;
/// `r` is the remainder; `even` is cosh r − 1, and `odd` is sinh r − r.
struct HyperbolicParts<O: Ops> {
    n: O::V<f64>,
    minus: Sum<O>,
    plus: Sum<O>,
    r: Sum<O>,
    even: O::V<f64>,
    odd: O::V<f64>,
}

#[inline(always)]
fn parts<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> HyperbolicParts<O> {
    let Reduced { n, r } = reduce::<O, P>(o, x);
    let (even, odd) = even_and_odd::<O, P>(o, r.hi);
    let q = reciprocal_power(o, n, 2.0);
    let one = o.constant(1.0);
    let (minus, plus, r) = if P::FULL {
        let minus_q = o.neg::<f64>(q);
        (o.fast_two_sum(one, minus_q), o.fast_two_sum(one, q), r)
    } else {
        let (minus, plus) = (o.sub::<f64>(one, q), o.add::<f64>(one, q));
        let hi = o.add::<f64>(r.hi, r.lo);
        (o.just(minus), o.just(plus), o.just(hi))
    };
    HyperbolicParts { n, minus, plus, r, even, odd }
}

/// a·cosh r + b·sinh r, where a and b are 1 − q and 1 + q, in either order.
#[inline(always)]
fn combine<O: Ops, P: Precision>(o: &mut O, p: &HyperbolicParts<O>, a: Sum<O>, b: Sum<O>) -> Sum<O> {
    let small = o.mul::<f64>(b.hi, p.odd);
    let small = o.fma::<f64>(a.hi, p.even, small);
    if !P::FULL {
        let large = o.fma::<f64>(b.hi, p.r.hi, a.hi);
        return Sum { hi: large, lo: small };
    }
    let product = o.two_product(b.hi, p.r.hi);
    let sum = o.fast_two_sum(a.hi, product.hi);
    let lo = o.add::<f64>(product.lo, a.lo);
    let lo = o.fma::<f64>(b.lo, p.r.hi, lo);
    let lo = o.fma::<f64>(b.hi, p.r.lo, lo);
    let lo = o.add::<f64>(lo, small);
    let lo = o.add::<f64>(lo, sum.lo);
    Sum { hi: sum.hi, lo }
}

/// |x|, clamped to a bound above which the result is infinite.
#[inline(always)]
fn bounded<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let x = o.abs(x);
    o.at_most(x, if P::FULL { 712.0 } else { 200.0 })
}

#[inline(always)]
pub(crate) fn sinh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = bounded::<O, P>(o, x);
    let p = parts::<O, P>(o, a);
    let y = combine::<O, P>(o, &p, p.minus, p.plus);
    let y = o.rounded(y);
    let n = o.add_c(p.n, -1.0);
    let y = scale::<O, P>(o, y, n);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[inline(always)]
pub(crate) fn cosh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = bounded::<O, P>(o, x);
    let p = parts::<O, P>(o, a);
    let y = combine::<O, P>(o, &p, p.plus, p.minus);
    let y = o.rounded(y);
    let n = o.add_c(p.n, -1.0);
    scale::<O, P>(o, y, n)
}

/// tanh x. With |x| = n·ln 2/2 + r, p = 2^n and t = tanh r, tanh |x| is ((p − 1) + (p + 1)·t)/((p + 1) + (p − 1)·t).
#[inline(always)]
pub(crate) fn tanh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    // Arguments above 18.53 are clamped to it, where the formula gives the largest double below 1. At the
    // end, the result is replaced by 1 for arguments above a second bound.
    let held = o.at_most(a, 18.53);
    let magic = o.constant(MAGIC_EXPONENT);
    // n is rounded from a slightly smaller argument, so that (p + 1)·t is above −1/2 for p = 2 and `multiply_add` is
    // exact.
    let less = o.add_c(held, -0.006);
    let power = o.fma_c(less, 2.0 * LOG2_E[0], magic);
    let n = o.add_c(power, -MAGIC_EXPONENT);
    let r = o.fma_c(n, -0.5 * LN2_DD[0], held);
    let power = power_of_two(o, power);
    // p − 1 is computed as (p + 1) − 2, so that the two differ by 2 even where p + 1 rounds to p.
    let plus = o.add_c(power, 1.0);
    let minus = o.add_c(plus, -2.0);
    let square = o.mul::<f64>(r, r);
    let q = o.polynomial(square, P::pick(&TANH_FULL, &TANH_NEAR, &TANH_SHORT));
    let cube = o.mul::<f64>(square, r);
    let y = if P::FULL {
        let rest = o.mul_c(n, -0.5 * LN2_DD[1]);
        let rest = o.fma::<f64>(cube, q, rest);
        let t = o.fast_two_sum(r, rest);
        let mut sine = multiply_add(o, plus, t.hi, minus);
        let mut cosine = multiply_add(o, minus, t.hi, plus);
        sine.lo = o.fma::<f64>(plus, t.lo, sine.lo);
        cosine.lo = o.fma::<f64>(minus, t.lo, cosine.lo);
        // The quotient y, corrected by the remainder that it leaves.
        let one = o.constant(1.0);
        let inverse = o.div::<f64>(one, cosine.hi);
        let y = o.mul::<f64>(sine.hi, inverse);
        let left = o.nfma(y, cosine.hi, sine.hi);
        let left = o.add::<f64>(left, sine.lo);
        let left = o.nfma(y, cosine.lo, left);
        let y = o.fma::<f64>(left, inverse, y);
        let end = o.is(a, Cmp::Gt, 19.06154746539849);
        o.put(end, 1.0, y)
    } else {
        let t = o.fma::<f64>(cube, q, r);
        let sine = o.fma::<f64>(plus, t, minus);
        let cosine = o.fma::<f64>(minus, t, plus);
        o.div::<f64>(sine, cosine)
    };
    o.with_sign(y, sign)
}

/// `a · b + c` exactly, if c is 0 or the sum is between c/2 and 2·c.
#[inline(always)]
fn multiply_add<O: Ops>(o: &mut O, a: O::V<f64>, b: O::V<f64>, c: O::V<f64>) -> Sum<O> {
    let hi = o.fma::<f64>(a, b, c);
    let kept = o.sub::<f64>(c, hi);
    let lo = o.fma::<f64>(a, b, kept);
    Sum { hi, lo }
}

/// Above this bound x² may overflow. √(x² ± 1) equals x to float64 precision from much smaller arguments on.
const LARGE: f64 = 1e150;

/// log(2x) for x above [`LARGE`], the limit of asinh and acosh.
struct LogOfDouble;

impl Rare2<f64> for LogOfDouble {
    #[inline(always)]
    fn call(x: f64, _: f64) -> f64 {
        let o = &mut Scalar;
        let mut parts = split_sum::<_, Full>(o, Sum { hi: x, lo: 0.0 }, None);
        parts.e += 1.0;
        let y = log_of_split::<_, Full>(o, parts);
        y.hi + y.lo
    }
}

/// log(x + √(x² + c)), for c = 1 and x ≥ 0, or for c = −1 and x ≥ 1.
#[inline(always)]
fn log_of_root_sum<O: Ops>(o: &mut O, x: O::V<f64>, c: f64) -> O::V<f64> {
    let square = o.two_product(x, x);
    let one = o.constant(c);
    // For c = −1, x² is at least 1. For c = 1 it may be smaller, so the operands of the sum are not ordered.
    let w = if c < 0.0 { o.fast_two_sum(square.hi, one) } else { o.two_sum(square.hi, one) };
    let lo = o.add::<f64>(w.lo, square.lo);
    let root = o.sqrt::<f64>(w.hi);
    let rest = o.nfma(root, root, w.hi);
    let rest = o.add::<f64>(rest, lo);
    let double = o.add::<f64>(root, root);
    // The addend prevents 0/0 for a root of 0, whose remainder is 0.
    let double = o.add_c(double, 1e-300);
    let lo = o.div::<f64>(rest, double);
    let sum = if c < 0.0 { o.fast_two_sum(x, root) } else { o.fast_two_sum(root, x) };
    let lo = o.add::<f64>(sum.lo, lo);
    let parts = split_sum::<O, Full>(o, Sum { hi: sum.hi, lo }, None);
    let y = log_of_split::<O, Full>(o, parts);
    let y = o.rounded(y);
    let large = o.is(x, Cmp::Gt, LARGE);
    let finite = o.is(x, Cmp::Lt, f64::INFINITY);
    let large = o.mask_and::<f64>(large, finite);
    let y = o.rare2::<LogOfDouble, f64>(large, x, x, y);
    // The logarithms of infinity and NaN are infinity and NaN.
    let zero = o.constant(0.0);
    let above = o.select::<f64>(finite, zero, x);
    let y = o.select::<f64>(finite, y, above);
    o.add::<f64>(y, above)
}

/// Selects `x` where it is infinite or NaN, else `y`.
#[inline(always)]
fn unless_endless<O: Ops>(o: &mut O, x: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let finite = o.is(x, Cmp::Lt, f64::INFINITY);
    o.select::<f64>(finite, y, x)
}

#[inline(always)]
pub(crate) fn asinh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let y = if P::FULL {
        log_of_root_sum(o, a, 1.0)
    } else {
        // x + √(1 + x²) − 1 = x + x²/(1 + √(1 + x²)). The square of a float32 does not overflow in float64.
        let square = o.mul::<f64>(a, a);
        let root = o.add_c(square, 1.0);
        let root = o.sqrt::<f64>(root);
        let root = o.add_c(root, 1.0);
        let part = o.div::<f64>(square, root);
        let hi = o.add::<f64>(a, part);
        let y = log1p_of_sum::<O, P>(o, hi, None).hi;
        unless_endless(o, a, y)
    };
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[inline(always)]
pub(crate) fn acosh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let y = if P::FULL {
        log_of_root_sum(o, x, -1.0)
    } else {
        // A float32 above 1 is at least 1 + 2^−23, so that float64 has digits enough for x² − 1 and for the logarithm
        // of a sum near 1.
        let inner = o.fma_to_c(x, x, -1.0);
        let root = o.sqrt::<f64>(inner);
        let sum = o.add::<f64>(x, root);
        let parts = split::<O, P>(o, sum);
        let y = log_of_split::<O, P>(o, parts).hi;
        unless_endless(o, x, y)
    };
    let below = o.is(x, Cmp::Lt, 1.0);
    let nan = o.splat(f64::from_bits(u64::MAX));
    let zero = o.constant(0.0);
    let below = o.select::<f64>(below, nan, zero);
    o.add::<f64>(y, below)
}

#[inline(always)]
pub(crate) fn atanh<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    // Uses log((1 + a)/(1 − a)) = log1p(2a/(1 − a)).
    let one = o.constant(1.0);
    let double = o.add::<f64>(a, a);
    let t = if P::FULL {
        let minus = o.neg::<f64>(a);
        let d = o.fast_two_sum(one, minus);
        let double = o.just(double);
        o.sum_div(double, d)
    } else {
        let d = o.sub::<f64>(one, a);
        let hi = o.div::<f64>(double, d);
        o.just(hi)
    };
    let y = log1p_of_sum::<O, P>(o, t.hi, P::FULL.then_some(t.lo));
    let y = if P::FULL { o.rounded(y) } else { y.hi };
    let y = o.mul_c(y, 0.5);
    let end = o.is(a, Cmp::Eq, 1.0);
    let y = o.put(end, f64::INFINITY, y);
    let inside = o.is(a, Cmp::Le, 1.0);
    let nan = o.constant(f64::NAN);
    let y = o.select::<f64>(inside, y, nan);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Unary;

    /// Arguments of tanh: where 2^n changes, just above the point where the numerator cancels the most, where 2^n + 1
    /// rounds to 2^n, on both sides of the last two steps of the result, and at the ends of the range. Expected values:
    /// mpmath.
    #[test]
    fn tanh_is_the_nearest_where_a_rounding_error_that_is_forgotten_shows() {
        for (x, y) in [
            (1e-310, 1e-310),
            (0.125, 0.12435300177159621),
            (0.17342740119391453, 0.17170933895898802),
            (0.1743, 0.17255608289175425),
            (0.18, 0.1780808681173302),
            (17.862472225242527, 0.9999999999999993),
            (18.195113489698567, 0.9999999999999997),
            (18.51, 0.9999999999999998),
            (18.515, 0.9999999999999999),
            (19.0615, 0.9999999999999999),
            (19.0616, 1.0),
            (1e300, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            let got = [x, -x].map(|x| <Tanh as Unary<f64>>::call(&mut Scalar, x));
            assert_eq!(got, [y, -y], "tanh {x}");
        }
        assert!(<Tanh as Unary<f64>>::call(&mut Scalar, f64::NAN).is_nan());
    }
}
