//! The reference for reductions and cumulative functions. Each follows its definition, over elements in a vector.
//!
//! It is written only from the Array API standard and the definition of the canonical reduction, recursively and without tiles,
//! vectors or threads, so that every executor can be compared with it bit by bit. [`exact`] adds floats without rounding, to
//! bound errors.

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
