//! The element-wise functions of broadloom, each written once.
//!
//! In: nothing but element types. Out: [`Ops`], the trait of IEEE-exact primitives; the functions as
//! generic definitions over it ([`functions`]); and the two host instances of the trait, [`Scalar`] and
//! [`Lanes`]. Must hold: every primitive is exact in every instance, so that all instances give the same
//! bits by construction.
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
pub mod record;
pub mod through;

pub use dtype::{DType, DTypeVisitor, Elem, Float, Int, Kind, Num, Real, f16};
pub use host::{Lanes, Scalar};
pub use ops::{Binary, CastTo, Cmp, Ops, Rare2, Ternary, Unary};
