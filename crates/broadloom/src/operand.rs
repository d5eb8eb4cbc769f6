//! The operands of operations on arrays.
//!
//! [`IntoArray`] makes an [`Operand`] of arrays, of references to them, and of Rust numbers, which stay literals without
//! a dtype until they meet an array.

use broadloom_core::Literal;
use broadloom_math::f16;

use crate::array::{Array, Operand};

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
        self.into_operand().into_array()
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
