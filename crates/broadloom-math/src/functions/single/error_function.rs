//! erf and erfc of float32.

use crate::functions::coefficients::{
    ERF_SINGLE, ERF_SLOPE_SINGLE, ERFC_LOG_POINT, ERFC_LOG_SINGLE, ERFC_LOG_THERE, EXP2_SINGLE,
};
use crate::functions::compare::magnitude;
use crate::functions::float64::polynomial;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

/// 1.5 · 2^23: added to a number below 2^22 it leaves the nearest integer in the low bits.
const INTEGER_MAGIC: f32 = 12_582_912.0;

/// Up to here erf is an odd polynomial, above it 1 less an exponential, which is below 1/4.
const FAR: f32 = 0.814;

/// erf x
#[inline(always)]
pub(crate) fn erf<O: Ops>(o: &mut O, x: F<O>) -> F<O> {
    let bits = magnitude::<O, f32>(o, x);
    let a = o.of_bits::<f32>(bits);
    // a + a·(slope + u·P(u))
    let u = o.mul::<f32>(a, a);
    let (first, others) = head(o, &ERF_SINGLE);
    let p = polynomial::<O, f32>(o, u, others);
    let p = o.fma::<f32>(u, p, first);
    let slope = o.splat(ERF_SLOPE_SINGLE);
    let q = o.fma::<f32>(u, p, slope);
    let near = o.fma::<f32>(a, q, a);
    // 2^(there + v·P(v)), where what is not an integer of the exponent is rounded but once. From 4 on the result rounds to 1.
    let four = o.splat(4.0f32);
    let above = o.cmp::<f32>(Cmp::Lt, four, a);
    let b = o.select::<f32>(above, four, a);
    let point = o.splat(ERFC_LOG_POINT);
    let v = o.sub::<f32>(b, point);
    let p = polynomial::<O, f32>(o, v, &ERFC_LOG_SINGLE);
    let (magic, there) = (o.splat(INTEGER_MAGIC), o.splat(ERFC_LOG_THERE));
    let t = o.fma::<f32>(v, p, there);
    let t = o.add::<f32>(t, magic);
    let n = o.sub::<f32>(t, magic);
    let f = o.sub::<f32>(there, n);
    let f = o.fma::<f32>(v, p, f);
    let p = polynomial::<O, f32>(o, f, &EXP2_SINGLE);
    let one = o.splat(1.0f32);
    let e = o.fma::<f32>(f, p, one);
    let power = o.bits::<f32>(t);
    let power = o.shl_const::<u32>(power, 23);
    let e = o.bits::<f32>(e);
    let e = o.add::<u32>(e, power);
    let e = o.of_bits::<f32>(e);
    let far = o.sub::<f32>(one, e);
    // NaN is near.
    let limit = o.splat(FAR);
    let is_far = o.cmp::<f32>(Cmp::Ge, a, limit);
    let y = o.select::<f32>(is_far, far, near);
    let mask = o.splat(1u32 << 31);
    let x = o.bits::<f32>(x);
    let sign = o.and::<u32>(x, mask);
    let y = o.bits::<f32>(y);
    let y = o.or::<u32>(y, sign);
    o.of_bits::<f32>(y)
}

/// The first coefficient, and the others.
#[inline(always)]
fn head<O: Ops>(o: &mut O, coefficients: &'static [f32]) -> (F<O>, &'static [f32]) {
    (o.splat(coefficients[0]), &coefficients[1..])
}
