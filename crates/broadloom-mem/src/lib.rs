//! The one room of broadloom for unsafe memory: buffers, strided views, the walk of an index space, the host's
//! functions, and the floating-point environment. What it exports is safe, but for constructors from raw pointers.
//!
//! | from | to |
//! | --- | --- |
//! | [`Buffer`], [`Pool`] | memory with an owner: allocated, moved in, shared, mapped |
//! | [`Region`] | bytes that are read, which outputs may overlap |
//! | [`View`], [`ViewMut`] | strided layouts of borrowed bytes, checked once |
//! | [`Nest`] | an index space with its operands, planned: few dimensions, contiguous rows |
//! | [`Part`] | a share of the work that one thread runs |
//! | [`Block`] | rows and columns of all operands, for a body: slices, or pointers for machine code |
//! | [`Block::stream`] | stores past the caches, and the fence behind them |
//! | [`widen_halves`], [`narrow_halves`] | float16 ↔ float32 by the host's conversions |
//! | [`HostFunction`] | functions of the host program, by closure or by pointer |
//! | [`FloatEnv`] | the IEEE default in the control register, while a body runs |
//!
//! ```text
//! views ─▶ Nest::new ─▶ split ─▶ Part::run ─▶ body(Block) …
//!          checks         disjoint  packs what is     reads rows,
//!          aliasing       units     not contiguous    writes rows
//! ```

#![deny(missing_docs, clippy::undocumented_unsafe_blocks)]

mod block;
mod buffer;
mod bytes;
mod contain;
mod float_env;
mod halves;
mod host;
mod linear;
#[cfg(feature = "ndarray")]
mod ndarray;
mod nest;
mod overlap;
mod pack;
mod pattern;
mod plan;
mod pool;
mod region;
mod scratch;
mod steps;
mod stream;
mod transpose;
mod view;
mod walk;

pub use block::{Access, Block, Inputs, Operand, Outputs, RawBlock, RawOperand, RawOperandMut};
pub use broadloom_ir::{HostError, HostSignature, MAX_HOST_OPERANDS};
pub use buffer::{ALIGN, AllocError, Buffer, SharedBytes, zeroed_vec};
pub use bytes::{bytes_of, bytes_of_mut, typed, typed_mut};
pub use float_env::FloatEnv;
pub use halves::{
    Convert, HALVES, WithConversions, converts_halves, narrow_halves, widen_halves, with_conversions,
};
pub use host::{HostClosure, HostFunction, HostPointer, HostTile};
pub use nest::{AliasPolicy, Body, Nest, Part, Parts};
pub use pattern::Pattern;
pub use plan::{Mode, NestError};
pub use pool::Pool;
pub use region::Region;
pub use scratch::Scratch;
pub use stream::{Stores, Stream, order_streamed};
pub use view::{View, ViewError, ViewMut};
