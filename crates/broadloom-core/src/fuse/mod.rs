//! Fusion: cuts a graph into kernels, in execution order.
//!
//! All element-wise nodes that share an index space and need no cut become one kernel. A view of a node that is not
//! materialised is applied to the layouts of its inputs; if strides can't express the result, the node is cut off. The
//! [`Plan`] lists the inputs and outputs of each kernel, and on request the reasons for the cuts.

mod body;
mod chain;
mod code;
mod cost;
mod cut;
mod decision;
mod draft;
mod plan;
mod routines;
mod shared;
mod split;
mod stages;

use crate::error::Result;
use crate::graph::{Graph, NodeId};
use crate::verify;

pub use cost::MAX_BODY;
pub use decision::{Decision, Why};
pub use plan::{
    Beginning, Index, InputView, ParamSource, Plan, Recurrence, Source, Stage, StageRoutine, Target, describe,
};

use decision::Log;

/// Cuts the graph into kernels.
///
/// # Errors
/// Only [`crate::ErrorKind::Internal`], if a kernel does not verify.
pub fn run(graph: &Graph, roots: &[NodeId]) -> Result<Plan> {
    cut_up(graph, roots, Log::new(false))
}

/// Cuts the graph into kernels like [`run`], and records the decisions and the nodes that each stage computes.
///
/// # Errors
/// The errors of [`run`].
pub fn explain(graph: &Graph, roots: &[NodeId]) -> Result<Plan> {
    cut_up(graph, roots, Log::new(true))
}

fn cut_up(graph: &Graph, roots: &[NodeId], mut log: Log) -> Result<Plan> {
    let mut plan = Plan {
        roots: roots.iter().map(|&r| (graph.node(r).dtype, graph.node(r).shape.clone())).collect(),
        ..Plan::default()
    };
    let (cuts, joined) = cut::find(graph, roots, &mut log);
    let mut placed = split::Placed::default();
    for stage in stages::drafts(graph, roots, &cuts, &joined) {
        for id in stage.combined() {
            log.note(|| Decision::of_node(graph, id, Why::Combined));
        }
        for &id in stage.routine.iter().flat_map(|_| &stage.nodes) {
            log.note(|| Decision::of_node(graph, id, Why::Routine));
        }
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
