//! Complete reductions of short rows: either each of many rows to one element, or a few rows to one row.
//!
//! Rows of fewer than 16 elements are transposed, 16 rows at a time, so that each vector holds elements of different results. Longer
//! rows are first reduced to 16 lanes each; then adjacent lanes are reduced, for 16 rows at a time, until each row has one lane.

use std::marker::PhantomData;

use broadloom_math::Elem;
use pulp::{NullaryFnOnce, Scalar128b, Simd, WithSimd};

use crate::LANES;
use crate::combine::Combine;
use crate::state::elements;
use crate::vectors::{CombineVectors, Vectors, combine, fold_groups, pairwise};

/// The maximum number of elements of a row that is reduced here. A longer row is pushed into a [`Partial`](crate::Partial).
pub(crate) const LONG: usize = 128 * LANES - 1;

/// The number of rows that are reduced together.
pub(crate) const BATCH: usize = 16;

/// Contiguous rows, each of which is reduced to one element. The fields are the number of elements per row (up to [`LONG`]), the
/// rows, and the results.
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

/// Reduces each row of `N` elements, up to 4, to one element. The compiler turns the loop into vector loads
/// and shuffles.
#[inline(always)]
fn rows_of<const N: usize, F: Combine<T>, T: Elem>(from: &[T::Store], out: &mut [T::Store]) {
    let from = from.as_chunks::<N>().0;
    let from = &from[..out.len()];
    for i in 0..out.len() {
        out[i] = F::result(pairwise::<N, F, T>(from[i]));
    }
}

/// Reduces each of up to [`BATCH`] rows of `n` elements to one element.
#[inline(always)]
fn batch<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, n: usize, from: &[T], out: &mut [T]) {
    let mut rows = [[F::identity(); LANES]; BATCH];
    if n < LANES {
        for (i, row) in from.chunks_exact(n).enumerate() {
            for j in 0..n {
                rows[j][i % BATCH] = row[j];
            }
        }
        combine_columns::<F, T, BATCH>(&mut rows[..n]);
    } else {
        set_rests::<T, LANES>(n, from, &mut rows);
        fold_groups::<S, F, T>(simd, n, from, &mut rows);
        combine_lanes::<F, T, LANES>(&mut rows);
    }
    for (out, x) in out.iter_mut().zip(rows[0]) {
        *out = F::result(x);
    }
}

/// Reduces the lanes of each node to one, in adjacent pairs, level by level. The results, one per node, are then the first
/// elements of `nodes`.
#[inline(always)]
pub(crate) fn combine_lanes<F: Combine<T>, T: Elem, const N: usize>(nodes: &mut [[T::Store; N]; BATCH]) {
    let mut others = [[F::identity(); N]; BATCH / 2];
    let (mut from, mut to) = (nodes.as_flattened_mut(), others.as_flattened_mut());
    let mut len = N * BATCH;
    while len > BATCH {
        len /= 2;
        pairs::<F, T>(&from[..2 * len], &mut to[..len]);
        std::mem::swap(&mut from, &mut to);
    }
    if N.ilog2() % 2 == 1 {
        to[..BATCH].copy_from_slice(&from[..BATCH]);
    }
}

/// Reduces each adjacent pair of elements to one element.
#[inline(always)]
fn pairs<F: Combine<T>, T: Elem>(from: &[T::Store], to: &mut [T::Store]) {
    for (two, to) in from.as_chunks::<2>().0.iter().zip(to) {
        *to = F::pair(two[0], two[1]);
    }
}

/// Copies the last elements of each row, which don't fill a group of `N`, to the first lanes of the row's node.
///
/// PERF: a vector load of elements that were just stored one by one waits until these stores are done. So this function stores
/// the elements of all rows before any of them is loaded.
#[inline(always)]
pub(crate) fn set_rests<T: Elem, const N: usize>(
    n: usize,
    from: &[T::Store],
    nodes: &mut [[T::Store; N]; BATCH],
) {
    for (node, row) in nodes.iter_mut().zip(from.chunks_exact(n)) {
        for (lane, x) in node.iter_mut().zip(row.as_chunks::<N>().1) {
            *lane = *x;
        }
    }
}

/// Reduces columns to one, lane by lane, in adjacent pairs, level by level. The result is in the first column.
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

/// Up to 16 rows, not necessarily contiguous, that are reduced to one row. The fields are the rows and the result.
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

/// Reduces 5 to 16 rows to one row. A few elements of each row are copied at a time, so that the reduction works in the L1 cache.
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
