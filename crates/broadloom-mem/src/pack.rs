//! Copies a two-dimensional block between strided memory and a tile: gather packs, scatter unpacks.
//!
//! Strides are any number of bytes, including negative ones and 0; a tile's rows have no gaps. Only elements of the block are read,
//! and in a scatter written; a gather may also write up to [`SLACK`](crate::tile::SLACK) bytes after its last row, and the gaps
//! between rows of the tile. Each common shape of block has a loop of its own.

use crate::steps::{gather_columns, gather_steps};
use crate::tile::{Item, Strided, Tile};

/// Rows or columns of at least this length are copied by loops compiled for the target's vectors, at the cost of a call.
const LONG: usize = 16;

/// Packs `rows` × `cols` elements of memory into a tile.
///
/// # Safety
/// Each element of `from` must be valid for reads; `to` must be valid for writes from its first byte to
/// [`SLACK`](crate::tile::SLACK) bytes after its last row, overlap none of these elements, and have a pitch of at least a row; both
/// must be aligned for `T`.
pub(crate) unsafe fn gather<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) {
    let size = size_of::<T>();
    let Strided { ptr, row_stride, col_stride } = from;
    if rows == 0 || cols == 0 {
        return;
    }
    // SAFETY: each callee accesses only the elements (r, c) with r < rows and c < cols of both blocks, which are valid and do not
    // overlap (the contract); those that get a row count of 1 access the first row. `repeat_each` also writes the slack, which is
    // valid as well.
    unsafe {
        if row_stride == 0 && rows > 1 {
            gather::<T>(from, to, 1, cols);
            repeat_row(to, cols * size, rows);
        } else if col_stride == size as isize {
            copy_rows(ptr, row_stride, to.ptr, to.pitch as isize, cols * size, rows);
        } else if row_stride == size as isize
            && rows >= LONG
            && to.pitch == cols * size
            && gather_columns::<T>(from, to, rows, cols)
        {
        } else if col_stride == 0 {
            repeat_each::<T>(ptr, row_stride, to, rows, cols);
        } else if cols >= LONG && gather_steps::<T>(from, to, rows, cols) {
        } else if row_stride == size as isize && rows >= T::SIDE && cols >= T::SIDE {
            T::transpose::<false>(ptr, col_stride, to.ptr, to.pitch as isize, cols, rows);
        } else if rows > 1 && cols <= 4 {
            let to_stride = to.pitch as isize;
            match cols {
                1 => copy_strided::<T>(ptr, row_stride, to.ptr, to_stride, rows),
                2 => short_rows::<T, 2>(ptr, row_stride, col_stride, to.ptr, to_stride, rows),
                3 => short_rows::<T, 3>(ptr, row_stride, col_stride, to.ptr, to_stride, rows),
                _ => short_rows::<T, 4>(ptr, row_stride, col_stride, to.ptr, to_stride, rows),
            }
        } else if rows > 1 && row_stride.unsigned_abs() < col_stride.unsigned_abs() {
            for c in 0..cols {
                let from = ptr.wrapping_offset(c as isize * col_stride);
                copy_strided::<T>(from, row_stride, to.ptr.add(c * size), to.pitch as isize, rows);
            }
        } else {
            for r in 0..rows {
                let from = ptr.wrapping_offset(r as isize * row_stride);
                copy_strided::<T>(from, col_stride, to.ptr.add(r * to.pitch), size as isize, cols);
            }
        }
    }
}

/// Writes `rows` × `cols` elements of a tile to memory.
///
/// # Safety
/// Each element of `from` must be valid for reads and each of `to` for writes, without overlap; all must be aligned for `T`.
pub(crate) unsafe fn scatter<T: Item>(from: Tile, to: Strided, rows: usize, cols: usize) {
    let size = size_of::<T>();
    let Strided { ptr, row_stride, col_stride } = to;
    // SAFETY: each callee accesses only the elements (r, c) with r < rows and c < cols of both blocks, which are valid and do not
    // overlap (the contract).
    unsafe {
        if col_stride == size as isize {
            copy_rows(from.ptr, from.pitch as isize, ptr, row_stride, cols * size, rows);
        } else if row_stride == size as isize && rows >= T::SIDE && cols >= T::SIDE {
            T::transpose::<true>(from.ptr, from.pitch as isize, ptr, col_stride, rows, cols);
        } else if rows > 1 && row_stride.unsigned_abs() < col_stride.unsigned_abs() {
            for c in 0..cols {
                let to = ptr.wrapping_offset(c as isize * col_stride);
                copy_strided::<T>(from.ptr.add(c * size), from.pitch as isize, to, row_stride, rows);
            }
        } else {
            for r in 0..rows {
                let to = ptr.wrapping_offset(r as isize * row_stride);
                copy_strided::<T>(from.ptr.add(r * from.pitch), size as isize, to, col_stride, cols);
            }
        }
    }
}

/// Copies rows without gaps on either side, `bytes` bytes each.
///
/// # Safety
/// Each row must be valid for reads in `from` and for writes in `to`, without overlap.
unsafe fn copy_rows(
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    bytes: usize,
    rows: usize,
) {
    // SAFETY: each copy is of one row, or of all if rows are contiguous on both sides: valid and without overlap (the contract).
    // The short copies get rows of at least their `W`.
    unsafe {
        if rows == 1 || (from_stride == bytes as isize && to_stride == bytes as isize) {
            return from.copy_to_nonoverlapping(to, bytes * rows);
        }
        // PERF: calling `memcpy` for each row costs more than copying a row of a few vectors.
        match bytes {
            0 => {}
            1 => copy_short_rows::<1>(from, from_stride, to, to_stride, bytes, rows),
            2..4 => copy_short_rows::<2>(from, from_stride, to, to_stride, bytes, rows),
            4..8 => copy_short_rows::<4>(from, from_stride, to, to_stride, bytes, rows),
            8..16 => copy_short_rows::<8>(from, from_stride, to, to_stride, bytes, rows),
            16..=128 => copy_short_rows::<16>(from, from_stride, to, to_stride, bytes, rows),
            _ => {
                for r in 0..rows as isize {
                    let (from, to) =
                        (from.wrapping_offset(r * from_stride), to.wrapping_offset(r * to_stride));
                    from.copy_to_nonoverlapping(to, bytes);
                }
            }
        }
    }
}

/// Copies rows of at least `W` bytes in chunks of `W`, the last of which ends with the row.
///
/// # Safety
/// As for [`copy_rows`]; `bytes` must be at least `W`.
unsafe fn copy_short_rows<const W: usize>(
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    bytes: usize,
    rows: usize,
) {
    for r in 0..rows as isize {
        let (from, to) = (from.wrapping_offset(r * from_stride), to.wrapping_offset(r * to_stride));
        // SAFETY: all chunks are in the row: `at + W < bytes`, and `bytes >= W` for the last.
        unsafe {
            let mut at = 0;
            while at + W < bytes {
                to.add(at).cast::<[u8; W]>().write(from.add(at).cast::<[u8; W]>().read());
                at += W;
            }
            let last = bytes - W;
            to.add(last).cast::<[u8; W]>().write(from.add(last).cast::<[u8; W]>().read());
        }
    }
}

/// Copies the first row of a tile to all others.
///
/// # Safety
/// The tile must be valid for reads and writes of `rows` rows of `bytes` bytes.
unsafe fn repeat_row(tile: Tile, bytes: usize, rows: usize) {
    let Tile { ptr, pitch } = tile;
    if pitch != bytes {
        for r in 1..rows {
            // SAFETY: rows 0 and r do not overlap, since the pitch is at least a row (the contract).
            unsafe { ptr.copy_to_nonoverlapping(ptr.add(r * pitch), bytes) }
        }
        return;
    }
    let (mut done, all) = (bytes, rows * bytes);
    while done < all {
        // PERF: the copied chunk doubles each time, up to a size that stays in the first-level cache.
        let piece = done.min(all - done).min((4096 / bytes).max(1) * bytes);
        // SAFETY: the first `piece <= done` bytes are already written, as whole rows, and end before `done`.
        unsafe { ptr.copy_to_nonoverlapping(ptr.add(done), piece) }
        done += piece;
    }
}

/// Fills each row of a tile with one element.
///
/// # Safety
/// As for [`gather`]: the elements (r, 0) are read; the slack is written.
unsafe fn repeat_each<T: Item>(from: *const u8, from_stride: isize, to: Tile, rows: usize, cols: usize) {
    let bytes = cols * size_of::<T>();
    // SAFETY: element (r, 0) is readable and aligned. Rows are written in ascending order, so bytes written beyond the end of one
    // are overwritten by the next, or are in the slack: less than 32 bytes.
    unsafe {
        match bytes {
            0..=8 => fill_rows::<T, 1>(from, from_stride, to, rows, bytes),
            9..=16 => fill_rows::<T, 2>(from, from_stride, to, rows, bytes),
            _ => fill_rows::<T, 4>(from, from_stride, to, rows, bytes),
        }
    }
}

/// Fills each row of a tile with one element, in chunks of `8 * W` bytes.
///
/// # Safety
/// As for [`repeat_each`].
unsafe fn fill_rows<T: Item, const W: usize>(
    from: *const u8,
    from_stride: isize,
    to: Tile,
    rows: usize,
    bytes: usize,
) {
    for r in 0..rows {
        // SAFETY: element (r, 0) is readable and aligned (the contract of `repeat_each`). A chunk of 8 * W bytes starts before the
        // row's end and so exceeds it by less than 8 * W <= 32 bytes, in the next row or the slack, both valid for writes.
        unsafe {
            let value = [from.wrapping_offset(r as isize * from_stride).cast::<T>().read().splat(); W];
            let row = to.ptr.add(r * to.pitch);
            row.cast::<[u64; W]>().write_unaligned(value);
            let mut at = 8 * W;
            while at < bytes {
                row.add(at).cast::<[u64; W]>().write_unaligned(value);
                at += 8 * W;
            }
        }
    }
}

/// Copies `n` elements with any strides.
///
/// # Safety
/// The elements must be valid for reads in `from` and for writes in `to`, aligned, and without overlap.
#[inline(always)]
unsafe fn copy_strided<T: Item>(
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: i < n, so that both are elements of the contract: valid, aligned, and without overlap.
        unsafe {
            let value = from.wrapping_offset(i * from_stride).cast::<T>().read();
            to.wrapping_offset(i * to_stride).cast::<T>().write(value);
        }
    }
}

/// Copies rows of `K` elements, a number known to the compiler.
///
/// # Safety
/// As for [`gather`].
unsafe fn short_rows<T: Item, const K: usize>(
    from: *const u8,
    row_stride: isize,
    col_stride: isize,
    to: *mut u8,
    to_stride: isize,
    rows: usize,
) {
    for r in 0..rows as isize {
        for c in 0..K {
            // SAFETY: r < rows and c < K, the number of columns, so that both are elements of the contract.
            unsafe {
                let from = from.wrapping_offset(r * row_stride + c as isize * col_stride);
                to.wrapping_offset(r * to_stride).cast::<T>().add(c).write(from.cast::<T>().read());
            }
        }
    }
}
