//! Builds the body of a recurrence's step: the nodes of its region, with what computes its inputs.

use broadloom_ir::DType;
use smallvec::SmallVec;

use super::{Builder, Early, Member, Straight, whole};
use crate::fuse::chain::{ChainId, STRAIGHT};
use crate::fuse::code;
use crate::fuse::decision::Cuts;
use crate::fuse::draft::{Draft, Origin};
use crate::fuse::plan::{Recurrence, state_shape};
use crate::graph::{Graph, Leaf, NodeId, NodeKind};
use crate::kernel::Code;
use crate::layout::{Slice, View};
use crate::node::{Region, RegionNode, StepOrder};
use crate::shape::Shape;

/// Builds the body of a recurrence's step. The members are values of the recurrence: all states and then some outputs, in
/// the order of their items.
pub fn step(graph: &Graph, shape: Shape, members: &[Member], cuts: &Cuts, straight: &mut Straight) -> Draft {
    let mut builder = Builder::new(graph, shape, cuts, straight);
    let of = members.iter().find_map(|member| match &graph.node(member.node).kind {
        NodeKind::Recurrence(of) => Some(&**of),
        _ => None,
    });
    let of = of.expect("a group of a recurrence has its values as members");
    let recurrence = Recurrence { states: of.states(), axis: of.axis.into(), order: of.order };
    let mut values: Vec<Early> =
        (0..of.states()).map(|state| builder.state(of.args[state], &recurrence)).collect();
    let order = builder.order(&recurrence);
    for (i, &arg) in of.args.iter().enumerate().skip(of.states()) {
        if of.step.is_table(i) {
            // Only gathers read it, by its number in the kernel.
            values.push(Early::Inst(0));
            continue;
        }
        if of.order == StepOrder::Canonical && i < of.states() + of.inputs as usize {
            values.push(builder.element(arg));
            continue;
        }
        let chain = match graph.node(arg).shape == builder.shape {
            true if of.has_axis(i) => order,
            _ => builder.beside(arg, of.has_axis(i), &recurrence, order),
        };
        values.push(builder.compute(arg, chain, false));
    }
    let ends: SmallVec<[NodeId; 4]> = members
        .iter()
        .map(|member| match &graph.node(member.node).kind {
            NodeKind::Recurrence(of) => {
                of.step.next.iter().chain(&of.step.outputs).nth(of.item as usize).copied()
            }
            _ => None,
        })
        .map(|end| end.expect("a member is a value of the recurrence"))
        .collect();
    let nodes = builder.inline((members[0].node, &of.args), &of.step, &ends, &values);
    let outputs = ends.iter().map(|end| nodes[end.index()]).collect();
    Draft { recurrence: Some(recurrence), ..builder.finish(outputs, members) }
}

impl Builder<'_> {
    /// Adds a state as an input: its memory is that of the initial state, which is repeated along the axis.
    fn state(&mut self, initial: NodeId, of: &Recurrence) -> Early {
        let (origin, layout) = whole(self.graph, initial, self.cuts);
        let others = View::BroadcastTo(state_shape(&self.shape, of.axis));
        let mut layout = layout.view(&others).expect("a broadcast is always expressible");
        layout.shape = self.shape.clone();
        layout.strides.insert(of.axis, 0);
        self.input(initial, origin, layout)
    }

    /// Adds an input of its own for the elements that steps in the canonical order combine. They are in memory, or generated.
    fn element(&mut self, arg: NodeId) -> Early {
        let (origin, layout) = match &self.graph.node(arg).kind {
            NodeKind::Leaf(Leaf::Index { layout }) if !self.cuts.contains(&arg) => {
                (Origin::Index, layout.clone())
            }
            _ => whole(self.graph, arg, self.cuts),
        };
        let space = View::BroadcastTo(self.shape.clone());
        let layout = layout.view(&space).expect("a broadcast is always expressible");
        self.input(arg, origin, layout)
    }

    /// The chain through which an operand of a recurrence is read that has another shape than the index space.
    fn beside(&mut self, arg: NodeId, has_axis: bool, of: &Recurrence, order: ChainId) -> ChainId {
        let space = View::BroadcastTo(self.shape.clone());
        if has_axis || self.graph.node(arg).shape.rank() == 0 {
            return self.extend(arg, space, order);
        }
        let others = state_shape(&self.shape, of.axis);
        let mut extents: SmallVec<[usize; 4]> = others.iter().copied().collect();
        extents.insert(of.axis, 1);
        // The extents are valid, since they are those of a shape and a 1.
        let one = View::Reshape(Shape::new(&extents).unwrap_or_default());
        let repeated = self.chains.push(space, order);
        let one = self.chains.push(one, repeated);
        self.chains.push(View::BroadcastTo(others), one)
    }

    /// The chain through which the elements of a recurrence are read: reversed along the axis if the steps are.
    fn order(&mut self, of: &Recurrence) -> ChainId {
        if of.order != StepOrder::Backward || self.shape[of.axis] == 0 {
            return STRAIGHT;
        }
        let all = self.shape.iter().enumerate().map(|(axis, &len)| match axis == of.axis {
            true => Slice { start: len - 1, step: -1, len },
            false => Slice { start: 0, step: 1, len },
        });
        let reversed = View::Slice(all.collect());
        self.chains.push(reversed, STRAIGHT)
    }

    /// Emits the nodes of a region that the nodes `ends` depend on, with these values of its parameters. Returns a value for each
    /// node, which is unspecified for all others: a division that nothing depends on must not fail. The instructions
    /// belong to the node `id` of the graph, whose operands `of_tables` has for those parameters that are tables.
    fn inline(
        &mut self,
        (id, of_tables): (NodeId, &[NodeId]),
        region: &Region,
        ends: &[NodeId],
        params: &[Early],
    ) -> Vec<Early> {
        let dtypes = region.dtypes();
        let is_needed = region.needed(ends);
        // The number of a table of the region in the kernel.
        let table_of = |builder: &mut Self, table: NodeId| match region.nodes[table.index()] {
            RegionNode::Leaf(param) => Some(builder.table(of_tables[param as usize])),
            _ => None,
        };
        let mut values: Vec<Early> = Vec::with_capacity(region.nodes.len());
        for (node, is_needed) in region.nodes.iter().zip(is_needed) {
            match node {
                _ if !is_needed => {
                    values.push(Early::Inst(0));
                    continue;
                }
                RegionNode::Leaf(param) => {
                    values.push(params[*param as usize]);
                    continue;
                }
                RegionNode::Loop(of) => {
                    let args = node.aligned().map(|arg| values[arg.index()]).collect();
                    let tables = node.tables().filter_map(|&arg| table_of(self, arg)).collect();
                    let first = self.looped(id, &of.region, args, tables);
                    values.push(Early::Inst(first + 1 + of.item));
                    continue;
                }
                _ => {}
            }
            // A verified region has a dtype for each node, and no nodes that are stages.
            let dtype = |id: NodeId| dtypes[id.index()].unwrap_or(DType::Bool);
            let Some(mut code) = code::of(node, dtype, |function| self.place(function)) else { continue };
            if let (Code::Gather { table, .. }, RegionNode::Gather { table: of, .. }) = (&mut code, node) {
                *table = table_of(self, *of).unwrap_or(0);
            }
            let mut args = [Early::Inst(0); 3];
            for (to, arg) in args.iter_mut().zip(node.aligned()) {
                *to = values[arg.index()];
            }
            values.push(self.push(id, code, args));
        }
        values
    }
}
