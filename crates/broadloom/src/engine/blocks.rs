//! Divides the leading axes of stages into blocks: the axes that the stages of a row block share, or the axes of a scan up to the
//! scanned one.
//!
//! A *row* is one index of all of these axes. A block is a range of indices of the last of these axes, at one index of each of
//! the axes before it. Blocks are consecutive in row-major order, so that the rows of a contiguous array are divided into ranges
//! of its memory.

use broadloom_ir::tuning::blocks::{BLOCKS, LEAST};
use std::sync::Arc;

use broadloom_core::fuse::{InputView, Stage};
use broadloom_core::{DType, Result, Shape};
use smallvec::SmallVec;

/// A division of the shared axes into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The extents of the shared axes: at least one, none of which is 0.
    pub extents: SmallVec<[usize; 4]>,
    /// The number of rows in a block, along the last shared axis.
    pub rows: usize,
}

/// A block: the index of its first row, and its number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub start: SmallVec<[usize; 4]>,
    pub rows: usize,
}

impl Block {
    /// The distance in bytes from the first row of an input to the block's first row. The layout of `input` must be that for all
    /// rows.
    pub(crate) fn offset(&self, input: &InputView, dtype: DType) -> isize {
        let steps = self.start.iter().zip(&input.layout.strides);
        steps.map(|(&index, stride)| index as isize * stride).sum::<isize>() * dtype.size() as isize
    }
}

impl Cut {
    /// Divides axes into blocks of about equal size, of at most `most` rows each. A row has `bytes_of_row` bytes.
    pub(crate) fn new(extents: &[usize], most: usize, bytes_of_row: usize) -> Cut {
        let mut cut = Cut { extents: extents.into(), rows: 1 };
        let (last, count) = (cut.last(), cut.count());
        let least = LEAST.div_ceil(bytes_of_row.max(1));
        let rows = most.min(count.div_ceil(BLOCKS).max(least)).clamp(1, last);
        cut.rows = last.div_ceil(last.div_ceil(rows));
        cut
    }

    /// The total number of rows.
    pub(crate) fn count(&self) -> usize {
        self.extents.iter().product()
    }

    fn last(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// The number of blocks along the last axis.
    pub(crate) fn per_index(&self) -> usize {
        self.last().div_ceil(self.rows)
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.count() / self.last() * self.per_index()
    }

    /// The number of rows in the last block along the last axis.
    pub(crate) fn rows_of_last(&self) -> usize {
        self.last() - (self.per_index() - 1) * self.rows
    }

    /// The extents of the shared axes in a block of this many rows.
    fn extents_of(&self, rows: usize) -> impl Iterator<Item = usize> {
        let outer = self.extents.len() - 1;
        (0..=outer).map(move |axis| if axis == outer { rows } else { 1 })
    }

    /// The stage restricted to `rows` rows. Its inputs have the layouts of the first block.
    ///
    /// Errors: the extents are not a valid shape.
    pub(crate) fn part(&self, stage: &Stage, rows: usize) -> Result<Stage> {
        let extents: SmallVec<[usize; 6]> =
            self.extents_of(rows).chain(stage.shape[self.extents.len()..].iter().copied()).collect();
        let mut part = Stage { shape: Shape::new(&extents)?, ..stage.clone() };
        // A scan that continues totals has these totals as an additional last input, which the kernel does not read. It is
        // dropped.
        part.inputs.truncate(part.kernel.inputs.len());
        for input in &mut part.inputs {
            Arc::make_mut(&mut input.layout).shape = part.shape.clone();
        }
        Ok(part)
    }

    /// The number of rows before those of a block.
    pub(crate) fn rows_before(&self, number: usize) -> usize {
        number / self.per_index() * self.last() + number % self.per_index() * self.rows
    }

    /// The block with this number, which must be less than the number of blocks.
    pub(crate) fn block(&self, number: usize) -> Block {
        let (mut outer, at) = (number / self.per_index(), number % self.per_index());
        let mut start: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.extents.len());
        if let Some((last, others)) = start.split_last_mut() {
            *last = at * self.rows;
            for (index, extent) in others.iter_mut().zip(&self.extents).rev() {
                *index = outer % extent;
                outer /= extent;
            }
        }
        Block { rows: self.rows.min(self.last() - at * self.rows), start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other() {
        for extents in [&[7][..], &[1], &[100], &[3, 5], &[2, 1, 4], &[4, 100, 3]] {
            for most in [1, 2, 3, 50, 1000] {
                for bytes in [1, 4000, 1 << 20] {
                    let cut = Cut::new(extents, most, bytes);
                    assert!(cut.rows <= most && cut.rows >= 1);
                    let mut next = 0;
                    for number in 0..cut.blocks() {
                        let block = cut.block(number);
                        let flat = block.start.iter().zip(extents).fold(0, |flat, (i, n)| flat * n + i);
                        assert_eq!((flat, cut.rows_before(number)), (next, next), "{cut:?} {number}");
                        assert!([cut.rows, cut.rows_of_last()].contains(&block.rows), "{cut:?} {number}");
                        next += block.rows;
                    }
                    assert_eq!(next, extents.iter().product::<usize>(), "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn there_are_blocks_for_threads_unless_they_would_be_small() {
        assert_eq!(Cut::new(&[1000], 300, 1 << 20).rows, 63);
        assert_eq!(Cut::new(&[1000], 300, 1 << 10).rows, 63);
        assert_eq!(Cut::new(&[1000], 300, 64).rows, 250);
        assert_eq!(Cut::new(&[100_000], 300, 64).rows, 300);
    }
}
