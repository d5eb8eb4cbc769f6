//! The walk itself: from units of work to blocks.
//!
//! In: a plan, a range of units, scratch memory. Out: one call of the body per block.
//! Must hold: each element of the units is in exactly one block; what a block's pointers say is valid, packed
//! inputs are filled before the call and packed outputs written to memory after it.

use std::ops::{ControlFlow, Range};

use smallvec::SmallVec;

use crate::block::{Block, RawBlock, RawOperand, RawOperandMut};
use crate::linear::Linear;
use crate::nest::{AliasPolicy, Body};
use crate::overlap::Dims;
use crate::pack::{SLACK, Strided, Tile, by_item, gather, scatter};
use crate::plan::{Class, Mode, Op, Plan};
use crate::scratch::Scratch;

/// Bytes between the rows of a packed tile that are not used, to spread its rows over the cache's sets.
const PAD: usize = 64;

/// Runs the units.
///
/// # Safety
/// The plan's views must still be borrowed, and no one else may run any of these units, or read what they
/// write, meanwhile.
pub(crate) unsafe fn run(
    plan: &Plan,
    units: Range<usize>,
    policy: AliasPolicy,
    scratch: &mut Scratch,
    body: Body<'_>,
) -> ControlFlow<()> {
    if units.is_empty() {
        return ControlFlow::Continue(());
    }
    let in_place = plan.ops[..plan.inputs].iter().any(|op| op.aliased && op.class == Class::Row);
    let copy = in_place && policy == AliasPolicy::Copy;
    let mut walk = Walk {
        plan,
        copy,
        any_alias: in_place && !copy,
        inputs: SmallVec::new(),
        outputs: SmallVec::new(),
        body,
    };
    for op in &plan.ops[..plan.inputs] {
        walk.inputs.push(RawOperand { ptr: op.ptr, row_stride: 0 });
    }
    for op in &plan.ops[plan.inputs..] {
        walk.outputs.push(RawOperandMut { ptr: op.ptr, row_stride: 0 });
    }
    if let ([_], Mode::Direct, false) = (&plan.dims[..], plan.mode, copy) {
        let (start, end) = walk.linear(units);
        for i in 0..plan.ops.len() {
            walk.set(i, plan.ops[i].ptr.wrapping_offset(start as isize * plan.inner(i)), 0);
        }
        // SAFETY: one row of elements start..end of each operand.
        return unsafe { walk.call(1, end - start) };
    }
    // SAFETY: the contract is handed on.
    unsafe {
        match plan.mode {
            Mode::Direct => walk.direct(units, scratch),
            Mode::Tiled => walk.tiled(units, scratch),
            Mode::Flat => walk.flat(units, scratch),
        }
    }
}

struct Walk<'w> {
    plan: &'w Plan,
    /// Whether inputs that alias an output are copied.
    copy: bool,
    any_alias: bool,
    inputs: SmallVec<[RawOperand; 4]>,
    outputs: SmallVec<[RawOperandMut; 2]>,
    body: Body<'w>,
}

/// A position in the outer dimensions.
struct Odometer<'w> {
    dims: &'w [usize],
    index: Dims<usize>,
}

impl<'w> Odometer<'w> {
    fn new(dims: &'w [usize], mut linear: usize) -> Odometer<'w> {
        let mut index = Dims::from_elem(0, dims.len());
        for (index, &extent) in index.iter_mut().zip(dims).rev() {
            (linear, *index) = (linear / extent, linear % extent);
        }
        Odometer { dims, index }
    }

    fn advance(&mut self) {
        for (index, &extent) in self.index.iter_mut().zip(self.dims).rev() {
            *index += 1;
            if *index < extent {
                return;
            }
            *index = 0;
        }
    }

    /// An operand's pointer at this position, with the given indices in the last two dimensions.
    fn at(&self, plan: &Plan, op: usize, row: usize, col: usize) -> *mut u8 {
        let steps = self.index.iter().zip(plan.strides(op)).map(|(&i, &stride)| i as isize * stride);
        let in_rows = row as isize * plan.row_stride(op) + col as isize * plan.inner(op);
        plan.ops[op].ptr.wrapping_offset(steps.sum::<isize>() + in_rows)
    }
}

impl Walk<'_> {
    /// Whether operand `i` is copied to or from a tile.
    fn packs(&self, op: &Op) -> bool {
        op.class == Class::Pack || (self.copy && op.aliased && op.class == Class::Row)
    }

    /// The linear indices of the units, but in tiled mode.
    #[inline]
    fn linear(&self, units: Range<usize>) -> (usize, usize) {
        (self.plan.elements_before(units.start), self.plan.elements_before(units.end))
    }

    /// Points operand `i` at its block.
    #[inline]
    fn set(&mut self, i: usize, ptr: *mut u8, row_stride: isize) {
        match i.checked_sub(self.plan.inputs) {
            None => self.inputs[i] = RawOperand { ptr, row_stride },
            Some(j) => self.outputs[j] = RawOperandMut { ptr, row_stride },
        }
    }

    /// Calls the body.
    ///
    /// # Safety
    /// All pointers must be set for a block of this size.
    #[inline]
    unsafe fn call(&mut self, rows: usize, cols: usize) -> ControlFlow<()> {
        let raw =
            RawBlock { inputs: &self.inputs, outputs: &self.outputs, rows, cols, any_alias: self.any_alias };
        // SAFETY: the pointers are valid for this call (the contract), and no one but the body has them.
        (self.body)(&mut unsafe { Block::new(self.plan, raw) })
    }

    /// # Safety
    /// As [`run`].
    #[inline(never)]
    unsafe fn direct(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (start, end) = self.linear(units);
        let tiles = match self.copy.then(|| self.copies(scratch)) {
            Some(None) => return ControlFlow::Break(()),
            tiles => tiles.flatten(),
        };
        let (down, cols) = plan.rows_and_cols();
        let outer = &plan.dims[..plan.dims.len().saturating_sub(2)];
        let mut odometer = Odometer::new(outer, start / cols / down);
        let (mut row, mut col, mut left) = (start / cols % down, start % cols, end - start);
        while left > 0 {
            // The rest of a row, or as many whole rows as there are, or the start of a row.
            let (rows, width) = if col > 0 || left < cols {
                (1, left.min(cols - col))
            } else {
                ((left / cols).min(down - row), cols)
            };
            for i in 0..plan.ops.len() {
                self.set(i, odometer.at(plan, i, row, col), plan.row_stride(i));
            }
            // SAFETY: rows row.. and columns col.. of each operand, all in the part's range.
            unsafe {
                match &tiles {
                    None => self.call(rows, width)?,
                    Some(tiles) => self.copied(rows, width, tiles)?,
                }
            }
            left -= rows * width;
            col += width;
            if col == cols {
                (row, col) = (row + rows, 0);
            }
            if row == down {
                row = 0;
                odometer.advance();
            }
        }
        ControlFlow::Continue(())
    }

    /// Tiles for the inputs that are to be copied in direct mode, unless memory for them is refused.
    fn copies(&self, scratch: &mut Scratch) -> Option<SmallVec<[*mut u8; 4]>> {
        let (rows, cols) = self.plan.tile;
        let size = |op: &Op| if self.packs(op) { rows * cols * op.item() + SLACK } else { 0 };
        let sizes: SmallVec<[usize; 4]> = self.plan.ops.iter().map(size).collect();
        scratch.regions(&sizes)
    }

    /// Calls the body for a block whose aliased inputs are copied, tile by tile.
    ///
    /// # Safety
    /// As [`Walk::call`]; the tiles must be those of [`Walk::copies`].
    unsafe fn copied(&mut self, rows: usize, cols: usize, tiles: &[*mut u8]) -> ControlFlow<()> {
        let plan = self.plan;
        let whole: SmallVec<[Strided; 4]> = (0..plan.ops.len())
            .map(|i| {
                let (ptr, row_stride) = match i.checked_sub(plan.inputs) {
                    None => (self.inputs[i].ptr.cast_mut(), self.inputs[i].row_stride),
                    Some(j) => (self.outputs[j].ptr, self.outputs[j].row_stride),
                };
                Strided { ptr, row_stride, col_stride: plan.inner(i) }
            })
            .collect();
        let (high, wide) = plan.tile;
        for row in (0..rows).step_by(high) {
            for col in (0..cols).step_by(wide) {
                let (rows, cols) = (high.min(rows - row), wide.min(cols - col));
                for (i, (op, &from)) in plan.ops.iter().zip(&whole).enumerate() {
                    let ptr = from
                        .ptr
                        .wrapping_offset(row as isize * from.row_stride + col as isize * from.col_stride);
                    if self.packs(op) {
                        let tile = Tile { ptr: tiles[i], pitch: cols * op.item() };
                        // SAFETY: a part of the block, and a tile that was made for this size.
                        unsafe { by_item!(op.item(), gather(Strided { ptr, ..from }, tile, rows, cols)) }
                        self.set(i, tile.ptr, tile.pitch as isize);
                    } else {
                        self.set(i, ptr, from.row_stride);
                    }
                }
                // SAFETY: the pointers are set to a part of the block.
                unsafe { self.call(rows, cols)? }
            }
        }
        ControlFlow::Continue(())
    }

    /// # Safety
    /// As [`run`].
    #[inline(never)]
    unsafe fn tiled(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (down, across) = plan.rows_and_cols();
        let (high, wide) = plan.tile;
        let pitch = |op: &Op| wide * op.item() + PAD;
        let sizes: SmallVec<[usize; 4]> =
            plan.ops.iter().map(|op| if self.packs(op) { high * pitch(op) + SLACK } else { 0 }).collect();
        let Some(tiles) = scratch.regions(&sizes) else { return ControlFlow::Break(()) };
        let (groups_across, groups_down) = (across.div_ceil(plan.unit), down.div_ceil(high));
        let first = units.start / groups_across;
        let outer = &plan.dims[..plan.dims.len().saturating_sub(2)];
        let mut odometer = Odometer::new(outer, first / groups_down);
        for unit in units {
            let (group_row, group_col) = (unit / groups_across % groups_down, unit % groups_across);
            let row = group_row * high;
            let rows = high.min(down - row);
            let cols_end = across.min((group_col + 1) * plan.unit);
            for col in (group_col * plan.unit..cols_end).step_by(wide) {
                let cols = wide.min(cols_end - col);
                for (i, op) in plan.ops.iter().enumerate() {
                    let ptr = odometer.at(plan, i, row, col);
                    let from = Strided { ptr, row_stride: plan.row_stride(i), col_stride: plan.inner(i) };
                    if !self.packs(op) {
                        self.set(i, ptr, from.row_stride);
                        continue;
                    }
                    let tile = Tile { ptr: tiles[i], pitch: pitch(op) };
                    if i >= plan.inputs {
                        self.set(i, tile.ptr, tile.pitch as isize);
                    } else if from.row_stride == 0 {
                        // One row stands for all.
                        // SAFETY: the first row of the block, and a tile that was made for this size.
                        unsafe { by_item!(op.item(), gather(from, tile, 1, cols)) }
                        self.set(i, tile.ptr, 0);
                    } else {
                        // SAFETY: the block, and a tile that was made for this size.
                        unsafe { by_item!(op.item(), gather(from, tile, rows, cols)) }
                        self.set(i, tile.ptr, tile.pitch as isize);
                    }
                }
                // SAFETY: all pointers are set to a block of this size.
                let flow = unsafe { self.call(rows, cols) };
                for (i, op) in plan.ops.iter().enumerate().skip(plan.inputs).filter(|(_, op)| self.packs(op))
                {
                    let ptr = odometer.at(plan, i, row, col);
                    let to = Strided { ptr, row_stride: plan.row_stride(i), col_stride: plan.inner(i) };
                    let tile = Tile { ptr: tiles[i], pitch: pitch(op) };
                    // SAFETY: the block's elements of an output, which are this part's, and its tile.
                    unsafe { by_item!(op.item(), scatter(tile, to, rows, cols)) }
                }
                flow?;
            }
            if (group_row + 1, group_col + 1) == (groups_down, groups_across) {
                odometer.advance();
            }
        }
        ControlFlow::Continue(())
    }

    /// # Safety
    /// As [`run`].
    #[inline(never)]
    unsafe fn flat(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (start, end) = self.linear(units);
        let wide = plan.tile.1;
        let sizes: SmallVec<[usize; 4]> =
            plan.ops.iter().map(|op| if self.packs(op) { wide * op.item() + SLACK } else { 0 }).collect();
        let Some(tiles) = scratch.regions(&sizes) else { return ControlFlow::Break(()) };
        let table = &mut scratch.table;
        table.clear();
        let walks: SmallVec<[Option<Linear>; 4]> = (plan.ops.iter().enumerate())
            .map(|(i, op)| self.packs(op).then(|| Linear::new(&plan.dims, plan.strides(i), table)))
            .collect();
        let table = &table[..];
        for (i, (op, walk)) in plan.ops.iter().zip(&walks).enumerate() {
            match walk {
                None => self.set(i, op.ptr, 0),
                Some(_) => self.set(i, tiles[i], 0),
            }
        }
        for at in (start..end).step_by(wide) {
            let range = at..end.min(at + wide);
            let cols = range.len();
            for (i, (op, walk)) in plan.ops.iter().zip(&walks).enumerate() {
                match walk {
                    None if op.class == Class::Row => {
                        self.set(i, op.ptr.wrapping_add(at * op.item()), 0);
                    }
                    // Tiles start at a multiple of the period: what the first one got is right for all.
                    Some(walk)
                        if walk.period.is_some_and(|period| at > start && wide.is_multiple_of(period)) => {}
                    Some(walk) if i < plan.inputs => {
                        let to = tiles[i];
                        // SAFETY: elements of the part's range, and a tile that was made for as many.
                        unsafe { pack(op.item(), walk, table, op.ptr, range.clone(), to) }
                    }
                    _ => {}
                }
            }
            // SAFETY: all pointers are set to a block of this size.
            let flow = unsafe { self.call(1, cols) };
            for (i, (op, walk)) in plan.ops.iter().zip(&walks).enumerate().skip(plan.inputs) {
                if let Some(walk) = walk {
                    // SAFETY: elements of the part's range of an output, and its tile.
                    unsafe { unpack(op.item(), walk, table, op.ptr, range.clone(), tiles[i]) }
                }
            }
            flow?;
        }
        ControlFlow::Continue(())
    }
}

/// [`Linear::pack`] for elements of `item` bytes.
///
/// # Safety
/// The same.
unsafe fn pack(
    item: usize,
    walk: &Linear,
    table: &[isize],
    base: *mut u8,
    range: Range<usize>,
    tile: *mut u8,
) {
    // SAFETY: the same contract.
    unsafe {
        match item {
            1 => walk.pack::<u8>(table, base, range, tile),
            2 => walk.pack::<u16>(table, base, range, tile),
            4 => walk.pack::<u32>(table, base, range, tile),
            _ => walk.pack::<u64>(table, base, range, tile),
        }
    }
}

/// [`Linear::unpack`] for elements of `item` bytes.
///
/// # Safety
/// The same.
unsafe fn unpack(
    item: usize,
    walk: &Linear,
    table: &[isize],
    base: *mut u8,
    range: Range<usize>,
    tile: *mut u8,
) {
    // SAFETY: the same contract.
    unsafe {
        match item {
            1 => walk.unpack::<u8>(table, base, range, tile),
            2 => walk.unpack::<u16>(table, base, range, tile),
            4 => walk.unpack::<u32>(table, base, range, tile),
            _ => walk.unpack::<u64>(table, base, range, tile),
        }
    }
}
