//! The arithmetic of accumulators. For floats it is the target's, which IEEE 754 defines to the bit except for NaNs, and for
//! integers it is modulo 2^64.

use broadloom_core::{DType, Op, Scalar, fold};

/// The type of an accumulator.
pub trait Accumulator: Copy {
    /// The identity element of addition.
    const ZERO: Self;
    /// The identity element of multiplication.
    const ONE: Self;

    /// The number with these bits.
    fn from_bits(bits: u64) -> Self;

    /// The bits. For every NaN, they are the bits of the canonical NaN.
    fn bits(self) -> u64;

    /// The sum.
    fn add(self, other: Self) -> Self;

    /// The product.
    fn multiply(self, other: Self) -> Self;
}

/// The type of a float accumulator.
pub trait FloatAccumulator: Accumulator + PartialOrd {
    /// The dtype.
    const DTYPE: DType;

    /// The nearest float.
    fn nearest(x: f64) -> Self;

    /// The float nearest to a number of elements.
    fn count(n: usize) -> Self;

    /// The number as a float64, exactly.
    fn exact(self) -> f64;

    /// The difference.
    fn subtract(self, other: Self) -> Self;

    /// The quotient.
    fn divide(self, other: Self) -> Self;

    /// The square root.
    fn square_root(self) -> Self;

    /// The magnitude.
    fn magnitude(self) -> Self;

    /// Whether the number is a NaN.
    fn is_nan(self) -> bool {
        self.exact().is_nan()
    }

    /// The power. It is approximate, and computed by the scalar instance.
    fn power(self, exponent: Self) -> Self {
        let args = [self, exponent].map(|x| Scalar { dtype: Self::DTYPE, bits: x.bits() });
        Self::from_bits(fold::apply(Op::Pow, &args).expect("a power of floats").bits)
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Accumulator for $type {
            const ZERO: $type = 0;
            const ONE: $type = 1;

            fn from_bits(bits: u64) -> $type {
                bits as $type
            }

            fn bits(self) -> u64 {
                self as u64
            }

            fn add(self, other: $type) -> $type {
                self.wrapping_add(other)
            }

            fn multiply(self, other: $type) -> $type {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integers!(i64 u64);

macro_rules! floats {
    ($($type:ident $bits:ident $dtype:ident $nan:literal;)*) => {$(
        impl Accumulator for $type {
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;

            fn from_bits(bits: u64) -> $type {
                $type::from_bits(bits as $bits)
            }

            fn bits(self) -> u64 {
                if $type::is_nan(self) { $nan } else { u64::from(self.to_bits()) }
            }

            fn add(self, other: $type) -> $type {
                self + other
            }

            fn multiply(self, other: $type) -> $type {
                self * other
            }
        }

        impl FloatAccumulator for $type {
            const DTYPE: DType = DType::$dtype;

            fn nearest(x: f64) -> $type {
                x as $type
            }

            fn count(n: usize) -> $type {
                n as $type
            }

            fn exact(self) -> f64 {
                f64::from(self)
            }

            fn subtract(self, other: $type) -> $type {
                self - other
            }

            fn divide(self, other: $type) -> $type {
                self / other
            }

            fn square_root(self) -> $type {
                self.sqrt()
            }

            fn magnitude(self) -> $type {
                self.abs()
            }
        }
    )*};
}
floats! {
    f32 u32 Float32 0x7fc0_0000;
    f64 u64 Float64 0x7ff8_0000_0000_0000;
}
