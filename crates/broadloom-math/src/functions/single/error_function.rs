//! erf and erfc of float32. Near 0 both are computed from x times an even polynomial. Farther out, erf is 1
//! minus the exponential of a polynomial. There, erfc is the product of exp(−x²), w = 1/(1 + x), and a
//! function of w that hardly changes; each factor is a sum of two float32.

use crate::functions::coefficients::{
    ERF_SINGLE, ERF_SLOPE_SINGLE, ERFC_LOG_POINT, ERFC_LOG_SINGLE, ERFC_LOG_THERE, ERFC_SINGLE,
    ERFC_SINGLE_POINT, ERFC_SINGLE_THERE, EXP_SINGLE, EXP2_SINGLE, LN2_SINGLE, LOG2_E_SINGLE,
};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23. Adding it to a number of magnitude below 2^22 leaves the nearest integer in the low bits.
const INTEGER_MAGIC: f32 = 12_582_912.0;

/// Up to this bound erf is an odd polynomial; above it erf is 1 minus an exponential, which is below 1/4.
const FAR: f32 = 0.814;

/// erf x
#[inline(always)]
pub(crate) fn erf<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let q = near_factor(o, a);
    let near = o.fma::<f32>(a, q, a);
    // The exponential is 2^(ERFC_LOG_THERE + v·P(v)); the fractional part of its exponent is rounded only once. From 4
    // on, the result rounds to 1.
    let b = o.at_most(a, 4.0);
    let v = o.add_c(b, -ERFC_LOG_POINT);
    let p = polynomial::<O, f32>(o, v, &ERFC_LOG_SINGLE);
    let (magic, there) = (o.splat(INTEGER_MAGIC), o.splat(ERFC_LOG_THERE));
    let t = o.fma::<f32>(v, p, there);
    let t = o.add::<f32>(t, magic);
    let n = o.sub::<f32>(t, magic);
    let f = o.sub::<f32>(there, n);
    let f = o.fma::<f32>(v, p, f);
    let p = polynomial::<O, f32>(o, f, &EXP2_SINGLE);
    let e = o.fma_to_c(f, p, 1.0);
    let power = o.bits::<f32>(t);
    let power = o.shl_const::<u32>(power, 23);
    let e = o.bits::<f32>(e);
    let e = o.add::<u32>(e, power);
    let e = o.of_bits::<f32>(e);
    let far = o.c_sub(1.0, e);
    // A NaN compares false and takes the formula for arguments near 0.
    let is_far = o.is(a, Cmp::Ge, FAR);
    let y = o.select::<f32>(is_far, far, near);
    o.with_sign(y, sign)
}

/// erf(x)/x − 1 for |x| up to [`FAR`], which erfc also uses near 0.
#[inline(always)]
fn near_factor<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let u = o.mul::<f32>(x, x);
    let p = headed(o, u, &ERF_SINGLE);
    o.fma_to_c(u, p, ERF_SLOPE_SINGLE)
}

/// Evaluates the polynomial with these coefficients, adding the first one in a separate last step. As a
/// result only one rounding is as large as the first coefficients, where [`polynomial`] has several.
#[inline(always)]
fn headed<O: Ops>(o: &mut O, x: F<O>, coefficients: &'static [f32]) -> F<O> {
    let p = polynomial::<O, f32>(o, x, &coefficients[1..]);
    o.fma_to_c(x, p, coefficients[0])
}

/// 1.5 · 2^23 plus twice the exponent bias: the sum of an integer n and this number has n + 254 in its low bits.
const SCALE_MAGIC: f32 = INTEGER_MAGIC + 254.0;

/// exp(−a²) divided by 2^n, as a sum of two float32, and n + [`SCALE_MAGIC`].
#[inline(always)]
fn exp_of_minus_square<O: Ops>(o: &mut O, a: F<O>) -> (Sum<O>, F<O>) {
    let square = o.two_product(a, a);
    // −a² = n·ln 2 + r + c, where r is exact.
    let (magic, factor) = (o.splat(SCALE_MAGIC), o.splat(-LOG2_E_SINGLE[0]));
    let t = o.fma::<f32>(square.hi, factor, magic);
    let n = o.sub::<f32>(t, magic);
    let minus = o.neg::<f32>(square.hi);
    let r = o.fma_c(n, -LN2_SINGLE[0], minus);
    let minus = o.neg::<f32>(square.lo);
    let c = o.fma_c(n, -LN2_SINGLE[1], minus);
    // Uses e^r = 1 + r + r²·q.
    let q = headed(o, r, &EXP_SINGLE);
    let square = o.mul::<f32>(r, r);
    let one = o.splat(1.0f32);
    let first = o.fast_two_sum(one, r);
    let lo = o.fma::<f32>(square, q, first.lo);
    let y = o.fast_two_sum(first.hi, lo);
    // The correction c may be as large as 2^−18, far more than r's last place.
    let lo = o.fma::<f32>(c, y.hi, y.lo);
    (Sum { hi: y.hi, lo }, t)
}

/// From this bound on, erfc is computed as a product with exp(−x²).
const PRODUCT: f32 = 0.6;

/// erfc x
#[inline(always)]
pub(crate) fn erfc<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // Near 0, erfc is (1 − x) − x·q. The rounding error of the first difference is carried exactly, as |x| is below 1.
    let one = o.splat(1.0f32);
    let q = near_factor(o, x);
    let minus = o.neg::<f32>(x);
    let first = o.fast_two_sum(one, minus);
    let rest = o.fma::<f32>(minus, q, first.lo);
    let near = o.add::<f32>(first.hi, rest);
    // Above this bound the result is 0.
    let a = o.abs(x);
    let b = o.at_most(a, 10.5);
    let (e, n) = exp_of_minus_square(o, b);
    // w = 1/(1 + b). The sum is carried exactly, since 1 is a multiple of its last place.
    let d = o.fast_two_sum(one, b);
    let w = o.div::<f32>(one, d.hi);
    let rest = o.nfma(w, d.hi, one);
    let rest = o.nfma(w, d.lo, rest);
    let w_low = o.mul::<f32>(w, rest);
    // The approximated function, w·(ERFC_SINGLE_THERE + t·P(t)).
    let there = o.splat(ERFC_SINGLE_THERE);
    let t = o.add_c(w, -ERFC_SINGLE_POINT);
    let p = headed(o, t, &ERFC_SINGLE);
    let s = o.fma::<f32>(t, p, there);
    let kept = o.sub::<f32>(there, s);
    let s_low = o.fma::<f32>(t, p, kept);
    let s_low = o.fma::<f32>(w_low, p, s_low);
    let g = o.two_product(w, s);
    let g_low = o.fma::<f32>(w, s_low, g.lo);
    let g_low = o.fma::<f32>(w_low, s, g_low);
    let y = o.mul::<f32>(e.hi, g_low);
    let y = o.fma::<f32>(e.lo, g.hi, y);
    let y = o.fma::<f32>(e.hi, g.hi, y);
    // 2^n as a product of two factors, since it may not be a float32.
    let bits = o.bits::<f32>(n);
    let half = o.shr_const::<u32>(bits, 1);
    let other = o.sub::<u32>(bits, half);
    let half = o.shl_const::<u32>(half, 23);
    let other = o.shl_const::<u32>(other, 23);
    let (half, other) = (o.of_bits::<f32>(half), o.of_bits::<f32>(other));
    let y = o.mul::<f32>(y, half);
    let y = o.mul::<f32>(y, other);
    // erfc(−a) = 2 − erfc(a). A NaN compares false and takes the formula for arguments near 0.
    let rest = o.c_sub(2.0, y);
    let negative = o.is(x, Cmp::Lt, 0.0);
    let y = o.select::<f32>(negative, rest, y);
    let is_far = o.is(a, Cmp::Ge, PRODUCT);
    o.select::<f32>(is_far, y, near)
}
