//! Kernels as fusion builds them, before they have a position in the plan.

use std::sync::Arc;

use broadloom_ir::kernel::{KernelOutput, Sink};
use broadloom_ir::{Axes, DType};

use crate::fuse::plan::{
    Beginning, Index, ParamSource, Recurrence, StageRoutine, state_shape, written_shape,
};
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::shape::Shape;
use smallvec::SmallVec;

/// The source of a kernel's input, before temporaries are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Slot(u32),
    Index,
    Node(NodeId),
    /// Words of this dtype of the stream of the key in a slot.
    SlotWords(u32, DType),
    /// Words of this dtype of the stream of the key that a cut node is.
    NodeWords(NodeId, DType),
}

/// A kernel whose inputs and outputs may refer to cut nodes, which have no temporaries yet.
pub struct Draft {
    pub kernel: Kernel,
    pub shape: Shape,
    pub inputs: Vec<(Origin, Arc<Layout>)>,
    pub tables: Vec<(Origin, Arc<Layout>)>,
    pub params: Vec<ParamSource>,
    pub outputs: Vec<DraftTarget>,
    /// The axes along which elements are reduced or scanned.
    pub axes: Axes,
    /// The state in which a scan begins.
    pub beginning: Beginning,
    /// The recurrence whose step the kernel is.
    pub recurrence: Option<Recurrence>,
    /// The part of the output that is written, if other kernels write the rest of it.
    pub part: Option<OutputPart>,
    /// The routine that computes the outputs instead of the kernel.
    pub routine: Option<StageRoutine>,
    /// The graph node of each instruction.
    pub nodes: Vec<NodeId>,
}

impl Draft {
    /// The cut nodes into which the elements are reduced or scanned; none for outputs that are stored.
    pub fn combined(&self) -> impl Iterator<Item = NodeId> {
        self.outputs.iter().zip(&self.kernel.outputs).filter_map(|(target, output)| match target {
            DraftTarget::Node(id) if self.recurrence.is_some() || output.sink != Sink::Store => Some(*id),
            DraftTarget::Node(_) | DraftTarget::Root(_) => None,
        })
    }

    /// The dtype and shape of each output: of the whole, if only a part of it is written.
    pub fn results(&self) -> SmallVec<[(DType, Shape); 2]> {
        if let Some(routine) = &self.routine {
            return routine.results.iter().cloned().collect();
        }
        let shape = |(i, output): (usize, &KernelOutput)| match (&self.recurrence, &self.part) {
            (Some(of), _) if i < of.states => state_shape(&self.shape, of.axis),
            (_, Some(part)) => part.whole.clone(),
            _ => written_shape(&self.shape, output.sink, self.axes, self.beginning),
        };
        self.kernel.result_dtypes().zip(self.kernel.outputs.iter().enumerate().map(shape)).collect()
    }
}

/// A part of a cut node or a root.
pub struct OutputPart {
    /// The index of its first element.
    pub at: Index,
    /// The shape of the whole.
    pub whole: Shape,
}

/// The destination of an output.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum DraftTarget {
    Root(u32),
    Node(NodeId),
}
