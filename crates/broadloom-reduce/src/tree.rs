//! The canonical tree of sums and products of floats.
//!
//! A row is [`LANES`] elements of each output. A node stands for an aligned subtree of 2^level rows, and nodes are carried
//! like the digits of a binary counter. Rows of which elements are absent are padded with the identity, which changes
//! no bits. A row whose first elements belong to an earlier run can't be combined with its sibling before they are
//! here: it stays a node of its own, which is [`OPEN`].

use std::marker::PhantomData;

use broadloom_ir::Result;
use pulp::{Scalar128b, Simd, WithSimd};

use crate::LANES;
use crate::combine::Combine;
use crate::each;
use crate::partial::{Method, arch};
use crate::state::{State, elements, elements_mut};
use crate::vectors::{CombineVectors, Vectors, combine, fold, fold_64, fold_256};

/// The level of a row whose first elements are of an earlier run.
pub(crate) const OPEN: u8 = u8::MAX;

/// Rows of fewer bytes are packed before they are combined: a vector holds more than one.
const NARROW: usize = 64;

/// Reductions whose order of combination is seen.
pub(crate) struct Tree<F, T>(PhantomData<fn() -> (F, T)>);

impl<F, T> Tree<F, T> {
    pub const NEW: Tree<F, T> = Tree(PhantomData);
}

impl<F: CombineVectors<T>, T: Vectors> Method for Tree<F, T> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        State::new::<T>(width, LANES, start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        arch().dispatch(Push::<F, T>(state, elements::<T>(bytes), PhantomData));
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        if state.width * size_of::<T>() < NARROW {
            return packed(state.width * size_of::<T>(), n, row, |bytes| self.push(state, bytes));
        }
        arch().dispatch(PushRows::<'_, 'r, F, T>(state, n, row, PhantomData));
    }

    fn append(&self, state: &mut State, later: &State) {
        let mut next = state.next;
        for (i, &level) in later.levels.iter().enumerate() {
            let node = later.node::<T>(i);
            if level == OPEN {
                let top = state.levels.len() - 1;
                combine::<F, T>(state.node_mut::<T>(top), node);
                next = next - next % LANES as u64 + LANES as u64;
            } else {
                state.add_node(level);
                let top = state.levels.len() - 1;
                state.node_mut::<T>(top).copy_from_slice(node);
                next += (LANES as u64) << level;
            }
            state.next = next.min(later.next);
            if state.next == next {
                carry::<F, T>(state);
            }
        }
    }

    fn finish(&self, state: &mut State, out: &mut [u8]) {
        if state.start != 0 {
            padded::<F, T>(self, state);
        }
        if state.levels.is_empty() {
            add::<F, T>(state, 0);
        }
        while state.levels.len() > 1 {
            let (below, top) = state.last_two::<T>();
            combine::<F, T>(below, top);
            state.drop_node();
        }
        let width = state.width;
        let node = state.node_mut::<T>(0);
        for step in [1, 2, 4, 8] {
            for pair in node.chunks_exact_mut(2 * step * width) {
                let (a, b) = pair.split_at_mut(step * width);
                combine::<F, T>(&mut a[..width], b);
            }
        }
        for (out, x) in elements_mut::<T>(out).iter_mut().zip(node) {
            *out = F::result(*x);
        }
    }

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) {
        arch().dispatch(each::Trees::<F, T>(n, elements::<T>(from), elements_mut::<T>(out), PhantomData));
    }

    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) {
        arch().dispatch(each::FewRows::<F, T>(rows, elements_mut::<T>(out), PhantomData));
    }
}

/// Calls a function with rows of so many bytes, side by side.
pub(crate) fn packed<'r>(
    size: usize,
    n: usize,
    row: &dyn Fn(usize) -> &'r [u8],
    mut push: impl FnMut(&[u8]),
) {
    let mut words = [0_u64; 512];
    let bytes = broadloom_mem::bytes_of_mut(&mut words);
    let most = bytes.len() / size;
    for first in (0..n).step_by(most) {
        let count = most.min(n - first);
        for (i, place) in bytes.chunks_exact_mut(size).take(count).enumerate() {
            place.copy_from_slice(row(first + i));
        }
        push(&bytes[..count * size]);
    }
}

/// Rows side by side.
struct Push<'a, F, T>(&'a mut State, &'a [T], PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for Push<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: CombineVectors<T>, T: Vectors> Push<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (state, mut from) = (self.0, self.1);
        let width = state.width;
        if !state.next.is_multiple_of(LANES as u64) {
            let taken = fill_row::<F, T>(state, from, from.len() / width);
            from = &from[taken * width..];
        }
        let m = LANES * width;
        if width == 1 {
            while from.len() >= 256 * LANES && state.next.is_multiple_of(256 * LANES as u64) {
                let (count, nodes) = place::<T>(state, 8);
                fold_256::<S, F, T>(simd, &from[..256 * LANES], nodes, count);
                from = &from[256 * LANES..];
            }
        }
        while from.len() >= m {
            let rows = from.len() / m;
            let mut level = (state.next / LANES as u64).trailing_zeros().min(rows.ilog2());
            level = if width == 1 && level >= 6 { 6 } else { level.min(3) };
            let (count, nodes) = place::<T>(state, level as u8);
            let row = |i: usize| &from[i * m..][..m];
            match level {
                0 => fold::<1, S, F, T>(simd, [row(0)], nodes, (m, count), 0),
                1 => fold::<2, S, F, T>(simd, [0, 1].map(row), nodes, (m, count), 0),
                2 => fold::<4, S, F, T>(simd, [0, 1, 2, 3].map(row), nodes, (m, count), 0),
                3 => fold::<8, S, F, T>(simd, [0, 1, 2, 3, 4, 5, 6, 7].map(row), nodes, (m, count), 0),
                _ => fold_64::<S, F, T>(simd, from, nodes, count),
            }
            from = &from[m << level..];
        }
        if !from.is_empty() {
            fill_row::<F, T>(state, from, from.len() / width);
        }
    }
}

/// Rows that lie apart.
struct PushRows<'a, 'r, F, T>(&'a mut State, usize, &'a dyn Fn(usize) -> &'r [u8], PhantomData<(F, T)>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for PushRows<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: CombineVectors<T>, T: Vectors> PushRows<'_, '_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let PushRows(state, n, row, _) = self;
        let width = state.width;
        let row = |i: usize| {
            let row = elements::<T>(row(i));
            assert_eq!(row.len(), width, "the elements of a row");
            row
        };
        let mut done = 0;
        while done < n {
            let lane = state.next as usize % LANES;
            let rows = (n - done) / LANES;
            if lane != 0 || rows == 0 {
                fill_row::<F, T>(state, row(done), 1);
                done += 1;
                continue;
            }
            let level = (state.next / LANES as u64).trailing_zeros().min(rows.ilog2()).min(3);
            let (count, nodes) = place::<T>(state, level as u8);
            for lane in 0..LANES {
                let (place, row) = ((LANES * width, count), |i: usize| row(done + i * LANES + lane));
                let at = lane * width;
                match level {
                    0 => fold::<1, S, F, T>(simd, [row(0)], nodes, place, at),
                    1 => fold::<2, S, F, T>(simd, [0, 1].map(row), nodes, place, at),
                    2 => fold::<4, S, F, T>(simd, [0, 1, 2, 3].map(row), nodes, place, at),
                    _ => fold::<8, S, F, T>(simd, [0, 1, 2, 3, 4, 5, 6, 7].map(row), nodes, place, at),
                }
            }
            done += LANES << level;
        }
    }
}

/// Makes place for a node of 2^level rows, the next ones of the run: how many nodes are combined with it, and those. The
/// result is to be written to the first of them.
#[inline(always)]
fn place<T: Vectors>(state: &mut State, level: u8) -> (usize, &mut [T]) {
    let row = state.next / LANES as u64;
    let depth = state.levels.len();
    let (mut count, mut up) = (0, level);
    while count < depth && state.levels[depth - 1 - count] == up && row >> up & 1 == 1 {
        (count, up) = (count + 1, up + 1);
    }
    state.next += (LANES as u64) << level;
    state.levels.truncate(depth - count);
    state.add_node(up);
    (count, state.nodes_from::<T>(depth - count, count.max(1)))
}

/// Puts the identity before a run that does not begin with element 0.
fn padded<F: CombineVectors<T>, T: Vectors>(method: &Tree<F, T>, state: &mut State) {
    let later = state.clone();
    state.reset(0);
    state.next = later.start;
    let rows = later.start / LANES as u64;
    for level in (0..u64::BITS).rev().filter(|level| rows >> level & 1 == 1) {
        add::<F, T>(state, level as u8);
    }
    if !later.start.is_multiple_of(LANES as u64) {
        add::<F, T>(state, 0);
    }
    method.append(state, &later);
}

/// Adds a node of identities.
#[inline(always)]
fn add<F: Combine<T>, T: Vectors>(state: &mut State, level: u8) -> &mut [T] {
    state.add_node(level);
    let node = state.node_mut::<T>(state.levels.len() - 1);
    node.fill(F::identity());
    node
}

/// Combines the last node with its siblings before it.
#[inline(always)]
fn carry<F: Combine<T>, T: Vectors>(state: &mut State) {
    while let [.., before, level] = state.levels[..]
        && before == level
        && (state.next / LANES as u64 - 1) >> level & 1 == 1
    {
        let (below, top) = state.last_two::<T>();
        combine::<F, T>(below, top);
        state.drop_node();
        *state.levels.last_mut().expect("the sibling") += 1;
    }
}

/// Writes as many of `n` neighbouring elements as fit into the row that has begun, or else a new one; returns how many.
#[inline(always)]
fn fill_row<F: Combine<T>, T: Vectors>(state: &mut State, from: &[T], n: usize) -> usize {
    let lane = state.next as usize % LANES;
    let taken = n.min(LANES - lane);
    if lane == 0 || state.levels.is_empty() {
        add::<F, T>(state, if lane == 0 { 0 } else { OPEN });
    }
    let width = state.width;
    let node = state.node_mut::<T>(state.levels.len() - 1);
    node[lane * width..][..taken * width].copy_from_slice(&from[..taken * width]);
    state.next += taken as u64;
    if state.next.is_multiple_of(LANES as u64) {
        carry::<F, T>(state);
    }
    taken
}
