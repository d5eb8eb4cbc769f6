//! Fusion: cuts a graph into kernels in run order.
//!
//! All element-wise nodes that share an index space and need no cut become one kernel. A view of a node that is not
//! evaluated is pushed to the inputs, or the node is cut off where that can't be done. The [`Plan`] says what each
//! kernel reads and writes, and on request why the graph was cut so.

mod body;
mod chain;
mod code;
mod cost;
mod cut;
mod decision;
mod draft;
mod plan;
mod split;

use crate::error::Result;
use crate::graph::{Graph, NodeId};
use crate::shape::Shape;
use crate::verify;

pub use cost::MAX_BODY;
pub use decision::{Decision, Why};
pub use plan::{InputView, ParamSource, Plan, Source, Stage, Target, describe};

use decision::Log;
use draft::{Draft, Origin, Output};

/// Cuts the graph into kernels.
///
/// # Errors
/// Only [`crate::ErrorKind::Internal`]: a kernel that does not verify.
pub fn run(graph: &Graph, roots: &[NodeId]) -> Result<Plan> {
    cut_up(graph, roots, Log::new(false))
}

/// [`run`], with the decisions, and the nodes that each stage computes.
///
/// # Errors
/// As [`run`].
pub fn explain(graph: &Graph, roots: &[NodeId]) -> Result<Plan> {
    cut_up(graph, roots, Log::new(true))
}

fn cut_up(graph: &Graph, roots: &[NodeId], mut log: Log) -> Result<Plan> {
    let mut plan = Plan {
        roots: roots.iter().map(|&r| (graph.node(r).dtype, graph.node(r).shape.clone())).collect(),
        ..Plan::default()
    };
    let cuts = cut::find(graph, roots, &mut log);
    let mut placed = split::Placed::default();
    for stage in stages(graph, roots, &cuts) {
        split::push(&mut plan, &mut placed, stage, &mut log);
    }
    plan.decisions = log.take();
    if cfg!(debug_assertions) {
        verify::graph(graph)?;
        for stage in &plan.stages {
            broadloom_ir::verify::kernel(&stage.kernel)?;
        }
    }
    Ok(plan)
}

/// One draft per cut node that is needed, then one per shape of roots.
fn stages(graph: &Graph, roots: &[NodeId], cuts: &cut::Cuts) -> Vec<Draft> {
    let mut groups: Vec<(Shape, Vec<(NodeId, Output)>)> = Vec::new();
    for (i, &root) in roots.iter().enumerate() {
        let shape = &graph.node(root).shape;
        let output = (root, Output::Root(i as u32));
        match groups.iter_mut().find(|(s, _)| s == shape) {
            Some((_, members)) => members.push(output),
            None => groups.push((shape.clone(), vec![output])),
        }
    }
    let mut drafts = Vec::new();
    let mut needed: Vec<NodeId> = Vec::new();
    let mut draft = |shape: Shape, members: &[(NodeId, Output)], needed: &mut Vec<NodeId>| {
        let draft = body::build(graph, shape, members, cuts);
        needed.extend(draft.inputs.iter().filter_map(|(leaf, _)| match leaf {
            Origin::Node(id) => Some(*id),
            Origin::Slot(_) => None,
        }));
        drafts.push(draft);
    };
    for (shape, members) in groups {
        draft(shape, &members, &mut needed);
    }
    let mut done = std::collections::BTreeSet::new();
    while let Some(id) = needed.pop() {
        if done.insert(id) {
            draft(graph.node(id).shape.clone(), &[(id, Output::Node(id))], &mut needed);
        }
    }
    // A cut node depends on earlier nodes only, and roots' kernels may read any of them.
    drafts.sort_by_key(|d| match d.outputs[0] {
        Output::Node(id) => (0, id.index()),
        Output::Root(i) => (1, i as usize),
    });
    drafts
}
