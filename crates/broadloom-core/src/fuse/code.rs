//! Maps a node to the instruction that computes it. No other module maps kinds of nodes to the kernel IR.

use broadloom_ir::HostDeclaration;

use crate::graph::{Graph, Node, NodeKind};
use crate::kernel::{Callee, Code};

/// The code that computes the node's elements from those of its operands; `None` for a leaf or a view, for which
/// nothing is computed. `place` returns the index of a host function in the kernel.
pub fn of(graph: &Graph, node: &Node, place: impl FnOnce(&HostDeclaration) -> u32) -> Option<Code> {
    match &node.kind {
        NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. } => None,
        // These nodes are stages of their own; a kernel computes only their operands.
        NodeKind::Reduce { .. } | NodeKind::Scan { .. } | NodeKind::Count { .. } | NodeKind::Index { .. } => {
            None
        }
        NodeKind::Apply { op, accuracy, args } => {
            let dtype = args.last().map_or(node.dtype, |&arg| graph.node(arg).dtype);
            Some(Code::Apply { op: *op, accuracy: *accuracy, dtype })
        }
        NodeKind::Host { function, .. } => {
            Some(Code::Host(Callee { function: place(function), signature: function.signature() }))
        }
        NodeKind::Cast { arg, to } => Some(Code::Cast(graph.node(*arg).dtype, *to)),
    }
}
