//! Re-exports the width of vectors under the name that this crate uses.

pub use broadloom_ir::VectorWidth as Width;
