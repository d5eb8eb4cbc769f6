//! A block: the same rows and columns of every operand of a nest. The walk over a nest passes one block after the other to the
//! loop body.
//!
//! Safe bodies access the rows as slices, machine code through pointers. The pointer to a row of an input is valid for reads of
//! `cols` elements (of one element if the input is uniform), the pointer to a row of an output for writes of `cols` elements.
//! Outputs do not overlap each other, and overlap inputs only if `any_alias` is set.

use std::ops::Range;
use std::{fmt, slice};

use broadloom_ir::canonical::LANES;
use broadloom_ir::loop_plan::{Access, AccessClass};
use broadloom_math::Elem;
use smallvec::SmallVec;

use crate::ahead::ask_ahead;
use crate::alias::{AliasPolicy, rows_of_states};
use crate::operand::BoundOperand;
use crate::slab::StepRows;

/// The location in memory of a block's rows of one operand.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawOperand {
    /// The address of the first row. Inputs are only read.
    pub ptr: *mut u8,
    /// The distance in bytes from one row to the next, which may be negative or 0.
    pub row_stride: isize,
}

/// The pointers of a block, for machine code.
///
/// For each row `r < rows` of an input, the address `ptr + r * row_stride` is aligned and valid for reads of `cols` elements, or
/// of one element if the input's [access](crate::Nest::accesses) is [`Access::Splat`]. The address of an output's row is valid
/// for reads and writes of `cols` elements, or of `cols >> level` elements if the block has a [level](Block::level). No other
/// bytes may be accessed, and none after the return of the call that received the block.
///
/// Under [`AliasPolicy::Stepped`](crate::AliasPolicy) the positions of an input's `cols` elements are given by its [stepped
/// access](crate::Nest::stepped_accesses). If that is every second element, a skipped element is in the same page as the
/// element before or after it, so it can be loaded; its value must not be used, since another thread may be writing it.
#[derive(Clone, Copy, Debug)]
pub struct RawBlock<'b> {
    /// The location of each operand: inputs, then outputs.
    pub operands: &'b [RawOperand],
    /// The number of rows, at least 1.
    pub rows: usize,
    /// The number of columns, at least 1.
    pub cols: usize,
    /// The number of operands that are inputs.
    pub inputs: usize,
    /// The linear index of the block's first element in the index space of the nest.
    pub first: usize,
    /// The difference between the linear indices of one row's first element and the next row's.
    pub row_step: usize,
    /// The level of the reduction tree's nodes (partial results of groups of elements) that the outputs
    /// receive, or 0 if the outputs receive elements (see [`Block::level`]).
    pub level: u8,
    /// Whether some input that is also an output is used in place. If so, each element must be read before it
    /// is written, and never afterwards.
    pub any_alias: bool,
    /// Whether stepped inputs (reversed, or every second element) are read in place instead of being packed into tiles.
    pub reads_steps: bool,
}

/// One row of an input, for bodies in safe Rust: a slice with an element for each column, or one element for all columns.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'b, T: Elem> {
    /// The elements of the row, one per column.
    Slice(&'b [T::Store]),
    /// A single element, used for all columns.
    Splat(T::Store),
}

impl<T: Elem> Operand<'_, T> {
    /// The element in column `col`.
    ///
    /// # Panics
    /// If the row is a slice that has no such column.
    #[inline(always)]
    pub fn get(&self, col: usize) -> T {
        match *self {
            Operand::Slice(row) => T::load(row[col]),
            Operand::Splat(value) => T::load(value),
        }
    }
}

/// A block: rows × columns of every operand.
///
/// A body must write every element of each output: an element that it does not write has an unspecified value, perhaps that of
/// an earlier block.
pub struct Block<'b> {
    /// The operands: inputs, then outputs.
    bound: &'b [BoundOperand],
    raw: RawBlock<'b>,
}

impl<'b> Block<'b> {
    /// Makes a block from pointers.
    ///
    /// # Safety
    /// There must be as many pointers as operands. For `'b`, they must be valid as [`RawBlock`] describes for
    /// the access class of each operand, and nothing else may use their memory.
    #[inline]
    pub(crate) unsafe fn new(bound: &'b [BoundOperand], raw: RawBlock<'b>) -> Block<'b> {
        Block { bound, raw }
    }

    /// The bound inputs, and the bound outputs.
    #[inline]
    fn bound(&self) -> (&'b [BoundOperand], &'b [BoundOperand]) {
        self.bound.split_at(self.raw.inputs)
    }

    /// The number of rows, at least 1.
    pub fn rows(&self) -> usize {
        self.raw.rows
    }

    /// The number of columns, at least 1.
    pub fn cols(&self) -> usize {
        self.raw.cols
    }

    /// The position of a row's first element in row-major order. The loop plan of the nest must be [in
    /// order](broadloom_ir::loop_plan::LoopPlan::in_order).
    #[inline]
    pub fn first_of(&self, row: usize) -> usize {
        self.raw.first + row * self.raw.row_step
    }

    /// The operands of some rows and columns of a block that has only inputs.
    fn part(&self, rows: &Range<usize>, cols: &Range<usize>) -> SmallVec<[RawOperand; 6]> {
        let raw = self.raw;
        assert!(raw.inputs == self.bound.len() && !raw.reads_steps, "a block without outputs and steps");
        assert!(rows.start < rows.end && rows.end <= raw.rows, "rows {rows:?} of {}", raw.rows);
        assert!(cols.start < cols.end && cols.end <= raw.cols, "columns {cols:?} of {}", raw.cols);
        let placed = |(operand, place): (&BoundOperand, &RawOperand)| {
            let ptr = place.ptr.wrapping_offset(rows.start as isize * place.row_stride);
            RawOperand { ptr: ptr.wrapping_add(cols.start * operand.step()), ..*place }
        };
        self.bound.iter().zip(raw.operands).map(placed).collect()
    }

    /// Calls `body` with the elements of a row of this block, which has only inputs, as rows of a single column.
    ///
    /// # Panics
    /// If there is no such row; or if this block has outputs or reads stepped inputs in place.
    pub fn with_row_as_column<R>(&mut self, row: usize, body: impl FnOnce(&mut Block<'_>) -> R) -> R {
        let mut places = self.part(&(row..row + 1), &(0..self.raw.cols));
        for (place, operand) in places.iter_mut().zip(self.bound) {
            place.row_stride = operand.step() as isize;
        }
        let first = self.first_of(row);
        let raw =
            RawBlock { operands: &places, rows: self.raw.cols, cols: 1, first, row_step: 1, ..self.raw };
        // SAFETY: the elements are those of a row of this block, which is borrowed exclusively; a uniform input has one for all of
        // them, and the elements of other inputs are contiguous.
        body(&mut unsafe { Block::new(self.bound, raw) })
    }

    /// Calls `body` with the given rows and columns of this block, which has only inputs, and with the given
    /// outputs. Each output is a pair: its memory, which its rows fill in order and without gaps, and the
    /// size of its elements in bytes. If `level` is not 0, a row of an output has 16 elements for each
    /// [node](broadloom_ir::canonical) of that level of the reduction tree.
    ///
    /// # Panics
    /// If the rows or columns are out of range or empty; if the level is not 0 and there are several rows or
    /// the columns are not a whole number of nodes; if the memory of an output is too small or not aligned to
    /// its elements; or if this block has outputs or reads stepped inputs in place.
    pub fn with_outputs<'o, R>(
        &mut self,
        rows: Range<usize>,
        cols: Range<usize>,
        level: u8,
        outputs: impl Iterator<Item = (&'o mut [u8], usize)>,
        body: impl FnOnce(&mut Block<'_>) -> R,
    ) -> R {
        let (raw, mut places) = (self.raw, self.part(&rows, &cols));
        let whole = level == 0 || level < 32 && rows.len() == 1 && cols.len().is_multiple_of(LANES << level);
        assert!(whole, "whole nodes of one row");
        let mut bound: SmallVec<[BoundOperand; 6]> = self.bound.into();
        for (memory, item) in outputs {
            let row = (cols.len() >> level) * item;
            let ptr = memory.as_mut_ptr();
            let fits = rows.len().checked_mul(row).is_some_and(|bytes| bytes <= memory.len());
            assert!(
                fits && matches!(item, 1 | 2 | 4 | 8) && ptr.addr() & (item - 1) == 0,
                "memory for an output"
            );
            bound.push(BoundOperand::in_memory(ptr, item, AccessClass::Packed));
            places.push(RawOperand { ptr, row_stride: row as isize });
        }
        let raw = RawBlock {
            operands: &places,
            rows: rows.len(),
            cols: cols.len(),
            level,
            first: self.first_of(rows.start) + cols.start,
            ..raw
        };
        // SAFETY: the rows and columns are in the block, which is borrowed exclusively. Outputs are borrowed exclusively, each has
        // memory of its own, and the checks above show that it has room for what is written to it.
        body(&mut unsafe { Block::new(&bound, raw) })
    }

    /// Calls `body` with the rows of this block, which has only inputs, as steps that carry states from row to row. Each state is
    /// a pair: its memory, in whose first row is the state before the first of these rows, and the size of its elements in
    /// bytes. It becomes an input before those of this block, and an output before `outputs`. If the executor's policy is to
    /// copy shared inputs, the row after that of a step is the state after this step; otherwise each step overwrites the
    /// state. The memory of an output is described by [`StepRows`].
    ///
    /// Executors compute the rows of a block in order, or all rows of some columns before those of others, so that each step reads
    /// what the step before it has written.
    ///
    /// # Panics
    /// If the memory of a state has too few rows ([`rows_of_states`](crate::rows_of_states)) or is not aligned to its elements; if an output
    /// has other rows or columns; or if this block has outputs or reads stepped inputs in place.
    pub fn with_states<'o, R>(
        &mut self,
        states: impl Iterator<Item = (&'o mut [u8], usize)>,
        outputs: impl Iterator<Item = StepRows<'o>>,
        policy: AliasPolicy,
        body: impl FnOnce(&mut Block<'_>) -> R,
    ) -> R {
        let raw = self.raw;
        let (rows, cols) = (raw.rows, raw.cols);
        let (of_states, any_alias) = (rows_of_states(policy, rows), policy != AliasPolicy::Copy);
        let own = self.part(&(0..rows), &(0..cols));
        let (mut bound, mut next): (SmallVec<[BoundOperand; 6]>, SmallVec<[BoundOperand; 2]>) =
            Default::default();
        let (mut places, mut after): (SmallVec<[RawOperand; 6]>, SmallVec<[RawOperand; 2]>) =
            Default::default();
        for (memory, item) in states {
            let row = cols.saturating_mul(item);
            let ptr = memory.as_mut_ptr();
            let fits = of_states.checked_mul(row).is_some_and(|bytes| bytes <= memory.len());
            assert!(
                fits && matches!(item, 1 | 2 | 4 | 8) && ptr.addr() & (item - 1) == 0,
                "memory for a state"
            );
            let mut state = BoundOperand::in_memory(ptr, item, AccessClass::Contiguous);
            let row_stride = if any_alias { 0 } else { row as isize };
            places.push(RawOperand { ptr, row_stride });
            if any_alias {
                state.alias();
            }
            bound.push(state);
            let ptr = ptr.wrapping_add(row_stride as usize);
            next.push(BoundOperand::in_memory(ptr, item, AccessClass::Packed));
            after.push(RawOperand { ptr, row_stride });
        }
        let inputs = bound.len() + raw.inputs;
        bound.extend_from_slice(self.bound);
        bound.extend(next);
        places.extend(own);
        places.extend(after);
        for StepRows { ptr, item, row_stride, rows: high, cols: wide, .. } in outputs {
            assert!(high == rows && wide == cols, "rows for an output");
            bound.push(BoundOperand::in_memory(ptr, item, AccessClass::Packed));
            places.push(RawOperand { ptr, row_stride });
        }
        let raw = RawBlock { operands: &places, inputs, any_alias, ..raw };
        // SAFETY: the block is borrowed exclusively, and so is the memory of states and outputs. The checks above show that it has
        // room for what is written to it. The rows of a state's input and output overlap within a row of the block only if the block
        // says so; a body has the memory of one row at a time.
        body(&mut unsafe { Block::new(&bound, raw) })
    }

    /// Prefetches the memory that is [`AHEAD`](crate::AHEAD) bytes after the given columns of a row, for each input that is
    /// contiguous in the caller's memory.
    ///
    /// # Panics
    /// If there is no such row, or an input is also an output and used in place.
    pub fn ask_ahead(&self, row: usize, cols: Range<usize>) {
        for (i, operand) in self.bound().0.iter().enumerate().filter(|o| o.1.class == AccessClass::Contiguous)
        {
            let (bytes, item) = (self.inputs(row).bytes(i), operand.item());
            ask_ahead(bytes, cols.start * item, cols.len() * item);
        }
    }

    /// The level of the reduction tree's [nodes](broadloom_ir::canonical) that the outputs receive. If it is not 0, each output
    /// has a row of 16 elements for each node of 16 · 2^level columns; such a block has one row and a whole number of nodes. If
    /// it is 0, outputs have an element for each column.
    #[inline]
    pub fn level(&self) -> u8 {
        self.raw.level
    }

    /// A row of an input.
    ///
    /// # Panics
    /// If there is no such input or row; if the size of the type is not that of the input's elements; or if the input is read in
    /// place and is either also an output or stepped ([`AliasPolicy`](crate::AliasPolicy)).
    #[inline]
    pub fn input<T: Elem>(&self, input: usize, row: usize) -> Operand<'_, T> {
        // SAFETY: `self` is borrowed as long as the row, so that `Block::output` and `Block::row`, which borrow it exclusively,
        // can't return a writable row in that time.
        unsafe { read_row(self.bound().0, self.raw, input, row) }
    }

    /// A row of an output. The caller has to write all of its elements.
    ///
    /// # Panics
    /// If there is no such output or row, or the type's size differs from the size of the output's elements.
    #[inline]
    pub fn output<T: Elem>(&mut self, output: usize, row: usize) -> &mut [T::Store] {
        // SAFETY: `self` is borrowed exclusively as long as the row, so that no other row of the block is accessible.
        unsafe { write_row::<T>(self.bound().1, self.raw, output, row) }
    }

    /// The given row of all inputs and all outputs.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&mut self, row: usize) -> (Inputs<'_>, Outputs<'_>) {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        let ((inputs, outputs), raw) = (self.bound(), self.raw);
        (Inputs { operands: inputs, raw, row }, Outputs { operands: outputs, raw, row })
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.bound.len() - self.raw.inputs
    }

    /// The given row of all inputs. The outputs can't be written while it is in use.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn inputs(&self, row: usize) -> Inputs<'_> {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        Inputs { operands: self.bound().0, raw: self.raw, row }
    }

    /// The address of a row of an output, and its length in bytes.
    #[inline]
    pub(crate) fn place(&self, output: usize, row: usize) -> (*mut u8, usize) {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        let (operand, place) = (&self.bound().1[output], self.raw.output(output));
        (place.ptr.wrapping_offset(row as isize * place.row_stride), self.raw.written() * operand.item())
    }

    /// Whether the operands have the given element sizes in bytes, and the inputs also the given access classes.
    ///
    /// An executor that was prepared for a nest checks this before it relies on a block's types.
    pub fn matches(
        &self,
        inputs: impl ExactSizeIterator<Item = (usize, Access)>,
        outputs: impl ExactSizeIterator<Item = usize>,
    ) -> bool {
        let (read, written) = self.bound();
        inputs.len() == read.len()
            && outputs.len() == written.len()
            && inputs
                .zip(read)
                .all(|((item, access), own)| item == own.item() && access == own.access(self.raw.reads_steps))
            && outputs.zip(written).all(|(item, own)| item == own.item())
    }

    /// Whether the rows of an output overlap no input and are in the caller's memory. (An output's rows may also be in a tile,
    /// which is copied to the caller's memory afterwards.)
    ///
    /// # Panics
    /// If there is no such output.
    #[inline]
    pub fn is_apart(&self, output: usize) -> bool {
        let (inputs, outputs) = self.bound();
        outputs[output].class == AccessClass::Contiguous && !inputs.iter().any(|input| input.aliased)
    }

    /// The block's pointers, for machine code.
    #[inline]
    pub fn raw(&mut self) -> RawBlock<'_> {
        self.raw
    }
}

impl<'b> RawBlock<'b> {
    #[inline]
    fn input(&self, input: usize) -> &'b RawOperand {
        &self.operands[..self.inputs][input]
    }

    #[inline]
    fn output(&self, output: usize) -> &'b RawOperand {
        &self.operands[self.inputs..][output]
    }

    /// The number of elements in a row of an output.
    #[inline]
    fn written(&self) -> usize {
        self.cols >> self.level
    }
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Block").field(&self.raw).finish()
    }
}

/// A row of every input of a block.
#[derive(Clone, Copy)]
pub struct Inputs<'r> {
    operands: &'r [BoundOperand],
    raw: RawBlock<'r>,
    row: usize,
}

impl<'r> Inputs<'r> {
    /// The row of an input.
    ///
    /// # Panics
    /// In the same cases as [`Block::input`].
    #[inline]
    pub fn get<T: Elem>(&self, input: usize) -> Operand<'r, T> {
        // SAFETY: only `Block::row` and `Block::inputs` make an `Inputs`, and it borrows the block for `'r`. Only the `Outputs`
        // of the same call write in that time. They do not overlap the input, because `check_input` panics for an input that
        // overlaps an output.
        unsafe { read_row(self.operands, self.raw, input, self.row) }
    }

    /// The row of an input as bytes, whatever its type. For a uniform input these are the bytes of its single element.
    ///
    /// # Panics
    /// If there is no such input, or if the input is used in place and is either also an output or stepped.
    #[inline]
    pub fn bytes(&self, input: usize) -> &'r [u8] {
        let operand = check_input(self.operands, self.raw, input);
        let elements = if operand.class == AccessClass::Uniform { 1 } else { self.raw.cols };
        let place = self.raw.input(input);
        let ptr = place.ptr.wrapping_offset(self.row as isize * place.row_stride);
        // SAFETY: `Block::row` and `Block::inputs` checked that the row exists. For `'r`, its pointer is valid for one element
        // if the input is uniform, and for `cols` contiguous elements if it is not (`RawBlock`). The `Outputs` of the same call
        // write to none of these bytes: `check_input` panics for an input that overlaps an output or is stepped.
        unsafe { slice::from_raw_parts(ptr, elements * operand.item()) }
    }
}

/// A row of every output of a block.
pub struct Outputs<'r> {
    operands: &'r [BoundOperand],
    raw: RawBlock<'r>,
    row: usize,
}

impl Outputs<'_> {
    /// The row of an output. The caller has to write all of its elements.
    ///
    /// # Panics
    /// In the same cases as [`Block::output`].
    #[inline]
    pub fn get<T: Elem>(&mut self, output: usize) -> &mut [T::Store] {
        // SAFETY: only `Block::row` makes an `Outputs`, one at a time, since it borrows the block exclusively for `'r`; `self` is
        // borrowed exclusively as long as the row, so that no second row is accessible, and `Inputs` gives access to no byte of
        // an output.
        unsafe { write_row::<T>(self.operands, self.raw, output, self.row) }
    }

    /// The row of an output as bytes, whatever its type. The caller has to write all of them.
    ///
    /// # Panics
    /// If there is no such output.
    #[inline]
    pub fn bytes(&mut self, output: usize) -> &mut [u8] {
        let (operand, place) = (&self.operands[output], self.raw.output(output));
        let ptr = place.ptr.wrapping_offset(self.row as isize * place.row_stride);
        // SAFETY: the row is accessible only here, as in `get`; `Block::row` checked that it exists, and its pointer is valid for
        // `written` elements of the operand's size (`RawBlock`). Any bytes are valid elements; in an output of bools, every byte
        // but 0 means true.
        unsafe { slice::from_raw_parts_mut(ptr, self.raw.written() * operand.item()) }
    }
}

/// Reads a row of an input as a slice, or as a single element if the input is uniform.
///
/// # Safety
/// The block must be valid for `'r`, and nothing may write to the input's row in that time. Outputs that do
/// not overlap it may be written.
#[inline]
unsafe fn read_row<'r, T: Elem>(
    operands: &[BoundOperand],
    raw: RawBlock<'_>,
    input: usize,
    row: usize,
) -> Operand<'r, T> {
    assert!(row < raw.rows, "row {row} of a block of {} rows", raw.rows);
    let (operand, place) = (check_input(operands, raw, input), raw.input(input));
    check_size::<T>("input", input, operand);
    let ptr = place.ptr.wrapping_offset(row as isize * place.row_stride).cast::<T::Store>();
    // SAFETY: the row exists. Its pointer is valid for reads of one element if the input is uniform, and of `cols` contiguous
    // elements if it is not (`RawBlock`), in place or in a tile; `check_input` panics for every other access. The size of the
    // type was checked, and any bytes are a valid `Store`.
    unsafe {
        match operand.class {
            AccessClass::Uniform => Operand::Splat(ptr.read()),
            AccessClass::Contiguous | AccessClass::Packed | AccessClass::Stepped(_) => {
                Operand::Slice(slice::from_raw_parts(ptr, raw.cols))
            }
        }
    }
}

/// The operand of the input with this index. Panics if the input is read in place and is either also an output or stepped.
#[inline]
fn check_input<'o>(operands: &'o [BoundOperand], raw: RawBlock<'_>, input: usize) -> &'o BoundOperand {
    let operand = &operands[input];
    assert!(
        !(raw.any_alias && operand.is_shared()),
        "input {input} is an output in place: safe bodies need AliasPolicy::Copy"
    );
    assert!(
        !operand.access(raw.reads_steps).is_stepped(),
        "input {input} has a step in place: safe bodies need AliasPolicy::Copy"
    );
    operand
}

/// Borrows a row of an output as a slice to be written.
///
/// # Safety
/// The block must be valid for `'r`, and nothing else may use the output's row in that time.
#[inline]
unsafe fn write_row<'r, T: Elem>(
    operands: &[BoundOperand],
    raw: RawBlock<'_>,
    output: usize,
    row: usize,
) -> &'r mut [T::Store] {
    assert!(row < raw.rows, "row {row} of a block of {} rows", raw.rows);
    let (operand, place) = (&operands[output], raw.output(output));
    check_size::<T>("output", output, operand);
    let ptr = place.ptr.wrapping_offset(row as isize * place.row_stride).cast::<T::Store>();
    // SAFETY: the row exists, and its pointer is valid for reads and writes of `written` elements (`RawBlock`), which nothing
    // else uses (the contract). The size of the type was checked, any bytes are a valid `Store`, and a `Store` has no padding.
    unsafe { slice::from_raw_parts_mut(ptr, raw.written()) }
}

#[inline]
fn check_size<T: Elem>(what: &str, number: usize, operand: &BoundOperand) {
    assert!(
        size_of::<T>() == operand.item(),
        "{what} {number} has elements of {} bytes, {} has {}",
        operand.item(),
        T::DTYPE,
        size_of::<T>()
    );
}
