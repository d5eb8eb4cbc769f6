//! The arrays of the references, as the bits of their elements.

use broadloom_core::DType;

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// The bits of each element, zero-extended.
    pub bits: Vec<u64>,
}
