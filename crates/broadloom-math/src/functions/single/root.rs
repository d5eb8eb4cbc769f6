//! The cube root of float32. Bits divided by −3 are about those of x^(−1/3), which a step of third order brings to 2^−16;
//! with c = x·y², what c³ lacks to x is computed almost without loss, so that the last operation is the only rounding that
//! counts.

use crate::functions::compare::magnitude;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

/// 2^23 and the bits over 256 of the float32 whose cube has the reciprocal with the bits 0.
const START: f32 = 8_388_608.0 + (0x54a2_1d2a_u32 >> 8) as f32;

/// (1 − h)^(−1/3) − 1 over h, about.
const SERIES: [f32; 3] = [1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0];

/// ∛x
#[inline(always)]
pub(crate) fn cbrt<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let bits = magnitude::<O, f32>(o, x);
    let whole = o.of_bits::<f32>(bits);
    // No subnormal numbers, and no remainder below underflow.
    let limit = o.splat(2.0f32.powi(-80));
    let small = o.cmp::<f32>(Cmp::Lt, whole, limit);
    let (one, up, down) = (o.splat(1.0f32), o.splat(2.0f32.powi(72)), o.splat(2.0f32.powi(-24)));
    let factor = o.select::<f32>(small, up, one);
    let back = o.select::<f32>(small, down, one);
    let a = o.mul::<f32>(whole, factor);
    // y ≈ a^(−1/3). The low bits of the sum are those of y over 256.
    let bits = o.bits::<f32>(a);
    let bits = o.int_resize::<u32, i32>(bits);
    let number = o.int_to_float::<i32, f32>(bits);
    let (start, third) = (o.splat(START), o.splat(-1.0 / 768.0f32));
    let sum = o.fma::<f32>(number, third, start);
    let sum = o.bits::<f32>(sum);
    let y = o.shl_const::<u32>(sum, 8);
    let y = o.of_bits::<f32>(y);
    let square = o.mul::<f32>(y, y);
    let product = o.mul::<f32>(a, y);
    let minus = o.neg::<f32>(product);
    let h = o.fma::<f32>(minus, square, one);
    let [first, second, third] = SERIES.map(|c| o.splat(c));
    let step = o.fma::<f32>(h, third, second);
    let step = o.fma::<f32>(h, step, first);
    let step = o.mul::<f32>(h, step);
    let y = o.fma::<f32>(y, step, y);
    // c = a·y², and (a − c³)/(3c²), where 1/c² is y².
    let square = o.mul::<f32>(y, y);
    let c = o.mul::<f32>(a, square);
    let c2 = o.mul::<f32>(c, c);
    let minus = o.neg::<f32>(c2);
    let c2_low = o.fma::<f32>(c, c, minus);
    let rest = o.fma::<f32>(minus, c, a);
    let minus = o.neg::<f32>(c2_low);
    let rest = o.fma::<f32>(minus, c, rest);
    let third = o.splat(1.0 / 3.0f32);
    let slope = o.mul::<f32>(square, third);
    let y = o.fma::<f32>(rest, slope, c);
    let y = o.mul::<f32>(y, back);
    // Infinity and NaN are their own cube roots.
    let infinity = o.splat(f32::INFINITY);
    let finite = o.cmp::<f32>(Cmp::Lt, whole, infinity);
    let y = o.select::<f32>(finite, y, whole);
    let mask = o.splat(1u32 << 31);
    let x = o.bits::<f32>(x);
    let sign = o.and::<u32>(x, mask);
    let y = o.bits::<f32>(y);
    let y = o.or::<u32>(y, sign);
    o.of_bits::<f32>(y)
}
