//! Runs a kernel op by op over tiles that stay in the L1 cache.
//!
//! In: a kernel and how its inputs are accessed ([`Program::new`]). Out: blocks of a nest computed
//! ([`Program::run`]). `loops` holds a precompiled, auto-vectorised loop per function and dtype, dispatched on the
//! CPU's features, `fused` has such loops for two instructions, `halves` those of float16 where the host converts it;
//! `program` places values in tiles; `run` walks a block. Must hold: the same bits as every other executor, since the
//! loops are the same generic functions over the same exact primitives.
#![forbid(unsafe_code)]

mod fused;
mod halves;
mod loops;
mod program;
mod run;

pub use loops::lanes;
pub use program::Program;
pub use run::{TILE, Tiles};
