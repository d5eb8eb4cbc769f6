//! A block: rows × columns of every operand at once, as the body of a walk sees it.
//!
//! In: pointers and row strides from the walker. Out: slices (safe) or those pointers (for machine code).
//! Must hold: for each row, an input's pointer is valid for reads of `cols` elements (of one for a splat), an
//! output's for writes of `cols`; outputs share no byte with each other, nor (but by `any_alias`) an input.

use std::{fmt, slice};

use broadloom_math::Elem;

use crate::plan::{Class, Op, Plan};

/// How an input is to be read in every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A row's elements follow each other.
    Contiguous,
    /// A row has one element, which stands for all columns; another row may have another.
    Splat,
}

/// Where an input of a block is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawOperand {
    /// The first row.
    pub ptr: *const u8,
    /// Bytes from row to row: any value, 0 included.
    pub row_stride: isize,
}

/// Where an output of a block is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawOperandMut {
    /// The first row.
    pub ptr: *mut u8,
    /// Bytes from row to row: any value.
    pub row_stride: isize,
}

/// The pointers of a block, for machine code.
///
/// For each row `r < rows`, `inputs[i].ptr + r * row_stride` is aligned and valid for reads of `cols`
/// elements, or of one where [`Nest::access`](crate::Nest::access) says [`Access::Splat`], and
/// `outputs[j].ptr + r * row_stride` for reads and writes of `cols`; for nothing outside of that, and only
/// during the call that got the block.
#[derive(Clone, Copy, Debug)]
pub struct RawBlock<'b> {
    /// One per input of the nest.
    pub inputs: &'b [RawOperand],
    /// One per output of the nest.
    pub outputs: &'b [RawOperandMut],
    /// Rows, at least 1.
    pub rows: usize,
    /// Columns, at least 1.
    pub cols: usize,
    /// Whether some input is in place and exactly an output: an element must then be read before it is
    /// written, and never afterwards.
    pub any_alias: bool,
}

/// A row of an input, as a safe body reads it.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'b, T: Elem> {
    /// One element per column.
    Slice(&'b [T::Store]),
    /// The same element for all columns.
    Splat(T::Store),
}

impl<T: Elem> Operand<'_, T> {
    /// The element of a column.
    ///
    /// # Panics
    /// If a slice has no such column.
    #[inline(always)]
    pub fn get(&self, col: usize) -> T {
        match *self {
            Operand::Slice(row) => T::load(row[col]),
            Operand::Splat(value) => T::load(value),
        }
    }
}

/// Rows × columns of every operand.
///
/// A body must write all of each output: what it leaves out is unspecified (an earlier element, say).
pub struct Block<'b> {
    plan: &'b Plan,
    raw: RawBlock<'b>,
}

impl<'b> Block<'b> {
    /// # Safety
    /// The pointers must be what [`RawBlock`] says, by the plan's classes, for `'b`, and used by nobody else
    /// in that time.
    #[inline]
    pub(crate) unsafe fn new(plan: &'b Plan, raw: RawBlock<'b>) -> Block<'b> {
        Block { plan, raw }
    }

    /// Rows, at least 1.
    pub fn rows(&self) -> usize {
        self.raw.rows
    }

    /// Columns, at least 1.
    pub fn cols(&self) -> usize {
        self.raw.cols
    }

    /// A row of an input.
    ///
    /// # Panics
    /// If there is no such input or row, the type's size is not the input's, or the input is an output in
    /// place ([`AliasPolicy::InPlace`](crate::AliasPolicy)).
    #[inline]
    pub fn input<T: Elem>(&self, input: usize, row: usize) -> Operand<'_, T> {
        // SAFETY: the borrow of `self` keeps `output` out.
        unsafe { read_row(self.plan, self.raw, input, row) }
    }

    /// A row of an output, to be written whole.
    ///
    /// # Panics
    /// If there is no such output or row, or the type's size is not the output's.
    #[inline]
    pub fn output<T: Elem>(&mut self, output: usize, row: usize) -> &mut [T::Store] {
        // SAFETY: the exclusive borrow of `self` keeps everything else out.
        unsafe { write_row::<T>(self.plan, self.raw, output, row) }
    }

    /// A row of all inputs and of all outputs at once.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&mut self, row: usize) -> (Inputs<'_>, Outputs<'_>) {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        (Inputs { plan: self.plan, raw: self.raw, row }, Outputs { plan: self.plan, raw: self.raw, row })
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.plan.ops.len() - self.plan.inputs
    }

    /// A row of all inputs, while nothing is written to them.
    #[inline]
    pub(crate) fn inputs(&self, row: usize) -> Inputs<'_> {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        Inputs { plan: self.plan, raw: self.raw, row }
    }

    /// Where a row of an output begins, and its bytes.
    #[inline]
    pub(crate) fn place(&self, output: usize, row: usize) -> (*mut u8, usize) {
        assert!(row < self.raw.rows, "row {row} of a block of {} rows", self.raw.rows);
        let op = &self.plan.ops[self.plan.inputs..][output];
        let place = &self.raw.outputs[output];
        (place.ptr.wrapping_offset(row as isize * place.row_stride), self.raw.cols * op.item())
    }

    /// Whether the operands have these item sizes (and, of inputs, access classes).
    ///
    /// An executor that was prepared for some nest asks this before it trusts a block.
    pub fn matches(
        &self,
        inputs: impl ExactSizeIterator<Item = (usize, Access)>,
        outputs: impl ExactSizeIterator<Item = usize>,
    ) -> bool {
        let (own_inputs, own_outputs) = self.plan.ops.split_at(self.plan.inputs);
        inputs.len() == own_inputs.len()
            && outputs.len() == own_outputs.len()
            && inputs.zip(own_inputs).all(|((item, access), op)| item == op.item() && access == op.access())
            && outputs.zip(own_outputs).all(|(item, op)| item == op.item())
    }

    /// Whether the rows of an output are the caller's memory, which no input shares: neither a tile that is copied
    /// on, nor an input that was just read.
    ///
    /// # Panics
    /// If there is no such output.
    #[inline]
    pub fn is_apart(&self, output: usize) -> bool {
        let (inputs, outputs) = self.plan.ops.split_at(self.plan.inputs);
        outputs[output].class == Class::Row && !inputs.iter().any(|op| op.aliased)
    }

    /// The pointers, for machine code.
    #[inline]
    pub fn raw(&mut self) -> RawBlock<'_> {
        self.raw
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
    plan: &'r Plan,
    raw: RawBlock<'r>,
    row: usize,
}

impl<'r> Inputs<'r> {
    /// The row of an input.
    ///
    /// # Panics
    /// As [`Block::input`].
    #[inline]
    pub fn get<T: Elem>(&self, input: usize) -> Operand<'r, T> {
        // SAFETY: made by `Block::row`, whose exclusive borrow lasts for `'r`; `Outputs` writes to no byte of
        // an input that this function gives out.
        unsafe { read_row(self.plan, self.raw, input, self.row) }
    }

    /// The row of an input as bytes, whatever its type; one element where it serves all columns.
    ///
    /// # Panics
    /// If there is no such input, or it is an output in place.
    #[inline]
    pub fn bytes(&self, input: usize) -> &'r [u8] {
        let op = check_input(self.plan, self.raw, input);
        let elements = if op.class == Class::Splat { 1 } else { self.raw.cols };
        let place = &self.raw.inputs[input];
        let ptr = place.ptr.wrapping_offset(self.row as isize * place.row_stride);
        // SAFETY: `Block::new`'s contract: valid for one element of a splat, else for `cols`, for `'r`, and made by
        // `Block::row` for a row that there is; `Outputs` writes to none of these bytes (`check_input`).
        unsafe { slice::from_raw_parts(ptr, elements * op.item()) }
    }
}

/// A row of every output of a block.
pub struct Outputs<'r> {
    plan: &'r Plan,
    raw: RawBlock<'r>,
    row: usize,
}

impl Outputs<'_> {
    /// The row of an output, to be written whole.
    ///
    /// # Panics
    /// As [`Block::output`].
    #[inline]
    pub fn get<T: Elem>(&mut self, output: usize) -> &mut [T::Store] {
        // SAFETY: made by `Block::row`, whose exclusive borrow outlives this one; one row of one output at a
        // time.
        unsafe { write_row::<T>(self.plan, self.raw, output, self.row) }
    }

    /// The row of an output as bytes, whatever its type, to be written whole.
    ///
    /// # Panics
    /// If there is no such output.
    #[inline]
    pub fn bytes(&mut self, output: usize) -> &mut [u8] {
        let op = &self.plan.ops[self.plan.inputs..][output];
        let place = &self.raw.outputs[output];
        let ptr = place.ptr.wrapping_offset(self.row as isize * place.row_stride);
        // SAFETY: as in `get`: valid for `cols` elements of the operand's size; any bytes are elements (`bool`s are
        // read by their truth).
        unsafe { slice::from_raw_parts_mut(ptr, self.raw.cols * op.item()) }
    }
}

/// # Safety
/// Nothing may write to the input's row for `'r`, but to outputs that are not this input.
#[inline]
unsafe fn read_row<'r, T: Elem>(plan: &Plan, raw: RawBlock<'_>, input: usize, row: usize) -> Operand<'r, T> {
    assert!(row < raw.rows, "row {row} of a block of {} rows", raw.rows);
    let (op, place) = (check_input(plan, raw, input), &raw.inputs[input]);
    check_size::<T>("input", input, op);
    let ptr = place.ptr.wrapping_offset(row as isize * place.row_stride).cast::<T::Store>();
    // SAFETY: `Block::new`'s contract: valid for one element of a splat, else for `cols`; the size is the
    // operand's, and any bytes are a `Store`.
    unsafe {
        match op.class {
            Class::Splat => Operand::Splat(ptr.read()),
            Class::Row | Class::Pack => Operand::Slice(slice::from_raw_parts(ptr, raw.cols)),
        }
    }
}

/// An input that outputs do not write to.
#[inline]
fn check_input<'p>(plan: &'p Plan, raw: RawBlock<'_>, input: usize) -> &'p Op {
    let op = &plan.ops[..plan.inputs][input];
    assert!(
        !(raw.any_alias && op.aliased && op.class == Class::Row),
        "input {input} is an output in place: safe bodies need AliasPolicy::Copy"
    );
    op
}

/// # Safety
/// Nothing else may use the output's row for `'r`.
#[inline]
unsafe fn write_row<'r, T: Elem>(
    plan: &Plan,
    raw: RawBlock<'_>,
    output: usize,
    row: usize,
) -> &'r mut [T::Store] {
    assert!(row < raw.rows, "row {row} of a block of {} rows", raw.rows);
    let (op, place) = (&plan.ops[plan.inputs..][output], &raw.outputs[output]);
    check_size::<T>("output", output, op);
    let ptr = place.ptr.wrapping_offset(row as isize * place.row_stride).cast::<T::Store>();
    // SAFETY: `Block::new`'s contract: valid for `cols` elements of this size; any bytes are a `Store`, and
    // it has no padding.
    unsafe { slice::from_raw_parts_mut(ptr, raw.cols) }
}

#[inline]
fn check_size<T: Elem>(what: &str, number: usize, op: &Op) {
    assert!(
        size_of::<T>() == op.item(),
        "{what} {number} has elements of {} bytes, {} has {}",
        op.item(),
        T::DTYPE,
        size_of::<T>()
    );
}
