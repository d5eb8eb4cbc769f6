//! The interpreter: runs a kernel op by op over tiles that stay in the L1 cache.
//!
//! [`Program::new`] selects a precompiled, auto-vectorised loop for each instruction or pair of instructions and allocates tiles
//! for the values between them. Running the program calls these loops for each block of a loop nest. The results have the same
//! bits as with machine code, since the loops are instances of the same generic functions over the same exact primitives. An
//! interpreter needs no compile time and no executable memory, so it is the executor for small computations and for those that
//! run rarely.
#![forbid(unsafe_code)]

mod compile;
mod fused;
mod halves;
mod looped;
mod loops;
mod program;
mod run;
mod scratch;
mod select;

pub use loops::{TILE, lanes};
pub use program::Program;

use std::sync::Arc;

use broadloom_ir::{Kernel, Purpose, Result, VectorWidth};
use broadloom_mem::{Access, ExecutableKernel, HostFunction, KernelExecutor};

/// The executor that prepares kernels as [`Program`]s, which run on any target.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter;

impl KernelExecutor for Interpreter {
    /// Prepares one program for all purposes: whether stores are non-temporal is an argument of each run.
    fn prepare(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
        _: Purpose,
    ) -> Result<Arc<dyn ExecutableKernel>> {
        Ok(Arc::new(Program::new(kernel, functions, access)?.up_to(width)))
    }
}

/// Two implementations of the loops over float16, exported for the test that compares them. It is an integration test, since a
/// unit test would compile all loops a second time.
#[doc(hidden)]
pub mod compared {
    pub use crate::halves::tile_loop as halves_loop;
    pub use crate::loops::{NanBits, OPERANDS, TileLoop, defined_loop};
}
