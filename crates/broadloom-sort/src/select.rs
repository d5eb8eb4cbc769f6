//! Selects the elements of rows at which a mask is true.
//!
//! The true bytes of each range of the mask are counted first, so that threads know where the elements of their ranges belong.

use crate::item::with_capacity;
use crate::workers::{Stopped, Workers, for_each};

/// The number of elements of the mask, or of rows of several elements, that a thread takes at a time.
const UNIT: usize = 1 << 16;
/// The number of bytes of the mask after which it is known how many elements were selected.
const BLOCK: usize = 64;

/// A mask whose true elements are counted. Any byte but 0 is true.
#[derive(Debug)]
pub struct Selection<'s> {
    mask: &'s [u8],
    /// The number of elements of a range.
    range: usize,
    /// The number of true elements of each range.
    counts: Vec<usize>,
    /// The number of elements that are selected together.
    width: usize,
}

impl<'s> Selection<'s> {
    /// Counts the true elements of a mask, of which each selects `width` contiguous elements.
    ///
    /// # Errors
    ///
    /// The workers stopped, or the system refused memory.
    pub fn new(mask: &'s [u8], width: usize, workers: &dyn Workers) -> Result<Selection<'s>, Stopped> {
        let range = (UNIT / width.max(1)).max(1);
        let mut counts = with_capacity(mask.len().div_ceil(range))?;
        counts.resize(mask.len().div_ceil(range), 0);
        let ranges_of_unit = UNIT / range;
        let units = mask.chunks(UNIT / range * range).zip(counts.chunks_mut(ranges_of_unit));
        let threads = workers.threads().min(units.len());
        for_each(
            workers,
            threads,
            units,
            || (),
            |(), (mask, counts)| {
                for (mask, count) in mask.chunks(range).zip(counts) {
                    *count = mask.iter().filter(|&&byte| byte != 0).count();
                }
                Ok(())
            },
        )?;
        Ok(Selection { mask, range, counts, width })
    }

    /// The number of true elements.
    pub fn count(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Writes the selected elements of each row of contiguous rows, in their order. A row has `width` elements for each element of
    /// the mask.
    ///
    /// # Errors
    ///
    /// The workers stopped.
    ///
    /// # Panics
    ///
    /// `out` does not have the number of elements that are selected.
    pub fn compress<S: Copy + Send + Sync>(
        &self,
        values: &[S],
        out: &mut [S],
        workers: &dyn Workers,
    ) -> Result<(), Stopped> {
        let (row, selected) = (self.mask.len() * self.width, self.count() * self.width);
        assert_eq!(out.len(), values.len() / row.max(1) * selected, "compress: one result for each element");
        if out.is_empty() {
            return Ok(());
        }
        let units = values.chunks(row).flat_map(|row| row.chunks(self.range * self.width));
        let units = units.zip(self.mask.chunks(self.range).zip(&self.counts).cycle());
        let mut rest = out;
        let units = units.map(move |(values, (mask, count))| {
            let out;
            (out, rest) = std::mem::take(&mut rest).split_at_mut(count * self.width);
            (values, mask, out)
        });
        let threads = workers.threads().min(values.len().div_ceil(UNIT));
        for_each(
            workers,
            threads,
            units,
            || (),
            |(), (values, mask, out)| {
                if self.width == 1 {
                    pick(mask, |i| values[i], out);
                } else {
                    let selected = values.chunks(self.width).zip(mask).filter(|&(_, &byte)| byte != 0);
                    let out = out.chunks_mut(self.width);
                    out.zip(selected).for_each(|(to, (from, _))| to.copy_from_slice(from));
                }
                Ok(())
            },
        )
    }

    /// Writes the indices of the true elements, in their order.
    ///
    /// # Errors
    ///
    /// The workers stopped.
    ///
    /// # Panics
    ///
    /// `out` is not as long as the mask has true elements.
    pub fn indices(&self, out: &mut [i64], workers: &dyn Workers) -> Result<(), Stopped> {
        assert_eq!(out.len(), self.count(), "indices: one for each true element");
        let mut rest = out;
        let units =
            self.mask.chunks(self.range).zip(&self.counts).enumerate().map(move |(i, (mask, &count))| {
                let out;
                (out, rest) = std::mem::take(&mut rest).split_at_mut(count);
                ((i * self.range) as i64, mask, out)
            });
        let threads = workers.threads().min(self.counts.len());
        for_each(
            workers,
            threads,
            units,
            || (),
            |(), (first, mask, out)| {
                pick(mask, |i| first + i as i64, out);
                Ok(())
            },
        )
    }
}

/// Writes what `element` gives for the index of each true byte.
///
/// PERF: each element is written, and the place moves on if its byte is true: a branch would be mispredicted every other time.
#[inline(always)]
fn pick<S: Copy>(mask: &[u8], element: impl Fn(usize) -> S, out: &mut [S]) {
    let (blocks, _) = mask.as_chunks::<BLOCK>();
    let (mut from, mut at) = (0, 0);
    for block in blocks {
        let Some(to) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<BLOCK>()) else { break };
        let mut count = 0;
        for (i, &byte) in block.iter().enumerate() {
            to[count & (BLOCK - 1)] = element(from + i);
            count += usize::from(byte != 0);
        }
        at += count;
        from += BLOCK;
    }
    // Where the results end, an element must not be written that is not selected.
    for (i, &byte) in mask.iter().enumerate().skip(from) {
        if byte != 0
            && let Some(to) = out.get_mut(at)
        {
            *to = element(i);
            at += 1;
        }
    }
}
