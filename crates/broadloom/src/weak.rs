//! Numbers that have not been combined with an array yet: Rust values and literals.

use broadloom_core::{DType, Literal, Op, Result, Scalar, fold};
use broadloom_math::f16;

/// A number that takes the dtype of the arrays with which it is combined; it is an error if that dtype can't represent the
/// number. If all operands are numbers, a Rust value has the dtype of its Rust type, and a [`Literal`] is int64, float64 or bool.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![1.0_f64, -1.0]);
/// assert_eq!((&x * 0.5_f32).dtype(), DType::Float64);
/// assert_eq!(where_(x.greater(0), 1.0_f32, 0.0_f32).dtype(), DType::Float32);
/// assert_eq!(where_(x.greater(0), 1_u8, 0_u8).dtype(), DType::UInt8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    value: Literal,
    own: Option<DType>,
    rounded_by: Option<Op>,
}

impl Number {
    /// The value, without its type.
    pub fn literal(self) -> Literal {
        self.value
    }

    /// The default dtype of the number.
    pub fn dtype(self) -> DType {
        self.own.unwrap_or(self.value.default_dtype())
    }

    /// The number as an element of its default dtype.
    ///
    /// Errors: a literal that its default dtype can't represent.
    pub(crate) fn scalar(self) -> Result<Scalar> {
        self.value.to_dtype(self.dtype())
    }

    /// The result of an op on numbers. It has a dtype of its own if `has_own` is true, that is, if an operand has one.
    /// `rounded_by` is an approximate op that was used to compute the number; it is recorded since an evaluation may request more
    /// accuracy.
    pub(crate) fn folded(value: Scalar, has_own: bool, rounded_by: Option<Op>) -> Option<Number> {
        let literal = match (value.get::<bool>(), value.dtype.is_float()) {
            (Some(x), _) => Literal::Bool(x),
            (None, true) => Literal::Float(fold::cast(value, DType::Float64).get()?),
            (None, false) if value.dtype == DType::UInt64 => Literal::Int(value.bits.into()),
            (None, false) => Literal::Int(fold::cast(value, DType::Int64).get::<i64>()?.into()),
        };
        Some(Number { value: literal, own: has_own.then_some(value.dtype), rounded_by })
    }

    /// The number 1 of the same type.
    pub(crate) fn one(self) -> Number {
        let value = match self.value {
            Literal::Bool(_) => Literal::Bool(true),
            Literal::Int(_) => Literal::Int(1),
            Literal::Float(_) => Literal::Float(1.0),
        };
        Number { value, rounded_by: None, ..self }
    }

    /// An approximate op that was used to compute the number, if any.
    pub(crate) fn rounded_by(self) -> Option<Op> {
        self.rounded_by
    }

    /// The dtype of the Rust value from which the number was made, if it was not a literal.
    pub(crate) fn own_dtype(self) -> Option<DType> {
        self.own
    }
}

/// Calls `$callback!` with the Rust types of numbers, each with its dtype and its kind of literal.
macro_rules! for_each_number {
    ($callback:ident) => {
        $callback! {
            bool Bool Bool, i8 Int8 Int, i16 Int16 Int, i32 Int32 Int, i64 Int64 Int, isize Int64 Int, u8 UInt8 Int,
            u16 UInt16 Int, u32 UInt32 Int, u64 UInt64 Int, usize UInt64 Int, f16 Float16 Float, f32 Float32 Float,
            f64 Float64 Float
        }
    };
}

pub(crate) use for_each_number;

macro_rules! numbers {
    ($($t:ident $dtype:ident $literal:ident),*) => {$(
        impl From<$t> for Number {
            fn from(x: $t) -> Number {
                numbers!(@number $literal x $dtype)
            }
        }
    )*};
    // Rust's integers have at most 64 bits.
    (@number Int $x:ident $dtype:ident) => {
        Number { value: Literal::Int($x as i128), own: Some(DType::$dtype), rounded_by: None }
    };
    (@number $literal:ident $x:ident $dtype:ident) => {
        Number { value: Literal::$literal($x.into()), own: Some(DType::$dtype), rounded_by: None }
    };
}
for_each_number!(numbers);

impl From<Literal> for Number {
    fn from(value: Literal) -> Number {
        Number { value, own: None, rounded_by: None }
    }
}
