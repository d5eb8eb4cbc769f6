//! The result of fusion: kernels in run order, with the inputs and outputs of each.

use std::fmt;
use std::sync::Arc;

use broadloom_math::DType;

use crate::fuse::decision::Decision;
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::scalar::Scalar;
use crate::shape::Shape;

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
    /// Why the graph was cut as it was; of [`explain`](super::explain) only.
    pub decisions: Vec<Decision>,
    /// For each stage the node behind each instruction; of [`explain`](super::explain) only.
    pub computes: Vec<Vec<NodeId>>,
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
