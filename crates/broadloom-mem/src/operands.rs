//! The operands of one run, whose outputs overlap no other operand.
//!
//! Addresses are compared once, when an operand is added, so that slices, regions and views take one path.

use std::marker::PhantomData;

use broadloom_ir::canonical::LANES;
use broadloom_ir::loop_plan::{AccessClass, LoopOperand, LoopPlan};
use smallvec::SmallVec;

use crate::bind::NestError;
use crate::block::{Block, RawBlock, RawOperand};
use crate::operand::BoundOperand;
use crate::region::Region;
use crate::view::ViewMut;

/// The operands of one run, each the bytes between two addresses: no output has a byte of another operand.
///
/// ```
/// use broadloom_mem::{Operands, Region, ViewMut, bytes_of, bytes_of_mut};
///
/// let (x, mut y, mut z) = ([1.0_f32, 2.0], [0.0_f32; 4], [0.0_f32; 4]);
/// let mut row = ViewMut::new(bytes_of_mut(&mut y), 4, 0, &[2, 2], &[8, 4])?;
/// let mut operands = Operands::default();
/// assert!(operands.read(Region::from(bytes_of(&x))) && operands.write(&mut row));
///
/// let mut gaps = ViewMut::new(bytes_of_mut(&mut z), 4, 0, &[2], &[8])?;
/// assert!(!Operands::default().write(&mut gaps));
/// # Ok::<(), broadloom_mem::ViewError>(())
/// ```
#[derive(Debug, Default)]
pub struct Operands<'m> {
    /// Where the bytes of each begin and how many there are: inputs, then outputs.
    memory: SmallVec<[(*mut u8, usize); 6]>,
    inputs: usize,
    borrowed: PhantomData<&'m mut [u8]>,
}

/// How the elements of an operand of one row lie in its memory.
#[derive(Clone, Copy, Debug)]
pub struct RowOperand {
    /// Bytes of an element.
    pub item: usize,
    /// The byte at which the first element is.
    pub start: usize,
    /// What becomes of it.
    pub class: AccessClass,
}

impl RowOperand {
    /// The operand of a [linear](LoopPlan::is_linear) plan.
    #[inline]
    fn of(operand: &LoopOperand) -> RowOperand {
        // Of an offset before the memory, no byte is inside.
        let start = usize::try_from(operand.start()).unwrap_or(usize::MAX);
        RowOperand { item: operand.item(), start, class: operand.class() }
    }
}

impl<'m> Operands<'m> {
    /// Adds an input; false, and it is not added, if some of its bytes may not be read or are an output's, or there are outputs
    /// already.
    #[inline]
    pub fn read(&mut self, region: Region<'m>) -> bool {
        let added = !region.has_gaps() && self.inputs == self.memory.len();
        if added {
            let (start, len) = region.start_and_len();
            self.memory.push((start.cast_mut(), len));
            self.inputs += 1;
        }
        added
    }

    /// Adds an output; false, and it is not added, if its elements don't follow each other in row-major order or some of them
    /// are another operand's.
    #[inline]
    pub fn write(&mut self, view: &'m mut ViewMut<'_>) -> bool {
        if !view.layout.is_row_major() {
            return false;
        }
        let (low, high) = view.layout.reach;
        self.add(view.layout.ptr, high - low)
    }

    /// Adds an output of these bytes, as [`Operands::write`] does.
    #[inline]
    pub fn write_slice(&mut self, bytes: &'m mut [u8]) -> bool {
        self.add(bytes.as_mut_ptr(), bytes.len())
    }

    #[inline]
    fn add(&mut self, start: *mut u8, len: usize) -> bool {
        // Of no bytes, the address may be any.
        let start = if len == 0 { std::ptr::NonNull::<u64>::dangling().as_ptr().cast() } else { start };
        let end = start.addr() + len;
        let is_apart = |&(other, bytes): &(*mut u8, usize)| {
            let other_end = other.addr() + bytes;
            other_end <= start.addr() || end <= other.addr() || len == 0 || bytes == 0
        };
        let added = self.memory.iter().all(is_apart);
        if added {
            self.memory.push((start, len));
        }
        added
    }

    /// Where the bytes of each input begin and how many there are, and the same of each output.
    ///
    /// As long as `self` is borrowed the former may be read, and the latter may be written and are no other operand's.
    #[inline]
    pub(crate) fn all(
        &mut self,
    ) -> (impl ExactSizeIterator<Item = (*const u8, usize)>, impl ExactSizeIterator<Item = (*mut u8, usize)>)
    {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        (inputs.iter().map(|&(start, len)| (start.cast_const(), len)), outputs.iter().copied())
    }

    /// The inputs, and the bytes of the outputs.
    #[inline]
    pub fn parts(&mut self) -> (SmallVec<[Region<'_>; 8]>, SmallVec<[&mut [u8]; 4]>) {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        // SAFETY: as long as `self` is borrowed, the bytes of an input may be read, and are written through the outputs at most, none of which
        // has a byte of it.
        let read = |&(start, len): &(*mut u8, usize)| unsafe { Region::from_raw(start, len) };
        // SAFETY: as long as `self` is borrowed, the bytes of an output are borrowed uniquely (`write`, `write_slice`) and no other
        // operand's.
        let written =
            |&(start, len): &(*mut u8, usize)| unsafe { std::slice::from_raw_parts_mut(start, len) };
        (inputs.iter().map(read).collect(), outputs.iter().map(written).collect())
    }

    /// An input, and the bytes of an output; none if there are no such ones.
    #[inline]
    pub fn pair(&mut self, input: usize, output: usize) -> Option<(Region<'_>, &mut [u8])> {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        let (&(start, len), &(to, bytes)) = inputs.get(input).zip(outputs.get(output))?;
        // SAFETY: as for `parts`.
        unsafe { Some((Region::from_raw(start, len), std::slice::from_raw_parts_mut(to, bytes))) }
    }

    /// Calls `body` with the one block of a [linear](LoopPlan::is_linear) plan.
    ///
    /// # Errors
    /// As of [`Nest::bind`](crate::Nest::bind); also where the plan is not linear.
    #[inline]
    pub fn with_all<R>(
        &mut self,
        plan: &LoopPlan,
        body: impl FnOnce(&mut Block<'_>) -> R,
    ) -> Result<R, NestError> {
        if !plan.is_linear() || plan.inputs() != self.inputs {
            return Err(NestError::InputShape { input: 0 });
        }
        self.with_row(plan.elements(), 0, plan.operands().iter().map(RowOperand::of), body)
    }

    /// Calls `body` with a block of one row of so many elements, at least one, which lie in memory as is said of each operand. Where
    /// the level is not 0, an output has a row of 16 elements for each [node](broadloom_ir::canonical) of that level.
    ///
    /// # Errors
    /// [`NestError::InputShape`] or [`NestError::OutputShape`] for an operand that is too short or is not aligned to its elements,
    /// or of which something else is said than that it is contiguous or, of an input, one element for all; and where there are too few
    /// or too many, or no whole nodes.
    #[inline]
    pub fn with_row<R>(
        &mut self,
        elements: usize,
        level: u8,
        operands: impl Iterator<Item = RowOperand>,
        body: impl FnOnce(&mut Block<'_>) -> R,
    ) -> Result<R, NestError> {
        let mut bound: SmallVec<[BoundOperand; 6]> = SmallVec::new();
        let mut places: SmallVec<[RawOperand; 6]> = SmallVec::new();
        let wrong = |operand: usize| match operand.checked_sub(self.inputs) {
            None => NestError::InputShape { input: operand },
            Some(output) => NestError::OutputShape { output },
        };
        let is_whole = level == 0 || level < 32 && elements.is_multiple_of(LANES << level);
        if elements == 0 || !is_whole {
            return Err(wrong(0));
        }
        for RowOperand { item, start, class } in operands {
            let i = bound.len();
            let &(memory, len) = self.memory.get(i).ok_or(wrong(i))?;
            let is_input = i < self.inputs;
            let count = match class {
                AccessClass::Contiguous if is_input => elements,
                AccessClass::Contiguous => elements >> level,
                AccessClass::Uniform if is_input => 1,
                _ => return Err(wrong(i)),
            };
            let end = count.checked_mul(item).and_then(|bytes| start.checked_add(bytes));
            let ptr = memory.wrapping_add(start);
            if end.is_none_or(|end| end > len)
                || !matches!(item, 1 | 2 | 4 | 8)
                || ptr.addr() & (item - 1) != 0
            {
                return Err(wrong(i));
            }
            bound.push(BoundOperand::in_memory(ptr, item, class));
            places.push(RawOperand { ptr, row_stride: 0 });
        }
        if bound.len() != self.memory.len() {
            return Err(wrong(bound.len()));
        }
        let raw = RawBlock {
            operands: &places,
            rows: 1,
            cols: elements,
            inputs: self.inputs,
            first: 0,
            row_step: elements,
            level,
            any_alias: false,
            reads_steps: false,
        };
        // SAFETY: each pointer is aligned and so many elements from it on are inside of its memory, as was just found, which may be read or
        // written as long as `self` is borrowed, and no output has a byte of another operand (`add`).
        Ok(body(&mut unsafe { Block::new(&bound, raw) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{View, bytes_of, bytes_of_mut};

    #[test]
    fn what_shares_memory_is_refused() {
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
            let mut operands = Operands::default();
            assert!(operands.read(region(from, to)));
            assert_eq!(operands.write(&mut first), apart, "{from} {to}");
            let mut operands = Operands::default();
            assert!(operands.write(&mut again));
            assert!(!operands.read(region(from, to)), "inputs come first");
        }
        let (mut first, mut second) = (row(2, 3), row(4, 2));
        let mut operands = Operands::default();
        assert!(operands.write(&mut first) && !operands.write(&mut second));
        let mut third = row(2, 3);
        let mut operands = Operands::default();
        assert!(operands.read(region(3, 3)) && operands.write(&mut third), "nothing is in nothing");
    }

    #[test]
    fn what_has_gaps_is_refused() {
        let x = [0_u16; 12];
        let every_second = View::new(bytes_of(&x), 2, 0, &[6], &[4]).expect("inside");
        assert!(!Operands::default().read(Region::of_elements(&every_second)));
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
            let mut operands = Operands::default();
            assert_eq!(operands.write(&mut view), whole, "{shape:?} {strides:?}");
            assert!(operands.all().1.all(|(_, len)| len == 2 * elements));
        }
    }
}
