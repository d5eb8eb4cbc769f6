//! Transposed copies of two-dimensional blocks, by squares that fit in registers.
//!
//! In: columns without gaps, `col_stride` bytes apart. Out: rows without gaps, `row_stride` bytes apart.
//! Must hold: only elements of the block are read and written, each once.

use vector::Vector;

/// Element types with a square that is transposed in registers: as many rows as 16 bytes have elements.
pub(crate) trait Transpose: Copy {
    /// The side of the square.
    const SIDE: usize;

    /// Copies element (r, c) from `from + c * col_stride + r * size` to `to + r * row_stride + c * size`.
    ///
    /// # Safety
    /// For `c < cols` and `r < rows` the first must be valid for reads and the second for writes, both
    /// aligned, none in both.
    unsafe fn transpose(
        from: *const u8,
        col_stride: isize,
        to: *mut u8,
        row_stride: isize,
        cols: usize,
        rows: usize,
    );
}

macro_rules! transpose {
    ($($t:ident $side:literal $zip:ident;)*) => {$(
        impl Transpose for $t {
            const SIDE: usize = $side;

            unsafe fn transpose(
                from: *const u8,
                col_stride: isize,
                to: *mut u8,
                row_stride: isize,
                cols: usize,
                rows: usize,
            ) {
                // SAFETY: the same contract.
                unsafe { by_squares::<$t, $side>(from, col_stride, to, row_stride, cols, rows, vector::$zip) }
            }
        }

        const _: () = assert!($side * size_of::<$t>() == size_of::<Vector>());
    )*};
}
transpose! {
    u8 16 zip8;
    u16 8 zip16;
    u32 4 zip32;
    u64 2 zip64;
}

/// # Safety
/// As [`Transpose::transpose`]; `zip` must interleave the elements `T` of two vectors, and `N` be their
/// number.
#[inline(always)]
unsafe fn by_squares<T: Copy, const N: usize>(
    from: *const u8,
    col_stride: isize,
    to: *mut u8,
    row_stride: isize,
    cols: usize,
    rows: usize,
    zip: impl Fn(Vector, Vector) -> [Vector; 2] + Copy,
) {
    let (whole_cols, whole_rows) = (cols / N * N, rows / N * N);
    let source =
        |c: usize, r: usize| from.wrapping_offset(c as isize * col_stride).cast::<T>().wrapping_add(r);
    let target = |c: usize, r: usize| to.wrapping_offset(r as isize * row_stride).cast::<T>().wrapping_add(c);
    // SAFETY: all (c, r) below are in the block: squares up to the whole ones, then the rows below the
    // squares, then the columns right of them. A vector is N elements, of a column in the source and of a row
    // in the target.
    unsafe {
        for c in (0..whole_cols).step_by(N) {
            // PERF: N columns at a time from top to bottom, which is their memory's order; what is written is
            // in a tile.
            for r in (0..whole_rows).step_by(N) {
                let mut square: [Vector; N] =
                    std::array::from_fn(|i| source(c + i, r).cast::<Vector>().read_unaligned());
                // Interleaving the halves as often as it takes to halve N to 1 moves column i's element j to
                // row j's i.
                let mut left = N;
                while left > 1 {
                    let (low, high) = square.split_at(N / 2);
                    let pairs: [[Vector; 2]; N] =
                        std::array::from_fn(|i| zip(low[i % (N / 2)], high[i % (N / 2)]));
                    square = std::array::from_fn(|i| pairs[i / 2][i % 2]);
                    left /= 2;
                }
                for (j, row) in square.into_iter().enumerate() {
                    target(c, r + j).cast::<Vector>().write_unaligned(row);
                }
            }
            for r in whole_rows..rows {
                for i in c..c + N {
                    target(i, r).write(source(i, r).read());
                }
            }
        }
        for c in whole_cols..cols {
            for r in 0..rows {
                target(c, r).write(source(c, r).read());
            }
        }
    }
}

/// Sixteen bytes, and the interleaving of two: `[a0, b0, a1, b1, …]` in two vectors.
#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::*;

    pub(super) type Vector = __m128i;

    macro_rules! zip {
        ($($name:ident $low:ident $high:ident;)*) => {$(
            #[inline(always)]
            pub(super) fn $name(a: Vector, b: Vector) -> [Vector; 2] {
                // SAFETY: SSE2 is part of x86-64.
                #[allow(unused_unsafe)]
                unsafe { [$low(a, b), $high(a, b)] }
            }
        )*};
    }
    zip! {
        zip8 _mm_unpacklo_epi8 _mm_unpackhi_epi8;
        zip16 _mm_unpacklo_epi16 _mm_unpackhi_epi16;
        zip32 _mm_unpacklo_epi32 _mm_unpackhi_epi32;
        zip64 _mm_unpacklo_epi64 _mm_unpackhi_epi64;
    }
}

/// The same for hosts whose vectors are left to the compiler.
#[cfg(not(target_arch = "x86_64"))]
mod vector {
    pub(super) type Vector = [u8; 16];

    macro_rules! zip {
        ($($name:ident $size:literal;)*) => {$(
            #[inline(always)]
            pub(super) fn $name(a: Vector, b: Vector) -> [Vector; 2] {
                // Byte k of the interleaved elements is in element k / $size; even ones are a's.
                let byte = |k: usize| {
                    let (element, byte) = (k / $size, k % $size);
                    [a, b][element % 2][element / 2 * $size + byte]
                };
                [std::array::from_fn(byte), std::array::from_fn(|k| byte(k + 16))]
            }
        )*};
    }
    zip! {
        zip8 1;
        zip16 2;
        zip32 4;
        zip64 8;
    }
}
