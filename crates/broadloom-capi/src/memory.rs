//! The application's memory as inputs and outputs of a kernel.
//!
//! A Rust slice is created only for contiguous memory that no other operand overlaps, so that no `&[u8]` and `&mut [u8]` share a
//! byte. All other memory is passed as a pointer, in a `Region` or a `ViewMut`. A reduction creates a slice of contiguous
//! elements of a region while it combines them.

use std::ffi::c_void;
use std::ops::Range;

use broadloom::{DType, In, Out};
use broadloom_mem::{Region, ViewMut};
use smallvec::SmallVec;

use crate::argument::many;
use crate::code::{bl_dtype, dtype};
use crate::status::bl_status::{BL_MEMORY, BL_MISALIGNED, BL_NULL, BL_SHAPE};
use crate::status::{Answer, CallFailure};

/// An operand of a run.
///
/// Its size never changes, since arrays of it are passed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_view {
    /// The address of the element with index 0 in every dimension; it may be null if there are no elements. The memory of an
    /// input is only read.
    pub data: *mut c_void,
    /// The extents, outermost first; it may be null if the rank is 0.
    pub shape: *const usize,
    /// For each dimension the distance from one index to the next, in elements (not bytes). It may be negative, and for
    /// an input also 0. Null means contiguous row-major order.
    pub strides: *const isize,
    /// The number of dimensions.
    pub rank: u32,
    /// A BL_DTYPE constant.
    pub dtype: bl_dtype,
}

/// The maximum rank of a kernel's operand. A view of higher rank is rejected before its shape is read.
const MAX_RANK: u32 = 64;

/// One number per dimension.
type AxisNumbers<T> = SmallVec<[T; 4]>;

/// An operand of a run: memory with a layout whose address computations were checked for overflow.
#[derive(Debug)]
pub(crate) struct MemoryOperand {
    pub(crate) dtype: DType,
    /// The lowest address of any element.
    start: *mut u8,
    bytes: usize,
    /// The distance from the lowest address to the element with index 0, in elements.
    offset: usize,
    pub(crate) shape: AxisNumbers<usize>,
    strides: AxisNumbers<isize>,
    is_row_major: bool,
}

/// The strides of contiguous row-major order.
pub(crate) fn row_major(shape: &[usize]) -> AxisNumbers<isize> {
    let mut strides: AxisNumbers<isize> = SmallVec::from_elem(0, shape.len());
    let mut step = 1isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(isize::try_from(extent.max(1)).unwrap_or(isize::MAX));
    }
    strides
}

/// Whether a layout is contiguous and row-major. The strides of extents of 1 are ignored.
fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    shape.contains(&0)
        || shape.iter().zip(strides.iter().zip(row_major(shape))).all(|(&e, (&a, b))| e == 1 || a == b)
}

impl MemoryOperand {
    /// Checks the operand that a view describes; `name` identifies it in error messages.
    ///
    /// # Safety
    /// Pointers that are neither null nor misaligned must be valid for reads of the extents and strides.
    pub(crate) unsafe fn new(view: &bl_view, name: impl Fn() -> String) -> Answer<MemoryOperand> {
        let fail = |status, why: &str| CallFailure::new(status, format!("{} {why}", name()));
        let dtype = dtype(view.dtype)?;
        if view.rank > MAX_RANK {
            return Err(fail(BL_SHAPE, &format!("has rank {}, more than {MAX_RANK}", view.rank)));
        }
        let rank = view.rank as usize;
        // SAFETY: `many` has the same requirements on `rank` extents and strides as the safety section.
        let (shape, strides) = unsafe {
            let shape: AxisNumbers<usize> = many(view.shape, rank, "the pointer to a shape")?.into();
            let strides: AxisNumbers<isize> = match view.strides.is_null() {
                true => row_major(&shape),
                false => many(view.strides, rank, "the pointer to strides")?.into(),
            };
            (shape, strides)
        };
        // The lowest and the highest offset of any element, in elements.
        let (mut low, mut high) = (0isize, 0isize);
        let is_empty = shape.contains(&0);
        for (&extent, &stride) in shape.iter().zip(&strides).filter(|_| !is_empty) {
            let span = isize::try_from(extent - 1).ok().and_then(|steps| stride.checked_mul(steps));
            let end =
                span.and_then(|span| if span < 0 { low.checked_add(span) } else { high.checked_add(span) });
            match end {
                Some(end) if end < low => low = end,
                Some(end) if end > high => high = end,
                Some(_) => {}
                None => return Err(fail(BL_MEMORY, "extends beyond the address space")),
            }
        }
        let size = dtype.size();
        let elements = match is_empty {
            true => Some(0),
            false => high.checked_sub(low).and_then(|span| span.checked_add(1)),
        };
        let bytes = elements.and_then(|elements| elements.checked_mul(size as isize));
        let Some(bytes) = bytes else { return Err(fail(BL_MEMORY, "extends beyond the address space")) };
        let data = view.data.cast::<u8>();
        if !is_empty {
            check_elements(data, size).map_err(|(status, why)| fail(status, &why))?;
        }
        let start = data.wrapping_offset(low * size as isize);
        if start.addr().checked_add(bytes as usize).is_none() {
            return Err(fail(BL_MEMORY, "extends beyond the address space"));
        }
        let (offset, bytes) = (low.unsigned_abs(), bytes as usize);
        let is_row_major = is_row_major(&shape, &strides);
        Ok(MemoryOperand { dtype, start, bytes, offset, shape, strides, is_row_major })
    }

    /// Contiguous row-major memory at a pointer; `strides` must be the row-major strides of `shape`.
    pub(crate) fn plain(
        data: *mut c_void,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        name: impl Fn() -> String,
    ) -> Answer<MemoryOperand> {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        let start = data.cast::<u8>();
        if bytes > 0 {
            check_elements(start, dtype.size())
                .map_err(|(status, why)| CallFailure::new(status, format!("{} {why}", name())))?;
        }
        let (shape, strides) = (shape.into(), strides.into());
        Ok(MemoryOperand { dtype, start, bytes, offset: 0, shape, strides, is_row_major: true })
    }

    fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr().wrapping_add(self.bytes)
    }

    fn is_apart_from(&self, other: &MemoryOperand) -> bool {
        are_apart(&self.addresses(), &other.addresses())
    }

    /// The operand as an input passed by pointer, so that outputs may overlap it.
    ///
    /// # Safety
    /// While the input exists, the `bytes` bytes from `start` must be in one allocation, initialised and valid for reads, and
    /// nothing but the run that gets this input may write to them.
    pub(crate) unsafe fn raw_input(&self) -> In<'_> {
        // SAFETY: `Region::from_raw` has the same requirements on these bytes as the safety section. Unlike a slice, a region
        // may be written to by the run that reads it.
        let region = unsafe { Region::from_raw(self.start, self.bytes) };
        In::raw(self.dtype, region, self.offset, &self.shape, &self.strides)
    }

    /// The operand as an input of a run with these outputs. It is a slice if it is contiguous and no output overlaps it.
    ///
    /// # Safety
    /// The requirements of [`MemoryOperand::raw_input`].
    pub(crate) unsafe fn input(&self, outputs: &[MemoryOperand]) -> In<'_> {
        if !self.is_row_major || !outputs.iter().all(|output| self.is_apart_from(output)) {
            // SAFETY: the caller guarantees what `raw_input` requires.
            return unsafe { self.raw_input() };
        }
        // SAFETY: the operand is contiguous, so the safety section covers each of its bytes. Only the run may write to them, and
        // none of its outputs overlaps this operand.
        let bytes = unsafe { slice(self.start, self.bytes) };
        In::raw(self.dtype, Region::from(bytes), 0, &self.shape, &self.strides)
    }

    /// The operand as an output passed by pointer, so that inputs may overlap it.
    ///
    /// # Safety
    /// While the output exists, the bytes of the operand's elements must be in one allocation, initialised and valid for reads
    /// and writes, and nothing but the run that gets this output may access them.
    pub(crate) unsafe fn raw_output(&self) -> Answer<Out<'_>> {
        let size = self.dtype.size();
        // This can't overflow: `new` checked that the distances fit the address space, except for extents of 0 and 1, whose
        // strides are never used.
        let strides: AxisNumbers<isize> =
            self.strides.iter().map(|stride| stride.wrapping_mul(size as isize)).collect();
        let zero = self.start.wrapping_add(self.offset * size);
        // SAFETY: the view has exactly the operand's elements, for which the safety section holds. Inputs that overlap it are
        // regions and not slices, since `input` creates a slice only of memory that no output overlaps.
        let view = unsafe { ViewMut::from_raw(zero, size, &self.shape, &strides) };
        let view = view.map_err(|error| CallFailure::new(BL_MEMORY, format!("an output: {error}")))?;
        Ok(Out::raw(self.dtype, view))
    }

    /// Output `at` of a run with these operands. It is a slice if it is contiguous and no other operand overlaps it.
    ///
    /// # Safety
    /// The requirements of [`MemoryOperand::raw_output`].
    pub(crate) unsafe fn output<'o>(
        outputs: &'o [MemoryOperand],
        at: usize,
        inputs: &[MemoryOperand],
    ) -> Answer<Out<'o>> {
        let this = &outputs[at];
        let mut others = outputs.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, other)| other);
        if !this.is_row_major
            || !others.all(|other| this.is_apart_from(other))
            || !inputs.iter().all(|input| this.is_apart_from(input))
        {
            // SAFETY: the caller guarantees what `raw_output` requires.
            return unsafe { this.raw_output() };
        }
        // SAFETY: the operand is contiguous, so the safety section covers each of its bytes, and no other operand of the run
        // overlaps them: the `&mut` is the only access to them.
        Ok(Out::bytes(this.dtype, unsafe { slice_mut(this.start, this.bytes) }))
    }
}

/// Returns an error if a pointer to elements of `size` bytes is null or misaligned.
#[inline]
pub(crate) fn check_elements(data: *const u8, size: usize) -> Result<(), (crate::status::bl_status, String)> {
    if data.is_null() {
        return Err((BL_NULL, "has elements, but its data is null".to_owned()));
    }
    if !data.addr().is_multiple_of(size) {
        return Err((
            BL_MISALIGNED,
            format!("is at {data:p}, which is not a multiple of its elements' {size} bytes"),
        ));
    }
    Ok(())
}

/// Whether two ranges of addresses are disjoint.
#[inline]
pub(crate) fn are_apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// The `bytes` bytes at a pointer, which may be null if there are none.
///
/// # Safety
/// The bytes must be in one allocation, initialised and valid for reads for `'a`, and nothing may write to them during `'a`.
#[inline]
pub(crate) unsafe fn slice<'a>(start: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the safety section requires all that `from_raw_parts` does: the pointer is not null, any address is aligned for
    // `u8`, and an allocation has at most `isize::MAX` bytes.
    unsafe { std::slice::from_raw_parts(start, bytes) }
}

/// The `bytes` bytes at a pointer, which may be null if there are none.
///
/// # Safety
/// The bytes must be in one allocation, initialised and valid for reads and writes for `'a`, and nothing else may access them
/// during `'a`.
#[inline]
pub(crate) unsafe fn slice_mut<'a>(start: *mut u8, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: the safety section requires all that `from_raw_parts_mut` does: the pointer is not null, any address is aligned for
    // `u8`, and an allocation has at most `isize::MAX` bytes.
    unsafe { std::slice::from_raw_parts_mut(start, bytes) }
}
