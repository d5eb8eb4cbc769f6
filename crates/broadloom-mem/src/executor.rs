//! The traits of executors: a [`KernelExecutor`] prepares kernels, and an [`ExecutableKernel`] computes blocks.
//!
//! The interpreter and the machine-code compiler implement both traits; engines and tests use them. A new executor implements
//! both and passes the suite of the test kit.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use broadloom_ir::loop_plan::Access;
use broadloom_ir::{CodePlan, Error, ErrorKind, Kernel, Purpose, Result, VectorWidth};

use crate::alias::AliasPolicy;
use crate::block::Block;
use crate::buffer::{AllocError, Buffer};
use crate::host::HostFunction;
use crate::stream::Stores;
use crate::table::Table;

/// An executor, which prepares kernels for execution.
pub trait KernelExecutor: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Prepares a kernel for the given accesses of its inputs and the given use of its outputs. `functions` contains the
    /// kernel's host functions. The code uses vectors of the given width, or narrower ones if that is impossible; the bits of
    /// the results are the same for every width.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if executable memory is refused; [`ErrorKind::Limit`] if the kernel is too large for the executor,
    /// or memory is short at the moment; [`ErrorKind::Internal`] if the kernel fails verification.
    fn prepare(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
        purpose: Purpose,
    ) -> Result<Arc<dyn ExecutableKernel>>;

    /// Checks whether prepared kernels can be run on this system.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] if executable memory is refused; [`ErrorKind::Limit`] as for [`KernelExecutor::prepare`].
    fn probe(&self) -> Result<()> {
        Ok(())
    }

    /// A listing of the code that would be prepared for a kernel. The text is the same in every process on this target.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] from an executor without listings; [`ErrorKind::Internal`] for a defect.
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

/// A prepared kernel, which can be run on any thread.
pub trait ExecutableKernel: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Computes a block.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the block does not have the types, the access classes and the [level](Block::level) that the
    /// kernel was prepared for, or there are too few parameters, tables or fault bytes; in these cases nothing is read or written.
    /// [`ErrorKind::Limit`] if an allocation fails; the errors of [`LoopRun::go_on`].
    fn run(&self, block: &mut Block<'_>, run: &mut KernelRun<'_>) -> Result<()>;

    /// Computes a block of a kernel without tables as [`ExecutableKernel::run`] does, with regular stores and with working memory
    /// that is allocated for this call.
    ///
    /// # Errors
    /// The errors of [`ExecutableKernel::run`]; [`ErrorKind::Limit`] for an element that repeats a loop without a limit
    /// [`MAX_ITERATIONS`] times.
    fn run_alone(&self, block: &mut Block<'_>, params: &[u64], faults: &mut [u8]) -> Result<()> {
        let (mut memory, endless) = (WorkingMemory::default(), AtomicU64::new(u64::MAX));
        let loops = LoopRun { max_iterations: MAX_ITERATIONS, go_on: &|| Ok(()), endless: &endless };
        let stores = Stores::Cached;
        let memory = &mut memory;
        self.run(block, &mut KernelRun { params, tables: &[], faults, stores, memory, loops: Some(&loops) })?;
        loops.check()
    }

    /// How blocks for this kernel must present inputs that are also outputs, and stepped inputs (reversed, or
    /// every second element).
    fn policy(&self) -> AliasPolicy;

    /// The width of the widest vectors in the kernel's code.
    fn width(&self) -> VectorWidth;

    /// The shape of the kernel's code, if it is machine code.
    fn plan(&self) -> Option<&CodePlan> {
        None
    }

    /// The size in bytes of machine code and of the constants that it reads.
    fn code_size(&self) -> usize {
        0
    }

    /// The reason why the code's vectors are narrower than requested; `None` if they are not.
    fn narrowed(&self) -> Option<&str> {
        None
    }
}

/// The state that all calls of a kernel on one thread share in one run.
pub struct KernelRun<'r> {
    /// The bits of the kernel's parameters, which are scalars given at each run.
    pub params: &'r [u64],
    /// The kernel's tables.
    pub tables: &'r [Table<'r>],
    /// One byte for each [fault site](broadloom_ir::Kernel::fault_sites) of the kernel. It is set to 1 when the fault happens.
    pub faults: &'r mut [u8],
    /// The kind of stores for outputs, for executors to which it was not passed when the kernel was prepared.
    pub stores: Stores,
    /// The memory for intermediate values.
    pub memory: &'r mut WorkingMemory,
    /// The properties of the run that the kernel's loops need; may be absent for a kernel without loops.
    pub loops: Option<&'r LoopRun<'r>>,
}

/// The number of iterations of an element after which a loop without a limit fails, by default.
pub const MAX_ITERATIONS: u64 = 1_000_000;

/// The properties of a run that the loops of a kernel need, and the outcome of these loops; shared by all threads of the run.
pub struct LoopRun<'r> {
    /// The number of iterations of an element after which a loop without a limit fails.
    pub max_iterations: u64,
    /// Returns an error once the run is to stop. A loop calls it at least every millisecond.
    pub go_on: &'r (dyn Fn() -> Result<()> + 'r),
    /// The lowest number of an element that has reached `max_iterations`; [`u64::MAX`] if there is none.
    pub endless: &'r AtomicU64,
}

impl LoopRun<'_> {
    /// The number of an element of a loop whose elements have no numbers, since its rank is not known.
    pub const UNNUMBERED: u64 = i64::MAX as u64;

    /// Checks whether all elements have ended.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`], which names the first element that has not.
    pub fn check(&self) -> Result<()> {
        let element = match self.endless.load(Ordering::Relaxed) {
            u64::MAX => return Ok(()),
            LoopRun::UNNUMBERED => "an element".to_owned(),
            first => format!("element {first} (in row-major order)"),
        };
        let why = format!("while_loop: {element} has not ended after {} iterations", self.max_iterations);
        Err(Error::new(ErrorKind::Limit, why).with_help(
            "the option max_iterations sets the limit; a limit of the loop itself ends it without an error",
        ))
    }
}

/// Memory for the intermediate values of a kernel that is run op by op. It is reused from run to run.
#[derive(Debug, Default)]
pub struct WorkingMemory(Option<Buffer>);

impl WorkingMemory {
    /// The memory, grown to at least this many bytes, with unspecified contents.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the allocation fails.
    pub fn fit(&mut self, bytes: usize) -> Result<&mut [u8]> {
        if self.0.as_ref().is_none_or(|memory| memory.len() < bytes) {
            // The old memory is freed before the allocation, since its contents are not needed.
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

/// The code that a kernel is compiled to, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The body of the kernel as SSA over primitives, after GVN, LICM and DCE.
    pub primitives: String,
    /// The CLIF. For vectors of 128 bits it is listed after Cranelift's optimiser, for wider vectors as it was emitted. Calls
    /// of scalar functions show a number in place of the address, so that the text is the same in every process.
    pub clif: String,
    /// The machine code. For vectors of 128 bits it is listed before the layout of branches; for wider vectors each line begins
    /// with its offset.
    pub assembly: String,
    /// The size in bytes of machine code and of the constants that it reads.
    pub bytes: usize,
    /// The number of elements that an iteration of the loop computes.
    pub lanes: usize,
    /// The width of the code's vectors.
    pub width: VectorWidth,
    /// The reason why the code's vectors are narrower than requested, if they are.
    pub narrowed: Option<String>,
}
