//! Provides the elements of a unit, block by block: computes them into a tile that stays in cache, or reads them in place if
//! there is nothing to compute.
//!
//! The blocks come from loop plans that keep the order of the elements, and that pack elements which are not contiguous. A tile
//! contains elements or, if machine code reduces elements before it writes them, nodes of the reduction tree. Each tile is
//! reduced before the next one is computed. Outputs that are stored are computed directly into their memory.

use broadloom_ir::tuning::reductions::LEAST_STRETCH;
use std::ops::Range;

use broadloom_core::{DType, Result};
use broadloom_ir::canonical::{LANES, nodes};
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_mem::{
    Access, AliasPolicy, Block, Buffer, Caches, KernelRun, Nest, Operands, Region, Scratch, Stores,
};
use smallvec::SmallVec;

use super::take::{Reductions, Results, Take, reductions_of};
use crate::engine::execute::{StageRun, Tiles, Workspace, make_tiles, memory, walk, with_workspace};
use crate::engine::outcome::Pace;
use crate::engine::plan_run::Arguments;
use crate::engine::runtime::{Accesses, Executable};
use crate::engine::space::{Cells, Form, Space, Unit};

/// A run of a stage that reduces, or of a part of such a stage: the state that its threads share.
pub(crate) struct Fold<'f> {
    pub run: &'f StageRun<'f>,
    pub space: &'f Space,
    /// The number of the first element of each result.
    pub start: u64,
    pub reductions: Reductions,
    /// The dtype of each output of the kernel, and whether the output is reduced; if not, it is stored.
    pub outputs: SmallVec<[(DType, bool); 2]>,
    /// The memory of each input, and the position in it, in bytes, to which the offsets of the space are relative.
    pub inputs: &'f [(Region<'f>, isize)],
}

impl<'f> Fold<'f> {
    pub(crate) fn new(
        run: &'f StageRun<'f>,
        space: &'f Space,
        start: u64,
        inputs: &'f [(Region<'f>, isize)],
    ) -> Fold<'f> {
        let stage = &run.prepared.stage;
        let outputs = stage.reductions().zip(stage.kernel.output_dtypes());
        let outputs = outputs.map(|(reduction, dtype)| (dtype, reduction.is_some())).collect();
        Fold { run, space, start, reductions: reductions_of(stage), outputs, inputs }
    }

    /// Separates the memory of all outputs: the outputs that are reduced come first, and the outputs that are stored second.
    pub(crate) fn apart<'m>(&self, outputs: Results<'m>) -> (Results<'m>, Results<'m>) {
        let (mut reduced, mut stored) = (Results::new(), Results::new());
        for (memory, (_, is_reduced)) in outputs.into_iter().zip(&self.outputs) {
            if *is_reduced { reduced.push(memory) } else { stored.push(memory) }
        }
        (reduced, stored)
    }
}

/// A thread's state for computing elements.
pub(crate) struct Elements<'f> {
    fold: &'f Fold<'f>,
    /// The loops over boxes that are not complete units, by the extents of the box.
    plans: Vec<(SmallVec<[usize; 6]>, LoopPlan)>,
    /// A byte for each checked division, set if a divisor was zero.
    pub faults: SmallVec<[u8; 8]>,
    /// The thread's progress.
    pub pace: Pace<'f>,
}

/// The computation of a box's blocks.
struct BoxRun<'r, 'f, 'm> {
    fold: &'r Fold<'f>,
    /// The kernel that computes elements; `None` if the inputs' elements are reduced in place.
    kernel: Option<&'r Executable>,
    /// The level of the nodes of the reduction tree that the kernel writes; `None` if it writes elements.
    level: Option<u8>,
    run: KernelRun<'r>,
    tiles: &'r mut Tiles,
    pace: &'r mut Pace<'f>,
    /// The linear index of the box's first element.
    first: usize,
    /// The memory of each output that is stored, and the linear index of the first element in it.
    stored: &'r mut [&'m mut [u8]],
    stored_from: usize,
}

impl<'f> Elements<'f> {
    pub(crate) fn new(fold: &'f Fold<'_>) -> Elements<'f> {
        let StageRun { prepared, outcome, .. } = fold.run;
        let faults = SmallVec::from_elem(0, outcome.sites());
        let pace = Pace::new(outcome, prepared.pause);
        Elements { fold, plans: Vec::new(), faults, pace }
    }

    /// Computes the elements of a unit and passes them to `take`; `stored` is the memory of the outputs that are stored.
    ///
    /// Errors: those of the kernel, and cancellation of the run.
    pub(crate) fn unit(
        &mut self,
        unit: &Unit,
        mut stored: Results<'_>,
        take: &mut Take<'_, '_>,
    ) -> Result<()> {
        let (space, from) = (self.fold.space, unit.numbers.start);
        space.boxes(unit).try_for_each(|cells| self.cells(&cells, (&mut stored, from), take))
    }

    fn cells(
        &mut self,
        cells: &Cells,
        (stored, stored_from): (&mut [&mut [u8]], usize),
        take: &mut Take<'_, '_>,
    ) -> Result<()> {
        let Elements { fold, plans, faults, pace } = self;
        let plan = match fold.space.whole_of(cells) {
            Some(plan) => plan,
            None => {
                let known = plans.iter().position(|(extents, _)| *extents == cells.extents);
                let place = known.unwrap_or(plans.len());
                if known.is_none() {
                    let plan = fold.space.plan(&cells.extents).map_err(|e| memory(&e))?;
                    plans.push((cells.extents.clone(), plan));
                }
                &plans[place].1
            }
        };
        let mut operands = Operands::default();
        for (&(region, from), start) in fold.inputs.iter().zip(fold.space.starts_of(cells)) {
            operands.read_from(region, from + start);
        }
        let mut nest = Nest::bind(plan, &mut operands).map_err(|e| memory(&e))?;
        let kernel = match fold.space.is_bare && !nest.accesses().any(|access| access == Access::Splat) {
            true => None,
            false => Some(fold.run.kernel(&nest.accesses().collect::<Accesses>())?),
        };
        let level = kernel.as_ref().and_then(|kernel| kernel.plan()?.leaf_level());
        with_workspace(|Workspace { scratch, memory, tiles }| {
            let go_on = || fold.run.outcome.go_on_looping();
            let loops = fold.run.outcome.loops(fold.run.options(), &go_on);
            let Arguments { params, tables } = fold.run.arguments;
            let (stores, loops) = (Stores::Cached, Some(&loops));
            let run = KernelRun { params, tables, faults, stores, memory, loops };
            let (kernel, first) = (kernel.as_ref(), cells.first);
            BoxRun { fold, kernel, level, run, tiles, pace, first, stored, stored_from }
                .walk(&mut nest, scratch, take)
        })
    }
}

impl BoxRun<'_, '_, '_> {
    fn walk(mut self, nest: &mut Nest<'_>, scratch: &mut Scratch, take: &mut Take<'_, '_>) -> Result<()> {
        let can_fail = self.fold.run.prepared.can_fail;
        let mut parts = nest.split(1, AliasPolicy::InPlace);
        parts.try_for_each(|part| walk(part, can_fail, scratch, |block| self.block(block, take)))
    }

    fn block(&mut self, block: &mut Block<'_>, take: &mut Take<'_, '_>) -> Result<()> {
        if self.kernel.is_none() {
            return self.as_they_are(block, take);
        }
        let (rows, cols, width) = (block.rows(), block.cols(), take.width());
        let most = (self.fold.space.tile / width).max(1) * width;
        let step = if rows > 1 { block.first_of(1) - block.first_of(0) } else { cols };
        let is_apart = step != cols && !self.stored.is_empty();
        if cols >= most || self.level.is_some() || is_apart {
            return (0..rows).try_for_each(|row| self.row(block, row, most, take));
        }
        for first in (0..rows).step_by(most / cols) {
            let some = first..rows.min(first + most / cols);
            let at = self.first + block.first_of(first);
            self.compute(block, some.clone(), 0..cols, 0, at)?;
            if step == cols {
                take.run(at, some.len() * cols, |output| self.tile(output))?;
                continue;
            }
            for row in 0..some.len() {
                let from = |output: usize| row * cols * self.fold.reductions[output].1.size();
                take.run(at + row * step, cols, |output| &self.tile(output)[from(output)..])?;
            }
        }
        Ok(())
    }

    /// Processes a row of a block in parts.
    fn row(&mut self, block: &mut Block<'_>, row: usize, most: usize, take: &mut Take<'_, '_>) -> Result<()> {
        let first = self.first + block.first_of(row);
        in_parts(first..first + block.cols(), self.level, most, take, |part, level, take| {
            self.elements(block, row, part.start - first..part.end - first, level, take)
        })
    }

    /// Processes some columns of a row, as elements (level 0) or as nodes of the reduction tree at this level.
    fn elements(
        &mut self,
        block: &mut Block<'_>,
        row: usize,
        cols: Range<usize>,
        level: u8,
        take: &mut Take<'_, '_>,
    ) -> Result<()> {
        if cols.is_empty() {
            return Ok(());
        }
        block.ask_ahead(row, cols.clone());
        let (at, count) = (self.first + block.first_of(row) + cols.start, cols.len());
        self.compute(block, row..row + 1, cols, level, at)?;
        match level {
            0 => take.run(at, count, |output| self.tile(output)),
            _ => take.nodes(at, count, level, |output| self.tile(output)),
        }
    }

    /// Computes some rows and columns of a block, into the tiles and into the memory of outputs that are stored. `at` is the
    /// linear index of the first element.
    fn compute(
        &mut self,
        block: &mut Block<'_>,
        rows: Range<usize>,
        cols: Range<usize>,
        level: u8,
        at: usize,
    ) -> Result<()> {
        let count = rows.len() * cols.len();
        self.pace.pass(count)?;
        let reductions = &self.fold.reductions;
        make_tiles(self.tiles, reductions.iter().map(|(_, dtype)| *dtype), count >> level)?;
        let BoxRun { fold, kernel, run, tiles, stored, stored_from, .. } = self;
        let Some(kernel) = kernel else { return Ok(()) };
        let place = at - *stored_from..at - *stored_from + count;
        let (mut tiles, mut stored) = (tiles.iter_mut(), stored.iter_mut());
        let outputs = fold.outputs.iter().map(|&(dtype, is_reduced)| {
            let size = dtype.size();
            let memory = match is_reduced {
                true => tiles.next().and_then(Buffer::as_bytes_mut),
                false => stored.next().and_then(|all| all.get_mut(place.start * size..place.end * size)),
            };
            (memory.unwrap_or_default(), size)
        });
        block.with_outputs(rows, cols, level, outputs, |block| kernel.run(block, run))
    }

    /// Reduces the elements of a block in place: in memory, or in the tiles that they are packed into.
    fn as_they_are(&mut self, block: &mut Block<'_>, take: &mut Take<'_, '_>) -> Result<()> {
        let (rows, cols) = (block.rows(), block.cols());
        let outputs = &self.fold.run.prepared.stage.kernel.outputs;
        let input = |output: usize| outputs[output].value.index();
        let (at, width) = (self.first + block.first_of(0), take.width());
        let step = if rows > 1 { block.first_of(1) - block.first_of(0) } else { cols };
        if self.fold.space.form != Form::Along && cols == width && rows > 1 {
            // Each row of the block contains one element of each of `width` adjacent results.
            let most = self.stretch(rows, width);
            for first in (0..rows).step_by(most) {
                let count = most.min(rows - first);
                self.pace.pass(count * width)?;
                let row = |output: usize, row: usize| block_row(block, input(output), first + row);
                take.rows(at + first * width, count, row)?;
            }
            return Ok(());
        }
        for row in 0..rows {
            let most = self.stretch(cols / width, width) * width;
            for col in (0..cols).step_by(most) {
                let count = most.min(cols - col);
                self.pace.pass(count)?;
                let bytes = |output: usize| {
                    let item = self.fold.reductions[output].1.size();
                    &block_row(block, input(output), row)[col * item..(col + count) * item]
                };
                take.run(at + row * step + col, count, bytes)?;
            }
        }
        Ok(())
    }

    /// The number of rows that are reduced between two checks for cancellation, out of `rows` contiguous rows of `width`
    /// elements. Long ranges are divided into equal stretches that are larger than the last-level cache, since the reduction
    /// reads such stretches as several streams.
    fn stretch(&self, rows: usize, width: usize) -> usize {
        let size = self.fold.reductions.first().map_or(1, |(_, dtype)| dtype.size());
        let bytes = rows.saturating_mul(width).saturating_mul(size);
        let whole = (bytes / Caches::of_target().last.max(LEAST_STRETCH)).max(1);
        rows.div_ceil(whole).max(1)
    }

    fn tile(&self, output: usize) -> &[u8] {
        self.tiles[output].as_bytes()
    }
}

/// Calls `each` with the parts in which consecutive elements are computed, of at most about `most` elements in a tile, and with the
/// level of the nodes that a part is computed to. If the kernel writes nodes of the reduction tree, a part is a range of complete
/// nodes, or the elements before or after them, whose level is 0. `elements` are linear indices.
pub(super) fn in_parts<'t, 'm>(
    elements: Range<usize>,
    level: Option<u8>,
    most: usize,
    take: &mut Take<'t, 'm>,
    mut each: impl FnMut(Range<usize>, u8, &mut Take<'t, 'm>) -> Result<()>,
) -> Result<()> {
    let mut at = elements.start;
    while at < elements.end {
        let Some(level) = level else {
            // Parts begin at multiples of the maximum length, and so at the first lane of the reduction.
            let count = (most - at % most).min(elements.end - at);
            each(at..at + count, 0, take)?;
            at += count;
            continue;
        };
        let (number, count) = (take.number(at), take.left(at).min(elements.end - at));
        let [head, whole, tail] = nodes(number..number + count as u64, level);
        let place = |number_of: u64| at + (number_of - number) as usize;
        let tile = (most / LANES).max(1) * (LANES << level);
        for (range, level) in [(head, 0), (whole, level), (tail, 0)] {
            let (from, to) = (place(range.start), place(range.end));
            // Elements without a level fit in one tile, since they are fewer than a node has.
            let length = if level == 0 { (to - from).max(1) } else { tile };
            for from in (from..to).step_by(length) {
                each(from..(from + length).min(to), level, take)?;
            }
        }
        at += count;
    }
    Ok(())
}

/// A row of a block's input, as bytes.
fn block_row<'b>(block: &'b Block<'_>, input: usize, row: usize) -> &'b [u8] {
    block.inputs(row).bytes(input)
}
