//! The element-wise functions of broadloom, each written once.
//!
//! The functions are generic definitions ([`functions`]) over [`Ops`], the trait of IEEE-exact primitives. The trait has
//! instances that compute values, such as [`Scalar`] and [`Lanes`], and one that [records](record) a function as SSA for
//! compilers. Every primitive is exact in every instance, so that all instances give the same bits by construction.
//!
//! ```
//! use broadloom_math::{Binary, Scalar, functions::FloorDivide};
//!
//! let one_over_a_tenth = <FloorDivide as Binary<f64>>::call(&mut Scalar, 1.0, 0.1);
//! assert_eq!(one_over_a_tenth, 10.0); // the floor of the rounded quotient, not Python's 9
//! ```
#![forbid(unsafe_code)]

mod dtype;
pub mod functions;
mod host;
mod ops;
pub mod quotients;
pub mod reciprocal;
pub mod record;
pub mod through;

pub use dtype::{DType, DTypeVisitor, Elem, Float, Int, Kind, Num, Real, f16};
pub use host::{Lanes, Scalar, UniformDivisor};
pub use ops::{
    Binary, CastTo, Cmp, Ops, Rare2, Ternary, Unary, float_to_half_by_bits, half_to_float_by_bits,
};
