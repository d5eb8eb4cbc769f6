//! Arrays of the references: the bits of their elements.

use broadloom_core::DType;

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Their dtype.
    pub dtype: DType,
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// The bits of each, zero-extended.
    pub bits: Vec<u64>,
}
