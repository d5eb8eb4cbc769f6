//! Tiles of generated elements: an eighth of the address that a block's strides lead to, where no memory is.
//!
//! A generated operand has a place like any other, so that dimensions are ordered, flipped and collapsed, and blocks are
//! cut, without regard to what it is; only where its tile would be packed from memory it is filled from here.

use pulp::Arch;

use crate::tile::{Strided, Tile};

/// Fills a tile with `rows` × `cols` numbers of 64 bits.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them.
pub(crate) unsafe fn generate(from: Strided, to: Tile, rows: usize, cols: usize) {
    // Addresses are multiples of eight and within `isize`: quotients are exact, and sums that are used do not overflow.
    let [first, down, across] =
        [from.ptr.addr() as isize, from.row_stride, from.col_stride].map(|n| (n / 8) as i64);
    Arch::new().dispatch(
        #[inline(always)]
        move || {
            for row in 0..rows {
                let start = first.wrapping_add(down.wrapping_mul(row as i64));
                // SAFETY: row `row` of the tile, which is valid for writes of `cols` elements, as the contract says.
                let to = unsafe { to.ptr.add(row * to.pitch).cast::<i64>() };
                for col in 0..cols {
                    // SAFETY: `col < cols`.
                    // PERF: the compiler adds vectors of steps, and multiplies nothing.
                    unsafe { to.add(col).write(start.wrapping_add(across.wrapping_mul(col as i64))) }
                }
            }
        },
    );
}
