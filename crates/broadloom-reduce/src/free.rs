//! Reductions whose order of combination is not seen: of integers, extremes, and truth values. One node holds what was
//! combined so far, in as many lanes as vectors need.

use std::marker::PhantomData;

use broadloom_ir::Result;
use broadloom_math::Elem;
use pulp::NullaryFnOnce;

use crate::combine::Combine;
use crate::each;
use crate::partial::{Method, arch};
use crate::state::{State, elements, elements_mut};
use crate::tree::packed;
use crate::vectors::combine;

/// The bytes of a node with lanes: some vectors.
const NODE: usize = 512;

/// The rows that are combined with a node at a time.
const ROWS: usize = 8;

/// Reductions that may run in any order.
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
        arch().dispatch(Push::<F, T>(node::<F, T>(state), from, PhantomData));
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        if state.lanes > 1 {
            return packed(state.width * size_of::<T::Store>(), n, row, |bytes| self.push(state, bytes));
        }
        state.next += n as u64;
        arch().dispatch(PushRows::<F, T>(node::<F, T>(state), n, row, PhantomData));
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
        let (lanes, width) = (state.lanes, state.width);
        arch().dispatch(Finish::<F, T>(
            node::<F, T>(state),
            lanes,
            width,
            elements_mut::<T>(out),
            PhantomData,
        ));
    }

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) {
        arch().dispatch(each::Rows::<F, T>(n, elements::<T>(from), elements_mut::<T>(out), PhantomData));
    }

    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) {
        arch().dispatch(each::FewRows::<F, T>(rows, elements_mut::<T>(out), PhantomData));
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

/// Combines neighbouring rows with a node.
struct Push<'a, F, T: Elem>(&'a mut [T::Store], &'a [T::Store], PhantomData<F>);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for Push<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Push(node, from, _) = self;
        let m = node.len();
        let mut blocks = from.chunks_exact(ROWS * m);
        for block in &mut blocks {
            let mut rows: [&[T::Store]; ROWS] = [&[]; ROWS];
            for i in 0..ROWS {
                rows[i] = &block[i * m..][..m];
            }
            eight_rows::<F, T>(node, rows);
        }
        for row in blocks.remainder().chunks(m) {
            combine::<F, T>(&mut node[..row.len()], row);
        }
    }
}

/// Combines rows that lie apart with a node of one lane.
struct PushRows<'a, 'r, F, T: Elem>(&'a mut [T::Store], usize, &'a dyn Fn(usize) -> &'r [u8], PhantomData<F>);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for PushRows<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let PushRows(node, n, row, _) = self;
        let m = node.len();
        for first in (0..n / ROWS * ROWS).step_by(ROWS) {
            let mut rows: [&[T::Store]; ROWS] = [&[]; ROWS];
            for i in 0..ROWS {
                rows[i] = elements::<T>(row(first + i));
                assert_eq!(rows[i].len(), m, "the elements of a row");
            }
            eight_rows::<F, T>(node, rows);
        }
        for i in n / ROWS * ROWS..n {
            let row = elements::<T>(row(i));
            assert_eq!(row.len(), m, "the elements of a row");
            combine::<F, T>(node, row);
        }
    }
}

/// Combines rows of the node's length with it: if there is a [`quick`](Combine::quick) way, by that, and again where it
/// left something open.
#[inline(always)]
fn eight_rows<F: Combine<T>, T: Elem>(node: &mut [T::Store], rows: [&[T::Store]; ROWS]) {
    let m = node.len();
    let mut sized: [&[T::Store]; ROWS] = [&[]; ROWS];
    for i in 0..ROWS {
        sized[i] = &rows[i][..m];
    }
    if F::QUICK {
        let mut open = F::Flag::default();
        for j in 0..m {
            let mut x = [F::identity(); ROWS];
            for i in 0..ROWS {
                x[i] = sized[i][j];
                open = F::or(open, F::unordered(x[i]));
            }
            for step in [1, 2, 4] {
                for i in (0..ROWS).step_by(2 * step) {
                    x[i] = F::quick(x[i], x[i + step]);
                }
            }
            node[j] = F::quick(x[0], node[j]);
        }
        for j in 0..m {
            open = F::or(open, F::ambiguous(node[j]));
        }
        if open == F::Flag::default() {
            return;
        }
    }
    for j in 0..m {
        let mut x = [F::identity(); ROWS];
        for i in 0..ROWS {
            x[i] = sized[i][j];
        }
        for step in [1, 2, 4] {
            for i in (0..ROWS).step_by(2 * step) {
                x[i] = F::pair(x[i], x[i + step]);
            }
        }
        node[j] = F::pair(node[j], x[0]);
    }
}

/// Combines the lanes of a node.
struct Finish<'a, F, T: Elem>(&'a mut [T::Store], usize, usize, &'a mut [T::Store], PhantomData<F>);

impl<F: Combine<T>, T: Elem> NullaryFnOnce for Finish<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Finish(node, mut lanes, width, out, _) = self;
        while lanes > 1 {
            lanes /= 2;
            let (a, b) = node.split_at_mut(lanes * width);
            combine::<F, T>(a, &b[..lanes * width]);
        }
        let node = &node[..out.len()];
        for j in 0..out.len() {
            out[j] = F::result(node[j]);
        }
    }
}
