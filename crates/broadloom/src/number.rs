//! Formats numbers as NumPy does.
//!
//! A [`Column`] formats the shown elements to a common width. The digits of a float are the shortest that convert back to it,
//! with at most 8 after the point. Source: NumPy 2.4's `arrayprint.py`, default options.

use broadloom_core::{DType, Kind, Scalar};
use broadloom_math::{Elem, f16};

/// The maximum number of digits after the point.
const PRECISION: usize = 8;

/// The common format of all elements of an array.
pub(crate) enum Column {
    /// Bools and integers, right-aligned to this number of characters.
    Width(usize),
    /// Floats without an exponent, aligned at the point: the number of characters before and after the point.
    Fixed(usize, usize),
    /// Floats with an exponent: the number of characters before the point, of digits after it, and of digits of the exponent.
    Exponent(usize, usize, usize),
}

impl Column {
    /// The column for elements of this dtype. `shown` contains their bits.
    pub(crate) fn of(dtype: DType, shown: &[u64]) -> Column {
        let scalars = shown.iter().map(|&bits| Scalar { dtype, bits });
        match dtype.kind() {
            Kind::Float => floats(dtype, scalars),
            _ => Column::Width(scalars.map(|s| alone(s).len()).max().unwrap_or(0)),
        }
    }

    /// Formats one element.
    pub(crate) fn write(&self, x: Scalar) -> String {
        let value = as_f64(x);
        match *self {
            Column::Width(width) => format!("{:>width$}", alone(x)),
            Column::Fixed(left, right) if !value.is_finite() => {
                format!("{:>1$}", not_finite(value), left + right + 1)
            }
            Column::Exponent(left, digits, exponent) if !value.is_finite() => {
                format!("{:>1$}", not_finite(value), left + digits + exponent + 3)
            }
            Column::Fixed(left, right) => {
                let (int, fraction) = fixed(x);
                format!("{int:>left$}.{fraction:<right$}")
            }
            Column::Exponent(left, digits, width) => {
                let (mut int, mut fraction, mut exponent) = scientific(x);
                if fraction.len() < digits {
                    // Digits beyond the shortest ones are the digits of the exact value, not zeros: 0.1 in float16 is 9.9976e-02.
                    let (mantissa, e) = split_exponent(&format!("{value:.digits$e}"));
                    let at = sign_len(&mantissa) + 1;
                    (int, fraction, exponent) = (mantissa[..at].into(), mantissa[at..].into(), e);
                }
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{int:>left$}.{fraction:0<digits$}e{sign}{:0>width$}", exponent.unsigned_abs())
            }
        }
    }
}

/// Formats a 0-d array as Python's `str` does.
pub(crate) fn alone(x: Scalar) -> String {
    if let Some(x) = x.get::<bool>() {
        return if x { "True" } else { "False" }.into();
    }
    let value = as_f64(x);
    match x.dtype.kind() {
        Kind::Float if !value.is_finite() => not_finite(value).into(),
        Kind::Float => {
            let (digits, exponent) = shortest(x);
            let high = 10f64.powi(match x.dtype {
                DType::Float64 => 16,
                dtype => decimals(dtype),
            });
            if value != 0.0 && !(1e-4..high).contains(&value.abs()) {
                let (int, fraction) = digits.split_at(sign_len(&digits) + 1);
                let point = if fraction.is_empty() { "" } else { "." };
                let sign = if exponent < 0 { '-' } else { '+' };
                return format!("{int}{point}{fraction}e{sign}{:0>2}", exponent.unsigned_abs());
            }
            let (int, fraction) = positional(&digits, exponent);
            format!("{int}.{}", if fraction.is_empty() { "0" } else { &fraction })
        }
        _ => x.to_string(),
    }
}

fn floats(dtype: DType, shown: impl Iterator<Item = Scalar> + Clone) -> Column {
    let finite = shown.clone().filter(|&x| as_f64(x).is_finite());
    let nonzero = finite.clone().map(|x| as_f64(x).abs()).filter(|&x| x != 0.0);
    let (low, high) = nonzero.fold((f64::INFINITY, 0.0), |(low, high), x| (x.min(low), x.max(high)));
    let exponents = high > 0.0
        && (high >= 10f64.powi(decimals(dtype)) || low < least(dtype) || ratio(dtype, high, low) > 1000.0);
    // The number of characters before the point, after it, and in the exponent.
    let (mut left, mut right, mut exponent) = (0, 0, 0);
    for x in finite {
        let (int, fraction) = if exponents {
            let (int, fraction, e) = scientific(x);
            exponent = exponent.max(e.unsigned_abs().to_string().len()).max(2);
            (int, fraction)
        } else {
            fixed(x)
        };
        (left, right) = (left.max(int.len()), right.max(fraction.len()));
    }
    // NaN and infinity, which are right-aligned, may need more characters than the numbers.
    let tail = if exponents { right + exponent + 3 } else { right + 1 };
    for text in shown.map(as_f64).filter(|x| !x.is_finite()).map(not_finite) {
        left = left.max(text.len().saturating_sub(tail));
    }
    if exponents { Column::Exponent(left, right, exponent) } else { Column::Fixed(left, right) }
}

/// The number of decimal digits that the dtype always preserves, at most 8. Numbers with more digits before the point are
/// formatted with an exponent.
fn decimals(dtype: DType) -> i32 {
    match dtype {
        DType::Float16 => 3,
        DType::Float32 => 6,
        _ => 8,
    }
}

/// The smallest number that is formatted without an exponent, rounded to the dtype.
fn least(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => f16::from_f64(1e-4).to_f64(),
        DType::Float32 => f64::from(1e-4f32),
        _ => 1e-4,
    }
}

/// The quotient, rounded to the dtype.
fn ratio(dtype: DType, high: f64, low: f64) -> f64 {
    match dtype {
        DType::Float16 => f16::from_f64(high / low).to_f64(),
        DType::Float32 => f64::from(high as f32 / low as f32),
        _ => high / low,
    }
}

fn not_finite(x: f64) -> &'static str {
    match x {
        _ if x.is_nan() => "nan",
        _ if x < 0.0 => "-inf",
        _ => "inf",
    }
}

fn as_f64(x: Scalar) -> f64 {
    match x.dtype {
        DType::Float16 => f16::from_bits64(x.bits).to_f64(),
        DType::Float32 => f64::from(f32::from_bits64(x.bits)),
        DType::Float64 => f64::from_bits(x.bits),
        _ => 0.0,
    }
}

fn sign_len(digits: &str) -> usize {
    usize::from(digits.starts_with('-'))
}

/// The shortest decimal digits that convert back to the float, with a sign if it is negative, and the decimal exponent of the
/// first digit.
fn shortest(x: Scalar) -> (String, i32) {
    let value = as_f64(x);
    let gives_back = |text: &str| match x.dtype {
        DType::Float16 => text.parse().is_ok_and(|back: f64| f16::from_f64(back).to_bits64() == x.bits),
        DType::Float32 => text.parse().is_ok_and(|back: f32| back.to_bits64() == x.bits),
        _ => text.parse().is_ok_and(|back: f64| back.to_bits64() == x.bits),
    };
    let text = match x.dtype {
        DType::Float16 => (0..5).find_map(|digits| near(value, digits).find(|text| gives_back(text))),
        DType::Float32 => Some(format!("{:e}", f32::from_bits64(x.bits))),
        _ => None,
    };
    let (digits, exponent) = split_exponent(&text.unwrap_or_else(|| format!("{value:e}")));
    // Of two decimal numbers that are equally short and equally close, NumPy takes the one with an even last digit, and Rust the
    // larger one.
    let even = format!("{value:.*e}", digits.len() - sign_len(&digits) - 1);
    if gives_back(&even) { split_exponent(&even) } else { (digits, exponent) }
}

/// The value rounded to this many digits after the first, and the adjacent numbers with as many digits. Floats are closer
/// together below a power of two than above it; for a power of two, it may therefore be that only an adjacent number converts
/// back to the value.
fn near(value: f64, digits: usize) -> impl Iterator<Item = String> {
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - digits as i32);
    [value, value + 0.6 * unit, value - 0.6 * unit].into_iter().map(move |x| format!("{x:.digits$e}"))
}

/// Splits a text such as `-1.25e-7` into its digits, without the point and trailing zeros, and its exponent.
fn split_exponent(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.replace('.', "");
    let kept = digits.trim_end_matches('0').len().max(sign_len(&digits) + 1);
    (digits[..kept].to_string(), exponent.parse().unwrap_or(0))
}

/// The digits before and after the point, without an exponent.
fn positional(digits: &str, exponent: i32) -> (String, String) {
    let (sign, digits) = digits.split_at(sign_len(digits));
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return (format!("{sign}0"), format!("{zeros}{digits}").trim_end_matches('0').into());
    }
    let whole = exponent as usize + 1;
    let padded = format!("{digits:0<whole$}");
    (format!("{sign}{}", &padded[..whole]), padded[whole..].trim_end_matches('0').into())
}

/// The digits before and after the point, with at most [`PRECISION`] after it.
fn fixed(x: Scalar) -> (String, String) {
    let (digits, exponent) = shortest(x);
    let (int, fraction) = positional(&digits, exponent);
    if fraction.len() <= PRECISION {
        return (int, fraction);
    }
    let rounded = format!("{:.PRECISION$}", as_f64(x));
    let (int, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    (int.into(), fraction.trim_end_matches('0').into())
}

/// The digit before the point with its sign, at most [`PRECISION`] digits after it, and the exponent.
fn scientific(x: Scalar) -> (String, String, i32) {
    let (mut digits, mut exponent) = shortest(x);
    if digits.len() - sign_len(&digits) - 1 > PRECISION {
        (digits, exponent) = split_exponent(&format!("{:.PRECISION$e}", as_f64(x)));
    }
    let (int, fraction) = digits.split_at(sign_len(&digits) + 1);
    (int.into(), fraction.into(), exponent)
}
