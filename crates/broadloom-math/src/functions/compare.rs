//! Comparisons and classifications, all with a bool result.

use crate::dtype::{Int, Num, Real, f16};
use crate::functions::{declare_half_path, function, through_float32};
use crate::ops::{Binary, Cmp, Ops, Unary};

function! {
    /// x1 == x2
    Equal
    /// x1 != x2
    NotEqual
    /// x1 < x2
    Less
    /// x1 <= x2
    LessEqual
    /// x1 > x2
    Greater
    /// x1 >= x2
    GreaterEqual
    /// Whether x is neither infinite nor NaN
    IsFinite
    /// Whether x is infinite
    IsInf
    /// Whether x is NaN
    IsNan
}

declare_half_path!(Own: IsFinite IsInf IsNan);

macro_rules! comparison {
    ($($name:ident)*) => {$(
        impl<T: Num> Binary<T> for $name {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<bool> {
                let m = o.cmp(Self::HOW, x1, x2);
                o.boolean::<T>(m)
            }
        }
        through_float32!(comparison $name);
    )*};
}
comparison!(Equal NotEqual Less LessEqual Greater GreaterEqual);

impl Equal {
    const HOW: Cmp = Cmp::Eq;
}
impl NotEqual {
    const HOW: Cmp = Cmp::Ne;
}
impl Less {
    const HOW: Cmp = Cmp::Lt;
}
impl LessEqual {
    const HOW: Cmp = Cmp::Le;
}
impl Greater {
    const HOW: Cmp = Cmp::Gt;
}
impl GreaterEqual {
    const HOW: Cmp = Cmp::Ge;
}

impl Binary<bool> for NotEqual {
    type Out = bool;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<bool>, x2: O::V<bool>) -> O::V<bool> {
        super::LogicalXor::call(o, x1, x2)
    }
}

impl Binary<bool> for Equal {
    type Out = bool;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<bool>, x2: O::V<bool>) -> O::V<bool> {
        let differ = super::LogicalXor::call(o, x1, x2);
        super::LogicalNot::call(o, differ)
    }
}

/// The bits of a float with the sign bit cleared.
#[inline(always)]
pub(crate) fn magnitude<O: Ops, T: Real>(o: &mut O, x: O::V<T>) -> O::V<T::Bits> {
    let bits = o.bits::<T>(x);
    let mask = o.splat(T::MAGNITUDE);
    o.and(bits, mask)
}

macro_rules! magnitude_test {
    ($($name:ident $how:ident on_ints: $always:literal;)*) => {$(
        for_reals!($name $how);
        impl_for_ints!($name $always);
    )*};
}

/// Implements a classification of floats as the comparison `$how` of the magnitude's bits with those of infinity.
macro_rules! for_reals {
    ($name:ident $how:ident) => {
        for_reals!(@ $name $how f16 f32 f64);
    };
    (@ $name:ident $how:ident $($t:ty)*) => {$(
        impl Unary<$t> for $name {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<bool> {
                let x = magnitude::<O, $t>(o, x);
                let infinity = o.splat(<$t as Real>::INFINITY);
                let m = o.cmp(Cmp::$how, x, infinity);
                o.boolean::<<$t as Real>::Bits>(m)
            }
        }
    )*};
}

/// Implements a classification that returns `$always` for every integer, since integers are finite.
macro_rules! impl_for_ints {
    ($name:ident $always:literal) => {
        impl_for_ints!(@ $name $always i8 i16 i32 i64 u8 u16 u32 u64);
    };
    (@ $name:ident $always:literal $($t:ty)*) => {$(
        impl Unary<$t> for $name {
            type Out = bool;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, _: O::V<$t>) -> O::V<bool> {
                o.splat($always)
            }
        }
    )*};
}
magnitude_test! {
    IsFinite Lt on_ints: true;
    IsInf Eq on_ints: false;
    IsNan Gt on_ints: false;
}

/// Whether an integer is negative.
#[inline(always)]
pub(crate) fn is_negative<O: Ops, T: Int>(o: &mut O, x: O::V<T>) -> O::M<T> {
    let zero = o.splat(T::ZERO);
    o.cmp(Cmp::Lt, x, zero)
}
