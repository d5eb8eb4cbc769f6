//! The canonical tree of sums and products of floats.
//!
//! A row is [`LANES`] elements of each output. A node stands for an aligned subtree of 2^level rows, and nodes are carried
//! like the digits of a binary counter. Rows of which elements are absent are padded with the identity, which changes
//! no bits. A row whose first elements belong to an earlier run can't be combined with its sibling before they are
//! here: it stays a node of its own, which is [`OPEN`].

use std::marker::PhantomData;

use broadloom_ir::Result;

use crate::LANES;
use crate::combine::{Accumulator, Combine};
use crate::partial::Method;
use crate::state::{State, elements, elements_mut};

/// The level of a row whose first elements are of an earlier run.
pub(crate) const OPEN: u8 = u8::MAX;

/// log2 of the rows that are combined to a node at once.
const LEAF: u32 = 3;

/// Reductions whose order of combination is seen.
pub(crate) struct Tree<F, T>(PhantomData<fn() -> (F, T)>);

impl<F, T> Tree<F, T> {
    pub const NEW: Tree<F, T> = Tree(PhantomData);
}

impl<F: Combine<T>, T: Accumulator> Method for Tree<F, T> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        State::new::<T>(width, LANES, start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        let mut from = elements::<T>(bytes);
        let width = state.width;
        if !state.next.is_multiple_of(LANES as u64) {
            let taken = fill_row::<F, T>(state, from.len() / width, |i| &from[i * width..][..width]);
            from = &from[taken * width..];
        }
        let m = state.node_len();
        while from.len() >= m {
            let level = (state.next / LANES as u64).trailing_zeros().min((from.len() / m).ilog2()).min(LEAF);
            let (rows, rest) = from.split_at(m << level);
            let node = add::<F, T>(state, level as u8);
            node.copy_from_slice(&rows[..m]);
            fold_rows::<F, T>(rows, m, node);
            state.next += (LANES as u64) << level;
            carry::<F, T>(state);
            from = rest;
        }
        fill_row::<F, T>(state, from.len() / width, |i| &from[i * width..][..width]);
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        let mut done = 0;
        while done < n {
            done += fill_row::<F, T>(state, n - done, |i| elements::<T>(row(done + i)));
        }
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
                add::<F, T>(state, level).copy_from_slice(node);
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
            combine::<F, T>(below, &*top);
            state.drop_node();
        }
        let width = state.width;
        let node = state.node_mut::<T>(0);
        for step in [1, 2, 4, 8] {
            for pair in node.chunks_exact_mut(2 * step * width) {
                let (a, b) = pair.split_at_mut(step * width);
                combine::<F, T>(&mut a[..width], &b[..width]);
            }
        }
        for (out, x) in elements_mut::<T>(out).iter_mut().zip(node) {
            *out = F::result(*x);
        }
    }
}

/// Puts the identity before a run that does not begin with element 0.
fn padded<F: Combine<T>, T: Accumulator>(method: &Tree<F, T>, state: &mut State) {
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

/// a op b, in the place of a.
fn combine<F: Combine<T>, T: Accumulator>(a: &mut [T], b: &[T]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = F::pair(*a, *b);
    }
}

/// Combines rows, a power of two of them, the first of which is in the node already.
fn fold_rows<F: Combine<T>, T: Accumulator>(rows: &[T], m: usize, node: &mut [T]) {
    let row = |i: usize| &rows[i * m..][..m];
    match rows.len() / m {
        1 => {}
        2 => {
            for (j, out) in node.iter_mut().enumerate() {
                *out = F::pair(row(0)[j], row(1)[j]);
            }
        }
        4 => {
            for (j, out) in node.iter_mut().enumerate() {
                *out = F::pair(F::pair(row(0)[j], row(1)[j]), F::pair(row(2)[j], row(3)[j]));
            }
        }
        _ => {
            for (j, out) in node.iter_mut().enumerate() {
                let a = F::pair(F::pair(row(0)[j], row(1)[j]), F::pair(row(2)[j], row(3)[j]));
                let b = F::pair(F::pair(row(4)[j], row(5)[j]), F::pair(row(6)[j], row(7)[j]));
                *out = F::pair(a, b);
            }
        }
    }
}

/// Adds a node of identities.
fn add<F: Combine<T>, T: Accumulator>(state: &mut State, level: u8) -> &mut [T] {
    state.add_node(level);
    let node = state.node_mut::<T>(state.levels.len() - 1);
    node.fill(F::identity());
    node
}

/// Combines the last node with its siblings before it.
fn carry<F: Combine<T>, T: Accumulator>(state: &mut State) {
    while let [.., before, level] = state.levels[..]
        && before == level
        && (state.next / LANES as u64 - 1) >> level & 1 == 1
    {
        let (below, top) = state.last_two::<T>();
        combine::<F, T>(below, &*top);
        state.drop_node();
        *state.levels.last_mut().expect("the sibling") += 1;
    }
}

/// Writes elements into the row that has begun, or into a new one if there are less than a row; returns how many.
fn fill_row<'r, F: Combine<T>, T: Accumulator>(
    state: &mut State,
    n: usize,
    element: impl Fn(usize) -> &'r [T],
) -> usize {
    let lane = (state.next % LANES as u64) as usize;
    let taken = n.min(LANES - lane);
    if taken == 0 {
        return 0;
    }
    if lane == 0 || state.levels.is_empty() {
        add::<F, T>(state, if lane == 0 { 0 } else { OPEN });
    }
    let width = state.width;
    let node = state.node_mut::<T>(state.levels.len() - 1);
    for i in 0..taken {
        node[(lane + i) * width..][..width].copy_from_slice(element(i));
    }
    state.next += taken as u64;
    if state.next.is_multiple_of(LANES as u64) {
        carry::<F, T>(state);
    }
    taken
}
