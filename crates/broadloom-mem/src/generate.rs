//! Fills tiles with the elements of generated operands (the numbers 0, 1, 2, … from which `arange` and
//! similar functions are computed). A generated operand has addresses but no memory: the value of an element
//! is its address divided by 8.
//!
//! Because it has addresses, its dimensions can be ordered, flipped, collapsed and cut into blocks like those
//! of an operand in memory. The only difference is that its tiles are filled by this module instead of being
//! packed from memory.

use pulp::Arch;

use crate::tile::{Strided, Tile};

/// Fills a tile with `rows` × `cols` generated 64-bit numbers.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them.
pub(crate) unsafe fn generate(from: Strided, to: Tile, rows: usize, cols: usize) {
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
