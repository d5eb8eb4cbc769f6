//! Arrays from the bits of their elements, and back.
//!
//! No conversion changes a bit of an element, and a comparison is of bits.

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

/// Where two lists of elements of a dtype first differ in a bit.
pub fn difference(dtype: DType, got: &[u64], want: &[u64]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} elements, not {}", got.len(), want.len()));
    }
    let at = got.iter().zip(want).position(|(g, w)| g != w)?;
    let wrong = got.iter().zip(want).filter(|(g, w)| g != w).count();
    let (n, got, want) = (got.len(), got[at], want[at]);
    Some(format!("element {at} of {dtype} is {got:#x}, not {want:#x} ({wrong} of {n} are wrong)"))
}
