//! Reductions whose result does not depend on the order of elements: reductions of integers and of bools, and minimum and
//! maximum. The state is a single node, the result so far, with as many lanes per output as vectors need.

use std::marker::PhantomData;

use broadloom_ir::Result;
use broadloom_math::Elem;
use broadloom_mem::{PAGE, ask_ahead};
use pulp::{NullaryFnOnce, Scalar128b, Simd, WithSimd};

use crate::combine::{Combine, EIGHT};
use crate::each::{BATCH, combine_lanes, set_rests};
use crate::method::{Method, arch};
use crate::state::{State, elements, elements_mut};
use crate::tree::packed;
use crate::vectors::combine;

/// The approximate size in bytes of a node of few outputs: several vectors. Each output has as many lanes as fit.
const NODE: usize = 512;

/// In reductions of each row to one element, rows of more elements than this are reduced in vectors.
const FEW: usize = 8;

/// The method of reductions whose elements may be merged in any order.
pub(crate) struct Free<F, T>(PhantomData<fn() -> (F, T)>);

impl<F, T> Free<F, T> {
    pub const NEW: Free<F, T> = Free(PhantomData);
}

impl<F: Combine<T>, T: Elem> Method for Free<F, T> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        let lanes = (NODE / size_of::<T>()).checked_div(width).map_or(1, |lanes| lanes.max(1));
        State::new::<T>(width, 1 << lanes.ilog2(), start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        let from = elements::<T>(bytes);
        state.next += (from.len() / state.width) as u64;
        match state.width {
            1 => arch().dispatch(Line::<F, T>(node::<F, T>(state), from, PhantomData)),
            _ => arch().dispatch(Fold::<F, T>(node::<F, T>(state), None, from, PhantomData)),
        }
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        if state.lanes > 1 {
            return packed(state.width * size_of::<T::Store>(), n, row, |bytes| self.push(state, bytes));
        }
        state.next += n as u64;
        let (width, node) = (state.width, node::<F, T>(state));
        let row = |i: usize| {
            let row = elements::<T>(row(i));
            assert_eq!(row.len(), width, "the elements of a row");
            row
        };
        let whole = n / EIGHT * EIGHT;
        for first in (0..whole).step_by(EIGHT) {
            let rows = std::array::from_fn(|i| row(first + i));
            arch().dispatch(Fold::<F, T>(node, Some(rows), &[], PhantomData));
        }
        for i in whole..n {
            arch().dispatch(Fold::<F, T>(node, None, row(i), PhantomData));
        }
    }

    fn push_nodes(&self, state: &mut State, level: u8, rows: &[u8]) {
        let first = state.next;
        self.push(state, rows);
        state.next = first + ((state.next - first) << level);
    }

    fn append(&self, state: &mut State, later: &State) {
        combine::<F, T>(node::<F, T>(state), later.node::<T>(0));
        state.next = later.next;
    }

    fn finish(&self, state: &mut State, out: &mut [u8]) {
        let (mut lanes, width) = (state.lanes, state.width);
        let node = node::<F, T>(state);
        while lanes > 1 {
            lanes /= 2;
            let (a, b) = node.split_at_mut(lanes * width);
            combine::<F, T>(a, &b[..lanes * width]);
        }
        for (out, x) in elements_mut::<T>(out).iter_mut().zip(node) {
            *out = F::result(*x);
        }
    }

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) -> bool {
        arch().dispatch(Each::<F, T>(n, elements::<T>(from), elements_mut::<T>(out), PhantomData));
        true
    }

    fn few_rows(&self, _: &[&[u8]], _: &mut [u8]) -> bool {
        false
    }
}

/// The state's node. If the state has no node yet, one is added and filled with the identity.
fn node<F: Combine<T>, T: Elem>(state: &mut State) -> &mut [T::Store] {
    if state.levels.is_empty() {
        state.add_node(0);
        state.node_mut::<T>(0).fill(F::identity());
    }
    state.node_mut::<T>(0)
}

/// Reduces rows with as many elements as a node into the node. The fields are the node, optionally eight rows as separate slices,
/// and a slice of contiguous rows, the last of which may be shorter.
struct Fold<'a, F, T: Elem>(
    &'a mut [T::Store],
    Option<[&'a [T::Store]; EIGHT]>,
    &'a [T::Store],
    PhantomData<F>,
);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for Fold<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Fold(node, mut apart, mut from, _) = self;
        let m = node.len();
        loop {
            let rows = if let Some(rows) = apart.take() {
                rows
            } else if from.len() >= EIGHT * m {
                let mut rows: [&[T::Store]; EIGHT] = [&[]; EIGHT];
                for i in 0..EIGHT {
                    rows[i] = &from[i * m..][..m];
                }
                from = &from[EIGHT * m..];
                rows
            } else {
                break;
            };
            eight_rows::<F, T>(node, rows);
        }
        while !from.is_empty() {
            let len = from.len().min(m);
            combine::<F, T>(&mut node[..len], &from[..len]);
            from = &from[len..];
        }
    }
}

/// Reduces eight rows into a node by the [fast path](Combine::quick). If the result may be wrong, they are reduced again by the
/// exact operation.
#[inline(always)]
fn eight_rows<F: Combine<T>, T: Elem>(node: &mut [T::Store], rows: [&[T::Store]; EIGHT]) {
    let m = node.len();
    let mut sized: [&[T::Store]; EIGHT] = [&[]; EIGHT];
    for i in 0..EIGHT {
        sized[i] = &rows[i][..m];
    }
    let mut open = F::Flag::default();
    for j in 0..m {
        let mut result = node[j];
        for row in sized {
            let x = row[j];
            open = F::or(open, F::unordered(x));
            result = F::quick(x, result);
        }
        open = F::or(open, F::ambiguous(result));
        node[j] = result;
    }
    if open != F::Flag::default() {
        for row in sized {
            combine::<F, T>(node, row);
        }
    }
}

/// Reduces contiguous elements of a single output into its node. The fields are the node and the elements.
struct Line<'a, F, T: Elem>(&'a mut [T::Store], &'a [T::Store], PhantomData<F>);

impl<F: Combine<T>, T: Elem> WithSimd for Line<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: Combine<T>, T: Elem> Line<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Line(node, from, _) = self;
        let rest = match size_of::<T::Store>() {
            1 => lines::<64, S, F, T>(simd, node, from),
            2 => lines::<32, S, F, T>(simd, node, from),
            4 => lines::<16, S, F, T>(simd, node, from),
            _ => lines::<8, S, F, T>(simd, node, from),
        };
        combine::<F, T>(&mut node[..rest.len()], rest);
    }
}

/// Reduces each of several contiguous rows to one element. The fields are the number of elements in a row, the rows, and the
/// results.
struct Each<'a, F, T: Elem>(usize, &'a [T::Store], &'a mut [T::Store], PhantomData<F>);

impl<F: Combine<T>, T: Elem> WithSimd for Each<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: Combine<T>, T: Elem> Each<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match size_of::<T::Store>() {
            1 => self.rows::<64, S>(simd),
            2 => self.rows::<32, S>(simd),
            4 => self.rows::<16, S>(simd),
            _ => self.rows::<8, S>(simd),
        }
    }

    #[inline(always)]
    fn rows<const N: usize, S: Simd>(self, simd: S) {
        let Each(n, from, out, _) = self;
        if n <= FEW {
            for (row, out) in from.chunks_exact(n).zip(out) {
                *out = F::result(row.iter().fold(F::identity(), |a, x| F::pair(a, *x)));
            }
            return;
        }
        for (from, out) in from.chunks(n * BATCH).zip(out.chunks_mut(BATCH)) {
            let mut nodes = [[F::identity(); N]; BATCH];
            set_rests::<T, N>(n, from, &mut nodes);
            for (node, row) in nodes.iter_mut().zip(from.chunks_exact(n)) {
                lines::<N, S, F, T>(simd, node, row);
            }
            combine_lanes::<F, T, N>(&mut nodes);
            for (out, x) in out.iter_mut().zip(nodes.as_flattened()) {
                *out = F::result(*x);
            }
        }
    }
}

/// The number of cache lines of elements, as many as a page has, that are reduced before the flags of the fast path are checked.
const LINES: usize = PAGE / 64;

/// Reduces contiguous elements into the first `N` elements of a node, in the order of memory; `N` is the number of elements in a
/// cache line. Returns the remaining elements, fewer than `N`.
///
/// PERF: the `N` results stay in registers. The 512 bytes of a whole node would be kept in memory, and its elements would be read
/// from eight rows of this size, too far apart for prefetchers to follow.
#[inline(always)]
fn lines<'a, const N: usize, S: Simd, F: Combine<T>, T: Elem>(
    simd: S,
    node: &mut [T::Store],
    from: &'a [T::Store],
) -> &'a [T::Store] {
    let Some(node) = node.first_chunk_mut::<N>() else { return from };
    let (lines, rest) = from.as_chunks::<N>();
    let mut combined = *node;
    // Once a result is NaN, it stays NaN, so no further elements need to be read.
    let is_nan = |line: &[T::Store; N]| line.iter().any(|x| F::unordered(*x) != F::Flag::default());
    if is_nan(&combined) {
        return rest;
    }
    for (i, block) in lines.chunks(LINES).enumerate() {
        ask_ahead(from, i * LINES * N, LINES * N);
        let before = combined;
        let (eights, few) = block.as_chunks::<EIGHT>();
        if F::quick_lines::<S, N>(simd, &mut combined, eights) {
            combined = before;
            for row in eights.as_flattened() {
                combine::<F, T>(&mut combined, row);
            }
            if is_nan(&combined) {
                break;
            }
        }
        for row in few {
            combine::<F, T>(&mut combined, row);
        }
    }
    *node = combined;
    rest
}
