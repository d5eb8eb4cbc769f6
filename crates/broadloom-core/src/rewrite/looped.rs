//! Rewrites the regions of loops and recurrences, each as a graph of its own, by the same rules.
//!
//! A loop has several nodes, one for each value that is used; its region is rewritten once. Captured values that are
//! constants are seen by the rules, and those that remain are captured again.

use std::sync::Arc;

use broadloom_ir::HostDeclaration;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::graph::{Graph, Leaf, NodeId, NodeKind, Semantics};
use crate::node::{LoopNode, RecurrenceNode, Region};
use crate::region::{self, CapturedValue};
use crate::rewrite::nan::{self, Marks};
use crate::shape::Shape;

/// The semantics of the former graph, and the function that rewrites a region's graph, with what is known about its nodes.
pub(super) type Rewrite<'r> =
    (Semantics, &'r dyn Fn(&Graph, &[NodeId], &Marks) -> Result<(Graph, Vec<NodeId>)>);

/// A loop of a graph.
type LoopKey = (Arc<Region>, Vec<NodeId>);

/// The loops that are rewritten so far: the former loop, and the new one.
#[derive(Default)]
pub(super) struct RewrittenLoops(FxHashMap<LoopKey, LoopKey>);

impl RewrittenLoops {
    /// The node of a loop over operands of the new graph, with a rewritten region.
    pub(super) fn rewritten(
        &mut self,
        of: &LoopNode<NodeId, HostDeclaration>,
        marks: &Marks,
        new: &[Option<NodeId>],
        out: &mut Graph,
        rewrite: &Rewrite<'_>,
    ) -> Result<NodeKind> {
        let key = (of.region.clone(), of.args.clone());
        let (region, args) = match self.0.get(&key) {
            Some(known) => known.clone(),
            None => {
                let args: Vec<NodeId> = of.args.iter().map(|arg| new[arg.index()].unwrap_or(*arg)).collect();
                let done = rewritten(&of.region, &args, marks.items(&key), 0, out, rewrite)?;
                self.0.insert(key, done.clone());
                done
            }
        };
        let functions = region.functions().into_iter().cloned().collect();
        Ok(NodeKind::Loop(Box::new(LoopNode { region, functions, args, item: of.item })))
    }

    /// The node of a recurrence over operands of the new graph, with a rewritten step.
    pub(super) fn stepped(
        &mut self,
        of: &RecurrenceNode<NodeId, HostDeclaration>,
        marks: &Marks,
        new: &[Option<NodeId>],
        out: &mut Graph,
        rewrite: &Rewrite<'_>,
    ) -> Result<NodeKind> {
        let key = (of.step.clone(), of.args.clone());
        let (step, args) = match self.0.get(&key) {
            Some(known) => known.clone(),
            None => {
                let args: Vec<NodeId> = of.args.iter().map(|arg| new[arg.index()].unwrap_or(*arg)).collect();
                let inputs = of.inputs as usize;
                let done = rewritten(&of.step, &args, marks.items(&key), inputs, out, rewrite)?;
                self.0.insert(key, done.clone());
                done
            }
        };
        let functions = step.functions().into_iter().cloned().collect();
        Ok(NodeKind::Recurrence(Box::new(RecurrenceNode {
            step,
            functions,
            args,
            inputs: of.inputs,
            axis: of.axis,
            order: of.order,
            item: of.item,
        })))
    }
}

/// Rewrites a region over operands of the new graph. The first `inputs` operands after the carried values are kept, whether
/// the region still reads them or not.
fn rewritten(
    former: &Region,
    args: &[NodeId],
    items: &[bool],
    inputs: usize,
    out: &mut Graph,
    (semantics, rewrite): &Rewrite<'_>,
) -> Result<LoopKey> {
    let is_input = |param: usize| (former.carried()..former.carried() + inputs).contains(&param);
    let constant = |param: usize| match &out.node(args[param]).kind {
        NodeKind::Leaf(leaf @ Leaf::Const { .. }) if !is_input(param) => Some(leaf.clone()),
        _ => None,
    };
    let (graph, roots) = region::graph(former, *semantics, constant)?;
    let marks = nan::reads(former, &graph, &roots, items).marks;
    let (graph, roots) = rewrite(&graph, &roots, &marks)?;
    out.depend_on_values_of(&graph);
    // A captured value that may fail is computed, whether the region still reads it or not.
    let keeps = |param: usize| is_input(param) || out.node(args[param]).faults;
    let (mut region, mut captured) = region::of_graph(former, &graph, &roots, keeps)?;
    // So is one that gives the loop its shape.
    let shape = |params: &mut dyn Iterator<Item = usize>| {
        let is_aligned = |param: &usize| !is_input(*param) && !former.is_table(*param);
        let shapes: Vec<&Shape> =
            params.filter(is_aligned).map(|param| &out.node(args[param]).shape).collect();
        Shape::broadcast(&shapes).ok()
    };
    let carried = 0..former.carried();
    let read = captured.iter().filter_map(|captured| match captured {
        CapturedValue::Param(param) => Some(*param as usize),
        CapturedValue::Constant(_) => None,
    });
    if shape(&mut carried.chain(read)) != shape(&mut (0..args.len())) {
        (region, captured) = region::of_graph(former, &graph, &roots, |_| true)?;
    }
    let mut new = args[..former.carried()].to_vec();
    for captured in captured {
        new.push(match captured {
            CapturedValue::Param(param) => args[param as usize],
            CapturedValue::Constant(leaf) => out.push(NodeKind::Leaf(leaf))?,
        });
    }
    Ok((Arc::new(region), new))
}

#[cfg(test)]
mod tests {
    use broadloom_ir::{DType, Op, Scalar};

    use super::*;
    use crate::fuse;
    use crate::layout::Layout;
    use crate::node::RegionNode;
    use crate::rewrite::{self, Rules};
    use crate::shape::Shape;

    /// A loop over two float32 values and a captured one, of which it uses the given nodes.
    fn looped(nodes: Vec<RegionNode>, next: [usize; 2]) -> Arc<Region> {
        let params = [0, 1, 2].map(RegionNode::Leaf);
        let test = [RegionNode::apply(Op::Less, [NodeId::new(0), NodeId::new(2)])];
        Arc::new(Region {
            params: vec![DType::Float32; 3],
            tables: Vec::new(),
            limit: Some(9),
            is_numbered: false,
            nodes: params.into_iter().chain(test).chain(nodes).collect(),
            condition: Some(NodeId::new(3)),
            next: next.map(NodeId::new).to_vec(),
            outputs: Vec::new(),
        })
    }

    /// A graph with the values of the loop over two inputs and a third operand.
    fn graph(region: &Arc<Region>, third: Option<f32>) -> Result<(Graph, [NodeId; 2])> {
        let mut graph = Graph::default();
        let layout = Layout::contiguous(Shape::new(&[4])?);
        let [x, y, z] = [0, 1, 2].map(|slot| graph.input(slot, DType::Float32, layout.clone()));
        let third = third.map_or(z, |value| graph.constant(Scalar::of(value), Some(0)));
        let args = vec![x?, y?, third?];
        let item = |graph: &mut Graph, item| {
            let (region, args) = (region.clone(), args.clone());
            graph.push(NodeKind::Loop(Box::new(LoopNode { region, functions: Vec::new(), args, item })))
        };
        let items = [item(&mut graph, 0)?, item(&mut graph, 1)?];
        Ok((graph, items))
    }

    fn region_of(graph: &Graph, id: NodeId) -> Arc<Region> {
        match &graph.node(id).kind {
            NodeKind::Loop(of) => of.region.clone(),
            kind => panic!("{kind:?} is no loop"),
        }
    }

    /// How often an op occurs in a region.
    fn count(region: &Region, op: Op) -> usize {
        region.nodes.iter().filter(|node| node.args_of(op).is_some()).count()
    }

    const NODES: [usize; 3] = [0, 1, 2];

    fn apply(op: Op, args: &[usize]) -> RegionNode {
        RegionNode::apply(op, args.iter().map(|&i| NodeId::new(i)))
    }

    /// Rules see a captured constant, which they may consume; what reads it no longer captures it.
    #[test]
    fn rules_apply_in_regions_and_see_constants() -> Result<()> {
        let [x, y, c] = NODES;
        for (value, squares, powers, captured) in [(2.0, 1, 0, 1), (3.0, 0, 1, 1)] {
            let region = looped(vec![apply(Op::Pow, &[x, c]), apply(Op::Multiply, &[y, c])], [4, 5]);
            let (graph, items) = graph(&region, Some(value))?;
            let (out, roots) = rewrite::run(&graph, &items, Rules::On)?;
            let region = region_of(&out, roots[0]);
            assert_eq!((count(&region, Op::Square), count(&region, Op::Pow)), (squares, powers), "{out}");
            assert_eq!(region.params.len(), 2 + captured, "{out}");
            assert_eq!(region_of(&out, roots[1]), region, "the values have one region");
            crate::verify::graph(&out)?;
        }
        let region = looped(vec![apply(Op::Positive, &[x]), apply(Op::Multiply, &[y, c])], [4, 5]);
        let (graph, items) = graph(&region, Some(1.0))?;
        let (out, roots) = rewrite::run(&graph, &items, Rules::On)?;
        assert_eq!(count(&region_of(&out, roots[0]), Op::Multiply), 0, "y * 1 is y: {out}");
        Ok(())
    }

    /// A computed NaN is made canonical where it becomes a carried value whose bits can be read: after the loop, by a
    /// function of the sign in a later iteration, or by way of the other carried value.
    #[test]
    fn nans_are_canonical_where_a_carried_value_is_read() -> Result<()> {
        let [x, y, c] = NODES;
        let sum = || apply(Op::Add, &[x, c]);
        let sign = || vec![sum(), apply(Op::SignBit, &[y]), apply(Op::Where, &[5, x, c])];
        let cases: Vec<(Arc<Region>, bool, usize)> = vec![
            // Only a comparison reads the result.
            (looped(vec![sum()], [4, y]), false, 0),
            (looped(vec![sum()], [4, y]), true, 1),
            // The sum becomes y, whose sign the next iteration reads.
            (looped(sign(), [6, 4]), false, 1),
            (looped(sign(), [6, y]), false, 0),
            // y becomes x, so that the sum is read after the loop.
            (looped(vec![sum()], [y, 4]), true, 1),
        ];
        for (i, (region, is_root, expected)) in cases.into_iter().enumerate() {
            let (mut graph, [item, _]) = graph(&region, None)?;
            let root = if is_root { item } else { graph.push(NodeKind::apply(Op::IsNan, [item]))? };
            for rules in [Rules::On, Rules::Off] {
                let (out, roots) = rewrite::run(&graph, &[root], rules)?;
                let mut found = out.ids().filter(|id| matches!(out.node(*id).kind, NodeKind::Loop(_)));
                let region = region_of(&out, found.next_back().expect("a loop"));
                assert_eq!(count(&region, Op::CanonicalNan), expected, "case {i}: {out}");
                assert_eq!(roots.len(), 1);
            }
        }
        Ok(())
    }

    /// Both values of a loop, and a function of one, are computed by one loop of one kernel.
    #[test]
    fn the_values_of_a_loop_share_one_instruction() -> Result<()> {
        let [x, y, c] = NODES;
        let region = looped(vec![apply(Op::Add, &[x, c]), apply(Op::Multiply, &[y, x])], [4, 5]);
        let (mut graph, items) = graph(&region, None)?;
        let sum = graph.push(NodeKind::apply(Op::Add, items))?;
        let (out, roots) = rewrite::run(&graph, &[items[1], sum, items[0]], Rules::On)?;
        let plan = fuse::run(&out, &roots)?;
        assert_eq!(plan.stages.len(), 1, "{plan}");
        let kernel = &plan.stages[0].kernel;
        assert_eq!((kernel.loops.len(), kernel.loops[0].args.len()), (1, 3), "{plan}");
        assert!(
            plan.to_string().contains(
                "loop v0, v1, v2 (v0: carried float32, v1: carried float32, v2: float32) limit 9 {"
            ),
            "{plan}"
        );
        Ok(())
    }
}
