//! Calls the machine code of a kernel for whole rows.
//!
//! Unless the code can be called for rows of any length, a row must have at least as many columns as a block has lanes.
//! Rows with fewer columns are computed in buffers ([`crate::partial`]).

use broadloom_mem::RawOperand;

use crate::code::{Compiled, Linked};

/// The arguments that are the same each time that code is entered during one call of a kernel.
pub(crate) struct Call<'a> {
    pub inner: &'a Compiled,
    pub params: &'a [u64],
    pub faults: *mut u8,
}

impl Call<'_> {
    /// # Safety
    /// The operands are valid for `rows × cols` elements with the kernel's element sizes and access classes; `cols` is
    /// at least the lane count, or 1 if its blocks [do not overlap](Compiled::has_no_overlap); `faults` points to a byte
    /// for each fault site.
    #[inline]
    pub unsafe fn enter(&self, operands: &[RawOperand], rows: usize, cols: usize) {
        let last = if self.inner.has_no_overlap() { cols } else { cols - self.inner.plan.lanes as usize };
        // SAFETY: the entry belongs to this code, and `last` is the argument that it expects: the number of columns if
        // its blocks do not overlap, otherwise the column at which the row's last block begins, which is not negative since
        // `cols` is at least the lane count.
        unsafe { self.enter_at(&self.inner.usual, operands, rows, last) }
    }

    /// # Safety
    /// As [`Call::enter`]. `linked` is one of the functions of `inner`, and `last` is the argument that this function
    /// expects. For the second function it is the number of columns, which are a whole number of blocks; if the
    /// function has non-temporal stores, the first column of every output is at the beginning of a cache line.
    #[inline]
    pub unsafe fn enter_at(&self, linked: &Linked, operands: &[RawOperand], rows: usize, last: usize) {
        // SAFETY: operands and fault bytes are valid by this function's contract; `Compiled::run` makes a call
        // only if `params` contains the kernel's parameters, and the constants and the code belong to `inner`, which is
        // borrowed.
        unsafe { linked.entry.call(operands, self.params, self.faults, rows, last, &linked.constants) }
    }
}
