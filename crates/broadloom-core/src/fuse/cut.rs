//! Chooses the nodes that are cut off into kernels of their own, before any kernel is built.
//!
//! A node is materialised for one of five reasons: no strides can express a reshape of it, it is broadcast and cheaper
//! to compute once, it may fail in elements that are not read, it is read through many different views, or several
//! loops would compute it ([`shared`]). Each choice is logged as a [`Decision`].

use std::sync::Arc;

use broadloom_ir::HostDeclaration;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::fuse::chain::{ChainId, Chains, STRAIGHT};
use crate::fuse::cost;
use crate::fuse::decision::{Cuts, Decision, Log, Why};
use crate::fuse::shared;
use crate::graph::{Graph, Leaf, NodeId, NodeKind};
use crate::layout::{Layout, View};
use crate::node::{RecurrenceNode, StepOrder};
use crate::shape::Shape;

/// Facts about the leaves that a node is computed from.
#[derive(Clone, Default)]
struct Leaves {
    /// Whether each leaf is contiguous with the node's own shape, or a single value.
    flat: bool,
    /// The layout, if the node is an input or a view of one.
    layout: Option<Arc<Layout>>,
    /// The cost per element of the node, including everything that it is computed from.
    total: u64,
}

/// The maximum number of chains of views for which a node is computed; a node that is read through more chains is
/// materialised, so that the length of bodies stays proportional to the graph's.
const MAX_CHAINS: usize = 16;

/// The maximum number of views in a chain; the node below a longer chain is materialised.
const MAX_VIEWS: u32 = 64;

/// Finds the nodes to cut, in time linear in the graph, and the reductions whose loops also store roots.
pub fn find(graph: &Graph, roots: &[NodeId], log: &mut Log) -> (Cuts, FxHashSet<NodeId>) {
    let mut cuts = Cuts::default();
    let mut leaves: Vec<Leaves> = Vec::with_capacity(graph.nodes().len());
    let mut all = 0u64;
    let mut has_chains = false;
    for id in graph.ids() {
        has_chains |= reads_through_views(graph, id);
        let mut found = look(graph, id, &leaves, &mut cuts, log);
        // A node that several operands share is counted once for each of them, but the total is at most the cost of all
        // nodes so far.
        all = all.saturating_add(cost::of_node(graph, graph.node(id)));
        found.total = found.total.min(all);
        leaves.push(found);
    }
    // PERF: if no node reads through views, every node has the empty chain only.
    if has_chains {
        many_chains(graph, roots, &leaves, &mut cuts, log);
    }
    let joined = shared::find(graph, roots, &mut cuts, log);
    (cuts, joined)
}

/// Whether a node is a view, or has an operand of another shape than its own.
fn reads_through_views(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let differs = |arg: &NodeId| {
        let shape = &graph.node(*arg).shape;
        shape.rank() > 0 && *shape != node.shape
    };
    matches!(node.kind, NodeKind::View { .. }) || node.kind.aligned().any(differs)
}

/// The chains through which a node is read, and the number of its elements that are read through each of them.
type ReadChains = SmallVec<[(ChainId, usize); 4]>;

/// Adds a chain, unless it is known or there are too many.
fn add_chain(to: &mut ReadChains, chain: ChainId, elements: usize) {
    if to.len() <= MAX_CHAINS && to.iter().all(|(known, _)| *known != chain) {
        to.push((chain, elements));
    }
}

/// Whether computing a node for each of these chains costs more than a temporary; `total` is its cost per element.
fn costs_more(graph: &Graph, id: NodeId, own: &ReadChains, total: u64, cuts: &Cuts) -> bool {
    let (all, most) = own.iter().fold((0, 0), |(all, most), &(_, read)| (all + read, read.max(most)));
    let weigh = |total: u64| {
        let recompute = total.saturating_mul((all - most) as u64);
        cost::weigh_shared(recompute, graph.node(id).shape.elements(), false, false).materialise()
    };
    own.len() > 1 && weigh(total) && left(graph, id, cuts).is_none_or(|left| weigh(left.min(total)))
}

/// Cuts nodes that would be computed for so many chains of views that this would cost more than a temporary, or that are read
/// through long chains. Readers come after the nodes that they read, so one pass from the last node to the first has found all
/// chains of a node when it reaches the node.
fn many_chains(graph: &Graph, roots: &[NodeId], leaves: &[Leaves], cuts: &mut Cuts, log: &mut Log) {
    let mut chains = Chains::default();
    let mut of: Vec<ReadChains> = vec![SmallVec::new(); graph.nodes().len()];
    roots.iter().for_each(|r| of[r.index()].push((STRAIGHT, graph.node(*r).shape.elements())));
    for id in graph.ids().rev() {
        let node = graph.node(id);
        if matches!(node.kind, NodeKind::Leaf(_)) {
            continue;
        }
        let mut own = std::mem::take(&mut of[id.index()]);
        if own.is_empty() {
            continue;
        }
        let straight = (STRAIGHT, node.shape.elements());
        let long = own.iter().any(|&(chain, _)| chains.len(chain) > MAX_VIEWS);
        let is_dear = node.kind.is_computed() && costs_more(graph, id, &own, leaves[id.index()].total, cuts);
        if (own.len() > MAX_CHAINS || long || is_dear) && cuts.insert(id) {
            let chains = own.len();
            let why = if long { Why::LongChain } else { Why::ManyChains { chains } };
            log.note(|| Decision::of_node(graph, id, why));
        }
        if cuts.contains(&id) {
            own = SmallVec::from_elem(straight, 1);
        }
        let combines = matches!(
            node.kind,
            NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Concat { .. }
                | NodeKind::Words { .. }
                | NodeKind::Routine(_)
        );
        let steps = matches!(node.kind, NodeKind::Recurrence(_));
        if matches!(node.kind, NodeKind::Words { .. }) {
            // The key is read as it is in memory, whatever views the words are read through.
            own = SmallVec::from_elem(straight, 1);
        }
        for table in node.kind.tables() {
            add_chain(&mut of[table.index()], STRAIGHT, graph.node(*table).shape.elements());
        }
        for &arg in node.kind.aligned() {
            let shape = &graph.node(arg).shape;
            // No view changes the element of a 0-d operand.
            let view = match &node.kind {
                _ if shape.rank() == 0 => None,
                NodeKind::View { view, .. } => Some((**view).clone()),
                _ if combines || steps || *shape == node.shape => None,
                _ => Some(View::BroadcastTo(node.shape.clone())),
            };
            for &(chain, elements) in &own {
                let chain = match &view {
                    _ if shape.rank() == 0 => STRAIGHT,
                    Some(view) => chains.push(view.clone(), chain),
                    None => chain,
                };
                add_chain(&mut of[arg.index()], chain, elements.min(shape.elements()));
            }
        }
    }
}

fn look(graph: &Graph, id: NodeId, leaves: &[Leaves], cuts: &mut Cuts, log: &mut Log) -> Leaves {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Leaf(Leaf::Input { layout, .. } | Leaf::Index { layout }) => {
            Leaves { flat: layout.is_contiguous(), layout: Some(layout.clone()), total: 0 }
        }
        NodeKind::Leaf(Leaf::Const { .. }) => Leaves { flat: true, ..Leaves::default() },
        NodeKind::Words { key, .. } => {
            cut_unless_flat(graph, *key, cuts);
            let layout = Layout::contiguous(node.shape.clone());
            Leaves { flat: true, layout: Some(Arc::new(layout)), total: cost::of_node(graph, node) }
        }
        NodeKind::View { arg, view } => view_leaves(graph, (id, *arg), view, leaves, cuts, log),
        NodeKind::Reduce { .. }
        | NodeKind::Scan { .. }
        | NodeKind::Concat { .. }
        | NodeKind::Count { .. }
        | NodeKind::Index { .. }
        | NodeKind::DynamicView { .. }
        | NodeKind::PadLike { .. } => {
            cuts.insert(id);
            if let NodeKind::Scan { before: Some(before), .. } = &node.kind {
                cut_unless_flat(graph, before.totals, cuts);
            }
            Leaves { flat: true, layout: None, total: 0 }
        }
        NodeKind::Routine(of) => {
            cuts.insert(id);
            of.args.iter().for_each(|&table| cut_table(graph, table, cuts));
            Leaves { flat: true, layout: None, total: 0 }
        }
        NodeKind::Recurrence(of) => {
            cuts.insert(id);
            node.kind.tables().for_each(|&table| cut_table(graph, table, cuts));
            cut_operands(graph, of, leaves, cuts);
            Leaves { flat: true, layout: None, total: 0 }
        }
        NodeKind::Apply { .. }
        | NodeKind::Host { .. }
        | NodeKind::Cast { .. }
        | NodeKind::Loop(_)
        | NodeKind::Gather { .. } => {
            node.kind.tables().for_each(|&table| cut_table(graph, table, cuts));
            let mut flat = true;
            let mut total = cost::of_node(graph, node);
            for &arg in node.kind.aligned() {
                let (shape, below) = (&graph.node(arg).shape, &leaves[arg.index()]);
                if loses_elements(graph, arg, &node.shape) {
                    cut_for_faults(graph, arg, cuts, log);
                }
                flat &= below.flat && (*shape == node.shape || shape.rank() == 0);
                let weighed = (below.total > 0 && *shape != node.shape)
                    .then(|| weigh(graph, arg, below.total, &node.shape, cuts));
                if weighed.is_some_and(|costs| costs.materialise()) {
                    let stored = reshaped(graph, arg);
                    if cuts.insert(stored) {
                        log.note(|| of_broadcast(graph, stored, id, weighed));
                    }
                } else if !cuts.contains(&arg) {
                    if weighed.is_some() {
                        log.note(|| of_broadcast(graph, arg, id, weighed));
                    }
                    total = total.saturating_add(below.total);
                }
            }
            Leaves { flat, layout: None, total }
        }
    }
}

/// Weighs computing an operand in a loop against a temporary. What the operand is computed from may have been cut since its total
/// cost was added, so that a temporary counts for what is left.
fn weigh(graph: &Graph, operand: NodeId, total: u64, reader: &Shape, cuts: &Cuts) -> cost::Weighed {
    match cost::weigh(graph, operand, total, reader) {
        weighed if weighed.materialise() => match left(graph, operand, cuts) {
            Some(left) => cost::weigh(graph, operand, left.min(total), reader),
            None => weighed,
        },
        weighed => weighed,
    }
}

/// The maximum number of nodes that [`left`] visits.
const MOST_VISITED: usize = 64;

/// The cost per element of a node and what it is computed from, down to cut nodes; `None` for too many nodes.
fn left(graph: &Graph, id: NodeId, cuts: &Cuts) -> Option<u64> {
    let mut pending: SmallVec<[NodeId; 8]> = SmallVec::from_elem(id, 1);
    let mut seen: SmallVec<[NodeId; 16]> = SmallVec::new();
    let mut sum = 0u64;
    while let Some(id) = pending.pop() {
        if cuts.contains(&id) || seen.contains(&id) {
            continue;
        }
        if seen.len() == MOST_VISITED {
            return None;
        }
        seen.push(id);
        let node = graph.node(id);
        sum = sum.saturating_add(cost::of_node(graph, node));
        pending.extend(node.kind.operands().copied());
    }
    Some(sum)
}

/// The node below a change of shape, whose memory also serves the reshaped node.
fn reshaped(graph: &Graph, id: NodeId) -> NodeId {
    match &graph.node(id).kind {
        NodeKind::View { arg, view } if matches!(**view, View::Reshape(_)) => *arg,
        _ => id,
    }
}

/// Cuts a node that is read as contiguous memory, in the order of its elements, unless it is an input that lies there so.
fn cut_unless_flat(graph: &Graph, id: NodeId, cuts: &mut Cuts) {
    let is_flat = |layout: &Layout| layout.is_contiguous() && layout.offset == 0;
    if !matches!(&graph.node(id).kind, NodeKind::Leaf(Leaf::Input { layout, .. }) if is_flat(layout)) {
        cuts.insert(id);
    }
}

/// A step of a recurrence over fewer elements than this, along the axes other than its own, computes no operand: that would
/// take an instruction on vectors for a few elements of each.
const LEAST_LANES: usize = 32;

/// Cuts the operands of a recurrence that its step does not compute: the initial states, which are read from memory; captured
/// values, which do not depend on the step; and, if a step has few elements or combines results of other steps, computed inputs.
fn cut_operands(
    graph: &Graph,
    of: &RecurrenceNode<NodeId, HostDeclaration>,
    leaves: &[Leaves],
    cuts: &mut Cuts,
) {
    for &state in &of.args[..of.states()] {
        if !matches!(graph.node(state).kind, NodeKind::Leaf(Leaf::Input { .. })) {
            cuts.insert(state);
        }
    }
    // The operands were broadcast when the node was added.
    let Ok(shapes) = graph.recurrence(of) else { return };
    let (space, others) = (&shapes.space.0, &shapes.others.0);
    let is_table = |i: usize| of.step.is_table(i);
    for (i, &arg) in of.args.iter().enumerate().skip(of.states()).filter(|(i, _)| !is_table(*i)) {
        let node = graph.node(arg);
        if of.order == StepOrder::Canonical && i < of.states() + of.inputs as usize {
            if !matches!(node.kind, NodeKind::Leaf(Leaf::Input { .. } | Leaf::Index { .. })) {
                cuts.insert(arg);
            }
            continue;
        }
        let is_computed = leaves[arg.index()].total > 0;
        let is_repeated = node.shape.elements() < space.elements();
        // A reduction of one element performs no step, so that its step must not compute what may fail.
        let is_apart = of.order == StepOrder::Canonical || is_repeated || others.elements() < LEAST_LANES;
        if is_computed && is_apart || node.faults && space.elements() == 0 {
            cuts.insert(arg);
        }
    }
}

/// Cuts a table that is not contiguous memory already.
fn cut_table(graph: &Graph, table: NodeId, cuts: &mut Cuts) {
    let is_memory = match &graph.node(table).kind {
        NodeKind::Leaf(Leaf::Input { layout, .. }) => layout.is_contiguous(),
        _ => false,
    };
    if !is_memory {
        cuts.insert(table);
    }
}

/// The decision about an operand that a larger loop reads, for the log.
fn of_broadcast(graph: &Graph, arg: NodeId, reader: NodeId, weighed: Option<cost::Weighed>) -> Decision {
    let elements = graph.node(reader).shape.elements();
    let why = match weighed {
        Some(costs @ cost::Weighed::Temporary { recompute, store }) if costs.materialise() => {
            Why::Repeated { reader, elements, recompute, store }
        }
        Some(cost::Weighed::Temporary { recompute, store }) => {
            Why::Recomputed { reader, elements, recompute, store }
        }
        Some(cost::Weighed::Alone { recompute, store }) => Why::Alone { reader, recompute, store },
        _ => Why::Hoisted { reader },
    };
    Decision::of_node(graph, arg, why)
}

/// Whether the operand may fail, but its only reader is a loop without elements, which would never compute it.
fn loses_elements(graph: &Graph, arg: NodeId, reader: &Shape) -> bool {
    let node = graph.node(arg);
    node.faults && reader.elements() == 0 && node.shape.elements() > 0
}

/// Cuts a node that may divide by zero, so that all of its elements are computed: a division by zero in any of them
/// fails the evaluation, whether the element is used or not.
fn cut_for_faults(graph: &Graph, arg: NodeId, cuts: &mut Cuts, log: &mut Log) {
    if cuts.insert(arg) {
        log.note(|| Decision::of_node(graph, arg, Why::Faults));
    }
}

fn view_leaves(
    graph: &Graph,
    (id, arg): (NodeId, NodeId),
    view: &View,
    leaves: &[Leaves],
    cuts: &mut Cuts,
    log: &mut Log,
) -> Leaves {
    let below = &leaves[arg.index()];
    let shape = &graph.node(arg).shape;
    if graph.node(arg).faults
        && (matches!(view, View::Slice(_)) || loses_elements(graph, arg, &view.shape(shape)))
    {
        cut_for_faults(graph, arg, cuts, log);
    }
    if matches!(view, View::Windows { .. }) && below.total > 0 {
        let weighed = cost::weigh_repeated(below.total, shape.elements(), view.shape(shape).elements());
        if !weighed.materialise() || cuts.insert(arg) {
            log.note(|| of_broadcast(graph, arg, id, Some(weighed)));
        }
    }
    let layout = below.layout.as_ref().and_then(|l| l.view(view)).map(Arc::new);
    let expressible = layout.is_some() || below.layout.is_none() && (below.flat || !view.merges_axes(shape));
    if !expressible {
        if cuts.insert(arg) {
            log.note(|| Decision::of_node(graph, arg, Why::NoStrides { view: view.clone() }));
        }
        return Leaves { flat: true, layout: None, total: 0 };
    }
    let flat = match view {
        View::Reshape(_) => below.flat || layout.as_ref().is_some_and(|layout| layout.is_contiguous()),
        View::BroadcastTo(_) => shape.rank() == 0 && below.flat,
        View::Permute(_) | View::Slice(_) | View::Windows { .. } => {
            layout.as_ref().is_some_and(|layout| layout.is_contiguous())
        }
    };
    let total = if cuts.contains(&arg) { 0 } else { below.total };
    Leaves { flat, layout, total }
}

#[cfg(test)]
mod tests {
    use broadloom_ir::{DType, Op};

    use super::*;
    use crate::Result;
    use crate::fuse;
    use crate::layout::Slice;

    /// Whether a value, to which an op is applied four times, is stored if a sum reads it through this many slices of so
    /// many elements.
    fn stores(op: Op, slices: usize, len: usize) -> Result<bool> {
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(Shape::new(&[100_000])?))?;
        let mut value = x;
        for _ in 0..4 {
            value = g.push(NodeKind::apply(op, [value]))?;
        }
        // One slice has nearly all elements.
        let mut slice = |start: usize, len: usize| -> Result<NodeId> {
            let slice = Slice { start, step: 1, len };
            g.view(value, View::Slice([slice].into_iter().collect()))
        };
        let whole = slice(0, 99_000)?;
        let parts: Vec<NodeId> = (1..slices).map(|i| slice(i, len)).collect::<Result<_>>()?;
        let mut roots = vec![whole];
        if len == 99_000 {
            for part in parts {
                roots[0] = g.push(NodeKind::apply(Op::Add, [roots[0], part]))?;
            }
        } else {
            roots.extend(parts);
        }
        Ok(fuse::explain(&g, &roots)?.temps.len() == 1)
    }

    #[test]
    fn chains_of_views_are_weighed_against_a_temporary() -> Result<()> {
        assert!(!stores(Op::Negative, 9, 99_000)?);
        assert!(stores(Op::Sin, 2, 99_000)?);
        // Few elements are computed again.
        assert!(!stores(Op::Sin, 9, 10)?);
        // Bodies would grow without a limit.
        assert!(stores(Op::Negative, MAX_CHAINS + 1, 10)?);
        Ok(())
    }
}
