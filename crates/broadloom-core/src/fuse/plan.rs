//! The result of fusion: kernels in run order, with the inputs and outputs of each.

use std::fmt;
use std::sync::Arc;

use broadloom_ir::{Axes, Reduction, Scan};
use broadloom_math::DType;
use smallvec::SmallVec;

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
    /// No memory: the element at place `n` of the input's layout is the number `n`, of int64.
    Index,
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
            Source::Index => f.write_str("generated numbers"),
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
    pub layout: Arc<Layout>,
}

/// What becomes of the elements that a stage's kernel computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are stored: an output has the stage's shape.
    Store,
    /// They are combined along axes: an output has the stage's shape without these.
    Reduce {
        /// The axes of the stage's shape.
        axes: Axes,
        /// How, for each output.
        reductions: SmallVec<[Reduction; 2]>,
    },
    /// Each is combined with those before it: the one output has the stage's shape, and one more along the axis with the
    /// initial element.
    Scan {
        /// How.
        scan: Scan,
        /// The axis of the stage's shape.
        axis: usize,
        /// Whether the initial element stands in front.
        initial: bool,
    },
}

impl Action {
    /// The shape of what is written by a stage of this shape.
    pub fn output_shape(&self, shape: &Shape) -> Shape {
        let extents: SmallVec<[usize; 4]> = match self {
            Action::Store => return shape.clone(),
            Action::Reduce { axes, .. } => axes.reduced(shape, false, 1).collect(),
            Action::Scan { axis, initial, .. } => {
                let longer = |(i, &extent): (usize, &usize)| extent + usize::from(*initial && i == *axis);
                shape.iter().enumerate().map(longer).collect()
            }
        };
        // Inference has made a shape of these extents before.
        Shape::new(&extents).unwrap_or_default()
    }

    /// The names of what elements are combined by.
    pub fn names(&self) -> SmallVec<[&'static str; 2]> {
        match self {
            Action::Store => SmallVec::new(),
            Action::Reduce { reductions, .. } => {
                reductions.iter().map(|reduction| reduction.name()).collect()
            }
            Action::Scan { scan, .. } => [scan.name()].into_iter().collect(),
        }
    }

    /// Whether elements are stored as they are computed.
    pub fn is_store(&self) -> bool {
        *self == Action::Store
    }
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
    /// What becomes of the elements.
    pub action: Action,
}

impl Stage {
    /// The shape of its outputs.
    pub fn output_shape(&self) -> Shape {
        self.action.output_shape(&self.shape)
    }

    /// What an output is, in words: a value of the kernel, or what its elements are combined to.
    pub fn written(&self, output: usize) -> String {
        let value = self.kernel.outputs[output];
        match &self.action {
            Action::Store => format!("{value:?}"),
            Action::Reduce { axes, reductions } => format!("{}({value:?}, axis={axes})", reductions[output]),
            Action::Scan { scan, axis, initial } => {
                let initial = if *initial { ", include_initial=true" } else { "" };
                format!("{scan}({value:?}, axis={axis}{initial})")
            }
        }
    }
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
    /// For each stage the node behind each instruction, and then those that their elements are combined to; of
    /// [`explain`](super::explain) only.
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
                writeln!(f, "  {} is written to {target}", stage.written(j))?;
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
