//! The memory of an operand: a slice, the elements of a view, or a range of memory at a pointer.
//!
//! A [`Region`] is read and a [`RegionMut`] is written. Both are ranges of bytes; shapes and strides belong to the loop plan
//! that is bound to them. Only a region that was made from a slice can be converted back to a slice, because other code may
//! write to the bytes between the elements of a view. These bytes are neither read nor written here.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::contain::contains;
use crate::overlap::Place;
use crate::view::{View, ViewError, ViewMut};

/// A range of bytes that a run reads: a slice, the elements of a view, or memory that outputs of the same run may overlap.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    start: *const u8,
    len: usize,
    is_slice: bool,
    /// The layout of the elements that may be read, if the region has gaps between them.
    elements: Option<&'a dyn Elements>,
    memory: PhantomData<&'a [u8]>,
}

/// The layout of elements that have gaps between them, in which there may be memory of other owners.
pub(crate) trait Elements: fmt::Debug {
    /// Whether each element of the layout `part` is an element of this layout.
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

// SAFETY: a region is a `&[u8]`, or memory that any thread may read (the contract of its constructor). Of `elements` only shape
// and strides are used, which are plain numbers.
unsafe impl Send for Region<'_> {}
// SAFETY: as for `Send`: a region is `Copy`, so a reference permits nothing that a copy does not.
unsafe impl Sync for Region<'_> {}

// Of `elements` only shape and strides are used, and these do not change.
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
    /// A region of memory at a pointer.
    ///
    /// # Safety
    /// For `'a`, the bytes must be in one allocation, initialised and valid for reads from any thread. Nothing may write to them
    /// in that time, except a [`Nest`](crate::Nest) that has a view of this region among its inputs and an output with exactly
    /// the same elements, or a nest that runs after the last read.
    pub unsafe fn from_raw(start: *const u8, len: usize) -> Region<'a> {
        Region { start, len, is_slice: false, elements: None, memory: PhantomData }
    }

    /// A region with the elements of a view. It extends from the view's lowest element to its highest; the bytes between elements
    /// are not read.
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

    /// A region from the address `low` to `high`, of which only the given elements are read; `ptr` points to one of them.
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

    /// The slice that the region was made from. `None` for a region that was not made from a slice; its memory may be overlapped
    /// by outputs.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        // SAFETY: only `From<&'a [u8]>` sets `is_slice` (and `skip` keeps it for a part of the region), so start and length are
        // those of a slice that is borrowed for `'a`.
        self.is_slice.then(|| unsafe { std::slice::from_raw_parts(self.start, self.len) })
    }

    /// A range of the region's bytes as a slice. `None` if the range is not inside the region, or if the region has gaps.
    ///
    /// Only a nest may write to a region that was made from a pointer (the contract of `from_raw`); no nest that writes to these
    /// bytes may run while the slice is in use.
    #[inline]
    pub fn elements(&self, range: std::ops::Range<usize>) -> Option<&'a [u8]> {
        if self.has_gaps() || range.start > range.end || range.end > self.len {
            return None;
        }
        if range.is_empty() {
            return Some(&[]);
        }
        // SAFETY: the bytes are in the region; they are initialised and valid for `'a`, and nothing writes to them in that time.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) })
    }

    /// The bytes of `count` contiguous elements of `item` bytes, the first of which is at the byte offset `start`. `None` if an element
    /// is not inside the region, or in a gap of it.
    ///
    /// No nest that writes to these bytes may run while the slice is in use, as for [`Region::elements`].
    pub fn contiguous(&self, item: usize, start: usize, count: usize) -> Option<&'a [u8]> {
        let len = count.checked_mul(item)?;
        let whole = Region { elements: None, ..*self };
        if self.has_gaps() && count > 0 {
            self.view(item, start, &[count], &[item as isize]).ok()?;
        }
        whole.elements(start..start.checked_add(len)?)
    }

    /// Whether the region has gaps between its elements, whose bytes may not be read.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.elements.is_some()
    }

    /// A region that covers the address range of a view and is not marked as having gaps. It may be bound
    /// only to a plan with exactly this view's layout, which reads nothing but the elements.
    pub(crate) fn reached(view: &View<'a>) -> Region<'a> {
        let (low, high) = view.layout.reach;
        let start = view.layout.ptr.cast_const().with_addr(low);
        Region { start, len: high - low, is_slice: false, elements: None, memory: PhantomData }
    }

    /// Makes a region of memory that the caller knows to be readable for `'a`.
    #[inline]
    pub(crate) fn of_memory(Memory { start, len, elements, .. }: Memory<'a>) -> Region<'a> {
        Region { start: start.cast_const(), len, is_slice: false, elements, memory: PhantomData }
    }

    /// The region as an operand's memory, with the layout of the elements that may be read, if it has gaps.
    #[inline]
    pub(crate) fn memory(&self) -> Memory<'a> {
        Memory { start: self.start.cast_mut(), len: self.len, from: 0, elements: self.elements }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address range.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        self.start.addr()..self.start.addr() + self.len
    }

    /// The region without its first `bytes` bytes, or an empty region if it has fewer.
    pub fn skip(&self, bytes: usize) -> Region<'a> {
        let bytes = bytes.min(self.len);
        Region { start: self.start.wrapping_add(bytes), len: self.len - bytes, ..*self }
    }

    /// Makes a view of the region. The arguments are those of [`View::new`].
    ///
    /// # Errors
    /// The errors of [`View::new`]; also `OutOfBounds` if an element would be in a gap of the region.
    pub fn view(
        &self,
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        // SAFETY: if the region has no gaps, all of its bytes may be read as a view requires (they are a slice, or memory at a
        // pointer under the contract of `from_raw`). If it has gaps, only the elements of `elements` may be read, and the view
        // is returned only if all of its elements are among them.
        let view = unsafe { View::within(self.start, self.len, item, offset, shape, strides)? };
        match self.elements {
            Some(elements) if !elements.contain(view.layout.place()) => Err(ViewError::OutOfBounds),
            _ => Ok(view),
        }
    }
}

/// A range of bytes that a run writes: a slice, or the elements of a view, which inputs of the same run may overlap.
#[derive(Debug)]
pub struct RegionMut<'a> {
    start: *mut u8,
    len: usize,
    /// The layout of the elements that may be written, if the region has gaps between them.
    elements: Option<&'a dyn Elements>,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a `RegionMut` is a `&mut [u8]`, or an exclusively borrowed `ViewMut`, which is `Send`. Of `elements` only shape and
// strides are used, which are plain numbers.
unsafe impl Send for RegionMut<'_> {}
// SAFETY: nothing is read or written through `&RegionMut`.
unsafe impl Sync for RegionMut<'_> {}

impl<'a> From<&'a mut [u8]> for RegionMut<'a> {
    #[inline]
    fn from(bytes: &'a mut [u8]) -> RegionMut<'a> {
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        RegionMut { start, len, elements: None, memory: PhantomData }
    }
}

impl<'a> RegionMut<'a> {
    /// A region with the elements of a view. It extends from the view's lowest element to its highest; the bytes between elements
    /// are not written.
    #[inline]
    pub fn of_elements(view: &'a mut ViewMut<'_>) -> RegionMut<'a> {
        let is_whole = view.layout.is_row_major();
        let region = RegionMut::reached(view);
        RegionMut { elements: if is_whole { None } else { Some(view) }, ..region }
    }

    /// A region that covers the address range of a view and is not marked as having gaps. It may be bound
    /// only to a plan with exactly this view's layout, which writes nothing but the elements.
    pub(crate) fn reached(view: &ViewMut<'_>) -> RegionMut<'a> {
        let (low, high) = view.layout.reach;
        // The pointer of a view without elements may be invalid, so a dangling one replaces it.
        let nothing = std::ptr::NonNull::<u64>::dangling().as_ptr().cast();
        let start = if low == high { nothing } else { view.layout.ptr.with_addr(low) };
        RegionMut { start, len: high - low, elements: None, memory: PhantomData }
    }

    /// Makes a region of memory that the caller knows to be writable for `'a`.
    #[inline]
    pub(crate) fn of_memory(Memory { start, len, elements, .. }: Memory<'a>) -> RegionMut<'a> {
        RegionMut { start, len, elements, memory: PhantomData }
    }

    /// Reborrows the region for as long as `self` is borrowed.
    #[inline]
    pub fn reborrow(&mut self) -> RegionMut<'_> {
        RegionMut { start: self.start, len: self.len, elements: self.elements, memory: PhantomData }
    }

    /// Splits the region after `bytes` bytes, or at its end if it is shorter, so that the second part is
    /// empty. If the region has gaps, both parts are empty.
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

    /// The region's bytes for reading, while `self` is borrowed. They must have been written before.
    #[inline]
    pub fn as_region(&self) -> Region<'_> {
        Region::of_memory(self.memory())
    }

    /// Converts the region to an operand's memory. If it has gaps, the result includes the layout of the
    /// elements that may be written.
    #[inline]
    pub(crate) fn memory(&self) -> Memory<'a> {
        Memory { start: self.start, len: self.len, from: 0, elements: self.elements }
    }
}

/// The memory of an operand, which is read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    pub(crate) start: *mut u8,
    pub(crate) len: usize,
    /// The position in the memory, in bytes, that the offsets of a loop plan are relative to. For generated elements it is eight
    /// times the value of the first one.
    pub(crate) from: isize,
    /// The layout of the elements that may be read or written, if there are gaps between them.
    pub(crate) elements: Option<&'a dyn Elements>,
}

impl Memory<'_> {
    /// Whether the address ranges of two operands overlap.
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
        // SAFETY: these are bytes of `x`, and nothing writes to `x`.
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
