//! Running a stage that combines elements along axes.
//!
//! For each piece of the index space the stage's kernel computes elements into a tile that stays in cache, by whichever
//! executor is chosen, and a [`Partial`](broadloom_reduce::Partial) folds the tile into what has been combined so far; where the kernel only loads, it
//! folds memory. Pieces, tiles and threads cut a reduction anywhere: partial results are appended in order, and the
//! canonical order of combination does not depend on the cuts.

mod fold;
mod folding;
mod pieces;
mod scan;
mod tile;

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_mem::{Access, FloatEnv, Region};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::geometry::Geometry;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::{Executable, Request};
use crate::engine::watch::Watch;
use crate::engine::workers;

use fold::Fold;
pub(crate) use folding::{Blocks, Folding};

/// So many elements are folded from memory without a thought of threads.
const SHORT: usize = 1 << 12;
/// Bytes of results that are filled between two looks whether the run was cancelled.
const FILLED: usize = 1 << 20;

impl PreparedStage {
    /// Runs a stage that combines elements.
    pub fn combine(
        &self,
        request: &Request<'_>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        match self.stage.reduces() {
            true if watch.is_none() && self.is_short_reduction() => self.reduce_neighbours(inputs, outputs),
            true => self.reduce(request, inputs, outputs, params, watch),
            false => self.scan(request, inputs, outputs, params, watch),
        }
    }

    /// Reduces over memory that the inputs' layouts are over; each output is written whole, in row-major order.
    fn reduce(
        &self,
        request: &Request<'_>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        let geometry = self.geometry.as_ref().ok_or_else(no_reduction)?;
        let dtypes: SmallVec<[DType; 2]> = self.stage.kernel.output_dtypes().collect();
        if geometry.count == 0 {
            let each = self.stage.reductions().zip(&dtypes).zip(outputs);
            return { each }.try_for_each(|((reduction, &dtype), out)| fill(reduction, dtype, out, watch));
        }
        if geometry.results == 0 {
            return Ok(());
        }
        self.with_fold(geometry, 0, request, inputs, params, watch, |fold, threads, parts| {
            fold.run(threads, parts, outputs)
        })
    }

    /// Runs `run` with what combines elements, the first of which is number `start`, and how many threads and parts are best.
    #[expect(clippy::too_many_arguments, reason = "those of a run, and what is to be done")]
    fn with_fold(
        &self,
        geometry: &Geometry,
        start: u64,
        request: &Request<'_>,
        inputs: &[Region<'_>],
        params: &[u64],
        watch: Option<&Watch<'_>>,
        run: impl FnOnce(&Fold<'_>, usize, usize) -> Result<()>,
    ) -> Result<()> {
        // Sums are computed, and estimates made, in floats, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let mut fold = Fold {
            prepared: self,
            geometry,
            start,
            reductions: self.stage.reductions().collect(),
            dtypes: self.stage.kernel.output_dtypes().collect(),
            inputs,
            params,
            first: None,
            outcome: &outcome,
        };
        let since = self.clock(request);
        let access =
            if fold.is_direct() || !self.is_planned(geometry) { None } else { Some(fold.first_access()?) };
        let chosen = access.as_ref().map(|access| self.runner(request, access, watch)).transpose()?;
        fold.first = chosen.as_ref().zip(access.as_deref()).map(|((runner, _), access)| (runner, access));
        let time = match &chosen {
            Some((kernel, choice)) if kernel.plan().is_none() => choice.cost.interpreted,
            _ => self.cost_of_run(request).compiled,
        };
        let threads = workers::threads(request.options, time);
        run(&fold, threads, parts(threads))?;
        if let (Some(since), Some((runner, choice))) = (since, &chosen)
            && let State::Trial(_) = choice.state
        {
            self.note(request, runner.plan().is_some(), since);
        }
        self.check(outcome.faults())
    }
}

impl PreparedStage {
    /// Whether machine code is for this form: it may combine elements before it writes them.
    fn is_planned(&self, geometry: &Geometry) -> bool {
        self.geometry.as_ref().is_some_and(|own| own.form.is_across() == geometry.form.is_across())
    }

    /// How the inputs of a part's first tile are accessed; `None` where elements are folded from memory.
    pub fn reduce_access(
        &self,
        geometry: &Geometry,
        inputs: &[Region<'_>],
    ) -> Result<Option<SmallVec<[Access; 8]>>> {
        let outcome = Outcome::new(0, false, None);
        let fold = self.part_fold(geometry, None, inputs, &[], &outcome)?;
        if fold.is_direct() || !self.is_planned(geometry) { Ok(None) } else { fold.first_access().map(Some) }
    }

    /// Reduces a part of the stage's elements, here and now, as `geometry` says. `first` was chosen for how the inputs of the
    /// largest part are accessed.
    pub(super) fn reduce_part(
        &self,
        geometry: &Geometry,
        first: Option<(&Executable, &[Access])>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        outcome: &Outcome<'_>,
    ) -> Result<()> {
        let fold = self.part_fold(geometry, first, inputs, params, outcome)?;
        fold.pieces(0..geometry.pieces(), outputs.iter_mut().map(|out| &mut **out).collect())
    }

    fn part_fold<'f>(
        &'f self,
        geometry: &'f Geometry,
        first: Option<(&'f Executable, &'f [Access])>,
        inputs: &'f [Region<'f>],
        params: &'f [u64],
        outcome: &'f Outcome<'f>,
    ) -> Result<Fold<'f>> {
        let (reductions, dtypes) =
            (self.stage.reductions().collect(), self.stage.kernel.output_dtypes().collect());
        Ok(Fold { prepared: self, geometry, start: 0, reductions, dtypes, inputs, params, first, outcome })
    }
}

/// How many parts so many threads share.
pub(super) fn parts(threads: usize) -> usize {
    if threads > 1 { threads * 4 } else { 1 }
}

impl PreparedStage {
    /// Whether it reduces a few elements that are neighbours.
    #[inline]
    fn is_short_reduction(&self) -> bool {
        self.geometry
            .as_ref()
            .is_some_and(|geometry| geometry.plain && geometry.results * geometry.count <= SHORT)
    }

    /// Runs such a stage.
    ///
    /// PERF: the usual short call, without a thought of tiles and threads.
    fn reduce_neighbours(&self, inputs: &[Region<'_>], outputs: &mut [&mut [u8]]) -> Result<()> {
        let geometry = self.geometry.as_ref().ok_or_else(no_reduction)?;
        let _ieee = FloatEnv::ieee();
        let kernel = &self.stage.kernel;
        for ((output, reduction), out) in kernel.outputs.iter().zip(self.stage.reductions()).zip(outputs) {
            let input = output.value.index();
            let dtype = kernel.inputs[input];
            let start = geometry.offsets[input] as usize * dtype.size();
            let count = geometry.results * geometry.count * dtype.size();
            let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
            let elements = inputs.get(input).and_then(|region| region.elements(start..start + count));
            broadloom_reduce::reduce_each(
                reduction,
                dtype,
                geometry.count,
                elements.ok_or_else(outside)?,
                out,
            )?;
        }
        Ok(())
    }
}

fn no_reduction() -> Error {
    Error::new(ErrorKind::Internal, "a stage that reduces nothing")
}

/// Writes what no elements are combined to.
fn fill(reduction: Reduction, dtype: DType, out: &mut [u8], watch: Option<&Watch<'_>>) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let nothing = || Error::new(ErrorKind::Internal, format!("{reduction} of nothing was not refused"));
    let value = reduction.of_nothing(dtype).ok_or_else(nothing)?;
    let bytes = value.bits.to_le_bytes();
    out.chunks_mut(FILLED).try_for_each(|stretch| {
        let elements = stretch.chunks_exact_mut(dtype.size());
        elements.for_each(|element| element.copy_from_slice(&bytes[..dtype.size()]));
        watch.map_or(Ok(()), Watch::check)
    })
}
