//! Inserts operations that make a computed NaN canonical: positive, quiet, without payload.
//!
//! The bits of a NaN from arithmetic differ between CPUs, executors, and orders of operands, so they are meaningless
//! until [`Op::CanonicalNan`] replaces them. It is inserted where the NaN is computed, and only if the bits can be
//! read. A store of a root, functions of the sign bit and host functions read the bits, also through operations that
//! only move elements. A NaN that was loaded and is only moved keeps every bit. Since this is decided before the rules
//! apply, a rule need not preserve the bits of a computed NaN.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::graph::{Graph, Leaf, NodeId, NodeKind, Semantics};
use crate::node::{Region, StepOrder};
use crate::op::{Law, Op};
use crate::region;

/// The facts that rewriting needs about each node, indexed by id.
#[derive(Default)]
pub(super) struct Marks {
    /// Whether a root needs the node.
    pub(super) needed: Vec<bool>,
    /// Whether the bits of a NaN in the node's elements can be read.
    read: Vec<bool>,
    /// For each loop, whether the bits of a NaN in each value that it carries can be read after it.
    items: FxHashMap<(Arc<Region>, Vec<NodeId>), Vec<bool>>,
}

impl Marks {
    /// Computes the facts, given the roots, each with whether the bits of its NaNs can be read. Users come after operands,
    /// so one pass from the last node to the first is enough.
    pub(super) fn of(graph: &Graph, roots: &[(NodeId, bool)]) -> Marks {
        Marks::find(graph, roots, false)
    }

    /// Computes the facts of a graph, which may be that of a region. A loop in a region is assumed to read the bits of all of
    /// its operands, since the time to look into each loop is exponential in their nesting.
    fn find(graph: &Graph, roots: &[(NodeId, bool)], is_region: bool) -> Marks {
        let mut needed = vec![false; graph.nodes().len()];
        let mut read = needed.clone();
        for (root, is_read) in roots {
            needed[root.index()] = true;
            read[root.index()] |= is_read;
        }
        let mut items: FxHashMap<(Arc<Region>, Vec<NodeId>), Vec<bool>> = FxHashMap::default();
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
                NodeKind::Concat { args, .. } if is_read => args.iter().for_each(reads),
                // Tables are stored, and their elements are moved; sorts read their bits.
                NodeKind::Gather { .. } | NodeKind::Routine(_) => kind.tables().for_each(reads),
                NodeKind::Host { args, .. } => args.iter().for_each(reads),
                NodeKind::Loop(_) | NodeKind::Recurrence(_) => {
                    let (region, args, item) = match kind {
                        NodeKind::Loop(of) => (&of.region, &of.args, of.item),
                        NodeKind::Recurrence(of) => (&of.step, &of.args, of.item),
                        _ => continue,
                    };
                    let known = items.entry((region.clone(), args.clone()));
                    let is_new = matches!(known, Entry::Vacant(_));
                    let values = region.carried() + region.outputs.len();
                    let known = known.or_insert_with(|| vec![false; values]);
                    let has_changed = is_new || is_read && !known[item as usize];
                    known[item as usize] |= is_read;
                    if let NodeKind::Recurrence(of) = kind
                        && of.order == StepOrder::Canonical
                    {
                        // A result of steps is also an element of other steps, and a single element is the result.
                        known.fill(true);
                        args.iter().for_each(reads);
                    } else if is_region {
                        args.iter().for_each(reads);
                    } else if has_changed {
                        // The operands come before all values of the loop, the last of which finds all that is read.
                        let params = params_read(region, graph.semantics(), known);
                        let read = args.iter().zip(params).filter(|(_, is_read)| *is_read);
                        read.for_each(|(arg, _)| reads(arg));
                    }
                }
                _ => {}
            }
        }
        Marks { needed, read, items }
    }

    /// Whether the bits of a NaN in the node's elements can be read.
    pub(super) fn is_read(&self, id: NodeId) -> bool {
        self.read[id.index()]
    }

    /// Whether the bits of a NaN in each value that a loop carries can be read after it.
    pub(super) fn items(&self, of: &(Arc<Region>, Vec<NodeId>)) -> &[bool] {
        self.items.get(of).map_or(&[], Vec::as_slice)
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
                | NodeKind::Index { .. }
                | NodeKind::Gather { .. }
                | NodeKind::Concat { .. }
                | NodeKind::PadLike { .. }
                | NodeKind::Routine(_)
                | NodeKind::Words { .. } => false,
                // A region makes the values that it computes canonical; the initial state is moved.
                NodeKind::Loop(_) | NodeKind::Recurrence(_) => false,
                NodeKind::Leaf(_) | NodeKind::View { .. } | NodeKind::DynamicView { .. } => false,
            }
    }
}

/// The values of a loop whose NaN bits can be read.
pub(super) struct Reads {
    /// The facts about the nodes of the region's graph.
    pub marks: Marks,
    /// For each parameter, whether the bits of its argument can be read.
    pub params: Vec<bool>,
}

/// Finds for which parameters of a region the bits of the argument can be read, if `items` of its carried values are read after
/// the loop.
fn params_read(region: &Region, semantics: Semantics, items: &[bool]) -> Vec<bool> {
    match region::graph(region, semantics, |_| None) {
        Ok((graph, roots)) => reads(region, &graph, &roots, items).params,
        // Only a region of too many nodes has no graph, and is not rewritten either.
        Err(_) => vec![true; region.params.len()],
    }
}

/// Finds what is read of the values of a region's graph, of whose carried values and outputs `items` are read after it. A carried
/// NaN can be read in a later iteration, so this repeats until nothing changes.
pub(super) fn reads(region: &Region, graph: &Graph, roots: &[NodeId], items: &[bool]) -> Reads {
    let (next, outputs) = items.split_at(region.carried().min(items.len()));
    let mut next = next.to_vec();
    loop {
        let condition = region.condition.map(|_| false);
        let read = condition.into_iter().chain(next.iter().chain(outputs).copied());
        let read: Vec<(NodeId, bool)> = roots.iter().copied().zip(read).collect();
        let marks = Marks::find(graph, &read, true);
        let mut params = next.clone();
        for id in graph.ids().filter(|&id| marks.is_read(id)) {
            if let NodeKind::Leaf(Leaf::Input { slot, .. }) = graph.node(id).kind {
                params.resize(params.len().max(slot as usize + 1), false);
                params[slot as usize] = true;
            }
        }
        if params[..next.len()] == next[..] {
            return Reads { marks, params };
        }
        let carried = next.len();
        next.copy_from_slice(&params[..carried]);
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
        NodeKind::Reduce { .. }
        | NodeKind::Scan { .. }
        | NodeKind::Count { .. }
        | NodeKind::Index { .. }
        | NodeKind::Words { .. } => true,
        NodeKind::Leaf(_)
        | NodeKind::Host { .. }
        | NodeKind::Gather { .. }
        | NodeKind::Concat { .. }
        | NodeKind::PadLike { .. }
        | NodeKind::Routine(_)
        | NodeKind::Loop(_)
        | NodeKind::Recurrence(_)
        | NodeKind::View { .. }
        | NodeKind::DynamicView { .. } => false,
    };
    if is_canonical { Ok(id) } else { graph.push(NodeKind::apply(Op::CanonicalNan, [id])) }
}
