//! Running a stage that combines each element along an axis with those before it.
//!
//! The stage's kernel stores its elements where the results go, as any other; then they are scanned in place, each run along the
//! axis by one thread. The bits depend on the elements alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::Action;
use broadloom_core::{Error, ErrorKind, Result};
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
        let internal = || Error::new(ErrorKind::Internal, "a stage that scans nothing");
        let Action::Scan { scan, axis, initial } = self.stage.action else { return Err(internal()) };
        let (shape, kernel) = (&self.stage.shape, &self.stage.kernel);
        let dtype = kernel.output_dtypes().next().ok_or_else(internal)?;
        let out = &mut **outputs.first_mut().ok_or_else(internal)?;
        let item = dtype.size();
        let outer: usize = shape[..axis].iter().product();
        let width: usize = shape[axis + 1..].iter().product();
        let length = shape[axis] + usize::from(initial);
        let (row, run) = (width * item, width * length * item);
        if outer == 0 || run == 0 {
            return Ok(());
        }
        let _ieee = FloatEnv::ieee();
        let front = if initial { row } else { 0 };
        if shape.elements() > 0 {
            let memory = |e: &dyn std::error::Error| Error::new(ErrorKind::Memory, e.to_string());
            let mut views: SmallVec<[View<'_>; 4]> = SmallVec::new();
            for ((region, input), &dtype) in inputs.iter().zip(&self.stage.inputs).zip(&kernel.inputs) {
                views.push(read(*region, dtype, input)?);
            }
            let mut strides: SmallVec<[isize; 6]> = SmallVec::new();
            let mut step = item as isize;
            for (i, &extent) in shape.iter().enumerate().rev() {
                strides.push(step);
                step *= (extent + usize::from(initial && i == axis)) as isize;
            }
            strides.reverse();
            let to = ViewMut::new(out, item, front, shape, &strides).map_err(|e| memory(&e))?;
            let mut nest = Nest::new(shape, &views, [to]).map_err(|e| memory(&e))?;
            self.run_nest(request, &mut nest, params, self.clock(request), watch)?;
        }
        // The elements are those of the stage's loops, which have been counted.
        let outcome = Outcome::new(0, false, None);
        let threads = workers::threads(request.options, SCAN * shape.elements() as f64).min(outer);
        let runs: Vec<Mutex<&mut [u8]>> = out.chunks_exact_mut(run).map(Mutex::new).collect();
        let first = scan.initial(dtype).bits.to_le_bytes();
        let next = AtomicUsize::new(0);
        outcome.share(threads, &|| {
            while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed))
                && !outcome.has_stopped()
            {
                let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
                let (head, elements) = run.split_at_mut(front);
                head.chunks_exact_mut(item).for_each(|element| element.copy_from_slice(&first[..item]));
                outcome.part(0, || {
                    let mut state = ScanState::new(scan, dtype, width)?;
                    for stretch in elements.chunks_mut(row * (STRETCH / row).max(1)) {
                        watch.map_or(Ok(()), Watch::check)?;
                        state.push_in_place(stretch);
                    }
                    Ok(())
                });
            }
        })
    }
}
