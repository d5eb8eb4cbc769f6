//! The part of the compiler that executors depend on: dtypes, the op table, and the kernel IR.
//!
//! A [`Kernel`] is the only form of program that an executor sees. It refers to functions of the [op table](op) and to
//! [declarations](host) of host functions, but contains no extents, strides or memory, so that one compiled kernel can
//! be used for all arrays that are accessed in the same way. [`loop_plan`] plans the loops around a kernel for operands
//! of given layouts. Graphs, inference and fusion are in `broadloom-core`, which executors do not import.
#![forbid(unsafe_code)]

mod accuracy;
pub mod canonical;
pub mod code_plan;
pub mod error;
pub mod figures;
pub mod fold;
pub mod host;
mod inst;
pub mod kernel;
pub mod loop_plan;
mod nearest;
pub mod op;
mod place;
mod printable;
pub mod recording;
pub mod reduction;
pub mod scalar;
pub mod tuning;
pub mod verify;
mod width;

pub use accuracy::Accuracy;
pub use broadloom_math::{DType, Kind};
pub use code_plan::{CodePlan, Purpose};
pub use error::{Error, ErrorKind, Result};
pub use host::{HostDeclaration, HostError, HostSignature, MAX_HOST_OPERANDS};
pub use kernel::Kernel;
pub use op::Op;
pub use place::TextPlace;
pub use printable::{is_printable, printable, printable_lines};
pub use reduction::{Axes, Reduction, Scan};
pub use scalar::{Literal, Scalar};
pub use width::VectorWidth;
