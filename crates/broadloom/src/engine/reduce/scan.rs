//! Running a stage that combines each element along an axis with those before it.
//!
//! The stage's kernel stores its elements where the results go, as any other; then they are scanned in place, each run along the
//! axis by one thread. The bits depend on the elements alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Layout, Result};
use broadloom_ir::Scan;
use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError};
use broadloom_mem::Operands;
use broadloom_reduce::ScanState;

use super::overlaps;
use crate::engine::execute::StageRun;
use crate::engine::outcome::Pace;
use crate::engine::prepared::stored;

/// Nanoseconds to scan an element, about.
const SCAN: f64 = 2.0;
/// Bytes that are scanned between two looks at whether the run was cancelled. Longer rows are scanned in strips of their columns.
const STRETCH: usize = 1 << 20;
/// Bytes of short runs that a thread takes at a time.
const SHARE: usize = 64 << 10;

/// How a stage that scans is walked: its elements are stored where the results go, and the runs along the axis scanned there.
pub struct Scanned {
    /// The loops of the elements, which go behind the initial ones.
    pub plan: LoopPlan,
    scan: Scan,
    dtype: DType,
    /// Elements that are scanned beside each other.
    width: usize,
    /// How many runs there are.
    count: usize,
    /// Bytes of the initial elements of a run, and of the whole run.
    front: usize,
    bytes: usize,
}

impl Scanned {
    /// How a stage is walked; none if it scans nothing.
    pub fn of(stage: &Stage) -> Option<std::result::Result<Scanned, LoopPlanError>> {
        let (scan, axis) = stage.scan()?;
        let (dtype, shape) = (stage.kernel.output_dtypes().next()?, &stage.shape);
        let width: usize = shape[axis + 1..].iter().product();
        let front = if stage.initial { width } else { 0 };
        // Those of the results, from behind the initial elements of the first run on.
        let results = Layout::contiguous(stage.output_shape());
        let output = Layout { shape: shape.clone(), offset: front as isize, ..results };
        let of = |plan: LoopPlan| Scanned {
            plan,
            scan,
            dtype,
            width,
            count: shape[..axis].iter().product(),
            front: front * dtype.size(),
            bytes: width * (shape[axis] + usize::from(stage.initial)) * dtype.size(),
        };
        Some(stored(stage, &[output]).map(of))
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    /// The nanoseconds, about, that scanning takes in addition to storing.
    pub fn time(&self) -> f64 {
        SCAN * self.plan.elements() as f64
    }

    /// Scans the elements of runs in place.
    ///
    /// Errors: also that the run was cancelled.
    fn run(&self, runs: &mut [u8], pace: &mut Pace<'_>) -> Result<()> {
        let (item, row) = (self.dtype.size(), self.width * self.dtype.size());
        let first = self.scan.initial(self.dtype).bits.to_le_bytes();
        let mut state = ScanState::new(self.scan, self.dtype, self.width.min(STRETCH / item))?;
        for run in runs.chunks_exact_mut(self.bytes.max(1)) {
            let (head, elements) = run.split_at_mut(self.front);
            head.chunks_exact_mut(item).for_each(|element| element.copy_from_slice(&first[..item]));
            if row > STRETCH {
                self.scan_strips(elements, &mut state, pace)?;
                continue;
            }
            state.reset();
            for stretch in elements.chunks_mut(row * (STRETCH / row)) {
                pace.again(stretch.len())?;
                state.push_in_place(stretch);
            }
        }
        Ok(())
    }

    /// Scans a run of long rows in place: some columns of all rows, and then those beside them.
    fn scan_strips(&self, elements: &mut [u8], state: &mut ScanState, pace: &mut Pace<'_>) -> Result<()> {
        let row = self.width * self.dtype.size();
        for from in (0..row).step_by(STRETCH) {
            let columns = from..row.min(from + STRETCH);
            let mut narrower;
            let state = if columns.len() == STRETCH {
                &mut *state
            } else {
                narrower = ScanState::new(self.scan, self.dtype, columns.len() / self.dtype.size())?;
                &mut narrower
            };
            state.reset();
            for row in elements.chunks_exact_mut(row) {
                pace.again(columns.len())?;
                state.push_in_place(&mut row[columns.clone()]);
            }
        }
        Ok(())
    }
}

impl StageRun<'_> {
    /// Scans elements; the output is written whole, in row-major order.
    pub(in crate::engine) fn scan(
        &self,
        scanned: &Scanned,
        operands: &mut Operands<'_>,
        threads: usize,
    ) -> Result<()> {
        if scanned.plan.elements() > 0 {
            self.store(&scanned.plan, operands, threads)?;
        }
        let (_, mut outputs) = operands.slices().ok_or_else(overlaps)?;
        let Some(out) = outputs.first_mut() else { return Ok(()) };
        let (threads, bytes) = (threads.min(scanned.count), scanned.bytes);
        let share = bytes * (SHARE / bytes).clamp(1, scanned.count.div_ceil(threads));
        let places: Vec<Mutex<&mut [u8]>> = out.chunks_mut(share).map(Mutex::new).collect();
        let (next, outcome) = (AtomicUsize::new(0), &self.outcome);
        outcome.share(threads, &|| {
            while let Some(share) = places.get(next.fetch_add(1, Ordering::Relaxed))
                && !outcome.has_stopped()
            {
                let mut share = share.lock().unwrap_or_else(PoisonError::into_inner);
                // The elements were counted when they were stored.
                outcome.part(0, || scanned.run(&mut share, &mut Pace::new(outcome, STRETCH)));
            }
        })
    }
}
