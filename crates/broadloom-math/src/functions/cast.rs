//! Conversions (astype) between all dtypes.
//!
//! Float to integer truncates and saturates, and NaN gives 0; integer to narrower integer wraps; integer to float and float to
//! float round once to nearest even; any type to bool is `x != 0` (NaN is true).

use crate::dtype::{Num, f16};
use crate::functions::compare::magnitude;
use crate::functions::{IntoHalf, narrow, narrow_f64, to_odd, widen};
use crate::ops::{CastTo, Cmp, Ops};

impl CastTo<bool> for bool {
    #[inline(always)]
    fn cast<O: Ops>(_: &mut O, x: O::V<bool>) -> O::V<bool> {
        x
    }
}

/// 1 where a bool is true, 0 elsewhere.
#[inline(always)]
fn unit<O: Ops, T: Num>(o: &mut O, x: O::V<bool>) -> O::V<T> {
    let (one, zero) = (o.splat(T::ONE), o.splat(T::ZERO));
    super::bitwise::choose::<O, T>(o, x, one, zero)
}

#[inline(always)]
fn nonzero<O: Ops, T: Num>(o: &mut O, x: O::V<T>) -> O::V<bool> {
    let zero = o.splat(T::ZERO);
    let m = o.cmp(Cmp::Ne, x, zero);
    o.boolean::<T>(m)
}

/// Implements `CastTo` for each pair of a row: `from T to [U …] |o, x| body`, where the body may name T and U.
macro_rules! casts {
    ($($t:ident => [$($u:ident)*] |$o:ident, $x:ident| $body:expr;)*) => {
        $(casts!(@row $t [$($u)*] $o $x $body);)*
    };
    (@row $t:ident [$($u:ident)*] $o:ident $x:ident $body:expr) => {
        $(casts!(@one $t $u $o $x $body);)*
    };
    (@one $t:ident $u:ident $o:ident $x:ident $body:expr) => {
        impl CastTo<$u> for $t {
            #[inline(always)]
            fn cast<O: Ops>($o: &mut O, $x: O::V<$t>) -> O::V<$u> {
                #[allow(dead_code)]
                type T = $t;
                #[allow(dead_code)]
                type U = $u;
                $body
            }
        }
    };
}

macro_rules! integer_casts {
    ($($t:ident)*) => {
        casts! {
            $($t => [i8 i16 i32 i64 u8 u16 u32 u64] |o, x| o.int_resize::<T, U>(x);)*
            $($t => [f32 f64] |o, x| o.int_to_float::<T, U>(x);)*
            $($t => [bool] |o, x| nonzero::<O, T>(o, x);)*
            $($t => [f16] |o, x| {
                let x = <T as IntoHalf>::wide(o, x);
                narrow(o, x)
            };)*
        }
        $(impl IntoHalf for $t {
            /// Rounding to float32 first does no harm: it is exact below 2^24, and larger values become infinite.
            #[inline(always)]
            fn wide<O: Ops>(o: &mut O, x: O::V<$t>) -> O::V<f32> {
                o.int_to_float::<$t, f32>(x)
            }
        })*
    };
}
integer_casts!(i8 i16 i32 i64 u8 u16 u32 u64);

casts! {
    bool => [i8 i16 i32 i64 u8 u16 u32 u64 f32 f64] |o, x| unit::<O, U>(o, x);
    bool => [f16] |o, x| {
        let (one, zero) = (o.splat(f16::ONE), o.splat(f16::ZERO));
        super::bitwise::choose::<O, f16>(o, x, one, zero)
    };
    f32 => [i8 i16 i32 i64 u8 u16 u32 u64] |o, x| o.float_to_int::<T, U>(x);
    f64 => [i8 i16 i32 i64 u8 u16 u32 u64] |o, x| o.float_to_int::<T, U>(x);
    f16 => [i8 i16 i32 i64 u8 u16 u32 u64] |o, x| {
        let x = widen(o, x);
        o.float_to_int::<f32, U>(x)
    };
    f32 => [bool] |o, x| nonzero::<O, T>(o, x);
    f64 => [bool] |o, x| nonzero::<O, T>(o, x);
    f16 => [bool] |o, x| {
        let size = magnitude::<O, f16>(o, x);
        nonzero::<O, u16>(o, size)
    };
    f32 => [f32] |_o, x| x;
    f64 => [f64] |_o, x| x;
    f16 => [f16] |_o, x| x;
    f32 => [f64] |o, x| o.float_resize::<T, U>(x);
    f64 => [f32] |o, x| o.float_resize::<T, U>(x);
    f16 => [f32] |o, x| widen(o, x);
    f16 => [f64] |o, x| {
        let x = widen(o, x);
        o.float_resize::<f32, f64>(x)
    };
    f32 => [f16] |o, x| narrow(o, x);
    f64 => [f16] |o, x| narrow_f64(o, x);
}

impl IntoHalf for f32 {
    #[inline(always)]
    fn wide<O: Ops>(_: &mut O, x: O::V<f32>) -> O::V<f32> {
        x
    }
}

impl IntoHalf for f64 {
    #[inline(always)]
    fn wide<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<f32> {
        to_odd(o, x)
    }
}
