//! The short way into compiled code: operands that are slices.
//!
//! In: for each operand its bytes, from its first element on. Out: the outputs are written. Must hold: as in
//! [`crate::run`]; that outputs overlap nothing is what slices mean.

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::Access;
use smallvec::SmallVec;

use crate::compile::Compiled;
use crate::run::{Call, Operand, Pad, copy_short};

impl Compiled {
    /// Computes `elements` elements of operands whose elements lie side by side, or of which one serves all, as the
    /// kernel was compiled for.
    ///
    /// `faults` is as for [`Compiled::run`].
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: there are not as many operands, or not as many elements in one of them, or there are
    /// too few parameters or fault bytes. Nothing is read or written then.
    #[inline]
    pub fn run_slices<'a>(
        &self,
        elements: usize,
        inputs: impl ExactSizeIterator<Item = &'a [u8]>,
        outputs: impl ExactSizeIterator<Item = &'a mut [u8]>,
        params: &[u64],
        faults: &mut [u8],
    ) -> Result<()> {
        let inner = &*self.0;
        let mut fits = inputs.len() == inner.inputs.len()
            && outputs.len() == inner.outputs.len()
            && params.len() >= inner.params
            && faults.len() >= inner.fault_sites;
        let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
        for (bytes, (dtype, access)) in inputs.zip(inner.inputs.iter().zip(&inner.access)) {
            let elements = if *access == Access::Splat { 1 } else { elements };
            fits &= holds(bytes.len(), elements, dtype.size());
            operands.push(Operand { ptr: bytes.as_ptr().cast_mut(), row_stride: 0 });
        }
        for (bytes, dtype) in outputs.zip(&inner.outputs) {
            fits &= holds(bytes.len(), elements, dtype.size());
            operands.push(Operand { ptr: bytes.as_mut_ptr(), row_stride: 0 });
        }
        if !fits {
            return Err(Error::new(
                ErrorKind::Internal,
                "a compiled kernel was given slices of another kernel",
            ));
        }
        let call = Call { inner, params, faults: faults.as_mut_ptr() };
        if elements >= self.lanes() {
            // SAFETY: every operand has its elements, in slices that nothing else writes during this call; the row is
            // at least as long as a block.
            unsafe { call.enter(&operands, 1, elements) };
        } else if elements > 0 {
            // SAFETY: as above, for a row that is shorter than a block.
            unsafe { call.short(&mut operands, elements) };
        }
        Ok(())
    }
}

/// Whether so many bytes hold so many elements.
fn holds(bytes: usize, elements: usize, size: usize) -> bool {
    elements.checked_mul(size).is_some_and(|needed| needed <= bytes)
}

impl Call<'_> {
    /// Runs one row that is shorter than a block, through buffers: inputs are filled up with their first element, so
    /// that no lane beyond the end can fault.
    ///
    /// # Safety
    /// The operands are valid for `count` elements of the kernel's sizes, at least one and fewer than there are lanes;
    /// `faults` points to a byte per fault site.
    unsafe fn short(&self, operands: &mut [Operand], count: usize) {
        let lanes = self.inner.lanes as usize;
        let mut pads: SmallVec<[Pad; 4]> = SmallVec::new();
        pads.reserve(operands.len());
        // SAFETY: there is room for so many, and a pad may be uninitialised: those of inputs are filled below, those of
        // outputs by the code.
        unsafe { pads.set_len(operands.len()) };
        let (inputs, outputs) = operands.split_at_mut(self.inner.inputs.len());
        let (input_pads, output_pads) = pads.split_at_mut(inputs.len());
        let types = self.inner.inputs.iter().zip(&self.inner.access);
        for ((operand, pad), (dtype, access)) in inputs.iter_mut().zip(input_pads).zip(types) {
            if *access == Access::Contiguous {
                // SAFETY: `count` elements of the input; `lanes` of any size fit into the pad.
                unsafe { pad.fill(operand.ptr, dtype.size(), count, lanes) };
                operand.ptr = pad.0.as_mut_ptr().cast();
            }
        }
        let mut ends: SmallVec<[*mut u8; 4]> = SmallVec::new();
        for (operand, pad) in outputs.iter_mut().zip(&mut *output_pads) {
            ends.push(std::mem::replace(&mut operand.ptr, pad.0.as_mut_ptr().cast()));
        }
        // SAFETY: one row of `lanes` elements, in buffers that hold as many.
        unsafe { self.enter(operands, 1, lanes) };
        for ((to, operand), dtype) in
            ends.iter().zip(&operands[self.inner.inputs.len()..]).zip(&self.inner.outputs)
        {
            // SAFETY: `count` elements of the output, which the code has written to the buffer.
            unsafe { copy_short(operand.ptr, *to, count * dtype.size()) };
        }
    }
}
