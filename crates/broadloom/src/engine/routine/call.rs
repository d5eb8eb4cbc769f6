//! The call of a routine: what it reads and writes, and estimates of its time and memory.

use broadloom_core::DType;
use broadloom_core::fuse::{Stage, StageRoutine};
use broadloom_core::routine::Routine;
use broadloom_mem::{Pool, Table};
use broadloom_sort::bytes_of_candidates;
use smallvec::SmallVec;

use crate::engine::watch::Work;

/// The approximate time of a reduction by label for each element, in nanoseconds.
const LABELLED: f64 = 3.0;

/// The time for each of so many elements in order, of which one is found in about a nanosecond for each comparison.
fn comparisons(count: usize) -> f64 {
    (2.0 + count as f64).log2()
}

/// The routine of a stage.
#[derive(Clone, Copy)]
pub(crate) struct RoutineCall<'c> {
    pub(super) of: &'c StageRoutine,
    stage: &'c Stage,
}

/// The memory of a call: its operands, its results, and the pool from which it takes more.
pub(super) struct CallMemory<'m> {
    pub tables: &'m [Table<'m>],
    /// The results in the order of the items; those that are not asked for are `None`.
    pub results: SmallVec<[Option<&'m mut [u8]>; 2]>,
    pub pool: &'m Pool,
}

impl<'c> RoutineCall<'c> {
    /// The call, if the stage is one.
    pub(crate) fn of(stage: &'c Stage) -> Option<RoutineCall<'c>> {
        stage.routine.as_ref().map(|of| RoutineCall { of, stage })
    }

    /// The dtype of an operand.
    pub(super) fn dtype(&self, operand: usize) -> DType {
        self.stage.kernel.tables[operand]
    }

    /// The extents of an operand.
    pub(super) fn shape(&self, operand: usize) -> &'c [usize] {
        &self.stage.tables[operand].layout.shape
    }

    /// The number of elements of an operand.
    pub(super) fn elements(&self, operand: usize) -> usize {
        self.stage.tables[operand].layout.shape.elements()
    }

    /// The number of operands.
    pub(super) fn operands(&self) -> usize {
        self.stage.tables.len()
    }

    /// The bytes of the operands and of the results.
    pub(crate) fn traffic(&self) -> (usize, usize) {
        let sum = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(0, usize::saturating_add);
        let read = (0..self.operands()).map(|i| self.elements(i).saturating_mul(self.dtype(i).size()));
        let written = self.of.results.iter().map(|(dtype, shape)| shape.elements() * dtype.size());
        (sum(&mut { read }), sum(&mut { written }))
    }

    /// The number of elements of the first operand, and an estimate of the time.
    pub(crate) fn work(&self) -> Work {
        let most = (0..self.operands()).map(|i| self.elements(i));
        let results = self.of.results.iter().map(|(_, shape)| shape.elements());
        let most = most.chain(results).max().unwrap_or(0) as f64;
        let time = match self.of.routine {
            Routine::Segments { .. } | Routine::Histogram => LABELLED * most,
            Routine::Sort { .. } | Routine::ArgSort { .. } => most * comparisons(self.row()),
            Routine::TopK { k, .. } => most * comparisons(k),
            Routine::SearchSorted { .. } => self.elements(1) as f64 * comparisons(self.elements(0)),
            Routine::NonZero { .. } | Routine::Scatter => most,
        };
        Work { elements: self.elements(0), time }
    }

    /// The approximate number of bytes that the call takes beside its operands and results, on this many threads.
    pub(crate) fn bytes_beside(&self, threads: usize) -> usize {
        match self.of.routine {
            Routine::Segments { function, segments, .. } => self.segment_bytes(function, segments, threads),
            Routine::Sort { .. } => self.words(false, threads).saturating_mul(8),
            Routine::ArgSort { .. } => self.words(true, threads).saturating_mul(8),
            Routine::TopK { k, .. } => {
                // A result that is not asked for is computed, too.
                let other = match self.of.items[..] {
                    [0] => 8,
                    [_] => self.dtype(0).size(),
                    _ => 0,
                };
                let elements = (self.elements(0) / self.row().max(1)).saturating_mul(k);
                bytes_of_candidates(self.row(), k, threads).saturating_add(elements.saturating_mul(other))
            }
            Routine::Histogram => self.bin_bytes(threads),
            Routine::SearchSorted { .. } | Routine::NonZero { .. } | Routine::Scatter => 0,
        }
    }
}
