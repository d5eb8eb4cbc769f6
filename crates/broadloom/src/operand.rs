//! The operands of operations on arrays.
//!
//! [`IntoArray`] makes an [`Operand`] from an array, a reference to one, or a Rust number. A [`Number`] takes the dtype of the
//! arrays with which it is combined; its Rust type has an effect only if all operands are numbers.

use broadloom_core::infer::{self, pair};
use broadloom_core::op::Arity;
use broadloom_core::{DType, Error, Literal, Op, Promotion, Result};
use broadloom_math::f16;

use crate::array::{Array, Operand};
use crate::promote::promotion;
use crate::weak::{Number, for_each_number};

/// The types of operands: an [`Array`], a reference to one, or a Rust number.
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
    /// Converts the value to an operand.
    fn into_operand(self) -> Operand<'a>;

    /// The operand as an array; a number is converted by [`Array::scalar`].
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

/// The dtype in which an op computes if its operands are numbers only. It results from the numbers of the highest kind (bool,
/// integer, float) that have a dtype of their own; numbers of lower kinds are converted to it. These dtypes promote as those of
/// arrays do, except that a signed integer and a uint64 promote to uint64, which must be able to represent the number. `None` if
/// an operand is an array, if all numbers of the highest kind are literals, if bools are mixed with other numbers, or if the op
/// does not take the dtype.
pub(crate) fn own_dtype(op: Op, operands: &[Operand<'_>]) -> Option<DType> {
    let promoted = operands.get(usize::from(op.arity() == Arity::Choice)..)?;
    let kind = |x: Number| match x.literal() {
        Literal::Bool(_) => 0,
        Literal::Int(_) => 1,
        Literal::Float(_) => 2,
    };
    let (mut met, mut highest, mut lowest) = (None, 0, 2);
    for number in promoted.iter().map(Operand::number) {
        // If any operand is an array, the arrays decide the dtype.
        let number = number?;
        let kind = kind(number);
        if kind > highest {
            (met, highest) = (None, kind);
        }
        lowest = lowest.min(kind);
        if let (true, Some(own)) = (kind == highest, number.own_dtype()) {
            let promoted = met.map_or(own, |met| pair(met, own, Promotion::Strict).unwrap_or(DType::UInt64));
            met = Some(promoted);
        }
    }
    met.filter(|dtype| (lowest > 0 || highest == 0) && op.dtypes().contains(dtype))
}

/// Checks that the dtype can represent the numbers among the operands.
///
/// Errors: the errors of type inference, with the same messages.
pub(crate) fn check_numbers(op: Op, operands: &[Operand<'_>], dtype: DType) -> Result<()> {
    let first = usize::from(op.arity() == Arity::Choice);
    for number in operands.iter().skip(first).filter_map(Operand::number) {
        let refused = |e: Error| Error::new(e.kind(), format!("{op}: {}", e.message()));
        infer::literal(number.literal(), dtype, promotion()).map_err(refused)?;
    }
    Ok(())
}

macro_rules! numbers_into_array {
    ($($t:ident $dtype:ident $literal:ident),*) => {$(
        impl<'a> IntoArray<'a> for $t {
            fn into_operand(self) -> Operand<'a> {
                Operand::Number(self.into())
            }
        }
    )*};
}
for_each_number!(numbers_into_array);

impl<'a> IntoArray<'a> for Number {
    fn into_operand(self) -> Operand<'a> {
        Operand::Number(self)
    }
}

impl<'a> IntoArray<'a> for Literal {
    fn into_operand(self) -> Operand<'a> {
        Operand::Number(self.into())
    }
}
