//! hypot of float32: the root of a sum of squares that is carried as two float32, scaled so that none over- or underflows.

use crate::functions::compare::magnitude;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

/// √(x1² + x2²)
#[inline(always)]
pub(crate) fn hypot<O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let (a1, a2) = (magnitude::<O, f32>(o, x1), magnitude::<O, f32>(o, x2));
    let (a1, a2) = (o.of_bits::<f32>(a1), o.of_bits::<f32>(a2));
    let swapped = o.cmp::<f32>(Cmp::Lt, a1, a2);
    let small = o.select::<f32>(swapped, a1, a2);
    let large = o.select::<f32>(swapped, a2, a1);
    // The power of two below the greater one, such that its inverse is a normal number too.
    let infinity = o.splat(f32::INFINITY);
    let infinity_bits = o.bits::<f32>(infinity);
    let bits = o.bits::<f32>(large);
    let power = o.and::<u32>(bits, infinity_bits);
    let power = o.of_bits::<f32>(power);
    let least = o.splat(f32::MIN_POSITIVE);
    let below = o.cmp::<f32>(Cmp::Lt, power, least);
    let power = o.select::<f32>(below, least, power);
    let most = o.splat(1.0 / f32::MIN_POSITIVE);
    let above = o.cmp::<f32>(Cmp::Lt, most, power);
    let power = o.select::<f32>(above, most, power);
    let bits = o.bits::<f32>(power);
    let inverse = o.splat(254u32 << 23);
    let inverse = o.sub::<u32>(inverse, bits);
    let inverse = o.of_bits::<f32>(inverse);
    let small = o.mul::<f32>(small, inverse);
    let large = o.mul::<f32>(large, inverse);
    // The squares' sum and what it lost. The difference is exact, since `square` is at least half of the sum.
    let square = o.mul::<f32>(large, large);
    let minus = o.neg::<f32>(square);
    let lost = o.fma::<f32>(large, large, minus);
    let sum = o.fma::<f32>(small, small, square);
    let kept = o.sub::<f32>(square, sum);
    let more = o.fma::<f32>(small, small, kept);
    let lost = o.add::<f32>(lost, more);
    // The root, and its remainder over twice the root: a reciprocal to an eighth does for what is below an ulp.
    let root = o.sqrt::<f32>(sum);
    let minus = o.neg::<f32>(root);
    let rest = o.fma::<f32>(minus, root, sum);
    let rest = o.add::<f32>(rest, lost);
    let reciprocal = o.splat(0x7e73_11c7u32);
    let bits = o.bits::<f32>(root);
    let reciprocal = o.sub::<u32>(reciprocal, bits);
    let reciprocal = o.of_bits::<f32>(reciprocal);
    let y = o.fma::<f32>(rest, reciprocal, root);
    let y = o.mul::<f32>(y, power);
    let first = o.cmp::<f32>(Cmp::Eq, a1, infinity);
    let second = o.cmp::<f32>(Cmp::Eq, a2, infinity);
    let infinite = o.mask_or::<f32>(first, second);
    o.select::<f32>(infinite, infinity, y)
}
