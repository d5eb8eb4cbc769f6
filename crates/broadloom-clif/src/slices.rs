//! Runs a compiled kernel on operands that are slices, or known to be apart as slices are, without a loop nest.
//!
//! They have the elements that they say, and outputs overlap nothing, which is all that [`crate::run`] has to check of a
//! block.

use broadloom_ir::canonical::LANES;
use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_mem::{Access, Apart};
use smallvec::SmallVec;

use crate::call::Call;
use crate::code::{Compiled, Operand};

impl Compiled {
    /// Computes `elements` elements of operands whose elements lie side by side, or of which one serves all, as the
    /// kernel was compiled for.
    ///
    /// `faults` is as for [`Compiled::run`].
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: there are not as many operands, or not as many elements in one of them, or there are
    /// too few parameters or fault bytes, or it reads steps, which blocks have. Nothing is read or written then.
    #[inline]
    pub fn run_slices<'a>(
        &self,
        elements: usize,
        inputs: impl ExactSizeIterator<Item = &'a [u8]>,
        outputs: impl ExactSizeIterator<Item = &'a mut [u8]>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        let inputs = inputs.map(|bytes| (bytes.as_ptr(), bytes.len()));
        let outputs = outputs.map(|bytes| (bytes.as_mut_ptr(), bytes.len()));
        // SAFETY: these are slices, which are borrowed for this call, those of outputs uniquely.
        unsafe { self.run_memory(elements, 0, inputs, outputs, params, faults) }
    }

    /// [`Compiled::run_slices`] on memory that no types show to be apart.
    ///
    /// # Errors
    /// Those of [`Compiled::run_slices`].
    #[inline]
    pub fn run_apart(
        &self,
        elements: usize,
        operands: &mut Apart<'_>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        let (inputs, outputs) = operands.all();
        // SAFETY: while `operands` is borrowed, as it is here, its inputs may be read, and its outputs may be written and have no
        // byte of another operand.
        unsafe { self.run_memory(elements, 0, inputs, outputs, params, faults) }
    }

    /// Combines rows of 16 elements to nodes of the plan's [level](broadloom_ir::CodePlan::leaf_level): of whole nodes, an output has one
    /// row for each.
    ///
    /// # Errors
    /// Those of [`Compiled::run_slices`]; also where the elements are no whole nodes, or the code has no leaves.
    pub fn run_leaves(
        &self,
        elements: usize,
        operands: &mut Apart<'_>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        let level = self.0.plan.leaf_level().filter(|level| elements.is_multiple_of(LANES << level));
        let level =
            level.ok_or_else(|| Error::new(ErrorKind::Internal, "elements that are no whole leaves"))?;
        let (inputs, outputs) = operands.all();
        // SAFETY: as for `run_apart`.
        unsafe { self.run_memory(elements, level, inputs, outputs, params, faults) }
    }

    /// [`Compiled::run_slices`] on bytes, each the pointer to the first and how many there are; with a level above 0, [`Compiled::run_leaves`] on them.
    ///
    /// # Safety
    /// During the call the inputs must be valid for reads and the outputs for reads and writes, and no output may have a byte of
    /// another operand.
    #[inline]
    unsafe fn run_memory(
        &self,
        elements: usize,
        level: u8,
        inputs: impl ExactSizeIterator<Item = (*const u8, usize)>,
        outputs: impl ExactSizeIterator<Item = (*mut u8, usize)>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        let inner = &*self.0;
        let mut fits = !inner.reads_steps
            && inputs.len() == inner.inputs.len()
            && outputs.len() == inner.outputs.len()
            && params.len() >= inner.params
            && faults.len() >= inner.fault_sites;
        let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
        for ((ptr, bytes), (dtype, access)) in inputs.zip(inner.inputs.iter().zip(&inner.access)) {
            let elements = if *access == Access::Splat { 1 } else { elements };
            fits &= holds(bytes, elements, dtype.size());
            operands.push(Operand { ptr: ptr.cast_mut(), row_stride: 0 });
        }
        // As many as they were said to be.
        fits &= operands.len() == inner.inputs.len();
        for ((ptr, bytes), dtype) in outputs.zip(&inner.outputs) {
            fits &= holds(bytes, elements >> level, dtype.size());
            operands.push(Operand { ptr, row_stride: 0 });
        }
        fits &= operands.len() == inner.inputs.len() + inner.outputs.len();
        if !fits {
            return Err(mismatch());
        }
        let call = Call { inner, params, faults: faults.as_mut_ptr() };
        if level > 0 {
            let Some((linked, _)) = inner.leaf() else { return Err(mismatch()) };
            if elements > 0 {
                // SAFETY: the operands are as below, outputs for a row of 16 elements for each node, as it is written; there are
                // whole nodes, whose number of columns such code is given.
                unsafe { call.enter_at(linked, &operands, 1, elements) };
            }
            return Ok(());
        }
        if let Some(streaming) = inner.streaming()
            // SAFETY: `fits` holds, so each operand has `elements` elements or one, as it is accessed; that they may be read and
            // written, and are apart, is this function's contract.
            && unsafe { call.streamed(streaming, &operands, 1, elements) }
        {
            return Ok(());
        }
        if elements >= self.lanes() || elements > 0 && inner.takes_any_row() {
            // SAFETY: the operands are as above, and the row is at least as long as a block, or may be shorter.
            unsafe { call.enter(&operands, 1, elements) };
        } else if elements > 0 {
            // SAFETY: the operands are as above, and the row has at least one element and fewer than a block.
            unsafe { call.padded(&operands, 0, 0, elements) };
        }
        Ok(())
    }
}

fn mismatch() -> Error {
    Error::new(ErrorKind::Internal, "a compiled kernel was given slices of another kernel")
}

/// Whether so many bytes hold so many elements.
fn holds(bytes: usize, elements: usize, size: usize) -> bool {
    elements.checked_mul(size).is_some_and(|needed| needed <= bytes)
}
