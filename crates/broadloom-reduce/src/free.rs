//! Reductions whose order of combination is not seen: of integers, extremes, and truth values. One node holds what was
//! combined so far, in as many lanes as vectors need.

use std::marker::PhantomData;

use broadloom_ir::Result;
use broadloom_math::Elem;

use crate::LANES;
use crate::combine::Combine;
use crate::partial::Method;
use crate::state::{State, elements, elements_mut};

/// Reductions that may run in any order.
pub(crate) struct Free<F, T>(PhantomData<fn() -> (F, T)>);

impl<F, T> Free<F, T> {
    pub const NEW: Free<F, T> = Free(PhantomData);
}

impl<F: Combine<T>, T: Elem> Method for Free<F, T> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        State::new::<T>(width, LANES, start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        let from = elements::<T>(bytes);
        state.next += (from.len() / state.width) as u64;
        let node = node::<F, T>(state);
        for row in from.chunks(node.len()) {
            combine::<F, T>(node, row);
        }
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        let width = state.width;
        state.next += n as u64;
        let node = node::<F, T>(state);
        for i in 0..n {
            let row = elements::<T>(row(i));
            assert_eq!(row.len(), width, "the elements of a row");
            combine::<F, T>(&mut node[..width], row);
        }
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

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) {
        for (row, out) in elements::<T>(from).chunks_exact(n).zip(elements_mut::<T>(out)) {
            *out = F::result(row.iter().fold(F::identity(), |a, x| F::pair(a, *x)));
        }
    }

    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) {
        let out = elements_mut::<T>(out);
        out.fill(F::identity());
        for row in rows {
            combine::<F, T>(out, elements::<T>(row));
        }
        for out in out {
            *out = F::result(*out);
        }
    }
}

/// The node, made of identities if there is none.
fn node<F: Combine<T>, T: Elem>(state: &mut State) -> &mut [T::Store] {
    if state.levels.is_empty() {
        state.add_node(0);
        state.node_mut::<T>(0).fill(F::identity());
    }
    state.node_mut::<T>(0)
}

/// a op b, in the place of a.
fn combine<F: Combine<T>, T: Elem>(a: &mut [T::Store], b: &[T::Store]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = F::pair(*a, *b);
    }
}
