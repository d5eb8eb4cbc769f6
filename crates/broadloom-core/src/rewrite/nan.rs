//! Inserts operations that make a computed NaN canonical: positive, quiet, without payload.
//!
//! The bits of a NaN from arithmetic differ between CPUs, executors, and orders of operands, so they are meaningless
//! until [`Op::CanonicalNan`] replaces them. It is inserted where the NaN is computed, and only if the bits can be
//! read. A store of a root, functions of the sign bit and host functions read the bits, also through operations that
//! only move elements. A NaN that was loaded and is only moved keeps every bit. Since this is decided before the rules
//! apply, a rule need not preserve the bits of a computed NaN.

use crate::error::Result;
use crate::graph::{Graph, Leaf, NodeId, NodeKind};
use crate::op::{Law, Op};

/// The facts that rewriting needs about each node, indexed by id.
pub(super) struct Marks {
    /// Whether a root needs the node.
    pub(super) needed: Vec<bool>,
    /// Whether the bits of a NaN in the node's elements can be read.
    read: Vec<bool>,
}

impl Marks {
    /// Computes the facts. Users come after operands, so one pass from the last node to the first is enough.
    pub(super) fn of(graph: &Graph, roots: &[NodeId]) -> Marks {
        let mut needed = vec![false; graph.nodes().len()];
        roots.iter().for_each(|r| needed[r.index()] = true);
        let mut read = needed.clone();
        for id in graph.ids().rev() {
            if !needed[id.index()] {
                continue;
            }
            let kind = &graph.node(id).kind;
            kind.operands().for_each(|a| needed[a.index()] = true);
            let is_read = read[id.index()];
            let mut reads = |a: &NodeId| read[a.index()] = true;
            match kind {
                NodeKind::Apply { op, args, .. } => {
                    if op.has(Law::ReadsSign) {
                        args.last().into_iter().for_each(&mut reads);
                    }
                    if is_read && op.has(Law::Moves) {
                        let moved = op.moved();
                        args.iter().skip(moved.start).take(moved.len()).for_each(reads);
                    }
                }
                NodeKind::View { arg, .. } if is_read => reads(arg),
                NodeKind::Host { args, .. } => args.iter().for_each(reads),
                _ => {}
            }
        }
        Marks { needed, read }
    }

    /// Whether the node itself computes a NaN whose bits can be read.
    pub(super) fn is_computed_and_read(&self, graph: &Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        self.read[id.index()]
            && node.dtype.is_float()
            && match &node.kind {
                NodeKind::Apply { op, .. } => !op.has(Law::Moves),
                NodeKind::Cast { arg, .. } => graph.node(*arg).dtype.is_float(),
                NodeKind::Host { .. } => true,
                // Reductions and scans return the canonical NaN already.
                NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Count { .. }
                | NodeKind::Index { .. } => false,
                NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. } => false,
            }
    }
}

/// A node whose elements are those of `id`, with every NaN made canonical; `id` itself if its NaNs are known to be
/// canonical.
pub(super) fn canonical(graph: &mut Graph, id: NodeId) -> Result<NodeId> {
    let mut from = id;
    while let NodeKind::View { arg, .. } = graph.node(from).kind {
        from = arg;
    }
    let is_canonical = match &graph.node(from).kind {
        NodeKind::Apply { op, .. } => op.has(Law::Canonical),
        NodeKind::Cast { arg, .. } => !graph.node(*arg).dtype.is_float(),
        // A rule may have replaced a function by a constant. A literal whose value each run provides may be any NaN.
        NodeKind::Leaf(Leaf::Const { value, slot: None }) => !value.is_nan(),
        NodeKind::Reduce { .. } | NodeKind::Scan { .. } | NodeKind::Count { .. } | NodeKind::Index { .. } => {
            true
        }
        NodeKind::Leaf(_) | NodeKind::Host { .. } | NodeKind::View { .. } | NodeKind::DynamicView { .. } => {
            false
        }
    };
    if is_canonical { Ok(id) } else { graph.push(NodeKind::apply(Op::CanonicalNan, [id])) }
}
