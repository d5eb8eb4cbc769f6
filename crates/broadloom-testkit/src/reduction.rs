//! The reference of reductions and of cumulative functions: each as its definition reads, over elements in a vector.
//!
//! It is written from the Array API standard and from the definition of the canonical reduction alone, recursive and
//! without any tile, vector or thread, so that every executor can be held to it bit by bit. [`exact`] adds floats without
//! rounding, for bounds of the error.

mod along;
mod call;
pub mod exact;
mod floats;
mod numbers;
mod text;
pub mod tree;
mod typing;

#[cfg(test)]
mod tests;

pub use call::{Cumulative, Function, Reduction, VecDot};
