//! The pieces of a reduction: ranges of its results and of their elements, which threads share.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_ir::canonical;
use broadloom_mem::Caches;
use broadloom_reduce::{LANES, Partial};
use smallvec::SmallVec;

use super::fold::{Fold, Partials, Results, append};
use super::tile::Tiles;
use crate::engine::geometry::{self, Form, Geometry, Run};
use crate::engine::outcome::Pace;
use crate::engine::runtime::Executable;

/// Bytes that are folded from memory between two looks whether to go on, where the last-level cache is smaller or unknown.
const LEAST_STRETCH: usize = 8 << 20;

impl Fold<'_> {
    /// Runs the stage in about so many parts.
    pub fn run(&self, threads: usize, parts: usize, outputs: &mut [&mut [u8]]) -> Result<()> {
        let pieces = self.geometry.pieces();
        if parts <= 1 {
            let results: Results<'_> = outputs.iter_mut().map(|out| &mut **out).collect();
            let done = Mutex::new(Some(results));
            return self.outcome.share(1, &|| {
                let results = done.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.part(|| self.pieces(0..pieces, results.unwrap_or_default()));
            });
        }
        match self.geometry.has_ranges(parts) {
            true => self.run_in_ranges(threads, parts.div_ceil(pieces), outputs),
            false => self.run_in_pieces(threads, parts.min(pieces), outputs),
        }
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
            shares.push((Mutex::new(Some(results)), range));
            written = end;
        }
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            while let Some((results, range)) = shares.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.outcome.has_stopped()
            {
                let results = results.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.part(|| self.pieces(range.clone(), results.unwrap_or_default()));
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
    pub fn pieces(&self, pieces: Range<usize>, mut results: Results<'_>) -> Result<()> {
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
                    self.fold_rows(&starts, range.len(), &mut of_piece, &mut tiles.pace)?
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
        tiles.pace.end();
        self.outcome.note_faults(&tiles.faults);
        Ok(())
    }

    /// Combines a range of the elements of `width` neighbouring results, whose inputs begin at `starts`.
    pub fn range(
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
        let longest = reduced[reduced.len() - 1].extent;
        let limit = if self.is_direct() { self.stretch(longest, width) } else { (tile / width).max(1) };
        let leaves = if self.is_direct() { None } else { self.leaves() };
        let mut at = range.start;
        while at < range.end {
            if let (Some((kernel, level)), 1) = (leaves, width) {
                let run = self.geometry.run(starts, at, range.end, longest);
                self.fold_leaves(&run, at, kernel, level, &mut partials, tiles)?;
                at += run.count;
                continue;
            }
            let run = self.geometry.run(starts, at, range.end, limit);
            match self.is_direct() {
                true => {
                    tiles.pace.pass(run.count * width)?;
                    self.fold_memory(&run, width, &mut partials)?;
                }
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

    /// Computes elements that follow each other, and folds what machine code has combined them to; those before and behind whole
    /// nodes one by one.
    fn fold_leaves(
        &self,
        run: &Run,
        at: usize,
        kernel: &Executable,
        level: u8,
        partials: &mut Partials,
        tiles: &mut Tiles<'_>,
    ) -> Result<()> {
        let first = self.start + at as u64;
        let tile = (self.geometry.tile / LANES).max(1) * (LANES << level);
        let [head, nodes, tail] = canonical::nodes(first..first + run.count as u64, level);
        let part = |range: Range<u64>| {
            self.geometry.part(run, (range.start - first) as usize, (range.end - range.start) as usize)
        };
        tiles.fold(&part(head), partials)?;
        for from in nodes.clone().step_by(tile) {
            let part = part(from..nodes.end.min(from + tile as u64));
            tiles.compute_leaves(&part, kernel, level)?;
            for (partial, tile) in partials.iter_mut().zip(tiles.elements(part.count >> level)) {
                partial.push_nodes(level, tile);
            }
        }
        tiles.fold(&part(tail), partials)
    }

    /// How many rows of so many elements, of so many that follow each other, are folded from memory between two looks whether to go
    /// on. Long runs are cut into equal stretches that are larger than the last-level cache, which are read as several streams.
    fn stretch(&self, rows: usize, width: usize) -> usize {
        let bytes = |rows: usize| rows.saturating_mul(width).saturating_mul(self.dtypes[0].size());
        let whole = (bytes(rows) / Caches::of_target().last.max(LEAST_STRETCH)).max(1);
        rows.div_ceil(whole)
    }

    /// Folds elements where they are in memory.
    fn fold_memory(&self, run: &Run, width: usize, partials: &mut Partials) -> Result<()> {
        let reduced = &self.geometry.reduced[self.geometry.reduced.len() - 1];
        let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
        for (partial, output) in partials.iter_mut().zip(&self.prepared.stage.kernel.outputs) {
            let input = output.value.index();
            let (start, stride) = (run.starts[input], reduced.strides[input]);
            let elements = |start, count| self.elements(input, start, count);
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
            let cols = (self.geometry.panel / count).max(LANES);
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

    /// Reduces results whose elements follow each other in memory, one after the other.
    fn fold_rows(
        &self,
        starts: &[isize],
        count: usize,
        results: &mut Results<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<()> {
        let Geometry { kept, reduced, count: length, .. } = self.geometry;
        let (outer, inner) = (&kept[kept.len() - 1], &reduced[reduced.len() - 1]);
        let outputs = &self.prepared.stage.kernel.outputs;
        for (i, (out, (&reduction, &dtype))) in
            results.iter_mut().zip(self.reductions.iter().zip(&self.dtypes)).enumerate()
        {
            let (input, item) = (outputs[i].value.index(), dtype.size());
            let outside = || Error::new(ErrorKind::Internal, "a reduction reads outside of its input");
            let elements = |start, count| self.elements(input, start, count).ok_or_else(outside);
            // The elements of several results of one kernel are the same.
            let mut pass = |elements| if i == 0 { pace.pass(elements) } else { pace.again(elements) };
            let stretch = self.stretch(inner.extent, 1);
            let is_one = count == 1 && reduced.len() == 1 || self.geometry.is_neighbouring(input);
            if is_one && stretch == inner.extent {
                pass(count * length)?;
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
                    let run = self.geometry.run(&starts, at, *length, stretch);
                    pass(run.count)?;
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
            tiles.pace.pass(count * width)?;
            let outputs = &self.prepared.stage.kernel.outputs;
            for (i, out) in results.iter_mut().enumerate() {
                let input = outputs[i].value.index();
                let stride = self.geometry.reduced[0].strides[input];
                let row = |i: usize| self.elements(input, starts[input] + i as isize * stride, width);
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
