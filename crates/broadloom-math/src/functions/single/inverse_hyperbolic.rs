//! asinh, acosh and atanh of float32, as log(1 + t), where t is a sum of two float32.

use crate::functions::single::F;
use crate::functions::single::float32::{Float32, Sum};
use crate::functions::single::logarithm::{log1p_of_sum, log1p_of_sum_times};
use crate::ops::{Cmp, Ops};

/// Above this bound √(x² ± 1) equals x to float32 precision, and the square may overflow.
const LARGE: f32 = (1u64 << 30) as f32;

/// √(square.hi + square.lo) as a sum of two float32, where `square.hi` is a normal number or 0.
#[inline(always)]
fn root<O: Ops>(o: &mut O, square: Sum<O>) -> Sum<O> {
    let hi = o.sqrt::<f32>(square.hi);
    let rest = o.nfma(hi, hi, square.hi);
    let rest = o.add::<f32>(rest, square.lo);
    let half = o.splat(0.5f32);
    // The addend prevents a division by 0: a root of 0 has the remainder 0.
    let divisor = o.add_c(hi, f32::MIN_POSITIVE);
    let inverse = o.div::<f32>(half, divisor);
    Sum { hi, lo: o.mul::<f32>(rest, inverse) }
}

/// asinh x
#[inline(always)]
pub(crate) fn asinh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    // t = a + (√(a² + 1) − 1).
    let square = o.mul::<f32>(a, a);
    let hi = o.add_c(square, 1.0);
    let lost = o.c_sub(1.0, hi);
    let lost = o.add::<f32>(lost, square);
    let minus = o.neg::<f32>(square);
    let low = o.fma::<f32>(a, a, minus);
    let lo = o.add::<f32>(lost, low);
    let root = root(o, Sum { hi, lo });
    let part = o.add_c(root.hi, -1.0);
    let t = o.fast_two_sum(a, part);
    let lo = o.add::<f32>(t.lo, root.lo);
    let y = finish(o, a, Sum { hi: t.hi, lo });
    o.with_sign(y, sign)
}

/// acosh x
#[inline(always)]
pub(crate) fn acosh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    // t = d + √(d² + 2d) with d = x − 1. The difference d is exact where an error would matter.
    let d = o.add_c(x, -1.0);
    let double = o.add::<f32>(d, d);
    let hi = o.fma::<f32>(d, d, double);
    let kept = o.sub::<f32>(double, hi);
    let lo = o.fma::<f32>(d, d, kept);
    let root = root(o, Sum { hi, lo });
    let t = o.fast_two_sum(root.hi, d);
    let lo = o.add::<f32>(t.lo, root.lo);
    let y = finish(o, x, Sum { hi: t.hi, lo });
    let below = o.is(x, Cmp::Lt, 1.0);
    let nan = o.splat(f32::from_bits(u32::MAX));
    o.select::<f32>(below, nan, y)
}

/// log(1 + t), or log(2a) for `a` above [`LARGE`]; `a` itself if it is infinite or NaN.
#[inline(always)]
fn finish<O: Ops>(o: &mut O, a: F<O>, t: Sum<O>) -> F<O> {
    let large = o.is(a, Cmp::Gt, LARGE);
    let zero = o.splat(0.0f32);
    let hi = o.select::<f32>(large, a, t.hi);
    let lo = o.select::<f32>(large, zero, t.lo);
    let y = log1p_of_sum_times(o, Sum { hi, lo }, large);
    let finite = o.is(a, Cmp::Lt, f32::INFINITY);
    o.select::<f32>(finite, y, a)
}

/// atanh x
#[inline(always)]
pub(crate) fn atanh<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    // Uses log((1 + a)/(1 − a)) = log1p(2a/(1 − a)).
    let one = o.splat(1.0f32);
    let d = o.sub::<f32>(one, a);
    let kept = o.sub::<f32>(one, d);
    let lost = o.sub::<f32>(kept, a);
    let double = o.add::<f32>(a, a);
    let inverse = o.div::<f32>(one, d);
    let hi = o.mul::<f32>(double, inverse);
    let rest = o.nfma(hi, d, double);
    let rest = o.nfma(hi, lost, rest);
    let lo = o.mul::<f32>(rest, inverse);
    let y = log1p_of_sum(o, Sum { hi, lo });
    let y = o.mul_c(y, 0.5);
    let end = o.is(a, Cmp::Eq, 1.0);
    let (infinity, nan) = (o.splat(f32::INFINITY), o.splat(f32::from_bits(u32::MAX)));
    let outside = o.select::<f32>(end, infinity, nan);
    let inside = o.is(a, Cmp::Lt, 1.0);
    let y = o.select::<f32>(inside, y, outside);
    o.with_sign(y, sign)
}
