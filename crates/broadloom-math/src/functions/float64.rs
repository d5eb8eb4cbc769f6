//! float64 arithmetic for the transcendental functions: shorthands, polynomials, double-doubles, and conversions from
//! and to the other float types.
//!
//! A [`Sum`] is an unevaluated sum of two doubles (a double-double). The error-free transformations are exact if their
//! operands are ordered as each of them requires. Sources: T. J. Dekker (1971) and D. E. Knuth (TAOCP 2, 4.2.2) for the
//! transformations.

use crate::dtype::Float;
use crate::ops::{Cmp, Ops};

/// The precision of a float64 evaluation.
pub(crate) trait Precision {
    /// Whether the rounding errors of leading terms are added to the result, as float64 results need.
    /// Otherwise the result is rounded to float32 or float16, and an error of 2^−33 is small enough.
    const FULL: bool;

    /// Selects the coefficients for this precision.
    fn pick(full: &'static [f64], near: &'static [f64], short: &'static [f64]) -> &'static [f64];
}

/// Full precision: for float64 results.
pub(crate) struct Full;
/// Near precision: for correctly rounded float32 results. It evaluates like [`Short`], with polynomials whose
/// error is about 2^−45. Results that are too close to a tie are recomputed in full precision.
pub(crate) struct Near;
/// Short precision: for float32 and float16 results.
pub(crate) struct Short;

impl Precision for Full {
    const FULL: bool = true;
    #[inline(always)]
    fn pick(full: &'static [f64], _: &'static [f64], _: &'static [f64]) -> &'static [f64] {
        full
    }
}
impl Precision for Near {
    const FULL: bool = false;
    #[inline(always)]
    fn pick(_: &'static [f64], near: &'static [f64], _: &'static [f64]) -> &'static [f64] {
        near
    }
}
impl Precision for Short {
    const FULL: bool = false;
    #[inline(always)]
    fn pick(_: &'static [f64], _: &'static [f64], short: &'static [f64]) -> &'static [f64] {
        short
    }
}

/// A number as the unevaluated sum of two doubles.
pub(crate) struct Sum<O: Ops> {
    pub hi: O::V<f64>,
    pub lo: O::V<f64>,
}

impl<O: Ops> Clone for Sum<O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops> Copy for Sum<O> {}

/// Shorthands for float64 arithmetic over any instance of [`Ops`], with constants given as plain numbers.
pub(crate) trait Float64: Ops {
    #[inline(always)]
    fn constant(&mut self, x: f64) -> Self::V<f64> {
        self.splat(x)
    }

    /// `x + c`
    #[inline(always)]
    fn add_c(&mut self, x: Self::V<f64>, c: f64) -> Self::V<f64> {
        let c = self.splat(c);
        self.add::<f64>(x, c)
    }

    /// `c − x`
    #[inline(always)]
    fn c_sub(&mut self, c: f64, x: Self::V<f64>) -> Self::V<f64> {
        let c = self.splat(c);
        self.sub::<f64>(c, x)
    }

    /// `x · c`
    #[inline(always)]
    fn mul_c(&mut self, x: Self::V<f64>, c: f64) -> Self::V<f64> {
        let c = self.splat(c);
        self.mul::<f64>(x, c)
    }

    /// `x · c + b`, rounded once
    #[inline(always)]
    fn fma_c(&mut self, x: Self::V<f64>, c: f64, b: Self::V<f64>) -> Self::V<f64> {
        let c = self.splat(c);
        self.fma::<f64>(x, c, b)
    }

    /// `a · b + c`, rounded once
    #[inline(always)]
    fn fma_to_c(&mut self, a: Self::V<f64>, b: Self::V<f64>, c: f64) -> Self::V<f64> {
        let c = self.splat(c);
        self.fma::<f64>(a, b, c)
    }

    /// `c − a · b`, rounded once
    #[inline(always)]
    fn nfma(&mut self, a: Self::V<f64>, b: Self::V<f64>, c: Self::V<f64>) -> Self::V<f64> {
        let a = self.neg::<f64>(a);
        self.fma::<f64>(a, b, c)
    }

    /// The magnitude of `x`.
    #[inline(always)]
    fn abs(&mut self, x: Self::V<f64>) -> Self::V<f64> {
        let bits = super::compare::magnitude::<Self, f64>(self, x);
        self.of_bits::<f64>(bits)
    }

    /// The sign bit of `x`; the other bits are 0.
    #[inline(always)]
    fn sign_of(&mut self, x: Self::V<f64>) -> Self::V<u64> {
        let bits = self.bits::<f64>(x);
        let mask = self.splat(1u64 << 63);
        self.and::<u64>(bits, mask)
    }

    /// Flips the sign bit of `x` where the sign bit of `sign` is set.
    #[inline(always)]
    fn flip(&mut self, x: Self::V<f64>, sign: Self::V<u64>) -> Self::V<f64> {
        let bits = self.bits::<f64>(x);
        let bits = self.xor::<u64>(bits, sign);
        self.of_bits::<f64>(bits)
    }

    /// Sets the sign bit of `x` where the sign bit of `sign` is set.
    #[inline(always)]
    fn with_sign(&mut self, x: Self::V<f64>, sign: Self::V<u64>) -> Self::V<f64> {
        let bits = self.bits::<f64>(x);
        let bits = self.or::<u64>(bits, sign);
        self.of_bits::<f64>(bits)
    }

    /// Compares `x` with a constant.
    #[inline(always)]
    fn is(&mut self, x: Self::V<f64>, how: Cmp, c: f64) -> Self::M<f64> {
        let c = self.splat(c);
        self.cmp::<f64>(how, x, c)
    }

    /// Selects `c` where the mask is true, else `x`.
    #[inline(always)]
    fn put(&mut self, m: Self::M<f64>, c: f64, x: Self::V<f64>) -> Self::V<f64> {
        let c = self.splat(c);
        self.select::<f64>(m, c, x)
    }

    /// The minimum of `x` and `c`; NaN if `x` is NaN.
    #[inline(always)]
    fn at_most(&mut self, x: Self::V<f64>, c: f64) -> Self::V<f64> {
        let c = self.splat(c);
        let above = self.cmp::<f64>(Cmp::Lt, c, x);
        self.select::<f64>(above, c, x)
    }

    /// The maximum of `x` and `c`; NaN if `x` is NaN.
    #[inline(always)]
    fn at_least(&mut self, x: Self::V<f64>, c: f64) -> Self::V<f64> {
        let below = self.is(x, Cmp::Lt, c);
        self.put(below, c, x)
    }

    /// The polynomial with these coefficients, lowest power first.
    #[inline(always)]
    fn polynomial(&mut self, x: Self::V<f64>, coefficients: &'static [f64]) -> Self::V<f64> {
        polynomial::<Self, f64>(self, x, coefficients)
    }

    /// The double `hi` as a sum, with 0 as its low part.
    #[inline(always)]
    fn just(&mut self, hi: Self::V<f64>) -> Sum<Self> {
        Sum { hi, lo: self.splat(0.0) }
    }

    /// `a + b` exactly, if `|a| ≥ |b|`, or if `a` is 0 or a multiple of `b`'s last place.
    #[inline(always)]
    fn fast_two_sum(&mut self, a: Self::V<f64>, b: Self::V<f64>) -> Sum<Self> {
        let hi = self.add::<f64>(a, b);
        let kept = self.sub::<f64>(hi, a);
        let lo = self.sub::<f64>(b, kept);
        Sum { hi, lo }
    }

    /// `a + b` exactly.
    #[inline(always)]
    fn two_sum(&mut self, a: Self::V<f64>, b: Self::V<f64>) -> Sum<Self> {
        let hi = self.add::<f64>(a, b);
        let of_b = self.sub::<f64>(hi, a);
        let of_a = self.sub::<f64>(hi, of_b);
        let b = self.sub::<f64>(b, of_b);
        let a = self.sub::<f64>(a, of_a);
        let lo = self.add::<f64>(a, b);
        Sum { hi, lo }
    }

    /// `a · b` exactly, unless the error term underflows.
    #[inline(always)]
    fn two_product(&mut self, a: Self::V<f64>, b: Self::V<f64>) -> Sum<Self> {
        let hi = self.mul::<f64>(a, b);
        let minus = self.neg::<f64>(hi);
        let lo = self.fma::<f64>(a, b, minus);
        Sum { hi, lo }
    }

    /// `x · c` for a constant double-double, with a relative error of about 2^−104.
    #[inline(always)]
    fn sum_mul_c(&mut self, x: Sum<Self>, c: [f64; 2]) -> Sum<Self> {
        let head = self.splat(c[0]);
        let product = self.two_product(x.hi, head);
        let lo = self.fma::<f64>(x.lo, head, product.lo);
        let lo = self.fma_c(x.hi, c[1], lo);
        Sum { hi: product.hi, lo }
    }

    /// `a · b` of two sums, with a relative error of about 2^−102.
    #[inline(always)]
    fn sum_mul(&mut self, a: Sum<Self>, b: Sum<Self>) -> Sum<Self> {
        let product = self.two_product(a.hi, b.hi);
        let lo = self.fma::<f64>(a.hi, b.lo, product.lo);
        let lo = self.fma::<f64>(a.lo, b.hi, lo);
        Sum { hi: product.hi, lo }
    }

    /// `a / b` of two double-doubles, with a relative error of about 2^−100, if quotient and divisor are far
    /// from overflow and underflow.
    #[inline(always)]
    fn sum_div(&mut self, a: Sum<Self>, b: Sum<Self>) -> Sum<Self> {
        let one = self.splat(1.0);
        let inverse = self.div::<f64>(one, b.hi);
        let hi = self.mul::<f64>(a.hi, inverse);
        let rest = self.nfma(hi, b.hi, a.hi);
        let rest = self.add::<f64>(rest, a.lo);
        let rest = self.nfma(hi, b.lo, rest);
        let lo = self.mul::<f64>(rest, inverse);
        Sum { hi, lo }
    }

    /// A double-double rounded to a double.
    #[inline(always)]
    fn rounded(&mut self, x: Sum<Self>) -> Self::V<f64> {
        self.add::<f64>(x.hi, x.lo)
    }
}

impl<O: Ops> Float64 for O {}

/// Evaluates the polynomial with these coefficients, lowest power first.
///
/// Groups of four adjacent coefficients are evaluated first and then combined by powers of x⁴ (G. Estrin's scheme,
/// truncated). This takes two products more than W. G. Horner's scheme, but the chain of dependent operations is a
/// third as long; its latency limits a loop over few lanes.
#[inline(always)]
pub(crate) fn polynomial<O: Ops, T: Float>(o: &mut O, x: O::V<T>, coefficients: &'static [T]) -> O::V<T> {
    let n = coefficients.len();
    let square = o.mul::<T>(x, x);
    let (step, power) = match n {
        0..5 => (n, square),
        5..7 => (2, square),
        _ => (4, o.mul::<T>(square, square)),
    };
    let mut y = None;
    for group in (0..n.div_ceil(step)).rev() {
        let at = |k: usize| if k < step { coefficients.get(group * step + k).copied() } else { None };
        let low = pair(o, x, at(0).expect("a coefficient"), at(1));
        let high = at(2).map(|c| pair(o, x, c, at(3)));
        let value = match high {
            Some(high) => o.fma::<T>(high, square, low),
            None => low,
        };
        y = Some(match y {
            Some(y) => o.fma::<T>(y, power, value),
            None => value,
        });
    }
    y.expect("a coefficient")
}

/// `a + b·x`
#[inline(always)]
fn pair<O: Ops, T: Float>(o: &mut O, x: O::V<T>, a: T, b: Option<T>) -> O::V<T> {
    let a = o.splat(a);
    match b {
        Some(b) => {
            let b = o.splat(b);
            o.fma::<T>(b, x, a)
        }
        None => a,
    }
}

/// 1.5 · 2^52. Adding it to a number of magnitude below 2^51 leaves the nearest integer in the low bits.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// [`MAGIC`] plus the exponent bias. Adding it to an integer k leaves the exponent field of 2^k in the low bits.
pub(crate) const MAGIC_EXPONENT: f64 = MAGIC + 1023.0;

/// 2^k for −1022 ≤ k ≤ 1023, given k + [`MAGIC_EXPONENT`].
#[inline(always)]
pub(crate) fn power_of_two<O: Ops>(o: &mut O, magic: O::V<f64>) -> O::V<f64> {
    let bits = o.bits::<f64>(magic);
    let bits = o.shl_const::<u64>(bits, 52);
    o.of_bits::<f64>(bits)
}

/// 2^n for an integer `n` from −2000 to 2000, as a product of two factors, since 2^n itself may not be a double. In
/// short precision, where |n| is small, one factor is enough.
#[inline(always)]
fn factors<O: Ops, P: Precision>(o: &mut O, n: O::V<f64>) -> (O::V<f64>, Option<O::V<f64>>) {
    if !P::FULL {
        let magic = o.add_c(n, MAGIC_EXPONENT);
        return (power_of_two(o, magic), None);
    }
    // The low bits hold n + 2046. Each half of that number is the exponent field of one factor.
    let both = o.add_c(n, MAGIC + 2046.0);
    let both = o.bits::<f64>(both);
    let first = o.shr_const::<u64>(both, 1);
    let second = o.sub::<u64>(both, first);
    let first = o.shl_const::<u64>(first, 52);
    let second = o.shl_const::<u64>(second, 52);
    (o.of_bits::<f64>(first), Some(o.of_bits::<f64>(second)))
}

/// `x · 2^n`, rounded once.
#[inline(always)]
pub(crate) fn scale<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>, n: O::V<f64>) -> O::V<f64> {
    let (first, second) = factors::<O, P>(o, n);
    let y = o.mul::<f64>(x, first);
    match second {
        Some(second) => o.mul::<f64>(y, second),
        None => y,
    }
}

/// Multiplies both parts of a sum by 2^n.
#[inline(always)]
pub(crate) fn scale_sum<O: Ops, P: Precision>(o: &mut O, x: Sum<O>, n: O::V<f64>) -> Sum<O> {
    let (first, second) = factors::<O, P>(o, n);
    let (hi, lo) = (o.mul::<f64>(x.hi, first), o.mul::<f64>(x.lo, first));
    match second {
        Some(second) => Sum { hi: o.mul::<f64>(hi, second), lo: o.mul::<f64>(lo, second) },
        None => Sum { hi, lo },
    }
}

/// Converts a value to float64.
#[inline(always)]
pub(crate) fn to_work<O: Ops, T: Float>(o: &mut O, x: O::V<T>) -> O::V<f64> {
    o.float_resize::<T, f64>(x)
}

/// Rounds a float64 to the float type `T`.
#[inline(always)]
pub(crate) fn from_work<O: Ops, T: Float>(o: &mut O, x: O::V<f64>) -> O::V<T> {
    o.float_resize::<f64, T>(x)
}

/// Implements a function for the three float types from its float64 definition, `fn name<O, P>(o, x…) -> y`: in full
/// precision for float64, in short precision and rounded once for the others. The `…_with_single` forms name a second
/// function, which computes the float32 results in float32 arithmetic (module `single`).
macro_rules! through_float64 {
    (unary $($name:ident $core:ident;)*) => {$(
        $crate::functions::float64::through_float64!(@unary $name $core f64 $crate::functions::float64::Full);
        $crate::functions::float64::through_float64!(@unary $name $core f32 $crate::functions::float64::Short);
        $crate::functions::float64::through_float64!(@unary_half $name $core);
    )*};
    (unary_with_single $($name:ident $core:ident $single:path;)*) => {$(
        $crate::functions::float64::through_float64!(@unary $name $core f64 $crate::functions::float64::Full);
        $crate::functions::float64::through_float64!(@unary_half $name $core);
        impl $crate::Unary<f32> for $name {
            type Out = f32;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32> {
                $single(o, x)
            }
        }
    )*};
    (@unary_half $name:ident $core:ident) => {
        impl $crate::Unary<$crate::f16> for $name {
            type Out = $crate::f16;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x: O::V<$crate::f16>) -> O::V<$crate::f16> {
                let x = $crate::functions::widen(o, x);
                let y = <$name as $crate::functions::HalfUnary>::wide(o, x);
                $crate::functions::narrow(o, y)
            }
        }
        $crate::functions::declare_half_path!(Long: $name);
        impl $crate::functions::HalfUnary for $name {
            #[inline(always)]
            fn wide<O: $crate::Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32> {
                let x = o.float_resize::<f32, f64>(x);
                let y = $core::<O, $crate::functions::float64::Short>(o, x);
                $crate::functions::to_odd(o, y)
            }
        }
    };
    (@unary $name:ident $core:ident $t:ident $precision:ty) => {
        impl $crate::Unary<$t> for $name {
            type Out = $t;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x: O::V<$t>) -> O::V<$t> {
                let x = $crate::functions::float64::to_work::<O, $t>(o, x);
                let y = $core::<O, $precision>(o, x);
                $crate::functions::float64::from_work::<O, $t>(o, y)
            }
        }
    };
    (binary $($name:ident $core:ident;)*) => {$(
        $crate::functions::float64::through_float64!(@binary $name $core f64 $crate::functions::float64::Full);
        $crate::functions::float64::through_float64!(@binary $name $core f32 $crate::functions::float64::Short);
        $crate::functions::float64::through_float64!(@binary_half $name $core);
    )*};
    (binary_with_single $($name:ident $core:ident $single:path;)*) => {$(
        $crate::functions::float64::through_float64!(@binary $name $core f64 $crate::functions::float64::Full);
        $crate::functions::float64::through_float64!(@binary_half $name $core);
        $crate::functions::float64::through_float64!(@binary_own $name f32 $single);
    )*};
    // A separate function for each type; the one for float16 computes in float64.
    (binary_each $($name:ident $half:ident $single:path, $double:path;)*) => {$(
        $crate::functions::float64::through_float64!(@binary_half $name $half);
        $crate::functions::float64::through_float64!(@binary_own $name f32 $single);
        $crate::functions::float64::through_float64!(@binary_own $name f64 $double);
    )*};
    (@binary_own $name:ident $t:ident $own:path) => {
        impl $crate::Binary<$t> for $name {
            type Out = $t;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                $own(o, x1, x2)
            }
        }
    };
    (@binary_half $name:ident $core:ident) => {
        impl $crate::Binary<$crate::f16> for $name {
            type Out = $crate::f16;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x1: O::V<$crate::f16>, x2: O::V<$crate::f16>) -> O::V<$crate::f16> {
                let x1 = $crate::functions::widen(o, x1);
                let x2 = $crate::functions::widen(o, x2);
                let y = <$name as $crate::functions::HalfBinary>::wide(o, x1, x2);
                $crate::functions::narrow(o, y)
            }
        }
        $crate::functions::declare_half_path!(Long: $name);
        impl $crate::functions::HalfBinary for $name {
            type Wide = f32;
            #[inline(always)]
            fn wide<O: $crate::Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<f32> {
                let x1 = o.float_resize::<f32, f64>(x1);
                let x2 = o.float_resize::<f32, f64>(x2);
                let y = $core::<O, $crate::functions::float64::Short>(o, x1, x2);
                $crate::functions::to_odd(o, y)
            }
        }
    };
    (@binary $name:ident $core:ident $t:ident $precision:ty) => {
        impl $crate::Binary<$t> for $name {
            type Out = $t;
            #[inline(always)]
            fn call<O: $crate::Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let x1 = $crate::functions::float64::to_work::<O, $t>(o, x1);
                let x2 = $crate::functions::float64::to_work::<O, $t>(o, x2);
                let y = $core::<O, $precision>(o, x1, x2);
                $crate::functions::float64::from_work::<O, $t>(o, y)
            }
        }
    };
}
pub(crate) use through_float64;
