//! Computes the exact values of the transcendental functions, and the distance of a result from the exact value in ulps.
//!
//! `functions` declares each function once. A quick evaluation with a known error bound (`elementary`) suffices for values whose
//! distance from a rounding boundary exceeds the bound. All other values are computed by correctly rounded arithmetic of
//! arbitrary precision (`precise`). No code here comes from the crates under test.

mod arguments;
mod declaration;
mod elementary;
mod functions;
mod multiples;
mod near_one;
mod near_ties;
mod precise;
mod quantile;
mod quantile_estimate;
mod speed;
mod wide;

use std::cmp::Ordering;

use broadloom_core::DType;

pub use declaration::{Edition, Special};
use functions::Quick;
pub use functions::{Function, Libraries, Model, Symmetry};
pub use multiples::near_multiples_of_half_pi;
pub use near_one::nearest_to_one;
pub use near_ties::near_ties;
use precise::Big;
pub use speed::Speed;
use wide::WideFloat;

impl Function {
    /// The value by the quick reference, for arguments that are not special, and the number of bits that cancelled in its last
    /// sum. The relative error is at most [`elementary::RELATIVE_ERROR`] times 2 to that number.
    fn estimate(self, x: f64, y: f64) -> (WideFloat, i32) {
        match self.model().quick {
            Quick::One(function) => (function(x.into()), 0),
            Quick::Angle(function) => (function(x), 0),
            Quick::Two(function) => function(x, y),
        }
    }

    /// The value to `bits` bits by the precise reference, for arguments that are not special. Unary functions ignore `y`.
    fn precise(self, x: f64, y: f64, bits: usize) -> Big {
        precise::at(x, y, bits, self.model().precise)
    }
}

/// A floating-point format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Its dtype.
    pub dtype: DType,
    /// The number of bits of a significand, including the hidden one.
    pub precision: i32,
    /// The minimum exponent of a normal number.
    pub least: i32,
    /// The maximum exponent.
    pub greatest: i32,
}

impl FloatFormat {
    /// float16.
    pub const FLOAT16: FloatFormat =
        FloatFormat { dtype: DType::Float16, precision: 11, least: -14, greatest: 15 };
    /// float32.
    pub const FLOAT32: FloatFormat =
        FloatFormat { dtype: DType::Float32, precision: 24, least: -126, greatest: 127 };
    /// float64.
    pub const FLOAT64: FloatFormat =
        FloatFormat { dtype: DType::Float64, precision: 53, least: -1022, greatest: 1023 };
    /// All formats.
    pub const ALL: [FloatFormat; 3] = [FloatFormat::FLOAT16, FloatFormat::FLOAT32, FloatFormat::FLOAT64];

    /// The exponent of an ulp, for a number with this exponent.
    pub fn ulp(self, exponent: i32) -> i32 {
        exponent.clamp(self.least, self.greatest) - self.precision + 1
    }

    /// The exponent of the power of two that an infinite result counts as. Larger exact values count as that power too.
    pub fn beyond(self) -> i32 {
        self.greatest + 1
    }
}

/// The comparison of a result with the exact value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// The result is not in the right class: NaN, infinite or finite.
    Wrong,
    /// The result and the exact value are of the same class.
    Off {
        /// The error: |got − exact| / 2^(max(floor(log2 |exact|), least) − precision + 1).
        ulps: f64,
        /// Whether the result is the exact value rounded to nearest, ties to even.
        nearest: bool,
    },
}

impl Judgement {
    const RIGHT: Judgement = Judgement::Off { ulps: 0.0, nearest: true };
}

/// The maximum uncertainty of an error, in ulps, for which [`judge`] uses the quick reference. If the uncertainty may be larger,
/// it calls [`judge_precisely`].
const COARSE: f64 = 1.0 / (1_u64 << 32) as f64;

/// A bound on the error of converting an error in ulps to float64, with a margin.
const FINE: f64 = 1.0 / (1_u64 << 44) as f64;

/// Judges a result in a format, given as the float64 with the same value.
///
/// An infinite result counts as ±2^(greatest + 1), and so do exact values beyond that. Their distance is in ulps of the maximum
/// exponent: overflow is right for such values, and the largest finite number is an ulp off.
pub fn judge(function: Function, format: FloatFormat, x: f64, y: f64, got: f64) -> Judgement {
    if let Some(special) = function.special(x, y) {
        return judge_special(special, format, got);
    }
    if got.is_nan() {
        return Judgement::Wrong;
    }
    let (estimate, cancelled) = function.estimate(x, y);
    // The value is below 2^precision ulps.
    let margin = elementary::RELATIVE_ERROR * 2_f64.powi((format.precision + cancelled).clamp(0, 1000));
    if margin > COARSE {
        return judge_precisely(function, format, x, y, got);
    }
    let beyond = WideFloat::power_of_two(format.beyond());
    let exact = if estimate.exponent() >= format.beyond() {
        beyond.with_sign(estimate.is_negative())
    } else {
        estimate
    };
    let counted = if got.is_infinite() { beyond.with_sign(got < 0.0) } else { WideFloat::from_f64(got) };
    let ulps = (counted - exact).scale(-format.ulp(exact.exponent())).abs().to_f64();
    if (ulps - 0.5).abs() <= margin + FINE {
        return judge_precisely(function, format, x, y, got);
    }
    Judgement::Off { ulps, nearest: ulps < 0.5 }
}

/// Whether a result, as a float64, is the canonical NaN, which every function returns: positive, quiet, without payload.
pub fn is_canonical_nan(got: f64) -> bool {
    got.to_bits() == 0x7ff8_0000_0000_0000
}

fn judge_special(special: Special, format: FloatFormat, got: f64) -> Judgement {
    let right = match special {
        Special::Nan => is_canonical_nan(got),
        Special::Infinite(negative) => got.is_infinite() && (got < 0.0) == negative,
        Special::Exactly(value) if got.is_nan() || got.is_infinite() != value.is_infinite() => false,
        Special::Exactly(value) if got == value => true,
        Special::Exactly(value) => {
            let exact = WideFloat::from_f64(value);
            let error = (WideFloat::from_f64(got) - exact).scale(-format.ulp(exact.exponent())).abs();
            return Judgement::Off { ulps: error.to_f64(), nearest: false };
        }
    };
    if right { Judgement::RIGHT } else { Judgement::Wrong }
}

/// Judges a result by the precise reference, computed to 400 bits. If the value rounded to 400 bits is the midpoint of two
/// numbers, it counts as a tie.
pub fn judge_precisely(function: Function, format: FloatFormat, x: f64, y: f64, got: f64) -> Judgement {
    if let Some(special) = function.special(x, y) {
        return judge_special(special, format, got);
    }
    if got.is_nan() {
        return Judgement::Wrong;
    }
    let value = function.precise(x, y, 400);
    let exponent = precise::to_wide(&value).exponent();
    let beyond = |negative: bool| {
        let value = precise::power_of_two(format.beyond() as isize);
        if negative { -value } else { value }
    };
    let exact = if exponent >= format.beyond() { beyond(value < Big::ZERO) } else { value };
    let ulp = format.ulp(exponent);
    let counted = if got.is_infinite() { beyond(got < 0.0) } else { precise::big(got) };
    let difference = (counted - exact) << -ulp as isize;
    let error = if difference < Big::ZERO { -difference } else { difference };
    let nearest = match error.partial_cmp(&precise::power_of_two(-1)) {
        Some(Ordering::Less) => true,
        // The result is a multiple of the ulp, as is the power of two that an infinity counts as. The result is the even
        // neighbour if the ulp's bit is not set.
        Some(Ordering::Equal) => got.is_infinite() || !WideFloat::from_f64(got).bit(ulp),
        _ => false,
    };
    Judgement::Off { ulps: precise::to_wide(&error).to_f64(), nearest }
}

/// The value for arguments that are not special, as ± significand · 2^exponent, rounded to 100 bits. A value that is
/// representable in fewer bits is therefore exact.
pub(crate) fn value(function: Function, x: f64, y: f64) -> (bool, u128, i32) {
    let (estimate, cancelled) = function.estimate(x, y);
    let value = if cancelled < 8 { estimate } else { precise::to_wide(&function.precise(x, y, 200)) };
    value.parts(100)
}

/// Whether the terms of logaddexp cancel: the magnitude of the result is below 2^-10 of the larger argument's.
pub fn cancels(x: f64, y: f64) -> bool {
    let (greater, less) = (x.max(y), x.min(y));
    // float64 arithmetic suffices, except right at the limit, where the answer doesn't matter.
    greater.is_finite() && (greater + (less - greater).exp().ln_1p()).abs() < greater.abs() / 1024.0
}

/// −log2 of the distance, in halves of an ulp, between the exact value and the nearest number or midpoint of two numbers. After
/// the significand, the exact value has about that many equal bits.
pub fn hardness(function: Function, format: FloatFormat, x: f64, y: f64) -> f64 {
    if function.special(x, y).is_some() {
        return 0.0;
    }
    let value = function.precise(x, y, 400);
    let halves = value.clone() << (1 - format.ulp(precise::to_wide(&value).exponent())) as isize;
    let distance = precise::to_wide(&(halves.clone() - halves.round()));
    if distance.is_zero() { f64::INFINITY } else { -f64::from(distance.exponent()) - 1.0 }
}

/// The difference between the quick and the precise reference, as a multiple of the quick reference's error bound. `None` if
/// there is no value to compare.
pub fn disagreement(function: Function, x: f64, y: f64) -> Option<f64> {
    if function.special(x, y).is_some() {
        return None;
    }
    let (estimate, cancelled) = function.estimate(x, y);
    if cancelled > 80 {
        return None;
    }
    let precise = precise::to_wide(&function.precise(x, y, 160));
    // Extremely large and small values are not computed; the references replace them by different values.
    let replaced = |x: WideFloat| x.exponent().abs() > 1 << 14;
    if replaced(estimate) && replaced(precise) && estimate.exponent().signum() == precise.exponent().signum()
    {
        return None;
    }
    let relative = ((estimate - precise) / precise).abs().to_f64();
    Some(relative / elementary::RELATIVE_ERROR / 2_f64.powi(cancelled.max(0)))
}

#[cfg(test)]
mod tests;
