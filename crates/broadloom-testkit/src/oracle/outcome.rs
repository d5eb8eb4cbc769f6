//! Results of functions on mathematical numbers, and the only code that wraps or rounds them to a dtype.

use super::bits;
use super::exact::ExactReal;
use crate::value::{Value, ValueKind};

/// The result of a function on numbers, before it is converted to a dtype.
pub(super) enum NumericResult {
    Truth(bool),
    Integer(i128),
    ExactReal(ExactReal),
}

/// Converts a result to a dtype: integers wrap, reals are rounded, and a NaN becomes the positive quiet one without payload.
pub(super) fn store(outcome: NumericResult, kind: ValueKind) -> Value {
    let raw = match (outcome, kind) {
        (NumericResult::Truth(truth), _) => u64::from(truth),
        (NumericResult::Integer(x), ValueKind::Int(int)) => bits::encode(x, int),
        (NumericResult::ExactReal(ExactReal::Nan { .. }), ValueKind::Float(format)) => {
            ExactReal::Nan { negative: false }.encode(format)
        }
        (NumericResult::ExactReal(x), ValueKind::Float(format)) => x.encode(format),
        (NumericResult::Integer(_) | NumericResult::ExactReal(_), _) => {
            unreachable!("a number was computed for a result of {kind:?}")
        }
    };
    Value::from_raw(kind, raw)
}
