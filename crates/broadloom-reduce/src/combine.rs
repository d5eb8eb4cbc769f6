//! How two elements are combined, for each reduction and dtype. Elements are what memory holds of them, so that a bool is
//! a byte.

use broadloom_math::functions::{Maximum, Minimum};
use broadloom_math::{Binary, Elem, Num, Scalar};

/// An operation that reductions and scans repeat.
pub(crate) trait Combine<T: Elem>: Send + Sync + 'static {
    /// What changes no element that it is combined with, whichever side it stands on.
    fn identity() -> T::Store;
    /// Two elements as one.
    fn pair(a: T::Store, b: T::Store) -> T::Store;
    /// What is stored of an element that others were combined to: the canonical NaN.
    #[inline(always)]
    fn result(x: T::Store) -> T::Store {
        T::load(x).canonical().store()
    }
}

/// Sums. The identity is −0: a sum of −0 alone is −0.
pub(crate) struct Sum;
/// Products.
pub(crate) struct Prod;
/// The maximum.
pub(crate) struct Max;
/// The minimum.
pub(crate) struct Min;
/// Whether any is true.
pub(crate) struct Any;
/// Whether all are true.
pub(crate) struct All;

/// A type that sums and products are computed in.
pub(crate) trait Accumulator: Num + Elem<Store = Self> {
    /// −0 of a float.
    const NOTHING: Self;
}

impl Accumulator for f32 {
    const NOTHING: f32 = -0.0;
}

impl Accumulator for f64 {
    const NOTHING: f64 = -0.0;
}

impl Accumulator for i64 {
    const NOTHING: i64 = 0;
}

impl Accumulator for u64 {
    const NOTHING: u64 = 0;
}

impl<T: Accumulator> Combine<T> for Sum {
    #[inline(always)]
    fn identity() -> T {
        T::NOTHING
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Accumulator> Combine<T> for Prod {
    #[inline(always)]
    fn identity() -> T {
        T::ONE
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        a.times(b)
    }
}

/// A type with extremes.
pub(crate) trait Bounded: Elem<Store = Self> {
    /// Not greater than any element but NaN.
    const LOWEST: Self;
    /// Not less than any element but NaN.
    const HIGHEST: Self;
}

macro_rules! bounded {
    ($($t:ty: $lowest:expr, $highest:expr;)*) => {$(
        impl Bounded for $t {
            const LOWEST: $t = $lowest;
            const HIGHEST: $t = $highest;
        }
    )*};
}
bounded! {
    i8: i8::MIN, i8::MAX;
    i16: i16::MIN, i16::MAX;
    i32: i32::MIN, i32::MAX;
    i64: i64::MIN, i64::MAX;
    u8: u8::MIN, u8::MAX;
    u16: u16::MIN, u16::MAX;
    u32: u32::MIN, u32::MAX;
    u64: u64::MIN, u64::MAX;
    broadloom_math::f16: broadloom_math::f16::NEG_INFINITY, broadloom_math::f16::INFINITY;
    f32: f32::NEG_INFINITY, f32::INFINITY;
    f64: f64::NEG_INFINITY, f64::INFINITY;
}

impl<T: Bounded> Combine<T> for Max
where
    Maximum: Binary<T, Out = T>,
{
    #[inline(always)]
    fn identity() -> T {
        T::LOWEST
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        Maximum::call(&mut Scalar, a, b)
    }
}

impl<T: Bounded> Combine<T> for Min
where
    Minimum: Binary<T, Out = T>,
{
    #[inline(always)]
    fn identity() -> T {
        T::HIGHEST
    }
    #[inline(always)]
    fn pair(a: T, b: T) -> T {
        Minimum::call(&mut Scalar, a, b)
    }
}

impl Combine<bool> for Any {
    #[inline(always)]
    fn identity() -> u8 {
        0
    }
    #[inline(always)]
    fn pair(a: u8, b: u8) -> u8 {
        a | b
    }
    #[inline(always)]
    fn result(x: u8) -> u8 {
        (x != 0) as u8
    }
}

impl Combine<bool> for All {
    #[inline(always)]
    fn identity() -> u8 {
        1
    }
    #[inline(always)]
    fn pair(a: u8, b: u8) -> u8 {
        ((a != 0) & (b != 0)) as u8
    }
}
