//! Running a stage that combines elements along axes.
//!
//! The [space](crate::engine::space) says in which units the elements are walked. The blocks of a unit are [computed](elements) to tiles that stay in cache, by
//! whichever executor is chosen, and [taken](take) from there; where the kernel only loads, they are taken from memory. Units
//! cut a reduction anywhere: partial results are appended in order, and the canonical order of combination does not depend on the cuts.

mod elements;
mod folding;
mod scan;
mod take;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_mem::{Access, FloatEnv, Region};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::{Executable, Request};
use crate::engine::space::{Form, PART, Space, Unit};
use crate::engine::watch::Watch;
use crate::engine::workers;

use elements::{Accesses, Elements, Fold};
pub(crate) use folding::{Blocks, Folding};
use take::{Partials, Reductions, Results, Take, append};

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
        let space = self.space.as_ref().ok_or_else(no_reduction)?;
        if space.count == 0 {
            let each = self.reductions().into_iter().zip(outputs);
            return { each }.try_for_each(|((reduction, dtype), out)| fill(reduction, dtype, out, watch));
        }
        if space.results == 0 {
            return Ok(());
        }
        self.with_fold(space, 0, request, inputs, params, watch, |fold, threads, parts| {
            fold.run(threads, parts, outputs)
        })
    }

    /// Runs `run` with what combines elements, the first of which is number `start`, and how many threads and parts are best.
    #[expect(clippy::too_many_arguments, reason = "those of a run, and what is to be done")]
    fn with_fold(
        &self,
        space: &Space,
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
        let access = self.accesses_in(space)?;
        let since = self.clock(request);
        let chosen = access.as_ref().map(|access| self.runner(request, access, watch)).transpose()?;
        let first = chosen.as_ref().zip(access.as_deref()).map(|((kernel, _), access)| (kernel, access));
        let fold = Fold {
            prepared: self,
            space,
            start,
            reductions: self.reductions(),
            inputs,
            params,
            first,
            outcome: &outcome,
        };
        let time = match &chosen {
            Some((kernel, choice)) if kernel.plan().is_none() => choice.cost.interpreted,
            _ => self.cost_of_run(request).compiled,
        };
        let threads = workers::threads(request.options, time);
        run(&fold, threads, parts(threads))?;
        if let (Some(since), Some((kernel, choice))) = (since, &chosen)
            && let State::Trial(_) = choice.state
        {
            self.note(request, kernel.plan().is_some(), since);
        }
        self.check(outcome.faults())
    }
}

impl PreparedStage {
    fn reductions(&self) -> Reductions {
        self.stage.reductions().zip(self.stage.kernel.output_dtypes()).collect()
    }

    /// How the inputs of a unit's blocks are accessed; `None` where elements are taken as they are, and where machine code, which may combine
    /// elements before it writes them, is for another form.
    pub fn accesses_in(&self, space: &Space) -> Result<Option<Accesses>> {
        let own =
            self.space.as_ref().is_some_and(|own| (own.form == Form::Along) == (space.form == Form::Along));
        let access: Accesses = space.whole()?.accesses().collect();
        Ok((own && !space.takes_inputs()).then_some(access))
    }

    /// Reduces a part of the stage's elements, here and now, as `space` says. `first` was chosen for how the inputs of the
    /// largest part are accessed.
    pub(super) fn reduce_part(
        &self,
        space: &Space,
        first: Option<(&Executable, &[Access])>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        outcome: &Outcome<'_>,
    ) -> Result<()> {
        let reductions = self.reductions();
        let fold = Fold { prepared: self, space, start: 0, reductions, inputs, params, first, outcome };
        fold.pieces(0..space.pieces(), outputs.iter_mut().map(|out| &mut **out).collect())
    }
}

impl Fold<'_> {
    /// Runs the stage in about so many parts.
    fn run(&self, threads: usize, parts: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let pieces = self.space.pieces();
        if parts > 1 && self.space.has_ranges(parts) {
            return self.run_in_ranges(threads, parts.div_ceil(pieces), outputs);
        }
        let parts = parts.clamp(1, pieces);
        let mut left: Results<'_> = outputs.iter_mut().map(|out| &mut **out).collect();
        let mut written = 0;
        let mut shares: SmallVec<[_; 1]> = SmallVec::new();
        for part in 0..parts {
            let range = pieces * part / parts..pieces * (part + 1) / parts;
            let end = self.space.piece(range.end - 1).end;
            let results = self.split(&mut left, end - written);
            shares.push((Mutex::new(Some(results)), range));
            written = end;
        }
        let next = AtomicUsize::new(0);
        self.outcome.share(threads.min(parts), &|| {
            while let Some((results, range)) = shares.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.outcome.has_stopped()
            {
                let results = results.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.outcome.part(0, || self.pieces(range.clone(), results.unwrap_or_default()));
            }
        })
    }

    /// The memory of the first of some results; the rest is left.
    fn split<'m>(&self, left: &mut Results<'m>, results: usize) -> Results<'m> {
        let first = |(out, (reduction, dtype)): (&mut &'m mut [u8], &(Reduction, DType))| {
            let bytes = results * reduction.result(*dtype).size();
            let (head, tail) = std::mem::take(out).split_at_mut(bytes);
            *out = tail;
            head
        };
        left.iter_mut().zip(&self.reductions).map(first).collect()
    }

    /// Reduces pieces, whose results these are.
    fn pieces(&self, pieces: Range<usize>, mut results: Results<'_>) -> Result<()> {
        let mut elements = Elements::new(self);
        for unit in self.space.units(pieces) {
            if self.outcome.has_stopped() {
                break;
            }
            let of_unit = self.split(&mut results, unit.results.len());
            let width = if self.space.form == Form::Along { 1 } else { unit.results.len() };
            let mut take = Take::new(&self.reductions, width, self.space.count, self.start, Some(of_unit));
            elements.unit(&unit, &mut take)?;
        }
        elements.pace.end();
        self.outcome.note_faults(&elements.faults);
        Ok(())
    }

    /// Few pieces of many elements: each is cut into ranges, whose partial results are appended in their order.
    fn run_in_ranges(&self, threads: usize, ranges: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let blocks: Vec<Range<usize>> =
            (0..self.space.pieces()).map(|piece| self.space.piece(piece)).collect();
        self.in_blocks(threads, ranges, &blocks, |block, partials| {
            let results = &blocks[block];
            for ((mut partial, out), (reduction, dtype)) in
                partials.into_iter().zip(&mut *outputs).zip(&self.reductions)
            {
                let size = reduction.result(*dtype).size();
                partial.finish(&mut out[results.start * size..results.end * size]);
            }
            Ok(())
        })
    }

    /// Combines all elements of blocks of neighbouring results, in about so many ranges of the numbers, which threads share;
    /// gives what each block is combined to, in their order.
    fn in_blocks(
        &self,
        threads: usize,
        ranges: usize,
        blocks: &[Range<usize>],
        mut each: impl FnMut(usize, Partials) -> Result<()>,
    ) -> Result<()> {
        let count = self.space.count;
        let length = match ranges > 1 && count >= 2 * PART {
            true => count.div_ceil(ranges).next_multiple_of(PART),
            false => count,
        };
        let ranges = count.div_ceil(length);
        let shares: Vec<Mutex<Option<Partials>>> =
            (0..blocks.len() * ranges).map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            let mut elements = None;
            while let share = next.fetch_add(1, Ordering::Relaxed)
                && let Some(place) = shares.get(share)
                && !self.outcome.has_stopped()
            {
                let (results, start) = (blocks[share / ranges].clone(), share % ranges * length);
                self.outcome.part(0, || {
                    let elements = elements.get_or_insert_with(|| Elements::new(self));
                    let width = results.len();
                    let mut take = Take::new(&self.reductions, width, count, self.start, None);
                    elements.unit(&Unit { results, numbers: start..count.min(start + length) }, &mut take)?;
                    elements.pace.end();
                    self.outcome.note_faults(&elements.faults);
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(take.into_partials()?);
                    Ok(())
                });
            }
        })?;
        let missing = || Error::new(ErrorKind::Internal, "a part was not reduced");
        let mut done = shares
            .into_iter()
            .map(|share| share.into_inner().unwrap_or_else(PoisonError::into_inner).ok_or_else(missing));
        for block in 0..blocks.len() {
            let mut whole = done.next().ok_or_else(missing)??;
            for later in done.by_ref().take(ranges - 1) {
                append(&mut whole, later?)?;
            }
            each(block, whole)?;
        }
        Ok(())
    }
}

/// How many parts so many threads share.
pub(super) fn parts(threads: usize) -> usize {
    if threads > 1 { threads * 4 } else { 1 }
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
