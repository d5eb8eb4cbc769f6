//! Reductions by label, and counts of labels.

use broadloom_core::routine::{Routine, SegmentFunction};
use broadloom_core::{Error, ErrorKind};
use broadloom_mem::{typed, typed_mut};
use broadloom_reduce::{
    LabelledRows, Labels, SegmentError, count_segments, reduce_segments, segment_bytes, segment_words,
};
use broadloom_sort::Workers;

use crate::engine::lent::Ended;
use crate::engine::memory::buffer;
use crate::engine::routine::call::{CallMemory, RoutineCall};

impl RoutineCall<'_> {
    /// The bytes that [`RoutineCall::segments`] takes beside its operands and results.
    pub(super) fn segment_bytes(&self, function: SegmentFunction, segments: usize, threads: usize) -> usize {
        let count = self.elements(self.operands() - 1);
        let counts = segments.saturating_mul(8 * threads);
        match function.reduction() {
            Some(_) => segment_bytes(self.dtype(0), count, self.width(), segments, threads).max(counts),
            None => counts,
        }
    }

    /// The number of elements of a row.
    fn width(&self) -> usize {
        self.shape(0).iter().skip(1).product()
    }

    /// Reduces the rows of each label, and counts them if the numbers of rows are asked for.
    pub(super) fn segments(
        &self,
        function: SegmentFunction,
        segments: usize,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> Result<(), Ended> {
        let name = self.of.routine.name();
        let by = self.operands() - 1;
        let named = |error: Error| Error::new(error.kind(), format!("{name}: {}", error.message()));
        let labels = Labels::new(self.dtype(by), memory.tables[by].bytes(), segments).map_err(named)?;
        let ended = |error| ended(error, name, &labels);
        if let Routine::Segments { at_positions: true, .. } = self.of.routine {
            let positions = typed::<i64>(memory.tables[by].bytes()).unwrap_or_default();
            self.check_positions(by, positions, segments, workers)?;
        }
        let mut results = memory.results.iter_mut();
        if let Some(reduction) = function.reduction()
            && let Some(Some(out)) = results.next()
        {
            let (dtype, rows, width) = (self.dtype(0), memory.tables[0].bytes(), self.width());
            let words = segment_words(reduction, dtype, labels.len(), width, segments);
            let mut own = buffer(memory.pool, 8 * words)?;
            let moved = own.as_bytes_mut().and_then(typed_mut::<u64>).unwrap_or_default();
            let done = reduce_segments(
                reduction,
                LabelledRows { dtype, elements: rows, width },
                &labels,
                out,
                moved,
                workers,
            );
            memory.pool.give(own);
            done.map_err(ended)?;
        }
        if let Some(Some(out)) = results.next() {
            count_segments(&labels, typed_mut::<i64>(out).unwrap_or_default(), workers).map_err(ended)?;
        }
        Ok(())
    }
}

/// The error that names a label and its place, or the reason for which the work was stopped.
fn ended(error: SegmentError, name: &str, labels: &Labels<'_>) -> Ended {
    match error {
        SegmentError::Label(at) => {
            let (label, segments) = (labels.get(at), labels.segments());
            let why = format!("{name}: label {label} is out of range for {segments} segments, at [{at}]");
            Ended::Failed(Error::new(ErrorKind::Index, why))
        }
        SegmentError::Stopped(why) => Ended::Stopped(why),
        SegmentError::Refused(error) => Ended::Failed(error),
    }
}
