//! The operands of inference, and their names in error messages.

use std::fmt;

use broadloom_math::DType;

use crate::scalar::Literal;
use crate::shape::Shape;
use crate::symbol::Dims;

/// An operand, described for inference.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(DType, &'a Shape),
    /// An array whose shape depends on the inputs of a kernel.
    Symbolic(DType, &'a Dims),
    /// A 0-d literal, whose dtype follows from the arrays.
    Literal(Literal),
}

impl Operand<'_> {
    /// The dtype of an array; `None` for a literal.
    pub(super) fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Array(dtype, _) | Operand::Symbolic(dtype, _) => Some(*dtype),
            Operand::Literal(_) => None,
        }
    }
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Array(dtype, shape) => write!(f, "{dtype}{shape}"),
            Operand::Symbolic(dtype, dims) => write!(f, "{dtype}{dims}"),
            Operand::Literal(x) => write!(f, "{x}"),
        }
    }
}

/// Names the operands that `keep` selects, in an error message.
pub(super) fn list(operands: &[Operand<'_>], keep: impl Fn(&Operand<'_>) -> bool) -> String {
    let shown: Vec<String> = operands
        .iter()
        .filter(|x| keep(x))
        .map(|x| x.dtype().map_or_else(|| x.to_string(), |dtype| dtype.to_string()))
        .collect();
    shown.join(" and ")
}
