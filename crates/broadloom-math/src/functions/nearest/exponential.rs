//! e^x and 2^x in float64, for correctly rounded float32 results. They are so short that every instruction counts:
//! steps that `functions::exponential` needs for float64 results are taken in float32 here, or left out.

use crate::functions::coefficients::{LN2_DD, LOG2_E};
use crate::functions::float64::{Float64, MAGIC_EXPONENT, power_of_two};
use crate::functions::near_coefficients::EXP_NEAR;
use crate::ops::{Cmp, Ops};

/// Clamps `x` and converts it to float64. Beyond the bounds, the function's result is 0 or infinite. NaN is
/// kept.
#[inline(always)]
fn held<O: Ops>(o: &mut O, x: O::V<f32>, least: f32, most: f32) -> O::V<f64> {
    let (least, most) = (o.splat(least), o.splat(most));
    let above = o.cmp::<f32>(Cmp::Lt, most, x);
    let x = o.select::<f32>(above, most, x);
    let below = o.cmp::<f32>(Cmp::Lt, x, least);
    let x = o.select::<f32>(below, least, x);
    o.float_resize::<f32, f64>(x)
}

/// 2^n·e^r, where `magic` is n + [`MAGIC_EXPONENT`].
#[inline(always)]
fn scaled<O: Ops>(o: &mut O, magic: O::V<f64>, r: O::V<f64>) -> O::V<f64> {
    let q = o.polynomial(r, &EXP_NEAR);
    let square = o.mul::<f64>(r, r);
    let fraction = o.fma::<f64>(square, q, r);
    let power = power_of_two(o, magic);
    o.fma::<f64>(fraction, power, power)
}

/// e^x. The error of n·ln 2, with ln 2 as one double, is below 2^−48.
#[inline(always)]
pub(super) fn exp<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f64> {
    let x = held(o, x, -104.0, 89.0);
    let magic = o.constant(MAGIC_EXPONENT);
    let magic = o.fma_c(x, LOG2_E[0], magic);
    let n = o.add_c(magic, -MAGIC_EXPONENT);
    let r = o.fma_c(n, -LN2_DD[0], x);
    scaled(o, magic, r)
}

/// 2^x, exact if x is an integer.
#[inline(always)]
pub(super) fn exp2<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f64> {
    let x = held(o, x, -151.0, 129.0);
    let magic = o.add_c(x, MAGIC_EXPONENT);
    let n = o.add_c(magic, -MAGIC_EXPONENT);
    let fraction = o.sub::<f64>(x, n);
    let r = o.mul_c(fraction, LN2_DD[0]);
    scaled(o, magic, r)
}
