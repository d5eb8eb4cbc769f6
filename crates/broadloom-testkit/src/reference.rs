//! The exact values of the transcendental functions, and how far a result is from one in ulps.
//!
//! In: a function, float64 arguments, a format and a result. Out: whether the result is the wrong kind of thing, or
//! its error and whether it is the nearest number. Must hold: a quick evaluation with a stated bound
//! (`elementary`) decides only what is clear of a rounding edge by more than that; the rest goes to correctly
//! rounded arithmetic of any precision (`precise`). Nothing here comes from the crates that are judged.

mod elementary;
mod multiples;
mod precise;
mod wide;

use std::cmp::Ordering;

use broadloom_core::DType;

pub use multiples::near_multiples_of_half_pi;
use precise::Big;
use wide::Wide;

/// A function that is not computed exactly (and the square root, which is).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the function of that name")]
pub enum Function {
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Cos,
    Cosh,
    Exp,
    Expm1,
    Hypot,
    Log,
    Log1p,
    Log2,
    Log10,
    LogAddExp,
    Pow,
    Sin,
    Sinh,
    Sqrt,
    Tan,
    Tanh,
}

/// A value at a special argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// Not a number.
    Nan,
    /// An infinity; the field says whether it is the negative one.
    Infinite(bool),
    /// Exactly this number. The sign of a zero is not judged.
    Exactly(f64),
}

impl Function {
    /// All of them, by name.
    pub const ALL: [Function; 23] = [
        Function::Acos,
        Function::Acosh,
        Function::Asin,
        Function::Asinh,
        Function::Atan,
        Function::Atan2,
        Function::Atanh,
        Function::Cos,
        Function::Cosh,
        Function::Exp,
        Function::Expm1,
        Function::Hypot,
        Function::Log,
        Function::Log1p,
        Function::Log2,
        Function::Log10,
        Function::LogAddExp,
        Function::Pow,
        Function::Sin,
        Function::Sinh,
        Function::Sqrt,
        Function::Tan,
        Function::Tanh,
    ];

    /// The standard's name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Acos => "acos",
            Function::Acosh => "acosh",
            Function::Asin => "asin",
            Function::Asinh => "asinh",
            Function::Atan => "atan",
            Function::Atan2 => "atan2",
            Function::Atanh => "atanh",
            Function::Cos => "cos",
            Function::Cosh => "cosh",
            Function::Exp => "exp",
            Function::Expm1 => "expm1",
            Function::Hypot => "hypot",
            Function::Log => "log",
            Function::Log1p => "log1p",
            Function::Log2 => "log2",
            Function::Log10 => "log10",
            Function::LogAddExp => "logaddexp",
            Function::Pow => "pow",
            Function::Sin => "sin",
            Function::Sinh => "sinh",
            Function::Sqrt => "sqrt",
            Function::Tan => "tan",
            Function::Tanh => "tanh",
        }
    }

    /// The function of a name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Number of arguments.
    pub fn arity(self) -> usize {
        1 + usize::from(matches!(
            self,
            Function::Atan2 | Function::Hypot | Function::LogAddExp | Function::Pow
        ))
    }

    /// Whether it grows (or, for `Less`, falls) over its whole domain.
    pub fn monotonic(self) -> Option<Ordering> {
        match self {
            Function::Acos => Some(Ordering::Less),
            Function::Cos | Function::Cosh | Function::Sin | Function::Tan => None,
            _ if self.arity() == 2 => None,
            _ => Some(Ordering::Greater),
        }
    }

    /// The value where it is no number, infinite, or known without arithmetic; zeros are always among these.
    ///
    /// Sources: the Array API standard's special cases; for hypot, which its first editions lack, C's Annex F.
    pub fn special(self, x: f64, y: f64) -> Option<Special> {
        use Special::{Exactly, Infinite, Nan};
        let zero = |condition: bool| condition.then_some(Exactly(0.0));
        match self {
            Function::Pow => special_pow(x, y),
            Function::Hypot if x.is_infinite() || y.is_infinite() => Some(Infinite(false)),
            _ if x.is_nan() || self.arity() == 2 && y.is_nan() => Some(Nan),
            Function::Hypot => zero(x == 0.0 && y == 0.0),
            Function::Atan2 => zero(x == 0.0 && y.is_sign_positive() || x.is_finite() && y == f64::INFINITY),
            Function::LogAddExp => match (x, y) {
                (f64::INFINITY, _) | (_, f64::INFINITY) => Some(Infinite(false)),
                (f64::NEG_INFINITY, f64::NEG_INFINITY) => Some(Infinite(true)),
                (f64::NEG_INFINITY, other) | (other, f64::NEG_INFINITY) => Some(Exactly(other)),
                _ => None,
            },
            Function::Acos | Function::Asin | Function::Atanh if x.abs() > 1.0 => Some(Nan),
            Function::Acosh if x < 1.0 => Some(Nan),
            Function::Log | Function::Log2 | Function::Log10 | Function::Sqrt if x < 0.0 => Some(Nan),
            Function::Log1p if x < -1.0 => Some(Nan),
            Function::Sin | Function::Cos | Function::Tan if x.is_infinite() => Some(Nan),
            Function::Atanh if x.abs() == 1.0 => Some(Infinite(x < 0.0)),
            Function::Log | Function::Log2 | Function::Log10 if x == 0.0 => Some(Infinite(true)),
            Function::Log1p if x == -1.0 => Some(Infinite(true)),
            Function::Exp if x == f64::NEG_INFINITY => Some(Exactly(0.0)),
            Function::Expm1 if x == f64::NEG_INFINITY => Some(Exactly(-1.0)),
            Function::Tanh if x.is_infinite() => Some(Exactly(x.signum())),
            Function::Cosh if x.is_infinite() => Some(Infinite(false)),
            Function::Atan => zero(x == 0.0),
            _ if x.is_infinite() => Some(Infinite(x < 0.0)),
            Function::Acos | Function::Acosh | Function::Log | Function::Log2 | Function::Log10 => {
                zero(x == 1.0)
            }
            Function::Cos | Function::Cosh | Function::Exp => (x == 0.0).then_some(Exactly(1.0)),
            _ => zero(x == 0.0),
        }
    }

    /// The value where it is not special, and how many bits cancelled in its last sum: it is within
    /// [`elementary::RELATIVE_ERROR`] times 2 to that power.
    fn estimate(self, x: f64, y: f64) -> (Wide, i32) {
        let (a, b) = (Wide::from_f64(x), Wide::from_f64(y));
        let value = match self {
            Function::Acos => elementary::acos(a),
            Function::Acosh => elementary::acosh(a),
            Function::Asin => elementary::asin(a),
            Function::Asinh => elementary::asinh(a),
            Function::Atan => elementary::atan(a),
            Function::Atan2 => {
                elementary::atan2(a, Wide::from_f64(abscissa(x, y))).with_sign(x.is_sign_negative())
            }
            Function::Atanh => elementary::atanh(a),
            Function::Cos => elementary::cos(x),
            Function::Cosh => elementary::cosh(a),
            Function::Exp => elementary::exp(a),
            Function::Expm1 => elementary::expm1(a),
            Function::Hypot => elementary::hypot(a, b),
            Function::Log => elementary::log(a),
            Function::Log1p => elementary::log1p(a),
            Function::Log2 => elementary::log2(a),
            Function::Log10 => elementary::log10(a),
            Function::LogAddExp => return elementary::logaddexp(a, b),
            Function::Pow => elementary::pow(a.abs(), b).with_sign(x < 0.0 && is_odd(y)),
            Function::Sin => elementary::sin(x),
            Function::Sinh => elementary::sinh(a),
            Function::Sqrt => a.sqrt(),
            Function::Tan => elementary::tan(x),
            Function::Tanh => elementary::tanh(a),
        };
        (value, 0)
    }
}

/// The second argument of atan2; ±1 for a zero where the first is a zero too.
fn abscissa(y: f64, x: f64) -> f64 {
    if x == 0.0 && y == 0.0 { x.signum() } else { x }
}

/// Whether it is an odd integer.
fn is_odd(y: f64) -> bool {
    y.abs() < 9_007_199_254_740_992.0 && y.fract() == 0.0 && y as i64 & 1 == 1
}

fn special_pow(x: f64, y: f64) -> Option<Special> {
    use Special::{Exactly, Infinite, Nan};
    if y == 0.0 || x == 1.0 {
        return Some(Exactly(1.0));
    }
    if x.is_nan() || y.is_nan() {
        return Some(Nan);
    }
    if y.is_infinite() && x.abs() == 1.0 {
        return Some(Exactly(1.0));
    }
    let grows = if y.is_infinite() {
        (x.abs() > 1.0) == (y > 0.0)
    } else if x == 0.0 || x.is_infinite() {
        x.is_infinite() == (y > 0.0)
    } else if x < 0.0 && y.fract() != 0.0 {
        return Some(Nan);
    } else {
        return None;
    };
    Some(if grows { Infinite(x.is_sign_negative() && is_odd(y)) } else { Exactly(0.0) })
}

/// A floating format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its dtype.
    pub dtype: DType,
    /// Bits of a significand.
    pub precision: i32,
    /// The least exponent of a normal number.
    pub least: i32,
    /// The greatest exponent.
    pub greatest: i32,
}

impl Format {
    /// float16.
    pub const FLOAT16: Format = Format { dtype: DType::Float16, precision: 11, least: -14, greatest: 15 };
    /// float32.
    pub const FLOAT32: Format = Format { dtype: DType::Float32, precision: 24, least: -126, greatest: 127 };
    /// float64.
    pub const FLOAT64: Format = Format { dtype: DType::Float64, precision: 53, least: -1022, greatest: 1023 };
    /// All of them.
    pub const ALL: [Format; 3] = [Format::FLOAT16, Format::FLOAT32, Format::FLOAT64];

    /// The exponent of an ulp of a number with this exponent.
    pub fn ulp(self, exponent: i32) -> i32 {
        exponent.clamp(self.least, self.greatest) - self.precision + 1
    }

    /// The exponent that an infinite result counts as, and that no exact value counts beyond.
    pub fn beyond(self) -> i32 {
        self.greatest + 1
    }
}

/// How a result compares with the exact value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// NaN, an infinity or a number where another of these is right.
    Wrong,
    /// A number for a number.
    Off {
        /// The error: |got − exact| / 2^(max(floor(log2 |exact|), least) − precision + 1).
        ulps: f64,
        /// Whether it is the exact value rounded to nearest, ties to even.
        nearest: bool,
    },
}

impl Judgement {
    const RIGHT: Judgement = Judgement::Off { ulps: 0.0, nearest: true };
}

/// The greatest error of an error in ulps that [`judge`] accepts; beyond it, [`judge_precisely`] decides.
const COARSE: f64 = 1.0 / (1_u64 << 32) as f64;

/// What the conversion of an error in ulps to float64 may lose, and some.
const FINE: f64 = 1.0 / (1_u64 << 44) as f64;

/// Judges a result of a format's, given as the float64 of the same value.
///
/// An infinite result counts as ±2^(greatest + 1), and exact values beyond that count as much, in ulps of the
/// greatest exponent: an overflow is right for them, and the greatest number an ulp off.
pub fn judge(function: Function, format: Format, x: f64, y: f64, got: f64) -> Judgement {
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
    let beyond = Wide::power_of_two(format.beyond());
    let exact = if estimate.exponent() >= format.beyond() {
        beyond.with_sign(estimate.is_negative())
    } else {
        estimate
    };
    let counted = if got.is_infinite() { beyond.with_sign(got < 0.0) } else { Wide::from_f64(got) };
    let ulps = (counted - exact).scale(-format.ulp(exact.exponent())).abs().to_f64();
    if (ulps - 0.5).abs() <= margin + FINE {
        return judge_precisely(function, format, x, y, got);
    }
    Judgement::Off { ulps, nearest: ulps < 0.5 }
}

fn judge_special(special: Special, format: Format, got: f64) -> Judgement {
    let right = match special {
        Special::Nan => got.is_nan(),
        Special::Infinite(negative) => got.is_infinite() && (got < 0.0) == negative,
        Special::Exactly(value) if got.is_nan() || got.is_infinite() != value.is_infinite() => false,
        Special::Exactly(value) if got == value => true,
        Special::Exactly(value) => {
            let exact = Wide::from_f64(value);
            let error = (Wide::from_f64(got) - exact).scale(-format.ulp(exact.exponent())).abs();
            return Judgement::Off { ulps: error.to_f64(), nearest: false };
        }
    };
    if right { Judgement::RIGHT } else { Judgement::Wrong }
}

/// Judges by the precise reference alone, to 400 bits: a value that is nearer to a tie of two numbers is one.
pub fn judge_precisely(function: Function, format: Format, x: f64, y: f64, got: f64) -> Judgement {
    if let Some(special) = function.special(x, y) {
        return judge_special(special, format, got);
    }
    if got.is_nan() {
        return Judgement::Wrong;
    }
    let value = precise::at(function, x, y, 400);
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
        // The result is a multiple of the ulp, or an infinity, which is one too.
        Some(Ordering::Equal) => got.is_infinite() || !Wide::from_f64(got).bit(ulp),
        _ => false,
    };
    Judgement::Off { ulps: precise::to_wide(&error).to_f64(), nearest }
}

/// The value where it is not special, as ± significand · 2^exponent, rounded to 100 bits: so that one which is exact in
/// fewer comes out exact.
pub(crate) fn value(function: Function, x: f64, y: f64) -> (bool, u128, i32) {
    let (estimate, cancelled) = function.estimate(x, y);
    let value = if cancelled < 8 { estimate } else { precise::to_wide(&precise::at(function, x, y, 200)) };
    value.parts(100)
}

/// Whether the terms of logaddexp cancel: the result is below 2^-10 of the greater argument in magnitude.
pub fn cancels(x: f64, y: f64) -> bool {
    let (greater, less) = (x.max(y), x.min(y));
    // Far from the limit, float64 arithmetic is as good as any.
    greater.is_finite() && (greater + (less - greater).exp().ln_1p()).abs() < greater.abs() / 1024.0
}

/// −log2 of the distance of the exact value from a number of the format or the middle of two, in halves of an ulp:
/// about as many bits follow the significand's that are all the same.
pub fn hardness(function: Function, format: Format, x: f64, y: f64) -> f64 {
    if function.special(x, y).is_some() {
        return 0.0;
    }
    let value = precise::at(function, x, y, 400);
    let halves = value.clone() << (1 - format.ulp(precise::to_wide(&value).exponent())) as isize;
    let distance = precise::to_wide(&(halves.clone() - halves.round()));
    if distance.is_zero() { f64::INFINITY } else { -f64::from(distance.exponent()) - 1.0 }
}

/// How far the quick reference is from the precise one, in units of what it may be off by; nothing where the two have
/// no value to compare.
pub fn disagreement(function: Function, x: f64, y: f64) -> Option<f64> {
    if function.special(x, y).is_some() {
        return None;
    }
    let (estimate, cancelled) = function.estimate(x, y);
    if cancelled > 80 {
        return None;
    }
    let precise = precise::to_wide(&precise::at(function, x, y, 160));
    // Values of astronomic size are not computed but replaced, by each reference in its way.
    let replaced = |x: Wide| x.exponent().abs() > 1 << 14;
    if replaced(estimate) && replaced(precise) && estimate.exponent().signum() == precise.exponent().signum()
    {
        return None;
    }
    let relative = ((estimate - precise) / precise).abs().to_f64();
    Some(relative / elementary::RELATIVE_ERROR / 2_f64.powi(cancelled.max(0)))
}

#[cfg(test)]
mod tests;
