//! Running a stage that combines each element along an axis with those before it.
//!
//! The stage's kernel stores its elements where the results go, as any other; then they are scanned in place, each run along the
//! axis by one thread. The bits depend on the elements alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::{Action, Stage};
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Scan;
use broadloom_mem::{FloatEnv, Nest, Region, View, ViewMut};
use broadloom_reduce::ScanState;
use smallvec::SmallVec;

use crate::engine::memory::read;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;
use crate::engine::workers;

/// Nanoseconds to scan an element, about.
const SCAN: f64 = 2.0;
/// Bytes that are scanned between two looks at whether the run was cancelled.
const STRETCH: usize = 1 << 20;

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
        let Action::Scan { scan, axis, initial } = stage.action else { return Err(internal()) };
        let dtype = stage.kernel.output_dtypes().next().ok_or_else(internal)?;
        let width: usize = stage.shape[axis + 1..].iter().product();
        let row = width * dtype.size();
        let bytes = row * (stage.shape[axis] + usize::from(initial));
        let front = if initial { row } else { 0 };
        Ok(Runs { scan, dtype, width, count: stage.shape[..axis].iter().product(), front, bytes })
    }

    /// Where the kernel's elements go: behind the initial ones.
    fn target<'o>(&self, stage: &Stage, out: &'o mut [u8]) -> Result<ViewMut<'o>> {
        let Action::Scan { axis, initial, .. } = stage.action else {
            return Err(Error::new(ErrorKind::Internal, "a stage that scans nothing"));
        };
        let mut strides: SmallVec<[isize; 6]> = SmallVec::new();
        let mut step = self.dtype.size() as isize;
        for (i, &extent) in stage.shape.iter().enumerate().rev() {
            strides.push(step);
            step *= (extent + usize::from(initial && i == axis)) as isize;
        }
        strides.reverse();
        ViewMut::new(out, self.dtype.size(), self.front, &stage.shape, &strides).map_err(|e| memory(&e))
    }

    /// Scans the elements of a run in place.
    fn scan(&self, run: &mut [u8], watch: Option<&Watch<'_>>) -> Result<()> {
        let (item, row) = (self.dtype.size(), self.width * self.dtype.size());
        let first = self.scan.initial(self.dtype).bits.to_le_bytes();
        let (head, elements) = run.split_at_mut(self.front);
        head.chunks_exact_mut(item).for_each(|element| element.copy_from_slice(&first[..item]));
        let mut state = ScanState::new(self.scan, self.dtype, self.width)?;
        for stretch in elements.chunks_mut(row * (STRETCH / row).max(1)) {
            watch.map_or(Ok(()), Watch::check)?;
            state.push_in_place(stretch);
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
        let outcome = Outcome::new(0, false, None);
        let threads = workers::threads(request.options, SCAN * shape.elements() as f64).min(runs.count);
        let places: Vec<Mutex<&mut [u8]>> = out.chunks_exact_mut(runs.bytes).map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        outcome.share(threads, &|| {
            while let Some(run) = places.get(next.fetch_add(1, Ordering::Relaxed))
                && !outcome.has_stopped()
            {
                let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
                outcome.part(0, || runs.scan(&mut run, watch));
            }
        })
    }

    /// Scans a part of a stage, which is a stage itself, here and now; `store` runs its kernel.
    pub fn scan_part(
        stage: &Stage,
        inputs: &[View<'_>],
        out: &mut [u8],
        store: impl FnOnce(&mut Nest<'_>) -> Result<()>,
    ) -> Result<()> {
        let runs = Runs::of(stage)?;
        let to = runs.target(stage, out)?;
        store(&mut Nest::new(&stage.shape, inputs, [to]).map_err(|e| memory(&e))?)?;
        out.chunks_exact_mut(runs.bytes.max(1)).try_for_each(|run| runs.scan(run, None))
    }
}
