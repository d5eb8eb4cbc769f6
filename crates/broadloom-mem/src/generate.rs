//! Tiles of generated elements: an eighth of the address that a block's strides lead to, where no memory is.
//!
//! A generated operand has a place like any other, so that dimensions are ordered, flipped and collapsed, and blocks are
//! cut, without regard to what it is; only where its tile would be packed from memory it is filled from here.

use crate::tile::{Strided, Tile};

/// Fills a tile with `rows` × `cols` numbers of 64 bits.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them.
pub(crate) unsafe fn generate(from: Strided, to: Tile, rows: usize, cols: usize) {
    // Addresses are multiples of eight and within `isize`: quotients are exact, and sums that are used do not overflow.
    let [first, down, across] = [from.ptr.addr() as isize, from.row_stride, from.col_stride].map(|n| n / 8);
    for row in 0..rows {
        let start = first.wrapping_add(down.wrapping_mul(row as isize));
        // SAFETY: row `row` of the tile, which is valid for writes of `cols` elements, as the contract says.
        unsafe { count(start as i64, across as i64, to.ptr.add(row * to.pitch).cast(), cols) }
    }
}

/// `start`, `start + step`, … in a row.
///
/// # Safety
/// The row must be valid for writes of `cols` elements and aligned.
unsafe fn count(start: i64, step: i64, to: *mut i64, cols: usize) {
    // PERF: of four numbers each is the one before by four steps, which no multiplication delays and any vector adds.
    let mut next = [0, 1, 2, 3].map(|lane: i64| start.wrapping_add(step.wrapping_mul(lane)));
    let stride = step.wrapping_mul(4);
    let whole = cols / 4 * 4;
    for col in (0..whole).step_by(4) {
        // SAFETY: `col + 4 <= cols`, as the contract says; an array of numbers is aligned as one of them.
        unsafe { to.add(col).cast::<[i64; 4]>().write(next) };
        next = next.map(|n| n.wrapping_add(stride));
    }
    for (col, number) in (whole..cols).zip(next) {
        // SAFETY: `col < cols`.
        unsafe { to.add(col).write(number) };
    }
}
