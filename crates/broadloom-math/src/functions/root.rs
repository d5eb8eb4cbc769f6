//! The cube root in float64 arithmetic (`single` has the function of float32).
//!
//! With x = 2^e·(1 + f) and e = 3q + r, the cube root of z = 2^r·(1 + f) comes from its inverse y ≈ z^(−1/3): a polynomial and
//! one step of an iteration of higher order (the series of (1 − h)^(−1/3) for h = 1 − z·y³). The error of c = z·y² follows from z
//! − c³, which two fused products give exactly, so that the last operation is the only rounding that matters.

use crate::functions::coefficients::{CBRT_HALF, CBRT_START};
use crate::functions::float64::{Float64, MAGIC, MAGIC_EXPONENT, Precision, power_of_two, through_float64};
use crate::functions::logarithm::split;
use crate::functions::{function, single};
use crate::ops::{Cmp, Ops};

function! {
    /// The cube root
    Cbrt
}

through_float64!(unary_with_single Cbrt cbrt single::cbrt;);

/// The first coefficients of the series (1 − h)^(−1/3) − 1 = h/3 + 2h²/9 + 14h³/81 + …
const SERIES_FULL: [f64; 3] = [1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0];
const SERIES_SHORT: [f64; 2] = [1.0 / 3.0, 2.0 / 9.0];

#[inline(always)]
pub(crate) fn cbrt<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let sign = o.sign_of(x);
    let a = o.abs(x);
    let parts = split::<O, P>(o, a);
    // Splits e = 3q + r, where r is −1, 0 or 1.
    let magic = o.constant(MAGIC);
    let q = o.fma_c(parts.e, 1.0 / 3.0, magic);
    let q = o.add_c(q, -MAGIC);
    let r = o.fma_c(q, -3.0, parts.e);
    let power = o.add_c(r, MAGIC_EXPONENT);
    let power = power_of_two(o, power);
    let z = o.fma::<f64>(parts.f, power, power);
    // y ≈ z^(−1/3), with an error of 2^−14.
    let one = o.constant(1.0);
    let above = o.is(r, Cmp::Gt, 0.0);
    let factor = o.put(above, CBRT_HALF[0], one);
    let below = o.is(r, Cmp::Lt, 0.0);
    let factor = o.put(below, CBRT_HALF[1], factor);
    let y = o.polynomial(parts.f, &CBRT_START);
    let y = o.mul::<f64>(y, factor);
    // Improves y to an error of 2^−52, or 2^−40 in short precision.
    let square = o.mul::<f64>(y, y);
    let product = o.mul::<f64>(z, y);
    let h = o.nfma(product, square, one);
    let step = o.polynomial(h, P::pick(&SERIES_FULL, &SERIES_FULL, &SERIES_SHORT));
    let step = o.mul::<f64>(step, h);
    let y = o.fma::<f64>(y, step, y);
    let square = o.mul::<f64>(y, y);
    let c = o.mul::<f64>(z, square);
    let c = if P::FULL {
        // c³ ≈ z. The first difference is exact up to 2^−100, and 1/(3c²) = y²/3.
        let whole = o.two_product(c, c);
        let rest = o.nfma(whole.hi, c, z);
        let rest = o.nfma(whole.lo, c, rest);
        let slope = o.mul_c(square, 1.0 / 3.0);
        o.fma::<f64>(rest, slope, c)
    } else {
        c
    };
    let power = o.add_c(q, MAGIC_EXPONENT);
    let power = power_of_two(o, power);
    let y = o.mul::<f64>(c, power);
    // Zeros, infinities and NaN are their own cube roots.
    let positive = o.is(a, Cmp::Gt, 0.0);
    let finite = o.is(a, Cmp::Lt, f64::INFINITY);
    let ordinary = o.mask_and::<f64>(positive, finite);
    let y = o.select::<f64>(ordinary, y, a);
    o.with_sign(y, sign)
}
