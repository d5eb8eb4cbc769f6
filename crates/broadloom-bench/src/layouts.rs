//! Plain loops for layouts: the best that was found for each, by hand.
//!
//! In: slices. Out: the rows or elements of a range. Must hold: as [`crate::loops`].

use std::ops::{Add, Range};

use crate::loops::vectorized;

/// Rows and columns that a block of the transposed loop has: a block of both operands fits the first cache (64 · 64
/// float64 are 32 KiB; 32, 64 and 128 measured alike at 1000 · 1000 on the machine of `docs/performance.md`).
const BLOCK: usize = 64;
/// Rows and columns that are turned at once, in registers.
const TILE: usize = 8;

/// For rows of three: a + row.
pub fn short_rows<T: Copy + Add<Output = T>>(a: &[T], row: &[T; 3], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        || {
            // As many elements as make whole vectors of any width up to 256 bits.
            let pattern: [T; 24] = std::array::from_fn(|i| row[i % 3]);
            let (whole, rest) = a.as_chunks::<24>();
            let (out, out_rest) = out.as_chunks_mut::<24>();
            for (out, a) in out.iter_mut().zip(whole) {
                // Computed apart from `out`, which the compiler must otherwise write in order.
                *out = std::array::from_fn(|i| a[i] + pattern[i]);
            }
            for (i, (out, &a)) in out_rest.iter_mut().zip(rest).enumerate() {
                *out = a + row[i % 3];
            }
        },
    );
}

/// a + column, for rows of `n` elements; `at` are the elements that `out` is for.
pub fn short_columns<T: Copy + Add<Output = T>>(
    a: &[T],
    column: &[T],
    n: usize,
    out: &mut [T],
    at: Range<usize>,
) {
    vectorized(
        #[inline(always)]
        || {
            for (i, &x) in column.iter().enumerate() {
                let (from, to) = ((i * n).clamp(at.start, at.end), (i * n + n).clamp(at.start, at.end));
                let out = &mut out[from - at.start..to - at.start];
                out.iter_mut().zip(&a[from..to]).for_each(|(out, &a)| *out = a + x);
            }
        },
    );
}

/// a[n − 1 − i] + b[i]; `a` is the part that belongs to `b`, not yet reversed.
pub fn reversed<T: Copy + Add<Output = T>>(a: &[T], b: &[T], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        || out.iter_mut().zip(a.iter().rev()).zip(b).for_each(|((out, &a), &b)| *out = a + b),
    );
}

/// a[2·i] + b[2·i].
pub fn every_second<T: Copy + Add<Output = T>>(a: &[T], b: &[T], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        || {
            let (a, _) = a.as_chunks::<2>();
            let (b, _) = b.as_chunks::<2>();
            out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a[0] + b[0]);
        },
    );
}

/// a + bᵀ of square matrices of side `n`, for the rows of a range.
pub fn transposed<T: Copy + Default + Add<Output = T>>(
    a: &[T],
    b: &[T],
    n: usize,
    out: &mut [T],
    rows: Range<usize>,
) {
    vectorized(
        #[inline(always)]
        || {
            let first = rows.start;
            let whole = (rows.start + rows.len() / TILE * TILE, n / TILE * TILE);
            for i0 in (rows.start..whole.0).step_by(BLOCK) {
                for j0 in (0..whole.1).step_by(BLOCK) {
                    for i in (i0..whole.0.min(i0 + BLOCK)).step_by(TILE) {
                        for j in (j0..whole.1.min(j0 + BLOCK)).step_by(TILE) {
                            tile(a, b, n, out, first, (i, j));
                        }
                    }
                }
            }
            let mut one = |i: usize, j: usize| out[(i - first) * n + j] = a[i * n + j] + b[j * n + i];
            for i in rows.start..whole.0 {
                (whole.1..n).for_each(|j| one(i, j));
            }
            for i in whole.0..rows.end {
                (0..n).for_each(|j| one(i, j));
            }
        },
    );
}

/// The tile at a row and a column; `out` begins with the row `first`.
#[inline(always)]
fn tile<T: Copy + Default + Add<Output = T>>(
    a: &[T],
    b: &[T],
    n: usize,
    out: &mut [T],
    first: usize,
    (i, j): (usize, usize),
) {
    let mut turned = [[T::default(); TILE]; TILE];
    for (k, row) in (j..j + TILE).enumerate() {
        let row = &b[row * n + i..][..TILE];
        for (l, &x) in row.iter().enumerate() {
            turned[l][k] = x;
        }
    }
    for (l, turned) in turned.iter().enumerate() {
        let a = &a[(i + l) * n + j..][..TILE];
        let out = &mut out[(i + l - first) * n + j..][..TILE];
        for k in 0..TILE {
            out[k] = a[k] + turned[k];
        }
    }
}
