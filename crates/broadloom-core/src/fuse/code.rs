//! Maps a node to the instruction that computes it: the one module where kinds of nodes meet the kernel IR.

use broadloom_ir::HostDeclaration;

use crate::graph::{Graph, Node, NodeKind};
use crate::kernel::{Callee, Code};

/// The code that computes the node's elements from those of its operands; `None` for a leaf or a view, for which
/// nothing is computed. `place` gives the index of a host function in the kernel.
pub fn of(graph: &Graph, node: &Node, place: impl FnOnce(&HostDeclaration) -> u32) -> Option<Code> {
    match &node.kind {
        NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. } => None,
        // These are stages of their own; what they read is computed by a kernel.
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
