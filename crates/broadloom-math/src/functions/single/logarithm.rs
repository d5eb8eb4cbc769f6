//! log, log2, log10 and log1p of float32. The exponent's term and f, the reduced significand minus 1, enter the last
//! addition unrounded. The module `logarithm` names the sources.

use crate::functions::coefficients::{
    LN2_SINGLE, LOG_CENTRED_SINGLE, LOG_SINGLE, LOG2_E_SINGLE, LOG10_2_SINGLE, LOG10_E_SINGLE,
};
use crate::functions::float64::polynomial;
use crate::functions::logarithm_ends::special;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::ops::{Cmp, Ops};

/// The bits of the smallest significand 1 + f: 2/3 if x is decomposed, and 3/4 if 1 + x is decomposed.
const LEAST: u32 = 0x3f2a_aaab;
const LEAST_BESIDE_ONE: u32 = 0x3f40_0000;

/// 2^23, the weight of the lowest bit of the exponent field.
const FIELD: f32 = 8_388_608.0;

/// Decomposes a positive finite x = 2^e·(1 + f) into e, multiplied by 2^23, and f, with −1/3 ≤ f < 1/3.
#[inline(always)]
fn split<O: Ops>(o: &mut O, x: F<O>) -> (F<O>, F<O>) {
    let subnormal = o.is(x, Cmp::Lt, f32::MIN_POSITIVE);
    let (up, one, zero) = (o.splat(FIELD), o.splat(1.0f32), o.splat(0.0f32));
    let factor = o.select::<f32>(subnormal, up, one);
    let x = o.mul::<f32>(x, factor);
    let less = o.splat(23.0 * FIELD);
    let less = o.select::<f32>(subnormal, less, zero);
    let bits = o.bits::<f32>(x);
    let field = exponent_field(o, bits, LEAST);
    let m = o.sub::<u32>(bits, field);
    let m = o.of_bits::<f32>(m);
    let f = o.sub::<f32>(m, one);
    let e = number(o, field);
    (o.sub::<f32>(e, less), f)
}

/// Returns e·2^23 as the bits of a signed integer, for a number 2^e·(1 + f) with these bits. `least` has the
/// bits of the smallest value that 1 + f may have.
#[inline(always)]
fn exponent_field<O: Ops>(o: &mut O, bits: O::V<u32>, least: u32) -> O::V<u32> {
    let least = o.splat(least);
    let moved = o.sub::<u32>(bits, least);
    let mask = o.splat(0xff80_0000_u32);
    o.and::<u32>(moved, mask)
}

/// Converts the bits of a signed integer to float32.
#[inline(always)]
fn number<O: Ops>(o: &mut O, field: O::V<u32>) -> F<O> {
    let field = o.int_resize::<u32, i32>(field);
    o.int_to_float::<i32, f32>(field)
}

/// Computes f³·P(f) + `more`.
#[inline(always)]
fn log_cube<O: Ops>(o: &mut O, f: F<O>, more: F<O>, table: &'static [f32]) -> F<O> {
    let p = polynomial::<O, f32>(o, f, table);
    let square = o.mul::<f32>(f, f);
    let cube = o.mul::<f32>(square, f);
    o.fma::<f32>(cube, p, more)
}

/// f³·P(f) + `more` − f²/2.
#[inline(always)]
fn log_rest<O: Ops>(o: &mut O, f: F<O>, more: F<O>, table: &'static [f32]) -> F<O> {
    let rest = log_cube(o, f, more, table);
    let half = o.mul_c(f, -0.5);
    o.fma::<f32>(half, f, rest)
}

/// `part` plus the exponent times `unit`, as a sum of two float32. `unit` has few bits, so its product with
/// an exponent is exact.
#[inline(always)]
fn beside_exponent<O: Ops>(o: &mut O, e: F<O>, unit: f32, part: F<O>) -> Sum<O> {
    let unit = unit / FIELD;
    let hi = o.fma_c(e, unit, part);
    let kept = o.fma_c(e, -unit, hi);
    Sum { hi, lo: o.sub::<f32>(part, kept) }
}

/// e·ln 2 + log(1 + f) + `more`, where `e` is given times 2^23, as a sum of two float32 of which the second is below a
/// sixth of the first.
#[inline(always)]
fn log_parts<O: Ops>(o: &mut O, e: F<O>, f: F<O>, more: Option<F<O>>, table: &'static [f32]) -> Sum<O> {
    // e·ln 2, whose head has 16 bits, and f are added without rounding error.
    let y = beside_exponent(o, e, LN2_SINGLE[2], f);
    let mut lo = o.fma_c(e, LN2_SINGLE[3] / FIELD, y.lo);
    if let Some(more) = more {
        lo = o.add::<f32>(lo, more);
    }
    Sum { hi: y.hi, lo: log_rest(o, f, lo, table) }
}

/// e·ln 2 + log(1 + f) + `more`, where `e` is given times 2^23.
#[inline(always)]
fn log_of_split<O: Ops>(o: &mut O, e: F<O>, f: F<O>, more: Option<F<O>>, table: &'static [f32]) -> F<O> {
    let y = log_parts(o, e, f, more, table);
    o.add::<f32>(y.hi, y.lo)
}

/// log(x) + `more` for a positive finite x, as a sum of two float32.
#[inline(always)]
pub(super) fn log_and_more<O: Ops>(o: &mut O, x: F<O>, more: F<O>) -> Sum<O> {
    let (e, f) = split(o, x);
    let y = log_parts(o, e, f, Some(more), &LOG_CENTRED_SINGLE);
    o.fast_two_sum(y.hi, y.lo)
}

/// log x
#[inline(always)]
pub(crate) fn log<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let (e, f) = split(o, x);
    let y = log_of_split(o, e, f, None, &LOG_CENTRED_SINGLE);
    special::<O, f32>(o, x, y)
}

/// Computes e·`head` + e·`tail` + log(1 + f)·`unit`.
#[inline(always)]
fn log_to_base<O: Ops>(o: &mut O, x: F<O>, [head, tail]: [f32; 2], unit: [f32; 2]) -> F<O> {
    let (e, f) = split(o, x);
    // f − f²/2 as a sum, in which only the square is rounded. Precision is needed for x just above 4/3, where
    // the exponent's term cancels most of it.
    let half = o.mul_c(f, -0.5);
    let square = o.mul::<f32>(half, f);
    let near = o.add::<f32>(f, square);
    let kept = o.sub::<f32>(near, f);
    let lost = o.sub::<f32>(square, kept);
    let rest = log_cube(o, f, lost, &LOG_CENTRED_SINGLE);
    // Computes (near + rest)·unit plus the exponent's term. The rounding error of near·unit is carried along,
    // and the exponent's term is added without rounding.
    let product = o.mul_c(near, unit[0]);
    let minus = o.neg::<f32>(product);
    let lost = o.fma_c(near, unit[0], minus);
    let y = beside_exponent(o, e, head, product);
    let mut lo = o.add::<f32>(lost, y.lo);
    lo = o.fma_c(near, unit[1], lo);
    if tail != 0.0 {
        lo = o.fma_c(e, tail / FIELD, lo);
    }
    let lo = o.fma_c(rest, unit[0], lo);
    let y = o.add::<f32>(y.hi, lo);
    special::<O, f32>(o, x, y)
}

/// log2 x
#[inline(always)]
pub(crate) fn log2<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    log_to_base(o, x, [1.0, 0.0], LOG2_E_SINGLE)
}

/// log10 x
#[inline(always)]
pub(crate) fn log10<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    log_to_base(o, x, LOG10_2_SINGLE, LOG10_E_SINGLE)
}

/// The decomposition 1 + x = 2^e·(1 + f) for x above −1, with −1/4 ≤ f < 1/2.
///
/// f is exact: where e is not 0, x·2^−e and 2^−e − 1 are multiples of 2^−24, up to exponents for which the 1 is
/// negligible. This requires e = 0 for every x below 1/2, including the one for which 1 + x rounds to 3/2, since half
/// of that x is not such a multiple.
struct BesideOne<O: Ops> {
    e: F<O>,
    f: F<O>,
    /// 4·2^−e, which is a normal number where 2^−e may not be.
    four: F<O>,
}

#[inline(always)]
fn split_beside_one<O: Ops>(o: &mut O, x: F<O>) -> BesideOne<O> {
    let u = o.add_c(x, 1.0);
    let held = o.at_most(u, 1.25);
    let below_half = o.is(x, Cmp::Lt, 0.5);
    let u = o.select::<f32>(below_half, held, u);
    let u = o.bits::<f32>(u);
    let field = exponent_field(o, u, LEAST_BESIDE_ONE);
    let m = o.bits::<f32>(x);
    let m = o.sub::<u32>(m, field);
    let m = o.of_bits::<f32>(m);
    let four = o.splat(4.0f32.to_bits());
    let four = o.sub::<u32>(four, field);
    let four = o.of_bits::<f32>(four);
    let one = o.line(four, 0.25, -1.0);
    let f = o.add::<f32>(m, one);
    BesideOne { e: number(o, field), f, four }
}

/// log(1 + f + `low`·2^−e) − log(1 + f), for a small `low`, approximately.
#[inline(always)]
fn share_of_low<O: Ops>(o: &mut O, x: &BesideOne<O>, low: F<O>) -> F<O> {
    // An approximation of 1/(1 + f), of which a few bits are enough, divided by 4.
    let slope = o.line(x.f, -0.75 / 4.0, 1.0 / 4.0);
    let low = o.mul::<f32>(low, x.four);
    o.mul::<f32>(low, slope)
}

/// log(1 + x) for a sum x above −1.
#[inline(always)]
pub(super) fn log1p_of_sum<O: Ops>(o: &mut O, x: Sum<O>) -> F<O> {
    let parts = split_beside_one(o, x.hi);
    let more = share_of_low(o, &parts, x.lo);
    log_of_split(o, parts.e, parts.f, Some(more), &LOG_SINGLE)
}

/// log(1 + x) for a sum x above −1, and log(2 + 2x) where `twice` is set.
#[inline(always)]
pub(super) fn log1p_of_sum_times<O: Ops>(o: &mut O, x: Sum<O>, twice: O::M<f32>) -> F<O> {
    let parts = split_beside_one(o, x.hi);
    let more = share_of_low(o, &parts, x.lo);
    let (unit, zero) = (o.splat(FIELD), o.splat(0.0f32));
    let unit = o.select::<f32>(twice, unit, zero);
    let e = o.add::<f32>(parts.e, unit);
    log_of_split(o, e, parts.f, Some(more), &LOG_SINGLE)
}

/// log(1 + x)
#[inline(always)]
pub(crate) fn log1p<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let parts = split_beside_one(o, x);
    let y = log_of_split(o, parts.e, parts.f, None, &LOG_SINGLE);
    let finite = o.is(x, Cmp::Lt, f32::INFINITY);
    let y = o.select::<f32>(finite, y, x);
    let end = o.is(x, Cmp::Eq, -1.0);
    let (infinity, nan) = (o.splat(f32::NEG_INFINITY), o.splat(f32::from_bits(u32::MAX)));
    let below = o.select::<f32>(end, infinity, nan);
    let inside = o.is(x, Cmp::Gt, -1.0);
    let y = o.select::<f32>(inside, y, below);
    // The result has the sign of x, even if the result is zero.
    let sign = o.sign_of(x);
    o.with_sign(y, sign)
}
