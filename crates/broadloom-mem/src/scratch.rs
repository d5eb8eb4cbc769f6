//! Memory for the tiles of a nest, reused from run to run.
//!
//! Each run gets regions of the sizes that it needs, aligned to a cache line, or an error if memory can't be allocated. InputRegions
//! do not overlap. Adjacent regions start at different offsets within a page, since stores to one would otherwise delay loads
//! from the other.

use smallvec::SmallVec;

use crate::buffer::{ALIGN, AllocError, Buffer};

const PAGE: usize = 4096;
/// The difference between the offsets within a page of adjacent regions: 320 bytes, which are five cache lines.
const STAGGER: usize = 320;

/// Reusable memory for the tiles of one thread; it grows to the size of the largest run and is then not allocated again.
#[derive(Debug)]
pub struct Scratch {
    buffer: Buffer,
    /// The tables of offsets, in bytes, for operands with few elements in their innermost dimensions (module `linear`).
    pub(crate) table: Vec<isize>,
    refusal: Option<AllocError>,
}

impl Scratch {
    /// An empty scratch, which has allocated nothing.
    pub const fn new() -> Scratch {
        Scratch { buffer: Buffer::empty(), table: Vec::new(), refusal: None }
    }

    /// The size in bytes of the memory that the scratch has allocated.
    pub fn bytes(&self) -> usize {
        self.buffer.len() + self.table.capacity() * size_of::<isize>()
    }

    /// Takes the error of the allocation that failed and stopped a run with this scratch, if any. A second
    /// call returns `None`.
    pub fn take_refusal(&mut self) -> Option<AllocError> {
        self.refusal.take()
    }

    /// InputRegions of at least these sizes in bytes, with unspecified but initialised contents. For a size of 0 the pointer is null.
    /// `None` if memory can't be allocated; [`Scratch::take_refusal`] then returns the error.
    pub(crate) fn regions(&mut self, sizes: &[usize]) -> Option<SmallVec<[*mut u8; 4]>> {
        if sizes.iter().all(|&size| size == 0) {
            return Some(sizes.iter().map(|_| std::ptr::null_mut()).collect());
        }
        let mut end = 0usize;
        let offsets: SmallVec<[usize; 4]> = (sizes.iter().enumerate())
            .map(|(i, &size)| {
                if size == 0 {
                    return 0;
                }
                let phase = (i + 1) * STAGGER % PAGE;
                let offset = end + (phase + PAGE - end % PAGE) % PAGE;
                end = (offset + size).next_multiple_of(ALIGN);
                offset
            })
            .collect();
        if self.buffer.len() < end {
            // The old memory is freed first, since its contents are not needed.
            self.buffer = Buffer::empty();
            self.buffer = match Buffer::for_overwrite(end) {
                Ok(buffer) => buffer,
                Err(refused) => {
                    self.refusal = Some(refused);
                    return None;
                }
            };
        }
        let base = self.buffer.as_bytes_mut().map_or(std::ptr::null_mut(), |bytes| bytes.as_mut_ptr());
        let place = |(&size, &offset): (&usize, &usize)| match size {
            0 => std::ptr::null_mut(),
            _ => base.wrapping_add(offset),
        };
        Some(sizes.iter().zip(&offsets).map(place).collect())
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(scratch: &mut Scratch, sizes: &[usize]) -> SmallVec<[*mut u8; 4]> {
        scratch.regions(sizes).expect("small")
    }

    #[test]
    fn refused_memory_is_told_once_and_the_scratch_works_on() {
        let mut scratch = Scratch::new();
        let too_much = [isize::MAX as usize / 2];
        assert_eq!(scratch.regions(&too_much), None);
        assert!(scratch.take_refusal().is_some_and(|refused| refused.bytes >= too_much[0]));
        assert_eq!(scratch.take_refusal(), None);
        assert!(!regions(&mut scratch, &[100])[0].is_null());
        assert_eq!(scratch.take_refusal(), None);
    }

    #[test]
    fn regions_are_apart_and_kept() {
        let mut scratch = Scratch::new();
        assert!(regions(&mut scratch, &[0, 0]).iter().all(|r| r.is_null()));
        assert_eq!(scratch.bytes(), 0);
        let sizes = [4096usize, 0, 8192, 1, 4097];
        let first = regions(&mut scratch, &sizes);
        let all: Vec<(usize, usize)> =
            first.iter().zip(sizes).filter(|r| r.1 > 0).map(|(r, size)| (r.addr(), size)).collect();
        assert!(first[1].is_null());
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.0 % ALIGN, 0);
            for b in &all[..i] {
                assert!(b.0 + b.1 <= a.0);
                assert_ne!(a.0 % PAGE, b.0 % PAGE);
            }
        }
        let bytes = scratch.bytes();
        assert!(all.iter().all(|a| a.0 + a.1 <= all[0].0 + bytes));
        assert_eq!(regions(&mut scratch, &sizes), first, "not allocated again");
        assert_eq!(regions(&mut scratch, &[100])[0].addr() % ALIGN, 0);
        assert_eq!(scratch.bytes(), bytes);
    }
}
