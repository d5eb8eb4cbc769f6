//! exp of float32: n·ln 2 is taken out of the argument exactly, and the leading terms of what is left are summed with what
//! their sum lost. `exponential` names the source of the reduction.

use crate::functions::coefficients::{EXP_SINGLE, LN2_SINGLE, LOG2_E_SINGLE};
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

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
