//! The cube root of float32. Dividing the bits of x by −3 approximates the bits of y = x^(−1/3), up to a
//! constant. The error of y, h = 1 − x·y³, gives the factor (1 − h)^(−2/3) that corrects y², to 2^−17. With
//! c = x·y², the difference x − c³ is computed almost without loss, so that the last operation is the only
//! rounding that counts.

use crate::functions::coefficients::CBRT_SINGLE;
use crate::functions::single::F;
use crate::functions::single::float32::Float32;
use crate::ops::{Cmp, Ops};

/// Subtracting a third of x's bits from a constant gives the bits of y. This is 2^23 plus that constant
/// divided by 256. With it, |h| is at most 0.1035.
const START: f32 = 8_388_608.0 + (0x54a2_1000_u32 >> 8) as f32;

/// ∛x
#[inline(always)]
pub(crate) fn cbrt<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let sign = o.sign_of(x);
    let whole = o.abs(x);
    // Small numbers are scaled, so that none is subnormal and no remainder underflows.
    let small = o.is(whole, Cmp::Lt, 2.0f32.powi(-80));
    let (one, up, down) = (o.splat(1.0f32), o.splat(2.0f32.powi(72)), o.splat(2.0f32.powi(-24)));
    let factor = o.select::<f32>(small, up, one);
    let back = o.select::<f32>(small, down, one);
    let a = o.mul::<f32>(whole, factor);
    // The low bits of the sum are the bits of y divided by 256.
    let bits = o.bits::<f32>(a);
    let bits = o.int_resize::<u32, i32>(bits);
    let number = o.int_to_float::<i32, f32>(bits);
    let sum = o.line(number, -1.0 / 768.0, START);
    let sum = o.bits::<f32>(sum);
    let y = o.shl_const::<u32>(sum, 8);
    let y = o.of_bits::<f32>(y);
    let square = o.mul::<f32>(y, y);
    let product = o.mul::<f32>(a, y);
    let h = o.nfma(product, square, one);
    let factor = o.line(h, CBRT_SINGLE[3], CBRT_SINGLE[2]);
    let factor = o.fma_to_c(h, factor, CBRT_SINGLE[1]);
    let factor = o.fma_to_c(h, factor, CBRT_SINGLE[0]);
    // c = a·y², and its correction (a − c³)/(3c²), where 1/c² is y².
    let square = o.mul::<f32>(square, factor);
    let c = o.mul::<f32>(a, square);
    let c2 = o.two_product(c, c);
    let rest = o.nfma(c2.hi, c, a);
    let rest = o.nfma(c2.lo, c, rest);
    let slope = o.mul_c(square, 1.0 / 3.0);
    let y = o.fma::<f32>(rest, slope, c);
    let y = o.mul::<f32>(y, back);
    // Infinity and NaN are their own cube roots.
    let finite = o.is(whole, Cmp::Lt, f32::INFINITY);
    let y = o.select::<f32>(finite, y, whole);
    o.with_sign(y, sign)
}
