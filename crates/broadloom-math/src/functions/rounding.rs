//! Rounding to integral values. Integers are integral already. A zero result of a float keeps its sign, as in
//! the IEEE round-to-integral operations.

use crate::dtype::Float;
use crate::functions::{function, through_float32};
use crate::ops::{Ops, Unary};

function! {
    /// The least integer not less than x
    Ceil
    /// The greatest integer not greater than x
    Floor
    /// The nearest integer, ties to even
    Round
    /// The integer part, toward zero
    Trunc
}

macro_rules! rounding {
    ($($name:ident $primitive:ident;)*) => {$(
        impl<T: Float> Unary<T> for $name {
            type Out = T;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<T> {
                o.$primitive(x)
            }
        }
        through_float32!(unary $name);
        rounding!(@ints $name i8 i16 i32 i64 u8 u16 u32 u64);
    )*};
    (@ints $name:ident $($t:ty)*) => {$(
        impl Unary<$t> for $name {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(_: &mut O, x: O::V<$t>) -> O::V<$t> {
                x
            }
        }
    )*};
}
rounding! {
    Ceil ceil;
    Floor floor;
    Round nearest;
    Trunc trunc;
}
