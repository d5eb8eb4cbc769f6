//! Copies the elements of a range of the linear (row-major) index between strided memory and a tile, or fills the tile with
//! generated elements.
//!
//! The dimensions of each operand are collapsed as far as its own strides permit, without regard to the other operands, so that
//! its rows are as long as possible. If even the two innermost dimensions together have few elements, a table of offsets replaces
//! the loops over them.

use std::ops::Range;

use crate::generate::{generate, generate_at};
use crate::operand::BoundOperand;
use crate::overlap::PerDim;
use crate::pack::{gather, scatter};
use crate::tile::{Item, Strided, Tile};

/// If the two innermost dimensions together have fewer elements than this, elements are copied one by one by means of a table of
/// offsets, without calling the functions for two-dimensional blocks.
const SMALL_BLOCK: usize = 64;
/// The maximum number of entries in one operand's table of offsets.
const TABLE: usize = 256;

/// Locates the elements of one operand by their linear index.
#[derive(Debug)]
pub(crate) struct Linear {
    /// The outer dimensions as (extent, stride in bytes), the last of which counts rows. Empty if the operand is one row.
    outer: PerDim<(usize, isize)>,
    /// The number of elements in a row.
    row: usize,
    /// The distance in bytes between consecutive elements of a row; unused if there is a table.
    stride: isize,
    /// The entries of the table that contain the byte offsets of a row's elements; `None` if the row does not use the table.
    table: Option<Range<usize>>,
    /// The number of elements after which the operand repeats, if its outermost dimension is a broadcast.
    pub(crate) period: Option<usize>,
}

impl Linear {
    /// Plans the traversal of an operand with these extents and strides in bytes. If the operand needs a table of offsets, they
    /// are appended to `table`.
    pub(crate) fn new(dims: &[usize], strides: &[isize], table: &mut Vec<isize>) -> Linear {
        let mut outer: PerDim<(usize, isize)> = PerDim::new();
        for (&extent, &stride) in dims.iter().zip(strides) {
            match outer.last_mut() {
                Some(last) if stride.checked_mul(extent as isize) == Some(last.1) => {
                    *last = (last.0 * extent, stride)
                }
                _ => outer.push((extent, stride)),
            }
        }
        let period = match outer[..] {
            [(_, 0), ref inner @ ..] => Some(inner.iter().map(|d| d.0).product()),
            _ => None,
        };
        let (mut row, stride) = outer.pop().unwrap_or((1, 0));
        let mut offsets = None;
        if outer.len() >= 2 && row * outer[outer.len() - 1].0 < SMALL_BLOCK {
            let start = table.len();
            table.extend((0..row as isize).map(|i| i * stride));
            while outer.len() > 1 && row * outer[outer.len() - 1].0 <= TABLE {
                let Some((extent, stride)) = outer.pop() else { break };
                for i in 1..extent as isize {
                    for at in start..start + row {
                        table.push(table[at] + i * stride);
                    }
                }
                row *= extent;
            }
            offsets = Some(start..start + row);
        }
        Linear { outer, row, stride, table: offsets, period }
    }

    /// Packs the elements `range` of the operand at `base` into `tile`.
    ///
    /// # Safety
    /// The contract of [`gather`]; `table` must be the one that [`Linear::new`] has filled.
    pub(crate) unsafe fn pack<T: Item>(
        &self,
        table: &[isize],
        base: *mut u8,
        range: Range<usize>,
        tile: *mut u8,
    ) {
        // SAFETY: `copy` with `Pack` has this function's contract, and gets its arguments.
        unsafe { self.copy::<T, _>(&Pack, table, base, range, tile) }
    }

    /// Writes `tile` to the elements `range` of the operand at `base`.
    ///
    /// # Safety
    /// The contract of [`scatter`]; `table` must be the one that [`Linear::new`] has filled.
    pub(crate) unsafe fn unpack<T: Item>(
        &self,
        table: &[isize],
        base: *mut u8,
        range: Range<usize>,
        tile: *mut u8,
    ) {
        // SAFETY: `copy` with `Unpack` has this function's contract, and gets its arguments.
        unsafe { self.copy::<T, _>(&Unpack, table, base, range, tile) }
    }

    /// Fills `tile` with the elements `range` of a generated operand.
    ///
    /// # Safety
    /// The contract of [`generate`]; `table` must be the one that [`Linear::new`] has filled.
    pub(crate) unsafe fn generate(
        &self,
        table: &[isize],
        operand: &BoundOperand,
        range: Range<usize>,
        tile: *mut u8,
    ) {
        // SAFETY: `copy` with `Generate` has this function's contract, and gets its arguments.
        unsafe {
            match operand.item() {
                4 => self.copy::<u32, _>(&Generate(operand), table, operand.ptr, range, tile),
                _ => self.copy::<u64, _>(&Generate(operand), table, operand.ptr, range, tile),
            }
        }
    }

    /// Moves elements between strided memory and a tile, or generates them, depending on `M`.
    ///
    /// # Safety
    /// The contract of [`Linear::pack`], [`Linear::unpack`] or [`Linear::generate`], depending on `M`.
    unsafe fn copy<T: Item, M: Move>(
        &self,
        way: &M,
        table: &[isize],
        base: *mut u8,
        range: Range<usize>,
        tile: *mut u8,
    ) {
        let offsets = self.table.clone().map(|t| &table[t]);
        let (row, rank) = (self.row, self.outer.len());
        let (mut left, mut to) = (range.len(), tile);
        // The position of the first element of the range: an index in each outer dimension, and a column within a row.
        let (mut row_index, mut at) = (range.start / row, range.start % row);
        let mut index: PerDim<usize> = PerDim::from_elem(0, rank);
        for (index, &(extent, _)) in index.iter_mut().zip(&self.outer).rev() {
            (row_index, *index) = (row_index / extent, row_index % extent);
        }
        let (extent, row_stride) = self.outer.last().copied().unwrap_or((1, 0));
        while left > 0 {
            let steps = index.iter().zip(&self.outer).map(|(&i, d)| i as isize * d.1);
            let ptr = base.wrapping_offset(steps.sum());
            // Each iteration copies the rest of a row, or as many whole rows as remain in the last outer dimension, or the
            // beginning of a row.
            let here = index.last().copied().unwrap_or(0);
            let (rows, cols) = if at > 0 || left < row {
                (1, left.min(row - at))
            } else {
                ((left / row).min(extent - here), row)
            };
            let place = Tile { ptr: to, pitch: cols * size_of::<T>() };
            // SAFETY: `here + rows` is at most the last outer extent, and `at + cols` at most the length of a row, so the
            // elements belong to the operand; `rows * cols` is at most what remains of the range, so they fit in the tile after
            // the elements that were copied before.
            unsafe {
                match offsets {
                    Some(offsets) => {
                        by_table::<T, M>(way, ptr, row_stride, &offsets[at..at + cols], to, rows)
                    }
                    None => {
                        let ptr = ptr.wrapping_offset(at as isize * self.stride);
                        let block = Strided { ptr, row_stride, col_stride: self.stride };
                        way.block::<T>(block, place, rows, cols);
                    }
                }
                to = to.add(rows * cols * size_of::<T>());
            }
            left -= rows * cols;
            at += cols;
            if at < row {
                break; // Only the last part of the range can end within a row.
            }
            at = 0;
            let mut advance = rows;
            for (index, &(extent, _)) in index.iter_mut().zip(&self.outer).rev() {
                *index += advance;
                if *index < extent {
                    break;
                }
                (*index, advance) = (0, 1);
            }
        }
    }
}

/// A way to move elements between an operand and a tile.
trait Move {
    /// Moves a two-dimensional block of elements.
    ///
    /// # Safety
    /// The contract of [`gather`], [`scatter`] or [`generate`].
    unsafe fn block<T: Item>(&self, of: Strided, tile: Tile, rows: usize, cols: usize);

    /// Moves one element.
    ///
    /// # Safety
    /// The contract of [`Move::block`] for a block of one element.
    unsafe fn element<T: Item>(&self, of: *mut T, in_tile: *mut T);

    /// Moves the elements at these offsets in bytes to or from contiguous ones in the tile.
    ///
    /// # Safety
    /// The contract of [`Move::block`] for these elements.
    #[inline(always)]
    unsafe fn row<T: Item>(&self, of: *mut u8, offsets: &[isize], tile: *mut T) {
        for (i, &offset) in offsets.iter().enumerate() {
            // SAFETY: this function has the contract of `element` for each of them.
            unsafe { self.element(of.wrapping_offset(offset).cast::<T>(), tile.add(i)) }
        }
    }
}

/// Copies from memory to the tile.
struct Pack;
/// Copies from the tile to memory.
struct Unpack;
/// Fills the tile with elements of a generated operand, which are computed from their addresses.
struct Generate<'o>(&'o BoundOperand);

impl Move for Pack {
    #[inline(always)]
    unsafe fn block<T: Item>(&self, of: Strided, tile: Tile, rows: usize, cols: usize) {
        // SAFETY: this function has the contract of `gather`.
        unsafe { gather::<T>(of, tile, rows, cols) }
    }

    #[inline(always)]
    unsafe fn element<T: Item>(&self, of: *mut T, in_tile: *mut T) {
        // SAFETY: this function has the contract of `gather` for one element.
        unsafe { in_tile.write(of.read()) }
    }
}

impl Move for Unpack {
    #[inline(always)]
    unsafe fn block<T: Item>(&self, of: Strided, tile: Tile, rows: usize, cols: usize) {
        // SAFETY: this function has the contract of `scatter`.
        unsafe { scatter::<T>(tile, of, rows, cols) }
    }

    #[inline(always)]
    unsafe fn element<T: Item>(&self, of: *mut T, in_tile: *mut T) {
        // SAFETY: this function has the contract of `scatter` for one element.
        unsafe { of.write(in_tile.read()) }
    }
}

impl Move for Generate<'_> {
    #[inline(always)]
    unsafe fn block<T: Item>(&self, of: Strided, tile: Tile, rows: usize, cols: usize) {
        // SAFETY: this function has the contract of `generate`.
        unsafe { generate(self.0, of, tile, rows, cols) }
    }

    #[inline(always)]
    unsafe fn element<T: Item>(&self, of: *mut T, in_tile: *mut T) {
        let of = Strided { ptr: of.cast(), row_stride: 0, col_stride: 0 };
        // SAFETY: this function has the contract of `generate` for one element.
        unsafe { generate(self.0, of, Tile { ptr: in_tile.cast(), pitch: 0 }, 1, 1) }
    }

    #[inline(always)]
    unsafe fn row<T: Item>(&self, of: *mut u8, offsets: &[isize], tile: *mut T) {
        // SAFETY: this function has the contract of `generate_at`.
        unsafe { generate_at(self.0, of, offsets, tile.cast()) }
    }
}

/// Moves `rows` rows, each with its elements at the given offsets in bytes from the beginning of the row.
///
/// # Safety
/// The contract of [`Move::block`] for these elements.
unsafe fn by_table<T: Item, M: Move>(
    way: &M,
    ptr: *mut u8,
    row_stride: isize,
    offsets: &[isize],
    tile: *mut u8,
    rows: usize,
) {
    let mut to = tile.cast::<T>();
    for r in 0..rows as isize {
        let row = ptr.wrapping_offset(r * row_stride);
        // SAFETY: `offsets` are the offsets of a row of the operand, which has at least `rows` rows from `ptr` on, so the
        // elements belong to the operand; the tile has room for `rows * offsets.len()` elements, over which `to` advances row by
        // row.
        unsafe {
            way.row(row, offsets, to);
            to = to.add(offsets.len());
        }
    }
}
