//! The functions, named as in the Python Array API standard.
//!
//! Each definition includes its special cases. float16 values are widened to float32, computed, and rounded back (the
//! second rounding is innocuous for one operation: 24 ≥ 2·11 + 2 bits), except in functions that operate on the bits or
//! compute in float64.

mod arithmetic;
mod bitwise;
mod cast;
mod coefficients;
mod compare;
mod division;
mod error_function;
mod exponential;
mod float64;
mod half;
mod hyperbolic;
mod inverse_trigonometric;
mod log_add_exp;
mod logarithm;
mod logarithm_ends;
mod near_coefficients;
mod nearest;
mod normal_quantile;
mod philox;
mod power;
mod quantile_coefficients;
mod root;
mod rounding;
mod select;
mod sign;
mod single;
mod sum_near_one;
mod trigonometric;

pub use arithmetic::*;
pub use bitwise::*;
pub use compare::*;
pub use division::*;
pub use error_function::*;
pub use exponential::*;
pub use hyperbolic::*;
pub use inverse_trigonometric::*;
pub use log_add_exp::*;
pub use logarithm::*;
pub use nearest::Nearest;
pub use normal_quantile::*;
pub use philox::*;
pub use power::*;
pub use root::*;
pub use rounding::*;
pub use select::*;
pub use sign::*;
pub use trigonometric::*;

pub use self::half::{HalfBinary, HalfPath, HalfTernary, HalfUnary, IntoHalf, half_path};
pub(crate) use self::half::{narrow, narrow_f64, to_odd, widen};

/// Declares a function type.
macro_rules! function {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
    )*};
}
pub(crate) use function;

/// Declares how loops run the float16 instances of functions; see [`HalfPath`].
macro_rules! declare_half_path {
    ($path:ident: $($name:ident)*) => {$(
        impl $crate::functions::HalfPath for $name {
            type Path = $crate::functions::half_path::$path;
        }
    )*};
}
pub(crate) use declare_half_path;

/// Implements the float16 instance of functions by way of float32: widen, compute, round back once (or return a bool).
/// The functions are declared as short ones ([`HalfPath`]) unless `long` is given.
macro_rules! through_float32 {
    (unary $($name:ident)*) => {$(
        $crate::functions::declare_half_path!(Short: $name);
        impl $crate::Unary<$crate::f16> for $name {
            type Out = $crate::f16;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x: O::V<$crate::f16>) -> O::V<$crate::f16> {
                let x = $crate::functions::widen(o, x);
                let y = <$name as $crate::functions::HalfUnary>::wide(o, x);
                $crate::functions::narrow(o, y)
            }
        }
        impl $crate::functions::HalfUnary for $name {
            #[inline(always)]
            fn wide<O: $crate::Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32> {
                <$name as $crate::Unary<f32>>::call(o, x)
            }
        }
    )*};
    (binary $($name:ident)*) => {$(
        $crate::functions::declare_half_path!(Short: $name);
        $crate::functions::through_float32!(@binary $name);
    )*};
    (long binary $($name:ident)*) => {$(
        $crate::functions::declare_half_path!(Long: $name);
        $crate::functions::through_float32!(@binary $name);
    )*};
    (@binary $name:ident) => {
        impl $crate::Binary<$crate::f16> for $name {
            type Out = $crate::f16;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, a: O::V<$crate::f16>, b: O::V<$crate::f16>) -> O::V<$crate::f16> {
                let a = $crate::functions::widen(o, a);
                let b = $crate::functions::widen(o, b);
                let y = <$name as $crate::functions::HalfBinary>::wide(o, a, b);
                $crate::functions::narrow(o, y)
            }
        }
        impl $crate::functions::HalfBinary for $name {
            type Wide = f32;
            #[inline(always)]
            fn wide<O: $crate::Ops>(o: &mut O, a: O::V<f32>, b: O::V<f32>) -> O::V<f32> {
                <$name as $crate::Binary<f32>>::call(o, a, b)
            }
        }
    };
    (comparison $($name:ident)*) => {$(
        $crate::functions::declare_half_path!(Comparison: $name);
        impl $crate::Binary<$crate::f16> for $name {
            type Out = bool;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, a: O::V<$crate::f16>, b: O::V<$crate::f16>) -> O::V<bool> {
                let a = $crate::functions::widen(o, a);
                let b = $crate::functions::widen(o, b);
                <$name as $crate::functions::HalfBinary>::wide(o, a, b)
            }
        }
        impl $crate::functions::HalfBinary for $name {
            type Wide = bool;
            #[inline(always)]
            fn wide<O: $crate::Ops>(o: &mut O, a: O::V<f32>, b: O::V<f32>) -> O::V<bool> {
                <$name as $crate::Binary<f32>>::call(o, a, b)
            }
        }
    )*};
}
pub(crate) use through_float32;
