//! Machine code with its owner: the entry points of a compiled kernel, and the properties that calls must match.
//!
//! The code lives exactly as long as its [`Compiled`], which never passes it on without its owner.

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};

use broadloom_ir::DType;
use broadloom_ir::code_plan::{Bulk, CodePlan, Tail};
use broadloom_mem::{Access, ExecutableKernel, HostFunction, RawOperand};
use cranelift_jit::JITModule;
use smallvec::SmallVec;

use crate::symbols::Registration;

/// The entry point of a function of a kernel. Its arguments are the operands (inputs, then outputs), the parameters,
/// the fault bytes, the number of rows, the column at which a row's last block begins (or the number of columns, if
/// blocks [do not overlap](Compiled::has_no_overlap)), and the table of constants.
#[derive(Clone, Copy)]
pub(crate) struct Entry(
    unsafe extern "C" fn(*const RawOperand, *const u64, *mut u8, usize, usize, *const Constant),
);

impl Entry {
    /// The entry point at the address of a function of compiled code.
    ///
    /// # Safety
    /// `code` is a finalized function with six pointer-sized parameters and no result, in the platform's calling
    /// convention. It may be called as long as its module lives.
    pub unsafe fn new(code: *const u8) -> Entry {
        // SAFETY: a pointer to a function has the size of any pointer, and by this function's contract the code has this
        // signature.
        Entry(unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(_, _, _, _, _, _)>(code) })
    }

    /// Runs the code.
    ///
    /// # Safety
    /// The pointers point to as many operands, parameters, fault bytes and constants as the kernel has; the operands
    /// are valid for the given rows and columns; the module that owns the code is alive.
    #[inline]
    pub unsafe fn call(
        self,
        operands: &[RawOperand],
        params: &[u64],
        faults: *mut u8,
        rows: usize,
        last: usize,
        constants: &[Constant],
    ) {
        // SAFETY: this function's contract includes that of the code.
        unsafe { (self.0)(operands.as_ptr(), params.as_ptr(), faults, rows, last, constants.as_ptr()) }
    }
}

/// A linked function of compiled code, with the constants that it reads.
pub(crate) struct Linked {
    pub entry: Entry,
    /// The size of the code in bytes.
    pub size: usize,
    pub constants: Box<[Constant]>,
}

/// The JIT module that owns a kernel's code. Dropping this type frees the memory; dropping a bare `JITModule` would
/// leak it.
pub(crate) struct Code(pub ManuallyDrop<JITModule>);

// Once its code is linked the module is never read, only freed.
impl UnwindSafe for Code {}
impl RefUnwindSafe for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `self` is being dropped, so the module is not used again.
        let module = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: the functions of the module are called only through `Compiled::usual` and `Compiled::bulk`, which are
        // dropped together with this owner, and only through a borrow of it: no call is running, and no later call is
        // possible.
        unsafe { module.free_memory() };
    }
}

/// A compiled kernel.
pub struct Compiled {
    pub(crate) plan: CodePlan,
    pub(crate) usual: Linked,
    /// The second function, which takes whole blocks only. [`CodePlan::bulk`] specifies its work.
    pub(crate) bulk: Option<Linked>,
    pub(crate) narrowed: Option<String>,
    pub(crate) inputs: Vec<DType>,
    pub(crate) outputs: Vec<DType>,
    pub(crate) access: Vec<Access>,
    /// Whether the elements of an input are [reversed or every second element in memory](Access::is_stepped).
    pub(crate) reads_steps: bool,
    pub(crate) params: usize,
    /// The dtypes of the tables. Code with tables takes the address of a list of their addresses and sizes, after the parameters and
    /// the address of the loops' state.
    pub(crate) tables: Vec<DType>,
    /// Whether the code has loops of elements: it takes the address of their state after the parameters.
    pub(crate) has_loops: bool,
    pub(crate) fault_sites: usize,
    // The registrations are dropped before the code that they describe.
    pub(crate) _registrations: SmallVec<[Registration; 2]>,
    /// The host functions that the code calls; their addresses are in the table of constants.
    pub(crate) _functions: SmallVec<[HostFunction; 1]>,
    pub(crate) _code: Code,
}

/// A 16-byte entry of the table of constants, aligned as vector operands in memory have to be.
#[repr(align(16))]
pub(crate) struct Constant(#[expect(dead_code, reason = "read by compiled code only")] pub [u8; 16]);

// SAFETY: after compilation the module is kept only to be freed later; nothing reads or changes it through `&Compiled`,
// and freeing it is sound on any thread. The other fields are Send and Sync by themselves.
unsafe impl Sync for Compiled {}
// SAFETY: as above; `JITModule` itself is Send.
unsafe impl Send for Compiled {}

impl Compiled {
    /// The address of the code, and its size in bytes.
    #[cfg(test)]
    pub(crate) fn code_range(&self) -> (usize, usize) {
        (self.usual.entry.0 as usize, self.usual.size)
    }

    /// The number of elements of a block: one or several vectors of the widest dtype.
    pub fn lanes(&self) -> usize {
        self.plan.lanes as usize
    }

    /// Whether the code has a second function with non-temporal stores, for outputs that [do not overlap any
    /// input](broadloom_mem::Block::is_apart).
    pub fn streams(&self) -> bool {
        matches!(self.plan.bulk, Bulk::Stream { .. })
    }

    /// Whether the code reads in place an input that is reversed or every second element in memory
    /// ([`AliasPolicy::Stepped`](broadloom_mem::AliasPolicy)). Only code on vectors of more than 128 bits can do this;
    /// for other code, such inputs are first copied to contiguous tiles.
    pub fn reads_steps(&self) -> bool {
        self.reads_steps
    }

    /// The function with non-temporal stores, and the number of elements of its blocks, if the code has such a
    /// function.
    #[inline]
    pub(crate) fn streaming(&self) -> Option<(&Linked, usize)> {
        match (&self.bulk, self.plan.bulk) {
            (Some(linked), Bulk::Stream { lanes }) => Some((linked, lanes as usize)),
            _ => None,
        }
    }

    /// The function that reduces elements to nodes of this level of the reduction tree, if the code has one.
    #[inline]
    pub(crate) fn leaf(&self, level: u8) -> Option<&Linked> {
        self.bulk.as_ref().filter(|_| self.plan.leaf_level() == Some(level))
    }

    /// Whether rows are shorter than a block without an overlap of blocks: the accesses of a row's last block are masked, or rows have
    /// a single element.
    #[inline]
    pub(crate) fn has_no_overlap(&self) -> bool {
        self.plan.tail != Tail::Overlap
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Compiled({} bytes, {} lanes, {} bits)",
            ExecutableKernel::code_size(self),
            self.plan.lanes,
            self.plan.width
        )
    }
}
