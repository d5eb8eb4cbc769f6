//! where, and the functions that return one of their operands.

use crate::dtype::{Elem, Float};
use crate::functions::bitwise::choose;
use crate::functions::function;
use crate::ops::{Binary, Cmp, Ops, Ternary};

function! {
    /// x2 where the condition is true, else x3
    Where
    /// The larger of x1 and x2; NaN if either is NaN
    Maximum
    /// The smaller of x1 and x2; NaN if either is NaN
    Minimum
    /// minimum(maximum(x, lo), hi)
    Clip
}

impl<T: Elem> Ternary<T> for Where {
    type First = bool;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<bool>, x2: O::V<T>, x3: O::V<T>) -> O::V<T> {
        choose::<O, T>(o, x1, x2, x3)
    }
}

macro_rules! for_ints {
    ($($t:ty)*) => {$(
        impl Binary<$t> for Maximum {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let m = o.cmp(Cmp::Gt, x1, x2);
                o.select(m, x1, x2)
            }
        }
        impl Binary<$t> for Minimum {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let m = o.cmp(Cmp::Lt, x1, x2);
                o.select(m, x1, x2)
            }
        }
    )*};
}
for_ints!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Implements the maximum or minimum of floats: x1 if it compares strictly greater or less (`$how`), else x2.
/// If the operands are equal, which matters for zeros of different signs, their bits are combined by the
/// bitwise operation `$join`. If an operand is NaN, the result is the canonical NaN.
macro_rules! for_floats {
    ($name:ident $how:ident $join:ident: $($t:ident)*) => {$(
        impl Binary<$t> for $name {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let strictly = o.cmp(Cmp::$how, x1, x2);
                let out = o.select(strictly, x1, x2);
                let equal = o.cmp(Cmp::Eq, x1, x2);
                let (a, b) = (o.bits::<$t>(x1), o.bits::<$t>(x2));
                let joined = o.$join(a, b);
                let joined = o.of_bits::<$t>(joined);
                let out = o.select(equal, joined, out);
                nan_of_either::<O, $t>(o, x1, x2, out)
            }
        }
    )*};
}
for_floats!(Maximum Gt and: f32 f64);
for_floats!(Minimum Lt or: f32 f64);

/// Selects the canonical NaN where either operand is NaN, else `otherwise`.
#[inline(always)]
fn nan_of_either<O: Ops, T: Float>(o: &mut O, a: O::V<T>, b: O::V<T>, otherwise: O::V<T>) -> O::V<T> {
    let a_nan = o.cmp(Cmp::Ne, a, a);
    let b_nan = o.cmp(Cmp::Ne, b, b);
    let either = o.mask_or::<T>(a_nan, b_nan);
    let nan = o.splat(T::of_bits(T::NAN));
    o.select(either, nan, otherwise)
}

super::through_float32!(binary Maximum Minimum);
super::declare_half_path!(Own: Where Clip);

impl<T: Elem> Ternary<T> for Clip
where
    Maximum: Binary<T, Out = T>,
    Minimum: Binary<T, Out = T>,
{
    type First = T;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x: O::V<T>, lo: O::V<T>, hi: O::V<T>) -> O::V<T> {
        let x = Maximum::call(o, x, lo);
        Minimum::call(o, x, hi)
    }
}
