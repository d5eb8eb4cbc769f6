//! Single values. A [`Scalar`] is a value's dtype and bits. A [`Literal`] is a bool, integer or float without a dtype of its own.
//! It is converted to a scalar of the dtype of the other operands, if that dtype can represent it.

use std::fmt;

use broadloom_math::reciprocal::is_short;
use broadloom_math::{CastTo, DType, DTypeVisitor, Elem, Kind, f16};

use crate::error::{Error, ErrorKind, Result};

/// A single value: its dtype, and its bits zero-extended to 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The dtype.
    pub dtype: DType,
    /// The bits of the value; the bits above its width are 0.
    pub bits: u64,
}

impl Scalar {
    /// Creates the scalar for a Rust value.
    pub fn of<T: Elem>(x: T) -> Scalar {
        Scalar { dtype: T::DTYPE, bits: x.to_bits64() }
    }

    /// The Rust value, if `T` is the Rust type of the scalar's dtype.
    pub fn get<T: Elem>(self) -> Option<T> {
        (T::DTYPE == self.dtype).then(|| T::from_bits64(self.bits))
    }

    /// Whether this is a NaN.
    pub fn is_nan(self) -> bool {
        match self.dtype {
            DType::Float16 => f16::from_bits(self.bits as u16).is_nan(),
            DType::Float32 => f32::from_bits(self.bits as u32).is_nan(),
            DType::Float64 => f64::from_bits(self.bits).is_nan(),
            _ => false,
        }
    }

    /// Whether the scalar is an integer whose [reciprocal is short](broadloom_math::reciprocal::is_short): integers of its dtype
    /// can be divided by it with a multiplication and a shift.
    pub fn has_short_reciprocal(self) -> bool {
        match self.dtype {
            DType::Int8 => is_short(self.bits as i8),
            DType::Int16 => is_short(self.bits as i16),
            DType::Int32 => is_short(self.bits as i32),
            DType::Int64 => is_short(self.bits as i64),
            DType::UInt8 => is_short(self.bits as u8),
            DType::UInt16 => is_short(self.bits as u16),
            DType::UInt32 => is_short(self.bits as u32),
            DType::UInt64 => is_short(self.bits),
            DType::Bool | DType::Float16 | DType::Float32 | DType::Float64 => false,
        }
    }

    /// The class of the value. Rewrite rules may use no other property of a constant's value.
    pub fn class(self) -> Class {
        let is = |x: f64| match Literal::Float(x).to_dtype(self.dtype) {
            Ok(s) => s.bits == self.bits,
            Err(_) => false,
        };
        match self.dtype.kind() {
            Kind::Float => [(0.0, Class::Zero), (-0.0, Class::NegativeZero), (1.0, Class::One)]
                .into_iter()
                .chain([(2.0, Class::Two), (-1.0, Class::MinusOne)])
                .find(|(x, _)| is(*x))
                .map_or(Class::Other, |(_, class)| class),
            _ => {
                let all_ones = u64::MAX >> (64 - 8 * self.dtype.size());
                match self.bits {
                    0 => Class::Zero,
                    1 => Class::One,
                    2 => Class::Two,
                    bits if bits == all_ones => Class::MinusOne,
                    _ if self.has_short_reciprocal() => Class::ShortReciprocal,
                    _ => Class::Other,
                }
            }
        }
    }
}

/// The properties of a constant that rewrite rules may depend on. There are few, because kernels are shared by expressions whose
/// constants differ but have the same classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// 0, the float +0, or false
    Zero,
    /// The float −0
    NegativeZero,
    /// 1, or true
    One,
    /// −1, or an unsigned integer of which all bits are ones
    MinusOne,
    /// 2
    Two,
    /// Another integer by which integers of its dtype can be divided by a multiplication and a shift
    /// ([`has_short_reciprocal`](Scalar::has_short_reciprocal))
    ShortReciprocal,
    /// Anything else
    Other,
}

struct Show<'a, 'b>(u64, &'a mut fmt::Formatter<'b>);

impl DTypeVisitor for Show<'_, '_> {
    type Out = fmt::Result;
    fn visit<T: Elem>(self) -> fmt::Result {
        match T::DTYPE {
            DType::Float16 => fmt::Debug::fmt(&f16::from_bits64(self.0).to_f32(), self.1),
            _ => fmt::Debug::fmt(&T::from_bits64(self.0), self.1),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dtype.visit(Show(self.bits, f))
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}:{}", self.dtype)
    }
}

/// A number or bool without a dtype of its own. It takes the dtype of the arrays with which it is combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Literal {
    /// The dtype to which the literal is converted if all operands are literals.
    pub fn default_dtype(self) -> DType {
        match self {
            Literal::Bool(_) => DType::Bool,
            Literal::Int(_) => DType::Int64,
            Literal::Float(_) => DType::Float64,
        }
    }

    /// Converts the literal to a value of `dtype`.
    ///
    /// An integer must be in the range of an integer dtype, is rounded to nearest for a float dtype, and does not convert to
    /// bool. A float converts to float dtypes only and is rounded; if a finite float becomes infinite, that is an error. A bool
    /// becomes 0 or 1 in a dtype other than bool.
    ///
    /// # Errors
    /// [`ErrorKind::Literal`], naming the literal and the dtype.
    pub fn to_dtype(self, dtype: DType) -> Result<Scalar> {
        dtype.visit(ToDType(self))
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Bool(x) => write!(f, "{x}"),
            Literal::Int(x) => write!(f, "{x}"),
            Literal::Float(x) => write!(f, "{x:?}"),
        }
    }
}

struct ToDType(Literal);

impl DTypeVisitor for ToDType {
    type Out = Result<Scalar>;
    fn visit<T: Elem>(self) -> Result<Scalar> {
        let scalar = |bits: u64| Ok(Scalar { dtype: T::DTYPE, bits });
        let cannot = || {
            Err(Error::new(ErrorKind::Literal, format!("{} cannot be represented as {}", self.0, T::DTYPE)))
        };
        match (self.0, T::DTYPE.kind()) {
            (Literal::Bool(x), Kind::Bool) => scalar(x as u64),
            (Literal::Int(x), Kind::Signed | Kind::Unsigned) => {
                let width = 8 * T::DTYPE.size() as u32;
                let (min, max) = match T::DTYPE.kind() {
                    Kind::Signed => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                    _ => (0, (1i128 << width) - 1),
                };
                if x < min || x > max {
                    return cannot();
                }
                scalar(x as u64 & (u64::MAX >> (64 - width)))
            }
            (Literal::Int(x), Kind::Float) => {
                let s = match T::DTYPE {
                    DType::Float64 => Scalar::of(x as f64),
                    DType::Float32 => Scalar::of(x as f32),
                    // Up to 2^53 the conversion of `x` to float64 is exact; for larger numbers the result in float16 is infinite
                    // anyway.
                    _ => Scalar::of(to_float16(x as f64)),
                };
                if is_infinite(s) { cannot() } else { Ok(s) }
            }
            (Literal::Float(x), Kind::Float) => {
                let s = match T::DTYPE {
                    DType::Float64 => Scalar::of(x),
                    _ if x.is_nan() => narrowed_nan(x, T::DTYPE),
                    DType::Float32 => Scalar::of(x as f32),
                    _ => Scalar::of(to_float16(x)),
                };
                if is_infinite(s) && x.is_finite() { cannot() } else { Ok(s) }
            }
            (Literal::Bool(x), _) => ToDType(Literal::Int(x.into())).visit::<T>(),
            _ => cannot(),
        }
    }
}

/// The number of stored significand bits of a float64.
const FRACTION64: u32 = 52;

fn fraction_bits(dtype: DType) -> u32 {
    match dtype {
        DType::Float16 => 10,
        DType::Float32 => 23,
        _ => FRACTION64,
    }
}

/// Converts a float64 NaN to a smaller dtype. The result has the same sign and the upper bits of the fraction, and is quiet if
/// those bits are all 0.
fn narrowed_nan(x: f64, dtype: DType) -> Scalar {
    let (kept, width) = (fraction_bits(dtype), 8 * dtype.size() as u32);
    let sign = x.to_bits() >> 63 << (width - 1);
    let exponent = ((1 << (width - 1 - kept)) - 1) << kept;
    let fraction = (x.to_bits() & ((1 << FRACTION64) - 1)) >> (FRACTION64 - kept);
    let fraction = if fraction == 0 { 1 << (kept - 1) } else { fraction };
    Scalar { dtype, bits: sign | exponent | fraction }
}

/// Converts a NaN to a float64 NaN that [`narrowed_nan`] converts back to it.
fn widened_nan(x: Scalar) -> f64 {
    let (kept, width) = (fraction_bits(x.dtype), 8 * x.dtype.size() as u32);
    let fraction = (x.bits & ((1 << kept) - 1)) << (FRACTION64 - kept);
    f64::from_bits(x.bits >> (width - 1) << 63 | 0x7ff << FRACTION64 | fraction)
}

/// Converts float64 to float16 with a single rounding, as `astype` does.
fn to_float16(x: f64) -> f16 {
    <f64 as CastTo<f16>>::cast(&mut broadloom_math::Scalar, x)
}

fn is_infinite(s: Scalar) -> bool {
    match s.dtype {
        DType::Float16 => f16::from_bits(s.bits as u16).is_infinite(),
        DType::Float32 => f32::from_bits(s.bits as u32).is_infinite(),
        _ => f64::from_bits(s.bits).is_infinite(),
    }
}

macro_rules! literal_from {
    ($($t:ty => $variant:ident,)*) => {$(
        impl From<$t> for Literal {
            fn from(x: $t) -> Literal {
                Literal::$variant(x.into())
            }
        }
    )*};
}
literal_from! {
    bool => Bool, i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, u64 => Int,
    f64 => Float,
}

macro_rules! literal_from_short_float {
    ($($t:ty)*) => {$(
        impl From<$t> for Literal {
            fn from(x: $t) -> Literal {
                // A NaN is converted bit by bit, because the CPU's conversion would make a signalling NaN quiet.
                Literal::Float(if x.is_nan() { widened_nan(Scalar::of(x)) } else { x.into() })
            }
        }
    )*};
}
literal_from_short_float!(f16 f32);

impl From<usize> for Literal {
    fn from(x: usize) -> Literal {
        Literal::Int(x as i128)
    }
}
