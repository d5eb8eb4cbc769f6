//! References for the inverse of the error function, and for the normal quantile function, which is √2 times that inverse.
//!
//! Both are solved for z = erfinv(a) with E. Halley's iteration, which triples the number of correct digits: for a below 1/2
//! as erf(z) = a, and otherwise as erfc(z) = b with b = 1 − a, so that nothing cancels. [`super::quantile_estimate`] does this
//! in float64, [`solve`] in wide floats, and [`super::precise`] in any precision.

use super::elementary::{self, CONSTANTS};
use super::quantile_estimate::estimate;
use super::wide::WideFloat;

/// erfinv(a) in wide floats, for 0 < b ≤ 1 and a = 1 − b.
fn solve(a: WideFloat, b: WideFloat) -> WideFloat {
    let mut z = WideFloat::from_f64(estimate(a, b));
    loop {
        let difference = if a.exponent() < -1 { elementary::erf(z) - a } else { b - elementary::erfc(z) };
        let u = difference / (CONSTANTS.two_over_root_pi * elementary::exp(-(z * z)));
        let step = u / (WideFloat::ONE + z * u);
        z = z - step;
        // The relative error after a step is at most about z⁴ times the cube of the one before it, and z⁴ is below 2^20.
        if step.exponent() < z.exponent() - 50 {
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
