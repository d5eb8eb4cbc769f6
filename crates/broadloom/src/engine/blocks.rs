//! Divides the leading axes of stages into blocks: the axes that stages of a row block share, or those of a scan.
//!
//! A block is one index of each shared axis but the last, and some indices of that. Blocks are consecutive in row-major order, so
//! that the rows of a contiguous array are divided into ranges of its memory.

use broadloom_ir::tuning::blocks::{BLOCKS, LEAST};
use std::sync::Arc;

use broadloom_core::fuse::{InputView, Stage};
use broadloom_core::{DType, Result, Shape};
use smallvec::SmallVec;

/// A division of the shared axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The extents of the shared axes: at least one, none of which is 0.
    pub extents: SmallVec<[usize; 4]>,
    /// The number of indices of the last axis in a block.
    pub rows: usize,
}

/// A block: its position, and its number of indices of the last axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub start: SmallVec<[usize; 4]>,
    pub rows: usize,
}

impl Block {
    /// The offset of the block in an input of a stage over all rows: in bytes from the input's start.
    pub(crate) fn offset(&self, input: &InputView, dtype: DType) -> isize {
        let steps = self.start.iter().zip(&input.layout.strides);
        steps.map(|(&index, stride)| index as isize * stride).sum::<isize>() * dtype.size() as isize
    }
}

impl Cut {
    /// Blocks of at most `most` rows, all of about one size. A row has `bytes_of_row` bytes.
    pub(crate) fn new(extents: &[usize], most: usize, bytes_of_row: usize) -> Cut {
        let mut cut = Cut { extents: extents.into(), rows: 1 };
        let (last, count) = (cut.last(), cut.count());
        let least = LEAST.div_ceil(bytes_of_row.max(1));
        let rows = most.min(count.div_ceil(BLOCKS).max(least)).clamp(1, last);
        cut.rows = last.div_ceil(last.div_ceil(rows));
        cut
    }

    /// The number of rows: indices of all shared axes.
    pub(crate) fn count(&self) -> usize {
        self.extents.iter().product()
    }

    fn last(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// The number of blocks for each index of the axes before the last.
    pub(crate) fn per_index(&self) -> usize {
        self.last().div_ceil(self.rows)
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.count() / self.last() * self.per_index()
    }

    /// The rows of the last block along the last axis.
    pub(crate) fn rows_of_last(&self) -> usize {
        self.last() - (self.per_index() - 1) * self.rows
    }

    /// The extents of the shared axes in a block of this many rows.
    fn extents_of(&self, rows: usize) -> impl Iterator<Item = usize> {
        let outer = self.extents.len() - 1;
        (0..=outer).map(move |axis| if axis == outer { rows } else { 1 })
    }

    /// A stage over one index of all shared axes but the last, and `rows` of that. Its layouts begin with the first row.
    ///
    /// Errors: the extents are not a valid shape.
    pub(crate) fn part(&self, stage: &Stage, rows: usize) -> Result<Stage> {
        let extents: SmallVec<[usize; 6]> =
            self.extents_of(rows).chain(stage.shape[self.extents.len()..].iter().copied()).collect();
        let mut part = Stage { shape: Shape::new(&extents)?, ..stage.clone() };
        // What a scan begins with is not among the elements.
        part.inputs.truncate(part.kernel.inputs.len());
        for input in &mut part.inputs {
            Arc::make_mut(&mut input.layout).shape = part.shape.clone();
        }
        Ok(part)
    }

    /// A block by its number, which must exist.
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
                        assert_eq!(flat, next, "{cut:?} {number}");
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
