//! Chooses the values that are stored once in a temporary instead of being computed in each of several loops.
//!
//! The operand of a reduction is computed in the reduction's loop, and again in the loop of any other node that reads
//! it: the exponentials of a softmax are summed, and then divided by their sum. A temporary is better if recomputing
//! costs more than storing. The cost of storing depends on whether the loops run in row blocks, whose temporaries stay
//! in cache. The parts of a concatenation have a loop each, too.
//!
//! If the loops are that of a reduction and that of roots which do not depend on it, neither is needed: one loop does both, as for
//! a loss and its gradient.

use std::sync::Arc;

use broadloom_ir::Axes;
use broadloom_ir::tuning::blocks::BLOCK_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::fuse::cost;
use crate::fuse::decision::{Cuts, Decision, Log, Why};
use crate::graph::{Graph, NodeId, NodeKind};
use crate::node::{Region, StepOrder};
use crate::shape::Shape;

/// A loop of a reduction and one of roots become one if a value that both compute costs at least this much per element. With vectors
/// of 512 bits, `exp` as the value took 0.6 times as long at 10⁶ float32 and 0.87 at 10⁷; four operations took 1.0 and 1.3 times as
/// long, since a reduction alone reads faster and roots alone bypass the caches.
const JOINED: u64 = 10;

/// The numbers of the loops that read a node. Four are kept: more would not change the decision.
type ReadingLoops = SmallVec<[u32; 4]>;

/// Identifies a loop that several values share: the loop of roots of one shape, of reductions of one level, shape and axes,
/// or of a recurrence.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Roots(Shape),
    Reductions { level: u32, axes: u64, shape: Shape },
    Recurrence(Arc<Region>, Vec<NodeId>, StepOrder),
}

/// A loop: its number of elements and, for a reduction or scan, the number of elements of the row that is combined.
struct Loop {
    elements: usize,
    row: Option<usize>,
    /// What decides whether the loop can be one with another.
    role: LoopRole,
}

/// What a loop contributes to one that stores roots and reduces.
enum LoopRole {
    /// It stores roots of this shape, the highest level of which is given.
    Roots(Shape, u32),
    /// It reduces elements of this shape along the last axes, at this level.
    Reductions(Shape, u32),
    None,
}

#[derive(Default)]
struct Known {
    loops: Vec<Loop>,
    of: FxHashMap<Key, u32>,
    /// The reductions, each with the number of its loop.
    reductions: Vec<(NodeId, u32)>,
    /// For each loop of reductions that is one with the loop of roots, that loop.
    joined: FxHashMap<u32, u32>,
}

impl Known {
    fn add(&mut self, new: Loop) -> u32 {
        self.loops.push(new);
        self.loops.len() as u32 - 1
    }

    fn shared(&mut self, key: Key, new: Loop) -> u32 {
        if let Some(&known) = self.of.get(&key) {
            return known;
        }
        let number = self.add(new);
        self.of.insert(key, number);
        number
    }

    fn of_root(&mut self, shape: &Shape, level: u32) -> u32 {
        let role = LoopRole::Roots(shape.clone(), level);
        let new = Loop { elements: shape.elements(), row: None, role };
        let number = self.shared(Key::Roots(shape.clone()), new);
        if let LoopRole::Roots(_, highest) = &mut self.loops[number as usize].role {
            *highest = level.max(*highest);
        }
        number
    }

    /// Makes two loops one if they are those of reductions along the last axes and of roots that do not depend on them. Returns the
    /// loop of the roots.
    fn join(&mut self, readers: &ReadingLoops) -> Option<u32> {
        let &[x, y] = &readers[..] else { return None };
        for (roots, reductions) in [(x, y), (y, x)] {
            let [first, second] = [roots, reductions].map(|number| &self.loops[number as usize].role);
            if let (LoopRole::Roots(shape, highest), LoopRole::Reductions(reduced, level)) = (first, second)
                && (shape, true) == (reduced, highest < level)
            {
                self.joined.insert(reductions, roots);
                return Some(roots);
            }
        }
        None
    }

    /// The loops, of which some may have become one.
    fn now(&self, readers: ReadingLoops) -> ReadingLoops {
        if self.joined.is_empty() {
            return readers;
        }
        let mut now = ReadingLoops::new();
        readers.iter().for_each(|reader| add(&mut now, *self.joined.get(reader).unwrap_or(reader)));
        now
    }

    /// The number of the loop that computes a cut node, or the operand of a cut reduction or scan.
    fn of_cut(&mut self, graph: &Graph, id: NodeId, level: u32) -> u32 {
        let node = graph.node(id);
        let row_of = |shape: &Shape, axis: usize| shape[axis.min(shape.rank())..].iter().product();
        match &node.kind {
            NodeKind::Reduce { arg, axes, .. } => {
                let shape = graph.node(*arg).shape.clone();
                let row = row_of(&shape, axes.iter().next().unwrap_or(0));
                let role = match are_last(*axes, shape.rank()) {
                    true => LoopRole::Reductions(shape.clone(), level),
                    false => LoopRole::None,
                };
                let new = Loop { elements: shape.elements(), row: Some(row), role };
                let number = self.shared(Key::Reductions { level, axes: axes.mask(), shape }, new);
                self.reductions.push((id, number));
                number
            }
            NodeKind::Scan { arg, axis, .. } => {
                let shape = &graph.node(*arg).shape;
                let row = row_of(shape, (*axis).into());
                self.add(Loop { elements: shape.elements(), row: Some(row), role: LoopRole::None })
            }
            NodeKind::Recurrence(of) => {
                // The operands were broadcast when the node was added.
                let shape = graph.recurrence(of).map_or_else(|_| node.shape.clone(), |shapes| shapes.space.0);
                let new = Loop { elements: shape.elements(), row: None, role: LoopRole::None };
                self.shared(Key::Recurrence(of.step.clone(), of.args.clone(), of.order), new)
            }
            _ => self.add(Loop { elements: node.shape.elements(), row: None, role: LoopRole::None }),
        }
    }

    /// Weighs computing a node in each of its readers' loops against a temporary.
    fn weigh(
        &self,
        graph: &Graph,
        id: NodeId,
        cost: u64,
        readers: &ReadingLoops,
        is_root: bool,
    ) -> cost::Weighed {
        let node = graph.node(id);
        let elements = node.shape.elements();
        let loops = || readers.iter().map(|&reader| &self.loops[reader as usize]);
        let computed = || loops().map(|reader| reader.elements.min(elements));
        let again = computed().sum::<usize>() - computed().max().unwrap_or(0);
        // The bytes per element of a row block: one operand, the temporary and one result.
        let bytes = 3 * node.dtype.size();
        let row = loops().filter_map(|reader| reader.row).max().unwrap_or(elements).min(elements);
        let stays = row.saturating_mul(bytes) <= BLOCK_BYTES;
        cost::weigh_shared(cost.saturating_mul(again as u64), elements, stays, is_root)
    }
}

/// Whether a reduction of arrays of this rank combines whole rows: it is along the last axes.
pub fn are_last(axes: Axes, rank: usize) -> bool {
    axes.iter().next().is_some_and(|first| (first..rank).all(|axis| axes.contains(axis)))
}

/// Finds the nodes to materialise, in time linear in the graph. If the same loops compute several nodes, only the last
/// of these is stored. Returns the reductions whose loops also store the roots of their operands' shape.
pub fn find(graph: &Graph, roots: &[NodeId], cuts: &mut Cuts, log: &mut Log) -> FxHashSet<NodeId> {
    let has_own_loop = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Recurrence(_)
                | NodeKind::Concat { .. }
        )
    };
    if !graph.nodes().iter().any(|node| has_own_loop(&node.kind)) {
        return FxHashSet::default();
    }
    let (costs, levels) = costs_and_levels(graph, cuts);
    let mut known = Known::default();
    let mut readers: Vec<ReadingLoops> = vec![ReadingLoops::new(); graph.nodes().len()];
    for root in roots {
        let of_root = known.of_root(&graph.node(*root).shape, levels[root.index()]);
        add(&mut readers[root.index()], of_root);
    }
    for id in graph.ids().rev() {
        let own = known.now(std::mem::take(&mut readers[id.index()]));
        let node = graph.node(id);
        if own.is_empty() || node.kind.arity() == 0 {
            continue;
        }
        if matches!(node.kind, NodeKind::Concat { .. }) {
            for part in node.kind.operands() {
                let elements = graph.node(*part).shape.elements();
                let of_part = known.add(Loop { elements, row: None, role: LoopRole::None });
                add(&mut readers[part.index()], of_part);
            }
            continue;
        }
        let loops = if cuts.contains(&id) {
            smallvec![known.of_cut(graph, id, levels[id.index()])]
        } else if own.len() > 1 && node.kind.is_computed() {
            let weighed = known.weigh(graph, id, costs[id.index()], &own, roots.contains(&id));
            let is_dear = weighed.materialise() || costs[id.index()] >= JOINED;
            let joined = if is_dear { known.join(&own) } else { None };
            let materialised = weighed.materialise() && joined.is_none();
            if let cost::Weighed::Temporary { recompute, store } = weighed
                && (materialised || recompute > store && joined.is_none())
            {
                let loops = own.len();
                let why = match materialised {
                    true => Why::Shared { loops, recompute, store },
                    false => Why::Again { loops, recompute, store },
                };
                log.note(|| Decision { node: Some((id, node.dtype)), shape: node.shape.clone(), why });
            }
            if materialised {
                cuts.insert(id);
                smallvec![known.of_cut(graph, id, levels[id.index()])]
            } else {
                joined.map_or(own, |roots| smallvec![roots])
            }
        } else {
            own
        };
        for arg in node.kind.operands() {
            loops.iter().for_each(|&reader| add(&mut readers[arg.index()], reader));
        }
    }
    let Known { reductions, joined, .. } = known;
    reductions.into_iter().filter(|(_, number)| joined.contains_key(number)).map(|(id, _)| id).collect()
}

fn add(to: &mut ReadingLoops, reader: u32) {
    if to.len() < to.inline_size() && !to.contains(&reader) {
        to.push(reader);
    }
}

/// For each node, its cost per element if only cut nodes are stored, and its level: the maximum number of cut nodes on
/// a path from it to a leaf.
fn costs_and_levels(graph: &Graph, cuts: &Cuts) -> (Vec<u64>, Vec<u32>) {
    let mut costs: Vec<u64> = Vec::with_capacity(graph.nodes().len());
    let mut levels: Vec<u32> = Vec::with_capacity(graph.nodes().len());
    let mut all = 0u64;
    for id in graph.ids() {
        let node = graph.node(id);
        let own = match node.kind {
            // A conversion is one instruction on most targets.
            NodeKind::Cast { .. } => 1,
            _ => cost::of_node(graph, node),
        };
        all = all.saturating_add(own);
        let elements = node.shape.elements();
        // An operand with fewer elements than the node adds no cost per element: it is computed once per row, or another step has
        // taken its cost into account.
        let counts = |arg: &&NodeId| !cuts.contains(arg) && graph.node(**arg).shape.elements() >= elements;
        let below = node.kind.operands().filter(counts).map(|arg| costs[arg.index()]);
        costs.push(below.fold(own, u64::saturating_add).min(all));
        let level = node.kind.operands().map(|arg| levels[arg.index()]).max().unwrap_or(0);
        levels.push(level + u32::from(cuts.contains(&id)));
    }
    (costs, levels)
}

#[cfg(test)]
mod tests {
    use broadloom_ir::kernel::Sink;
    use broadloom_ir::{DType, Op, Reduction};

    use super::*;
    use crate::Result;
    use crate::fuse::{self, Plan, Stage};
    use crate::layout::{Layout, Slice, View};

    /// The plan of `f(x - max(x))` divided by its sum, along rows.
    fn divided_by_sum(op: Op, shape: &[usize]) -> Result<Plan> {
        let shape = Shape::new(shape)?;
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(shape.clone()))?;
        let axes: Axes = [shape.rank() - 1].into_iter().collect();
        let reduce = |g: &mut Graph, arg, reduction| -> Result<NodeId> {
            let reduced = g.push(NodeKind::Reduce { arg, reduction, axes, keep_dims: true })?;
            g.view(reduced, View::BroadcastTo(shape.clone()))
        };
        let most = reduce(&mut g, x, Reduction::Max)?;
        let less = g.push(NodeKind::apply(Op::Subtract, [x, most]))?;
        let powers = g.push(NodeKind::apply(op, [less]))?;
        let sum = reduce(&mut g, powers, Reduction::Sum)?;
        let root = g.push(NodeKind::apply(Op::Divide, [powers, sum]))?;
        fuse::explain(&g, &[root])
    }

    #[test]
    fn exponentials_that_are_added_and_divided_are_computed_once() -> Result<()> {
        let plan = divided_by_sum(Op::Exp, &[10_000, 1000])?;
        assert_eq!(plan.stages.len(), 3, "{plan}");
        let both = plan.stages[1].kernel.outputs.iter().map(|output| output.sink).collect::<Vec<_>>();
        assert_eq!(both, [Sink::Store, Sink::Reduce(Reduction::Sum)], "{plan}");
        let shared =
            plan.decisions.iter().filter(|decision| matches!(decision.why, Why::Shared { loops: 2, .. }));
        assert_eq!(shared.count(), 1, "{plan}");
        let exps = plan.stages.iter().filter(|stage| stage.kernel.to_string().contains("exp.float32"));
        assert_eq!(exps.count(), 1, "{plan}");
        assert!(plan.to_string().contains("is materialised: 2 kernels read it"), "{plan}");
        Ok(())
    }

    /// A single stage stores and reduces a value only if the reduction is along the last axes and reads each element at
    /// its own index.
    #[test]
    fn other_reductions_of_a_stored_value_read_it_from_memory() -> Result<()> {
        let shape = Shape::new(&[100, 1000])?;
        let flipped = |extent: usize| Slice { start: extent - 1, step: -1, len: extent };
        let flip = View::Slice([flipped(100), flipped(1000)].into_iter().collect());
        for (axis, view, expected) in [(1, None, true), (0, None, false), (1, Some(flip), false)] {
            let mut g = Graph::default();
            let x = g.input(0, DType::Float32, Layout::contiguous(shape.clone()))?;
            let powers = g.push(NodeKind::apply(Op::Exp, [x]))?;
            let seen = view.map_or(Ok(powers), |view| g.view(powers, view))?;
            let arg = g.push(NodeKind::apply(Op::Multiply, [powers, seen]))?;
            let axes: Axes = [axis].into_iter().collect();
            let reduce = NodeKind::Reduce { arg, reduction: Reduction::Sum, axes, keep_dims: true };
            let reduced = g.push(reduce)?;
            let sum = g.view(reduced, View::BroadcastTo(shape.clone()))?;
            let root = g.push(NodeKind::apply(Op::Divide, [powers, sum]))?;
            let plan = fuse::explain(&g, &[root])?;
            let does_both = |stage: &Stage| {
                let stores = stage.kernel.outputs.iter().any(|output| output.sink == Sink::Store);
                stores && stage.reduces()
            };
            assert_eq!(plan.stages.iter().any(does_both), expected, "{axis}: {plan}");
        }
        Ok(())
    }

    /// The plan of the sum of exp(√x) along an axis and, if `uses`, of a root that depends on it; otherwise of one that does not.
    fn sum_beside_a_root(axis: usize, uses: bool) -> Result<Plan> {
        let shape = Shape::new(&[1000, 1000])?;
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(shape.clone()))?;
        let square_root = g.push(NodeKind::apply(Op::Sqrt, [x]))?;
        let arg = g.push(NodeKind::apply(Op::Exp, [square_root]))?;
        let axes: Axes = [axis].into_iter().collect();
        let sum = g.push(NodeKind::Reduce { arg, reduction: Reduction::Sum, axes, keep_dims: true })?;
        let other = if uses { g.view(sum, View::BroadcastTo(shape))? } else { square_root };
        let root = g.push(NodeKind::apply(Op::Divide, [arg, other]))?;
        // Something else reads the sum, after the loop that computes it.
        let mean = g.apply(Op::Multiply, &[sum.into(), sum.into()])?;
        fuse::explain(&g, &[mean, root])
    }

    #[test]
    fn roots_that_do_not_depend_on_a_reduction_share_its_loop() -> Result<()> {
        for (axis, uses, shares) in [(1, false, true), (0, false, false), (1, true, false)] {
            let plan = sum_beside_a_root(axis, uses)?;
            let of = |sinks: &[Sink]| {
                plan.stages
                    .iter()
                    .any(|stage| stage.kernel.outputs.iter().map(|o| o.sink).eq(sinks.iter().copied()))
            };
            let stores = plan.stages.iter().any(|stage| {
                let is_root = |target: &crate::fuse::Target| *target == crate::fuse::Target::Root(1);
                stage.reduces() && stage.outputs.iter().any(is_root)
            });
            assert_eq!(stores, shares, "{axis} {uses}: {plan}");
            assert_eq!(
                of(&[Sink::Store, Sink::Reduce(Reduction::Sum)]),
                shares || uses,
                "{axis} {uses}: {plan}"
            );
            // Nothing is stored for it.
            assert_eq!(plan.temps.len(), if uses { 2 } else { 1 }, "{axis} {uses}: {plan}");
        }
        Ok(())
    }

    /// The plan of a value joined with what another part computes of it, without views.
    fn joined_with_another(op: Op) -> Result<Plan> {
        let shape = Shape::new(&[100_000])?;
        let mut g = Graph::default();
        let x = g.input(0, DType::Float32, Layout::contiguous(shape))?;
        let mut value = x;
        for _ in 0..4 {
            value = g.push(NodeKind::apply(op, [value]))?;
        }
        let other = g.push(NodeKind::apply(Op::Abs, [value]))?;
        let root = g.push(NodeKind::Concat { args: vec![value, other], axis: 0 })?;
        fuse::explain(&g, &[root])
    }

    #[test]
    fn parts_compute_a_dear_value_once() -> Result<()> {
        for (op, temps, stages) in [(Op::Sin, 1, 3), (Op::Negative, 0, 2)] {
            let plan = joined_with_another(op)?;
            assert_eq!((plan.temps.len(), plan.stages.len()), (temps, stages), "{plan}");
            let computes = |stage: &&Stage| stage.kernel.to_string().contains(&format!("{op}.float32"));
            assert_eq!(plan.stages.iter().filter(computes).count(), stages - 2 * temps, "{plan}");
        }
        Ok(())
    }

    #[test]
    fn cheap_values_are_computed_again() -> Result<()> {
        let plan = divided_by_sum(Op::Negative, &[10_000, 1000])?;
        assert_eq!((plan.stages.len(), plan.temps.len()), (3, 2), "{plan}");
        assert!(plan.decisions.iter().all(|decision| decision.why == Why::Combined), "{plan}");
        Ok(())
    }

    #[test]
    fn rows_that_no_cache_holds_are_computed_again() -> Result<()> {
        let plan = divided_by_sum(Op::Exp, &[4, 50_000_000])?;
        assert_eq!(plan.stages.len(), 3, "{plan}");
        Ok(())
    }
}
