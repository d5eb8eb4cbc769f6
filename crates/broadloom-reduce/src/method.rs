//! What a partial result asks of the way in which elements are combined.

use std::sync::LazyLock;

use broadloom_ir::Result;
use pulp::Arch;

use crate::state::State;

/// How the nodes of a state are made and combined.
pub(crate) trait Method: Sync {
    fn state(&self, width: usize, start: u64) -> Result<State>;
    fn push(&self, state: &mut State, elements: &[u8]);
    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]);
    /// Adds rows of 16 elements, of one output, that stand for aligned subtrees of 2^level rows.
    fn push_nodes(&self, state: &mut State, level: u8, rows: &[u8]);
    fn append(&self, state: &mut State, later: &State);
    fn finish(&self, state: &mut State, out: &mut [u8]);
    /// Reduces each of some rows of `n` neighbouring elements, not none, if there is a shorter way for so few.
    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) -> bool;
    /// Reduces rows, up to 16 and not none, to one, if there is a shorter way for so few.
    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) -> bool;
}

/// The instruction set of this machine.
pub(crate) fn arch() -> Arch {
    static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);
    *ARCH
}
