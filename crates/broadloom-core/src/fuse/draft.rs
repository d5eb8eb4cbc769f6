//! A kernel before its place in the plan is known.

use crate::fuse::plan::{Action, ParamSource};
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::shape::Shape;

/// Where a kernel's input comes from, before temporaries have numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Slot(u32),
    Index,
    Node(NodeId),
}

/// A kernel before its nodes' values have places: outputs and sources may be cut nodes.
pub struct Draft {
    pub kernel: Kernel,
    pub shape: Shape,
    pub inputs: Vec<(Origin, Layout)>,
    pub params: Vec<ParamSource>,
    pub outputs: Vec<Output>,
    pub action: Action,
    /// The node behind each instruction.
    pub nodes: Vec<NodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    Root(u32),
    Node(NodeId),
}
