//! Sums and products of floats that are complete: many short rows, each to an element of its own, and few rows to one.

use std::marker::PhantomData;

use pulp::{Scalar128b, Simd, WithSimd};

use crate::LANES;
use crate::combine::Combine;
use crate::state::elements;
use crate::vectors::{CombineVectors, Vectors, combine, fold, fold_64, pairwise};

/// The rows of `n` neighbouring elements, up to [`LONG`].
pub(crate) struct Trees<'a, F, T>(pub usize, pub &'a [T], pub &'a mut [T], pub PhantomData<F>);

/// More elements of a row are pushed into a [`Partial`](crate::Partial).
pub(crate) const LONG: usize = 128 * LANES;

/// Calls a function for a number up to 16 that the compiler knows.
macro_rules! few {
    ($n:expr, $call:ident($($arg:expr),*) else $long:expr) => {
        few!(@ $n, $call ($($arg),*) $long; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $n:expr, $call:ident $args:tt $long:expr; $($few:literal)*) => {
        match $n {
            $($few => few!(@@ $call $few $args),)*
            _ => $long,
        }
    };
    (@@ $call:ident $few:literal ($($arg:expr),*)) => { $call::<$few, F, T>($($arg),*) };
}

impl<F: CombineVectors<T>, T: Vectors> WithSimd for Trees<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Trees(n, from, out, _) = self;
        few!(n, short_rows(from, out) else {
            if S::IS_SCALAR {
                rows::<Scalar128b, F, T>(Scalar128b, n, from, out);
            } else {
                rows::<S, F, T>(simd, n, from, out);
            }
        });
    }
}

/// Rows of up to 16 elements.
#[inline(always)]
fn short_rows<const N: usize, F: Combine<T>, T: Vectors>(from: &[T], out: &mut [T]) {
    for (row, out) in from.as_chunks::<N>().0.iter().zip(out) {
        *out = F::result(pairwise::<N, F, T>(*row));
    }
}

#[inline(always)]
fn rows<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, n: usize, from: &[T], out: &mut [T]) {
    for (row, out) in from.chunks_exact(n).zip(out) {
        *out = F::result(pairwise::<LANES, F, T>(lanes_of::<S, F, T>(simd, row)));
    }
}

/// What each lane of a row is combined to: from the right, a subtree for each binary digit of the number of rows of 16.
#[inline(always)]
fn lanes_of<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, row: &[T]) -> [T; LANES] {
    let (full, rest) = row.as_chunks::<LANES>();
    let mut node = [F::identity(); LANES];
    node[..rest.len()].copy_from_slice(rest);
    let mut end = full.len();
    for level in 0..7 {
        let count = 1 << level;
        if full.len() & count == 0 {
            continue;
        }
        end -= count;
        let mut block = [F::identity(); LANES];
        let rows = &full[end..][..count];
        let part = |first: usize, block: &mut [T; LANES]| {
            let rows: &[[T; LANES]; 8] = rows[first..].first_chunk().expect("8 rows");
            fold::<8, S, F, T>(simd, rows.each_ref().map(|row| &row[..]), block, (LANES, 0), 0);
        };
        match level {
            0 => block = rows[0],
            1 => fold::<2, S, F, T>(simd, [0, 1].map(|i| &rows[i][..]), &mut block, (LANES, 0), 0),
            2 => fold::<4, S, F, T>(simd, [0, 1, 2, 3].map(|i| &rows[i][..]), &mut block, (LANES, 0), 0),
            3 => part(0, &mut block),
            4 => {
                let mut second = block;
                part(0, &mut block);
                part(8, &mut second);
                combine::<F, T>(&mut block, &second);
            }
            5 => {
                let mut parts = [block; 4];
                for (i, block) in parts.iter_mut().enumerate() {
                    part(8 * i, block);
                }
                fold::<4, S, F, T>(simd, parts.each_ref().map(|row| &row[..]), &mut block, (LANES, 0), 0);
            }
            _ => fold_64::<S, F, T>(simd, rows.as_flattened(), &mut block, 0),
        }
        combine::<F, T>(&mut block, &node);
        node = block;
    }
    node
}

/// Up to 16 rows that may lie apart, to one.
pub(crate) struct FewRows<'a, F, T>(pub &'a [&'a [u8]], pub &'a mut [T], pub PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for FewRows<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let FewRows(rows, out, _) = self;
        few!(rows.len(), few_rows(rows, out) else {});
    }
}

#[inline(always)]
fn few_rows<const N: usize, F: Combine<T>, T: Vectors>(rows: &[&[u8]], out: &mut [T]) {
    let n = out.len();
    let rows: &[&[u8]; N] = rows.first_chunk().expect("so many rows");
    let rows = rows.map(|row| &elements::<T>(row)[..n]);
    for j in 0..n {
        out[j] = F::result(pairwise::<N, F, T>(std::array::from_fn(|i| rows[i][j])));
    }
}
