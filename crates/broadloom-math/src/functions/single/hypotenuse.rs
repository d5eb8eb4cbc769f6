//! hypot of float32: the root of a sum of squares, carried as two float32 and scaled so that no square overflows or
//! underflows.

use crate::functions::single::F;
use crate::functions::single::float32::Float32;
use crate::ops::{Cmp, Ops};

/// √(x1² + x2²)
#[inline(always)]
pub(crate) fn hypot<O: Ops>(o: &mut O, x1: F<O>, x2: F<O>) -> F<O> {
    let (a1, a2) = (o.abs(x1), o.abs(x2));
    let swapped = o.cmp::<f32>(Cmp::Lt, a1, a2);
    let small = o.select::<f32>(swapped, a1, a2);
    let large = o.select::<f32>(swapped, a2, a1);
    // The scale: the largest power of two that is not above the greater operand, clamped so that its inverse
    // is a normal number as well.
    let exponent = o.splat(f32::INFINITY.to_bits());
    let bits = o.bits::<f32>(large);
    let power = o.and::<u32>(bits, exponent);
    let power = o.of_bits::<f32>(power);
    let power = o.at_least(power, f32::MIN_POSITIVE);
    let power = o.at_most(power, 1.0 / f32::MIN_POSITIVE);
    let bits = o.bits::<f32>(power);
    let inverse = o.splat(254u32 << 23);
    let inverse = o.sub::<u32>(inverse, bits);
    let inverse = o.of_bits::<f32>(inverse);
    let small = o.mul::<f32>(small, inverse);
    let large = o.mul::<f32>(large, inverse);
    // The sum of the squares and its rounding error. `kept` is exact, since the larger square is at least half of the
    // sum.
    let square = o.two_product(large, large);
    let sum = o.fma::<f32>(small, small, square.hi);
    let kept = o.sub::<f32>(square.hi, sum);
    let more = o.fma::<f32>(small, small, kept);
    let lost = o.add::<f32>(square.lo, more);
    // The root, corrected by its remainder divided by twice the root.
    let root = o.sqrt::<f32>(sum);
    let rest = o.nfma(root, root, sum);
    let rest = o.add::<f32>(rest, lost);
    let half = o.rough_reciprocal(root, 0.5);
    let y = o.fma::<f32>(rest, half, root);
    let y = o.mul::<f32>(y, power);
    let infinity = o.splat(f32::INFINITY);
    let first = o.is(a1, Cmp::Eq, f32::INFINITY);
    let second = o.is(a2, Cmp::Eq, f32::INFINITY);
    let infinite = o.mask_or::<f32>(first, second);
    o.select::<f32>(infinite, infinity, y)
}
