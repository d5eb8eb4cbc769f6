//! What runs of recurrences have in common, whichever order their steps have: the kernel, and the inputs of a unit.

use std::ops::Range;

use broadloom_core::{DType, Result};
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_mem::{
    AliasPolicy, Block, Buffer, KernelRun, Nest, Operands, Region, Scratch, Stores, WorkingMemory,
};

use crate::engine::execute::{StageRun, memory, walk};
use crate::engine::plan_run::Arguments;
use crate::engine::recurrence::{Recurrence, Unit};
use crate::engine::runtime::Executable;

/// A run of a recurrence that is divided among threads in the way `D`: the state that they share.
pub(super) struct UnitRun<'s, D> {
    pub run: &'s StageRun<'s>,
    pub of: &'s Recurrence,
    pub division: &'s D,
    pub kernel: Executable,
    pub inputs: &'s [(Region<'s>, isize)],
}

impl<D> UnitRun<'_, D> {
    /// Calls `body` with the kernel, and what a call of it needs, unless [no step follows](UnitRun::has_ended).
    pub(super) fn call(
        &self,
        faults: &mut [u8],
        memory: &mut WorkingMemory,
        body: impl FnOnce(&Executable, &mut KernelRun<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.has_ended(faults) {
            return Ok(());
        }
        let go_on = || self.run.outcome.go_on_looping();
        let loops = self.run.outcome.loops(self.run.options(), &go_on);
        let Arguments { params, tables } = self.run.arguments;
        let (stores, loops) = (Stores::Cached, Some(&loops));
        body(&self.kernel, &mut KernelRun { params, tables, faults, stores, memory, loops })
    }

    /// Whether no further step is performed: the states that follow from an element that does not end have no meaning, nor do those after
    /// a position outside of a table, from which a loop might not end.
    pub(super) fn has_ended(&self, faults: &[u8]) -> bool {
        let gathers = || self.run.prepared.stage.kernel.first_gather_site();
        let is_outside = || faults.iter().skip(gathers()).any(|&fault| fault != 0);
        self.run.outcome.is_endless() || self.of.stops_outside && is_outside()
    }

    /// Visits the blocks of a plan over some inputs, from the first element of a unit at a step.
    pub(super) fn walk(
        &self,
        plan: &LoopPlan,
        (unit, inputs, step): (&Unit, Range<usize>, usize),
        scratch: &mut Scratch,
        mut each: impl FnMut(&mut Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut operands = Operands::default();
        for input in inputs {
            let (region, from) = self.inputs[input];
            operands.read_from(region, from + self.of.start(input, unit, step));
        }
        let mut nest = Nest::bind(plan, &mut operands).map_err(|e| memory(&e))?;
        let mut parts = nest.split(1, AliasPolicy::InPlace);
        parts.try_for_each(|part| walk(part, self.run.prepared.can_fail, scratch, &mut each))
    }

    /// Copies inputs that lack the axis to the first `cols` elements of tiles.
    pub(super) fn copy_across(
        &self,
        (unit, inputs): (&Unit, Range<usize>),
        cols: usize,
        tiles: &mut [Buffer],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let plan = self.of.plan_across(inputs.clone(), cols).map_err(|e| memory(&e))?;
        self.walk(&plan, (unit, inputs.clone(), 0), scratch, |block| {
            for (i, (tile, input)) in tiles.iter_mut().zip(inputs.clone()).enumerate() {
                let (dtype, bytes) = (self.dtype(input), block.inputs(0).bytes(i));
                let (item, first) = (dtype.size(), block.first_of(0));
                let place = first * item..(first + block.cols()) * item;
                let to = tile.as_bytes_mut().and_then(|tile| tile.get_mut(place)).unwrap_or_default();
                copy(to, bytes, dtype);
            }
            Ok(())
        })
    }

    /// The dtype of an input of the kernel.
    pub(super) fn dtype(&self, input: usize) -> DType {
        self.run.prepared.stage.kernel.inputs[input]
    }
}

/// Copies elements, which may be a single one that stands for all. Every byte of a bool but 0 becomes 1.
pub(super) fn copy(to: &mut [u8], from: &[u8], dtype: DType) {
    match from.len() >= to.len() {
        true => to.copy_from_slice(&from[..to.len()]),
        false => to.chunks_exact_mut(dtype.size()).for_each(|to| to.copy_from_slice(&from[..dtype.size()])),
    }
    if dtype == DType::Bool {
        to.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}
