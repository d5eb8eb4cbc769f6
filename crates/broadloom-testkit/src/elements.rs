//! Arrays from the bits of their elements, and back.
//!
//! No conversion changes a bit of an element. In a comparison, NaNs alone count as equal where their bits differ.

use broadloom::{Array, DType, Element, In, Literal, Out, Result};
use broadloom_math::Elem;

macro_rules! output {
    (Bool $v:ident) => {{
        let _ = $v;
        None
    }};
    ($number:ident $v:ident) => {
        Some((&mut $v[..]).into())
    };
}

macro_rules! by_dtype {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// An array that owns these elements.
        pub fn array(dtype: DType, shape: &[usize], bits: &[u64]) -> Array<'static> {
            match dtype {
                $(DType::$variant => Array::from_shape_vec(shape, values::<$rust>(bits)),)*
            }
            .expect("as many elements as the shape has")
        }

        /// The elements of an array, evaluated if need be.
        pub fn bits(x: &Array<'_>) -> Result<Vec<u64>> {
            match x.dtype() {
                $(DType::$variant => x.to_vec::<$rust>().map(|v| v.into_iter().map(Elem::to_bits64).collect()),)*
            }
        }

        /// The literal that is exactly this element.
        pub fn literal(dtype: DType, bits: u64) -> Literal {
            match dtype {
                $(DType::$variant => <$rust>::from_bits64(bits).into(),)*
            }
        }

        /// Elements in a vector of their type.
        pub enum Typed {
            $(#[doc = $name] $variant(Vec<$rust>),)*
        }

        impl Typed {
            /// The elements of these bits.
            pub fn of(dtype: DType, bits: &[u64]) -> Typed {
                match dtype {
                    $(DType::$variant => Typed::$variant(values(bits)),)*
                }
            }

            /// The elements' bits.
            pub fn bits(&self) -> Vec<u64> {
                match self {
                    $(Typed::$variant(v) => v.iter().map(|x| x.to_bits64()).collect(),)*
                }
            }

            /// The elements as a kernel reads them.
            pub fn input(&self) -> In<'_> {
                match self {
                    $(Typed::$variant(v) => (&v[..]).into(),)*
                }
            }

            /// The elements as a kernel writes them; nothing for bools.
            pub fn output(&mut self) -> Option<Out<'_>> {
                match self {
                    $(Typed::$variant(v) => output!($variant v),)*
                }
            }
        }
    };
}
broadloom_math::for_each_dtype!(by_dtype);

/// Typed elements.
pub fn values<T: Element>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|&b| T::from_bits64(b)).collect()
}

/// Whether the bits of an element are a NaN's.
pub fn is_nan(dtype: DType, bits: u64) -> bool {
    match dtype {
        DType::Float16 => bits & 0x7fff > 0x7c00,
        DType::Float32 => bits & 0x7fff_ffff > 0x7f80_0000,
        DType::Float64 => bits << 1 > 0x7ff0_0000_0000_0000 << 1,
        _ => false,
    }
}

/// Where two lists of elements first differ, any NaN being equal to any other.
pub fn difference(dtype: DType, got: &[u64], want: &[u64]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} elements, not {}", got.len(), want.len()));
    }
    let same = |g: u64, w: u64| g == w || is_nan(dtype, g) && is_nan(dtype, w);
    let at = got.iter().zip(want).position(|(&g, &w)| !same(g, w))?;
    let wrong = got.iter().zip(want).filter(|&(&g, &w)| !same(g, w)).count();
    Some(format!("element {at} is {:#x}, not {:#x} ({wrong} of {} are wrong)", got[at], want[at], got.len()))
}
