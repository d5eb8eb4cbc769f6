//! What an array expression means.
//!
//! In: ops on typed values ([`Graph`]), or text ([`text`]). Out: kernels, the only programs that executors
//! see ([`Kernel`]), in run order ([`Plan`]). The flow, top to bottom:
//! [`infer`] → [`graph`] → [`rewrite`] → [`fuse`] → [`kernel`]. Must hold: recursion never follows a graph.
#![forbid(unsafe_code)]

pub mod error;
pub mod fold;
pub mod fuse;
pub mod graph;
pub mod infer;
pub mod kernel;
pub mod layout;
pub mod op;
pub mod rewrite;
pub mod scalar;
pub mod shape;
pub mod symbol;
pub mod text;
pub mod verify;

pub use broadloom_math::{DType, Kind};
pub use broadloom_mem::HostFunction;
pub use error::{Error, ErrorKind, Result};
pub use fuse::Plan;
pub use graph::{Graph, NodeId};
pub use infer::Promotion;
pub use kernel::Kernel;
pub use layout::{Layout, View};
pub use op::Op;
pub use scalar::{Literal, Scalar};
pub use shape::Shape;
pub use symbol::{Dim, Dims, Symbol};
