//! Reductions over some of their elements at a time, for data larger than memory.
//!
//! A [`Folding`] contains the partial results of the elements so far, and each evaluation appends the next elements. Results are
//! reduced in blocks that depend on the shape and the first evaluation alone, so that the partial results of later evaluations
//! belong to the same blocks. An evaluation that fails leaves the folding unchanged.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, Operands, Table};
use broadloom_reduce::Partial;
use smallvec::SmallVec;

use super::elements::Fold;
use super::{no_reduction, overlaps, parts};
use crate::engine::loops::Loops;
use crate::engine::outcome::Outcome;
use crate::engine::plan_run::{Arguments, PlanRun};
use crate::engine::prepared::PreparedStage;
use crate::engine::space::Form;
use crate::engine::workers;

/// The partial results of reductions over their first elements.
pub(crate) struct Folding {
    /// The number of elements of each result that have been reduced so far.
    count: u64,
    /// The partial results of each reduction; empty before the first elements.
    of: Vec<Blocks>,
}

/// The partial results of a reduction over some elements, as blocks of its results in C order.
pub(crate) struct Blocks {
    /// Number of adjacent results in a block; the last block of a row may have fewer.
    width: usize,
    blocks: Vec<(usize, Partial)>,
}

impl Folding {
    /// A folding without elements.
    pub(crate) fn new() -> Folding {
        Folding { count: 0, of: Vec::new() }
    }

    /// The number of the next element, which is the number of elements so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The width of the blocks of a reduction, once it is known.
    pub(crate) fn width(&self, reduction: usize) -> Option<usize> {
        self.of.get(reduction).map(|blocks| blocks.width)
    }

    /// Appends the partial results of the next `count` elements, for each reduction.
    pub(crate) fn append(&mut self, count: u64, later: Vec<Blocks>) -> Result<()> {
        // Sums are computed here, which requires the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        if self.of.is_empty() {
            (self.of, self.count) = (later, count);
            return Ok(());
        }
        let blocks = |of: &[Blocks]| of.iter().map(|of| of.blocks.len()).collect::<Vec<_>>();
        if blocks(&self.of) != blocks(&later) {
            return Err(Error::new(ErrorKind::Internal, "partial results of other blocks"));
        }
        for (blocks, later) in self.of.iter_mut().zip(later) {
            for ((_, partial), (_, later)) in blocks.blocks.iter_mut().zip(later.blocks) {
                partial.append(later)?;
            }
        }
        self.count += count;
        Ok(())
    }

    /// Writes the results of a reduction of this dtype, in C order.
    pub(crate) fn finish(&mut self, reduction: usize, dtype: DType, mut out: &mut [u8]) {
        let _ieee = FloatEnv::ieee();
        for (width, partial) in self.of.iter_mut().skip(reduction).take(1).flat_map(|of| &mut of.blocks) {
            let (head, tail) = std::mem::take(&mut out).split_at_mut(*width * dtype.size());
            partial.finish(head);
            out = tail;
        }
    }
}

impl PreparedStage {
    /// Reduces elements of a stage, the first of which has the number `start`. Returns the partial results of each output, in
    /// blocks of the given width.
    pub(crate) fn fold(
        &self,
        run: &PlanRun<'_>,
        operands: &mut Operands<'_>,
        tables: &[Table<'_>],
        start: u64,
        width: Option<usize>,
    ) -> Result<Vec<Blocks>> {
        // Sums and estimates are computed here, which requires the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        let space = self.space().ok_or_else(no_reduction)?;
        let (shape, axes) = (&self.stage.shape, self.stage.axes);
        // A block lies within the last kept axis, along which results are evenly spaced whatever the layouts are.
        let row = (0..shape.rank()).rev().filter(|&axis| !axes.contains(axis)).map(|axis| shape[axis]);
        let row = { row }.find(|&extent| extent > 1).unwrap_or(1);
        let width = width.unwrap_or(match space.form {
            Form::Across { width } => width.min(row),
            Form::Along => 1,
        });
        let loops = Loops::Reduce(space.in_blocks_of(width));
        let space = loops.space().ok_or_else(no_reduction)?;
        let (access, params) = (self.accesses_in(&loops)?, run.params(&self.stage));
        let outcome = Outcome::new(self.sites, self.can_fail, run.watch);
        let stage_run = self.begin(&run.request, access, Arguments { params: &params, tables }, outcome)?;
        let (inputs, _) = operands.slices().ok_or_else(overlaps)?;
        let mut blocks = Vec::new();
        for first in (0..space.results).step_by(row) {
            for at in (first..first + row).step_by(width) {
                blocks.push(at..(at + width).min(first + row));
            }
        }
        let threads = workers::threads(run.request.options, stage_run.time);
        let parts = parts(threads);
        let ranges = if blocks.len() < parts { parts.div_ceil(blocks.len().max(1)) } else { 1 };
        let new = |_| Blocks { width, blocks: Vec::new() };
        let mut made: Vec<Blocks> = (0..self.stage.outputs.len()).map(new).collect();
        Fold::new(&stage_run, space, start, &inputs).in_blocks(
            threads,
            ranges,
            &blocks,
            SmallVec::new(),
            |block, partials| {
                let width = blocks[block].len();
                made.iter_mut().zip(partials).for_each(|(of, partial)| of.blocks.push((width, partial)));
                Ok(())
            },
        )?;
        stage_run.end()?;
        Ok(made)
    }
}
