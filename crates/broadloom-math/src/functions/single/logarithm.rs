//! log and log2 of float32: the exponent and what is left of the significand beside 1 enter the last addition without
//! rounding. `logarithm` names the sources.

use crate::functions::coefficients::{LN2_SINGLE, LOG_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::logarithm_ends::special;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

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
