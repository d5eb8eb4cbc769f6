//! The types used by block copies: elements of a given size, blocks of strided memory, and tiles.

use crate::transpose::Transpose;

/// The number of bytes after a tile's last row that a gather may overwrite.
pub(crate) const SLACK: usize = 64;

/// The element type of block copies: an unsigned integer of the element's size, with loops specialised for this size.
pub(crate) trait Item: Copy + Transpose {
    /// The element repeated until eight bytes are filled.
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

/// Calls `$f::<T>($args)`, where `T` is the unsigned integer of `$item` bytes.
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

/// A block of strided memory: element (row, column) is at `ptr + row * row_stride + column * col_stride`, with strides in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub(crate) ptr: *mut u8,
    pub(crate) row_stride: isize,
    pub(crate) col_stride: isize,
}

/// A block in which the elements of each row are contiguous: row `r` starts `r * pitch` bytes after `ptr`.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) ptr: *mut u8,
    pub(crate) pitch: usize,
}
