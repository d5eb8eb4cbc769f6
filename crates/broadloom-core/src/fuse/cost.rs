//! The cost model of fusion. The unit is the time of one vector instruction per element, about 0.1 ns.
//!
//! The constants come from measurements on one AVX-512 machine. They affect speed, never bits.

use crate::fuse::code;
use crate::graph::{Graph, Node, NodeId, NodeKind};
use crate::kernel::{Code, Kernel};
use crate::shape::Shape;
use broadloom_ir::tuning::blocks::{KERNEL, TEMPORARY, TEMPORARY_IN_MEMORY};
use broadloom_ir::tuning::executors::WORD;

/// The maximum number of instructions of one kernel. A larger body is cut where the fewest values are live.
///
/// Values that cross a cut are written to memory and read again, so kernels are as long as executors accept; preparing
/// one takes time linear in its length. A program of 8000 operations with about 60 live values, over 1024² float32
/// elements, takes 0.4 times as long in one kernel as in five when run as machine code of 512 bits, and 0.6 times as
/// long in the interpreter (`long_program`).
pub const MAX_BODY: usize = 1 << 14;

/// The maximum cost of one kernel, in vector instructions per element as counted by `Kernel::cost`; the default of
/// `max_compiled_cost`.
pub const MAX_COST: usize = 1 << 17;

/// The cost of an instruction, as counted against [`MAX_COST`]. Its minimum is chosen so that a body of at most this
/// cost has at most [`MAX_BODY`] instructions.
pub fn of_inst(kernel: &Kernel, code: Code) -> usize {
    (kernel.instructions(code) as usize).clamp(MAX_COST / MAX_BODY, MAX_COST)
}

/// The cost per element of the node alone, without its operands.
pub fn of_node(graph: &Graph, node: &Node) -> u64 {
    if let NodeKind::Loop(of) = &node.kind {
        let of = code::looped(&of.region);
        return of.trips().saturating_mul(of.body.cost());
    }
    if let NodeKind::Words { to, .. } = &node.kind {
        return (10.0 * WORD) as u64 * (to.size() / size_of::<u32>()) as u64;
    }
    code::of(&node.kind, |id| graph.node(id).dtype, |_| 0).map_or(0, |code| code.cost().into())
}

/// The time of computing one element alone, as for an operand that is constant along a row, relative to that of an element in a
/// vector. Such an element waits for each of its instructions. Not measured for dtypes other than float32.
const ALONE: u64 = 8;

/// What is computed once per row is cheap if it costs less than this for each element of the row.
const LEAST_PER_ELEMENT: u64 = 2;

/// The costs of the two ways to provide an operand to a larger loop: computed within the loop, or stored before it.
#[derive(Clone, Copy)]
pub enum Weighed {
    /// A temporary would save little: executors compute the operand once per row, and rows are long for what that costs, or the
    /// loop is no larger than the operand.
    PerRow,
    /// The operand is computed once per row, and costs more there than in a kernel of its own, which computes many rows in each
    /// vector.
    Alone {
        /// The cost of computing it for each row.
        recompute: u64,
        /// The cost of a kernel, of its elements, and of writing and reading a temporary.
        store: u64,
    },
    /// The operand is computed in each iteration of the loop, or once into a temporary.
    Temporary {
        /// The cost of computing its elements more than once.
        recompute: u64,
        /// The cost of a kernel, and of writing and reading a temporary.
        store: u64,
    },
}

impl Weighed {
    /// Whether to use a temporary. It has to save at least twice its cost, since the estimates are rough.
    pub fn materialise(self) -> bool {
        match self {
            Weighed::PerRow => false,
            Weighed::Alone { recompute, store } | Weighed::Temporary { recompute, store } => {
                recompute > store.saturating_mul(2)
            }
        }
    }
}

/// Weighs computing an operand in a larger loop, of the shape `reader`, against storing it before.
///
/// `total` is the cost per element of the operand, including everything that it is computed from. Executors compute an operand
/// once per row if it is constant along the last axis of the loop, and once if it has a single element.
pub fn weigh(graph: &Graph, operand: NodeId, total: u64, reader: &Shape) -> Weighed {
    let shape = &graph.node(operand).shape;
    let (elements, loop_elements) = (shape.elements(), reader.elements());
    if elements <= 1 || loop_elements <= elements {
        return Weighed::PerRow;
    }
    // Loops have no axes of extent 1.
    let row = reader.iter().rev().position(|&extent| extent > 1).map_or((1, 1), |from_end| {
        let axis = shape.rank().checked_sub(1 + from_end);
        (reader[reader.rank() - 1 - from_end], axis.map_or(1, |axis| shape[axis]))
    });
    let (length, 1) = row else { return weigh_repeated(total, elements, loop_elements) };
    let alone = total.saturating_mul(ALONE);
    if alone < LEAST_PER_ELEMENT.saturating_mul(length as u64) {
        return Weighed::PerRow;
    }
    let recompute = alone.saturating_mul((loop_elements / length) as u64);
    let once = total.saturating_add(TEMPORARY).saturating_mul(elements as u64);
    let alone = Weighed::Alone { recompute, store: KERNEL.saturating_add(once) };
    if alone.materialise() { alone } else { Weighed::PerRow }
}

/// Weighs computing an operand of `elements` elements for each of the elements of a larger loop against storing it before.
pub fn weigh_repeated(total: u64, elements: usize, loop_elements: usize) -> Weighed {
    if elements == 0 || loop_elements <= elements {
        return Weighed::PerRow;
    }
    Weighed::Temporary {
        recompute: total.saturating_mul((loop_elements - elements) as u64),
        store: KERNEL + TEMPORARY * elements as u64,
    }
}

/// Weighs recomputing a value in several loops, which costs `recompute`, against a temporary of `elements` elements. If
/// `stays` is set, the loops run in row blocks and the temporary stays in cache. A root is copied once more.
pub fn weigh_shared(recompute: u64, elements: usize, stays: bool, is_root: bool) -> Weighed {
    let element = if stays { TEMPORARY } else { TEMPORARY_IN_MEMORY };
    let elements = (elements as u64).saturating_mul(if is_root { 2 } else { 1 });
    Weighed::Temporary { recompute, store: KERNEL.saturating_add(elements.saturating_mul(element)) }
}
