//! Vectors of the target for the canonical tree: rows of elements are combined in registers, each lane by itself.
//!
//! Everything here is inlined into the functions that are compiled for a target's features.

use std::marker::PhantomData;

use broadloom_math::Elem;
use pulp::Simd;

use crate::combine::{Accumulator, Combine, Prod, Sum};

/// A type with vectors for sums and products.
pub(crate) trait Vectors: Accumulator {
    /// A vector.
    type V<S: Simd>: Copy;
    /// Elements as vectors, and those that are left.
    fn split<S: Simd>(elements: &[Self]) -> (&[Self::V<S>], &[Self]);
    /// The same for writing.
    fn split_mut<S: Simd>(elements: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self]);
}

/// An operation on vectors.
pub(crate) trait CombineVectors<T: Vectors>: Combine<T> {
    /// Lane by lane what [`Combine::pair`] gives.
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

/// Vectors of some lanes, one for each row. A trait and not closures: a closure that is not inlined at once is compiled
/// without the target's features.
trait Rows<S: Simd, T: Vectors>: Copy {
    fn row(self, simd: S, i: usize) -> T::V<S>;
}

/// Rows that are so many vectors apart, from one on.
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

/// The vectors at one place of some slices.
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

/// Eight rows of another each.
struct Eights<F, R>(R, PhantomData<F>);

impl<F, R: Copy> Copy for Eights<F, R> {}
impl<F, R: Copy> Clone for Eights<F, R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, F: CombineVectors<T>, T: Vectors, R: Rows<S, T>> Rows<S, T> for Eights<F, R> {
    #[inline(always)]
    fn row(self, simd: S, i: usize) -> T::V<S> {
        tree::<8, S, F, T, R>(simd, self.0, 8 * i)
    }
}

/// A tree over neighbouring rows: 1, 2, 4 or 8 of them.
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

/// Combines what was computed of a lane with the nodes before it, the last one first, and writes it to the first of
/// them. `nodes` are `count` (or none, but the place of one) that are `stride` apart.
#[inline(always)]
fn carry_vector<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    nodes: &mut [T::V<S>],
    (stride, count): (usize, usize),
    at: usize,
    mut v: T::V<S>,
) {
    for i in (0..count).rev() {
        v = F::vectors(simd, nodes[i * stride + at], v);
    }
    nodes[at] = v;
}

/// Combines 256 rows of 16 elements and the nodes before them, to the first of those.
#[inline(always)]
pub(crate) fn fold_256<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    elements: &[T],
    nodes: &mut [T],
    count: usize,
) {
    let (vectors, nodes) = (T::split::<S>(elements).0, T::split_mut::<S>(nodes).0);
    let stride = 16 / lanes::<S, T>();
    let vectors = &vectors[..256 * stride];
    for at in 0..stride {
        let rows = Eights::<F, _>(Eights::<F, _>(Strided { vectors, stride, at }, PhantomData), PhantomData);
        let v = tree::<4, S, F, T, _>(simd, rows, 0);
        carry_vector::<S, F, T>(simd, nodes, (stride, count), at, v);
    }
}

/// Combines 64 rows of 16 elements.
#[inline(always)]
pub(crate) fn fold_64<S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    elements: &[T],
    nodes: &mut [T],
    count: usize,
) {
    let (vectors, nodes) = (T::split::<S>(elements).0, T::split_mut::<S>(nodes).0);
    let stride = 16 / lanes::<S, T>();
    let vectors = &vectors[..64 * stride];
    for at in 0..stride {
        let rows = Eights::<F, _>(Strided { vectors, stride, at }, PhantomData);
        let v = tree::<8, S, F, T, _>(simd, rows, 0);
        carry_vector::<S, F, T>(simd, nodes, (stride, count), at, v);
    }
}

/// The lanes of a vector.
#[inline(always)]
pub(crate) fn lanes<S: Simd, T: Vectors>() -> usize {
    size_of::<T::V<S>>() / size_of::<T>()
}

/// Combines rows of equal length, 1, 2, 4 or 8 of them, and the nodes before them, from element `at` of nodes of `m`
/// elements on.
#[inline(always)]
pub(crate) fn fold<const R: usize, S: Simd, F: CombineVectors<T>, T: Vectors>(
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
    let rest = len * lanes::<S, T>()..n;
    let out = &mut T::split_mut::<S>(&mut nodes[at..][..n]).0[..len];
    if count == 0 {
        for j in 0..len {
            out[j] = tree::<R, S, F, T, _>(simd, Beside { rows: &vectors, at: j }, 0);
        }
    } else if count == 1 {
        for j in 0..len {
            let v = tree::<R, S, F, T, _>(simd, Beside { rows: &vectors, at: j }, 0);
            out[j] = F::vectors(simd, out[j], v);
        }
    } else {
        let (first, others) = nodes.split_at_mut(m);
        let out = &mut T::split_mut::<S>(&mut first[at..][..n]).0[..len];
        let last = &T::split::<S>(&others[(count - 2) * m + at..][..n]).0[..len];
        for j in 0..len {
            let mut v = tree::<R, S, F, T, _>(simd, Beside { rows: &vectors, at: j }, 0);
            v = F::vectors(simd, last[j], v);
            for node in (0..count - 2).rev() {
                v = F::vectors(simd, T::split::<S>(&others[node * m + at..][..n]).0[j], v);
            }
            out[j] = F::vectors(simd, out[j], v);
        }
    }
    for j in rest {
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

/// Neighbours of up to 16 elements combined pairwise, again and again, an odd one carried up.
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

/// a op b, in the place of a.
#[inline(always)]
pub(crate) fn combine<F: Combine<T>, T: Elem>(a: &mut [T::Store], b: &[T::Store]) {
    let n = a.len();
    let b = &b[..n];
    for i in 0..n {
        a[i] = F::pair(a[i], b[i]);
    }
}
