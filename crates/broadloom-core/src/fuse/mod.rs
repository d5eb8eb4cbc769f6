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
mod split;

use std::fmt;
use std::sync::Arc;

use broadloom_math::DType;

use crate::error::Result;
use crate::graph::{Graph, NodeId};
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::verify;

pub use decision::{Decision, Why};

use decision::Log;

/// The most instructions of one kernel; a larger region is cut where the fewest values are live.
pub const MAX_BODY: usize = 2048;

/// Where a kernel's input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The caller's array of this number.
    Slot(u32),
    /// A temporary that an earlier kernel wrote.
    Temp(u32),
}

/// Where a kernel's parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamSource {
    /// The caller's literal of this number.
    Slot(u32),
    /// A value fixed by rewriting.
    Fixed(Scalar),
}

/// Where a kernel's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The root of this number.
    Root(u32),
    /// A temporary, contiguous.
    Temp(u32),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Slot(s) => write!(f, "input {s}"),
            Source::Temp(t) => write!(f, "temporary {t}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Root(r) => write!(f, "result {r}"),
            Target::Temp(t) => write!(f, "temporary {t}"),
        }
    }
}

/// An array that a kernel reads: whose memory, and which elements of it, over the kernel's whole index space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputView {
    /// Whose memory.
    pub source: Source,
    /// The element for each index; strides of 0 repeat.
    pub layout: Layout,
}

/// A kernel with its index space, what it reads and what it writes.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The loop body.
    pub kernel: Arc<Kernel>,
    /// The extents of the loops.
    pub shape: Shape,
    /// One per kernel input.
    pub inputs: Vec<InputView>,
    /// One per kernel parameter.
    pub params: Vec<ParamSource>,
    /// One per kernel output.
    pub outputs: Vec<Target>,
}

/// Kernels in run order, and the temporaries between them.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In run order.
    pub stages: Vec<Stage>,
    /// The temporaries' types.
    pub temps: Vec<(DType, Shape)>,
    /// The roots' types.
    pub roots: Vec<(DType, Shape)>,
    /// Why the graph was cut as it was; of [`explain`] only.
    pub decisions: Vec<Decision>,
    /// For each stage the node behind each instruction; of [`explain`] only.
    pub computes: Vec<Vec<NodeId>>,
}

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

/// A kernel before its nodes' values have places: outputs and sources may be cut nodes.
struct Draft {
    kernel: Kernel,
    shape: Shape,
    inputs: Vec<(body::Origin, Layout)>,
    params: Vec<ParamSource>,
    outputs: Vec<Output>,
    /// The node behind each instruction.
    nodes: Vec<NodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Output {
    Root(u32),
    Node(NodeId),
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
            body::Origin::Node(id) => Some(*id),
            body::Origin::Slot(_) => None,
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

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, stage) in self.stages.iter().enumerate() {
            writeln!(f, "stage {i} over {}:", stage.shape)?;
            for (j, input) in stage.inputs.iter().enumerate() {
                writeln!(
                    f,
                    "  {:?} reads {}, {}",
                    stage.kernel.input(j),
                    input.source,
                    describe(&input.layout)
                )?;
            }
            for (j, target) in stage.outputs.iter().enumerate() {
                writeln!(f, "  {:?} is written to {target}", stage.kernel.outputs[j])?;
            }
            for line in stage.kernel.to_string().lines() {
                writeln!(f, "  {line}")?;
            }
        }
        self.decisions.iter().try_for_each(|decision| writeln!(f, "note: {decision}"))
    }
}

/// How the elements of a layout lie, in words.
pub fn describe(layout: &Layout) -> String {
    if layout.is_contiguous() {
        "contiguous".to_string()
    } else if layout.strides.iter().zip(layout.shape.iter()).all(|(&s, &e)| s == 0 || e == 1) {
        "one element for all".to_string()
    } else {
        format!("strides {:?}", &layout.strides[..])
    }
}
