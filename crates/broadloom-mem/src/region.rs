//! Memory of an operand: a slice, the elements of a view, or a range of memory at a pointer.
//!
//! A [`Region`] is read and a [`RegionMut`] is written; both are a range of bytes, and shapes and strides belong to the plan that
//! is bound to them. A region is a slice as a whole only if it was made of one, because others may write to the bytes between the
//! elements of a view. What lies between the elements of a view with gaps is neither read nor written.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::contain::contains;
use crate::overlap::Place;
use crate::view::{View, ViewError, ViewMut};

/// Bytes that are read: of a slice, of a view's elements, or of memory that outputs of the same run may overlap.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    start: *const u8,
    len: usize,
    is_slice: bool,
    /// What of the memory may be read, if not all of it.
    elements: Option<&'a dyn Elements>,
    memory: PhantomData<&'a [u8]>,
}

/// Elements with memory between them that may be someone else's.
pub(crate) trait Elements: fmt::Debug {
    /// Whether each element of the layout is one of these.
    fn contain(&self, part: Place<'_>) -> bool;
}

impl Elements for View<'_> {
    fn contain(&self, part: Place<'_>) -> bool {
        contains(self.layout.place(), part)
    }
}

impl Elements for ViewMut<'_> {
    fn contain(&self, part: Place<'_>) -> bool {
        contains(self.layout.place(), part)
    }
}

// SAFETY: a region is a `&[u8]`, or what its maker said may be read from any thread; of `elements` only shape and strides
// are asked for, which are plain numbers.
unsafe impl Send for Region<'_> {}
// SAFETY: as for `Send`: a region is `Copy`, so that a reference is no more than a copy.
unsafe impl Sync for Region<'_> {}

// Of `elements` only shape and strides are asked for, which do not change.
impl UnwindSafe for Region<'_> {}
impl RefUnwindSafe for Region<'_> {}

impl<'a> From<&'a [u8]> for Region<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Region<'a> {
        let (start, len) = (bytes.as_ptr(), bytes.len());
        Region { start, len, is_slice: true, elements: None, memory: PhantomData }
    }
}

impl<'a> Region<'a> {
    /// Memory at a pointer.
    ///
    /// # Safety
    /// For `'a`, the bytes must be in one allocation, initialised and valid for reads from any thread, and nothing may
    /// write to them, except through a [`Nest`](crate::Nest) that has a view of this region among its inputs and an
    /// output of exactly the same elements, or one that runs after everything has been read.
    pub unsafe fn from_raw(start: *const u8, len: usize) -> Region<'a> {
        Region { start, len, is_slice: false, elements: None, memory: PhantomData }
    }

    /// The memory from a view's lowest element to its highest, of which only these elements are read.
    ///
    /// ```
    /// use broadloom_mem::{Region, View, ViewError, bytes_of};
    ///
    /// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let odd = View::new(bytes_of(&x), 4, 0, &[3], &[8])?;
    /// let region = Region::of_elements(&odd);
    /// assert_eq!(region.view(4, 16, &[2], &[-8])?.get::<f32>(&[1]), Some(3.0));
    /// assert_eq!(region.view(4, 0, &[3], &[4]).unwrap_err(), ViewError::OutOfBounds);
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn of_elements(view: &'a View<'_>) -> Region<'a> {
        Region::of(view, view.layout.reach, view.layout.ptr)
    }

    /// The memory between these addresses, of which only the elements are read; the pointer is to one of them.
    ///
    /// The elements must be borrowed for `'a`, initialised and aligned.
    pub(crate) fn of(elements: &'a dyn Elements, (low, high): (usize, usize), ptr: *const u8) -> Region<'a> {
        Region {
            start: ptr.with_addr(low),
            len: high - low,
            is_slice: false,
            elements: Some(elements),
            memory: PhantomData,
        }
    }

    /// The slice that it is of; `None` where outputs may overlap it.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        // SAFETY: `is_slice` is set by `From<&'a [u8]>` alone (and kept by `skip`, for a part of it), so that start and length
        // are those of a slice borrowed for `'a`.
        self.is_slice.then(|| unsafe { std::slice::from_raw_parts(self.start, self.len) })
    }

    /// These bytes, each of which is one of an element that is read; `None` where they are not all inside, or where there are
    /// bytes between the elements that may not be read.
    ///
    /// Those at a pointer are written by nests only, as its maker promised: who has the slice runs none that writes to it.
    #[inline]
    pub fn elements(&self, range: std::ops::Range<usize>) -> Option<&'a [u8]> {
        if self.has_gaps() || range.start > range.end || range.end > self.len {
            return None;
        }
        if range.is_empty() {
            return Some(&[]);
        }
        // SAFETY: the bytes are in the region; they are initialised and valid for `'a`, and nothing writes to them meanwhile.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) })
    }

    /// Whether only some elements may be read, with bytes between them that may not.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.elements.is_some()
    }

    /// The range of memory that a view reaches, of which a plan of exactly this view's layout reads the elements only.
    pub(crate) fn reached(view: &View<'a>) -> Region<'a> {
        let (low, high) = view.layout.reach;
        let start = view.layout.ptr.cast_const().with_addr(low);
        Region { start, len: high - low, is_slice: false, elements: None, memory: PhantomData }
    }

    /// Memory that may be read for `'a`, as its owner knows.
    #[inline]
    pub(crate) fn of_memory(Memory { start, len, elements, .. }: Memory<'a>) -> Region<'a> {
        Region { start: start.cast_const(), len, is_slice: false, elements, memory: PhantomData }
    }

    /// The bytes and, if they have gaps, which elements may be read.
    #[inline]
    pub(crate) fn memory(&self) -> Memory<'a> {
        Memory { start: self.start.cast_mut(), len: self.len, from: 0, elements: self.elements }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The addresses.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        self.start.addr()..self.start.addr() + self.len
    }

    /// The region without its first bytes; empty if there are not as many.
    pub fn skip(&self, bytes: usize) -> Region<'a> {
        let bytes = bytes.min(self.len);
        Region { start: self.start.wrapping_add(bytes), len: self.len - bytes, ..*self }
    }

    /// A view of the region, as [`View::new`] makes one of a slice.
    ///
    /// # Errors
    /// Those of [`View::new`]; `OutOfBounds` where an index leads to a place between the elements, if it is of those.
    pub fn view(
        &self,
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        // SAFETY: the region's bytes are a slice's, or what its maker said of them is what a view asks for; or only those of
        // `elements` are so, and then the view is given away only if it reaches no others.
        let view = unsafe { View::within(self.start, self.len, item, offset, shape, strides)? };
        match self.elements {
            Some(elements) if !elements.contain(view.layout.place()) => Err(ViewError::OutOfBounds),
            _ => Ok(view),
        }
    }
}

/// Bytes that are written: those of a slice, or those of a view's elements, which inputs of the same run may overlap.
#[derive(Debug)]
pub struct RegionMut<'a> {
    start: *mut u8,
    len: usize,
    /// What of the memory may be written, if not all of it.
    elements: Option<&'a dyn Elements>,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a region that is written is a `&mut [u8]`, or a `ViewMut` that is borrowed exclusively, which is `Send`; of `elements`
// only shape and strides are asked for, which are plain numbers.
unsafe impl Send for RegionMut<'_> {}
// SAFETY: through `&RegionMut` nothing is read or written.
unsafe impl Sync for RegionMut<'_> {}

impl<'a> From<&'a mut [u8]> for RegionMut<'a> {
    #[inline]
    fn from(bytes: &'a mut [u8]) -> RegionMut<'a> {
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        RegionMut { start, len, elements: None, memory: PhantomData }
    }
}

impl<'a> RegionMut<'a> {
    /// The memory from a view's lowest element to its highest, of which only these elements are written.
    #[inline]
    pub fn of_elements(view: &'a mut ViewMut<'_>) -> RegionMut<'a> {
        let is_whole = view.layout.is_row_major();
        let region = RegionMut::reached(view);
        RegionMut { elements: if is_whole { None } else { Some(view) }, ..region }
    }

    /// The range of memory that a view reaches, of which a plan of exactly this view's layout writes the elements only.
    pub(crate) fn reached(view: &ViewMut<'_>) -> RegionMut<'a> {
        let (low, high) = view.layout.reach;
        // Without elements, the address may be any.
        let nothing = std::ptr::NonNull::<u64>::dangling().as_ptr().cast();
        let start = if low == high { nothing } else { view.layout.ptr.with_addr(low) };
        RegionMut { start, len: high - low, elements: None, memory: PhantomData }
    }

    /// Memory that may be written for `'a`, as its owner knows.
    #[inline]
    pub(crate) fn of_memory(Memory { start, len, elements, .. }: Memory<'a>) -> RegionMut<'a> {
        RegionMut { start, len, elements, memory: PhantomData }
    }

    /// The region, borrowed for less long.
    #[inline]
    pub fn reborrow(&mut self) -> RegionMut<'_> {
        RegionMut { start: self.start, len: self.len, elements: self.elements, memory: PhantomData }
    }

    /// The first bytes, and the others; one of the two is empty where there are not as many. Of a region with gaps, both are.
    pub fn split_at(self, bytes: usize) -> (RegionMut<'a>, RegionMut<'a>) {
        let len = if self.elements.is_none() { self.len } else { 0 };
        let first = bytes.min(len);
        let part = |from: usize, len: usize| RegionMut {
            start: self.start.wrapping_add(from),
            len,
            elements: None,
            memory: PhantomData,
        };
        (part(0, first), part(first, len - first))
    }

    /// The same bytes to be read, as long as nothing is written to them. They must have been written before.
    #[inline]
    pub fn as_region(&self) -> Region<'_> {
        Region::of_memory(self.memory())
    }

    /// The bytes and, if they have gaps, which elements may be written.
    #[inline]
    pub(crate) fn memory(&self) -> Memory<'a> {
        Memory { start: self.start, len: self.len, from: 0, elements: self.elements }
    }
}

/// The bytes of an operand, read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    pub(crate) start: *mut u8,
    pub(crate) len: usize,
    /// The byte from which on a plan counts; for generated elements, eight times the number that they begin with.
    pub(crate) from: isize,
    /// The elements that may be read or written, if there are other bytes between them.
    pub(crate) elements: Option<&'a dyn Elements>,
}

impl Memory<'_> {
    /// Whether the two have a byte in common.
    #[inline]
    pub(crate) fn meets(&self, other: &Memory<'_>) -> bool {
        let (start, end) = (self.start.addr(), self.start.addr() + self.len);
        let (other_start, other_end) = (other.start.addr(), other.start.addr() + other.len);
        start < other_end && other_start < end && self.len > 0 && other.len > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_stays_in_its_region() {
        let x = [1u32, 2, 3, 4];
        // SAFETY: the bytes of `x`, which nobody writes.
        let region = unsafe { Region::from_raw(x.as_ptr().cast(), 12) };
        let back = region.view(4, 8, &[3], &[-4]).expect("inside");
        assert_eq!(back.get::<u32>(&[2]), Some(1));
        assert!(region.view(4, 0, &[4], &[4]).is_err(), "the fourth is outside");
        assert!(region.skip(4).view(4, 0, &[3], &[4]).is_err());
        assert_eq!(region.skip(4).view(4, 0, &[2], &[4]).expect("inside").get::<u32>(&[1]), Some(3));
        assert!(region.skip(99).is_empty());
        assert!(region.as_slice().is_none());
        assert_eq!(region.elements(4..12), Some(crate::bytes_of(&x[1..3])));
        assert_eq!((region.elements(4..13), region.elements(12..12)), (None, Some(&[][..])));
        assert_eq!(region.skip(8).elements(0..4), Some(crate::bytes_of(&x[2..3])));
        assert_eq!(Region::from(crate::bytes_of(&x)).skip(12).as_slice(), Some(&4u32.to_ne_bytes()[..]));
    }

    #[test]
    fn of_elements_nothing_else_is_seen() {
        let x: Vec<u32> = (0..40).collect();
        let view = View::new(crate::bytes_of(&x), 4, 4 * 33, &[3, 4], &[-48, 8]).expect("inside");
        let region = Region::of_elements(&view);
        assert_eq!((region.len(), region.as_slice(), region.elements(0..4)), (4 * 31, None, None));
        let column = region.view(4, 8, &[2, 3], &[0, 48]).expect("a column twice");
        assert_eq!([0, 1, 2].map(|i| column.get::<u32>(&[1, i])), [Some(11), Some(23), Some(35)]);
        for (offset, stride) in [(4, 8), (0, 4), (0, 20)] {
            assert!(region.view(4, offset, &[3], &[stride]).is_err(), "{offset} {stride}");
        }
        assert!(region.skip(48).view(4, 0, &[2, 4], &[48, 8]).is_ok());
        assert!(region.skip(52).view(4, 0, &[2, 4], &[48, 8]).is_err());
    }
}
