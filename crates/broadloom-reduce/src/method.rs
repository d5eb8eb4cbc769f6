//! The trait by which a [`Partial`](crate::Partial) calls the method that reduces its elements.

use std::sync::LazyLock;

use broadloom_ir::Result;
use pulp::Arch;

use crate::state::State;

/// A method of reduction: how elements are reduced to the nodes of a state, and how nodes are merged.
pub(crate) trait Method: Sync {
    fn state(&self, width: usize, start: u64) -> Result<State>;
    fn push(&self, state: &mut State, elements: &[u8]);
    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]);
    /// Adds rows of 16 elements of a single output, each of which is the node of an aligned subtree of 2^level rows.
    fn push_nodes(&self, state: &mut State, level: u8, rows: &[u8]);
    fn append(&self, state: &mut State, later: &State);
    fn finish(&self, state: &mut State, out: &mut [u8]);
    /// Reduces each of one or more contiguous rows of `n` elements to one element, if the method has a fast path for such short
    /// rows. Returns whether it has.
    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) -> bool;
    /// Reduces between one and 16 rows to one row, if the method has a fast path for so few rows. Returns whether it
    /// has.
    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) -> bool;
}

/// The widest vector instruction set that this CPU supports.
pub(crate) fn arch() -> Arch {
    static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);
    *ARCH
}
