//! Copies a two-dimensional block between strided memory and a tile: gather packs, scatter unpacks.
//!
//! Strides may be any number of bytes, including negative ones and 0; the elements of a tile's row are contiguous. Only elements
//! of the block are read, and a scatter writes only these; a gather may also write up to [`SLACK`](crate::tile::SLACK) bytes
//! after the tile's last row, and the gaps between its rows. Each common combination of strides and extents has a loop of its
//! own.

use crate::steps::{gather_columns, gather_steps};
use crate::tile::{Item, Strided, Tile};

/// The number of elements from which a row or column is copied by a loop that is compiled for the CPU's vectors, which costs a
/// function call.
const LONG: usize = 16;

/// Packs `rows` × `cols` elements of strided memory into a tile.
///
/// # Safety
/// Each element of `from` must be valid for reads. The tile must be valid for writes from its first byte to
/// [`SLACK`](crate::tile::SLACK) bytes after its last row, overlap none of these elements, and have a pitch of at least `cols`
/// elements. Both must be aligned for `T`.
pub(crate) unsafe fn gather<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) {
    let size = size_of::<T>();
    let Strided { ptr, row_stride, col_stride } = from;
    if rows == 0 || cols == 0 {
        return;
    }
    // SAFETY: each callee accesses only the elements (r, c) with r < rows and c < cols of both blocks, which are valid and do not
    // overlap (the contract); callees that get a row count of 1 access the first row. `repeat_each` also writes the slack, which
    // is valid as well.
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

/// Writes `rows` × `cols` elements of a tile to strided memory.
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

/// Copies rows of `bytes` contiguous bytes each; the strides are the distances in bytes between rows.
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
    // SAFETY: each copy is of one row, or of all rows if they are contiguous on both sides; these bytes are valid and do not
    // overlap (the contract). Each `copy_short_rows` gets rows of at least its `W` bytes.
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

/// Copies rows of at least `W` bytes in chunks of `W` bytes. The last chunk ends where the row ends and may overlap the one
/// before it.
///
/// # Safety
/// The contract of [`copy_rows`]; `bytes` must be at least `W`.
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
        // SAFETY: all chunks are in the row: `at + W < bytes` for each but the last, which begins at `bytes - W >= 0`.
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
/// The tile must be valid for reads and writes of `rows` rows of `bytes` bytes, and its pitch must be at least `bytes`.
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
        // PERF: each copy duplicates everything that was written so far, so the copies double in size, up to a size that stays
        // in the first-level cache.
        let piece = done.min(all - done).min((4096 / bytes).max(1) * bytes);
        // SAFETY: the first `piece <= done` bytes have been written and end before the target, which is within the `rows` rows.
        unsafe { ptr.copy_to_nonoverlapping(ptr.add(done), piece) }
        done += piece;
    }
}

/// Fills each row `r` of a tile with copies of the element (r, 0).
///
/// # Safety
/// The contract of [`gather`]; of `from` only the elements (r, 0) are read, and the slack of the tile may be written.
unsafe fn repeat_each<T: Item>(from: *const u8, from_stride: isize, to: Tile, rows: usize, cols: usize) {
    let bytes = cols * size_of::<T>();
    // SAFETY: element (r, 0) is readable and aligned. Rows are written in ascending order, so the bytes that are written after
    // the end of a row, fewer than 32, are overwritten with the next row or are in the slack.
    unsafe {
        match bytes {
            0..=8 => fill_rows::<T, 1>(from, from_stride, to, rows, bytes),
            9..=16 => fill_rows::<T, 2>(from, from_stride, to, rows, bytes),
            _ => fill_rows::<T, 4>(from, from_stride, to, rows, bytes),
        }
    }
}

/// Fills each row `r` of a tile with copies of the element (r, 0), in chunks of `8 * W` bytes.
///
/// # Safety
/// The contract of [`repeat_each`].
unsafe fn fill_rows<T: Item, const W: usize>(
    from: *const u8,
    from_stride: isize,
    to: Tile,
    rows: usize,
    bytes: usize,
) {
    for r in 0..rows {
        // SAFETY: element (r, 0) is readable and aligned (the contract of `repeat_each`). A chunk of 8 * W bytes starts before
        // the row's end, so it exceeds the row by less than 8 * W <= 32 bytes, in the next row or the slack, both of which are
        // valid for writes.
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

/// Copies `n` elements from addresses at one stride to addresses at another.
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
        // SAFETY: i < n, so the contract covers both elements: they are valid, aligned, and without overlap.
        unsafe {
            let value = from.wrapping_offset(i * from_stride).cast::<T>().read();
            to.wrapping_offset(i * to_stride).cast::<T>().write(value);
        }
    }
}

/// Copies rows of `K` elements. The compiler unrolls the loop over a row, since it knows `K`.
///
/// # Safety
/// The contract of [`gather`] for `K` columns.
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
            // SAFETY: r < rows and c < K, the number of columns, so the contract covers both elements.
            unsafe {
                let from = from.wrapping_offset(r * row_stride + c as isize * col_stride);
                to.wrapping_offset(r * to_stride).cast::<T>().add(c).write(from.cast::<T>().read());
            }
        }
    }
}
