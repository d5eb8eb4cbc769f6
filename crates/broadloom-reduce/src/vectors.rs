//! Vector code for the canonical tree: rows of elements are reduced in registers, lane by lane.
//!
//! All functions are inlined into callers that are compiled for the features of a CPU.

use broadloom_math::Elem;
use broadloom_mem::{AHEAD, PAGE, ask_so_far_ahead};
use pulp::Simd;

use crate::LANES;
use crate::combine::{Accumulator, Combine, Prod, Sum};

/// An element type with vector instructions for sums and products.
pub(crate) trait Vectors: Accumulator {
    /// A vector of elements of this type.
    type V<S: Simd>: Copy;
    /// Splits elements into vectors and the remaining elements.
    fn split<S: Simd>(elements: &[Self]) -> (&[Self::V<S>], &[Self]);
    /// Splits elements into vectors and the remaining elements, for writing.
    fn split_mut<S: Simd>(elements: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self]);
}

/// The operation of a reduction, applied to vectors.
pub(crate) trait CombineVectors<T: Vectors>: Combine<T> {
    /// Applies [`Combine::pair`] lane by lane.
    fn vectors<S: Simd>(simd: S, a: T::V<S>, b: T::V<S>) -> T::V<S>;
}

macro_rules! vectors {
    ($($t:ident: $vector:ident $split:ident $split_mut:ident $add:ident $mul:ident;)*) => {$(
        impl Vectors for $t {
            type V<S: Simd> = S::$vector;
            #[inline(always)]
            fn split<S: Simd>(elements: &[$t]) -> (&[S::$vector], &[$t]) {
                S::$split(elements)
            }
            #[inline(always)]
            fn split_mut<S: Simd>(elements: &mut [$t]) -> (&mut [S::$vector], &mut [$t]) {
                S::$split_mut(elements)
            }
        }
        impl CombineVectors<$t> for Sum {
            #[inline(always)]
            fn vectors<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
        }
        impl CombineVectors<$t> for Prod {
            #[inline(always)]
            fn vectors<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
        }
    )*};
}
vectors! {
    f32: f32s as_simd_f32s as_mut_simd_f32s add_f32s mul_f32s;
    f64: f64s as_simd_f64s as_mut_simd_f64s add_f64s mul_f64s;
}

/// A source of one vector from each of several rows; all of these vectors have the same lanes. It is a trait and not a closure,
/// since a closure that is not inlined at once is compiled without the CPU's features.
trait Rows<S: Simd, T: Vectors>: Copy {
    fn row(self, simd: S, i: usize) -> T::V<S>;
}

/// Rows in one slice of vectors: row `i` is the vector at index `i * stride + at`.
struct Strided<'a, V> {
    vectors: &'a [V],
    stride: usize,
    at: usize,
}

impl<V> Copy for Strided<'_, V> {}
impl<V> Clone for Strided<'_, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, T: Vectors> Rows<S, T> for Strided<'_, T::V<S>> {
    #[inline(always)]
    fn row(self, _: S, i: usize) -> T::V<S> {
        self.vectors[i * self.stride + self.at]
    }
}

/// Rows in several slices: row `i` is the vector at index `at` of slice `i`.
struct Beside<'s, 'a, const R: usize, V> {
    rows: &'s [&'a [V]; R],
    at: usize,
}

impl<const R: usize, V> Copy for Beside<'_, '_, R, V> {}
impl<const R: usize, V> Clone for Beside<'_, '_, R, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<const R: usize, S: Simd, T: Vectors> Rows<S, T> for Beside<'_, '_, R, T::V<S>> {
    #[inline(always)]
    fn row(self, _: S, i: usize) -> T::V<S> {
        self.rows[i][self.at]
    }
}

/// Rows whose vectors have been computed already.
struct Computed<'a, V>(&'a [V; 8]);

impl<V> Copy for Computed<'_, V> {}
impl<V> Clone for Computed<'_, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, T: Vectors> Rows<S, T> for Computed<'_, T::V<S>> {
    #[inline(always)]
    fn row(self, _: S, i: usize) -> T::V<S> {
        self.0[i]
    }
}

/// Reduces `R` (1, 2, 4 or 8) consecutive rows, beginning with row `first`, as a tree of adjacent pairs.
#[inline(always)]
fn tree<const R: usize, S: Simd, F: CombineVectors<T>, T: Vectors, Q: Rows<S, T>>(
    simd: S,
    rows: Q,
    first: usize,
) -> T::V<S> {
    match R {
        1 => rows.row(simd, first),
        2 => two::<S, F, T, Q>(simd, rows, first),
        4 => four::<S, F, T, Q>(simd, rows, first),
        _ => {
            let a = four::<S, F, T, Q>(simd, rows, first);
            F::vectors(simd, a, four::<S, F, T, Q>(simd, rows, first + 4))
        }
    }
}

#[inline(always)]
fn four<S: Simd, F: CombineVectors<T>, T: Vectors, Q: Rows<S, T>>(simd: S, rows: Q, i: usize) -> T::V<S> {
    let a = two::<S, F, T, Q>(simd, rows, i);
    F::vectors(simd, a, two::<S, F, T, Q>(simd, rows, i + 2))
}

#[inline(always)]
fn two<S: Simd, F: CombineVectors<T>, T: Vectors, Q: Rows<S, T>>(simd: S, rows: Q, i: usize) -> T::V<S> {
    let a = rows.row(simd, i);
    F::vectors(simd, a, rows.row(simd, i + 1))
}

/// The maximum number of vectors in a row of 16 elements, which float64 in vectors of two lanes has.
const MOST_STRIDE: usize = LANES / 2;

/// The number of lanes in a vector.
#[inline(always)]
pub(crate) fn lanes<S: Simd, T: Vectors>() -> usize {
    size_of::<T::V<S>>() / size_of::<T>()
}

/// Reduces 2^`level` groups of eight rows, up to 8 groups, as a tree of adjacent pairs.
///
/// PERF: the groups are reduced in a loop, and their results go through the stack. With the loop unrolled, sums of 10⁵ elements
/// took 0.6 to 0.8 of the time, but the crate took five times as long to compile.
#[inline(always)]
fn eights<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    level: u32,
    rows: Strided<'_, T::V<S>>,
    first: usize,
) -> T::V<S> {
    let mut computed = [rows.vectors[rows.at]; 8];
    for i in 0..1 << level {
        computed[i % 8] = tree::<8, S, F, T, _>(simd, rows, first + 8 * i);
    }
    let computed = Computed(&computed);
    match level {
        0 => tree::<1, S, F, T, _>(simd, computed, 0),
        1 => tree::<2, S, F, T, _>(simd, computed, 0),
        2 => tree::<4, S, F, T, _>(simd, computed, 0),
        _ => tree::<8, S, F, T, _>(simd, computed, 0),
    }
}

/// Reduces the whole groups of 16 elements of each row of `n` elements into the row's node, from the last group to the first: for
/// each binary digit 1 of the number of groups, an aligned subtree is reduced and merged with the node.
///
/// PERF: all rows take one digit before the next one, so that the loop over rows has no branch on the digit. On Zen 4, sums of rows
/// of 16 to 128 elements took 1.1 to 2.1 times as long with all digits of a row at once.
#[inline(always)]
pub(crate) fn fold_groups<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    n: usize,
    from: &[T],
    nodes: &mut [[T; LANES]],
) {
    let (mut rest, mut end) = (n / LANES, n / LANES);
    while rest != 0 {
        let level = rest.trailing_zeros();
        end -= 1 << level;
        let rows = nodes.iter_mut().zip(from.chunks_exact(n));
        let rows = rows.map(|(node, row)| (node, &row[end * LANES..]));
        match level {
            0 => fold_each::<1, S, F, T>(simd, rows),
            1 => fold_each::<2, S, F, T>(simd, rows),
            2 => fold_each::<4, S, F, T>(simd, rows),
            3 => fold_each::<8, S, F, T>(simd, rows),
            _ => {
                for (node, row) in rows {
                    let (vectors, node) = (T::split::<S>(row).0, T::split_mut::<S>(node).0);
                    let stride = LANES / lanes::<S, T>();
                    let vectors = &vectors[..stride << level];
                    for (at, out) in node[..stride].iter_mut().enumerate() {
                        let v = eights::<S, F, T>(simd, level - 3, Strided { vectors, stride, at }, 0);
                        *out = F::vectors(simd, v, *out);
                    }
                }
            }
        }
        rest &= rest - 1;
    }
}

/// Reduces the first `R` groups of 16 elements of each row, and merges the result with the row's node, which comes after it.
#[inline(always)]
fn fold_each<'r, const R: usize, S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    rows: impl Iterator<Item = (&'r mut [T; LANES], &'r [T])>,
) {
    let stride = LANES / lanes::<S, T>();
    for (node, row) in rows {
        let (vectors, node) = (T::split::<S>(&row[..R * LANES]).0, T::split_mut::<S>(node).0);
        let vectors = &vectors[..R * stride];
        for (at, out) in node[..stride].iter_mut().enumerate() {
            *out = F::vectors(simd, tree::<R, S, F, T, _>(simd, Strided { vectors, stride, at }, 0), *out);
        }
    }
}

/// Reduces 2^`level` rows of 16 elements, up to 64, and merges the result with the `count` nodes before them, from the last to
/// the first. The first node of `nodes` receives the result, even if `count` is 0.
///
/// All rows are reduced for the lanes of one vector before they are reduced for the next vector, so that partial results stay in
/// registers.
#[inline(always)]
pub(crate) fn fold_level<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    level: u32,
    elements: &[T],
    nodes: &mut [T],
    count: usize,
) {
    let (vectors, nodes) = (T::split::<S>(elements).0, T::split_mut::<S>(nodes).0);
    let stride = LANES / lanes::<S, T>();
    let vectors = &vectors[..stride << level];
    for at in 0..stride {
        let rows = Strided { vectors, stride, at };
        let mut v = match level {
            0 => tree::<1, S, F, T, _>(simd, rows, 0),
            1 => tree::<2, S, F, T, _>(simd, rows, 0),
            2 => tree::<4, S, F, T, _>(simd, rows, 0),
            3 => tree::<8, S, F, T, _>(simd, rows, 0),
            _ => eights::<S, F, T>(simd, level - 3, rows, 0),
        };
        for i in (0..count).rev() {
            v = F::vectors(simd, nodes[i * stride + at], v);
        }
        nodes[at] = v;
    }
}

/// The number of rows of a *unit*, which is reduced to one row in registers. A unit has 1 KiB: 16 rows of float32 or 8 of
/// float64.
const fn rows_of_unit<T>() -> usize {
    1024 / (LANES * size_of::<T>())
}

/// The number of streams into which a long range is divided. They are read in turns, one unit at a time.
const STREAMS: usize = 4;
/// The number of blocks of 256 rows in each stream.
const OF_STREAM: usize = 8;
/// The total number of rows in all streams.
pub(crate) const IN_STREAMS: usize = STREAMS * OF_STREAM * 256;

/// Rows that are results of reductions. They are aligned so that no vector crosses a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Combined<T, const N: usize>([[T; LANES]; N]);

/// The results of the units of a block of 256 rows, which are at most 32.
pub(crate) type Units<T> = Combined<T, 32>;

impl<T: Accumulator, const N: usize> Combined<T, N> {
    pub const NEW: Self = Combined([[T::NOTHING; LANES]; N]);
}

/// Reduces the first 256 rows of `run` and merges the result as [`fold_level`] does, reading memory in order.
///
/// PERF: all lanes are reduced for four rows at a time, so that cache lines are read in order. With a separate pass for the lanes
/// of each vector over 32 KiB of float64, sums took 1.2 times as long in a second-level cache, and 1.6 times as long beyond it.
#[inline(always)]
pub(crate) fn fold_256<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    run: &[T],
    units: &mut Units<T>,
    nodes: &mut [T],
    count: usize,
) {
    let run_of_units = &run[..256 * LANES];
    for (i, unit) in units.0[..256 / rows_of_unit::<T>()].iter_mut().enumerate() {
        ask_for_unit(run, i, AHEAD);
        fold_unit::<S, F, T>(simd, run_of_units, i, unit);
    }
    fold_units::<S, F, T>(simd, units, nodes, count);
}

/// Reduces the first [`IN_STREAMS`] rows of `run` and merges the result as [`fold_level`] does, reading memory as several
/// streams.
///
/// PERF: memory is read faster as several streams, each of which a CPU prefetches independently. On Zen 3, sums of 10⁷ elements
/// take 0.7 (float32) and 0.85 (float64) of the time. Streams of 16 KiB make no difference, nor does alternating every 4 KiB. If
/// the data is in a third-level cache, sums take 1.1 times as long with streams.
#[inline(always)]
pub(crate) fn fold_streams<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    run: &[T],
    nodes: &mut [T],
    count: usize,
) {
    const { assert!(STREAMS * OF_STREAM == 1 << 5, "a tree over all of them") };
    let run_of_units = &run[..IN_STREAMS * LANES];
    let mut units = [Units::NEW; STREAMS];
    let mut combined = Combined::<T, { STREAMS * OF_STREAM }>::NEW;
    for block in 0..OF_STREAM {
        for i in 0..256 / rows_of_unit::<T>() {
            for (stream, units) in units.iter_mut().enumerate() {
                let unit = (stream * OF_STREAM + block) * (256 / rows_of_unit::<T>()) + i;
                ask_for_unit(run, unit, IN_STREAMS * LANES * size_of::<T>());
                fold_unit::<S, F, T>(simd, run_of_units, unit, &mut units.0[i]);
            }
        }
        for (stream, units) in units.iter().enumerate() {
            fold_units::<S, F, T>(simd, units, &mut combined.0[stream * OF_STREAM + block], 0);
        }
    }
    fold_level::<S, F, T>(simd, 5, combined.0.as_flattened(), nodes, count);
}

/// If a unit is at the beginning of a page of `run`, prefetches the page that is `ahead` bytes further on. If several streams are
/// read, `ahead` is the total size of all streams: directly after a stream there is another stream, so the next memory for this
/// stream is after all of them.
#[inline(always)]
fn ask_for_unit<T>(run: &[T], unit: usize, ahead: usize) {
    let at = unit * rows_of_unit::<T>() * LANES;
    if (at * size_of::<T>()).is_multiple_of(PAGE) {
        ask_so_far_ahead(run, at, 1, ahead);
    }
}

/// Reduces the rows of unit number `unit` to the row `to`, four rows at a time.
#[inline(always)]
fn fold_unit<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    run: &[T],
    unit: usize,
    to: &mut [T; LANES],
) {
    const { assert!(rows_of_unit::<T>() == 16 || rows_of_unit::<T>() == 8, "two or four fours") };
    let (stride, rows) = (LANES / lanes::<S, T>(), rows_of_unit::<T>());
    let vectors = &T::split::<S>(run).0[unit * rows * stride..][..rows * stride];
    let mut fours = [[vectors[0]; MOST_STRIDE]; 4];
    for (i, row) in fours[..rows / 4].iter_mut().enumerate() {
        for (at, four) in row[..stride].iter_mut().enumerate() {
            *four = tree::<4, S, F, T, _>(simd, Strided { vectors, stride, at }, 4 * i);
        }
    }
    for (at, out) in T::split_mut::<S>(to).0[..stride].iter_mut().enumerate() {
        let mut v = F::vectors(simd, fours[0][at], fours[1][at]);
        if rows == 16 {
            v = F::vectors(simd, v, F::vectors(simd, fours[2][at], fours[3][at]));
        }
        *out = v;
    }
}

#[inline(always)]
fn two_eights<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    rows: Strided<'_, T::V<S>>,
    i: usize,
) -> T::V<S> {
    let v = tree::<8, S, F, T, _>(simd, rows, i);
    F::vectors(simd, v, tree::<8, S, F, T, _>(simd, rows, i + 8))
}

/// Reduces the results of a block's units to one row, and merges it with the nodes before it, as [`fold_level`] does.
#[inline(always)]
fn fold_units<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    units: &Units<T>,
    nodes: &mut [T],
    count: usize,
) {
    let stride = LANES / lanes::<S, T>();
    let nodes = T::split_mut::<S>(nodes).0;
    let units = &T::split::<S>(units.0.as_flattened()).0[..256 / rows_of_unit::<T>() * stride];
    for at in 0..stride {
        let rows = Strided { vectors: units, stride, at };
        let mut v = two_eights::<S, F, T>(simd, rows, 0);
        if rows_of_unit::<T>() == 8 {
            v = F::vectors(simd, v, two_eights::<S, F, T>(simd, rows, 16));
        }
        for i in (0..count).rev() {
            v = F::vectors(simd, nodes[i * stride + at], v);
        }
        nodes[at] = v;
    }
}

/// Reduces `R` (1, 2, 4 or 8) rows of equal length, as a tree, and merges the result with a part of each of
/// the `count` nodes before the rows. A node has `m` elements; the part begins at element `at` and is as long
/// as a row. The result is written to the first node. If `FRESH`, there are no nodes to merge with.
#[inline(always)]
pub(crate) fn fold<const R: usize, const FRESH: bool, S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    rows: [&[T]; R],
    nodes: &mut [T],
    (m, count): (usize, usize),
    at: usize,
) {
    let n = rows[0].len();
    let len = n / lanes::<S, T>();
    let mut vectors: [&[T::V<S>]; R] = [&[]; R];
    for i in 0..R {
        vectors[i] = &T::split::<S>(&rows[i][..n]).0[..len];
    }
    if FRESH {
        let out = &mut T::split_mut::<S>(&mut nodes[at..][..n]).0[..len];
        for (j, out) in out.iter_mut().enumerate() {
            *out = tree::<R, S, F, T, _>(simd, Beside { rows: &vectors, at: j }, 0);
        }
    } else {
        for j in 0..len {
            let mut v = tree::<R, S, F, T, _>(simd, Beside { rows: &vectors, at: j }, 0);
            for node in (0..count).rev() {
                v = F::vectors(simd, T::split::<S>(&nodes[node * m + at..][..n]).0[j], v);
            }
            T::split_mut::<S>(&mut nodes[at..][..n]).0[j] = v;
        }
    }
    for j in len * lanes::<S, T>()..n {
        let mut x = [F::identity(); R];
        for i in 0..R {
            x[i] = rows[i][j];
        }
        let mut x = pairwise::<R, F, T>(x);
        for node in (0..count).rev() {
            x = F::pair(nodes[node * m + at + j], x);
        }
        nodes[at + j] = x;
    }
}

/// Reduces the 16 lanes of a node of `[16][width]` elements to its first lane.
#[inline(always)]
pub(crate) fn fold_node<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, node: &mut [T], width: usize) {
    let per = lanes::<S, T>();
    let whole = width / per * per;
    for j in (0..whole).step_by(per) {
        let mut lane = [&[] as &[T::V<S>]; LANES];
        for i in 0..LANES {
            lane[i] = T::split::<S>(&node[i * width + j..][..per]).0;
        }
        let lanes = Beside { rows: &lane, at: 0 };
        let v = tree::<8, S, F, T, _>(simd, lanes, 0);
        let v = F::vectors(simd, v, tree::<8, S, F, T, _>(simd, lanes, 8));
        T::split_mut::<S>(&mut node[j..][..per]).0[0] = v;
    }
    for j in whole..width {
        let mut lane = [F::identity(); LANES];
        for i in 0..LANES {
            lane[i] = node[i * width + j];
        }
        node[j] = pairwise::<LANES, F, T>(lane);
    }
}

/// Reduces up to 16 elements to one in adjacent pairs, level by level. If a level has an odd number of elements, the last one is
/// carried up unchanged.
#[inline(always)]
pub(crate) fn pairwise<const N: usize, F: Combine<T>, T: Elem>(mut x: [T::Store; N]) -> T::Store {
    for step in [1, 2, 4, 8] {
        for i in (0..N).step_by(2 * step) {
            if i + step < N {
                x[i] = F::pair(x[i], x[i + step]);
            }
        }
    }
    x[0]
}

/// Merges each element of `b` into the element of `a` with the same index.
#[inline(always)]
pub(crate) fn combine<F: Combine<T>, T: Elem>(a: &mut [T::Store], b: &[T::Store]) {
    let n = a.len();
    let b = &b[..n];
    for i in 0..n {
        a[i] = F::pair(a[i], b[i]);
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar128b, WithSimd};

    use super::*;
    use crate::method::arch;

    struct Streams<'a, T>(&'a [T], &'a mut [T], usize);

    impl<T: Vectors> WithSimd for Streams<'_, T>
    where
        Sum: CombineVectors<T>,
    {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            match S::IS_SCALAR {
                true => fold_streams::<_, Sum, T>(Scalar128b, self.0, self.1, self.2),
                false => fold_streams::<_, Sum, T>(simd, self.0, self.1, self.2),
            }
        }
    }

    /// Reduces adjacent pairs, level by level.
    fn pairwise<T: Copy + std::ops::Add<Output = T>>(mut list: Vec<T>) -> T {
        while list.len() > 1 {
            list = list.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        list[0]
    }

    #[test]
    fn streams_are_combined_to_the_subtree_of_their_rows() {
        macro_rules! check {
            ($t:ident) => {
                let run: Vec<$t> = (0..IN_STREAMS * LANES).map(|i| 1.0 / (i as $t + 3.0)).collect();
                for count in [0, 1] {
                    let mut nodes = [0.1 as $t; LANES];
                    arch().dispatch(Streams(&run, &mut nodes, count));
                    for lane in 0..LANES {
                        let sum = pairwise(run.iter().skip(lane).step_by(LANES).copied().collect());
                        let sum = if count == 1 { 0.1 + sum } else { sum };
                        assert_eq!(nodes[lane], sum, "lane {lane} after {count} nodes");
                    }
                }
            };
        }
        check!(f32);
        check!(f64);
    }
}
