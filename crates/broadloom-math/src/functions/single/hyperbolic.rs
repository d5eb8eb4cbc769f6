//! sinh, cosh and tanh of float32.
//!
//! tanh a is a quotient N/D. N and D are sums of two float32, since their rounding errors would be errors of the
//! result. In this form one formula is accurate for all arguments.

use crate::functions::coefficients::{COSH_SINGLE, LN2_SINGLE, LOG2_E_SINGLE, SINH_SINGLE, TANH_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23 plus the exponent bias: the sum of an integer n and this number has the exponent field of 2^n in its low
/// bits.
pub(super) const EXPONENT_MAGIC: f32 = 12_582_912.0 + 127.0;

/// tanh x, by the formula of `functions::hyperbolic`.
#[inline(always)]
pub(crate) fn tanh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    // Arguments above 8.485 are clamped to it, where the formula gives the largest float32 below 1. Where `end`
    // is set, the result is replaced by 1.
    let end = o.is(a, Cmp::Gt, 9.010913);
    let held = o.at_most(a, 8.485);
    // a = n·ln 2/2 + r, with an error of n·2^−30, which is negligible where n is not 0.
    let magic = o.splat(EXPONENT_MAGIC);
    // n is rounded from a slightly smaller argument, so that (p + 1)·t is above −1/2 for p = 2 and `multiply_add` is
    // exact.
    let less = o.add_c(held, -0.006);
    let power = o.fma_c(less, 2.0 * LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(power, magic);
    let r = o.fma_c(n, -0.5 * LN2_SINGLE[0], held);
    let power = o.power_of_two(power);
    // p − 1 is computed as (p + 1) − 2, so that the two differ by 2 even where p + 1 rounds to p.
    let plus = o.add_c(power, 1.0);
    let minus = o.add_c(plus, -2.0);
    let square = o.mul::<f32>(r, r);
    let q = polynomial::<O, f32>(o, square, &TANH_SINGLE);
    let cube = o.mul::<f32>(square, r);
    let rest = o.mul::<f32>(cube, q);
    let t = o.fast_two_sum(r, rest);
    // N (`sine`) and D (`cosine`).
    let mut sine = multiply_add(o, plus, t.hi, minus);
    let mut cosine = multiply_add(o, minus, t.hi, plus);
    sine.lo = o.fma::<f32>(plus, t.lo, sine.lo);
    cosine.lo = o.fma::<f32>(minus, t.lo, cosine.lo);
    // The quotient y, corrected by the remainder that it leaves.
    let one = o.splat(1.0f32);
    let inverse = o.div::<f32>(one, cosine.hi);
    let y = o.mul::<f32>(sine.hi, inverse);
    let left = o.nfma(y, cosine.hi, sine.hi);
    let left = o.add::<f32>(left, sine.lo);
    let left = o.nfma(y, cosine.lo, left);
    let y = o.fma::<f32>(left, inverse, y);
    let y = o.select::<f32>(end, one, y);
    o.with_sign(y, sign)
}

/// `a · b + c` exactly, if c is 0 or the sum is between c/2 and 2·c.
#[inline(always)]
fn multiply_add<O: Ops>(o: &mut O, a: F<O>, b: F<O>, c: F<O>) -> Sum<O> {
    let hi = o.fma::<f32>(a, b, c);
    let kept = o.sub::<f32>(c, hi);
    let lo = o.fma::<f32>(a, b, kept);
    Sum { hi, lo }
}

/// The common parts of sinh and cosh of n·ln 2 + r + c: `power` is 2^(n−2), `inverse` is 2^(−n−2), `even` is cosh r − 1
/// and `odd` is sinh r − r.
struct Parts<O: Ops> {
    power: F<O>,
    inverse: F<O>,
    r: F<O>,
    c: F<O>,
    even: F<O>,
    odd: F<O>,
}

/// 1.5 · 2^23 plus the exponent bias minus 2: the sum of an integer n and this number has the exponent field of 2^(n−2)
/// in its low bits.
const QUARTER_MAGIC: f32 = 12_582_912.0 + 125.0;

#[inline(always)]
fn parts<O: Ops>(o: &mut O, a: F<O>) -> Parts<O> {
    // Above this bound the result is infinite.
    let a = o.at_most(a, 89.5);
    let magic = o.splat(QUARTER_MAGIC);
    let t = o.fma_c(a, LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(t, magic);
    let r = o.fma_c(n, -LN2_SINGLE[0], a);
    let c = o.mul_c(n, -LN2_SINGLE[1]);
    let power = o.power_of_two(t);
    // Smaller values of 2^−n are negligible.
    let held = o.at_most(n, 64.0);
    let t = o.sub::<f32>(magic, held);
    let inverse = o.power_of_two(t);
    let square = o.mul::<f32>(r, r);
    let even = polynomial::<O, f32>(o, square, &COSH_SINGLE);
    let even = o.mul::<f32>(square, even);
    let odd = polynomial::<O, f32>(o, square, &SINH_SINGLE);
    let cube = o.mul::<f32>(square, r);
    let odd = o.mul::<f32>(cube, odd);
    Parts { power, inverse, r, c, even, odd }
}

/// sinh x
#[inline(always)]
pub(crate) fn sinh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let p = parts(o, a);
    let minus = o.sub::<f32>(p.power, p.inverse);
    let plus = o.add::<f32>(p.power, p.inverse);
    // Half of the result: minus·cosh r + plus·sinh r
    let hi = o.fma::<f32>(plus, p.r, minus);
    let kept = o.sub::<f32>(minus, hi);
    let lo = o.fma::<f32>(plus, p.r, kept);
    let lo = o.fma::<f32>(minus, p.even, lo);
    let lo = o.fma::<f32>(plus, p.odd, lo);
    let lo = o.fma::<f32>(hi, p.c, lo);
    let half = o.add::<f32>(hi, lo);
    let y = o.add::<f32>(half, half);
    // Half of a subnormal may not be representable. For tiny a the result is a itself.
    let tiny = o.is(a, Cmp::Lt, 1.0 / (1u64 << 40) as f32);
    let y = o.select::<f32>(tiny, a, y);
    o.with_sign(y, sign)
}

/// cosh x
#[inline(always)]
pub(crate) fn cosh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let a = o.abs(x);
    let p = parts(o, a);
    let minus = o.sub::<f32>(p.power, p.inverse);
    let plus = o.add::<f32>(p.power, p.inverse);
    // Half of the result: plus·cosh r + minus·sinh r
    let hi = o.fma::<f32>(minus, p.r, p.power);
    let kept = o.sub::<f32>(p.power, hi);
    let lo = o.fma::<f32>(minus, p.r, kept);
    let lo = o.fma::<f32>(minus, p.odd, lo);
    let lo = o.fma::<f32>(plus, p.even, lo);
    let lo = o.fma::<f32>(hi, p.c, lo);
    let lo = o.add::<f32>(lo, p.inverse);
    let half = o.add::<f32>(hi, lo);
    o.add::<f32>(half, half)
}
