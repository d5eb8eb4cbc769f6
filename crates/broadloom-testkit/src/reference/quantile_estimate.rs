//! The inverse of the error function and the normal quantile function in float64, with the functions of other crates: where the
//! references of more digits begin, and filters of what need not be compared with them.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

use super::wide::WideFloat;

/// erfinv(1 − b) for 0 < b ≤ 1, where a = 1 − b; b may be too small for a float64. The relative error is about 2^-48, but 2^-10
/// for b below 10^-290.
pub(super) fn estimate(a: WideFloat, b: WideFloat) -> f64 {
    let exponent = b.exponent();
    let log = b.scale(-exponent).to_f64().ln() + f64::from(exponent) * LN_2;
    let (a, b) = (a.to_f64(), b.to_f64());
    let halley = |z: f64, u: f64| z - u / (1.0 + z * u);
    let slope = |z: f64| FRAC_2_SQRT_PI * (-z * z).exp();
    if a < 0.5 {
        let start = a / FRAC_2_SQRT_PI * (1.0 + a * a * PI / 12.0);
        return (0..3).fold(start, |z, _| halley(z, (libm::erf(z) - a) / slope(z)));
    }
    // erfc(z) is about exp(−z²)/(z·√π).
    let start = (-log - 0.5 * (-PI * log).ln()).sqrt();
    let steps = if b < 1e-290 { 0 } else { 4 };
    (0..steps).fold(start, |z, _| halley(z, (b - libm::erfc(z)) / slope(z)))
}

/// erfinv(x) in float64 for |x| < 1, otherwise NaN, with the functions of the crate `libm`.
pub(super) fn erfinv_by_libm(x: f64) -> f64 {
    let b = 1.0 - x.abs();
    if b.is_nan() || b <= 0.0 {
        return f64::NAN;
    }
    let [a, b] = [x.abs(), b].map(WideFloat::from_f64);
    estimate(a, b).copysign(x)
}

/// The quantile of p in float64 for 0 < p < 1, otherwise NaN, with the functions of the crate `libm`.
pub(super) fn ndtri_by_libm(p: f64) -> f64 {
    let b = 2.0 * p.min(1.0 - p);
    if b.is_nan() || b <= 0.0 {
        return f64::NAN;
    }
    let [a, b] = [1.0 - b, b].map(WideFloat::from_f64);
    (SQRT_2 * estimate(a, b)).copysign(p - 0.5)
}

/// The quantile of p in float64, with the inverses of the crate `pxfm`.
pub(super) fn ndtri_by_pxfm(p: f64) -> f64 {
    let q = p.min(1.0 - p);
    let z = if q < 0.25 { pxfm::f_erfcinv(2.0 * q) } else { pxfm::f_erfinv(1.0 - 2.0 * q) };
    (z / FRAC_1_SQRT_2).copysign(p - 0.5)
}
