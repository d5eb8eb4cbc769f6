//! The element types, as values ([`DType`]) and as Rust types ([`Elem`] and the traits for its kinds).
//! [`for_each_dtype!`] is the only list of dtypes; all code that ranges over dtypes is generated from it. Every bit
//! pattern of an [`Elem::Store`] is valid, so any bytes may be viewed as elements.

use std::fmt;

pub use half::f16;

/// Calls `$callback!` with one `(Variant, rust_type, "name")` row per dtype, in promotion-table order.
#[macro_export]
macro_rules! for_each_dtype {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! {
            $($($extra)*)?
            (Bool, bool, "bool")
            (Int8, i8, "int8")
            (Int16, i16, "int16")
            (Int32, i32, "int32")
            (Int64, i64, "int64")
            (UInt8, u8, "uint8")
            (UInt16, u16, "uint16")
            (UInt32, u32, "uint32")
            (UInt64, u64, "uint64")
            (Float16, $crate::f16, "float16")
            (Float32, f32, "float32")
            (Float64, f64, "float64")
        }
    };
}

/// The kind of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `int8` … `int64`
    Signed,
    /// `uint8` … `uint64`
    Unsigned,
    /// `float16` … `float64`
    Float,
}

macro_rules! define_dtype {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// The data type of an array's elements, named as in the Python Array API standard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl DType {
            /// All dtypes.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The standard's name, such as `float32`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The size of an element in memory, in bytes.
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => size_of::<$rust>(),)* }
            }

            /// Calls the visitor with the dtype's Rust type.
            pub fn visit<V: DTypeVisitor>(self, visitor: V) -> V::Out {
                match self { $(DType::$variant => visitor.visit::<$rust>(),)* }
            }
        }

        $(impl sealed::Sealed for $rust {})*
    };
}
for_each_dtype!(define_dtype);

/// A function that is generic over the element type; see [`DType::visit`].
pub trait DTypeVisitor {
    /// The result type of the function.
    type Out;
    /// Calls the function with `T`, the Rust type of the dtype.
    fn visit<T: Elem>(self) -> Self::Out;
}

impl DType {
    /// The dtype's kind.
    pub const fn kind(self) -> Kind {
        use DType::*;
        match self {
            Bool => Kind::Bool,
            Int8 | Int16 | Int32 | Int64 => Kind::Signed,
            UInt8 | UInt16 | UInt32 | UInt64 => Kind::Unsigned,
            Float16 | Float32 | Float64 => Kind::Float,
        }
    }

    /// Whether this is one of the eight integer dtypes.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Whether this is one of the three floating-point dtypes.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether this is an integer or floating-point dtype.
    pub const fn is_numeric(self) -> bool {
        !matches!(self.kind(), Kind::Bool)
    }

    /// The dtype with this name, as [`DType::name`] spells it; `None` if there is none.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An element type.
pub trait Elem: sealed::Sealed + Copy + PartialEq + fmt::Debug + Default + Send + Sync + 'static {
    /// The dtype that this Rust type represents.
    const DTYPE: DType;
    /// The type of an element in memory: `u8` for `bool`, so that every byte is valid, otherwise the type itself.
    type Store: Copy + fmt::Debug + Default + PartialEq + Send + Sync + 'static;
    /// Reads an element from its representation in memory. For `bool`, any nonzero byte is `true`.
    fn load(store: Self::Store) -> Self;
    /// The representation of this element in memory.
    fn store(self) -> Self::Store;
    /// The element's bits, zero-extended.
    fn to_bits64(self) -> u64;
    /// The element whose bits are the low bits of `bits`.
    fn from_bits64(bits: u64) -> Self;
    /// Replaces a NaN by the canonical one, [`Real::NAN`]; other values are unchanged. It must not be applied to a
    /// square root: LLVM may take every NaN result of a square root for the same value and drop the replacement.
    #[inline(always)]
    fn canonical(self) -> Self {
        self
    }
}

/// An element type with arithmetic in its own type: the integers (which wrap), float32 and float64.
pub trait Num: Elem + PartialOrd {
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// −1 (all ones for an unsigned type)
    const MINUS_ONE: Self;
    /// Sum: wrapping, or rounded to nearest even.
    fn plus(self, other: Self) -> Self;
    /// Difference: wrapping, or rounded to nearest even.
    fn minus(self, other: Self) -> Self;
    /// Product: wrapping, or rounded to nearest even.
    fn times(self, other: Self) -> Self;
}

/// An integer type.
pub trait Int: Num + Ord {
    /// The width of the type in bits.
    const WIDTH: u32 = 8 * size_of::<Self>() as u32;
    /// Whether the type is signed.
    const SIGNED: bool;
    /// The minimum.
    const MIN: Self;
    /// The maximum.
    const MAX: Self;
    /// A float type that represents every integer of this type exactly (up to 32 bits) and in which the
    /// truncated quotients of these integers are exact: float32 for integers of up to 16 bits, float64 for
    /// wider ones.
    type Through: Float;
    /// The value, sign-extended or zero-extended.
    fn wide(self) -> i128;
    /// The integer formed by the low bits of `wide`.
    fn wrap(wide: i128) -> Self;
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Left shift. The count is taken modulo `WIDTH`.
    fn shl(self, count: Self) -> Self;
    /// Right shift, arithmetic for a signed type. The count is taken modulo `WIDTH`.
    fn shr(self, count: Self) -> Self;
    /// Quotient rounded toward zero; 0 for division by zero, and MIN for MIN/−1.
    fn quotient(self, other: Self) -> Self;
    /// The high half of the product of both operands, whose bits are read as unsigned integers.
    fn mul_high(self, other: Self) -> Self;
    /// The mean of both operands, whose bits are read as unsigned integers, rounded up.
    fn average(self, other: Self) -> Self;
}

/// A floating-point type, accessed through its bits: sign, exponent, significand.
pub trait Real: Elem {
    /// The unsigned integer type of the same width.
    type Bits: Int;
    /// A mask of the sign bit.
    const SIGN: Self::Bits;
    /// A mask of all bits except the sign bit.
    const MAGNITUDE: Self::Bits;
    /// The bits of +infinity. The magnitude of a NaN, read as an integer, is greater.
    const INFINITY: Self::Bits;
    /// The bits of the canonical NaN: positive, quiet, without payload.
    const NAN: Self::Bits;
    /// The bits of the value.
    fn bits(self) -> Self::Bits;
    /// The value with these bits.
    fn of_bits(bits: Self::Bits) -> Self;
}

/// A float type with arithmetic of its own: float32 and float64.
pub trait Float: Num + Real {
    /// The number of significand bits, including the implicit leading one.
    const DIGITS: u32;
    /// Converts to float64, exactly.
    fn to_f64(self) -> f64;
    /// Converts from float64, rounded to nearest even.
    fn from_f64(x: f64) -> Self;
    /// Converts from a signed integer, rounded once to nearest even.
    fn from_i64(x: i64) -> Self;
    /// Converts from an unsigned integer, rounded once to nearest even.
    fn from_u64(x: u64) -> Self;
    /// Quotient, rounded to nearest even.
    fn over(self, other: Self) -> Self;
    /// Negation: flips the sign bit, including that of a NaN.
    fn opposite(self) -> Self;
    /// Square root, rounded to nearest even.
    fn root(self) -> Self;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The value rounded up to an integer.
    fn up(self) -> Self;
    /// The value rounded down to an integer.
    fn down(self) -> Self;
    /// The value rounded toward zero to an integer.
    fn toward_zero(self) -> Self;
    /// The value rounded to the nearest integer, ties to even.
    fn nearest(self) -> Self;
    /// The exact remainder of truncated division. It has the sign of `self`.
    fn fmod(self, other: Self) -> Self;
}

impl Elem for bool {
    const DTYPE: DType = DType::Bool;
    type Store = u8;
    #[inline(always)]
    fn load(store: u8) -> bool {
        store != 0
    }
    #[inline(always)]
    fn store(self) -> u8 {
        self as u8
    }
    fn to_bits64(self) -> u64 {
        self as u64
    }
    fn from_bits64(bits: u64) -> bool {
        bits as u8 != 0
    }
}

macro_rules! int_elem {
    ($($t:ident $dtype:ident $signed:literal $through:ident $unsigned:ident $twice:ident;)*) => {$(
        impl Elem for $t {
            const DTYPE: DType = DType::$dtype;
            type Store = $t;
            #[inline(always)]
            fn load(store: $t) -> $t { store }
            #[inline(always)]
            fn store(self) -> $t { self }
            fn to_bits64(self) -> u64 { self as u64 & (u64::MAX >> (64 - <$t>::BITS)) }
            fn from_bits64(bits: u64) -> $t { bits as $t }
        }
        impl Num for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const MINUS_ONE: $t = (0 as $t).wrapping_sub(1);
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { self.wrapping_sub(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
        impl Int for $t {
            const SIGNED: bool = $signed;
            const MIN: $t = <$t>::MIN;
            const MAX: $t = <$t>::MAX;
            type Through = $through;
            #[inline(always)]
            fn wide(self) -> i128 { self as i128 }
            #[inline(always)]
            fn wrap(wide: i128) -> $t { wide as $t }
            #[inline(always)]
            fn and(self, other: $t) -> $t { self & other }
            #[inline(always)]
            fn or(self, other: $t) -> $t { self | other }
            #[inline(always)]
            fn xor(self, other: $t) -> $t { self ^ other }
            #[inline(always)]
            fn shl(self, count: $t) -> $t { self.wrapping_shl(count as u32) }
            #[inline(always)]
            fn shr(self, count: $t) -> $t { self.wrapping_shr(count as u32) }
            #[inline(always)]
            fn quotient(self, other: $t) -> $t {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn mul_high(self, other: $t) -> $t {
                let product = (self as $unsigned as $twice) * (other as $unsigned as $twice);
                (product >> <$t>::BITS) as $t
            }
            #[inline(always)]
            fn average(self, other: $t) -> $t {
                ((self as $unsigned as $twice + other as $unsigned as $twice + 1) >> 1) as $t
            }
        }
    )*};
}
int_elem! {
    i8 Int8 true f32 u8 u16;
    i16 Int16 true f32 u16 u32;
    i32 Int32 true f64 u32 u64;
    i64 Int64 true f64 u64 u128;
    u8 UInt8 false f32 u8 u16;
    u16 UInt16 false f32 u16 u32;
    u32 UInt32 false f64 u32 u64;
    u64 UInt64 false f64 u64 u128;
}

macro_rules! real_elem {
    ($($t:ident $dtype:ident $bits:ident $infinity:literal $nan:literal;)*) => {$(
        impl Elem for $t {
            const DTYPE: DType = DType::$dtype;
            type Store = $t;
            #[inline(always)]
            fn load(store: $t) -> $t { store }
            #[inline(always)]
            fn store(self) -> $t { self }
            fn to_bits64(self) -> u64 { self.to_bits() as u64 }
            fn from_bits64(bits: u64) -> $t { <$t>::from_bits(bits as $bits) }
            #[inline(always)]
            fn canonical(self) -> $t { if self.is_nan() { <$t>::from_bits($nan) } else { self } }
        }
        impl Real for $t {
            type Bits = $bits;
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            const MAGNITUDE: $bits = !(1 << (<$bits>::BITS - 1));
            const INFINITY: $bits = $infinity;
            const NAN: $bits = $nan;
            #[inline(always)]
            fn bits(self) -> $bits { self.to_bits() }
            #[inline(always)]
            fn of_bits(bits: $bits) -> $t { <$t>::from_bits(bits) }
        }
    )*};
}
real_elem! {
    f16 Float16 u16 0x7c00 0x7e00;
    f32 Float32 u32 0x7f80_0000 0x7fc0_0000;
    f64 Float64 u64 0x7ff0_0000_0000_0000 0x7ff8_0000_0000_0000;
}

macro_rules! float_elem {
    ($($t:ident)*) => {$(
        impl Num for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const MINUS_ONE: $t = -1.0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { self - other }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self * other }
        }
        impl Float for $t {
            const DIGITS: u32 = <$t>::MANTISSA_DIGITS;
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f64(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn from_i64(x: i64) -> $t { x as $t }
            #[inline(always)]
            fn from_u64(x: u64) -> $t { x as $t }
            #[inline(always)]
            fn over(self, other: $t) -> $t { self / other }
            #[inline(always)]
            fn opposite(self) -> $t { -self }
            #[inline(always)]
            fn root(self) -> $t { self.sqrt() }
            #[inline(always)]
            fn fused(self, b: $t, c: $t) -> $t { self.mul_add(b, c) }
            #[inline(always)]
            fn up(self) -> $t { self.ceil() }
            #[inline(always)]
            fn down(self) -> $t { self.floor() }
            #[inline(always)]
            fn toward_zero(self) -> $t { self.trunc() }
            #[inline(always)]
            fn nearest(self) -> $t { self.round_ties_even() }
            #[inline(always)]
            fn fmod(self, other: $t) -> $t { self % other }
        }
    )*};
}
float_elem!(f32 f64);
