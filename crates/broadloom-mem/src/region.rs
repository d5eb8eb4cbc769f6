//! Memory of an input, which an output may overlap.
//!
//! In: a slice, or a range of memory at a pointer. Out: [`Region`], of which there are views. Must hold: a slice is made
//! of a region only where it was one.

use std::marker::PhantomData;

use crate::view::{View, ViewError};

/// Bytes that are read: of a slice, or of memory that outputs of the same run may overlap.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    start: *const u8,
    len: usize,
    is_slice: bool,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: a region is a `&[u8]`, or what its maker said may be read from any thread.
unsafe impl Send for Region<'_> {}
// SAFETY: as above.
unsafe impl Sync for Region<'_> {}

impl<'a> From<&'a [u8]> for Region<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Region<'a> {
        Region { start: bytes.as_ptr(), len: bytes.len(), is_slice: true, memory: PhantomData }
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
        Region { start, len, is_slice: false, memory: PhantomData }
    }

    /// The slice that it is of; `None` where outputs may overlap it.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        // SAFETY: made from a slice with this lifetime.
        self.is_slice.then(|| unsafe { std::slice::from_raw_parts(self.start, self.len) })
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
    /// Those of [`View::new`].
    pub fn view(
        &self,
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        // SAFETY: the region's bytes are a slice's, or what its maker said of them is what a view asks for.
        unsafe { View::within(self.start, self.len, item, offset, shape, strides) }
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
        assert_eq!(Region::from(crate::bytes_of(&x)).skip(12).as_slice(), Some(&4u32.to_ne_bytes()[..]));
    }
}
