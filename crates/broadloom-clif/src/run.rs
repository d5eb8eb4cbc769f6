//! Runs a compiled kernel on a block of a loop nest.
//!
//! Code is called only with operands of the sizes and access classes that it was compiled for, and the bytes of fault sites
//! that met a division by zero are set.

use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_mem::{Block, RawBlock};
use smallvec::SmallVec;

use crate::call::Call;
use crate::code::{Compiled, Operand};

impl Compiled {
    /// Computes a block.
    ///
    /// `faults` has a byte per fault site of the kernel, in order; a site that meets a division by zero sets its byte.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the block is not of the types and access classes that the kernel was compiled for,
    /// or there are too few parameters or fault bytes.
    /// Nothing is read or written then.
    pub fn run(&self, block: &mut Block<'_>, params: &[u64], faults: &mut [u8]) -> Result<()> {
        let inner = &*self.0;
        let matches = block.matches(
            inner.inputs.iter().zip(&inner.access).map(|(d, &a)| (d.size(), a)),
            inner.outputs.iter().map(|d| d.size()),
        );
        if !matches || params.len() < inner.params || faults.len() < inner.fault_sites {
            return Err(Error::new(
                ErrorKind::Internal,
                "a compiled kernel was given operands of another kernel",
            ));
        }
        // Non-temporal stores are for outputs that are neither copied on nor inputs.
        let streaming =
            inner.streaming().filter(|_| (0..inner.outputs.len()).all(|output| block.is_apart(output)));
        let raw = block.raw();
        let mut operands: SmallVec<[Operand; 12]> = SmallVec::new();
        operands
            .extend(raw.inputs.iter().map(|o| Operand { ptr: o.ptr.cast_mut(), row_stride: o.row_stride }));
        operands.extend(raw.outputs.iter().map(|o| Operand { ptr: o.ptr, row_stride: o.row_stride }));
        let RawBlock { rows, cols, any_alias, .. } = raw;
        let lanes = self.lanes();
        // The last block of a row overlaps the one before, unless an output is an input in place: then a second
        // pass over the overlap would read what the first has written. Where rows may have any length, there is no overlap.
        let tail = if inner.takes_any_row() {
            0
        } else if cols < lanes || any_alias {
            cols % lanes
        } else {
            0
        };
        let call = Call { inner, params, faults: faults.as_mut_ptr() };
        if let Some(streaming) = streaming
            && !call.has_short_rows(&operands, rows, cols)
            // SAFETY: a block's pointers are valid for `rows × cols` elements while it is borrowed, with the sizes and classes
            // checked above; no output is an input.
            && unsafe { call.streamed(streaming, &operands, rows, cols) }
        {
            return Ok(());
        }
        if cols > tail {
            // SAFETY: a block's pointers are valid for `rows × cols` elements while it is borrowed, with the sizes and classes
            // checked above; `cols − tail` is at least `lanes`, or at least 1 where the code takes any row.
            unsafe { call.enter(&operands, rows, cols - tail) };
        }
        if tail > 0 {
            for row in 0..rows {
                // SAFETY: `row` is below `rows`, the last `tail` columns are the block's own, and there are at least one and
                // fewer than `lanes` of them.
                unsafe { call.padded(&operands, row, cols - tail, tail) };
            }
        }
        Ok(())
    }
}
