//! Plain loops for strided layouts, each hand-written in the fastest known version.
//!
//! They follow the rules of [`crate::loops`].
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "tiles are turned by AVX's instructions only")
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d};
use std::ops::{Add, Range};

#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;

use crate::loops::vectorized;

/// The number of rows and columns in a block of the loop for transposed matrices. Blocks of 64 and 128 rows are equally fast,
/// blocks of 32 are a tenth slower and blocks of 16 a third slower (1e7 elements, on the machine of
/// `docs/generated/performance.md`).
const BLOCK: usize = 64;

/// a + row, for rows of three elements.
pub fn short_rows<T: Copy + Add<Output = T>>(a: &[T], row: &[T; 3], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        || {
            // 24 elements are a whole number of vectors, at every vector width up to 256 bits.
            let pattern: [T; 24] = std::array::from_fn(|i| row[i % 3]);
            let (whole, rest) = a.as_chunks::<24>();
            let (out, out_rest) = out.as_chunks_mut::<24>();
            for (out, a) in out.iter_mut().zip(whole) {
                // The sums are computed into a temporary array. If they were written directly to `out`, the compiler would have
                // to keep the order of the stores.
                *out = std::array::from_fn(|i| a[i] + pattern[i]);
            }
            for (i, (out, &a)) in out_rest.iter_mut().zip(rest).enumerate() {
                *out = a + row[i % 3];
            }
        },
    );
}

/// a + column, for rows of `n` elements. `out` contains the elements of the result whose flat indices are in `at`.
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

/// a[n − 1 − i] + b[i]. `a` contains the elements that are combined with `b`, in memory order.
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

/// An element type whose tiles are transposed in registers.
pub trait Turn: Copy + Add<Output = Self> {
    /// The number of rows and columns of a tile, which is the number of elements in a 256-bit vector.
    const SIDE: usize;
    /// Transposes the tile of `b`: reads its rows by `row`, and passes its columns to `put`.
    #[cfg(target_arch = "x86_64")]
    fn turn(v3: V3, tile: LayoutTile<'_, Self>);
}

/// A tile of the two operands and of the result.
pub struct LayoutTile<'t, T> {
    a: &'t [T],
    b: &'t [T],
    out: &'t mut [T],
    /// The distance between rows, in elements.
    n: usize,
}

impl<T: Turn> LayoutTile<'_, T> {
    /// Row `k` of the tile of `b`, which has `N` elements.
    #[inline(always)]
    fn row<const N: usize>(&self, k: usize) -> [T; N] {
        std::array::from_fn(|l| self.b[k * self.n..][..N][l])
    }

    /// Writes row `l` of the result: the sum of the row of `a` and a row of the transposed tile.
    #[inline(always)]
    fn put<const N: usize>(&mut self, l: usize, turned: [T; N]) {
        let a = &self.a[l * self.n..][..N];
        let sum: [T; N] = std::array::from_fn(|k| a[k] + turned[k]);
        self.out[l * self.n..][..N].copy_from_slice(&sum);
    }
}

impl Turn for f32 {
    const SIDE: usize = 8;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn turn(v3: V3, mut tile: LayoutTile<'_, f32>) {
        let avx = v3.avx;
        let r: [__m256; 8] = std::array::from_fn(|k| pulp::cast(tile.row::<8>(k)));
        // Interleaves pairs of rows, then groups of four, and then the halves of the vectors.
        let u: [__m256; 8] = std::array::from_fn(|k| match k % 2 {
            0 => avx._mm256_unpacklo_ps(r[k], r[k + 1]),
            _ => avx._mm256_unpackhi_ps(r[k - 1], r[k]),
        });
        let v: [__m256; 8] = std::array::from_fn(|k| {
            let (x, y) = (u[k / 4 * 4 + k % 4 / 2], u[k / 4 * 4 + k % 4 / 2 + 2]);
            match k % 2 {
                0 => avx._mm256_shuffle_ps::<0x44>(x, y),
                _ => avx._mm256_shuffle_ps::<0xee>(x, y),
            }
        });
        for l in 0..4 {
            let [low, high] = [
                avx._mm256_permute2f128_ps::<0x20>(v[l], v[l + 4]),
                avx._mm256_permute2f128_ps::<0x31>(v[l], v[l + 4]),
            ];
            tile.put::<8>(l, pulp::cast(low));
            tile.put::<8>(l + 4, pulp::cast(high));
        }
    }
}

impl Turn for f64 {
    const SIDE: usize = 4;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn turn(v3: V3, mut tile: LayoutTile<'_, f64>) {
        let avx = v3.avx;
        let r: [__m256d; 4] = std::array::from_fn(|k| pulp::cast(tile.row::<4>(k)));
        let u: [__m256d; 4] = std::array::from_fn(|k| match k % 2 {
            0 => avx._mm256_unpacklo_pd(r[k], r[k + 1]),
            _ => avx._mm256_unpackhi_pd(r[k - 1], r[k]),
        });
        for l in 0..2 {
            let [low, high] = [
                avx._mm256_permute2f128_pd::<0x20>(u[l], u[l + 2]),
                avx._mm256_permute2f128_pd::<0x31>(u[l], u[l + 2]),
            ];
            tile.put::<4>(l, pulp::cast(low));
            tile.put::<4>(l + 2, pulp::cast(high));
        }
    }
}

/// a + bᵀ for square matrices with `n` rows. `out` contains only `rows` of the result, which are computed.
pub fn transposed<T: Turn>(a: &[T], b: &[T], n: usize, out: &mut [T], rows: Range<usize>) {
    let first = rows.start;
    let mut one = |i: usize, j: usize| out[(i - first) * n + j] = a[i * n + j] + b[j * n + i];
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = V3::try_new() {
        let side = T::SIDE;
        let (end, columns) = (first + rows.len() / side * side, n / side * side);
        // The elements to the right of the tiles and below them are added one by one.
        (first..end).for_each(|i| (columns..n).for_each(|j| one(i, j)));
        (end..rows.end).for_each(|i| (0..n).for_each(|j| one(i, j)));
        return v3.vectorize(
            #[inline(always)]
            || {
                for i0 in (first..end).step_by(BLOCK) {
                    for j0 in (0..columns).step_by(BLOCK) {
                        for i in (i0..end.min(i0 + BLOCK)).step_by(side) {
                            for j in (j0..columns.min(j0 + BLOCK)).step_by(side) {
                                let (a, b) = (&a[i * n + j..], &b[j * n + i..]);
                                T::turn(v3, LayoutTile { a, b, out: &mut out[(i - first) * n + j..], n });
                            }
                        }
                    }
                }
            },
        );
    }
    for i0 in rows.clone().step_by(BLOCK) {
        for j0 in (0..n).step_by(BLOCK) {
            for i in i0..rows.end.min(i0 + BLOCK) {
                (j0..n.min(j0 + BLOCK)).for_each(|j| one(i, j));
            }
        }
    }
}
