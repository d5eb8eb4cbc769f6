//! Shorthands for float32 arithmetic over any instance of [`Ops`]: constants given as plain numbers, sums of two
//! float32, signs and bounds. They have the same names as the shorthands for float64 (module `float64`).

use crate::functions::compare::magnitude;
use crate::functions::single::F;
use crate::ops::{Cmp, Ops};

/// A number as the unevaluated sum of two float32.
pub(crate) struct Sum<O: Ops> {
    pub hi: F<O>,
    pub lo: F<O>,
}

impl<O: Ops> Clone for Sum<O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops> Copy for Sum<O> {}

/// Shorthands for float32 arithmetic over any instance of [`Ops`].
pub(crate) trait Float32: Ops {
    /// `x + c`
    #[inline(always)]
    fn add_c(&mut self, x: F<Self>, c: f32) -> F<Self> {
        let c = self.splat(c);
        self.add::<f32>(x, c)
    }

    /// `c − x`
    #[inline(always)]
    fn c_sub(&mut self, c: f32, x: F<Self>) -> F<Self> {
        let c = self.splat(c);
        self.sub::<f32>(c, x)
    }

    /// `x · c`
    #[inline(always)]
    fn mul_c(&mut self, x: F<Self>, c: f32) -> F<Self> {
        let c = self.splat(c);
        self.mul::<f32>(x, c)
    }

    /// `x · c + b`, rounded once
    #[inline(always)]
    fn fma_c(&mut self, x: F<Self>, c: f32, b: F<Self>) -> F<Self> {
        let c = self.splat(c);
        self.fma::<f32>(x, c, b)
    }

    /// `a · b + c`, rounded once
    #[inline(always)]
    fn fma_to_c(&mut self, a: F<Self>, b: F<Self>, c: f32) -> F<Self> {
        let c = self.splat(c);
        self.fma::<f32>(a, b, c)
    }

    /// `c − a · b`, rounded once
    #[inline(always)]
    fn nfma(&mut self, a: F<Self>, b: F<Self>, c: F<Self>) -> F<Self> {
        let a = self.neg::<f32>(a);
        self.fma::<f32>(a, b, c)
    }

    /// `x · a + b` for constants `a` and `b`, rounded once
    #[inline(always)]
    fn line(&mut self, x: F<Self>, a: f32, b: f32) -> F<Self> {
        let (a, b) = (self.splat(a), self.splat(b));
        self.fma::<f32>(x, a, b)
    }

    /// The magnitude of `x`.
    #[inline(always)]
    fn abs(&mut self, x: F<Self>) -> F<Self> {
        let bits = magnitude::<Self, f32>(self, x);
        self.of_bits::<f32>(bits)
    }

    /// The sign bit of `x`; the other bits are 0.
    #[inline(always)]
    fn sign_of(&mut self, x: F<Self>) -> Self::V<u32> {
        let bits = self.bits::<f32>(x);
        let mask = self.splat(1u32 << 31);
        self.and::<u32>(bits, mask)
    }

    /// Sets the sign bit of `x` where the sign bit of `sign` is set.
    #[inline(always)]
    fn with_sign(&mut self, x: F<Self>, sign: Self::V<u32>) -> F<Self> {
        let bits = self.bits::<f32>(x);
        let bits = self.or::<u32>(bits, sign);
        self.of_bits::<f32>(bits)
    }

    /// Compares `x` with a constant.
    #[inline(always)]
    fn is(&mut self, x: F<Self>, how: Cmp, c: f32) -> Self::M<f32> {
        let c = self.splat(c);
        self.cmp::<f32>(how, x, c)
    }

    /// The minimum of `x` and `c`; NaN if `x` is NaN.
    #[inline(always)]
    fn at_most(&mut self, x: F<Self>, c: f32) -> F<Self> {
        let c = self.splat(c);
        let above = self.cmp::<f32>(Cmp::Lt, c, x);
        self.select::<f32>(above, c, x)
    }

    /// The maximum of `x` and `c`; NaN if `x` is NaN.
    #[inline(always)]
    fn at_least(&mut self, x: F<Self>, c: f32) -> F<Self> {
        let c = self.splat(c);
        let below = self.cmp::<f32>(Cmp::Lt, x, c);
        self.select::<f32>(below, c, x)
    }

    /// `a + b` exactly, if `|a| ≥ |b|`, or if `a` is 0 or a multiple of `b`'s last place.
    #[inline(always)]
    fn fast_two_sum(&mut self, a: F<Self>, b: F<Self>) -> Sum<Self> {
        let hi = self.add::<f32>(a, b);
        let kept = self.sub::<f32>(hi, a);
        let lo = self.sub::<f32>(b, kept);
        Sum { hi, lo }
    }

    /// `a + b` exactly.
    #[inline(always)]
    fn two_sum(&mut self, a: F<Self>, b: F<Self>) -> Sum<Self> {
        let hi = self.add::<f32>(a, b);
        let of_b = self.sub::<f32>(hi, a);
        let of_a = self.sub::<f32>(hi, of_b);
        let b = self.sub::<f32>(b, of_b);
        let a = self.sub::<f32>(a, of_a);
        let lo = self.add::<f32>(a, b);
        Sum { hi, lo }
    }

    /// `a · b` exactly, unless the error term underflows.
    #[inline(always)]
    fn two_product(&mut self, a: F<Self>, b: F<Self>) -> Sum<Self> {
        let hi = self.mul::<f32>(a, b);
        let minus = self.neg::<f32>(hi);
        let lo = self.fma::<f32>(a, b, minus);
        Sum { hi, lo }
    }

    /// `factor / x` with a relative error of 1/8, for a normal `x` and a `factor` from 1/2 to 1. This is
    /// precise enough to multiply the remainder of a division by it, if the product is below half an ulp.
    /// Subtracting the bits of x from about twice the bits of 1 approximates the bits of the reciprocal. The
    /// factor changes the constant by its logarithm.
    #[inline(always)]
    fn rough_reciprocal(&mut self, x: F<Self>, factor: f32) -> F<Self> {
        let bits = self.bits::<f32>(x);
        let moved = self.splat(0x7ef3_11c7 - (1.0f32.to_bits() - factor.to_bits()));
        let reciprocal = self.sub::<u32>(moved, bits);
        self.of_bits::<f32>(reciprocal)
    }

    /// 2^k, given a float that has the exponent field of 2^k in its low bits, as adding a magic number to k leaves it.
    #[inline(always)]
    fn power_of_two(&mut self, magic: F<Self>) -> F<Self> {
        let bits = self.bits::<f32>(magic);
        let bits = self.shl_const::<u32>(bits, 23);
        self.of_bits::<f32>(bits)
    }
}

impl<O: Ops> Float32 for O {}
