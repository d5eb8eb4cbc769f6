//! Rust's operators on arrays, references to them and numbers, on either side.
//!
//! Each operator builds the same expression as the corresponding function. Operators can't return errors, so an error panics at
//! the caller's location, with the message of the function's `try_` twin. A compound assignment (`+=`) replaces its handle by the
//! result; other handles are unchanged.
//!
//! On the left side a number is an `f64` or an `i32`, which are the types that Rust infers for literals, or an [`f16`] or a
//! `bool`: with operators for a second float or integer type, the type of `2.0 * x` could not be inferred before a method call on
//! it. A number of another type has to be on the right side, or in an [`Array::scalar`].

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use broadloom_core::{Op, Result};
use broadloom_math::f16;
use smallvec::smallvec;

use crate::array::Array;
use crate::numpy_rule;
use crate::operand::IntoArray;

/// Returns the value, or panics at the location of the caller's caller.
#[track_caller]
pub(crate) fn located<T>(result: Result<T>) -> T {
    match result {
        Ok(x) => x,
        Err(e) => panic!("{e}"),
    }
}

/// Applies an op to two operands, or panics at the location of the caller's caller.
#[track_caller]
pub(crate) fn binary<'a>(op: Op, x1: impl IntoArray<'a>, x2: impl IntoArray<'a>) -> Array<'a> {
    located(numpy_rule::apply(op, smallvec![x1.into_operand(), x2.into_operand()]))
}

/// Calls `$callback!` with the binary operators: trait and method, trait and method of the compound assignment, op and symbol.
macro_rules! for_each_binary_operator {
    ($callback:ident) => {
        $callback! {
            Add add AddAssign add_assign Add "+"
            Sub sub SubAssign sub_assign Subtract "-"
            Mul mul MulAssign mul_assign Multiply "*"
            Div div DivAssign div_assign Divide "/"
            Rem rem RemAssign rem_assign Remainder "%"
            BitAnd bitand BitAndAssign bitand_assign BitwiseAnd "&"
            BitOr bitor BitOrAssign bitor_assign BitwiseOr "|"
            BitXor bitxor BitXorAssign bitxor_assign BitwiseXor "^"
            Shl shl ShlAssign shl_assign BitwiseLeftShift "<<"
            Shr shr ShrAssign shr_assign BitwiseRightShift ">>"
        }
    };
}
#[cfg(feature = "ndarray")]
pub(crate) use for_each_binary_operator;

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $symbol:literal)*) => {$(
        #[doc = concat!("`x1 ", $symbol, " x2`, as [`functions`](crate::functions) define it.")]
        impl<'a, R: IntoArray<'a>> $trait<R> for Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: R) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        #[doc = concat!("`x1 ", $symbol, " x2`, as [`functions`](crate::functions) define it.")]
        impl<'a, R: IntoArray<'a>> $trait<R> for &Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: R) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        #[doc = concat!("`x1 = x1 ", $symbol, " x2`: the handle then means the result, of whatever dtype and shape that is.")]
        impl<'a, R: IntoArray<'a>> $assign<R> for Array<'a> {
            #[track_caller]
            fn $assign_method(&mut self, other: R) {
                *self = binary(Op::$op, &*self, other);
            }
        }

        number_first!($trait $method $op: bool i32 f16 f64);
    )*};
}

macro_rules! number_first {
    ($trait:ident $method:ident $op:ident: $($t:ident)*) => {$(
        impl<'a> $trait<Array<'a>> for $t {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        impl<'a> $trait<&Array<'a>> for $t {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: &Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }
    )*};
}

for_each_binary_operator!(operators);
macro_rules! unary {
    ($($trait:ident $method:ident $op:ident $symbol:literal)*) => {$(
        #[doc = concat!("`", $symbol, "x`, as [`functions`](crate::functions) define it.")]
        impl<'a> $trait for Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self) -> Array<'a> {
                located(numpy_rule::apply(Op::$op, smallvec![self.into()]))
            }
        }

        #[doc = concat!("`", $symbol, "x`, as [`functions`](crate::functions) define it.")]
        impl<'a> $trait for &Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self) -> Array<'a> {
                located(numpy_rule::apply(Op::$op, smallvec![self.into()]))
            }
        }
    )*};
}

unary! {
    Neg neg Negative "-"
    Not not BitwiseInvert "!"
}
