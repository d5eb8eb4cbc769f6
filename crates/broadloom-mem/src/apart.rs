//! Operands at pointers of which none that is written shares memory with another.
//!
//! Slices say so by their types. Of regions and views it is found out here, once, from the addresses, so that what runs over
//! slices can run over them at the same cost.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::region::Region;
use crate::view::ViewMut;

/// The operands of one run, each the bytes between two addresses: no output has a byte of another operand.
///
/// ```
/// use broadloom_mem::{Apart, Region, ViewMut, bytes_of, bytes_of_mut};
///
/// let (x, mut y, mut z) = ([1.0_f32, 2.0], [0.0_f32; 4], [0.0_f32; 4]);
/// let mut row = ViewMut::new(bytes_of_mut(&mut y), 4, 0, &[2, 2], &[8, 4])?;
/// let mut operands = Apart::default();
/// assert!(operands.read(Region::from(bytes_of(&x))) && operands.write(&mut row));
///
/// let mut gaps = ViewMut::new(bytes_of_mut(&mut z), 4, 0, &[2], &[8])?;
/// assert!(!Apart::default().write(&mut gaps));
/// # Ok::<(), broadloom_mem::ViewError>(())
/// ```
#[derive(Debug, Default)]
pub struct Apart<'a> {
    inputs: SmallVec<[Region<'a>; 4]>,
    outputs: SmallVec<[(*mut u8, usize); 2]>,
    written: PhantomData<&'a mut [u8]>,
}

impl<'a> Apart<'a> {
    /// Adds an input; false, and it is not added, if some of its bytes may not be read or are an output's.
    #[inline]
    pub fn read(&mut self, region: Region<'a>) -> bool {
        let memory = region.addresses();
        let added = !region.has_gaps() && !self.outputs.iter().any(|output| meet(*output, &memory));
        if added {
            self.inputs.push(region);
        }
        added
    }

    /// Adds an output; false, and it is not added, if its elements don't follow each other in row-major order or some of them
    /// are another operand's.
    #[inline]
    pub fn write(&mut self, view: &'a mut ViewMut<'_>) -> bool {
        if !view.layout.is_row_major() {
            return false;
        }
        let (low, high) = view.layout.reach;
        self.add(view.layout.ptr, high - low)
    }

    /// Adds an output of these bytes, as [`Apart::write`] does.
    #[inline]
    pub fn write_slice(&mut self, bytes: &'a mut [u8]) -> bool {
        self.add(bytes.as_mut_ptr(), bytes.len())
    }

    #[inline]
    fn add(&mut self, start: *mut u8, len: usize) -> bool {
        let memory = start.addr()..start.addr() + len;
        let added = !self.outputs.iter().any(|output| meet(*output, &memory))
            && !self.inputs.iter().any(|input| overlap(&input.addresses(), &memory));
        if added {
            self.outputs.push((start, len));
        }
        added
    }

    /// Leaves out the first bytes of each input, as many as are given for it.
    #[inline]
    pub fn skip(&mut self, bytes: &[usize]) {
        for (input, &bytes) in self.inputs.iter_mut().zip(bytes) {
            *input = input.skip(bytes);
        }
    }

    /// Where the bytes of each input begin and how many there are, and the same of each output.
    ///
    /// As long as `self` is borrowed the former may be read, and the latter may be written and are no other operand's.
    #[inline]
    pub fn all(
        &mut self,
    ) -> (impl ExactSizeIterator<Item = (*const u8, usize)>, impl ExactSizeIterator<Item = (*mut u8, usize)>)
    {
        (self.inputs.iter().map(Region::start_and_len), self.outputs.iter().copied())
    }
}

fn meet((start, len): (*mut u8, usize), memory: &std::ops::Range<usize>) -> bool {
    overlap(&(start.addr()..start.addr() + len), memory)
}

/// Whether two ranges of addresses have one in common.
fn overlap(a: &std::ops::Range<usize>, b: &std::ops::Range<usize>) -> bool {
    a.start < b.end && b.start < a.end && !a.is_empty() && !b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{View, bytes_of, bytes_of_mut};

    #[test]
    fn what_shares_memory_is_refused_in_either_order() {
        let mut words = [0_u32; 8];
        let start = words.as_mut_ptr().cast::<u8>();
        // SAFETY: the bytes are those of `words`, which are neither read nor written here.
        let region =
            |from: usize, to: usize| unsafe { Region::from_raw(start.add(4 * from), 4 * (to - from)) };
        // SAFETY: as for `region`.
        let view =
            |from: usize, len: usize| unsafe { ViewMut::from_raw(start.add(4 * from), 4, &[len], &[4]) };
        let row = |from: usize, len: usize| view(from, len).expect("a row");
        for (from, to, apart) in [(0, 2, true), (5, 8, true), (0, 3, false), (4, 8, false), (3, 4, false)] {
            let (mut first, mut again) = (row(2, 3), row(2, 3));
            let mut operands = Apart::default();
            assert!(operands.read(region(from, to)));
            assert_eq!(operands.write(&mut first), apart, "{from} {to}");
            let mut operands = Apart::default();
            assert!(operands.write(&mut again));
            assert_eq!(operands.read(region(from, to)), apart, "{from} {to}");
            let (inputs, outputs) = operands.all();
            assert_eq!((inputs.len(), outputs.len()), (usize::from(apart), 1));
        }
        let (mut first, mut second) = (row(2, 3), row(4, 2));
        let mut operands = Apart::default();
        assert!(operands.write(&mut first) && !operands.write(&mut second));
        assert!(operands.read(region(3, 3)), "nothing is in nothing");
    }

    #[test]
    fn what_has_gaps_is_refused() {
        let x = [0_u16; 12];
        let every_second = View::new(bytes_of(&x), 2, 0, &[6], &[4]).expect("inside");
        assert!(!Apart::default().read(Region::of_elements(&every_second)));
        let mut y = [0_u16; 12];
        for (shape, strides, offset, whole) in [
            (&[3, 4][..], &[8, 2][..], 0, true),
            (&[1, 4], &[800, 2], 8, true),
            (&[0, 4], &[2, 2], 0, true),
            (&[], &[], 22, true),
            (&[4, 3], &[2, 8], 0, false),
            (&[3], &[4], 0, false),
            (&[3], &[-2], 8, false),
        ] {
            let mut view = ViewMut::new(bytes_of_mut(&mut y), 2, offset, shape, strides).expect("inside");
            let elements: usize = shape.iter().product();
            let mut operands = Apart::default();
            assert_eq!(operands.write(&mut view), whole, "{shape:?} {strides:?}");
            assert!(operands.all().1.all(|(_, len)| len == 2 * elements));
        }
    }
}
