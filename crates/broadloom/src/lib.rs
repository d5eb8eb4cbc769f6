//! Lazy arrays: an expression is typed when it is written, and run as one fused loop when its values are asked for.
//!
//! In: vectors, slices and numbers. Out: an [`Array`], a handle of what is to be computed, and on request its
//! values. Must hold: an expression that exists is well typed; a handle means the values at the time it was built;
//! nothing here recurses along an expression.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let nir = Array::from_vec(vec![0.8_f32, 0.6, 0.4]);
//! let red = Array::from_slice(&[0.1_f32, 0.2, 0.3]);
//! let index = (&nir - &red) / (&nir + &red);
//! assert_eq!(index.eval()?.to_vec::<f32>()?.len(), 3);
//! println!("{index}"); // [0.7777778  0.5        0.14285716]
//!
//! let wrong = nir.try_add(Array::from_vec(vec![1.0_f32; 5]));
//! assert_eq!(
//!     wrong.unwrap_err().to_string(),
//!     "add: cannot broadcast float32[3] with float32[5] (axis -1: 3 and 5)"
//! );
//! # Ok::<(), Error>(())
//! ```
//!
//! # Dtypes
//!
//! Two arrays of different dtypes meet as the [Python Array API standard] promotes them; what it leaves undefined
//! is an error that names the cast to write, unless [`with_promotion`] says otherwise. A Rust number (or an
//! [`Array::scalar`]) takes the dtype of the arrays that it meets, and must fit it.
//!
//! [Python Array API standard]: https://data-apis.org/array-api/latest/
#![forbid(unsafe_code)]

mod access;
mod array;
mod create;
mod display;
mod engine;
mod eval;
mod explain;
mod expr;
pub mod functions;
mod inspect;
#[cfg(feature = "ndarray")]
mod interop;
mod kernel;
mod lower;
mod number;
pub mod onnx;
mod operand;
mod operators;
pub mod prelude;
mod promote;
mod range;
mod storage;
pub mod text;
mod views;

pub use array::Array;
pub use broadloom_core::graph::IntDivision;
pub use broadloom_core::{
    DType, Dim, Dims, Error, ErrorKind, HostFunction, Kind, Literal, Op, Promotion, Result, Symbol,
};
pub use broadloom_math::f16;
pub use broadloom_mem::{HostClosure, HostError, HostPointer, HostSignature, HostTile, MAX_HOST_OPERANDS};
pub use broadloom_mem::{Region, ViewMut};
pub use engine::{Control, Engine, Executor, Limits, Options, Profiling, Progress};
pub use eval::{eval_many, eval_many_with};
pub use explain::Explanation;
pub use inspect::{TypedGraph, typed_graph};
#[cfg(feature = "ndarray")]
pub use interop::{AssignLazy, Lazy, lazy};
pub use kernel::{Call, In, Kernel, KernelId, Out, Port};
pub use operand::{IntoArray, Operand};
pub use promote::{promotion, with_promotion};
pub use range::Range;
pub use storage::Element;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;
