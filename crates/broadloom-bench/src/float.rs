//! The floating-point types that plain loops compute in.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::column::Cell;

/// A floating-point type that the plain loops compute in.
pub trait Float:
    Cell
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The nearest number.
    fn nearest(x: f64) -> Self;
    /// Of the standard library.
    fn exp(self) -> Self;
    /// Of the standard library.
    fn sin(self) -> Self;
    /// Of the standard library.
    fn cos(self) -> Self;
    /// Of the standard library.
    fn powf(self, y: Self) -> Self;
    /// Of the standard library.
    fn ln_1p(self) -> Self;
    /// Of the standard library.
    fn tanh(self) -> Self;
}

macro_rules! float {
    ($($t:ident)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn nearest(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn exp(self) -> $t { $t::exp(self) }
            #[inline(always)]
            fn sin(self) -> $t { $t::sin(self) }
            #[inline(always)]
            fn cos(self) -> $t { $t::cos(self) }
            #[inline(always)]
            fn powf(self, y: $t) -> $t { $t::powf(self, y) }
            #[inline(always)]
            fn ln_1p(self) -> $t { $t::ln_1p(self) }
            #[inline(always)]
            fn tanh(self) -> $t { $t::tanh(self) }
        }
    )*};
}
float!(f32 f64);
