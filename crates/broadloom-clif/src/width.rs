//! The width of vectors, by the name that it has in this crate.

pub use broadloom_ir::VectorWidth as Width;
