//! Converts between arrays and the bits of their elements.
//!
//! No conversion changes a bit of an element, and comparisons are bitwise.

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
        /// An array that owns elements with these bits.
        pub fn array(dtype: DType, shape: &[usize], bits: &[u64]) -> Array<'static> {
            match dtype {
                $(DType::$variant => Array::from_shape_vec(shape, values::<$rust>(bits)),)*
            }
            .expect("as many elements as the shape has")
        }

        /// The bits of an array's elements. The array is evaluated if necessary.
        pub fn bits(x: &Array<'_>) -> Result<Vec<u64>> {
            match x.dtype() {
                $(DType::$variant => x.to_vec::<$rust>().map(|v| v.into_iter().map(Elem::to_bits64).collect()),)*
            }
        }

        /// The literal with exactly this element's value.
        pub fn literal(dtype: DType, bits: u64) -> Literal {
            match dtype {
                $(DType::$variant => <$rust>::from_bits64(bits).into(),)*
            }
        }

        /// Elements as a `Vec` of the matching Rust type.
        pub enum Typed {
            $(#[doc = $name] $variant(Vec<$rust>),)*
        }

        impl Typed {
            /// The elements with these bits.
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

            /// The elements as an input of a kernel.
            pub fn input(&self) -> In<'_> {
                match self {
                    $(Typed::$variant(v) => (&v[..]).into(),)*
                }
            }

            /// The elements as an output of a kernel; `None` for bools.
            pub fn output(&mut self) -> Option<Out<'_>> {
                match self {
                    $(Typed::$variant(v) => output!($variant v),)*
                }
            }
        }
    };
}
broadloom_math::for_each_dtype!(by_dtype);

/// Elements of a Rust type from their bits.
pub fn values<T: Element>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|&b| T::from_bits64(b)).collect()
}

/// Describes the first difference between two lists of elements, by their bits.
pub fn difference(dtype: DType, got: &[u64], want: &[u64]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} elements, not {}", got.len(), want.len()));
    }
    let at = got.iter().zip(want).position(|(g, w)| g != w)?;
    let wrong = got.iter().zip(want).filter(|(g, w)| g != w).count();
    let (n, got, want) = (got.len(), got[at], want[at]);
    Some(format!("element {at} of {dtype} is {got:#x}, not {want:#x} ({wrong} of {n} are wrong)"))
}
