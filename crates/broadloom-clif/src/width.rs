//! Re-exports `VectorWidth`, the width of vectors in bits, under the name that this crate uses.

pub use broadloom_ir::VectorWidth as Width;
