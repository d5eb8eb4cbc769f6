//! A kernel before its place in the plan is known.

use std::sync::Arc;

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
    pub inputs: Vec<(Origin, Arc<Layout>)>,
    pub params: Vec<ParamSource>,
    pub outputs: Vec<Output>,
    pub action: Action,
    /// The node behind each instruction.
    pub nodes: Vec<NodeId>,
}

impl Draft {
    /// The cut nodes that the elements are combined to; none where they are stored.
    pub fn combined(&self) -> impl Iterator<Item = NodeId> {
        let combines = !self.action.is_store();
        self.outputs.iter().filter_map(move |output| match output {
            Output::Node(id) if combines => Some(*id),
            Output::Node(_) | Output::Root(_) => None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    Root(u32),
    Node(NodeId),
}
