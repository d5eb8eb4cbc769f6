//! The floating-point types of the plain loops.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::column::Cell;

/// A floating-point type of the plain loops.
pub trait Float:
    Cell
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The value nearest to `x`.
    fn nearest(x: f64) -> Self;
    /// The standard library's `exp`.
    fn exp(self) -> Self;
    /// The standard library's `sin`.
    fn sin(self) -> Self;
    /// The standard library's `cos`.
    fn cos(self) -> Self;
    /// The standard library's `powf`.
    fn powf(self, y: Self) -> Self;
    /// The standard library's `ln_1p`.
    fn ln_1p(self) -> Self;
    /// The standard library's `tanh`.
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
