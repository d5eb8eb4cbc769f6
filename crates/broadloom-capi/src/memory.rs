//! Operands: memory of the application as inputs and outputs of a kernel.
//!
//! A Rust slice is made only of contiguous memory that no other operand overlaps, so that no `&[u8]` and `&mut [u8]`
//! share a byte. All other memory is passed on as a pointer, in a `Region` or a `ViewMut`.

use std::ffi::c_void;
use std::ops::Range;

use broadloom::{DType, In, Out};
use broadloom_mem::{Region, ViewMut};
use smallvec::SmallVec;

use crate::argument::many;
use crate::code::{bl_dtype, dtype};
use crate::status::bl_status::{BL_MEMORY, BL_MISALIGNED, BL_NULL, BL_SHAPE};
use crate::status::{Answer, Failure};

/// An operand of a run.
///
/// It never grows: arrays of it are handed over.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_view {
    /// The element with index 0 in every dimension; of an input it is only read. Null is fine where there is no element.
    pub data: *mut c_void,
    /// The extents, outermost first; null is fine for a rank of 0.
    pub shape: *const usize,
    /// For each dimension, how many elements (not bytes) it is from one index to the next: of any sign, and of an input
    /// also 0. Null for row-major order without gaps.
    pub strides: *const isize,
    /// The number of dimensions.
    pub rank: u32,
    /// A BL_DTYPE constant.
    pub dtype: bl_dtype,
}

/// What is read off a kernel's highest rank, so that no shape beyond it is looked at.
const MAX_RANK: u32 = 64;

/// One number per dimension.
type Dims<T> = SmallVec<[T; 4]>;

/// Memory with a layout that was found to be one.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) dtype: DType,
    /// The lowest address that an index reaches.
    start: *mut u8,
    bytes: usize,
    /// From the lowest address to index 0, in elements.
    offset: usize,
    pub(crate) shape: Dims<usize>,
    strides: Dims<isize>,
    is_row_major: bool,
}

/// Strides without gaps.
pub(crate) fn row_major(shape: &[usize]) -> Dims<isize> {
    let mut strides: Dims<isize> = SmallVec::from_elem(0, shape.len());
    let mut step = 1isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(isize::try_from(extent.max(1)).unwrap_or(isize::MAX));
    }
    strides
}

/// Whether strides lead through memory in row-major order without gaps; of extents of 1 they don't count.
fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    shape.contains(&0)
        || shape.iter().zip(strides.iter().zip(row_major(shape))).all(|(&e, (&a, b))| e == 1 || a == b)
}

impl Operand {
    /// The operand that a view describes; `name` says which, for an error.
    ///
    /// # Safety
    /// Pointers that are neither null nor misaligned are valid for reads of the extents and strides.
    pub(crate) unsafe fn new(view: &bl_view, name: impl Fn() -> String) -> Answer<Operand> {
        let fail = |status, why: &str| Failure::new(status, format!("{} {why}", name()));
        let dtype = dtype(view.dtype)?;
        if view.rank > MAX_RANK {
            return Err(fail(BL_SHAPE, &format!("has rank {}, more than {MAX_RANK}", view.rank)));
        }
        let rank = view.rank as usize;
        // SAFETY: the caller's promise.
        let (shape, strides) = unsafe {
            let shape: Dims<usize> = many(view.shape, rank, "the pointer to a shape")?.into();
            let strides: Dims<isize> = match view.strides.is_null() {
                true => row_major(&shape),
                false => many(view.strides, rank, "the pointer to strides")?.into(),
            };
            (shape, strides)
        };
        // In elements: the lowest and the highest that an index reaches.
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
                None => return Err(fail(BL_MEMORY, "reaches further than memory does")),
            }
        }
        let size = dtype.size();
        let elements = match is_empty {
            true => Some(0),
            false => high.checked_sub(low).and_then(|span| span.checked_add(1)),
        };
        let bytes = elements.and_then(|elements| elements.checked_mul(size as isize));
        let Some(bytes) = bytes else { return Err(fail(BL_MEMORY, "reaches further than memory does")) };
        let data = view.data.cast::<u8>();
        if !is_empty {
            check(data, size).map_err(|(status, why)| fail(status, &why))?;
        }
        let start = data.wrapping_offset(low * size as isize);
        if start.addr().checked_add(bytes as usize).is_none() {
            return Err(fail(BL_MEMORY, "reaches further than memory does"));
        }
        let (offset, bytes) = (low.unsigned_abs(), bytes as usize);
        let is_row_major = is_row_major(&shape, &strides);
        Ok(Operand { dtype, start, bytes, offset, shape, strides, is_row_major })
    }

    /// Row-major memory at a pointer, of a shape with its strides.
    pub(crate) fn plain(
        data: *mut c_void,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
        name: impl Fn() -> String,
    ) -> Answer<Operand> {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        let start = data.cast::<u8>();
        if bytes > 0 {
            check(start, dtype.size())
                .map_err(|(status, why)| Failure::new(status, format!("{} {why}", name())))?;
        }
        let (shape, strides) = (shape.into(), strides.into());
        Ok(Operand { dtype, start, bytes, offset: 0, shape, strides, is_row_major: true })
    }

    fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr().wrapping_add(self.bytes)
    }

    fn is_apart_from(&self, other: &Operand) -> bool {
        are_apart(&self.addresses(), &other.addresses())
    }

    /// The operand as an input that stays at its pointer.
    ///
    /// # Safety
    /// What the operand reaches is, for `'a`, in one allocation, initialised and valid for reads; nothing writes to it but
    /// the run that this input is of.
    pub(crate) unsafe fn raw_input(&self) -> In<'_> {
        // SAFETY: the caller's promise; a run writes to its inputs as a region allows.
        let region = unsafe { Region::from_raw(self.start, self.bytes) };
        In::raw(self.dtype, region, self.offset, &self.shape, &self.strides)
    }

    /// The operand as an input beside these outputs.
    ///
    /// # Safety
    /// As [`Operand::raw_input`].
    pub(crate) unsafe fn input(&self, outputs: &[Operand]) -> In<'_> {
        if !self.is_row_major || !outputs.iter().all(|output| self.is_apart_from(output)) {
            // SAFETY: the caller's promise.
            return unsafe { self.raw_input() };
        }
        // SAFETY: there are no gaps, so the caller vouches for all of it; no output reaches it.
        let bytes = unsafe { slice(self.start, self.bytes) };
        In::raw(self.dtype, Region::from(bytes), 0, &self.shape, &self.strides)
    }

    /// The operand as an output that stays at its pointer.
    ///
    /// # Safety
    /// What the operand reaches is, for `'a`, in one allocation, initialised and valid for reads and writes, and nothing
    /// else reads or writes it but the run that this output is of.
    pub(crate) unsafe fn raw_output(&self) -> Answer<Out<'_>> {
        let size = self.dtype.size();
        // In range: they are distances in the memory that was found to be reached; extents of 1 and 0 don't count.
        let strides: Dims<isize> =
            self.strides.iter().map(|stride| stride.wrapping_mul(size as isize)).collect();
        let zero = self.start.wrapping_add(self.offset * size);
        // SAFETY: the caller's promise; the run holds the view, and the inputs that may overlap it are regions.
        let view = unsafe { ViewMut::from_raw(zero, size, &self.shape, &strides) };
        let view = view.map_err(|error| Failure::new(BL_MEMORY, format!("an output: {error}")))?;
        Ok(Out::raw(self.dtype, view))
    }

    /// Output `at` of these, beside the inputs.
    ///
    /// # Safety
    /// As [`Operand::raw_output`].
    pub(crate) unsafe fn output<'o>(
        outputs: &'o [Operand],
        at: usize,
        inputs: &[Operand],
    ) -> Answer<Out<'o>> {
        let this = &outputs[at];
        let mut others = outputs.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, other)| other);
        if !this.is_row_major
            || !others.all(|other| this.is_apart_from(other))
            || !inputs.iter().all(|input| this.is_apart_from(input))
        {
            // SAFETY: the caller's promise.
            return unsafe { this.raw_output() };
        }
        // SAFETY: there are no gaps, so the caller vouches for all of it; no other operand reaches it.
        Ok(Out::bytes(this.dtype, unsafe { slice_mut(this.start, this.bytes) }))
    }
}

/// Whether a pointer may be to elements of a size.
#[inline]
pub(crate) fn check(data: *const u8, size: usize) -> Result<(), (crate::status::bl_status, String)> {
    if data.is_null() {
        return Err((BL_NULL, "has elements, but its data is null".to_owned()));
    }
    if !data.addr().is_multiple_of(size) {
        return Err((
            BL_MISALIGNED,
            format!("is at {data:p}, which is no multiple of its elements' {size} bytes"),
        ));
    }
    Ok(())
}

/// Whether no byte is in both.
#[inline]
pub(crate) fn are_apart(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// The bytes at a pointer, which may be null if there are none.
///
/// # Safety
/// They are in one allocation, initialised, valid for reads for `'a`, and nothing writes to them meanwhile.
#[inline]
pub(crate) unsafe fn slice<'a>(start: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the caller's promise; not null, as there are bytes.
    unsafe { std::slice::from_raw_parts(start, bytes) }
}

/// The bytes at a pointer, which may be null if there are none.
///
/// # Safety
/// They are in one allocation, initialised, valid for reads and writes for `'a`, and nothing else reads or writes them
/// meanwhile.
#[inline]
pub(crate) unsafe fn slice_mut<'a>(start: *mut u8, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise; not null, as there are bytes.
    unsafe { std::slice::from_raw_parts_mut(start, bytes) }
}
