//! Operators whose left side is an array or a view of the `ndarray` crate and whose right side is lazy: `&a + &x` (feature
//! `ndarray`). On the right side of a lazy array, `ndarray`'s arrays are operands like any others.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};

use broadloom_core::Op;
use ndarray::{ArrayBase, ArrayView, Data, Dimension};

use crate::array::Array;
use crate::operators::{binary, for_each_binary_operator};
use crate::storage::Element;

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $symbol:literal)*) => {$(
        #[doc = concat!("`a ", $symbol, " x`, as [`functions`](crate::functions) define it; the elements are borrowed.")]
        impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> $trait<Array<'a>> for &'a ArrayBase<S, D> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        #[doc = concat!("`a ", $symbol, " &x`, as [`functions`](crate::functions) define it; the elements are borrowed.")]
        impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> $trait<&Array<'a>> for &'a ArrayBase<S, D> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: &Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        #[doc = concat!("`view ", $symbol, " x`, as [`functions`](crate::functions) define it; the elements are borrowed.")]
        impl<'a, T: Element, D: Dimension> $trait<Array<'a>> for ArrayView<'a, T, D> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }

        #[doc = concat!("`view ", $symbol, " &x`, as [`functions`](crate::functions) define it; the elements are borrowed.")]
        impl<'a, T: Element, D: Dimension> $trait<&Array<'a>> for ArrayView<'a, T, D> {
            type Output = Array<'a>;
            #[track_caller]
            fn $method(self, other: &Array<'a>) -> Array<'a> {
                binary(Op::$op, self, other)
            }
        }
    )*};
}
for_each_binary_operator!(operators);
