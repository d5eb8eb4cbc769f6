//! The walk of a nest, which divides units of work into blocks and calls the body for each block.
//!
//! Each element of the units is in exactly one block. A block's pointers are valid while the body runs: the tiles of packed and
//! generated inputs are filled before the call, and those of packed outputs are copied to memory after it.

use std::ops::{ControlFlow, Range};

use broadloom_ir::loop_plan::{AccessClass, LoopMode, LoopPlan};
use smallvec::SmallVec;

use crate::alias::AliasPolicy;
use crate::block::{Block, RawBlock, RawOperand};
use crate::generate::generate;
use crate::linear::Linear;
use crate::operand::BoundOperand;
use crate::overlap::PerDim;
use crate::pack::{gather, scatter};
use crate::scratch::Scratch;
use crate::stream::LINE;
use crate::tile::{Item, SLACK, Strided, Tile, by_item};

/// The function that a walk calls for each block. It returns `Break` to stop the walk.
pub type BlockFn<'f> = &'f mut dyn FnMut(&mut Block<'_>) -> ControlFlow<()>;

/// The number of unused bytes between the rows of a packed tile, which make rows start in different sets of the cache.
const PAD: usize = 64;

/// Walks the given units of a plan, calling `body` for each block.
///
/// # Safety
/// The operands must be the ones that were bound to the plan, and their memory must still be borrowed. During this call nothing
/// else may run any of these units, or read the elements that they write.
pub(crate) unsafe fn run(
    plan: &LoopPlan,
    operands: &[BoundOperand],
    units: Range<usize>,
    policy: AliasPolicy,
    scratch: &mut Scratch,
    body: BlockFn<'_>,
) -> ControlFlow<()> {
    if units.is_empty() {
        return ControlFlow::Continue(());
    }
    let in_place = operands[..plan.inputs()].iter().any(BoundOperand::is_shared);
    let copy = in_place && policy == AliasPolicy::Copy;
    let mut walk = Walk {
        plan,
        operands,
        copy,
        any_alias: in_place && !copy,
        reads_steps: policy == AliasPolicy::Stepped,
        places: SmallVec::new(),
        first: 0,
        row_step: 0,
        body,
    };
    for operand in operands {
        walk.places.push(RawOperand { ptr: operand.ptr, row_stride: 0 });
    }
    if plan.is_linear() && !copy {
        let (start, end) = walk.linear(units);
        for (i, operand) in operands.iter().enumerate() {
            walk.set(i, operand.ptr.wrapping_offset(start as isize * plan.inner_stride(i)), 0);
        }
        walk.first = start;
        // SAFETY: the plan has one row, and start..end are the elements of the units in it; no operand is packed, so each is
        // contiguous there or uniform.
        return unsafe { walk.call(1, end - start) };
    }
    // SAFETY: this function's contract covers the operands and the units.
    unsafe {
        match plan.mode() {
            LoopMode::Direct => walk.direct(units, scratch),
            LoopMode::Tiled if !operands.iter().any(|operand| walk.packs(operand)) => walk.whole_units(units),
            LoopMode::Tiled => walk.tiled(units, scratch),
            LoopMode::Flat => walk.flat(units, scratch),
        }
    }
}

struct Walk<'w> {
    plan: &'w LoopPlan,
    /// The operands: inputs, then outputs.
    operands: &'w [BoundOperand],
    /// Whether inputs that are also outputs are copied to tiles.
    copy: bool,
    any_alias: bool,
    /// Whether stepped inputs are used in place instead of being packed into tiles.
    reads_steps: bool,
    /// For each operand, the address of the current block's first row, and its row stride.
    places: SmallVec<[RawOperand; 6]>,
    /// The linear index of the current block's first element, and the difference in the linear index from one of its rows to the
    /// next.
    first: usize,
    row_step: usize,
    body: BlockFn<'w>,
}

/// An index in all dimensions of a plan but the last two, which advances in row-major order.
struct Odometer {
    extents: PerDim<usize>,
    index: PerDim<usize>,
}

impl Odometer {
    fn new(plan: &LoopPlan, mut linear: usize) -> Odometer {
        let outer = plan.dims().len().saturating_sub(2);
        let extents: PerDim<usize> = plan.extents().take(outer).collect();
        let mut index = PerDim::from_elem(0, outer);
        for (index, &extent) in index.iter_mut().zip(&extents).rev() {
            (linear, *index) = (linear / extent, linear % extent);
        }
        Odometer { extents, index }
    }

    fn advance(&mut self) {
        for (index, &extent) in self.index.iter_mut().zip(&self.extents).rev() {
            *index += 1;
            if *index < extent {
                return;
            }
            *index = 0;
        }
    }

    /// The offset in bytes of an operand's element. The element is given by this index in the outer
    /// dimensions, and by a row and a column, which are the index in the last two.
    fn offset(&self, plan: &LoopPlan, operand: usize, row: usize, col: usize) -> isize {
        let steps = self.index.iter().zip(plan.strides(operand)).map(|(&i, &stride)| i as isize * stride);
        steps.sum::<isize>()
            + row as isize * plan.row_stride(operand)
            + col as isize * plan.inner_stride(operand)
    }
}

impl Walk<'_> {
    /// Whether an operand is copied to or from a tile.
    fn packs(&self, operand: &BoundOperand) -> bool {
        match operand.class {
            AccessClass::Packed => true,
            AccessClass::Stepped(_) => !self.reads_steps,
            AccessClass::Contiguous | AccessClass::Uniform => self.copy && operand.is_shared(),
        }
    }

    /// The address of an operand's element, given by the index in the outer dimensions, the row and the
    /// column. For a generated operand the address is only a number.
    fn at(&self, odometer: &Odometer, operand: usize, row: usize, col: usize) -> *mut u8 {
        self.operands[operand].ptr.wrapping_offset(odometer.offset(self.plan, operand, row, col))
    }

    /// The range of linear indices (start and end) of the units' elements, in direct and flat mode.
    #[inline]
    fn linear(&self, units: Range<usize>) -> (usize, usize) {
        (self.plan.elements_before(units.start), self.plan.elements_before(units.end))
    }

    /// Sets the address and the row stride of operand `i` for the next block.
    #[inline]
    fn set(&mut self, i: usize, ptr: *mut u8, row_stride: isize) {
        self.places[i] = RawOperand { ptr, row_stride };
    }

    /// Calls the body for the block to which the operands' pointers are set.
    ///
    /// # Safety
    /// The pointers of all operands must be set for a block of `rows` rows and `cols` columns.
    #[inline]
    unsafe fn call(&mut self, rows: usize, cols: usize) -> ControlFlow<()> {
        let raw = RawBlock {
            operands: &self.places,
            rows,
            cols,
            inputs: self.plan.inputs(),
            first: self.first,
            row_step: self.row_step,
            level: 0,
            any_alias: self.any_alias,
            reads_steps: self.reads_steps,
        };
        // SAFETY: each pointer is set for these rows and columns (the contract), and the memory stays borrowed for the call
        // (`run`). Only the body uses the pointers: a walk calls one body at a time, and nothing else runs its units.
        (self.body)(&mut unsafe { Block::new(self.operands, raw) })
    }

    /// Runs units of a plan whose blocks are whole rows, with all operands in place.
    ///
    /// # Safety
    /// The contract of [`run`].
    #[inline(never)]
    unsafe fn direct(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (start, end) = self.linear(units);
        let tiles = match self.copy.then(|| self.copies(scratch)) {
            Some(None) => return ControlFlow::Break(()),
            tiles => tiles.flatten(),
        };
        let (down, cols) = plan.rows_and_cols();
        let mut odometer = Odometer::new(plan, start / cols / down);
        let (mut row, mut col, mut left) = (start / cols % down, start % cols, end - start);
        self.row_step = cols;
        while left > 0 {
            self.first = end - left;
            // The next block is the rest of a row, as many whole rows as remain, or the beginning of a row.
            let (rows, width) = if col > 0 || left < cols {
                (1, left.min(cols - col))
            } else {
                ((left / cols).min(down - row), cols)
            };
            for i in 0..self.operands.len() {
                self.set(i, self.at(&odometer, i, row, col), plan.row_stride(i));
            }
            // SAFETY: rows row..row + rows and columns col..col + width are in the last two dimensions, and their linear indices
            // are in start..end, the elements of the units; `copies` made the tiles.
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

    /// Allocates tiles for the inputs that are copied in direct mode. `None` if memory can't be allocated.
    fn copies(&self, scratch: &mut Scratch) -> Option<SmallVec<[*mut u8; 4]>> {
        let (rows, cols) = self.plan.tile();
        let size = |operand: &BoundOperand| match self.packs(operand) {
            true => rows * cols * operand.item() + SLACK,
            false => 0,
        };
        let sizes: SmallVec<[usize; 4]> = self.operands.iter().map(size).collect();
        scratch.regions(&sizes)
    }

    /// Calls the body for each tile-sized part of a block, after copying the inputs that are also outputs to their tiles.
    ///
    /// # Safety
    /// The contract of [`Walk::call`]; the tiles must be those of [`Walk::copies`].
    unsafe fn copied(&mut self, rows: usize, cols: usize, tiles: &[*mut u8]) -> ControlFlow<()> {
        let plan = self.plan;
        let whole: SmallVec<[Strided; 4]> = (0..self.operands.len())
            .map(|i| {
                let RawOperand { ptr, row_stride } = self.places[i];
                Strided { ptr, row_stride, col_stride: plan.inner_stride(i) }
            })
            .collect();
        let (high, wide) = plan.tile();
        for row in (0..rows).step_by(high) {
            for col in (0..cols).step_by(wide) {
                let (rows, cols) = (high.min(rows - row), wide.min(cols - col));
                for (i, (operand, &from)) in self.operands.iter().zip(&whole).enumerate() {
                    let ptr = from
                        .ptr
                        .wrapping_offset(row as isize * from.row_stride + col as isize * from.col_stride);
                    if self.packs(operand) {
                        let tile = Tile { ptr: tiles[i], pitch: cols * operand.item() };
                        // SAFETY: the elements are in the block, which is valid for reads (the contract). The tile has room for
                        // `high` × `wide` of them and the slack, and its memory belongs to the scratch alone.
                        unsafe { by_item!(operand.item(), gather(Strided { ptr, ..from }, tile, rows, cols)) }
                        self.set(i, tile.ptr, tile.pitch as isize);
                    } else {
                        self.set(i, ptr, from.row_stride);
                    }
                }
                // SAFETY: each pointer is set to these rows and columns of the block, or to a copy of their elements.
                unsafe { self.call(rows, cols)? }
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs units of a tiled plan without packed operands. Units that are adjacent in a row or in a column form one block.
    ///
    /// # Safety
    /// The contract of [`run`]; no operand may be [packed](Walk::packs).
    #[inline(never)]
    unsafe fn whole_units(&mut self, units: Range<usize>) -> ControlFlow<()> {
        let plan = self.plan;
        let (down, across) = plan.rows_and_cols();
        let high = plan.tile().0;
        let (groups_across, groups_down) = (across.div_ceil(plan.unit()), down.div_ceil(high));
        let mut odometer = Odometer::new(plan, units.start / groups_across / groups_down);
        let mut unit = units.start;
        while unit < units.end {
            let (group_row, group_col) = (unit / groups_across % groups_down, unit % groups_across);
            let slab = unit / groups_across / groups_down;
            let first_of = |row: usize, col: usize| (slab * down + row) * across + col;
            self.row_step = across;
            let (row, col) = (group_row * high, group_col * plan.unit());
            let (rows, cols) = if groups_across > 1 {
                let groups = (groups_across - group_col).min(units.end - unit);
                unit += groups;
                (high.min(down - row), (groups * plan.unit()).min(across - col))
            } else {
                let groups = (groups_down - group_row).min(units.end - unit);
                unit += groups;
                ((groups * high).min(down - row), across)
            };
            for i in 0..self.operands.len() {
                self.set(i, self.at(&odometer, i, row, col), plan.row_stride(i));
            }
            self.first = first_of(row, col);
            // SAFETY: each pointer is set to rows row..row + rows and columns col..col + cols, which belong to units before
            // `unit` that were not visited yet. Operands are contiguous, uniform, or stepped, and used in place.
            unsafe { self.call(rows, cols)? }
            if unit.is_multiple_of(groups_across * groups_down) {
                odometer.advance();
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs units of a tiled plan, of which some operands are packed.
    ///
    /// # Safety
    /// The contract of [`run`].
    #[inline(never)]
    unsafe fn tiled(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (down, across) = plan.rows_and_cols();
        let (high, wide) = plan.tile();
        let pitch = |operand: &BoundOperand| wide * operand.item() + PAD;
        let size = |operand| if self.packs(operand) { high * pitch(operand) + SLACK } else { 0 };
        let sizes: SmallVec<[usize; 4]> = self.operands.iter().map(size).collect();
        let Some(tiles) = scratch.regions(&sizes) else { return ControlFlow::Break(()) };
        // For each operand, the address in memory, rows and columns from which its tile was filled for the previous block.
        type Filled = (*mut u8, usize, usize);
        let mut filled: SmallVec<[Filled; 4]> =
            SmallVec::from_elem((std::ptr::null_mut(), 0, 0), tiles.len());
        let (groups_across, groups_down) = (across.div_ceil(plan.unit()), down.div_ceil(high));
        let mut odometer = Odometer::new(plan, units.start / groups_across / groups_down);
        for unit in units {
            let (group_row, group_col) = (unit / groups_across % groups_down, unit % groups_across);
            let row = group_row * high;
            let slab = unit / groups_across / groups_down;
            self.row_step = across;
            let rows = high.min(down - row);
            let cols_end = across.min((group_col + 1) * plan.unit());
            for col in (group_col * plan.unit()..cols_end).step_by(wide) {
                let cols = wide.min(cols_end - col);
                self.first = (slab * down + row) * across + col;
                for (i, operand) in self.operands.iter().enumerate() {
                    let ptr = self.at(&odometer, i, row, col);
                    let (row_stride, col_stride) = (plan.row_stride(i), plan.inner_stride(i));
                    if !self.packs(operand) {
                        self.set(i, ptr, row_stride);
                        continue;
                    }
                    let tile = Tile { ptr: tiles[i], pitch: pitch(operand) };
                    // If all rows are the same, one row is copied and used for all.
                    let (copied, between) =
                        if row_stride == 0 { (1, 0) } else { (rows, tile.pitch as isize) };
                    if i < plan.inputs() {
                        let from = Strided { ptr, row_stride, col_stride };
                        // SAFETY: these are rows row..row + copied and columns col..col + cols of an input, which is borrowed, or
                        // generated from a key that is borrowed. The tile has room for `high` rows of `wide` elements and the slack,
                        // and its memory belongs to the scratch alone.
                        unsafe {
                            match operand.generated().is_some() {
                                // If the previous block had the same elements, they are already in the tile.
                                true if filled[i] == (ptr, copied, cols) => {}
                                true => generate(operand, from, tile, copied, cols),
                                false => by_item!(operand.item(), gather(from, tile, copied, cols)),
                            }
                        }
                    }
                    filled[i] = (ptr, copied, cols);
                    self.set(i, tile.ptr, between);
                }
                // SAFETY: each pointer is set to rows row..row + rows and columns col..col + cols, which are in this unit: in
                // memory if they are contiguous or uniform, else in a tile of that size.
                let flow = unsafe { self.call(rows, cols) };
                for (i, operand) in self.operands.iter().enumerate().skip(plan.inputs()) {
                    if self.packs(operand) {
                        let ptr = self.at(&odometer, i, row, col);
                        let (row_stride, col_stride) = (plan.row_stride(i), plan.inner_stride(i));
                        let to = Strided { ptr, row_stride, col_stride };
                        let tile = Tile { ptr: tiles[i], pitch: pitch(operand) };
                        // SAFETY: these are the elements of an output for which the body was called, and which no other part has;
                        // the tile holds as many.
                        unsafe { by_item!(operand.item(), scatter(tile, to, rows, cols)) }
                    }
                }
                flow?;
            }
            if (group_row + 1, group_col + 1) == (groups_down, groups_across) {
                odometer.advance();
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs units of a plan that is walked along its linear index, with packed operands as rows of tiles.
    ///
    /// # Safety
    /// The contract of [`run`].
    #[inline(never)]
    unsafe fn flat(&mut self, units: Range<usize>, scratch: &mut Scratch) -> ControlFlow<()> {
        let plan = self.plan;
        let (start, end) = self.linear(units);
        let wide = plan.tile().1;
        // In `repeated`, the elements in a tile are followed by up to one cache line of further ones, which
        // has at most `LINE` elements.
        let size = |operand| if self.packs(operand) { (wide + LINE) * operand.item() + SLACK } else { 0 };
        let sizes: SmallVec<[usize; 4]> = self.operands.iter().map(size).collect();
        let Some(tiles) = scratch.regions(&sizes) else { return ControlFlow::Break(()) };
        let table = &mut scratch.table;
        table.clear();
        let extents: PerDim<usize> = plan.extents().collect();
        let walks: SmallVec<[Option<Linear>; 4]> = (self.operands.iter().enumerate())
            .map(|(i, operand)| self.packs(operand).then(|| Linear::new(&extents, plan.strides(i), table)))
            .collect();
        let table = &table[..];
        let repeats = |walk: &Linear| walk.period.is_some_and(|period| wide.is_multiple_of(period));
        let (read, written) = walks.split_at(plan.inputs());
        if end - start >= wide + LINE
            && written.iter().all(Option::is_none)
            && read.iter().flatten().all(repeats)
        {
            // SAFETY: the range contains the elements of the units, at least as many as a tile and a cache line have; the
            // walks, the table and the tiles were made for these operands; all tiles are of inputs whose period divides the
            // tile, and each has room for `LINE` more elements.
            return unsafe { self.repeated(start..end, &walks, table, &tiles) };
        }
        for (i, (operand, walk)) in self.operands.iter().zip(&walks).enumerate() {
            self.set(i, if walk.is_some() { tiles[i] } else { operand.ptr }, 0);
        }
        for at in (start..end).step_by(wide) {
            let range = at..end.min(at + wide);
            let cols = range.len();
            self.first = at;
            for (i, (operand, walk)) in self.operands.iter().zip(&walks).enumerate() {
                match walk {
                    None if operand.class == AccessClass::Contiguous => {
                        self.set(i, operand.ptr.wrapping_add(at * operand.item()), 0);
                    }
                    // Every tile starts at the same position in the period, so the contents of the first tile are right for all
                    // tiles.
                    Some(walk)
                        if walk.period.is_some_and(|period| at > start && wide.is_multiple_of(period)) => {}
                    Some(walk) if i < plan.inputs() => {
                        // SAFETY: the range is in start..end, which are linear indices of this input; the tile has room for
                        // `wide` elements and the slack; the table is the one that all walks were made with.
                        unsafe { fill(operand, walk, table, range.clone(), tiles[i]) }
                    }
                    _ => {}
                }
            }
            // SAFETY: each pointer is set to the elements `range`, as one row: in memory if they are contiguous or uniform, else
            // in a tile.
            let flow = unsafe { self.call(1, cols) };
            for (i, (operand, walk)) in self.operands.iter().zip(&walks).enumerate().skip(plan.inputs()) {
                if let Some(walk) = walk {
                    let (to, from) = (operand.ptr, tiles[i]);
                    // SAFETY: the range is in start..end, which are linear indices of this output that no other part has; the
                    // body wrote all of these elements to the tile; the table is the one that all walks were made with.
                    unsafe { by_item!(operand.item(), unpack(walk, table, to, range.clone(), from)) }
                }
            }
            flow?;
        }
        ControlFlow::Continue(())
    }

    /// Walks a range in which the elements of each packed operand repeat with a period that divides the tile's width. The tile is
    /// filled once and used for all rows of one large block, whose rows are as wide as the tile. These rows begin at a cache-line
    /// boundary of the first output; the elements before the first such boundary, and those after the last row, are blocks of
    /// their own.
    ///
    /// # Safety
    /// The contract of [`run`], where `range` has the linear indices of the units' elements, at least as many as a tile is wide
    /// plus [`LINE`]. Only inputs may be packed. Their periods must divide the tile's width, `walks` and `table` must be theirs,
    /// and `tiles` must have room for [`LINE`] elements more than the width, and the slack.
    unsafe fn repeated(
        &mut self,
        range: Range<usize>,
        walks: &[Option<Linear>],
        table: &[isize],
        tiles: &[*mut u8],
    ) -> ControlFlow<()> {
        let (plan, Range { start, end }) = (self.plan, range);
        let wide = plan.tile().1;
        let to_line = |output: &BoundOperand| {
            let bytes = output.ptr.wrapping_add(start * output.item()).addr().wrapping_neg() % LINE;
            bytes / output.item()
        };
        let head = self.operands.get(self.plan.inputs()).map_or(0, to_line);
        let mut firsts: SmallVec<[*mut u8; 4]> = SmallVec::new();
        for ((operand, walk), &tile) in self.operands.iter().zip(walks).zip(tiles) {
            // The row in the tile begins at a cache-line boundary as well.
            let first = tile.wrapping_add((head * operand.item()).wrapping_neg() % LINE);
            firsts.push(first);
            if let Some(walk) = walk {
                // SAFETY: `head < LINE`, so the elements are in the range; the `head` elements before the row end at a line
                // boundary, and the tile has room for them (the contract). The walk and the table belong to this input.
                unsafe { fill(operand, walk, table, start..start + wide + head, first) }
            }
        }
        let rows = (end - start - head) / wide;
        let rest = start + head + rows * wide;
        for (at, rows, cols) in [(start, 1, head), (start + head, rows, wide), (rest, 1, end - rest)] {
            (self.first, self.row_step) = (at, wide);
            if cols == 0 || rows == 0 {
                continue;
            }
            // The offset in the tile, in elements. Every block but the first begins with the row after the `head` elements: since
            // the period divides the width, all rows are the same.
            let place = if at == start { 0 } else { head };
            for (i, operand) in self.operands.iter().enumerate() {
                let (item, is_packed) = (operand.item(), walks[i].is_some());
                match operand.class {
                    _ if is_packed => self.set(i, firsts[i].wrapping_add(place * item), 0),
                    AccessClass::Contiguous => {
                        self.set(i, operand.ptr.wrapping_add(at * item), (wide * item) as isize);
                    }
                    _ => self.set(i, operand.ptr, 0),
                }
            }
            // SAFETY: `at` to `at + rows * cols` are in the range. Operands in place are contiguous there, with rows of `wide`
            // elements, or uniform. The tile of a packed operand has the first `head` elements, followed by one row. This row
            // is used for all rows, and its beginning for the elements after the last row, since the period divides the width.
            unsafe { self.call(rows, cols)? }
        }
        ControlFlow::Continue(())
    }
}

/// Fills a tile with the elements `range` of an input: copies them from memory, or generates them.
///
/// # Safety
/// The contract of [`Linear::pack`] with the input's own walk and memory.
unsafe fn fill(operand: &BoundOperand, walk: &Linear, table: &[isize], range: Range<usize>, tile: *mut u8) {
    // SAFETY: the arguments are passed on unchanged.
    unsafe {
        match operand.generated().is_some() {
            true => walk.generate(table, operand, range, tile),
            false => by_item!(operand.item(), pack(walk, table, operand.ptr, range, tile)),
        }
    }
}

/// Calls [`Linear::pack`]. It is a free function so that `by_item` can instantiate it for the element size.
///
/// # Safety
/// The contract of [`Linear::pack`].
unsafe fn pack<T: Item>(walk: &Linear, table: &[isize], base: *mut u8, range: Range<usize>, tile: *mut u8) {
    // SAFETY: the arguments are passed on unchanged.
    unsafe { walk.pack::<T>(table, base, range, tile) }
}

/// Calls [`Linear::unpack`]. It is a free function so that `by_item` can instantiate it for the element size.
///
/// # Safety
/// The contract of [`Linear::unpack`].
unsafe fn unpack<T: Item>(walk: &Linear, table: &[isize], base: *mut u8, range: Range<usize>, tile: *mut u8) {
    // SAFETY: the arguments are passed on unchanged.
    unsafe { walk.unpack::<T>(table, base, range, tile) }
}
