//! The cost model of fusion, in one place. Units: the time of one vector instruction per element, about 0.1 ns.
//!
//! The constants come from measurements on one AVX-512 machine and decide only speed, never bits.

use crate::fuse::code;
use crate::graph::{Graph, Node, NodeId};
use crate::kernel::Code;
use broadloom_ir::tuning::blocks::{KERNEL, TEMPORARY, TEMPORARY_IN_MEMORY};

/// The maximum number of instructions in a kernel; a longer body is cut where the fewest values are live.
///
/// Values that cross a cut are written to memory and read again, so that kernels are as long as executors take them: preparing one takes
/// time linear in its length. A program of 8000 operations, of which some 60 values are live, over 1024² float32 elements takes 0.4 of
/// the time in one kernel that it takes in five as machine code of 512 bits, and 0.6 in the interpreter (`long_program`).
pub const MAX_BODY: usize = 1 << 14;

/// The maximum number of vector instructions in a kernel, as counted by `Kernel::cost`: the default of `max_compiled_cost`.
pub const MAX_COST: usize = 1 << 17;

/// The cost of an instruction, by which bodies are limited to [`MAX_COST`]. It is at least large enough that such a body has at
/// most [`MAX_BODY`] instructions.
pub fn of_inst(code: Code) -> usize {
    (code.instructions() as usize).clamp(MAX_COST / MAX_BODY, MAX_COST)
}

/// The cost of computing a node from its operands, per element.
pub fn of_node(graph: &Graph, node: &Node) -> u64 {
    code::of(graph, node, |_| 0).map_or(0, |code| code.cost().into())
}

/// The costs of the two ways to compute an operand of a larger loop: in the loop, or before it.
#[derive(Clone, Copy)]
pub enum Weighed {
    /// The operand is computed in the loop: either executors compute it once per row, or the loop is not larger.
    PerRow,
    /// The operand can be computed once per iteration, or once into a temporary.
    Temporary {
        /// The cost of computing its elements more than once.
        recompute: u64,
        /// The cost of a kernel, and of writing and reading a temporary.
        store: u64,
    },
}

impl Weighed {
    /// Whether a temporary is better. It has to save twice its cost, since the estimates are rough.
    pub fn materialise(self) -> bool {
        match self {
            Weighed::PerRow => false,
            Weighed::Temporary { recompute, store } => recompute > store.saturating_mul(2),
        }
    }
}

/// Weighs computing an operand in a larger loop against a temporary.
///
/// `total` is the cost per element of the operand with everything that it is computed from. An operand that is constant along the
/// last axis stays in the loop, since executors compute it once per row.
pub fn weigh(graph: &Graph, operand: NodeId, total: u64, loop_elements: usize) -> Weighed {
    let shape = &graph.node(operand).shape;
    let elements = shape.elements();
    if shape.last().is_none_or(|&last| last == 1) || elements == 0 || loop_elements <= elements {
        return Weighed::PerRow;
    }
    Weighed::Temporary {
        recompute: total.saturating_mul((loop_elements - elements) as u64),
        store: KERNEL + TEMPORARY * elements as u64,
    }
}

/// Weighs recomputing a value in several loops, at a given cost, against a temporary of a given number of elements. `stays` says
/// whether the temporary stays in cache, because the loops run block by block. For a root, a copy is added.
pub fn weigh_shared(recompute: u64, elements: usize, stays: bool, is_root: bool) -> Weighed {
    let element = if stays { TEMPORARY } else { TEMPORARY_IN_MEMORY };
    let elements = (elements as u64).saturating_mul(if is_root { 2 } else { 1 });
    Weighed::Temporary { recompute, store: KERNEL.saturating_add(elements.saturating_mul(element)) }
}
