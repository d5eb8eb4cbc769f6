//! Conversions between dtypes.
//!
//! A conversion is defined for every value and rounds at most once, directly from the exact source value to the target format.
//! Floats converted to integers are truncated and saturated, and NaN becomes 0. Integers wrap. Everything except zero converts to
//! true. A NaN converted to another float format is the positive quiet one. A conversion to the same dtype keeps all bits.

use super::bits;
use super::exact::{ExactReal, Toward};
use super::outcome::{NumericResult, store};
use crate::value::{Value, ValueKind, kind_of};

/// The value of dtype `to` that `x` converts to.
///
/// ```
/// use broadloom_testkit::{Value, oracle};
///
/// assert!(oracle::cast(Value::I32(300), "uint8").same(&Value::U8(44)));
/// assert!(oracle::cast(Value::F32(300.0), "uint8").same(&Value::U8(255)));
/// ```
///
/// # Panics
///
/// If `to` is not one of [`DTYPES`](crate::DTYPES).
pub fn cast(x: Value, to: &str) -> Value {
    let Some(target) = kind_of(to) else { panic!("cast: no dtype is called {to}") };
    if x.kind() == target {
        return x;
    }
    let outcome = match (x.kind(), target) {
        (ValueKind::Bool, ValueKind::Bool) => NumericResult::Truth(x.raw() == 1),
        (ValueKind::Bool, ValueKind::Int(_)) => NumericResult::Integer(i128::from(x.raw())),
        (ValueKind::Bool, ValueKind::Float(_)) => {
            NumericResult::ExactReal(ExactReal::finite(false, u128::from(x.raw()), 0))
        }
        (ValueKind::Int(from), target) => {
            let integer = bits::decode(x.raw(), from);
            match target {
                ValueKind::Bool => NumericResult::Truth(integer != 0),
                ValueKind::Int(_) => NumericResult::Integer(integer),
                ValueKind::Float(_) => {
                    NumericResult::ExactReal(ExactReal::finite(integer < 0, integer.unsigned_abs(), 0))
                }
            }
        }
        (ValueKind::Float(from), target) => {
            let real = ExactReal::decode(x.raw(), from);
            match target {
                ValueKind::Bool => NumericResult::Truth(!real.is_zero()),
                ValueKind::Int(int) => NumericResult::Integer(saturated(real, bits::range(int))),
                ValueKind::Float(_) => NumericResult::ExactReal(real),
            }
        }
    };
    store(outcome, target)
}

/// The integer part of `x`, clamped to a range; 0 for NaN.
fn saturated(x: ExactReal, (least, largest): (i128, i128)) -> i128 {
    match x {
        ExactReal::Nan { .. } => 0,
        ExactReal::Infinite { negative: true } => least,
        ExactReal::Infinite { negative: false } => largest,
        ExactReal::Finite(x) => {
            let whole = x.integral(Toward::Zero);
            // An integer of more than 64 bits is outside of every range, so only its sign matters.
            let bits = 128 - whole.magnitude.leading_zeros() as i32 + whole.exponent;
            let magnitude = if whole.magnitude == 0 {
                0
            } else if bits > 64 {
                i128::MAX
            } else {
                (whole.magnitude << whole.exponent) as i128
            };
            (if whole.negative { -magnitude } else { magnitude }).clamp(least, largest)
        }
    }
}
