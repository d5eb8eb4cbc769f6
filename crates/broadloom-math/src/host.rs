//! The instances of [`Ops`] over plain Rust values, in which a mask is a `bool`. [`Scalar`] folds constants, and tests
//! compare the executors with it. [`Lanes`] differs only in [`Ops::rare2`], which records that a lane needs the slow
//! path instead of calling it. A loop over it therefore has no calls and is vectorised by rustc; its caller recomputes
//! with `Scalar` if a lane was recorded. [`UniformDivisor`] is for loops in which all elements have the same divisor;
//! rustc hoists the computation of its reciprocal out of them. Every method is `#[inline(always)]`, since a missed
//! inline costs a factor of 50 and nothing reports it.

use crate::dtype::{Elem, Float, Int, Num, Real};
use crate::ops::{Cmp, Ops, Rare2};
use crate::{quotients, reciprocal, through};

/// Computes one element at a time, and calls the slow path for lanes that need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

/// Computes one element of a vectorised loop. [`Lanes::flagged`] records whether a lane needs the slow path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes {
    /// Nonzero if a lane has needed the slow path. Everything that was computed since this was 0 must then be
    /// recomputed by [`Scalar`]. The type is `u32`, since a `bool` would keep rustc from vectorising the loop.
    pub flagged: u32,
}

/// Computes one element of a vectorised loop over integer functions. All elements of the loop have the same
/// divisor. There is no slow path.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformDivisor;

/// The quotient rounded toward −∞, computed from the quotient rounded toward zero.
#[inline(always)]
fn floor_quotient<T: Int>(a: T, b: T) -> T {
    let q = a.quotient(b);
    let rest = a.minus(q.times(b));
    let below = T::SIGNED && b != T::ZERO && rest != T::ZERO && rest.xor(b) < T::ZERO;
    if below { q.minus(T::ONE) } else { q }
}

/// The low bits of an integral float of magnitude far below 2^DIGITS. They are extracted by adding a magic number,
/// which every vector unit can do; a saturating `as` is not vectorised.
#[inline(always)]
fn low_bits<T: Int, F: Float>(integral: F) -> T {
    let magic = F::from_f64(1.5 * (1u64 << (F::DIGITS - 1)) as f64);
    T::wrap(integral.plus(magic).bits().wide())
}

/// Converts a float to an integer: truncates and saturates; NaN gives 0.
#[inline(always)]
fn float_to_int<T: Float, U: Int>(x: T) -> U {
    let x = x.to_f64();
    if U::WIDTH == 64 {
        return if U::SIGNED { U::wrap(x as i64 as i128) } else { U::wrap(x as u64 as i128) };
    }
    let x = if x.is_nan() { 0.0 } else { x };
    let (lo, hi) = (U::MIN.wide() as i64 as f64, U::MAX.wide() as i64 as f64);
    let x = if x > lo { x } else { lo };
    let x = if x < hi { x } else { hi };
    low_bits(x.trunc())
}

macro_rules! host_instance {
    (
        $instance:ident,
        |$self:ident, $a:ident, $b:ident, $fast:ident, $flagged:ident|
        quotient: $quotient:expr,
        floor_quotient: $floor_quotient:expr,
        to_int64: $to_int64:expr,
        rare: $rare:expr $(,)?
    ) => {
        impl Ops for $instance {
            type V<T: Elem> = T;
            type M<T: Elem> = bool;

            #[inline(always)]
            fn splat<T: Elem>(&mut self, x: T) -> T {
                x
            }
            #[inline(always)]
            fn add<T: Num>(&mut self, a: T, b: T) -> T {
                a.plus(b)
            }
            #[inline(always)]
            fn sub<T: Num>(&mut self, a: T, b: T) -> T {
                a.minus(b)
            }
            #[inline(always)]
            fn mul<T: Num>(&mut self, a: T, b: T) -> T {
                a.times(b)
            }
            #[inline(always)]
            fn div<T: Float>(&mut self, a: T, b: T) -> T {
                a.over(b)
            }
            #[inline(always)]
            fn neg<T: Float>(&mut self, x: T) -> T {
                x.opposite()
            }
            #[inline(always)]
            fn sqrt<T: Float>(&mut self, x: T) -> T {
                x.root()
            }
            #[inline(always)]
            fn fma<T: Float>(&mut self, a: T, b: T, c: T) -> T {
                a.fused(b, c)
            }
            #[inline(always)]
            fn ceil<T: Float>(&mut self, x: T) -> T {
                x.up()
            }
            #[inline(always)]
            fn floor<T: Float>(&mut self, x: T) -> T {
                x.down()
            }
            #[inline(always)]
            fn trunc<T: Float>(&mut self, x: T) -> T {
                x.toward_zero()
            }
            #[inline(always)]
            fn nearest<T: Float>(&mut self, x: T) -> T {
                x.nearest()
            }
            #[inline(always)]
            fn and<T: Int>(&mut self, a: T, b: T) -> T {
                a.and(b)
            }
            #[inline(always)]
            fn or<T: Int>(&mut self, a: T, b: T) -> T {
                a.or(b)
            }
            #[inline(always)]
            fn xor<T: Int>(&mut self, a: T, b: T) -> T {
                a.xor(b)
            }
            #[inline(always)]
            fn shl_const<T: Int>(&mut self, x: T, count: u32) -> T {
                x.shl(T::wrap(count as i128))
            }
            #[inline(always)]
            fn shr_const<T: Int>(&mut self, x: T, count: u32) -> T {
                x.shr(T::wrap(count as i128))
            }
            #[inline(always)]
            fn shl<T: Int>(&mut self, x: T, count: T) -> T {
                x.shl(count)
            }
            #[inline(always)]
            fn shr<T: Int>(&mut self, x: T, count: T) -> T {
                x.shr(count)
            }
            #[inline(always)]
            fn mul_high<T: Int>(&mut self, a: T, b: T) -> T {
                a.mul_high(b)
            }
            #[inline(always)]
            fn average<T: Int>(&mut self, a: T, b: T) -> T {
                a.average(b)
            }
            #[inline(always)]
            fn shr_uniform<T: Int>(&mut self, x: T, count: u64) -> T {
                let shifted = x.shr(T::wrap(count as i128));
                if count < u64::from(T::WIDTH) { shifted } else { T::ZERO }
            }
            #[inline(always)]
            fn quotient<T: Int>(&mut $self, $a: T, $b: T) -> T {
                $quotient
            }
            #[inline(always)]
            fn floor_quotient<T: Int>(&mut $self, $a: T, $b: T) -> T {
                $floor_quotient
            }
            #[inline(always)]
            fn cmp<T: Num>(&mut self, how: Cmp, a: T, b: T) -> bool {
                match how {
                    Cmp::Eq => a == b,
                    Cmp::Ne => a != b,
                    Cmp::Lt => a < b,
                    Cmp::Le => a <= b,
                    Cmp::Gt => a > b,
                    Cmp::Ge => a >= b,
                }
            }
            #[inline(always)]
            fn select<T: Elem>(&mut self, m: bool, a: T, b: T) -> T {
                if m { a } else { b }
            }
            #[inline(always)]
            fn mask_and<T: Elem>(&mut self, a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn mask_or<T: Elem>(&mut self, a: bool, b: bool) -> bool {
                a | b
            }
            #[inline(always)]
            fn mask_xor<T: Elem>(&mut self, a: bool, b: bool) -> bool {
                a ^ b
            }
            #[inline(always)]
            fn mask_not<T: Elem>(&mut self, a: bool) -> bool {
                !a
            }
            #[inline(always)]
            fn mask_resize<T: Elem, U: Elem>(&mut self, m: bool) -> bool {
                m
            }
            #[inline(always)]
            fn truth<T: Elem>(&mut self, x: bool) -> bool {
                x
            }
            #[inline(always)]
            fn boolean<T: Elem>(&mut self, m: bool) -> bool {
                m
            }
            #[inline(always)]
            fn bits<T: Real>(&mut self, x: T) -> T::Bits {
                x.bits()
            }
            #[inline(always)]
            fn of_bits<T: Real>(&mut self, x: T::Bits) -> T {
                T::of_bits(x)
            }
            #[inline(always)]
            fn int_resize<T: Int, U: Int>(&mut self, x: T) -> U {
                U::wrap(x.wide())
            }
            #[inline(always)]
            fn int_to_float<T: Int, U: Float>(&mut self, x: T) -> U {
                if T::WIDTH == 64 && !T::SIGNED { U::from_u64(x.wide() as u64) } else { U::from_i64(x.wide() as i64) }
            }
            #[inline(always)]
            fn float_to_int<T: Float, U: Int>(&mut $self, $a: T) -> U {
                if U::WIDTH == 64 { $to_int64 } else { float_to_int($a) }
            }
            #[inline(always)]
            fn float_resize<T: Float, U: Float>(&mut self, x: T) -> U {
                U::from_f64(x.to_f64())
            }
            #[inline(always)]
            fn rare2<F: Rare2<T>, T: Num>(&mut $self, $flagged: bool, $a: T, $b: T, $fast: T) -> T {
                let _ = ($a, $b);
                $rare
            }
        }
    };
}

host_instance! {
    Scalar,
    |self, a, b, fast, flagged|
    quotient: a.quotient(b),
    floor_quotient: floor_quotient(a, b),
    to_int64: float_to_int(a),
    rare: if flagged { F::call(a, b) } else { fast },
}

host_instance! {
    Lanes,
    |self, a, b, fast, flagged|
    quotient: quotients::quotient(self, a, b),
    floor_quotient: quotients::floor_quotient(self, a, b),
    to_int64: through::float_to_int64(self, a),
    rare: {
        self.flagged |= flagged as u32;
        fast
    },
}

host_instance! {
    UniformDivisor,
    |self, a, b, fast, flagged|
    quotient: reciprocal::quotient(self, a, b, false),
    floor_quotient: reciprocal::floor_quotient(self, a, b, false),
    to_int64: through::float_to_int64(self, a),
    rare: if flagged { F::call(a, b) } else { fast },
}
