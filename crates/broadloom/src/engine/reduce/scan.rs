//! Running a stage that combines each element along an axis with those before it.
//!
//! The stage's kernel stores its elements where the results go, as any other; then they are scanned in place, each run along the
//! axis by one thread. The bits depend on the elements alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Scan;
use broadloom_mem::{FloatEnv, Nest, Region, View, ViewMut};
use broadloom_reduce::ScanState;
use smallvec::SmallVec;

use crate::engine::memory::read;
use crate::engine::outcome::{Outcome, Pace};
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;
use crate::engine::workers;

/// Nanoseconds to scan an element, about.
const SCAN: f64 = 2.0;
/// Bytes that are scanned between two looks at whether the run was cancelled. Longer rows are scanned in strips of their columns.
const STRETCH: usize = 1 << 20;
/// Bytes of short runs that a thread takes at a time.
const SHARE: usize = 64 << 10;

/// The runs that a stage scans.
struct Runs {
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

impl Runs {
    fn of(stage: &Stage) -> Result<Runs> {
        let internal = || Error::new(ErrorKind::Internal, "a stage that scans nothing");
        let ((scan, axis), initial) = (stage.scan().ok_or_else(internal)?, stage.initial);
        let dtype = stage.kernel.output_dtypes().next().ok_or_else(internal)?;
        let width: usize = stage.shape[axis + 1..].iter().product();
        let row = width * dtype.size();
        let bytes = row * (stage.shape[axis] + usize::from(initial));
        let front = if initial { row } else { 0 };
        Ok(Runs { scan, dtype, width, count: stage.shape[..axis].iter().product(), front, bytes })
    }

    /// Where the kernel's elements go: behind the initial ones.
    fn target<'o>(&self, stage: &Stage, out: &'o mut [u8]) -> Result<ViewMut<'o>> {
        let mut strides: SmallVec<[isize; 6]> = SmallVec::new();
        let mut step = self.dtype.size() as isize;
        for (i, &extent) in stage.shape.iter().enumerate().rev() {
            strides.push(step);
            step *= (extent + usize::from(stage.initial && stage.axes.contains(i))) as isize;
        }
        strides.reverse();
        ViewMut::new(out, self.dtype.size(), self.front, &stage.shape, &strides).map_err(|e| memory(&e))
    }

    /// Scans the elements of runs in place.
    ///
    /// Errors: also that the run was cancelled.
    fn scan(&self, runs: &mut [u8], pace: &mut Pace<'_>) -> Result<()> {
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
                pace.pass(stretch.len())?;
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
                pace.pass(columns.len())?;
                state.push_in_place(&mut row[columns.clone()]);
            }
        }
        Ok(())
    }
}

fn memory(e: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Memory, e.to_string())
}

impl PreparedStage {
    /// Scans over memory that the inputs' layouts are over; the output is written whole, in row-major order.
    pub(super) fn scan(
        &self,
        request: &Request<'_>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        let runs = Runs::of(&self.stage)?;
        let Some(out) = outputs.first_mut().map(|out| &mut **out) else { return Ok(()) };
        if runs.count == 0 || runs.bytes == 0 {
            return Ok(());
        }
        let _ieee = FloatEnv::ieee();
        let (shape, kernel) = (&self.stage.shape, &self.stage.kernel);
        if shape.elements() > 0 {
            let mut views: SmallVec<[View<'_>; 4]> = SmallVec::new();
            for ((region, input), &dtype) in inputs.iter().zip(&self.stage.inputs).zip(&kernel.inputs) {
                views.push(read(*region, dtype, input)?);
            }
            let to = runs.target(&self.stage, out)?;
            let mut nest = Nest::new(shape, &views, [to]).map_err(|e| memory(&e))?;
            self.run_nest(request, &mut nest, params, self.clock(request), watch)?;
        }
        // The elements are those of the stage's loops, which have been counted.
        let outcome = Outcome::new(0, false, watch).uncounted();
        let threads = workers::threads(request.options, SCAN * shape.elements() as f64).min(runs.count);
        let share = runs.bytes * (SHARE / runs.bytes).clamp(1, runs.count.div_ceil(threads));
        let places: Vec<Mutex<&mut [u8]>> = out.chunks_mut(share).map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        outcome.share(threads, &|| {
            while let Some(share) = places.get(next.fetch_add(1, Ordering::Relaxed))
                && !outcome.has_stopped()
            {
                let mut share = share.lock().unwrap_or_else(PoisonError::into_inner);
                outcome.part(0, || runs.scan(&mut share, &mut Pace::new(&outcome, STRETCH)));
            }
        })
    }

    /// Scans a part of a stage, which is a stage itself, here and now; `store` runs its kernel, and `outcome` says whether to go on.
    pub(in crate::engine) fn scan_part(
        stage: &Stage,
        inputs: &[View<'_>],
        out: &mut [u8],
        outcome: &Outcome<'_>,
        store: impl FnOnce(&mut Nest<'_>) -> Result<()>,
    ) -> Result<()> {
        let runs = Runs::of(stage)?;
        let to = runs.target(stage, out)?;
        store(&mut Nest::new(&stage.shape, inputs, [to]).map_err(|e| memory(&e))?)?;
        runs.scan(out, &mut Pace::new(outcome, STRETCH))
    }
}
