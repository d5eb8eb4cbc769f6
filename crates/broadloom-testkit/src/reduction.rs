//! The reference of reductions and of cumulative functions: each follows its definition, over elements in a vector.
//!
//! It is written from the Array API standard and from the definition of the canonical reduction alone, recursive and
//! without tiles, vectors or threads, so that every executor can be compared with it bit by bit. [`exact`] adds floats without
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
