//! Slabs: the parts of a result that the threads of a recurrence write.
//!
//! A recurrence runs along an axis of its results. A [`Slab`] has all elements along this axis, its *rows*, at a range of indices of
//! other axes, its *columns*. The slabs into which a result is divided have no element in common, so that each can be written
//! by another thread.

use std::marker::PhantomData;
use std::ops::Range;

use crate::pack::scatter;
use crate::tile::{Strided, Tile, by_item};

/// A rectangle of elements of a result, for exclusive writes.
#[derive(Debug)]
pub struct Slab<'m> {
    ptr: *mut u8,
    item: usize,
    rows: usize,
    cols: usize,
    row_stride: isize,
    col_stride: isize,
    memory: PhantomData<&'m mut [u8]>,
}

// SAFETY: a slab is an exclusive borrow of its elements, which no other slab has (`Slabs::next`).
unsafe impl Send for Slab<'_> {}

/// The slabs of a result, which [`Slab::divide`] has divided.
#[derive(Debug)]
pub struct Slabs<'m> {
    /// All columns at index 0 of the other axes, from which each slab is made. It is never written itself.
    all: Slab<'m>,
    /// The extents and strides of the other axes, and the number of their indices.
    others: Vec<(usize, usize)>,
    count: usize,
    /// The maximum number of columns of a slab.
    most: usize,
    /// The place of the next slab: the number of its index of the other axes, and its first column.
    number: usize,
    col: usize,
}

impl<'m> Iterator for Slabs<'m> {
    type Item = Slab<'m>;

    fn next(&mut self) -> Option<Slab<'m>> {
        if self.number == self.count {
            return None;
        }
        let (mut rest, mut start) = (self.number, self.col * self.all.col_stride as usize);
        for &(extent, stride) in self.others.iter().rev() {
            start += rest % extent * stride;
            rest /= extent;
        }
        let cols = self.most.min(self.all.cols - self.col);
        self.col += cols;
        if self.col == self.all.cols {
            (self.number, self.col) = (self.number + 1, 0);
        }
        Some(Slab { ptr: self.all.ptr.wrapping_add(start), cols, ..self.all })
    }
}

/// Contiguous rows of an output that steps write one after the other.
#[derive(Debug)]
pub struct StepRows<'o> {
    pub(crate) ptr: *mut u8,
    pub(crate) item: usize,
    pub(crate) row_stride: isize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    memory: PhantomData<&'o mut [u8]>,
}

impl<'o> StepRows<'o> {
    /// Rows of `cols` elements of `item` bytes that fill memory without gaps.
    ///
    /// # Panics
    /// If the memory is too small or not aligned to its elements.
    pub fn of(memory: &'o mut [u8], item: usize, rows: usize, cols: usize) -> StepRows<'o> {
        let (ptr, row) = (memory.as_mut_ptr(), cols.saturating_mul(item));
        let fits = rows.checked_mul(row).is_some_and(|bytes| bytes <= memory.len());
        assert!(
            fits && row <= isize::MAX as usize
                && matches!(item, 1 | 2 | 4 | 8)
                && ptr.addr() & (item - 1) == 0,
            "memory for steps"
        );
        StepRows { ptr, item, row_stride: row as isize, rows, cols, memory: PhantomData }
    }
}

impl<'m> Slab<'m> {
    /// Divides a contiguous result into slabs. `rows` is the axis of their rows; without one, they have a single row. The
    /// adjacent axes `across` have the columns, of which a slab has at most `most`. Slabs are in row-major order of all other
    /// axes, and then in the order of their columns.
    ///
    /// # Panics
    /// If the memory has another size than the result, or is not aligned to its elements; if `rows` is among the axes
    /// `across`; or if `most` is 0.
    pub fn divide(
        memory: &'m mut [u8],
        item: usize,
        extents: &[usize],
        rows: Option<usize>,
        across: Range<usize>,
        most: usize,
    ) -> Slabs<'m> {
        let ptr = memory.as_mut_ptr();
        let elements = extents.iter().try_fold(item, |n, &extent| n.checked_mul(extent));
        assert!(elements == Some(memory.len()), "memory of another size than the result");
        assert!(rows.is_none_or(|rows| !across.contains(&rows)) && across.end <= extents.len() && most > 0);
        let is_aligned = matches!(item, 1 | 2 | 4 | 8) && ptr.addr() & (item - 1) == 0;
        assert!(is_aligned || memory.is_empty(), "memory that is not aligned");
        let stride = |axis: usize| extents[axis + 1..].iter().product::<usize>() * item;
        // Adjacent axes of a contiguous result are one axis.
        let col_stride = across.clone().next_back().map_or(item, stride);
        let others: Vec<(usize, usize)> = (0..extents.len())
            .filter(|&axis| !across.contains(&axis) && Some(axis) != rows)
            .map(|axis| (extents[axis], stride(axis)))
            .collect();
        let count = if memory.is_empty() { 0 } else { others.iter().map(|(extent, _)| extent).product() };
        let all = Slab {
            ptr,
            item,
            rows: rows.map_or(1, |rows| extents[rows]),
            cols: extents[across].iter().product(),
            row_stride: rows.map_or(0, stride) as isize,
            col_stride: col_stride as isize,
            memory: PhantomData,
        };
        Slabs { all, others, count, most, number: 0, col: 0 }
    }

    /// The slab with its rows in reverse order.
    #[must_use]
    pub fn reversed(self) -> Slab<'m> {
        let last = (self.rows as isize - 1) * self.row_stride;
        Slab { ptr: self.ptr.wrapping_offset(last), row_stride: -self.row_stride, ..self }
    }

    /// Whether the elements of each row are contiguous, and there are `cols` of them.
    pub fn has_rows(&self, cols: usize) -> bool {
        self.cols == cols && (self.col_stride == self.item as isize || cols == 1)
    }

    /// Some rows, whose elements are contiguous.
    ///
    /// # Panics
    /// If there are no such rows, or their elements are not contiguous.
    pub fn rows(&mut self, rows: Range<usize>) -> StepRows<'_> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        assert!(self.has_rows(self.cols), "rows whose elements are contiguous");
        let &mut Slab { ptr, item, cols, row_stride, .. } = self;
        let ptr = ptr.wrapping_offset(rows.start as isize * row_stride);
        StepRows { ptr, item, row_stride, rows: rows.len(), cols, memory: PhantomData }
    }

    /// Writes rows from a tile, whose rows have `pitch` elements and begin with those of the slab.
    ///
    /// # Panics
    /// If there are no such rows, the tile is too small or not aligned to its elements, or the pitch is less than the number of
    /// columns.
    pub fn write(&mut self, rows: Range<usize>, tile: &[u8], pitch: usize) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let &mut Slab { ptr, item, cols, row_stride, col_stride, .. } = self;
        let row = pitch.checked_mul(item);
        let fits = row.and_then(|row| row.checked_mul(rows.len())).is_some_and(|bytes| bytes <= tile.len());
        assert!(pitch >= cols && fits && tile.as_ptr().addr() & (item - 1) == 0, "a tile of these rows");
        let from = Tile { ptr: tile.as_ptr().cast_mut(), pitch: pitch * item };
        let ptr = ptr.wrapping_offset(rows.start as isize * row_stride);
        let to = Strided { ptr, row_stride, col_stride };
        // SAFETY: the tile has these rows and columns. Those of the slab are elements of the result, which is borrowed for `'m` and
        // which no other slab has. A scatter only reads the tile.
        unsafe { by_item!(item, scatter(from, to, rows.len(), cols)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes_of, bytes_of_mut};

    /// Slabs write each element of a result once, and their elements have the indices that their rows and columns have.
    #[test]
    fn slabs_divide_a_result() {
        let extents = [2_usize, 3, 4, 5];
        let all: usize = extents.iter().product();
        for (rows, across) in [
            (Some(0), 1..4),
            (Some(3), 0..3),
            (Some(1), 2..3),
            (Some(2), 0..1),
            (None, 1..2),
            (Some(1), 4..4),
        ] {
            for most in [1, 3, 100] {
                for reversed in [false, true] {
                    let mut out = vec![0_u16; all];
                    let slabs = Slab::divide(bytes_of_mut(&mut out), 2, &extents, rows, across.clone(), most);
                    let mut next = 0;
                    let mut expected: Vec<(usize, usize)> = Vec::new();
                    for slab in slabs {
                        let mut slab = if reversed { slab.reversed() } else { slab };
                        let (high, wide) = (slab.rows, slab.cols);
                        assert!(wide <= most);
                        for row in 0..high {
                            // One column more than the slab has.
                            let tile: Vec<u16> = (0..=wide).map(|col| next + col as u16 + 1).collect();
                            slab.write(row..row + 1, bytes_of(&tile), wide + 1);
                            expected.extend((0..wide).map(|_| (row, high)));
                            next += wide as u16;
                        }
                    }
                    let mut seen = vec![false; all];
                    for (i, &value) in out.iter().enumerate() {
                        let number = usize::from(value) - 1;
                        assert!(!std::mem::replace(&mut seen[number], true), "written twice");
                        if let Some(axis) = rows {
                            let index = i / extents[axis + 1..].iter().product::<usize>() % extents[axis];
                            let (row, high) = expected[number];
                            assert_eq!(index, if reversed { high - 1 - row } else { row });
                        }
                    }
                }
            }
        }
    }
}
