//! exp, log, log2, sin and cos of float32 in float32 arithmetic, for which a vector has twice the lanes of float64.
//! The leading terms are carried exactly, so that less than half an ulp is added to the last rounding, as measured
//! over all 2^32 arguments (docs/accuracy.md). The modules of the functions name the sources.

use crate::dtype::f16;
use crate::functions::coefficients::{
    COS_SINGLE, EXP_SINGLE, HALF_PI_SINGLE, LN2_SINGLE, LOG_SINGLE, LOG2_E_SINGLE, SIN_SINGLE,
    TWO_OVER_PI_SINGLE,
};
use crate::functions::compare::magnitude;
use crate::functions::float64::polynomial;
use crate::functions::logarithm_ends::special;
use crate::ops::{Cmp, Ops, Rare2};

type F<O> = <O as Ops>::V<f32>;

/// 1.5 · 2^23 and twice the exponent's bias: n plus this has n + 254 in its low bits.
const MAGIC: f32 = 12_582_912.0 + 254.0;

/// e^x
#[inline(always)]
pub(crate) fn exp<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // Beyond these the result is 0 or infinite; NaN stays.
    let (least, most) = (o.splat(-104.0f32), o.splat(89.0f32));
    let above = o.cmp::<f32>(Cmp::Lt, most, x);
    let x = o.select::<f32>(above, most, x);
    let below = o.cmp::<f32>(Cmp::Lt, x, least);
    let x = o.select::<f32>(below, least, x);
    // x = n·ln 2 + r + c; r is exact: a multiple of 2^−25 below 1/2.
    let magic = o.splat(MAGIC);
    let factor = o.splat(LOG2_E_SINGLE[0]);
    let t = o.fma::<f32>(x, factor, magic);
    let n = o.sub::<f32>(t, magic);
    let head = o.splat(-LN2_SINGLE[0]);
    let tail = o.splat(-LN2_SINGLE[1]);
    let r = o.fma::<f32>(n, head, x);
    let c = o.mul::<f32>(n, tail);
    // e^r = 1 + r + r²·q: the first sum and what it lost, the rest rounded beside it.
    let q = polynomial::<O, f32>(o, r, &EXP_SINGLE);
    let square = o.mul::<f32>(r, r);
    let one = o.splat(1.0f32);
    let hi = o.add::<f32>(one, r);
    let kept = o.sub::<f32>(hi, one);
    let lo = o.sub::<f32>(r, kept);
    let lo = o.fma::<f32>(square, q, lo);
    let lo = o.fma::<f32>(c, hi, lo);
    let y = o.add::<f32>(hi, lo);
    // 2^n in two factors, since it may be no float32.
    let bits = o.bits::<f32>(t);
    let first = o.shr_const::<u32>(bits, 1);
    let second = o.sub::<u32>(bits, first);
    let first = o.shl_const::<u32>(first, 23);
    let second = o.shl_const::<u32>(second, 23);
    let (first, second) = (o.of_bits::<f32>(first), o.of_bits::<f32>(second));
    let y = o.mul::<f32>(y, first);
    o.mul::<f32>(y, second)
}

/// Bits of √½.
const SQRT_HALF: u32 = 0x3f35_04f3;

/// x = 2^e·(1 + f) for a positive finite x.
#[inline(always)]
fn split<O: Ops>(o: &mut O, x: F<O>) -> (F<O>, F<O>) {
    let least = o.splat(f32::MIN_POSITIVE);
    let subnormal = o.cmp::<f32>(Cmp::Lt, x, least);
    let (up, one) = (o.splat(8_388_608.0f32), o.splat(1.0f32));
    let factor = o.select::<f32>(subnormal, up, one);
    let x = o.mul::<f32>(x, factor);
    let (low_bias, bias) = (o.splat(150.0f32), o.splat(127.0f32));
    let bias = o.select::<f32>(subnormal, low_bias, bias);
    let bits = o.bits::<f32>(x);
    let shift = o.splat((127u32 << 23) - SQRT_HALF);
    let moved = o.add::<u32>(bits, shift);
    let field = o.shr_const::<u32>(moved, 23);
    let field = o.int_resize::<u32, i32>(field);
    let e = o.int_to_float::<i32, f32>(field);
    let e = o.sub::<f32>(e, bias);
    let mask = o.splat((1u32 << 23) - 1);
    let m = o.and::<u32>(moved, mask);
    let least = o.splat(SQRT_HALF);
    let m = o.add::<u32>(m, least);
    let m = o.of_bits::<f32>(m);
    let f = o.sub::<f32>(m, one);
    (e, f)
}

/// f³·P(f) + `more`, less f²/2.
#[inline(always)]
fn log_rest<O: Ops>(o: &mut O, f: F<O>, more: F<O>) -> F<O> {
    let p = polynomial::<O, f32>(o, f, &LOG_SINGLE);
    let square = o.mul::<f32>(f, f);
    let cube = o.mul::<f32>(square, f);
    let rest = o.fma::<f32>(cube, p, more);
    let half = o.splat(-0.5f32);
    let half = o.mul::<f32>(f, half);
    o.fma::<f32>(half, f, rest)
}

/// log x
#[inline(always)]
pub(crate) fn log<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let (e, f) = split(o, x);
    // e·ln 2, whose head has 16 bits, and f without rounding.
    let (head, tail) = (o.splat(LN2_SINGLE[2]), o.splat(LN2_SINGLE[3]));
    let head = o.mul::<f32>(e, head);
    let hi = o.add::<f32>(head, f);
    let kept = o.sub::<f32>(hi, head);
    let lo = o.sub::<f32>(f, kept);
    let lo = o.fma::<f32>(e, tail, lo);
    let rest = log_rest(o, f, lo);
    let y = o.add::<f32>(hi, rest);
    special::<O, f32>(o, x, y)
}

/// log2 x
#[inline(always)]
pub(crate) fn log2<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let (e, f) = split(o, x);
    let zero = o.splat(0.0f32);
    let rest = log_rest(o, f, zero);
    // (f + rest)/ln 2, the product of f with what it lost, beside e without rounding.
    let (head, tail) = (o.splat(LOG2_E_SINGLE[0]), o.splat(LOG2_E_SINGLE[1]));
    let product = o.mul::<f32>(f, head);
    let minus = o.neg::<f32>(product);
    let lo = o.fma::<f32>(f, head, minus);
    let lo = o.fma::<f32>(f, tail, lo);
    let lo = o.fma::<f32>(rest, head, lo);
    let hi = o.add::<f32>(e, product);
    let kept = o.sub::<f32>(hi, e);
    let lost = o.sub::<f32>(product, kept);
    let lo = o.add::<f32>(lo, lost);
    let y = o.add::<f32>(hi, lo);
    special::<O, f32>(o, x, y)
}

/// 1.5 · 2^23: added to a number below 2^22 it leaves the nearest integer in the low bits.
const INTEGER_MAGIC: f32 = 12_582_912.0;

/// Angles up to this are reduced in float32; those above are functions of a float64, lane by lane.
///
/// n is below 2^17 there. It is the nearest integer to x·2/π but for 2^−8, the error of 2/π; so |r| is at most 0.7907,
/// which is what the polynomials are made for. What three float32 of π/2 leave out is n·2^−76, below 2^−59; no float32 in
/// the range is nearer to a multiple of π/2 than 2^−28.
const WIDEST: f32 = 131_072.0;

/// From infinity's bits to those of a negative number.
const BEYOND_INFINITY: u32 = (1 << 31) - f32::INFINITY.to_bits();

/// What sin and cos of one angle share: |x| = (quadrant + 4k)·π/2 + r, and sin r and cos r.
struct Quarter<O: Ops> {
    x: F<O>,
    magnitude: O::V<u32>,
    quadrant: O::V<u32>,
    sine: F<O>,
    cosine: F<O>,
}

#[inline(always)]
fn quarter<O: Ops>(o: &mut O, x: F<O>) -> Quarter<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    let magic = o.splat(INTEGER_MAGIC);
    let factor = o.splat(TWO_OVER_PI_SINGLE);
    let t = o.fma::<f32>(a, factor, magic);
    let quadrant = o.bits::<f32>(t);
    let n = o.sub::<f32>(t, magic);
    // The first difference is exact: a multiple of 2^−24 below 1, or |x| itself. So is `kept`, since `first` is a multiple of
    // `product`'s last place; then `lo` holds all that n·(the second part) has beyond `hi`.
    let [head, middle, tail] = HALF_PI_SINGLE.map(|part| o.splat(-part));
    let first = o.fma::<f32>(n, head, a);
    let product = o.mul::<f32>(n, middle);
    let hi = o.add::<f32>(first, product);
    let kept = o.sub::<f32>(first, hi);
    let lo = o.fma::<f32>(n, middle, kept);
    let lo = o.fma::<f32>(n, tail, lo);
    // cos r = (1 − r²/2 rounded) + (what that lost + r⁴·C − hi·lo)
    let square = o.mul::<f32>(hi, hi);
    let fourth = o.mul::<f32>(square, square);
    let (one, half) = (o.splat(1.0f32), o.splat(-0.5f32));
    let half = o.mul::<f32>(hi, half);
    let slope = o.fma::<f32>(half, hi, one);
    let lost = o.sub::<f32>(one, slope);
    let rest = o.fma::<f32>(half, hi, lost);
    let p = polynomial::<O, f32>(o, square, &COS_SINGLE);
    let rest = o.fma::<f32>(fourth, p, rest);
    let minus = o.neg::<f32>(hi);
    let rest = o.fma::<f32>(minus, lo, rest);
    let cosine = o.add::<f32>(slope, rest);
    // sin r = hi + (hi³·S + lo·cos r)
    let p = polynomial::<O, f32>(o, square, &SIN_SINGLE);
    let cube = o.mul::<f32>(square, hi);
    let rest = o.mul::<f32>(lo, slope);
    let rest = o.fma::<f32>(cube, p, rest);
    let sine = o.add::<f32>(hi, rest);
    Quarter { x, magnitude: bits, quadrant, sine, cosine }
}

/// Whether the quadrant is odd.
#[inline(always)]
fn is_odd<O: Ops>(o: &mut O, quadrant: O::V<u32>) -> O::M<f32> {
    let one = o.splat(1u32);
    let low = o.and::<u32>(quadrant, one);
    let odd = o.cmp::<u32>(Cmp::Eq, low, one);
    o.mask_resize::<u32, f32>(odd)
}

/// `y` with its sign flipped where `sign`'s highest bit is set; large angles by the slow path.
#[inline(always)]
fn finish<W: Rare2<f32>, O: Ops>(o: &mut O, q: &Quarter<O>, y: F<O>, sign: O::V<u32>) -> F<O> {
    let mask = o.splat(1u32 << 31);
    let sign = o.and::<u32>(sign, mask);
    let y = o.bits::<f32>(y);
    let y = o.xor::<u32>(y, sign);
    let y = o.of_bits::<f32>(y);
    // Infinities, which have given NaN already, and NaN become negative.
    let up = o.splat(BEYOND_INFINITY);
    let moved = o.add::<u32>(q.magnitude, up);
    let moved = o.int_resize::<u32, i32>(moved);
    let widest = o.splat((WIDEST.to_bits() + BEYOND_INFINITY) as i32);
    let wide = o.cmp::<i32>(Cmp::Gt, moved, widest);
    let wide = o.mask_resize::<i32, f32>(wide);
    o.rare2::<W, f32>(wide, q.x, q.x, y)
}

/// sin x; `Wide` computes it where float32 arithmetic doesn't reduce the angle.
#[inline(always)]
pub(crate) fn sin<Wide: Rare2<f32>, O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let q = quarter(o, x);
    let odd = is_odd(o, q.quadrant);
    let y = o.select::<f32>(odd, q.cosine, q.sine);
    let sign = o.shl_const::<u32>(q.quadrant, 30);
    let bits = o.bits::<f32>(x);
    let sign = o.xor::<u32>(sign, bits);
    finish::<Wide, O>(o, &q, y, sign)
}

/// cos x; `Wide` computes it where float32 arithmetic doesn't reduce the angle.
#[inline(always)]
pub(crate) fn cos<Wide: Rare2<f32>, O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let q = quarter(o, x);
    let odd = is_odd(o, q.quadrant);
    let y = o.select::<f32>(odd, q.sine, q.cosine);
    // cos is the sine one quadrant on.
    let one = o.splat(1u32);
    let next = o.add::<u32>(q.quadrant, one);
    let sign = o.shl_const::<u32>(next, 30);
    finish::<Wide, O>(o, &q, y, sign)
}

/// 1.5 · 2^23 and float16's least exponent: n plus this has n + 14 in its low bits.
const HALF_MAGIC: f32 = 12_582_912.0 + 14.0;

/// e^x of float16, correctly rounded.
///
/// With e^x = 2^n·(1 + t), adding 2^n·t to 2^n + 1.5·2^23·u rounds once to a multiple of u, the float16 result's last
/// place, and leaves that multiple in the low bits. Exact to round: t is known to 2^−26, which no float16 argument needs
/// (tested for all of them).
#[inline(always)]
pub(crate) fn exp_half<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f16> {
    // The exponent and significand in float32's places are x·2^−112; an infinity is then 2^16, and NaN comes last.
    let half_bits = o.bits::<f16>(x);
    let signed = o.int_resize::<u16, i16>(half_bits);
    let wide = o.int_resize::<i16, i32>(signed);
    let moved = o.shl_const::<i32>(wide, 13);
    let mask = o.splat(0x8fff_e000_u32 as i32);
    let moved = o.and::<i32>(moved, mask);
    let moved = o.int_resize::<i32, u32>(moved);
    let small = o.of_bits::<f32>(moved);
    let up = o.splat(f32::from_bits((127 + 112) << 23));
    let x = o.mul::<f32>(small, up);
    let (least, most) = (o.splat(-18.0f32), o.splat(12.0f32));
    let above = o.cmp::<f32>(Cmp::Lt, most, x);
    let x = o.select::<f32>(above, most, x);
    let below = o.cmp::<f32>(Cmp::Lt, x, least);
    let x = o.select::<f32>(below, least, x);
    // n not below −24, float16's last place: what is less than half of it rounds to 0 whatever the remainder.
    let magic = o.splat(HALF_MAGIC);
    let factor = o.splat(LOG2_E_SINGLE[0]);
    let t = o.fma::<f32>(x, factor, magic);
    let lowest = o.splat(HALF_MAGIC - 24.0);
    let below = o.cmp::<f32>(Cmp::Lt, t, lowest);
    let t = o.select::<f32>(below, lowest, t);
    let n = o.sub::<f32>(t, magic);
    let (head, tail) = (o.splat(-LN2_SINGLE[0]), o.splat(-LN2_SINGLE[1]));
    let r = o.fma::<f32>(n, head, x);
    let r = o.fma::<f32>(n, tail, r);
    let q = polynomial::<O, f32>(o, r, &EXP_SINGLE);
    let square = o.mul::<f32>(r, r);
    let fraction = o.fma::<f32>(square, q, r);
    // The result's exponent: n, or one less where 1 + t is below 1; at least that of the subnormals.
    let n_bits = o.bits::<f32>(t);
    let n_bits = o.int_resize::<u32, i32>(n_bits);
    let sign = o.bits::<f32>(fraction);
    let sign = o.int_resize::<u32, i32>(sign);
    let sign = o.shr_const::<i32>(sign, 31);
    let e = o.add::<i32>(n_bits, sign);
    let normal = o.splat(HALF_MAGIC.to_bits() as i32 - 14);
    let subnormal = o.cmp::<i32>(Cmp::Lt, e, normal);
    let e = o.select::<i32>(subnormal, normal, e);
    // 2^n, and 1.5·2^23·u with u = 2^(e−10); the magic's own bits fall off the top.
    let power = o.shl_const::<i32>(n_bits, 23);
    let bias = o.splat((127 - 14) << 23);
    let power = o.add::<i32>(power, bias);
    let power = o.int_resize::<i32, u32>(power);
    let power = o.of_bits::<f32>(power);
    let rounder = o.shl_const::<i32>(e, 23);
    let bias = o.splat(((127 - 14 + 23 - 10) << 23) | 0x40_0000);
    let rounder = o.add::<i32>(rounder, bias);
    let rounder = o.int_resize::<i32, u32>(rounder);
    let rounder = o.of_bits::<f32>(rounder);
    let base = o.add::<f32>(power, rounder);
    let y = o.fma::<f32>(fraction, power, base);
    // The multiple of u, and the exponent above it: a normal number's leading bit counts as one of it.
    let y = o.bits::<f32>(y);
    let low = o.splat(0x3f_ffff_u32);
    let multiple = o.and::<u32>(y, low);
    let multiple = o.int_resize::<u32, i32>(multiple);
    let above = o.shl_const::<i32>(e, 10);
    let y = o.add::<i32>(multiple, above);
    let infinity = o.splat(0x7c00_i32);
    let finite = o.cmp::<i32>(Cmp::Lt, y, infinity);
    let y = o.select::<i32>(finite, y, infinity);
    let y = o.int_resize::<i32, u16>(y);
    let magnitude = o.splat(0x7fff_u16);
    let magnitude = o.and::<u16>(half_bits, magnitude);
    let infinity = o.splat(0x7c00_u16);
    let nan = o.cmp::<u16>(Cmp::Gt, magnitude, infinity);
    let quiet = o.splat(0x7e00_u16);
    let y = o.select::<u16>(nan, quiet, y);
    o.of_bits::<f16>(y)
}
