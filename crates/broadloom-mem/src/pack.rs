//! Copies of a two-dimensional block between strided memory and a tile: gather packs, scatter unpacks.
//!
//! In: a block of rows × columns, byte strides of any sign and 0. Out: the same elements, rows without gaps.
//! Must hold: only elements of the block are read, and in a scatter written; a gather may also write up to
//! [`SLACK`] bytes behind its last row, and the gaps between rows.

use crate::steps::{gather_columns, gather_steps};
use crate::transpose::Transpose;

/// Bytes behind a tile's last row that a gather may overwrite.
pub(crate) const SLACK: usize = 64;

/// Rows or columns from this length on are worth the call of a loop for the host's vectors.
const LONG: usize = 16;

/// An element as far as copying is concerned: its size, and the fastest ways for it.
pub(crate) trait Item: Copy + Transpose {
    /// The element, repeated to fill eight bytes.
    fn splat(self) -> u64;
}

macro_rules! item {
    ($($t:ident $ones:literal;)*) => {$(
        impl Item for $t {
            #[inline(always)]
            fn splat(self) -> u64 {
                (self as u64).wrapping_mul($ones)
            }
        }
    )*};
}
item! {
    u8 0x0101_0101_0101_0101;
    u16 0x0001_0001_0001_0001;
    u32 0x0000_0001_0000_0001;
    u64 1;
}

/// Calls `$f::<T>($args)` with the unsigned integer `T` of `$item` bytes.
macro_rules! by_item {
    ($item:expr, $f:ident($($arg:expr),* $(,)?)) => {
        match $item {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            _ => $f::<u64>($($arg),*),
        }
    };
}
pub(crate) use by_item;

/// A block of strided memory: element (row, column) is at `ptr + row * row_stride + column * col_stride`.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub(crate) ptr: *mut u8,
    pub(crate) row_stride: isize,
    pub(crate) col_stride: isize,
}

/// A block whose rows have no gaps: row `r` starts at `ptr + r * pitch`.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) ptr: *mut u8,
    pub(crate) pitch: usize,
}

/// Packs `rows` × `cols` elements of memory into a tile.
///
/// # Safety
/// Each element of `from` must be valid for reads; `to` must be valid for writes from its first byte to
/// [`SLACK`] bytes behind its last row, overlap none of them, and have a pitch of at least a row; both
/// aligned for `T`.
pub(crate) unsafe fn gather<T: Item>(from: Strided, to: Tile, rows: usize, cols: usize) {
    let size = size_of::<T>();
    let Strided { ptr, row_stride, col_stride } = from;
    if rows == 0 || cols == 0 {
        return;
    }
    // SAFETY: each callee touches the elements (r, c) with r < rows and c < cols of both blocks; those with a
    // row count of 1 get the first row. `repeat_each` also writes the slack.
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
/// Each element of `from` must be valid for reads and each of `to` for writes, none of them in both; all
/// aligned for `T`.
pub(crate) unsafe fn scatter<T: Item>(from: Tile, to: Strided, rows: usize, cols: usize) {
    let size = size_of::<T>();
    let Strided { ptr, row_stride, col_stride } = to;
    // SAFETY: each callee touches the elements (r, c) with r < rows and c < cols of both blocks.
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

/// Rows without gaps on both sides, `bytes` bytes each.
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
    // SAFETY: the copies are those of the contract; the short ones cover a row by pieces that may overlap
    // each other.
    unsafe {
        if rows == 1 || (from_stride == bytes as isize && to_stride == bytes as isize) {
            return from.copy_to_nonoverlapping(to, bytes * rows);
        }
        // PERF: a call per row costs more than a row of up to a few vectors does.
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

/// Rows of at least `W` bytes by pieces of `W`, the last of which ends with the row.
///
/// # Safety
/// As [`copy_rows`]; `bytes` must be at least `W`.
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
        // SAFETY: all pieces lie in the row: `at + W < bytes`, and `bytes >= W` for the last.
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

/// Fills all rows of a tile with its first one.
///
/// # Safety
/// The tile must be valid for reads and writes of `rows` rows of `bytes` bytes.
unsafe fn repeat_row(tile: Tile, bytes: usize, rows: usize) {
    let Tile { ptr, pitch } = tile;
    if pitch != bytes {
        for r in 1..rows {
            // SAFETY: rows 0 and r are apart by at least a row, by the contract of the pitch.
            unsafe { ptr.copy_to_nonoverlapping(ptr.add(r * pitch), bytes) }
        }
        return;
    }
    let (mut done, all) = (bytes, rows * bytes);
    while done < all {
        // PERF: doubling, but from a piece that stays in the first-level cache's write window.
        let piece = done.min(all - done).min((4096 / bytes).max(1) * bytes);
        // SAFETY: the first `piece <= done` bytes are written already, whole rows, and end before `done`.
        unsafe { ptr.copy_to_nonoverlapping(ptr.add(done), piece) }
        done += piece;
    }
}

/// Fills each row of a tile with one element.
///
/// # Safety
/// As [`gather`]: the elements (r, 0) are read; the slack is written.
unsafe fn repeat_each<T: Item>(from: *const u8, from_stride: isize, to: Tile, rows: usize, cols: usize) {
    let bytes = cols * size_of::<T>();
    // SAFETY: element (r, 0) is readable and aligned. Rows are written upwards, so what runs over the end of
    // one is overwritten by the next, or is in the slack: less than 32 bytes.
    unsafe {
        match bytes {
            0..=8 => fill_rows::<T, 1>(from, from_stride, to, rows, bytes),
            9..=16 => fill_rows::<T, 2>(from, from_stride, to, rows, bytes),
            _ => fill_rows::<T, 4>(from, from_stride, to, rows, bytes),
        }
    }
}

/// [`repeat_each`] by pieces of `8 * W` bytes.
///
/// # Safety
/// As [`repeat_each`].
unsafe fn fill_rows<T: Item, const W: usize>(
    from: *const u8,
    from_stride: isize,
    to: Tile,
    rows: usize,
    bytes: usize,
) {
    for r in 0..rows {
        // SAFETY: see `repeat_each`; the pieces start before the row's end.
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

/// `n` elements with any strides.
///
/// # Safety
/// The elements must be valid for reads in `from` and for writes in `to`, aligned, and none in both.
#[inline(always)]
unsafe fn copy_strided<T: Item>(
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: element i of both.
        unsafe {
            let value = from.wrapping_offset(i * from_stride).cast::<T>().read();
            to.wrapping_offset(i * to_stride).cast::<T>().write(value);
        }
    }
}

/// Rows of `K` elements, whose number the compiler knows.
///
/// # Safety
/// As [`gather`].
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
            // SAFETY: element (r, c) of both blocks.
            unsafe {
                let from = from.wrapping_offset(r * row_stride + c as isize * col_stride);
                to.wrapping_offset(r * to_stride).cast::<T>().add(c).write(from.cast::<T>().read());
            }
        }
    }
}
