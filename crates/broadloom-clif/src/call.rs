//! A call into compiled code, over whole rows.
//!
//! Code needs at least as many columns as it has lanes, unless it takes rows of any length; rows with fewer columns go through
//! buffers ([`crate::partial`]).

use broadloom_mem::RawOperand;

use crate::code::{Compiled, Linked};

/// The arguments that all entries of one call have in common.
pub(crate) struct Call<'a> {
    pub inner: &'a Compiled,
    pub params: &'a [u64],
    pub faults: *mut u8,
}

impl Call<'_> {
    /// # Safety
    /// The operands are valid for `rows × cols` elements of the kernel's sizes and classes, `cols` is at least the
    /// lane count, or 1 if the code [takes any row](Compiled::takes_any_row), and `faults` points to a byte per fault site.
    #[inline]
    pub unsafe fn enter(&self, operands: &[RawOperand], rows: usize, cols: usize) {
        let last = if self.inner.takes_any_row() { cols } else { cols - self.inner.plan.lanes as usize };
        // SAFETY: the entry is of this code, and `last` is what it expects: the number of columns if it takes any row, otherwise
        // the column of the row's last block, which is not negative since `cols` is at least the lane count.
        unsafe { self.enter_at(&self.inner.usual, operands, rows, last) }
    }

    /// # Safety
    /// As [`Call::enter`], for one of the functions of `inner`, which is given `last`; of the second that is
    /// a number of columns of whole blocks, and with non-temporal stores every output begins a cache line there.
    #[inline]
    pub unsafe fn enter_at(&self, linked: &Linked, operands: &[RawOperand], rows: usize, last: usize) {
        // SAFETY: operands and fault bytes are valid by this function's contract; `Compiled::run` makes a call
        // only where `params` has the kernel's parameters, and the constants and the code are `inner`'s, which is borrowed.
        unsafe { linked.entry.call(operands, self.params, self.faults, rows, last, &linked.constants) }
    }
}
