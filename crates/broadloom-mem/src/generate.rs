//! Fills tiles with the elements of generated operands: the numbers 0, 1, 2, … from which `arange` and
//! similar functions are computed, and the [words](crate::words) of random streams. The elements have addresses but no
//! memory: a number is its address divided by 8.
//!
//! Because they have addresses, the dimensions of such an operand can be ordered, flipped, collapsed and cut into blocks
//! like those of an operand in memory. The only difference is that its tiles are filled by this module instead of being
//! packed from memory.

use broadloom_ir::loop_plan::Generated;
use pulp::Arch;

use crate::operand::BoundOperand;
use crate::tile::{Strided, Tile};
use crate::words::{words, words_at};

/// Fills a tile with `rows` × `cols` elements of a generated operand.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them. If the operand is the words of a
/// stream, its key must be valid for reads.
pub(crate) unsafe fn generate(operand: &BoundOperand, from: Strided, to: Tile, rows: usize, cols: usize) {
    // SAFETY: the contract of this function is that of both.
    unsafe {
        match operand.generated() {
            Some(Generated::Words) => words(operand.key, operand.item(), from, to, rows, cols),
            Some(Generated::Numbers) | None => numbers(from, to, rows, cols),
        }
    }
}

/// Writes elements of a generated operand one after another: those at these offsets in bytes from the one at `first`.
///
/// # Safety
/// `to` must be valid for writes of one element for each offset and aligned to them. If the operand is the words of a stream, its key
/// must be valid for reads.
#[inline]
pub(crate) unsafe fn generate_at(operand: &BoundOperand, first: *mut u8, offsets: &[isize], to: *mut u8) {
    // SAFETY: the contract of this function.
    unsafe {
        match operand.generated() {
            Some(Generated::Words) => words_at(operand.key, operand.item(), first, offsets, to),
            Some(Generated::Numbers) | None => {
                for (i, &offset) in offsets.iter().enumerate() {
                    to.cast::<i64>().add(i).write(first.wrapping_offset(offset).addr() as i64 / 8);
                }
            }
        }
    }
}

/// Fills a tile with `rows` × `cols` 64-bit numbers.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them.
unsafe fn numbers(from: Strided, to: Tile, rows: usize, cols: usize) {
    // Addresses and strides are multiples of 8 and within `isize`, so the quotients are exact, and no sum for an element of the
    // tile overflows.
    let [first, down, across] =
        [from.ptr.addr() as isize, from.row_stride, from.col_stride].map(|n| (n / 8) as i64);
    Arch::new().dispatch(
        #[inline(always)]
        move || {
            for row in 0..rows {
                let start = first.wrapping_add(down.wrapping_mul(row as i64));
                // SAFETY: this is row `row` of the tile, which is valid for writes of `cols` elements (the contract).
                unsafe { count(start, across, to.ptr.add(row * to.pitch).cast(), cols) }
            }
        },
    );
}

/// The number of values that are computed at a time: a few vectors of any width.
const LANES: usize = 16;

/// Writes `start`, `start + step`, … to a row.
///
/// # Safety
/// The row must be valid for writes of `cols` elements and aligned.
#[inline(always)]
unsafe fn count(start: i64, step: i64, to: *mut i64, cols: usize) {
    // PERF: each number is computed from the one `LANES` columns earlier, by adding `LANES` steps. CPUs have vector instructions
    // to add 64-bit numbers, but most have none to multiply them.
    let mut next: [i64; LANES] =
        std::array::from_fn(|lane| start.wrapping_add(step.wrapping_mul(lane as i64)));
    let stride = step.wrapping_mul(LANES as i64);
    let whole = cols / LANES * LANES;
    for col in (0..whole).step_by(LANES) {
        // SAFETY: `col + LANES <= cols`, so the contract covers these elements; an array of numbers has the alignment of one.
        unsafe { to.add(col).cast::<[i64; LANES]>().write(next) };
        next = next.map(|n| n.wrapping_add(stride));
    }
    for (col, number) in (whole..cols).zip(next) {
        // SAFETY: `col < cols`, so the contract covers this element.
        unsafe { to.add(col).write(number) };
    }
}
