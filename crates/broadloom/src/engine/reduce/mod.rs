//! Running a stage that combines elements along axes.
//!
//! For each piece of the index space the stage's kernel computes elements into a tile that stays in cache, by whichever
//! executor is chosen, and [`Partial`] folds the tile into what has been combined so far; where the kernel only loads, it
//! folds memory. Pieces, tiles and threads cut a reduction anywhere: partial results are appended in order, and the
//! canonical order of combination does not depend on the cuts.

mod geometry;
mod scan;
mod tile;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::fuse::Action;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_mem::{Access, FloatEnv, Region};
use broadloom_reduce::Partial;
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::{PreparedStage, Runner};
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;
use crate::engine::workers;

pub(super) use geometry::Geometry;
use tile::Tiles;

/// Elements of a part of a long reduction are a multiple of this, so that few parts begin within a subtree.
const PART: usize = 1 << 14;

/// What was combined of one piece, for each output.
type Partials = SmallVec<[Partial; 2]>;
/// The memory of a range of results, for each output.
type Results<'m> = SmallVec<[&'m mut [u8]; 2]>;

/// One run of a stage.
struct Fold<'f> {
    prepared: &'f PreparedStage,
    geometry: &'f Geometry,
    reductions: &'f [Reduction],
    dtypes: SmallVec<[DType; 2]>,
    inputs: &'f [Region<'f>],
    params: &'f [u64],
    /// What runs tiles whose inputs are accessed as in the first, and how they are.
    first: Option<(&'f Runner, &'f [Access])>,
    outcome: &'f Outcome<'f>,
}

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
        match &self.stage.action {
            Action::Store => Err(Error::new(ErrorKind::Internal, "a stage that combines nothing")),
            Action::Reduce { .. } => self.reduce(request, inputs, outputs, params, watch),
            Action::Scan { .. } => self.scan(request, inputs, outputs, params, watch),
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
        let (Some(geometry), Action::Reduce { reductions, .. }) = (&self.geometry, &self.stage.action) else {
            return Err(Error::new(ErrorKind::Internal, "a stage that reduces nothing"));
        };
        let dtypes: SmallVec<[DType; 2]> = self.stage.kernel.output_dtypes().collect();
        if geometry.count == 0 {
            let each = reductions.iter().zip(&dtypes).zip(outputs);
            return { each }.try_for_each(|((reduction, &dtype), out)| fill(*reduction, dtype, out));
        }
        if geometry.results == 0 {
            return Ok(());
        }
        // Sums are computed, and estimates made, in floats, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let mut fold = Fold {
            prepared: self,
            geometry,
            reductions,
            dtypes,
            inputs,
            params,
            first: None,
            outcome: &outcome,
        };
        let since = self.clock(request);
        let access = if fold.is_direct() { None } else { Some(fold.first_access()?) };
        let chosen = access.as_ref().map(|access| self.runner(request, access, watch)).transpose()?;
        fold.first = chosen.as_ref().zip(access.as_deref()).map(|((runner, _), access)| (runner, access));
        let time = match &chosen {
            Some((Runner::Interp(_), choice)) => choice.cost.interpreted,
            _ => self.cost_of_run(request).compiled,
        };
        let threads = workers::threads(request.options, time);
        let parts = if threads > 1 { threads * 4 } else { 1 };
        let elements = geometry.results * geometry.count;
        let parts = parts.max(watch.map_or(1, |_| Watch::chunks(elements, time)));
        fold.run(threads, parts, outputs)?;
        if let (Some(since), Some((runner, choice))) = (since, &chosen)
            && let State::Trial(_) = choice.state
        {
            self.note(request, matches!(runner, Runner::Jit(_)), since);
        }
        self.check(outcome.faults())
    }
}

impl PreparedStage {
    /// How the inputs of a part's first tile are accessed; `None` where elements are folded from memory.
    pub fn reduce_access(
        &self,
        geometry: &Geometry,
        inputs: &[Region<'_>],
    ) -> Result<Option<SmallVec<[Access; 8]>>> {
        let outcome = Outcome::new(0, false, None);
        let fold = self.fold(geometry, None, inputs, &[], &outcome)?;
        if fold.is_direct() { Ok(None) } else { fold.first_access().map(Some) }
    }

    /// Reduces a part of the stage's elements, here and now, as `geometry` says. `first` was chosen for how the inputs of the
    /// largest part are accessed.
    pub(super) fn reduce_part(
        &self,
        geometry: &Geometry,
        first: Option<(&Runner, &[Access])>,
        inputs: &[Region<'_>],
        outputs: &mut [&mut [u8]],
        params: &[u64],
        outcome: &Outcome<'_>,
    ) -> Result<()> {
        let fold = self.fold(geometry, first, inputs, params, outcome)?;
        fold.pieces(0..geometry.pieces(), outputs.iter_mut().map(|out| &mut **out).collect())
    }

    fn fold<'f>(
        &'f self,
        geometry: &'f Geometry,
        first: Option<(&'f Runner, &'f [Access])>,
        inputs: &'f [Region<'f>],
        params: &'f [u64],
        outcome: &'f Outcome<'f>,
    ) -> Result<Fold<'f>> {
        let Action::Reduce { reductions, .. } = &self.stage.action else {
            return Err(Error::new(ErrorKind::Internal, "a stage that reduces nothing"));
        };
        let dtypes = self.stage.kernel.output_dtypes().collect();
        Ok(Fold { prepared: self, geometry, reductions, dtypes, inputs, params, first, outcome })
    }
}

/// Writes what no elements are combined to.
fn fill(reduction: Reduction, dtype: DType, out: &mut [u8]) -> Result<()> {
    let nothing = || Error::new(ErrorKind::Internal, format!("{reduction} of nothing was not refused"));
    let value = reduction.of_nothing(dtype).ok_or_else(nothing)?;
    let bytes = value.bits.to_le_bytes();
    out.chunks_exact_mut(dtype.size()).for_each(|element| element.copy_from_slice(&bytes[..dtype.size()]));
    Ok(())
}

impl<'f> Fold<'f> {
    /// Whether elements are folded where they are.
    fn is_direct(&self) -> bool {
        self.geometry.direct && self.inputs.iter().all(|region| region.as_slice().is_some())
    }

    /// Runs the stage in about so many parts.
    fn run(&self, threads: usize, parts: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let pieces = self.geometry.pieces();
        if parts <= 1 {
            let results: Results<'_> = outputs.iter_mut().map(|out| &mut **out).collect();
            let done = Mutex::new(Some(results));
            return self.outcome.share(1, &|| {
                let results = done.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.part(pieces * self.geometry.count, || {
                    self.pieces(0..pieces, results.unwrap_or_default())
                });
            });
        }
        match pieces < parts && self.geometry.count >= 2 * PART {
            true => self.run_in_ranges(threads, parts.div_ceil(pieces), outputs),
            false => self.run_in_pieces(threads, parts.min(pieces), outputs),
        }
    }

    fn part(&self, elements: usize, run: impl FnOnce() -> Result<()>) {
        self.outcome.part(elements, run);
    }

    /// Many pieces: each part has some, and writes their results.
    fn run_in_pieces(&self, threads: usize, parts: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let pieces = self.geometry.pieces();
        let mut left: Results<'_> = outputs.iter_mut().map(|out| &mut **out).collect();
        let mut written = 0;
        let mut shares = Vec::with_capacity(parts);
        for part in 0..parts {
            let range = pieces * part / parts..pieces * (part + 1) / parts;
            if range.is_empty() {
                continue;
            }
            let end = self.geometry.piece(range.end - 1).0.end;
            let mut results = Results::new();
            for (out, dtype) in left.iter_mut().zip(&self.dtypes) {
                let (head, tail) = std::mem::take(out).split_at_mut((end - written) * dtype.size());
                *out = tail;
                results.push(head);
            }
            shares.push((Mutex::new(Some(results)), range, end - written));
            written = end;
        }
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            while let Some((results, range, count)) = shares.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.outcome.has_stopped()
            {
                let results = results.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.part(count * self.geometry.count, || {
                    self.pieces(range.clone(), results.unwrap_or_default())
                });
            }
        })
    }

    /// Few pieces of many elements: each is cut into ranges, whose partial results are appended in their order.
    fn run_in_ranges(&self, threads: usize, ranges: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let Geometry { count, .. } = *self.geometry;
        let length = count.div_ceil(ranges).next_multiple_of(PART);
        let ranges = count.div_ceil(length);
        let pieces = self.geometry.pieces();
        let shares: Vec<Mutex<Option<Partials>>> = (0..pieces * ranges).map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            let mut tiles = None;
            while let share = next.fetch_add(1, Ordering::Relaxed)
                && let Some(place) = shares.get(share)
                && !self.outcome.has_stopped()
            {
                let (piece, start) = (share / ranges, share % ranges * length);
                let (results, starts) = self.geometry.piece(piece);
                let range = start..count.min(start + length);
                self.part(results.len() * range.len(), || {
                    let tiles = tiles.get_or_insert_with(|| Tiles::new(self));
                    let partials = self.range(&starts, results.len(), range, tiles)?;
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(partials);
                    Ok(())
                });
            }
        })?;
        for piece in 0..pieces {
            let mut whole: Option<Partials> = None;
            for share in &shares[piece * ranges..][..ranges] {
                let later = share.lock().unwrap_or_else(PoisonError::into_inner).take();
                let later = later.ok_or_else(|| Error::new(ErrorKind::Internal, "a part was not reduced"))?;
                match &mut whole {
                    None => whole = Some(later),
                    Some(whole) => {
                        whole.iter_mut().zip(later).try_for_each(|(whole, later)| whole.append(later))?;
                    }
                }
            }
            let (results, _) = self.geometry.piece(piece);
            for ((mut partial, out), dtype) in
                whole.into_iter().flatten().zip(&mut *outputs).zip(&self.dtypes)
            {
                partial.finish(&mut out[results.start * dtype.size()..results.end * dtype.size()]);
            }
        }
        Ok(())
    }

    /// Reduces pieces, whose results these are.
    fn pieces(&self, pieces: Range<usize>, mut results: Results<'_>) -> Result<()> {
        let mut tiles = Tiles::new(self);
        let first = self.geometry.piece(pieces.start).0.start;
        for piece in pieces {
            if self.outcome.has_stopped() {
                break;
            }
            let (range, starts) = self.geometry.piece(piece);
            let mut of_piece: Results<'_> = results
                .iter_mut()
                .zip(&self.dtypes)
                .map(|(out, dtype)| {
                    &mut out[(range.start - first) * dtype.size()..][..range.len() * dtype.size()]
                })
                .collect();
            match self.geometry.form {
                geometry::Form::Rows { results: 2.. } => {
                    self.rows(&starts, range.len(), &mut of_piece, &mut tiles)?;
                }
                _ => {
                    let partials = self.range(&starts, range.len(), 0..self.geometry.count, &mut tiles)?;
                    partials.into_iter().zip(of_piece).for_each(|(mut partial, out)| partial.finish(out));
                }
            }
        }
        self.outcome.note_faults(&tiles.faults);
        Ok(())
    }

    /// Combines a range of the elements of `width` neighbouring results, whose inputs begin at `starts`.
    fn range(
        &self,
        starts: &[isize],
        width: usize,
        range: Range<usize>,
        tiles: &mut Tiles<'_>,
    ) -> Result<Partials> {
        let Geometry { reduced, tile, .. } = self.geometry;
        let mut partials = self
            .reductions
            .iter()
            .zip(&self.dtypes)
            .map(|(&reduction, &dtype)| Partial::new(reduction, dtype, width, range.start as u64))
            .collect::<Result<Partials>>()?;
        // Memory is folded row by row; a tile may have rows of several.
        let limit = match self.is_direct() {
            true => reduced[reduced.len() - 1].extent,
            false => (tile / width).max(1),
        };
        let mut at = range.start;
        while at < range.end {
            let run = self.geometry.run(starts, at, range.end, limit);
            match self.is_direct() {
                true => self.fold_memory(&run, width, &mut partials)?,
                false => {
                    tiles.compute(&run, geometry::Form::Across { width })?;
                    for (partial, tile) in partials.iter_mut().zip(tiles.elements(run.count * width)) {
                        partial.push(tile);
                    }
                }
            }
            at += run.count;
        }
        self.outcome.note_faults(&tiles.faults);
        Ok(partials)
    }

    /// Folds elements where they are in memory.
    fn fold_memory(&self, run: &geometry::Run, width: usize, partials: &mut Partials) -> Result<()> {
        let reduced = &self.geometry.reduced[self.geometry.reduced.len() - 1];
        let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
        for ((partial, dtype), &output) in
            partials.iter_mut().zip(&self.dtypes).zip(&self.prepared.stage.kernel.outputs)
        {
            let input = output.index();
            let bytes = self.inputs[input].as_slice().unwrap_or(&[]);
            let item = dtype.size();
            let (start, stride) = (run.starts[input], reduced.strides[input]);
            let elements = |start: isize, count: usize| {
                let start = usize::try_from(start).ok()?.checked_mul(item)?;
                bytes.get(start..start.checked_add(count * item)?)
            };
            if stride == width as isize || run.count == 1 {
                partial.push(elements(start, run.count * width).ok_or_else(outside)?);
                continue;
            }
            // The first and the last row are inside, and so are those between them.
            let last = start + (run.count as isize - 1) * stride;
            elements(start, width).and(elements(last, width)).ok_or_else(outside)?;
            partial.push_rows(run.count, |i| elements(start + i as isize * stride, width).unwrap_or(&[]));
        }
        Ok(())
    }

    /// Reduces the elements of several neighbouring results, one after the other.
    fn rows(
        &self,
        starts: &[isize],
        count: usize,
        results: &mut Results<'_>,
        tiles: &mut Tiles<'_>,
    ) -> Result<()> {
        let Geometry { kept, count: length, .. } = self.geometry;
        let new = |output: usize| Partial::new(self.reductions[output], self.dtypes[output], 1, 0);
        if self.is_direct() {
            let mut starts: SmallVec<[isize; 4]> = starts.into();
            for row in 0..count {
                let partials = self.range(&starts, 1, 0..*length, tiles)?;
                for ((mut partial, out), dtype) in partials.into_iter().zip(&mut *results).zip(&self.dtypes) {
                    partial.finish(&mut out[row * dtype.size()..][..dtype.size()]);
                }
                geometry::advance(&mut starts, &kept[kept.len() - 1], 1);
            }
            return Ok(());
        }
        let run = self.geometry.run(starts, 0, *length, *length);
        tiles.compute(&run, geometry::Form::Rows { results: count })?;
        for (output, (out, tile)) in results.iter_mut().zip(tiles.elements(run.count * count)).enumerate() {
            let item = self.dtypes[output].size();
            for (out, row) in out.chunks_exact_mut(item).zip(tile.chunks_exact(item * length)) {
                let mut partial = new(output)?;
                partial.push(row);
                partial.finish(out);
            }
        }
        Ok(())
    }
}
