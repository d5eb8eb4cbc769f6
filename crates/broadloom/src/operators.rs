//! Rust's operators on arrays, references to them and numbers, on either side.
//!
//! Each builds the expression that the function of the same meaning builds. Operators can't return errors, so an error
//! panics with the words that the `try_` twin returns, at the place in the caller's code.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use broadloom_core::{Op, Result};
use broadloom_math::f16;
use smallvec::smallvec;

use crate::array::{Array, Operand};
use crate::expr;
use crate::operand::{IntoArray, for_each_literal};

/// The value, or a panic at the caller's caller.
#[track_caller]
pub(crate) fn located<T>(result: Result<T>) -> T {
    match result {
        Ok(x) => x,
        Err(e) => panic!("{e}"),
    }
}

macro_rules! binary {
    ($($trait:ident $method:ident $op:ident $symbol:literal)*) => {$(
        #[doc = concat!("`x1 ", $symbol, " x2`, as [`functions`](crate::functions) define it.")]
        impl<'a, R: IntoArray<'a>> $trait<R> for Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: R) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![self.into(), other.into_operand()]))
            }
        }

        #[doc = concat!("`x1 ", $symbol, " x2`, as [`functions`](crate::functions) define it.")]
        impl<'a, R: IntoArray<'a>> $trait<R> for &Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: R) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![self.into(), other.into_operand()]))
            }
        }

        for_each_literal!(number_first, $trait $method $op);
    )*};
}

macro_rules! number_first {
    ($trait:ident $method:ident $op:ident $($t:ident)*) => {$(
        impl<'a> $trait<Array<'a>> for $t {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: Array<'a>) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![Operand::Literal(self.into()), other.into()]))
            }
        }

        impl<'a> $trait<&Array<'a>> for $t {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: &Array<'a>) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![Operand::Literal(self.into()), other.into()]))
            }
        }
    )*};
}

binary! {
    Add add Add "+"
    Sub sub Subtract "-"
    Mul mul Multiply "*"
    Div div Divide "/"
    Rem rem Remainder "%"
    BitAnd bitand BitwiseAnd "&"
    BitOr bitor BitwiseOr "|"
    BitXor bitxor BitwiseXor "^"
    Shl shl BitwiseLeftShift "<<"
    Shr shr BitwiseRightShift ">>"
}

macro_rules! unary {
    ($($trait:ident $method:ident $op:ident $symbol:literal)*) => {$(
        #[doc = concat!("`", $symbol, "x`, as [`functions`](crate::functions) define it.")]
        impl<'a> $trait for Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![self.into()]))
            }
        }

        #[doc = concat!("`", $symbol, "x`, as [`functions`](crate::functions) define it.")]
        impl<'a> $trait for &Array<'a> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self) -> Array<'a> {
                located(expr::apply(Op::$op, smallvec![self.into()]))
            }
        }
    )*};
}

unary! {
    Neg neg Negative "-"
    Not not BitwiseInvert "!"
}
