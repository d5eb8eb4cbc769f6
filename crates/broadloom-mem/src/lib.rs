//! Memory: buffers, strided views, loop plans bound to them, host functions, and the floating-point environment.
//!
//! All unsafe code for memory is in this crate. Its public functions are safe, except constructors from raw pointers.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Buffer`], [`Pool`] | memory with an owner: allocated, moved in, shared, mapped |
//! | [`Region`], [`RegionMut`] | the bytes of an input, which an output may overlap, and the bytes of an output |
//! | [`View`], [`ViewMut`] | strided arrays over borrowed bytes, whose bounds are checked once, or arrays of generated numbers |
//! | [`Operands`] | the memory of a run's inputs and outputs, and whether they overlap |
//! | [`Nest`] | a [loop plan](broadloom_ir::loop_plan) bound to operands or views: few dimensions, contiguous rows |
//! | [`Part`] | a share of the work that one thread runs |
//! | [`lend`] | shares a borrowed closure with long-lived threads for a limited time |
//! | [`Block`] | the same rows and columns of all operands: safe bodies access them as slices, machine code through pointers |
//! | [`KernelExecutor`], [`ExecutableKernel`] | the traits of executors, which prepare kernels, and of prepared kernels, which compute blocks |
//! | [`Block::stream`] | non-temporal stores, and the fence after them |
//! | [`widen_halves`], [`narrow_halves`] | float16 ↔ float32 by the CPU's conversions |
//! | [`HostFunction`] | a function of the application, from a closure or a C pointer |
//! | [`Caches`] | the sizes of this processor's caches |
//! | [`FloatEnv`] | sets the floating-point control register to the IEEE default while a body runs |
//!
//! ```text
//! views    ─▶ Nest::new  ─┬─▶ split ─▶ Part::run ─▶ body(Block) …
//! Operands ─▶ Nest::bind ─┘   disjoint  packs what is   reads rows,
//!             checks bounds   units     not contiguous  writes rows
//!             and aliasing
//! ```

#![deny(missing_docs, clippy::undocumented_unsafe_blocks)]

mod ahead;
mod alias;
mod bind;
mod block;
mod buffer;
mod bytes;
mod caches;
mod contain;
mod error;
mod executor;
mod float_env;
mod generate;
mod halves;
mod host;
mod job;
mod linear;
#[cfg(feature = "ndarray")]
mod ndarray;
mod nest;
mod operand;
mod operands;
mod overlap;
mod pack;
mod pool;
mod region;
mod scratch;
mod slab;
mod steps;
mod stream;
mod table;
mod tile;
mod transpose;
mod view;
mod walk;
mod words;

pub use ahead::{AHEAD, PAGE, ask_ahead, ask_for, ask_so_far_ahead};
pub use alias::{AliasPolicy, rows_of_states};
pub use block::{Block, Inputs, Operand, Outputs, RawBlock, RawOperand};
pub use broadloom_ir::loop_plan::Access;
pub use broadloom_ir::{HostError, HostSignature, MAX_HOST_OPERANDS};
pub use buffer::{ALIGN, AllocError, Buffer, SharedBytes, zeroed_vec};
pub use bytes::{BoolBytes, bytes_of, bytes_of_mut, bytes_of_stores, typed, typed_mut, with_bools_as_bytes};
pub use caches::Caches;
pub use error::NestError;
pub use executor::{
    ExecutableKernel, KernelExecutor, KernelRun, Listing, LoopRun, MAX_ITERATIONS, WorkingMemory,
};
pub use float_env::FloatEnv;
pub use halves::{
    Convert, HALVES, WithConversions, converts_halves, narrow_halves, widen_halves, with_conversions,
};
pub use host::{
    HostClosure, HostFallibleTile, HostFunction, HostPointer, HostResult, HostStatus, HostTile,
    HostTileClosure, HostTileResult, catch_failure, has_failed,
};
pub use job::{Forked, SharedJob, lend};
pub use nest::{Nest, Part, Parts, SharedParts};
pub use operands::{InputRegions, Operands, RowOperand, Starts};
pub use pool::Pool;
pub use region::{Region, RegionMut};
pub use scratch::Scratch;
pub use slab::{Slab, Slabs, StepRows};
pub use stream::{Stores, Stream, order_streamed};
pub use table::Table;
pub use view::{View, ViewError, ViewMut};
pub use walk::BlockFn;
