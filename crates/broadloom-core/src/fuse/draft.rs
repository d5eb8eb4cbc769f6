//! A kernel before its position in the plan is known.

use std::sync::Arc;

use broadloom_ir::Axes;
use broadloom_ir::kernel::Sink;

use crate::fuse::plan::{Beginning, ParamSource};
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::shape::Shape;

/// The source of a kernel's input, before temporaries have numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Slot(u32),
    Index,
    Node(NodeId),
}

/// A kernel before nodes are mapped to memory: its outputs and inputs may be cut nodes.
pub struct Draft {
    pub kernel: Kernel,
    pub shape: Shape,
    pub inputs: Vec<(Origin, Arc<Layout>)>,
    pub params: Vec<ParamSource>,
    pub outputs: Vec<DraftTarget>,
    /// The axes along which elements are reduced or scanned.
    pub axes: Axes,
    /// The state in which a scan begins.
    pub beginning: Beginning,
    /// For each instruction, the node that it computes.
    pub nodes: Vec<NodeId>,
}

impl Draft {
    /// The cut nodes to which elements are reduced or scanned; none if elements are stored.
    pub fn combined(&self) -> impl Iterator<Item = NodeId> {
        self.outputs.iter().zip(&self.kernel.outputs).filter_map(|(target, output)| match target {
            DraftTarget::Node(id) if output.sink != Sink::Store => Some(*id),
            DraftTarget::Node(_) | DraftTarget::Root(_) => None,
        })
    }
}

/// The destination of an output.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum DraftTarget {
    Root(u32),
    Node(NodeId),
}
