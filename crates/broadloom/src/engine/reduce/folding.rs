//! Reductions over some of their elements at a time, for what is larger than memory.
//!
//! A [`Folding`] holds what the elements so far are combined to, and each evaluation appends those that follow. Results are
//! combined in blocks that depend on the shape and the first evaluation alone, so that the partial results of later ones
//! fit on. An evaluation that fails leaves it as it was.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_mem::{FloatEnv, Region};
use broadloom_reduce::Partial;
use smallvec::SmallVec;

use super::fold::{Fold, PART, Partials, append};
use super::no_reduction;
use super::tile::Tiles;
use crate::engine::geometry::Form;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;

/// What reductions have come to over their first elements.
pub(crate) struct Folding {
    /// How many elements of each result are combined.
    count: u64,
    /// For each reduction; none before the first elements.
    of: Vec<Blocks>,
}

/// What some elements of a reduction are combined to: the blocks of its results, in C order.
pub(crate) struct Blocks {
    /// Neighbouring results in a block, but for the last of a row.
    width: usize,
    blocks: Vec<(usize, Partial)>,
}

impl Folding {
    /// Nothing yet.
    pub fn new() -> Folding {
        Folding { count: 0, of: Vec::new() }
    }

    /// The number of the next element.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How wide the blocks of a reduction are, once that is known.
    pub fn width(&self, reduction: usize) -> Option<usize> {
        self.of.get(reduction).map(|blocks| blocks.width)
    }

    /// Adds what the next elements, so many, are combined to, for each reduction.
    pub fn append(&mut self, count: u64, later: Vec<Blocks>) -> Result<()> {
        // Sums are computed, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        if self.of.is_empty() {
            (self.of, self.count) = (later, count);
            return Ok(());
        }
        let blocks = |of: &[Blocks]| of.iter().map(|of| of.blocks.len()).collect::<Vec<_>>();
        if blocks(&self.of) != blocks(&later) {
            return Err(Error::new(ErrorKind::Internal, "partial results of other blocks"));
        }
        for (blocks, later) in self.of.iter_mut().zip(later) {
            for ((_, partial), (_, later)) in blocks.blocks.iter_mut().zip(later.blocks) {
                partial.append(later)?;
            }
        }
        self.count += count;
        Ok(())
    }

    /// Writes the results of a reduction of this dtype, in C order.
    pub fn finish(&mut self, reduction: usize, dtype: DType, mut out: &mut [u8]) {
        let _ieee = FloatEnv::ieee();
        for (width, partial) in self.of.iter_mut().skip(reduction).take(1).flat_map(|of| &mut of.blocks) {
            let (head, tail) = std::mem::take(&mut out).split_at_mut(*width * dtype.size());
            partial.finish(head);
            out = tail;
        }
    }
}

impl PreparedStage {
    /// Combines elements of a stage that reduces, the first of which is number `start`; for each output its blocks, of the
    /// width that is given for it.
    pub fn fold(
        &self,
        request: &Request<'_>,
        inputs: &[Region<'_>],
        params: &[u64],
        watch: Option<&Watch<'_>>,
        start: u64,
        width: Option<usize>,
    ) -> Result<Vec<Blocks>> {
        let geometry = self.geometry.as_ref().ok_or_else(no_reduction)?;
        let (shape, axes) = (&self.stage.shape, self.stage.axes);
        // Neighbours along the last axis are evenly spaced, whatever the layouts are.
        let row = (0..shape.rank()).rev().filter(|&axis| !axes.contains(axis)).map(|axis| shape[axis]);
        let row = { row }.find(|&extent| extent > 1).unwrap_or(1);
        let width = width.unwrap_or(match geometry.form {
            Form::Across { width } => width.min(row),
            Form::Rows { .. } | Form::Panel { .. } => 1,
        });
        let mut geometry = geometry.clone();
        geometry.direct &= geometry.form.is_across() == (width > 1);
        geometry.form = match geometry.form {
            Form::Panel { rows } if width == 1 => Form::Panel { rows },
            _ if width == 1 => Form::Rows { results: 1 },
            _ => Form::Across { width },
        };
        let mut made = Vec::new();
        let outputs = self.stage.outputs.len();
        self.with_fold(&geometry, start, request, inputs, params, watch, |fold, threads, parts| {
            let mut blocks = Vec::new();
            for first in (0..geometry.results).step_by(row) {
                for at in (first..first + row).step_by(width) {
                    let range = at..(at + width).min(first + row);
                    blocks.push((range.len(), geometry.start_of(range.start)));
                }
            }
            let ranges = if blocks.len() < parts { parts.div_ceil(blocks.len().max(1)) } else { 1 };
            made = (0..outputs).map(|_| Blocks { width, blocks: Vec::new() }).collect();
            fold.in_blocks(threads, ranges, &blocks, |block, partials| {
                let width = blocks[block].0;
                made.iter_mut().zip(partials).for_each(|(of, partial)| of.blocks.push((width, partial)));
                Ok(())
            })
        })?;
        Ok(made)
    }
}

impl<'f> Fold<'f> {
    /// Combines all elements of blocks of neighbouring results, each so many and with its beginning in each input, in about so
    /// many ranges of the elements, which threads share; gives what each block is combined to, in their order.
    pub(super) fn in_blocks(
        &self,
        threads: usize,
        ranges: usize,
        blocks: &[(usize, SmallVec<[isize; 4]>)],
        mut each: impl FnMut(usize, Partials) -> Result<()>,
    ) -> Result<()> {
        let count = self.geometry.count;
        let length = match ranges > 1 && count >= 2 * PART {
            true => count.div_ceil(ranges).next_multiple_of(PART),
            false => count,
        };
        let ranges = count.div_ceil(length);
        let shares: Vec<Mutex<Option<Partials>>> =
            (0..blocks.len() * ranges).map(|_| Mutex::new(None)).collect();
        let range = |share: usize| -> Range<usize> {
            let start = share % ranges * length;
            start..count.min(start + length)
        };
        let next = AtomicUsize::new(0);
        self.outcome.share(threads, &|| {
            let mut tiles = None;
            while let share = next.fetch_add(1, Ordering::Relaxed)
                && let Some(place) = shares.get(share)
                && !self.outcome.has_stopped()
            {
                let ((width, starts), range) = (&blocks[share / ranges], range(share));
                self.part(|| {
                    let tiles = tiles.get_or_insert_with(|| Tiles::new(self));
                    let partials = self.range(starts, *width, range, tiles)?;
                    tiles.pace.end();
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(partials);
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
