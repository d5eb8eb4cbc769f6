//! Machine code with its owner: the entry points of a compiled kernel, and what they are to be called with.
//!
//! Code lives exactly as long as the last [`Compiled`] that shares it. It is never handed out without that owner.

use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_ir::DType;
use broadloom_ir::code_plan::{Bulk, CodePlan, Tail};
use broadloom_mem::{Access, HostFunction};
use cranelift_jit::JITModule;
use smallvec::SmallVec;

use crate::symbols::Registration;
use crate::width::Width;

/// An operand as compiled code sees it: the first row, and bytes from row to row.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Operand {
    pub ptr: *mut u8,
    pub row_stride: isize,
}

/// The entry point of a kernel: operands (inputs, then outputs), parameters, fault bytes, rows, the column that
/// a row's last block begins at (where rows may have [any length](Inner::takes_any_row), the number of columns), constants.
#[derive(Clone, Copy)]
pub(crate) struct Entry(
    unsafe extern "C" fn(*const Operand, *const u64, *mut u8, usize, usize, *const Constant),
);

impl Entry {
    /// The entry at a function of compiled code.
    ///
    /// # Safety
    /// `code` is a finalized function with six pointer-sized parameters and no result, in the platform's calling
    /// convention. It may be called as long as its module lives.
    pub unsafe fn new(code: *const u8) -> Entry {
        // SAFETY: a pointer to a function has the size of any pointer, and the function has this signature, as this
        // function's contract says.
        Entry(unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(_, _, _, _, _, _)>(code) })
    }

    /// Runs the code.
    ///
    /// # Safety
    /// The pointers lead to as many operands, parameters, fault bytes and constants as the kernel has, which are valid for
    /// the rows and columns given; the module that owns the code is alive.
    #[inline]
    pub unsafe fn call(
        self,
        operands: &[Operand],
        params: &[u64],
        faults: *mut u8,
        rows: usize,
        last: usize,
        constants: &[Constant],
    ) {
        // SAFETY: the function's own contract, which is this one's.
        unsafe { (self.0)(operands.as_ptr(), params.as_ptr(), faults, rows, last, constants.as_ptr()) }
    }
}

/// A function of compiled code, and what it reads its constants from.
pub(crate) struct Linked {
    pub entry: Entry,
    /// Bytes of code.
    pub size: usize,
    pub constants: Box<[Constant]>,
}

/// A module that gives its memory back; dropping a `JITModule` keeps it for ever.
pub(crate) struct Code(pub ManuallyDrop<JITModule>);

// The module is read by nobody once its code is linked: only freed.
impl UnwindSafe for Code {}
impl RefUnwindSafe for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `self` is being dropped, so the module is not used again.
        let module = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: the functions of the module are reached through `Inner::usual` and `Inner::bulk` only, which are dropped together
        // with this owner and called through a borrow of it: no call is running and none can follow.
        unsafe { module.free_memory() };
    }
}

/// A compiled kernel; clones share the code.
#[derive(Clone)]
pub struct Compiled(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub plan: CodePlan,
    pub usual: Linked,
    /// The second function, for whole blocks, as the plan says.
    pub bulk: Option<Linked>,
    pub narrowed: Option<String>,
    pub inputs: Vec<DType>,
    pub outputs: Vec<DType>,
    pub access: Vec<Access>,
    /// Whether some input's elements are a step apart.
    pub reads_steps: bool,
    pub params: usize,
    pub fault_sites: usize,
    // Dropped before the code is.
    pub _registrations: SmallVec<[Registration; 2]>,
    /// What the code calls: the table of constants has their addresses.
    pub _functions: SmallVec<[HostFunction; 1]>,
    pub _code: Code,
}

/// A constant vector, aligned as a memory operand may ask.
#[repr(align(16))]
pub(crate) struct Constant(#[expect(dead_code, reason = "read by compiled code only")] pub [u8; 16]);

// SAFETY: after compilation the module is only held to be freed; nothing reads or changes it through `&Inner`, and
// freeing it is sound on any thread. The other fields are Send and Sync by themselves.
unsafe impl Sync for Inner {}
// SAFETY: as above; `JITModule` itself is Send.
unsafe impl Send for Inner {}

impl Compiled {
    /// Bytes of machine code and of the constants that it reads.
    pub fn code_size(&self) -> usize {
        let of = |linked: &Linked| linked.size + size_of_val(&*linked.constants);
        of(&self.0.usual) + self.0.bulk.as_ref().map_or(0, of)
    }

    /// Where the code begins, and how many bytes it has.
    #[cfg(test)]
    pub(crate) fn code_range(&self) -> (usize, usize) {
        (self.0.usual.entry.0 as usize, self.0.usual.size)
    }

    /// The shape of the code.
    pub fn plan(&self) -> &CodePlan {
        &self.0.plan
    }

    /// Elements per block: one or several vectors of the widest dtype.
    pub fn lanes(&self) -> usize {
        self.0.plan.lanes as usize
    }

    /// The width of its vectors.
    pub fn width(&self) -> Width {
        self.0.plan.width
    }

    /// Whether it has non-temporal stores too: for outputs that are [apart](broadloom_mem::Block::is_apart).
    pub fn streams(&self) -> bool {
        matches!(self.0.plan.bulk, Bulk::Stream { .. })
    }

    /// Whether it reads inputs whose elements are a step apart where they are, as it was compiled for
    /// ([`AliasPolicy::Stepped`](broadloom_mem::AliasPolicy)): on vectors of more than 128 bits, else in tiles.
    pub fn reads_steps(&self) -> bool {
        self.0.reads_steps
    }

    /// Why its vectors are not as wide as was asked for; `None` where they are.
    pub fn narrowed(&self) -> Option<&str> {
        self.0.narrowed.as_deref()
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Compiled({} bytes, {} lanes, {} bits)",
            self.code_size(),
            self.0.plan.lanes,
            self.0.plan.width
        )
    }
}

impl Inner {
    /// The function with non-temporal stores, and the elements of its blocks.
    #[inline]
    pub fn streaming(&self) -> Option<(&Linked, usize)> {
        match (&self.bulk, self.plan.bulk) {
            (Some(linked), Bulk::Stream { lanes }) => Some((linked, lanes as usize)),
            _ => None,
        }
    }

    /// The function that combines rows to nodes of a level.
    pub fn leaf(&self) -> Option<(&Linked, u8)> {
        self.bulk.as_ref().zip(self.plan.leaf_level())
    }

    /// Whether rows may be shorter than a block: the code reads and writes parts of vectors.
    pub fn takes_any_row(&self) -> bool {
        self.plan.tail == Tail::Masked
    }
}
