//! Runs a stage that is the step of a [recurrence](crate::engine::recurrence): each thread takes one unit after another.

use std::sync::{Mutex, PoisonError};

use broadloom_core::Result;
use broadloom_core::node::StepOrder;
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_mem::{Block, Operands, Slab, StepRows, WorkingMemory, rows_of_states};
use smallvec::SmallVec;

use crate::engine::execute::{StageRun, Tiles, Workspace, make_tiles, memory, with_workspace};
use crate::engine::recurrence::{Recurrence, StepDivision, Unit};
use crate::engine::reduce::overlaps;
use crate::engine::unit_run::UnitRun;

/// The memory of a unit's results, one slab for each output of the kernel.
type UnitResults<'m> = SmallVec<[Slab<'m>; 4]>;

/// A run of a recurrence whose states go from step to step.
type SteppedRun<'s> = UnitRun<'s, StepDivision>;

impl StageRun<'_> {
    /// Runs all steps. Each output is written completely, in row-major order.
    pub(super) fn steps(&self, of: &Recurrence, operands: &mut Operands<'_>, threads: usize) -> Result<()> {
        if of.order == StepOrder::Canonical {
            return self.combine(of, operands, threads);
        }
        let kernel = self.kernel(&of.access())?;
        let division = of.divide(threads, kernel.policy());
        let (inputs, outputs) = operands.slices().ok_or_else(overlaps)?;
        let mut slabs: Vec<_> = Vec::with_capacity(of.outputs.len());
        for (output, (out, dtype)) in { outputs }.into_iter().zip(&of.outputs).enumerate() {
            let mut extents: SmallVec<[usize; 6]> = of.extents.clone();
            let mut across = of.across.clone();
            let is_state = output < of.states;
            if is_state {
                extents.remove(of.axis);
                if across.start > of.axis {
                    across = across.start - 1..across.end - 1;
                }
            }
            let rows = (!is_state).then_some(of.axis);
            slabs.push(Slab::divide(out, dtype.size(), &extents, rows, across, division.width));
        }
        // There may be many millions of units, so that each is made when a thread takes it.
        let shares = Mutex::new(of.units(division.width).map(|unit| {
            let results = slabs.iter_mut().enumerate().filter_map(|(output, slabs)| {
                let slab = slabs.next()?;
                Some(if of.order == StepOrder::Backward && output >= of.states {
                    slab.reversed()
                } else {
                    slab
                })
            });
            (unit, results.collect::<UnitResults<'_>>())
        }));
        let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        let steps = UnitRun { run: self, of, division: &division, kernel, inputs: &inputs };
        let outcome = &self.outcome;
        outcome.share(threads.min(of.count_units(division.width)), &|| {
            while !outcome.has_stopped()
                && let Some((unit, results)) = next()
            {
                outcome.part(0, || steps.unit(&unit, results));
            }
        })
    }
}

impl SteppedRun<'_> {
    /// Runs all steps of a unit.
    fn unit(&self, unit: &Unit, mut results: UnitResults<'_>) -> Result<()> {
        let UnitRun { run, of, division, .. } = *self;
        let mut faults: SmallVec<[u8; 8]> = SmallVec::from_elem(0, run.outcome.sites());
        let cols = unit.columns.len();
        let done = with_workspace(|Workspace { scratch, memory: working, tiles }| {
            let rows = rows_of_states(self.kernel.policy(), division.rows).max(division.rows);
            make_tiles(tiles, of.outputs.iter().copied(), rows * cols)?;
            self.copy_across((unit, 0..of.states), cols, tiles, scratch)?;
            // The plan of a block of `rows` steps, which all blocks but the last have.
            let mut plan: Option<(usize, LoopPlan)> = None;
            for from in (0..of.steps).step_by(division.rows) {
                let rows = division.rows.min(of.steps - from);
                if plan.as_ref().is_none_or(|(of, _)| *of != rows) {
                    plan = Some((
                        rows,
                        of.plan(of.states..self.inputs.len(), rows, cols).map_err(|e| memory(&e))?,
                    ));
                }
                let Some((_, plan)) = &plan else { break };
                let others = of.states..self.inputs.len();
                self.walk(plan, (unit, others, from), scratch, |block| {
                    let mut block = StepsOfBlock { steps: self, block, cols, tiles, results: &mut results };
                    block.run(from, &mut faults, working)
                })?;
                run.outcome.count(rows * unit.columns.len());
                run.outcome.go_on()?;
                if self.has_ended(&faults) {
                    break;
                }
            }
            for (slab, tile) in results.iter_mut().zip(tiles.iter()).take(of.states) {
                slab.write(0..1, tile.as_bytes(), cols);
            }
            Ok(())
        });
        run.outcome.note_faults(&faults);
        done
    }
}

/// The steps of a block of the inputs.
struct StepsOfBlock<'b, 'a, 's, 'm> {
    steps: &'b SteppedRun<'s>,
    block: &'b mut Block<'a>,
    /// The number of columns of a step.
    cols: usize,
    /// For each output of the kernel: the state before the first step, with room for those that follow it if it is not
    /// overwritten; or the elements of a block.
    tiles: &'b mut Tiles,
    results: &'b mut UnitResults<'m>,
}

impl StepsOfBlock<'_, '_, '_, '_> {
    /// Runs the steps; those of the plan begin with step `from`.
    fn run(&mut self, from: usize, faults: &mut [u8], working: &mut WorkingMemory) -> Result<()> {
        let StepsOfBlock { steps, ref mut block, cols, ref mut tiles, ref mut results } = *self;
        if block.cols() == cols {
            return self.rows(from, faults, working);
        }
        // The only column of a unit is a row of the block.
        (0..block.rows()).try_for_each(|row| {
            block.with_row_as_column(row, |block| {
                let mut column = StepsOfBlock { steps, block, cols, tiles, results };
                column.rows(from, faults, working)
            })
        })
    }

    /// Runs the rows of the block as steps; those of the plan begin with step `from`.
    fn rows(&mut self, from: usize, faults: &mut [u8], working: &mut WorkingMemory) -> Result<()> {
        let of = self.steps.of;
        let (count, wide) = (self.block.rows(), self.block.cols());
        let first = from + self.block.first_of(0) / wide;
        let steps = first..first + count;
        let (states, outputs) = self.tiles.split_at_mut(of.states);
        {
            let states = states.iter_mut().zip(&of.outputs);
            let states = states.map(|(tile, dtype)| (tile.as_bytes_mut().unwrap_or_default(), dtype.size()));
            let results = self.results[of.states..].iter_mut().zip(outputs).zip(&of.outputs[of.states..]);
            let mut rows_of: SmallVec<[StepRows<'_>; 4]> = SmallVec::new();
            for ((slab, tile), dtype) in results {
                if slab.has_rows(wide) {
                    rows_of.push(slab.rows(steps.clone()));
                } else {
                    let tile = tile.as_bytes_mut().unwrap_or_default();
                    rows_of.push(StepRows::of(tile, dtype.size(), count, wide));
                }
            }
            self.steps.call(faults, working, |kernel, run| {
                let policy = kernel.policy();
                self.block.with_states(states, rows_of.into_iter(), policy, |block| kernel.run(block, run))
            })?;
        }
        let (states, outputs) = self.tiles.split_at_mut(of.states);
        for (tile, dtype) in states.iter_mut().zip(&of.outputs) {
            let row = wide * dtype.size();
            let last = rows_of_states(self.steps.kernel.policy(), count) - 1;
            if let (Some(tile), true) = (tile.as_bytes_mut(), last > 0) {
                tile.copy_within(last * row..(last + 1) * row, 0);
            }
        }
        for (slab, tile) in self.results[of.states..].iter_mut().zip(outputs) {
            if !slab.has_rows(wide) {
                slab.write(steps.clone(), tile.as_bytes(), wide);
            }
        }
        Ok(())
    }
}
