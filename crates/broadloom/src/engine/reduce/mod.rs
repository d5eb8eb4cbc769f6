//! Running a stage that combines elements along axes.
//!
//! For each piece of the index space the stage's kernel computes elements into a tile that stays in cache, by whichever
//! executor is chosen, and [`Partial`] folds the tile into what has been combined so far; where the kernel only loads, it
//! folds memory. Pieces, tiles and threads cut a reduction anywhere: partial results are appended in order, and the
//! canonical order of combination does not depend on the cuts.

mod folding;
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
use broadloom_reduce::{LANES, Partial};
use smallvec::SmallVec;

use crate::engine::choice::State;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::{PreparedStage, Runner};
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;
use crate::engine::workers;
use crate::jit::Compiled;

pub(crate) use folding::{Blocks, Folding};
pub(super) use geometry::Geometry;
use geometry::{Form, PANEL_TILE, Run};
use tile::Tiles;

/// Elements of a part of a long reduction are a multiple of this, so that few parts begin within a subtree.
const PART: usize = 1 << 14;
/// So many elements are folded from memory without a thought of threads.
const SHORT: usize = 1 << 12;

/// What was combined of one piece, for each output.
type Partials = SmallVec<[Partial; 2]>;
/// The memory of a range of results, for each output.
type Results<'m> = SmallVec<[&'m mut [u8]; 2]>;

/// One run of a stage.
struct Fold<'f> {
    prepared: &'f PreparedStage,
    geometry: &'f Geometry,
    /// The number of the first element.
    start: u64,
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
        let Action::Reduce { reductions, .. } = &self.stage.action else {
            return Err(Error::new(ErrorKind::Internal, "a stage that reduces nothing"));
        };
        // Sums are computed, and estimates made, in floats, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        let elements = geometry.results * geometry.count;
        let outcome = Outcome::new(self.sites, self.can_fail, watch);
        let mut fold = Fold {
            prepared: self,
            geometry,
            start,
            reductions,
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
            Some((Runner::Interp(_), choice)) => choice.cost.interpreted,
            _ => self.cost_of_run(request).compiled,
        };
        let threads = workers::threads(request.options, time);
        let parts = parts(threads).max(watch.map_or(1, |_| Watch::chunks(elements, time)));
        run(&fold, threads, parts)?;
        if let (Some(since), Some((runner, choice))) = (since, &chosen)
            && let State::Trial(_) = choice.state
        {
            self.note(request, matches!(runner, Runner::Jit(_)), since);
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
        first: Option<(&Runner, &[Access])>,
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
        first: Option<(&'f Runner, &'f [Access])>,
        inputs: &'f [Region<'f>],
        params: &'f [u64],
        outcome: &'f Outcome<'f>,
    ) -> Result<Fold<'f>> {
        let Action::Reduce { reductions, .. } = &self.stage.action else {
            return Err(Error::new(ErrorKind::Internal, "a stage that reduces nothing"));
        };
        let dtypes = self.stage.kernel.output_dtypes().collect();
        Ok(Fold { prepared: self, geometry, start: 0, reductions, dtypes, inputs, params, first, outcome })
    }
}

/// How many parts so many threads share.
pub(super) fn parts(threads: usize) -> usize {
    if threads > 1 { threads * 4 } else { 1 }
}

impl Geometry {
    /// Whether so many parts have ranges of the elements of a result; else each has results of its own.
    pub(super) fn has_ranges(&self, parts: usize) -> bool {
        self.pieces() < parts && self.count >= 2 * PART
    }
}

impl PreparedStage {
    /// Whether it reduces a few elements that are neighbours in slices.
    #[inline]
    pub fn is_short_reduction(&self) -> bool {
        self.geometry
            .as_ref()
            .is_some_and(|geometry| geometry.plain && geometry.results * geometry.count <= SHORT)
    }

    /// Runs such a stage over slices.
    ///
    /// PERF: the usual short call, without a thought of tiles and threads.
    pub fn reduce_neighbours<'m>(
        &self,
        inputs: impl Iterator<Item = &'m [u8]>,
        outputs: impl Iterator<Item = &'m mut [u8]>,
    ) -> Result<()> {
        let (Some(geometry), Action::Reduce { reductions, .. }) = (&self.geometry, &self.stage.action) else {
            return Err(Error::new(ErrorKind::Internal, "a stage that reduces nothing"));
        };
        let _ieee = FloatEnv::ieee();
        let kernel = &self.stage.kernel;
        let mut memory: SmallVec<[&[u8]; 4]> = SmallVec::new();
        inputs.for_each(|bytes| memory.push(bytes));
        for ((output, &reduction), out) in kernel.outputs.iter().zip(reductions).zip(outputs) {
            let input = output.index();
            let dtype = kernel.inputs[input];
            let start = geometry.offsets[input] as usize * dtype.size();
            let count = geometry.results * geometry.count * dtype.size();
            let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
            let elements = memory.get(input).and_then(|bytes| bytes.get(start..start + count));
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

/// Writes what no elements are combined to.
fn fill(reduction: Reduction, dtype: DType, out: &mut [u8]) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
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

    /// The memory of a range of the results.
    fn results_of<'m>(&self, results: &'m mut Results<'_>, range: Range<usize>) -> Results<'m> {
        let of = |(out, dtype): (&'m mut &mut [u8], &DType)| {
            &mut out[range.start * dtype.size()..range.end * dtype.size()]
        };
        results.iter_mut().zip(&self.dtypes).map(of).collect()
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
        match self.geometry.has_ranges(parts) {
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
        let pieces: Vec<_> = (0..self.geometry.pieces()).map(|piece| self.geometry.piece(piece)).collect();
        let blocks: Vec<_> = pieces.iter().map(|(results, starts)| (results.len(), starts.clone())).collect();
        self.in_blocks(threads, ranges, &blocks, |piece, partials| {
            let results = &pieces[piece].0;
            for ((mut partial, out), dtype) in partials.into_iter().zip(&mut *outputs).zip(&self.dtypes) {
                partial.finish(&mut out[results.start * dtype.size()..results.end * dtype.size()]);
            }
            Ok(())
        })
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
            let mut of_piece = self.results_of(&mut results, range.start - first..range.end - first);
            match self.geometry.form {
                Form::Rows { .. } if self.is_direct() => {
                    self.fold_rows(&starts, range.len(), &mut of_piece)?
                }
                Form::Rows { results: 2.. } => self.rows(&starts, range.len(), &mut of_piece, &mut tiles)?,
                Form::Across { .. } if self.geometry.count <= LANES => {
                    self.few(&starts, range.len(), &mut of_piece, &mut tiles)?;
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
        if let Form::Panel { rows } = self.geometry.form {
            return self.panels(starts, range, rows, tiles);
        }
        self.runs(starts, width, range, tiles)
    }

    /// The same, run by run.
    fn runs(
        &self,
        starts: &[isize],
        width: usize,
        range: Range<usize>,
        tiles: &mut Tiles<'_>,
    ) -> Result<Partials> {
        let Geometry { reduced, tile, .. } = self.geometry;
        let mut partials = self.partials(width, range.start)?;
        // Memory is folded row by row; a tile may have rows of several.
        let limit = match self.is_direct() {
            true => reduced[reduced.len() - 1].extent,
            false => (tile / width).max(1),
        };
        let mut at = range.start;
        while at < range.end {
            if let Some((compiled, rows)) = self.leaves() {
                let run = self.geometry.run(starts, at, range.end, reduced[reduced.len() - 1].extent);
                self.fold_leaves(&run, at, compiled, rows, &mut partials, tiles)?;
                at += run.count;
                continue;
            }
            let run = self.geometry.run(starts, at, range.end, limit);
            match self.is_direct() {
                true => self.fold_memory(&run, width, &mut partials)?,
                false => {
                    tiles.compute(&run, Form::Across { width })?;
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

    /// The machine code that combines rows of elements before it writes them, and how many.
    fn leaves(&self) -> Option<(&'f Compiled, usize)> {
        match self.first {
            Some((Runner::Jit(compiled), _))
                if self.inputs.iter().all(|region| region.as_slice().is_some()) =>
            {
                Some((compiled, compiled.leaf_rows()?))
            }
            _ => None,
        }
    }

    /// Computes elements that follow each other, and folds what machine code has combined them to; those before and behind its
    /// blocks are interpreted.
    fn fold_leaves(
        &self,
        run: &Run,
        at: usize,
        compiled: &Compiled,
        rows: usize,
        partials: &mut Partials,
        tiles: &mut Tiles<'_>,
    ) -> Result<()> {
        let lanes = compiled.lanes();
        let tile = (self.geometry.tile * rows / lanes).max(1) * lanes;
        let before = (self.start % lanes as u64) as usize + at;
        let head = (before.next_multiple_of(lanes) - before).min(run.count);
        let blocks = head + (run.count - head) / lanes * lanes;
        let mut done = 0;
        while done < run.count {
            let (is_block, end) = match done {
                _ if done < head => (false, head),
                _ if done < blocks => (true, blocks.min(done + tile)),
                _ => (false, run.count),
            };
            let part = self.geometry.part(run, done, end - done);
            if is_block {
                tiles.compute_leaves(&part, compiled, rows)?;
                for (partial, tile) in partials.iter_mut().zip(tiles.elements(part.count / rows)) {
                    partial.push_nodes(rows.ilog2() as u8, tile);
                }
            } else {
                tiles.compute(&part, Form::Across { width: 1 })?;
                for (partial, tile) in partials.iter_mut().zip(tiles.elements(part.count)) {
                    partial.push(tile);
                }
            }
            done = end;
        }
        Ok(())
    }

    /// Folds elements where they are in memory.
    fn fold_memory(&self, run: &Run, width: usize, partials: &mut Partials) -> Result<()> {
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

    /// The same, of elements that follow each other in memory along the rows: panels of rows are computed together, each row
    /// is combined on its own, and rows are joined in their order.
    fn panels(
        &self,
        starts: &[isize],
        range: Range<usize>,
        rows: usize,
        tiles: &mut Tiles<'_>,
    ) -> Result<Partials> {
        let reduced = &self.geometry.reduced;
        let length = reduced[reduced.len() - 1].extent;
        // Panels do not reach over the end of their dimension.
        let height = reduced[reduced.len() - 2].extent;
        let first = range.start.next_multiple_of(length).min(range.end);
        let last = (range.end / length * length).max(first);
        let mut whole = self.runs(starts, 1, range.start..first, tiles)?;
        let mut row = first / length;
        while row < last / length {
            let count = rows.min(last / length - row).min(height - row % height);
            let mut partials: Vec<Partials> =
                (row..row + count).map(|row| self.partials(1, row * length)).collect::<Result<_>>()?;
            let cols = (PANEL_TILE / count).max(LANES);
            for col in (0..length).step_by(cols) {
                let cols = cols.min(length - col);
                let run = self.geometry.panel(starts, row, count, col, cols);
                tiles.compute(&run, Form::Panel { rows })?;
                for (output, tile) in tiles.elements(run.count).enumerate() {
                    let item = self.dtypes[output].size();
                    for (partials, tile) in partials.iter_mut().zip(tile.chunks_exact(cols * item)) {
                        partials[output].push(tile);
                    }
                }
            }
            for later in partials {
                append(&mut whole, later)?;
            }
            row += count;
        }
        append(&mut whole, self.runs(starts, 1, last..range.end, tiles)?)?;
        Ok(whole)
    }

    /// Nothing combined yet; the first element will be number `start`.
    fn partials(&self, width: usize, start: usize) -> Result<Partials> {
        let each = self.reductions.iter().zip(&self.dtypes);
        each.map(|(&reduction, &dtype)| Partial::new(reduction, dtype, width, self.start + start as u64))
            .collect()
    }

    /// Reduces results whose elements follow each other in memory, one after the other.
    fn fold_rows(&self, starts: &[isize], count: usize, results: &mut Results<'_>) -> Result<()> {
        let Geometry { kept, reduced, count: length, .. } = self.geometry;
        let (outer, inner) = (&kept[kept.len() - 1], &reduced[reduced.len() - 1]);
        let outputs = &self.prepared.stage.kernel.outputs;
        for (i, (out, (&reduction, &dtype))) in
            results.iter_mut().zip(self.reductions.iter().zip(&self.dtypes)).enumerate()
        {
            let (input, item) = (outputs[i].index(), dtype.size());
            let bytes = self.inputs[input].as_slice().unwrap_or(&[]);
            let elements = |start: isize, count: usize| {
                let start = usize::try_from(start).ok().and_then(|start| start.checked_mul(item));
                let elements = start.and_then(|start| bytes.get(start..start.checked_add(count * item)?));
                elements
                    .ok_or_else(|| Error::new(ErrorKind::Internal, "a reduction reads outside of its input"))
            };
            if count == 1 && reduced.len() == 1 || self.geometry.is_neighbouring(input) {
                let all = elements(starts[input], count * length)?;
                broadloom_reduce::reduce_each(reduction, dtype, *length, all, out)?;
                continue;
            }
            let mut partial = Partial::new(reduction, dtype, 1, 0)?;
            for (row, out) in out.chunks_exact_mut(item).enumerate() {
                let mut starts: SmallVec<[isize; 4]> = starts.into();
                geometry::advance(&mut starts, outer, row);
                let mut at = 0;
                while at < *length {
                    let run = self.geometry.run(&starts, at, *length, inner.extent);
                    partial.push(elements(run.starts[input], run.count)?);
                    at += run.count;
                }
                partial.finish(out);
            }
        }
        Ok(())
    }

    /// Reduces the elements of several neighbouring results, computed one after the other.
    fn rows(
        &self,
        starts: &[isize],
        count: usize,
        results: &mut Results<'_>,
        tiles: &mut Tiles<'_>,
    ) -> Result<()> {
        let length = self.geometry.count;
        let run = self.geometry.run(starts, 0, length, length);
        tiles.compute(&run, Form::Rows { results: count })?;
        for (output, (out, tile)) in results.iter_mut().zip(tiles.elements(run.count * count)).enumerate() {
            let (reduction, dtype) = (self.reductions[output], self.dtypes[output]);
            broadloom_reduce::reduce_each(reduction, dtype, length, tile, out)?;
        }
        Ok(())
    }

    /// Reduces a few elements of each of many neighbouring results, row by row.
    fn few(
        &self,
        starts: &[isize],
        width: usize,
        results: &mut Results<'_>,
        tiles: &mut Tiles<'_>,
    ) -> Result<()> {
        let count = self.geometry.count;
        if self.is_direct() && self.geometry.reduced.len() == 1 {
            let outputs = &self.prepared.stage.kernel.outputs;
            for (i, out) in results.iter_mut().enumerate() {
                let (input, item) = (outputs[i].index(), self.dtypes[i].size());
                let bytes = self.inputs[input].as_slice().unwrap_or(&[]);
                let row = |i: usize| {
                    let start = starts[input] + i as isize * self.geometry.reduced[0].strides[input];
                    let start = usize::try_from(start).ok().and_then(|start| start.checked_mul(item));
                    start.and_then(|start| bytes.get(start..start.checked_add(width * item)?))
                };
                if (0..count).any(|i| row(i).is_none()) {
                    return Err(Error::new(ErrorKind::Internal, "a reduction reads outside of its input"));
                }
                let row = |i: usize| row(i).unwrap_or(&[]);
                broadloom_reduce::reduce_rows(self.reductions[i], self.dtypes[i], count, width, row, out)?;
            }
            return Ok(());
        }
        let run = self.geometry.run(starts, 0, count, count);
        tiles.compute(&run, Form::Across { width })?;
        for (output, (out, tile)) in results.iter_mut().zip(tiles.elements(run.count * width)).enumerate() {
            let (reduction, dtype) = (self.reductions[output], self.dtypes[output]);
            let row = |i: usize| &tile[i * width * dtype.size()..][..width * dtype.size()];
            broadloom_reduce::reduce_rows(reduction, dtype, count, width, row, out)?;
        }
        Ok(())
    }
}

/// Joins what follows, of each output.
fn append(partials: &mut Partials, later: Partials) -> Result<()> {
    partials.iter_mut().zip(later).try_for_each(|(partial, later)| partial.append(later))
}
