//! References for the inverse of the error function, and for the normal quantile function, which is √2 times that inverse.
//!
//! Both are solved for z = erfinv(a) with E. Halley's iteration, which triples the number of correct digits: for a below 1/2
//! as erf(z) = a, and otherwise as erfc(z) = b with b = 1 − a, so that nothing cancels. [`estimate`] does this in float64,
//! [`solve`] in wide floats, and [`super::precise`] in any precision.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI, SQRT_2};

use super::elementary::{self, CONSTANTS};
use super::wide::WideFloat;

/// erfinv(1 − b) in float64 for 0 < b ≤ 1, where a = 1 − b. `log` is the logarithm of b, which may be too small for a float64.
/// The relative error is about 2^-48, but 2^-10 for b below 10^-290.
pub(super) fn estimate(a: f64, b: f64, log: f64) -> f64 {
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

/// erfinv(a) in wide floats, for 0 < b ≤ 1 and a = 1 − b.
fn solve(a: WideFloat, b: WideFloat) -> WideFloat {
    let mut z = WideFloat::from_f64(estimate(a.to_f64(), b.to_f64(), elementary::log(b).to_f64()));
    loop {
        let difference = if a.exponent() < -1 { elementary::erf(z) - a } else { b - elementary::erfc(z) };
        let u = difference / (CONSTANTS.two_over_root_pi * elementary::exp(-(z * z)));
        let step = u / (WideFloat::ONE + z * u);
        z = z - step;
        if step.exponent() < z.exponent() - 40 {
            return z;
        }
    }
}

/// erfinv(x) for 0 < |x| < 1.
pub(super) fn erfinv(x: WideFloat) -> WideFloat {
    solve(x.abs(), WideFloat::ONE - x.abs()).with_sign(x.is_negative())
}

/// The quantile of a probability 0 < p < 1 other than 1/2.
pub(super) fn ndtri(p: WideFloat) -> WideFloat {
    let below = p.exponent() < -1;
    let b = (if below { p } else { WideFloat::ONE - p }).scale(1);
    (solve(WideFloat::ONE - b, b) * WideFloat::from_i64(2).sqrt()).with_sign(below)
}

/// erfinv(x) in float64, with the functions of the crate `libm`.
pub(super) fn erfinv_by_libm(x: f64) -> f64 {
    let b = 1.0 - x.abs();
    estimate(x.abs(), b, b.ln()).copysign(x)
}

/// The quantile of p in float64, with the functions of the crate `libm`.
pub(super) fn ndtri_by_libm(p: f64) -> f64 {
    let b = 2.0 * p.min(1.0 - p);
    (SQRT_2 * estimate(1.0 - b, b, b.ln())).copysign(p - 0.5)
}

/// The quantile of p in float64, with the inverses of the crate `pxfm`.
pub(super) fn ndtri_by_pxfm(p: f64) -> f64 {
    let q = p.min(1.0 - p);
    let z = if q < 0.25 { pxfm::f_erfcinv(2.0 * q) } else { pxfm::f_erfinv(1.0 - 2.0 * q) };
    (z / FRAC_1_SQRT_2).copysign(p - 0.5)
}
