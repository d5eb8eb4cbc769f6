//! Runs stages that call a [routine](broadloom_core::routine): a sort, or a reduction by label.
//!
//! The operands are tables, contiguous memory that other stages have written or that the caller has given, and the results are slices.
//! A routine runs on the evaluation's threads, which stop when the evaluation is cancelled or exceeds its time, and its results do
//! not depend on their number.

mod call;
mod positions;
mod segments;
mod sorts;

use broadloom_core::routine::Routine;
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, Operands, Table};
use broadloom_sort::Workers;
use smallvec::SmallVec;

use crate::engine::lent::{Ended, lend};
use crate::engine::plan_run::PlanRun;
use crate::engine::workers;

use call::CallMemory;
pub(crate) use call::RoutineCall;

impl PlanRun<'_> {
    /// Runs a routine on its operands, the tables, and on its results, the outputs among `operands`.
    pub(super) fn routine(
        &self,
        call: RoutineCall<'_>,
        operands: &mut Operands<'_>,
        tables: &[Table<'_>],
    ) -> Result<()> {
        // A node without elements never fails, even if a label is out of range.
        if call.of.results.iter().all(|(_, shape)| shape.elements() == 0) {
            return Ok(());
        }
        let _ieee = FloatEnv::ieee();
        let overlaps = || Error::new(ErrorKind::Internal, "results of a routine are no slices of their own");
        let (_, outputs) = operands.slices().ok_or_else(overlaps)?;
        let mut results: SmallVec<[Option<&mut [u8]>; 2]> = SmallVec::new();
        for (&item, output) in call.of.items.iter().zip(outputs) {
            results.resize_with(item as usize, || None);
            results.push(Some(output));
        }
        let mut memory = CallMemory { tables, results, pool: self.pool };
        let work = call.work();
        let threads = workers::threads(self.request.options, work.time);
        lend(threads, work.elements, self.watch, |workers| call.run(&mut memory, workers))
    }
}

impl RoutineCall<'_> {
    fn run(&self, memory: &mut CallMemory<'_>, workers: &dyn Workers) -> std::result::Result<(), Ended> {
        match self.of.routine {
            Routine::Segments { function, segments, .. } => {
                self.segments(function, segments, memory, workers)
            }
            Routine::Sort { descending } => self.sort(descending, false, memory, workers),
            Routine::ArgSort { descending } => self.sort(descending, true, memory, workers),
            Routine::TopK { k, largest } => self.topk(k, largest, memory, workers),
            Routine::SearchSorted { right } => self.search(right, memory, workers),
            Routine::Histogram => self.histogram(memory, workers),
            Routine::NonZero { .. } => self.nonzero(memory, workers),
            Routine::Scatter => self.scatter(memory, workers),
        }
    }
}
