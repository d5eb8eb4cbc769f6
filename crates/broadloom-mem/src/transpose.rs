//! Transposed copies of two-dimensional blocks, by squares that fit in registers.
//!
//! In: columns without gaps, `col_stride` bytes apart. Out: rows without gaps, `row_stride` bytes apart.
//! Must hold: only elements of the block are read and written, each once.

use vector::Vector;

/// Element types with a square that is transposed in registers: as many rows as 16 bytes have elements.
pub(crate) trait Transpose: Copy {
    /// The side of the square.
    const SIDE: usize;

    /// Copies element (r, c) from `from + c * col_stride + r * size` to `to + r * row_stride + c * size`, along
    /// the rows of the target if `BY_ROWS`, else along the columns of the source.
    ///
    /// # Safety
    /// For `c < cols` and `r < rows` the first must be valid for reads and the second for writes, both
    /// aligned, none in both.
    unsafe fn transpose<const BY_ROWS: bool>(
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

            unsafe fn transpose<const BY_ROWS: bool>(
                from: *const u8,
                col_stride: isize,
                to: *mut u8,
                row_stride: isize,
                cols: usize,
                rows: usize,
            ) {
                // SAFETY: the same contract.
                unsafe { by_squares::<$t, $side, BY_ROWS>(from, col_stride, to, row_stride, cols, rows, vector::$zip) }
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
unsafe fn by_squares<T: Copy, const N: usize, const BY_ROWS: bool>(
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
    // SAFETY: all (c, r) below are in the block: squares up to the whole ones, then the rows below them, then
    // the columns right of both. A vector is N elements, of a column in the source, of a row in the target.
    unsafe {
        let square = |c: usize, r: usize| {
            let mut square: [Vector; N] =
                std::array::from_fn(|i| source(c + i, r).cast::<Vector>().read_unaligned());
            // Interleaving the halves, as often as N can be halved, makes row j of all columns' elements j.
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
        };
        // PERF: the side that is not a tile is walked in the order of its memory.
        if BY_ROWS {
            for r in (0..whole_rows).step_by(N) {
                (0..whole_cols).step_by(N).for_each(|c| square(c, r));
            }
        } else {
            for c in (0..whole_cols).step_by(N) {
                (0..whole_rows).step_by(N).for_each(|r| square(c, r));
            }
        }
        for r in whole_rows..rows {
            (0..whole_cols).for_each(|c| target(c, r).write(source(c, r).read()));
        }
        for c in whole_cols..cols {
            (0..rows).for_each(|r| target(c, r).write(source(c, r).read()));
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
