//! Reductions over some of their elements at a time, for data larger than memory.
//!
//! A [`Folding`] contains the partial results of the elements so far, and each evaluation appends the next elements. Results are
//! reduced in blocks that depend on the shape and the first evaluation alone, so that the partial results of later evaluations
//! belong to the same blocks. An evaluation that fails leaves the folding unchanged.

use std::ops::Range;

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, Operands, Table};
use broadloom_reduce::Partial;
use smallvec::SmallVec;

use super::elements::{Elements, Fold};
use super::take::{Partials, Reductions, Take};
use super::{no_reduction, overlaps, parts};
use crate::engine::execute::StageRun;
use crate::engine::loops::Loops;
use crate::engine::outcome::Outcome;
use crate::engine::plan_run::{Arguments, PlanRun};
use crate::engine::prepared::PreparedStage;
use crate::engine::space::{Space, Unit};
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

impl Blocks {
    /// No blocks yet, for each of some reductions.
    fn none(reductions: usize, width: usize) -> Vec<Blocks> {
        (0..reductions).map(|_| Blocks { width, blocks: Vec::new() }).collect()
    }

    /// Adds a block of this many results to each reduction.
    fn push(all: &mut [Blocks], results: usize, partials: Partials) {
        all.iter_mut().zip(partials).for_each(|(of, partial)| of.blocks.push((results, partial)));
    }
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
        let loops = Loops::Reduce(space.in_blocks_of(width.unwrap_or(width_of_blocks(&self.stage, space))));
        let (access, params) = (self.accesses_in(&loops)?, run.params(&self.stage));
        let outcome = Outcome::new(self.sites, self.can_fail, run.watch);
        let stage_run = self.begin(&run.request, access, Arguments { params: &params, tables }, outcome)?;
        let space = loops.space().ok_or_else(no_reduction)?;
        let (inputs, _) = operands.slices().ok_or_else(overlaps)?;
        let threads = workers::threads(run.request.options, stage_run.time);
        let (blocks, parts) = (blocks_of(&self.stage, space), parts(threads));
        let ranges = if blocks.len() < parts { parts.div_ceil(blocks.len().max(1)) } else { 1 };
        let mut made = Blocks::none(self.stage.outputs.len(), space.form.width());
        let fold = Fold::new(&stage_run, space, start, &inputs);
        fold.in_blocks(threads, ranges, &blocks, SmallVec::new(), |block, partials| {
            Blocks::push(&mut made, blocks[block].len(), partials);
            Ok(())
        })?;
        stage_run.end()?;
        Ok(made)
    }
}

/// The extent of the last kept axis of a stage. A block of results lies within it: results along it are evenly spaced whatever the
/// layouts are.
fn row(stage: &Stage) -> usize {
    let kept = (0..stage.shape.rank()).rev().filter(|&axis| !stage.axes.contains(axis));
    { kept }.map(|axis| stage.shape[axis]).find(|&extent| extent > 1).unwrap_or(1)
}

/// The number of adjacent results that have partial results together.
pub(crate) fn width_of_blocks(stage: &Stage, space: &Space) -> usize {
    space.form.width().min(row(stage))
}

/// The blocks of results of a space: at most `width` adjacent results along the last kept axis.
fn blocks_of(stage: &Stage, space: &Space) -> Vec<Range<usize>> {
    let (row, width) = (row(stage), space.form.width());
    let rows = (0..space.results).step_by(row);
    rows.flat_map(|first| {
        (first..first + row).step_by(width).map(move |at| at..(at + width).min(first + row))
    })
    .collect()
}

/// A thread's reduction of consecutive elements of each result of a stage, a part after the other.
pub(crate) struct Continued<'t> {
    /// The blocks of results, each with its partial results.
    blocks: Vec<(Range<usize>, Take<'t, 'static>)>,
    /// The numbers of the elements so far.
    numbers: Range<usize>,
}

impl<'t> Continued<'t> {
    /// Begins with the element of this number, of `count` elements of each result. The space is that of a part, in
    /// [blocks of results](Space::in_blocks_of).
    pub(crate) fn new(
        stage: &Stage,
        space: &Space,
        reductions: &'t Reductions,
        count: usize,
        first: usize,
    ) -> Continued<'t> {
        let take = |results: Range<usize>| {
            let take = Take::new(reductions, results.len(), count, 0, None);
            (results, take)
        };
        let blocks = blocks_of(stage, space).into_iter().map(take).collect();
        Continued { blocks, numbers: first..first }
    }

    /// The numbers of the elements, and the partial results of each output.
    pub(crate) fn finish(self, reductions: &Reductions) -> Result<(Range<usize>, Vec<Blocks>)> {
        let width = self.blocks.first().map_or(1, |(results, _)| results.len());
        let mut made = Blocks::none(reductions.len(), width);
        for (results, take) in self.blocks {
            Blocks::push(&mut made, results.len(), take.into_partials()?);
        }
        Ok((self.numbers, made))
    }
}

impl StageRun<'_> {
    /// Reduces a part of the elements, which follows those of `so_far`.
    pub(crate) fn fold_part(
        &self,
        loops: &Loops,
        operands: &mut Operands<'_>,
        so_far: &mut Continued<'_>,
    ) -> Result<()> {
        let space = loops.space().ok_or_else(no_reduction)?;
        let (inputs, _) = operands.slices().ok_or_else(overlaps)?;
        let fold = Fold::new(self, space, 0, &inputs);
        let mut elements = Elements::new(&fold);
        let Continued { blocks, numbers } = so_far;
        self.timed(|| {
            blocks.iter_mut().try_for_each(|(results, take)| {
                take.continue_at(numbers.end);
                let unit = Unit { results: results.clone(), numbers: 0..space.count };
                elements.unit(&unit, SmallVec::new(), take)
            })
        })?;
        numbers.end += space.count;
        elements.pace.end();
        self.outcome.note_faults(&elements.faults);
        Ok(())
    }
}
