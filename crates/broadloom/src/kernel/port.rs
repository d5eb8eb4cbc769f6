//! The inputs and outputs of a kernel, as its caller sees them.

use broadloom_core::{DType, Dims};

/// An input or an output of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// The name; by default `in0`, `in1` … and `out0`, `out1` ….
    pub name: String,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its extents.
    pub dims: Dims,
}
