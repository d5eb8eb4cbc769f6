//! exp of float16, for which float32 arithmetic has enough digits to round correctly.

use crate::dtype::f16;
use crate::functions::coefficients::{EXP_SINGLE, LN2_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23 plus 14, the negated minimum exponent of float16: the sum of an integer n and this number has n + 14 in
/// its low bits.
const HALF_MAGIC: f32 = 12_582_912.0 + 14.0;

/// e^x of float16, correctly rounded.
///
/// With e^x = 2^n·(1 + t), adding 2^n·t to 2^n + 1.5·2^23·u rounds once to a multiple of u, the last place of the
/// float16 result, and leaves that multiple in the low bits. t has an error of 2^−26, which changes the rounding for no
/// float16 argument (all of them are tested).
#[inline(always)]
pub(crate) fn exp_half<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f16> {
    // Exponent and significand at their positions in a float32 give x·2^−112. An infinity is then 2^16; NaN is handled
    // last.
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
    // n is clamped at −24, the exponent of the smallest float16: a result below half of that is 0, whatever the
    // remainder.
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
    // The exponent of the result: n, or n − 1 where 1 + t is below 1, but at least the exponent of subnormals.
    let n_bits = o.bits::<f32>(t);
    let n_bits = o.int_resize::<u32, i32>(n_bits);
    let sign = o.bits::<f32>(fraction);
    let sign = o.int_resize::<u32, i32>(sign);
    let sign = o.shr_const::<i32>(sign, 31);
    let e = o.add::<i32>(n_bits, sign);
    let normal = o.splat(HALF_MAGIC.to_bits() as i32 - 14);
    let subnormal = o.cmp::<i32>(Cmp::Lt, e, normal);
    let e = o.select::<i32>(subnormal, normal, e);
    // 2^n, and 1.5·2^23·u with u = 2^(e−10). The shifts drop the upper bits of the magic number.
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
    // The multiple of u, plus the exponent field above it. The leading bit of a normal number adds 1 to the field.
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
