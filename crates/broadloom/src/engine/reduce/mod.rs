//! Runs a stage that reduces elements along axes.
//!
//! The [space](crate::engine::space) defines the units in which the elements are visited. The blocks of a unit are
//! [computed](elements) into tiles that stay in cache, by the chosen executor, and are [reduced](take) from the tiles; if the
//! kernel only loads, elements are reduced directly from memory. Units may divide a reduction anywhere: partial results are
//! merged in order, and the canonical order does not depend on the division.

mod direct;
mod elements;
mod folding;
mod scan;
mod take;
mod totals;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_ir::tuning::reductions::PART;
use broadloom_mem::Operands;
use smallvec::SmallVec;

use crate::engine::execute::StageRun;
use crate::engine::space::{Form, Space, Unit};
use crate::engine::watch::Watch;

use elements::{Elements, Fold};
pub(crate) use folding::{Blocks, Continued, Folding, width_of_blocks};
use take::{Partials, Results, Take, append};
pub(crate) use take::{Reductions, reductions_of};
pub(crate) use totals::ScanBlocks;

/// The number of bytes of results that are filled between two checks for cancellation.
const FILLED: usize = 1 << 20;

impl StageRun<'_> {
    /// Reduces elements; each output is written completely, in row-major order.
    pub(super) fn reduce(&self, space: &Space, operands: &mut Operands<'_>, threads: usize) -> Result<()> {
        let (inputs, mut outputs) = operands.slices().ok_or_else(overlaps)?;
        let fold = Fold::new(self, space, 0, &inputs);
        let outputs: Results<'_> = outputs.iter_mut().map(|out| &mut **out).collect();
        if space.count == 0 {
            // If no elements are reduced, there are no elements to store in the other outputs.
            let each = fold.reductions.iter().zip(fold.apart(outputs).0);
            return { each }.try_for_each(|(&(reduction, dtype), out)| {
                fill(reduction, dtype, out, self.outcome.watch())
            });
        }
        fold.run(threads, parts(threads), outputs)
    }
}

impl Fold<'_> {
    /// Reduces all elements, in about `parts` parts that threads share.
    fn run(&self, threads: usize, parts: usize, outputs: Results<'_>) -> Result<()> {
        let pieces = self.space.pieces();
        if parts > 1 && self.space.has_ranges(parts) {
            return self.run_in_ranges(threads, parts.div_ceil(pieces), outputs);
        }
        let parts = parts.clamp(1, pieces);
        let (mut left, mut written) = (outputs, 0);
        let mut shares: SmallVec<[_; 1]> = SmallVec::new();
        for part in 0..parts {
            let range = pieces * part / parts..pieces * (part + 1) / parts;
            let end = self.space.piece(range.end - 1).end;
            let results = self.split(&mut left, end - written);
            shares.push((Mutex::new(Some(results)), range));
            written = end;
        }
        let next = AtomicUsize::new(0);
        self.run.outcome.share(threads.min(parts), &|| {
            while let Some((results, range)) = shares.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.run.outcome.has_stopped()
            {
                let results = results.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.run.outcome.part(0, || self.pieces(range.clone(), results.unwrap_or_default()));
            }
        })
    }

    /// Splits off the memory of the first `results` results: of the results themselves in outputs that are reduced, and of their
    /// elements in outputs that are stored.
    fn split<'m>(&self, left: &mut Results<'m>, results: usize) -> Results<'m> {
        let mut reductions = self.reductions.iter();
        let first = |(out, (dtype, is_reduced)): (&mut &'m mut [u8], &(DType, bool))| {
            let of_result = match (is_reduced, is_reduced.then(|| reductions.next()).flatten()) {
                (true, Some((reduction, dtype))) => reduction.result(*dtype).size(),
                _ => self.space.count * dtype.size(),
            };
            head(out, results * of_result)
        };
        left.iter_mut().zip(&self.outputs).map(first).collect()
    }

    /// Reduces the results of some pieces completely.
    fn pieces(&self, pieces: Range<usize>, mut results: Results<'_>) -> Result<()> {
        let mut elements = Elements::new(self);
        for unit in self.space.units(pieces) {
            if self.run.outcome.has_stopped() {
                break;
            }
            let (of_unit, stored) = self.apart(self.split(&mut results, unit.results.len()));
            let width = if self.space.form == Form::Along { 1 } else { unit.results.len() };
            let mut take = Take::new(&self.reductions, width, self.space.count, self.start, Some(of_unit));
            elements.unit(&unit, stored, &mut take)?;
        }
        elements.pace.end();
        self.run.outcome.note_faults(&elements.faults);
        Ok(())
    }

    /// Reduces few pieces of many elements. Each piece is divided into ranges of its elements, whose partial results are merged
    /// in order.
    fn run_in_ranges(&self, threads: usize, ranges: usize, outputs: Results<'_>) -> Result<()> {
        let (mut reduced, stored) = self.apart(outputs);
        let blocks: Vec<Range<usize>> =
            (0..self.space.pieces()).map(|piece| self.space.piece(piece)).collect();
        self.in_blocks(threads, ranges, &blocks, stored, |block, partials| {
            let results = &blocks[block];
            for ((mut partial, out), (reduction, dtype)) in
                partials.into_iter().zip(&mut reduced).zip(&self.reductions)
            {
                let size = reduction.result(*dtype).size();
                partial.finish(&mut out[results.start * size..results.end * size]);
            }
            Ok(())
        })
    }

    /// Reduces all elements of blocks of adjacent results. The elements of each result in a block are divided into about `ranges`
    /// ranges, which threads share. `each` is called with the merged partial results of each block, in order. If an output is
    /// stored, each block must be one result.
    fn in_blocks(
        &self,
        threads: usize,
        ranges: usize,
        blocks: &[Range<usize>],
        mut stored: Results<'_>,
        mut each: impl FnMut(usize, Partials) -> Result<()>,
    ) -> Result<()> {
        let count = self.space.count;
        let length = match ranges > 1 && count >= 2 * PART {
            true => count.div_ceil(ranges).next_multiple_of(PART),
            false => count,
        };
        let ranges = count.div_ceil(length);
        let numbers = |range: usize| range * length..count.min((range + 1) * length);
        let sizes: SmallVec<[usize; 2]> = { self.outputs.iter() }
            .filter(|(_, is_reduced)| !is_reduced)
            .map(|(dtype, _)| dtype.size())
            .collect();
        let shares: Vec<Mutex<(Results<'_>, Option<Partials>)>> = (0..blocks.len() * ranges)
            .map(|share| {
                let elements = numbers(share % ranges).len();
                let memory = stored.iter_mut().zip(&sizes).map(|(all, size)| head(all, elements * size));
                Mutex::new((memory.collect(), None))
            })
            .collect();
        let next = AtomicUsize::new(0);
        self.run.outcome.share(threads, &|| {
            let mut elements = None;
            while let share = next.fetch_add(1, Ordering::Relaxed)
                && let Some(place) = shares.get(share)
                && !self.run.outcome.has_stopped()
            {
                let (results, numbers) = (blocks[share / ranges].clone(), numbers(share % ranges));
                let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
                let (stored, made) = &mut *place;
                self.run.outcome.part(0, || {
                    let elements = elements.get_or_insert_with(|| Elements::new(self));
                    let width = results.len();
                    let mut take = Take::new(&self.reductions, width, count, self.start, None);
                    elements.unit(&Unit { results, numbers }, std::mem::take(stored), &mut take)?;
                    elements.pace.end();
                    self.run.outcome.note_faults(&elements.faults);
                    *made = Some(take.into_partials()?);
                    Ok(())
                });
            }
        })?;
        let missing = || Error::new(ErrorKind::Internal, "a part was not reduced");
        let mut done = shares
            .into_iter()
            .map(|share| share.into_inner().unwrap_or_else(PoisonError::into_inner).1.ok_or_else(missing));
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

/// Splits off the first bytes of a slice.
fn head<'m>(all: &mut &'m mut [u8], bytes: usize) -> &'m mut [u8] {
    let (head, tail) = std::mem::take(all).split_at_mut(bytes);
    *all = tail;
    head
}

/// The number of parts for this many threads.
pub(super) fn parts(threads: usize) -> usize {
    if threads > 1 { threads * 4 } else { 1 }
}

fn no_reduction() -> Error {
    Error::new(ErrorKind::Internal, "a stage that reduces nothing")
}

pub(super) fn overlaps() -> Error {
    Error::new(ErrorKind::Internal, "results that are combined are no slices of their own")
}

/// Writes the results of a reduction over no elements.
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
