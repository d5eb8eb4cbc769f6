//! Packs blocks whose strides are small constants known to the compiler, in loops compiled for the CPU's vectors.
//!
//! The loops handle blocks with long rows at a small step (the distance between adjacent elements of a row, in elements), and
//! blocks of 2 to 4 contiguous columns. Only elements of the block are read, and only those of the tile are written.

use pulp::Arch;

use crate::tile::{Item, Strided, Tile};

/// Packs rows whose elements are −1, 2, 3 or 4 elements apart, and returns true. For another distance it does nothing and returns
/// false.
///
/// # Safety
/// Each element of `from` must be valid for reads and each of `to` for writes, without overlap; both must be aligned for `T`.
pub(crate) unsafe fn gather_steps<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) -> bool {
    // SAFETY: each callee has the contract of this function for one distance, which is the one that was matched.
    unsafe {
        match from.col_stride / size_of::<T>() as isize {
            -1 => reversed::<T>(from, to, rows, cols),
            2 => stepped::<T, 2>(from, to, rows, cols),
            3 => stepped::<T, 3>(from, to, rows, cols),
            4 => stepped::<T, 4>(from, to, rows, cols),
            _ => return false,
        }
    }
    true
}

/// Packs a block of 2, 3 or 4 columns, each of which is contiguous, into rows without gaps, and returns true. For another number
/// of columns it does nothing and returns false.
///
/// # Safety
/// The contract of [`gather_steps`]; the row stride of `from` must be the size of one element, and the pitch of `to` the size of
/// one row.
pub(crate) unsafe fn gather_columns<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) -> bool {
    // SAFETY: each callee has the contract of this function for one number of columns, which is the one that was matched.
    unsafe {
        match cols {
            2 => interleaved::<T, 2>(from, to, rows),
            3 => interleaved::<T, 3>(from, to, rows),
            4 => interleaved::<T, 4>(from, to, rows),
            _ => return false,
        }
    }
    true
}

/// Packs rows whose adjacent elements are `K` elements apart.
///
/// # Safety
/// The contract of [`gather_steps`] for this distance.
unsafe fn stepped<T: Item, const K: usize>(from: Strided, to: Tile, rows: usize, cols: usize) {
    Arch::new().dispatch(
        #[inline(always)]
        move || {
            for r in 0..rows {
                let row = from.ptr.wrapping_offset(r as isize * from.row_stride).cast::<T>();
                // SAFETY: r < rows and c < cols, so the row is in the tile, and the contract covers the elements.
                unsafe {
                    let to = to.ptr.add(r * to.pitch).cast::<T>();
                    (0..cols).for_each(|c| to.add(c).write(row.add(c * K).read()));
                }
            }
        },
    );
}

/// Packs rows whose elements are in reverse order in memory.
///
/// # Safety
/// The contract of [`gather_steps`] for a distance of −1 element.
unsafe fn reversed<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) {
    Arch::new().dispatch(
        #[inline(always)]
        move || {
            for r in 0..rows {
                let row = from.ptr.wrapping_offset(r as isize * from.row_stride).cast::<T>();
                // SAFETY: r < rows and c < cols, so the row is in the tile, and the contract covers the elements.
                unsafe {
                    let to = to.ptr.add(r * to.pitch).cast::<T>();
                    (0..cols).for_each(|c| to.add(c).write(row.sub(c).read()));
                }
            }
        },
    );
}

/// Packs a block of `K` columns, each of which is contiguous, into rows without gaps.
///
/// # Safety
/// The contract of [`gather_columns`] for `K` columns.
unsafe fn interleaved<T: Item, const K: usize>(from: Strided, to: Tile, rows: usize) {
    let columns: [*const T; K] =
        std::array::from_fn(|c| from.ptr.wrapping_offset(c as isize * from.col_stride).cast_const().cast());
    let to = to.ptr.cast::<T>();
    Arch::new().dispatch(
        #[inline(always)]
        move || {
            for r in 0..rows {
                #[expect(
                    clippy::needless_range_loop,
                    reason = "an iterator is not taken apart before vectorisation"
                )]
                for c in 0..K {
                    // SAFETY: r < rows and c < K, so the contract covers both elements: the columns are contiguous, and the
                    // tile is contiguous as well.
                    unsafe { to.add(r * K + c).write(columns[c].add(r).read()) }
                }
            }
        },
    );
}
