//! The operands of one run: the memory that it reads and writes.
//!
//! Address ranges are compared once, when an operand is added. If no operand has gaps and no output overlaps another operand,
//! the operands are *apart*, which permits fast paths: a block without a nest, and outputs as slices. Otherwise they are bound
//! to a loop plan, which finds inputs that are the same memory as an output, element for element.

use std::marker::PhantomData;

use broadloom_ir::canonical::LANES;
use broadloom_ir::loop_plan::{AccessClass, LoopOperand, LoopPlan};
use smallvec::SmallVec;

use crate::block::{Block, RawBlock, RawOperand};
use crate::error::NestError;
use crate::operand::BoundOperand;
use crate::region::{Memory, Region, RegionMut};

/// The memory of a run's operands: inputs, then outputs.
///
/// ```
/// use broadloom_mem::{Operands, Region, RegionMut, ViewMut, bytes_of, bytes_of_mut};
///
/// let (x, mut y, mut z) = ([1.0_f32, 2.0], [0.0_f32; 4], [0.0_f32; 4]);
/// let mut operands = Operands::default();
/// operands.read(Region::from(bytes_of(&x)));
/// operands.write(RegionMut::from(bytes_of_mut(&mut y)));
/// assert!(operands.are_apart());
///
/// let mut gaps = ViewMut::new(bytes_of_mut(&mut z), 4, 0, &[2], &[8])?;
/// let mut operands = Operands::default();
/// operands.write(RegionMut::of_elements(&mut gaps));
/// assert!(!operands.are_apart());
/// # Ok::<(), broadloom_mem::ViewError>(())
/// ```
#[derive(Debug)]
pub struct Operands<'m> {
    /// The memory of each operand, inputs first.
    memory: SmallVec<[Memory<'m>; 6]>,
    inputs: usize,
    /// Whether an operand has gaps between its elements.
    has_gaps: bool,
    /// Whether an output may overlap another operand.
    overlaps: bool,
    borrowed: PhantomData<&'m mut [u8]>,
}

impl Default for Operands<'_> {
    #[inline]
    fn default() -> Self {
        Operands {
            memory: SmallVec::new(),
            inputs: 0,
            has_gaps: false,
            overlaps: false,
            borrowed: PhantomData,
        }
    }
}

/// The inputs of a run. Each has a byte offset in its memory, to which the offsets of a loop plan are
/// relative.
pub type Starts<'m> = SmallVec<[(Region<'m>, isize); 4]>;

/// The inputs of a run, while its outputs are borrowed apart from them.
#[derive(Clone, Copy, Debug)]
pub struct InputRegions<'m>(&'m [Memory<'m>]);

impl<'m> InputRegions<'m> {
    /// The memory of an input, which is empty if there is no such input.
    #[inline]
    pub fn get(self, input: usize) -> Region<'m> {
        self.0.get(input).map_or_else(|| [][..].into(), |&memory| Region::of_memory(memory))
    }
}

/// The layout of an operand that is a single row.
#[derive(Clone, Copy, Debug)]
pub struct RowOperand {
    /// The size of an element in bytes.
    pub item: usize,
    /// The byte offset of the first element.
    pub start: usize,
    /// The access class: uniform, contiguous and so on.
    pub class: AccessClass,
}

impl RowOperand {
    /// The layout of an operand whose elements, of `item` bytes, are contiguous from the beginning of its memory.
    #[inline]
    pub fn contiguous(item: usize) -> RowOperand {
        RowOperand { item, start: 0, class: AccessClass::Contiguous }
    }

    /// The layout of an operand of a [linear](LoopPlan::is_linear) plan.
    #[inline]
    fn of(operand: &LoopOperand) -> RowOperand {
        // A negative offset is replaced by one that is outside of any memory, so that checks reject it.
        let start = usize::try_from(operand.start()).unwrap_or(usize::MAX);
        RowOperand { item: operand.item(), start, class: operand.class() }
    }
}

impl<'m> Operands<'m> {
    /// Adds an input.
    ///
    /// # Panics
    /// If there are outputs already.
    #[inline]
    pub fn read(&mut self, region: Region<'m>) {
        self.read_from(region, 0);
    }

    /// Makes the operands of a run with these inputs; outputs are added later.
    pub fn reading(inputs: impl IntoIterator<Item = Region<'m>>) -> Operands<'m> {
        let mut operands = Operands::default();
        inputs.into_iter().for_each(|region| operands.read(region));
        operands
    }

    /// Adds an input for which the offsets of a loop plan are relative to byte `from` of its memory. For a generated input, which
    /// has no memory, `from` is eight times the value of its first element.
    ///
    /// # Panics
    /// If there are outputs already.
    #[inline]
    pub fn read_from(&mut self, region: Region<'m>, from: isize) {
        assert!(self.inputs == self.memory.len(), "inputs come before outputs");
        let memory = region.memory();
        self.has_gaps |= memory.elements.is_some();
        self.memory.push(Memory { from, ..memory });
        self.inputs += 1;
    }

    /// Adds an output.
    #[inline]
    pub fn write(&mut self, region: RegionMut<'m>) {
        let memory = region.memory();
        self.has_gaps |= memory.elements.is_some();
        self.overlaps |= self.memory.iter().any(|other| other.meets(&memory));
        self.memory.push(memory);
    }

    /// Whether no operand has gaps and no output overlaps another operand.
    #[inline]
    pub fn are_apart(&self) -> bool {
        !self.has_gaps && !self.overlaps
    }

    /// Whether the address range of an output, from its first to its last byte, overlaps that of another operand.
    #[inline]
    pub fn may_overlap(&self) -> bool {
        self.overlaps
    }

    /// The memory of each operand: inputs, then outputs.
    ///
    /// While `self` is borrowed, the memory of inputs may be read and that of outputs written.
    #[inline]
    pub(crate) fn memory(&self) -> (&[Memory<'m>], &[Memory<'m>]) {
        self.memory.split_at(self.inputs)
    }

    /// The inputs and the outputs, reborrowed for as long as `self` is borrowed.
    #[inline]
    pub fn parts(&mut self) -> (InputRegions<'_>, impl Iterator<Item = RegionMut<'_>>) {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        (InputRegions(inputs), outputs.iter().map(|&memory| RegionMut::of_memory(memory)))
    }

    /// The operands with only the first `count` inputs, reborrowed for as long as `self` is borrowed.
    pub fn with_inputs(&mut self, count: usize) -> Operands<'_> {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        let memory = inputs.iter().take(count).chain(outputs).copied().collect();
        Operands { memory, inputs: count.min(self.inputs), ..*self }
    }

    /// Returns the inputs, each with the position that a plan's offsets are relative to, and the outputs as
    /// slices of bytes. `None` if an output has gaps or [may overlap](Operands::may_overlap) another operand.
    #[inline]
    pub fn slices(&mut self) -> Option<(Starts<'_>, SmallVec<[&mut [u8]; 4]>)> {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        let read = inputs.iter().map(|&memory| (Region::of_memory(memory), memory.from)).collect();
        let are_slices = !self.overlaps && outputs.iter().all(|memory| memory.elements.is_none());
        // SAFETY: as long as `self` is borrowed, the bytes of an output are borrowed exclusively; they have no gaps, and no other
        // operand overlaps them (`are_slices`).
        let written =
            |&Memory { start, len, .. }: &Memory<'_>| unsafe { std::slice::from_raw_parts_mut(start, len) };
        are_slices.then(|| (read, outputs.iter().map(written).collect()))
    }

    /// Returns one input, and one output as a slice of bytes. `None` if one of them does not exist or the
    /// operands are not [apart](Operands::are_apart).
    #[inline]
    pub fn pair(&mut self, input: usize, output: usize) -> Option<(Region<'_>, &mut [u8])> {
        let (inputs, outputs) = self.memory.split_at(self.inputs);
        let (&read, &Memory { start, len, .. }) = inputs.get(input).zip(outputs.get(output))?;
        // SAFETY: as in `slices`; `are_apart` implies `are_slices`.
        let written = self.are_apart().then(|| unsafe { std::slice::from_raw_parts_mut(start, len) })?;
        Some((Region::of_memory(read), written))
    }

    /// Calls `body` with the single block of a [linear](LoopPlan::is_linear) plan.
    ///
    /// # Errors
    /// The errors of [`Operands::with_row`], and an error if the plan is not linear.
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

    /// Calls `body` with a block of one row of `elements` elements, at least one, in which each operand has the given layout. If
    /// `level` is not 0, an output has a row of 16 elements for each [node](broadloom_ir::canonical) of that level.
    ///
    /// # Errors
    /// [`NestError::InputShape`] or [`NestError::OutputShape`] if an operand is too short or not aligned to its elements; if an
    /// input is neither contiguous nor uniform, or an output is not contiguous; if there are too few or too many operands; if
    /// the row is not a whole number of nodes; and if the operands are not [apart](Operands::are_apart).
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
        if elements == 0 || !is_whole || !self.are_apart() {
            return Err(wrong(0));
        }
        for RowOperand { item, start, class } in operands {
            let i = bound.len();
            let &Memory { start: memory, len, from, .. } = self.memory.get(i).ok_or(wrong(i))?;
            let start = start.checked_add_signed(from).ok_or(wrong(i))?;
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
        // SAFETY: the checks above show that each pointer is aligned and that the elements of its row are inside its operand's
        // memory, which may be read or written as long as `self` is borrowed, and that no output overlaps another operand
        // (`are_apart`).
        Ok(body(&mut unsafe { Block::new(&bound, raw) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{View, ViewMut, bytes_of, bytes_of_mut};

    #[test]
    fn outputs_that_share_memory_are_not_apart() {
        let mut words = [0_u32; 8];
        let start = words.as_mut_ptr().cast::<u8>();
        // SAFETY: the bytes are those of `words`, which nothing reads or writes here.
        let region =
            |from: usize, to: usize| unsafe { Region::from_raw(start.add(4 * from), 4 * (to - from)) };
        // SAFETY: as for `region`.
        let view =
            |from: usize, len: usize| unsafe { ViewMut::from_raw(start.add(4 * from), 4, &[len], &[4]) };
        let row = |from: usize, len: usize| view(from, len).expect("a row");
        for (from, to, apart) in [(0, 2, true), (5, 8, true), (0, 3, false), (4, 8, false), (3, 4, false)] {
            let mut output = row(2, 3);
            let mut operands = Operands::default();
            operands.read(region(from, to));
            operands.write(RegionMut::of_elements(&mut output));
            assert_eq!(operands.are_apart(), apart, "{from} {to}");
            assert_eq!(operands.may_overlap(), !apart);
            assert_eq!(operands.slices().is_some(), apart);
            assert_eq!(operands.pair(0, 0).is_some(), apart);
            let row = [AccessClass::Contiguous; 2].map(|class| RowOperand { item: 4, start: 0, class });
            assert_eq!(operands.with_row(1, 0, row.into_iter(), |_| ()).is_ok(), apart);
        }
        let (mut first, mut second) = (row(2, 3), row(4, 2));
        let mut operands = Operands::default();
        operands.write(RegionMut::of_elements(&mut first));
        operands.write(RegionMut::of_elements(&mut second));
        assert!(!operands.are_apart());
        let mut third = row(2, 3);
        let mut operands = Operands::default();
        operands.read(region(3, 3));
        operands.write(RegionMut::of_elements(&mut third));
        assert!(operands.are_apart(), "nothing is in nothing");
    }

    #[test]
    fn operands_with_gaps_are_not_apart() {
        let x = [0_u16; 12];
        let every_second = View::new(bytes_of(&x), 2, 0, &[6], &[4]).expect("inside");
        let mut operands = Operands::default();
        operands.read(Region::of_elements(&every_second));
        assert!(!operands.are_apart());
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
            operands.write(RegionMut::of_elements(&mut view));
            assert_eq!(operands.are_apart(), whole, "{shape:?} {strides:?}");
            if let Some((_, outputs)) = operands.slices() {
                assert!(outputs.iter().all(|bytes| bytes.len() == 2 * elements));
            }
        }
    }
}
