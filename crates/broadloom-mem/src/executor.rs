//! What executors are: they make kernels ready to run, and what they make computes blocks.
//!
//! The interpreter and the compiler of machine code implement these traits, engines and tests use them: whoever adds an executor
//! implements both, and passes the suite of the test kit.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_ir::loop_plan::Access;
use broadloom_ir::{CodePlan, Error, ErrorKind, Kernel, Purpose, Result, VectorWidth};

use crate::block::Block;
use crate::buffer::{AllocError, Buffer};
use crate::host::HostFunction;
use crate::stream::Stores;
use crate::walk::AliasPolicy;

/// Makes kernels ready to run.
pub trait KernelExecutor: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Prepares a kernel, whose host functions are among `functions`, for inputs that are accessed in this way, on vectors of this
    /// width or, where that can't be, narrower ones. The bits of its results are the same for each.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] where executable memory is refused; [`ErrorKind::Limit`] for a kernel that is too large for the
    /// executor, or where there is no memory just now; [`ErrorKind::Internal`] for a kernel that does not verify.
    fn prepare(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
        purpose: Purpose,
    ) -> Result<Arc<dyn ExecutableKernel>>;

    /// Finds out whether what it prepares can be run here.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] where executable memory is refused; [`ErrorKind::Limit`] as [`KernelExecutor::prepare`].
    fn probe(&self) -> Result<()> {
        Ok(())
    }

    /// What a kernel would be prepared as: the same text in every process on this target.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] from an executor that has no text to show; [`ErrorKind::Internal`] for a defect.
    fn listing(
        &self,
        _kernel: &Kernel,
        _access: &[Access],
        _width: VectorWidth,
        _purpose: Purpose,
    ) -> Result<Listing> {
        Err(Error::new(ErrorKind::Limit, "this executor makes no code"))
    }
}

/// A kernel that is ready to run, on any thread.
pub trait ExecutableKernel: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Computes a block.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the block is not of the types, the access classes and the [level](Block::level) that the kernel was
    /// prepared for, or there are too few parameters or fault bytes; nothing is read or written then. [`ErrorKind::Limit`]: an
    /// allocation failed.
    fn run(&self, block: &mut Block<'_>, run: &mut KernelRun<'_>) -> Result<()>;

    /// [`ExecutableKernel::run`] with usual stores, and memory for this call alone.
    ///
    /// # Errors
    /// Those of [`ExecutableKernel::run`].
    fn run_alone(&self, block: &mut Block<'_>, params: &[u64], faults: &mut [u8]) -> Result<()> {
        let mut memory = WorkingMemory::default();
        self.run(block, &mut KernelRun { params, faults, stores: Stores::Cached, memory: &mut memory })
    }

    /// What becomes of inputs that are outputs too, or whose elements are a step apart, in the blocks that it computes.
    fn policy(&self) -> AliasPolicy;

    /// How wide its vectors are at most.
    fn width(&self) -> VectorWidth;

    /// The shape of its code, if it is machine code.
    fn plan(&self) -> Option<&CodePlan> {
        None
    }

    /// Bytes of machine code and of the constants that it reads.
    fn code_size(&self) -> usize {
        0
    }

    /// Why its vectors are not as wide as was asked for; `None` where they are.
    fn narrowed(&self) -> Option<&str> {
        None
    }
}

/// What a thread's calls of a kernel in one run have in common.
pub struct KernelRun<'r> {
    /// The values of the run-time scalars, as bits.
    pub params: &'r [u64],
    /// A byte per fault site of the kernel, in order: a site that meets a division by zero sets its own.
    pub faults: &'r mut [u8],
    /// How outputs are written by an executor that is not told before.
    pub stores: Stores,
    /// Memory for values between operations.
    pub memory: &'r mut WorkingMemory,
}

/// Memory for the values of a kernel that is run op by op, kept from run to run.
#[derive(Debug, Default)]
pub struct WorkingMemory(Option<Buffer>);

impl WorkingMemory {
    /// The memory, grown to at least this many bytes, whose values mean nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where memory is refused.
    pub fn fit(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if self.0.as_ref().is_none_or(|memory| memory.len() < bytes) {
            // Freed before the allocation: nothing of it is needed.
            self.0 = None;
            let refused = |e: AllocError| Error::new(ErrorKind::Limit, e.to_string());
            self.0 = Some(Buffer::for_overwrite(bytes).map_err(refused)?);
        }
        self.0
            .as_mut()
            .and_then(Buffer::as_bytes_mut)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "working memory that can't be written"))
    }
}

/// What a kernel is compiled to, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The body of the kernel as SSA over primitives, after GVN, LICM and DCE.
    pub primitives: String,
    /// The CLIF: at 128 bits after Cranelift's optimiser, above as it is emitted. Scalar functions that it calls have
    /// numbers in place of addresses.
    pub clif: String,
    /// The machine code. At 128 bits it is as it was before branches were laid out; above, each line has its offset.
    pub assembly: String,
    /// Bytes of machine code and of the constants that it reads.
    pub bytes: usize,
    /// Elements per block.
    pub lanes: usize,
    /// The bits of its vectors.
    pub width: VectorWidth,
    /// Why it is not for vectors as wide as was asked for.
    pub narrowed: Option<String>,
}
