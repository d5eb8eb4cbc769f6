//! A call into compiled code: over whole rows, or over a few columns through buffers.
//!
//! Code is entered only with at least as many columns as it has lanes, or one if it takes rows of any length. Fewer columns
//! are run through buffers that are filled up with a valid element, so that no lane beyond the end can fault.

use std::mem::MaybeUninit;

use broadloom_mem::Access;
use smallvec::SmallVec;

use crate::code::{Entry, Inner, Operand};

/// Bytes of the widest block of one operand that needs buffers: 32 lanes of 8 bytes, at 256 bits.
const PAD: usize = 256;

/// The buffer for one block of an operand.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Pad(MaybeUninit<[u64; PAD / 8]>);

impl Pad {
    /// Copies `count` elements of `size` bytes, and the first of them into the places up to `lanes`.
    ///
    /// # Safety
    /// `from` is valid for reads of `count` elements, at least one and at most `lanes`; `lanes` elements fit into the
    /// pad.
    #[inline]
    unsafe fn fill(&mut self, from: *const u8, size: usize, count: usize, lanes: usize) {
        macro_rules! first {
            ($t:ty, $ones:literal) => {{
                // SAFETY: there is one element at least, which may be aligned to less than the type.
                u64::from(unsafe { from.cast::<$t>().read_unaligned() }) * $ones
            }};
        }
        let word = match size {
            1 => first!(u8, 0x0101_0101_0101_0101),
            2 => first!(u16, 0x0001_0001_0001_0001),
            4 => first!(u32, 0x0000_0001_0000_0001),
            _ => first!(u64, 1),
        };
        debug_assert!(lanes * size <= PAD && count <= lanes);
        // PERF: all of the pad or its first half, whose sizes the compiler knows.
        if lanes * size <= PAD / 2 {
            // SAFETY: half of the pad.
            unsafe { self.0.as_mut_ptr().cast::<[u64; PAD / 16]>().write([word; PAD / 16]) };
        } else {
            self.0.write([word; PAD / 8]);
        }
        if count > 1 {
            // SAFETY: `count` elements, no more than fit.
            unsafe { copy_short(from, self.0.as_mut_ptr().cast(), count * size) };
        }
    }
}

/// Copies at most [`PAD`] bytes.
///
/// PERF: a call of the general function takes longer than such a copy.
///
/// # Safety
/// `from` is valid for reads of `len` bytes, `to` for writes; they don't overlap.
#[inline]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: every range below lies within the `len` bytes.
    unsafe {
        let copy = |at: usize, size: usize| match size {
            16 => to
                .add(at)
                .cast::<[u64; 2]>()
                .write_unaligned(from.add(at).cast::<[u64; 2]>().read_unaligned()),
            8 => to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned()),
            4 => to.add(at).cast::<u32>().write_unaligned(from.add(at).cast::<u32>().read_unaligned()),
            _ => to.add(at).write(from.add(at).read()),
        };
        // The last piece ends at the end and may overlap the one before.
        match len {
            16.. => {
                let mut at = 0;
                while at + 16 < len {
                    copy(at, 16);
                    at += 16;
                }
                copy(len - 16, 16);
            }
            8.. => {
                copy(0, 8);
                copy(len - 8, 8);
            }
            4.. => {
                copy(0, 4);
                copy(len - 4, 4);
            }
            _ => (0..len).for_each(|at| copy(at, 1)),
        }
    }
}

/// What every entry of a call is given.
pub(crate) struct Call<'a> {
    pub inner: &'a Inner,
    pub params: &'a [u64],
    pub faults: *mut u8,
}

impl Call<'_> {
    /// # Safety
    /// The operands are valid for `rows × cols` elements of the kernel's sizes and classes, `cols` is at least the
    /// lane count, or 1 if the code [takes any row](Inner::takes_any_row), and `faults` points to a byte per fault site.
    #[inline]
    pub unsafe fn enter(&self, operands: &[Operand], rows: usize, cols: usize) {
        let last = if self.inner.takes_any_row() { cols } else { cols - self.inner.lanes as usize };
        // SAFETY: the entry is of this code, and `last` is what such code is given: the number of columns where it takes any
        // row, else the column of the row's last block, which begins in it since `cols` is at least the lane count.
        unsafe { self.enter_at(self.inner.entry, operands, rows, last) }
    }

    /// # Safety
    /// As [`Call::enter`], for one of the entries of `inner`, which is given `last`; with non-temporal stores that is
    /// a number of columns of whole blocks, and every output begins a cache line there.
    #[inline]
    pub unsafe fn enter_at(&self, entry: Entry, operands: &[Operand], rows: usize, last: usize) {
        // SAFETY: operands and fault bytes are valid by this function's contract; `Compiled::run` and `run_slices` make a call
        // only where `params` has the kernel's parameters, and the constants and the code are `inner`'s, which is borrowed.
        unsafe { entry.call(operands, self.params, self.faults, rows, last, &self.inner.constants) }
    }

    /// Runs `count` columns of a row through buffers that are filled up with the first of them, so that no lane beyond
    /// the end can fault or is written.
    ///
    /// # Safety
    /// As [`Call::enter`], for the columns from `start` to `start + count` of `row`; `count` is at least 1 and at most
    /// the lane count.
    pub unsafe fn padded(&self, operands: &[Operand], row: usize, start: usize, count: usize) {
        let lanes = self.inner.lanes as usize;
        let (inputs, outputs) = operands.split_at(self.inner.inputs.len());
        let mut pads: SmallVec<[Pad; 4]> = SmallVec::new();
        pads.reserve(operands.len());
        // SAFETY: there is room for so many, and a pad may be uninitialised: those of inputs are filled below, those of
        // outputs by the code.
        unsafe { pads.set_len(operands.len()) };
        let (input_pads, output_pads) = pads.split_at_mut(inputs.len());
        let mut padded: SmallVec<[Operand; 8]> = SmallVec::new();
        let at = |o: &Operand, column: usize, size: usize| {
            // SAFETY: the address of a column of the row, inside the block.
            unsafe { o.ptr.offset(o.row_stride * row as isize).add(column * size) }
        };
        let types = self.inner.inputs.iter().zip(&self.inner.access);
        for ((operand, pad), (dtype, access)) in inputs.iter().zip(input_pads).zip(types) {
            let size = dtype.size();
            let ptr = match access {
                // The row's one element, where it is.
                Access::Splat => at(operand, 0, size),
                Access::Contiguous => {
                    // SAFETY: `count` elements of the row; a pad holds `lanes` elements of any size.
                    unsafe { pad.fill(at(operand, start, size), size, count, lanes) };
                    pad.0.as_mut_ptr().cast()
                }
            };
            padded.push(Operand { ptr, row_stride: 0 });
        }
        for pad in &mut *output_pads {
            padded.push(Operand { ptr: pad.0.as_mut_ptr().cast(), row_stride: 0 });
        }
        // SAFETY: one row of `lanes` elements, in buffers that hold as many.
        unsafe { self.enter(&padded, 1, lanes) };
        for ((operand, from), dtype) in outputs.iter().zip(&padded[inputs.len()..]).zip(&self.inner.outputs) {
            let size = dtype.size();
            // SAFETY: `count` elements of the output's row are written from the buffer.
            unsafe { copy_short(from.ptr, at(operand, start, size), count * size) };
        }
    }
}
