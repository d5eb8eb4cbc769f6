//! sinh, cosh and tanh of float32.
//!
//! tanh a is a quotient N/D whose parts are carried as sums, since their rounding errors would be those of the result; so one
//! formula serves from the smallest argument to the largest.

use crate::functions::coefficients::{COSH_SINGLE, LN2_SINGLE, LOG2_E_SINGLE, SINH_SINGLE, TANH_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23 plus the exponent's bias. Its sum with an integer n has the exponent field of 2^n in the low bits.
pub(super) const EXPONENT_MAGIC: f32 = 12_582_912.0 + 127.0;

/// tanh x, by the formula of `functions::hyperbolic`.
#[inline(always)]
pub(crate) fn tanh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    // Larger arguments give the float32 below 1, up to those that give 1.
    let end = o.is(a, Cmp::Gt, 9.010913);
    let held = o.at_most(a, 8.485);
    // a = n·ln 2/2 + r, exact up to n·2^−30, which hardly matters where n isn't 0.
    let magic = o.splat(EXPONENT_MAGIC);
    // The argument is made slightly smaller before n is rounded, so that (p + 1)·t is above −1/2 where p is 2, and `multiply_add`
    // is exact.
    let less = o.add_c(held, -0.006);
    let power = o.fma_c(less, 2.0 * LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(power, magic);
    let r = o.fma_c(n, -0.5 * LN2_SINGLE[0], held);
    let power = o.power_of_two(power);
    // Where 1 is too small to change p, p − 1 is still made 2 less than p + 1.
    let plus = o.add_c(power, 1.0);
    let minus = o.add_c(plus, -2.0);
    let square = o.mul::<f32>(r, r);
    let q = polynomial::<O, f32>(o, square, &TANH_SINGLE);
    let cube = o.mul::<f32>(square, r);
    let rest = o.mul::<f32>(cube, q);
    let t = o.fast_two_sum(r, rest);
    // The numerator N and the denominator D.
    let mut sine = multiply_add(o, plus, t.hi, minus);
    let mut cosine = multiply_add(o, minus, t.hi, plus);
    sine.lo = o.fma::<f32>(plus, t.lo, sine.lo);
    cosine.lo = o.fma::<f32>(minus, t.lo, cosine.lo);
    // The quotient, and its remainder.
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

/// `a · b + c` exactly, if c is 0, or the sum is between half and twice c.
#[inline(always)]
fn multiply_add<O: Ops>(o: &mut O, a: F<O>, b: F<O>, c: F<O>) -> Sum<O> {
    let hi = o.fma::<f32>(a, b, c);
    let kept = o.sub::<f32>(c, hi);
    let lo = o.fma::<f32>(a, b, kept);
    Sum { hi, lo }
}

/// The parts that sinh and cosh share: |x| = n·ln 2 + r + c, 2^(n−2) and 2^(−n−2), and cosh r − 1 and sinh r − r.
struct Parts<O: Ops> {
    power: F<O>,
    inverse: F<O>,
    r: F<O>,
    c: F<O>,
    even: F<O>,
    odd: F<O>,
}

/// 1.5 · 2^23 plus the exponent's bias minus two.
const QUARTER_MAGIC: f32 = 12_582_912.0 + 125.0;

#[inline(always)]
fn parts<O: Ops>(o: &mut O, a: F<O>) -> Parts<O> {
    // For larger arguments the result is infinite.
    let a = o.at_most(a, 89.5);
    let magic = o.splat(QUARTER_MAGIC);
    let t = o.fma_c(a, LOG2_E_SINGLE[0], magic);
    let n = o.sub::<f32>(t, magic);
    let r = o.fma_c(n, -LN2_SINGLE[0], a);
    let c = o.mul_c(n, -LN2_SINGLE[1]);
    let power = o.power_of_two(t);
    // The exponent is clamped, since a smaller inverse power would not matter.
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
    // Half of the result: minus·cosh r + plus·sinh r.
    let hi = o.fma::<f32>(plus, p.r, minus);
    let kept = o.sub::<f32>(minus, hi);
    let lo = o.fma::<f32>(plus, p.r, kept);
    let lo = o.fma::<f32>(minus, p.even, lo);
    let lo = o.fma::<f32>(plus, p.odd, lo);
    let lo = o.fma::<f32>(hi, p.c, lo);
    let half = o.add::<f32>(hi, lo);
    let y = o.add::<f32>(half, half);
    // Half of a subnormal may be no float32.
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
    // Half of the result: plus·cosh r + minus·sinh r.
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
