//! Drafts of stages that call routines.

use broadloom_ir::Axes;
use broadloom_ir::kernel::Kernel;
use smallvec::SmallVec;

use crate::fuse::body::{Member, whole};
use crate::fuse::decision::Cuts;
use crate::fuse::draft::Draft;
use crate::fuse::plan::{Beginning, StageRoutine};
use crate::graph::{Graph, NodeKind};
use crate::node::NodeId;
use crate::routine::RoutineNode;
use crate::shape::Shape;

/// Builds the stage that computes the members, results of one routine in the order of their items. The operands, which are memory
/// or cut off, are its tables.
pub fn draft(graph: &Graph, shape: Shape, members: &[Member], cuts: &Cuts) -> Draft {
    let results = || members.iter().filter_map(|member| of(graph, member.node).map(|of| (member, of)));
    let (_, first) = results().next().expect("a group of a routine has its results as members");
    let mut kernel = Kernel::default();
    for &arg in &first.args {
        kernel.table(graph.node(arg).dtype);
    }
    let result = |member: &Member| (graph.node(member.node).dtype, graph.node(member.node).shape.clone());
    Draft {
        kernel,
        shape,
        inputs: Vec::new(),
        tables: first.args.iter().map(|&arg| whole(graph, arg, cuts)).collect(),
        params: Vec::new(),
        outputs: members.iter().map(|member| member.target).collect(),
        axes: Axes::NONE,
        beginning: Beginning::First,
        recurrence: None,
        part: None,
        routine: Some(StageRoutine {
            routine: first.routine,
            items: results().map(|(_, of)| of.item).collect(),
            results: members.iter().map(result).collect::<SmallVec<_>>(),
        }),
        nodes: members.iter().map(|member| member.node).collect(),
    }
}

fn of(graph: &Graph, id: NodeId) -> Option<&RoutineNode<NodeId>> {
    match &graph.node(id).kind {
        NodeKind::Routine(of) => Some(of),
        _ => None,
    }
}
