//! Complete reductions of short rows: many rows to one element each, or few rows to one row.
//!
//! Short rows are transposed, 16 of them at a time, so that vectors hold elements of different results.

use std::marker::PhantomData;

use broadloom_math::Elem;
use pulp::{NullaryFnOnce, Scalar128b, Simd, WithSimd};

use crate::LANES;
use crate::combine::Combine;
use crate::state::elements;
use crate::vectors::{CombineVectors, Vectors, combine, fold_level, pairwise};

/// Rows of more elements are pushed into a [`Partial`](crate::Partial).
pub(crate) const LONG: usize = 128 * LANES - 1;

/// The number of rows whose results are computed together.
const BATCH: usize = 16;

/// Contiguous rows of `n` elements, up to [`LONG`].
pub(crate) struct Rows<'a, F, T>(pub usize, pub &'a [T], pub &'a mut [T], pub PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for Rows<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: CombineVectors<T>, T: Vectors> Rows<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Rows(n, from, out, _) = self;
        match n {
            1 => rows_of::<1, F, T>(from, out),
            2 => rows_of::<2, F, T>(from, out),
            3 => rows_of::<3, F, T>(from, out),
            4 => rows_of::<4, F, T>(from, out),
            _ => {
                for (from, out) in from.chunks(n * BATCH).zip(out.chunks_mut(BATCH)) {
                    batch::<S, F, T>(simd, n, from, out);
                }
            }
        }
    }
}

/// Reduces the elements of a row in 16 lanes, from the right: a subtree for each binary digit of the number of rows of 16.
#[inline(always)]
fn lanes_of<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, row: &[T]) -> [T; LANES] {
    let (full, rest) = row.as_chunks::<LANES>();
    let mut node = [F::identity(); LANES];
    for (lane, x) in node.iter_mut().zip(rest) {
        *lane = *x;
    }
    let (mut rows, mut end) = (full.len(), full.len());
    while rows != 0 {
        let level = rows.trailing_zeros();
        end -= 1 << level;
        fold_level::<true, S, F, T>(simd, level, full[end..].as_flattened(), &mut node, 1);
        rows &= rows - 1;
    }
    node
}

/// Reduces rows of few elements, which vectors load and shuffle.
#[inline(always)]
fn rows_of<const N: usize, F: Combine<T>, T: Elem>(from: &[T::Store], out: &mut [T::Store]) {
    let from = from.as_chunks::<N>().0;
    let from = &from[..out.len()];
    for i in 0..out.len() {
        out[i] = F::result(pairwise::<N, F, T>(from[i]));
    }
}

/// Reduces up to [`BATCH`] rows.
#[inline(always)]
fn batch<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, n: usize, from: &[T], out: &mut [T]) {
    let mut columns = [[F::identity(); BATCH]; LANES];
    for (i, row) in from.chunks_exact(n).enumerate() {
        if n <= LANES {
            for j in 0..n {
                columns[j][i % BATCH] = row[j];
            }
        } else {
            let node = lanes_of::<S, F, T>(simd, row);
            for j in 0..LANES {
                columns[j][i % BATCH] = node[j];
            }
        }
    }
    combine_columns::<F, T, BATCH>(&mut columns[..n.min(LANES)]);
    for (out, x) in out.iter_mut().zip(columns[0]) {
        *out = F::result(x);
    }
}

/// Reduces columns pairwise into the first one.
#[inline(always)]
fn combine_columns<F: Combine<T>, T: Elem, const N: usize>(columns: &mut [[T::Store; N]]) {
    let mut step = 1;
    while step < columns.len() {
        let mut j = 0;
        while j + step < columns.len() {
            let (a, b) = columns.split_at_mut(j + step);
            combine::<F, T>(&mut a[j], &b[0]);
            j += 2 * step;
        }
        step *= 2;
    }
}

/// Up to 16 rows, not necessarily contiguous, that are reduced to one.
pub(crate) struct FewRows<'a, F, T: Elem>(pub &'a [&'a [u8]], pub &'a mut [T::Store], pub PhantomData<F>);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for FewRows<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let FewRows(rows, out, _) = self;
        match rows.len() {
            1 => few_rows::<1, F, T>(rows, out),
            2 => few_rows::<2, F, T>(rows, out),
            3 => few_rows::<3, F, T>(rows, out),
            4 => few_rows::<4, F, T>(rows, out),
            _ => some_rows::<F, T>(rows, out),
        }
    }
}

#[inline(always)]
fn few_rows<const N: usize, F: Combine<T>, T: Elem>(rows: &[&[u8]], out: &mut [T::Store]) {
    let n = out.len();
    let rows: &[&[u8]; N] = rows.first_chunk().expect("so many rows");
    let mut typed: [&[T::Store]; N] = [&[]; N];
    for i in 0..N {
        typed[i] = &elements::<T>(rows[i])[..n];
    }
    for j in 0..n {
        let mut x = [F::identity(); N];
        for i in 0..N {
            x[i] = typed[i][j];
        }
        out[j] = F::result(pairwise::<N, F, T>(x));
    }
}

/// Reduces rows that are copied, some elements at a time, so that the work is done in the L1 cache.
#[inline(always)]
fn some_rows<F: Combine<T>, T: Elem>(rows: &[&[u8]], out: &mut [T::Store]) {
    const PART: usize = 64;
    let mut parts = [[F::identity(); PART]; LANES];
    for at in (0..out.len()).step_by(PART) {
        let out = &mut out[at..];
        let len = out.len().min(PART);
        for (part, row) in parts.iter_mut().zip(rows) {
            part[..len].copy_from_slice(&elements::<T>(row)[at..][..len]);
        }
        combine_columns::<F, T, PART>(&mut parts[..rows.len()]);
        for (out, x) in out.iter_mut().zip(parts[0]) {
            *out = F::result(x);
        }
    }
}
