//! Blocks of a result that follow each other in the output file.
//!
//! Concatenated, the blocks hold each element of the result once, in the order of the file. No block exceeds the given
//! number of elements, and there is at least one block, which is empty for an empty result.

use std::ops::Range;

/// Which axis is the fastest one in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last one.
    C,
    /// The first one.
    Fortran,
}

impl Order {
    /// The extents of the axes, slowest first.
    pub fn slowest_first(self, shape: &[usize]) -> Vec<usize> {
        match self {
            Order::C => shape.to_vec(),
            Order::Fortran => shape.iter().rev().copied().collect(),
        }
    }
}

/// The indices along each axis of a piece, slowest axis first.
pub type Block = Vec<Range<usize>>;

/// How many elements a block has.
pub fn elements(block: &[Range<usize>]) -> usize {
    block.iter().map(Range::len).product()
}

/// The blocks of a shape, in the order of the elements in the file.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// Slowest axis first.
    shape: Vec<usize>,
    /// The axis that is cut; those before it are taken index by index, those after it whole.
    axis: usize,
    /// Indices along it that a block takes.
    rows: usize,
    /// Where the next block begins, up to `axis`; none at the end.
    next: Option<Vec<usize>>,
}

impl Chunks {
    /// Cuts a shape, its slowest axis first, into blocks of at most this many elements (but at least one).
    pub fn new(shape: &[usize], most: usize) -> Chunks {
        let shape = shape.to_vec();
        let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>();
        // The last axis has 1 for its inner product.
        let axis = (0..shape.len()).find(|&axis| inner(axis) <= most.max(1)).unwrap_or(0);
        let is_whole = shape.is_empty() || shape.contains(&0);
        let rows = if is_whole { usize::MAX } else { (most / inner(axis)).max(1) };
        let axis = if is_whole { 0 } else { axis };
        let next = Some(vec![0; axis + 1]);
        Chunks { shape, axis, rows, next }
    }

    /// How many blocks there are in all.
    pub fn total(&self) -> usize {
        let cut = self.shape.get(self.axis).map_or(1, |extent| extent.div_ceil(self.rows).max(1));
        self.shape.iter().take(self.axis).product::<usize>() * cut
    }
}

impl Iterator for Chunks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let mut begin = self.next.take()?;
        let ranges = self.shape.iter().enumerate().map(|(axis, &extent)| match begin.get(axis) {
            Some(&at) if axis < self.axis => at..at + 1,
            Some(&at) => at..at.saturating_add(self.rows).min(extent),
            None => 0..extent,
        });
        let block: Block = ranges.collect();
        for axis in (0..begin.len().min(self.shape.len())).rev() {
            begin[axis] = block[axis].end;
            if begin[axis] < self.shape[axis] {
                self.next = Some(begin);
                break;
            }
            begin[axis] = 0;
        }
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flat indices of a block's elements.
    fn flat(shape: &[usize], block: &[Range<usize>]) -> Vec<usize> {
        let mut flat = vec![0];
        for (&extent, range) in shape.iter().zip(block) {
            flat = flat.iter().flat_map(|&at| range.clone().map(move |i| at * extent + i)).collect();
        }
        flat
    }

    #[test]
    fn blocks_follow_each_other() {
        for shape in [&[][..], &[1], &[7], &[3, 4], &[2, 3, 4], &[1, 5, 1, 3], &[5, 1, 1], &[2, 2, 2, 2]] {
            for most in 0..30 {
                let blocks: Vec<Block> = Chunks::new(shape, most).collect();
                let all: Vec<usize> = blocks.iter().flat_map(|block| flat(shape, block)).collect();
                assert_eq!(all, (0..shape.iter().product()).collect::<Vec<_>>(), "{shape:?} {most}");
                assert!(blocks.iter().all(|block| elements(block) <= most.max(1)), "{shape:?} {most}");
                assert_eq!(blocks.len(), Chunks::new(shape, most).total(), "{shape:?} {most}");
            }
        }
    }

    #[test]
    fn blocks_are_not_needlessly_small() {
        assert_eq!(Chunks::new(&[100, 10], 50).total(), 20);
        assert_eq!(Chunks::new(&[2, 1000], 500).total(), 4);
        assert_eq!(Chunks::new(&[1, 1000, 10], 5000).total(), 2);
    }

    #[test]
    fn an_empty_result_is_one_block() {
        for shape in [&[0][..], &[3, 0], &[0, 3], &[usize::MAX, 0, usize::MAX]] {
            let blocks: Vec<Block> = Chunks::new(shape, 2).collect();
            assert_eq!(blocks, [shape.iter().map(|&n| 0..n).collect::<Block>()], "{shape:?}");
            assert_eq!(Chunks::new(shape, 2).total(), 1);
        }
    }
}
