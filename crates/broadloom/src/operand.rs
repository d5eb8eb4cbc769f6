//! What may stand beside an array in an operation.
//!
//! In: arrays, references to them, and Rust numbers. Out: an [`Operand`]. Must hold: a number stays a literal
//! without a dtype until it meets an array.

use broadloom_core::Literal;
use broadloom_core::infer;
use broadloom_math::f16;

use crate::array::Array;
use crate::expr::Kind;

/// An operand: an array, or a literal that takes its dtype from the arrays.
#[derive(Clone, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(Array<'a>),
    /// A literal.
    Literal(Literal),
}

impl<'a> Operand<'a> {
    /// What inference knows of it.
    pub(crate) fn known(&self) -> infer::Operand<'_> {
        match self {
            Operand::Literal(x) => infer::Operand::Literal(*x),
            Operand::Array(Array(node)) => match &node.kind {
                Kind::Literal(x) => infer::Operand::Literal(**x),
                _ => match &node.dims {
                    None => infer::Operand::Array(node.dtype, &node.shape),
                    Some(dims) => infer::Operand::Symbolic(node.dtype, dims),
                },
            },
        }
    }

    /// The literal, if this is one or a handle of one.
    pub(crate) fn literal(&self) -> Option<Literal> {
        match self.known() {
            infer::Operand::Literal(x) => Some(x),
            _ => None,
        }
    }
}

impl<'a> From<Array<'a>> for Operand<'a> {
    fn from(x: Array<'a>) -> Operand<'a> {
        Operand::Array(x)
    }
}

impl<'a, 'b: 'a> From<&Array<'b>> for Operand<'a> {
    fn from(x: &Array<'b>) -> Operand<'a> {
        Operand::Array(x.clone())
    }
}

/// Anything that an operation takes: an [`Array`], a reference to one, or a Rust number.
///
/// ```
/// use broadloom::prelude::*;
///
/// fn hypotenuse<'a>(a: impl IntoArray<'a>, b: impl IntoArray<'a>) -> Array<'a> {
///     (a.into_array().square() + b.into_array().square()).sqrt()
/// }
/// let x = Array::from_vec(vec![3.0_f32, 5.0]);
/// assert_eq!(hypotenuse(&x, 4).dtype(), DType::Float32);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array or a number",
    note = "wrap data with `Array::from_vec` or `Array::from_slice`"
)]
pub trait IntoArray<'a> {
    /// The operand.
    fn into_operand(self) -> Operand<'a>;

    /// The operand as an array; of a number, as of [`Array::scalar`].
    fn into_array(self) -> Array<'a>
    where
        Self: Sized,
    {
        match self.into_operand() {
            Operand::Array(x) => x,
            Operand::Literal(x) => Array::scalar(x),
        }
    }
}

impl<'a, 'b: 'a> IntoArray<'a> for Array<'b> {
    fn into_operand(self) -> Operand<'a> {
        Operand::Array(self)
    }
}

impl<'a, 'b: 'a> IntoArray<'a> for &Array<'b> {
    fn into_operand(self) -> Operand<'a> {
        Operand::Array(self.clone())
    }
}

impl<'a> IntoArray<'a> for Operand<'a> {
    fn into_operand(self) -> Operand<'a> {
        self
    }
}

/// Calls `$callback!` with the Rust types that are literals.
macro_rules! for_each_literal {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! { $($($extra)*)? bool i8 i16 i32 i64 u8 u16 u32 u64 usize f16 f32 f64 }
    };
}
pub(crate) use for_each_literal;

macro_rules! literals_into_array {
    ($($t:ident)*) => {$(
        impl<'a> IntoArray<'a> for $t {
            fn into_operand(self) -> Operand<'a> {
                Operand::Literal(self.into())
            }
        }
    )*};
}
for_each_literal!(literals_into_array);

impl<'a> IntoArray<'a> for Literal {
    fn into_operand(self) -> Operand<'a> {
        Operand::Literal(self)
    }
}
