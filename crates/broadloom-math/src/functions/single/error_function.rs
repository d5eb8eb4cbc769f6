//! erf and erfc of float32. Near 0 both come from x times an even polynomial. Farther out erf is 1 less an exponential of a
//! polynomial, and erfc is exp(−x²) times the reciprocal of 1 + x times a function of that reciprocal that hardly changes, with
//! every factor carried as two float32.

use crate::functions::coefficients::{
    ERF_SINGLE, ERF_SLOPE_SINGLE, ERFC_LOG_POINT, ERFC_LOG_SINGLE, ERFC_LOG_THERE, ERFC_SINGLE,
    ERFC_SINGLE_POINT, ERFC_SINGLE_THERE, EXP_SINGLE, EXP2_SINGLE, LN2_SINGLE, LOG2_E_SINGLE,
};
use crate::functions::compare::magnitude;
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23: added to a number below 2^22 it leaves the nearest integer in the low bits.
const INTEGER_MAGIC: f32 = 12_582_912.0;

/// Up to here erf is an odd polynomial, above it 1 less an exponential, which is below 1/4.
const FAR: f32 = 0.814;

/// erf x
#[inline(always)]
pub(crate) fn erf<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let q = near_factor(o, a);
    let near = o.fma::<f32>(a, q, a);
    // 2^(there + v·P(v)), where what is not an integer of the exponent is rounded but once. From 4 on the result rounds to 1.
    let four = o.splat(4.0f32);
    let above = o.cmp::<f32>(Cmp::Lt, four, a);
    let b = o.select::<f32>(above, four, a);
    let point = o.splat(ERFC_LOG_POINT);
    let v = o.sub::<f32>(b, point);
    let p = polynomial::<O, f32>(o, v, &ERFC_LOG_SINGLE);
    let (magic, there) = (o.splat(INTEGER_MAGIC), o.splat(ERFC_LOG_THERE));
    let t = o.fma::<f32>(v, p, there);
    let t = o.add::<f32>(t, magic);
    let n = o.sub::<f32>(t, magic);
    let f = o.sub::<f32>(there, n);
    let f = o.fma::<f32>(v, p, f);
    let p = polynomial::<O, f32>(o, f, &EXP2_SINGLE);
    let one = o.splat(1.0f32);
    let e = o.fma::<f32>(f, p, one);
    let power = o.bits::<f32>(t);
    let power = o.shl_const::<u32>(power, 23);
    let e = o.bits::<f32>(e);
    let e = o.add::<u32>(e, power);
    let e = o.of_bits::<f32>(e);
    let far = o.sub::<f32>(one, e);
    // NaN is near.
    let limit = o.splat(FAR);
    let is_far = o.cmp::<f32>(Cmp::Ge, a, limit);
    let y = o.select::<f32>(is_far, far, near);
    let mask = o.splat(1u32 << 31);
    let x = o.bits::<f32>(x);
    let sign = o.and::<u32>(x, mask);
    let y = o.bits::<f32>(y);
    let y = o.or::<u32>(y, sign);
    o.of_bits::<f32>(y)
}

/// erf(x)/x − 1 for |x| up to [`FAR`].
#[inline(always)]
fn near_factor<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let u = o.mul::<f32>(x, x);
    let p = headed(o, u, &ERF_SINGLE);
    let slope = o.splat(ERF_SLOPE_SINGLE);
    o.fma::<f32>(u, p, slope)
}

/// The polynomial with these coefficients. The first is added last, by itself: of [`polynomial`]'s roundings, which are as large as
/// the first coefficients, one is left.
#[inline(always)]
fn headed<O: Ops>(o: &mut O, x: F<O>, coefficients: &'static [f32]) -> F<O> {
    let first = o.splat(coefficients[0]);
    let p = polynomial::<O, f32>(o, x, &coefficients[1..]);
    o.fma::<f32>(x, p, first)
}

/// A number as the unevaluated sum of two float32.
struct Sum<O: Ops> {
    hi: F<O>,
    lo: F<O>,
}

/// a + b for |a| ≥ |b|
#[inline(always)]
fn fast_two_sum<O: Ops>(o: &mut O, a: F<O>, b: F<O>) -> Sum<O> {
    let hi = o.add::<f32>(a, b);
    let kept = o.sub::<f32>(a, hi);
    Sum { hi, lo: o.add::<f32>(kept, b) }
}

/// a·b
#[inline(always)]
fn two_product<O: Ops>(o: &mut O, a: F<O>, b: F<O>) -> Sum<O> {
    let hi = o.mul::<f32>(a, b);
    let minus = o.neg::<f32>(hi);
    Sum { hi, lo: o.fma::<f32>(a, b, minus) }
}

/// 1.5 · 2^23 and twice the exponent's bias: n plus this has n + 254 in its low bits.
const SCALE_MAGIC: f32 = INTEGER_MAGIC + 254.0;

/// exp(−a²) over 2^n, and n plus [`SCALE_MAGIC`].
#[inline(always)]
fn exp_of_minus_square<O: Ops>(o: &mut O, a: F<O>) -> (Sum<O>, F<O>) {
    let square = two_product(o, a, a);
    // −a² = n·ln 2 + r + c; r is exact.
    let (magic, factor) = (o.splat(SCALE_MAGIC), o.splat(-LOG2_E_SINGLE[0]));
    let t = o.fma::<f32>(square.hi, factor, magic);
    let n = o.sub::<f32>(t, magic);
    let (head, tail) = (o.splat(-LN2_SINGLE[0]), o.splat(-LN2_SINGLE[1]));
    let minus = o.neg::<f32>(square.hi);
    let r = o.fma::<f32>(n, head, minus);
    let minus = o.neg::<f32>(square.lo);
    let c = o.fma::<f32>(n, tail, minus);
    // e^r = 1 + r + r²·q
    let q = headed(o, r, &EXP_SINGLE);
    let square = o.mul::<f32>(r, r);
    let one = o.splat(1.0f32);
    let first = fast_two_sum(o, one, r);
    let lo = o.fma::<f32>(square, q, first.lo);
    let y = fast_two_sum(o, first.hi, lo);
    // c is as much as 2^−18, far more than r's last place.
    let lo = o.fma::<f32>(c, y.hi, y.lo);
    (Sum { hi: y.hi, lo }, t)
}

/// From here on erfc is the product with exp(−x²).
const PRODUCT: f32 = 0.6;

/// erfc x
#[inline(always)]
pub(crate) fn erfc<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // (1 − x) − x·q, its first difference without loss as |x| is below 1.
    let one = o.splat(1.0f32);
    let q = near_factor(o, x);
    let minus = o.neg::<f32>(x);
    let first = fast_two_sum(o, one, minus);
    let rest = o.fma::<f32>(minus, q, first.lo);
    let near = o.add::<f32>(first.hi, rest);
    // Beyond this the result is 0.
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let most = o.splat(10.5f32);
    let above = o.cmp::<f32>(Cmp::Lt, most, a);
    let b = o.select::<f32>(above, most, a);
    let (e, n) = exp_of_minus_square(o, b);
    // w = 1/(1 + b): both differences are exact.
    let d = o.add::<f32>(one, b);
    let kept = o.sub::<f32>(one, d);
    let d_low = o.add::<f32>(kept, b);
    let w = o.div::<f32>(one, d);
    let minus = o.neg::<f32>(w);
    let rest = o.fma::<f32>(minus, d, one);
    let rest = o.fma::<f32>(minus, d_low, rest);
    let w_low = o.mul::<f32>(w, rest);
    // w·(there + t·P(t))
    let (point, there) = (o.splat(ERFC_SINGLE_POINT), o.splat(ERFC_SINGLE_THERE));
    let t = o.sub::<f32>(w, point);
    let p = headed(o, t, &ERFC_SINGLE);
    let s = o.fma::<f32>(t, p, there);
    let kept = o.sub::<f32>(there, s);
    let s_low = o.fma::<f32>(t, p, kept);
    let s_low = o.fma::<f32>(w_low, p, s_low);
    let g = two_product(o, w, s);
    let g_low = o.fma::<f32>(w, s_low, g.lo);
    let g_low = o.fma::<f32>(w_low, s, g_low);
    let y = o.mul::<f32>(e.hi, g_low);
    let y = o.fma::<f32>(e.lo, g.hi, y);
    let y = o.fma::<f32>(e.hi, g.hi, y);
    // 2^n in two factors, since it may be no float32.
    let bits = o.bits::<f32>(n);
    let half = o.shr_const::<u32>(bits, 1);
    let other = o.sub::<u32>(bits, half);
    let half = o.shl_const::<u32>(half, 23);
    let other = o.shl_const::<u32>(other, 23);
    let (half, other) = (o.of_bits::<f32>(half), o.of_bits::<f32>(other));
    let y = o.mul::<f32>(y, half);
    let y = o.mul::<f32>(y, other);
    // erfc(−a) = 2 − erfc(a); NaN is near.
    let (zero, two) = (o.splat(0.0f32), o.splat(2.0f32));
    let rest = o.sub::<f32>(two, y);
    let negative = o.cmp::<f32>(Cmp::Lt, x, zero);
    let y = o.select::<f32>(negative, rest, y);
    let limit = o.splat(PRODUCT);
    let is_far = o.cmp::<f32>(Cmp::Ge, a, limit);
    o.select::<f32>(is_far, y, near)
}
