//! The declarations of a kernel's inputs and outputs.

use broadloom_core::{DType, Dims};

/// An input or an output of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// The name; by default `in0`, `in1`, … for inputs and `out0`, `out1`, … for outputs.
    pub name: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The extents, which may be symbols.
    pub dims: Dims,
}
