//! The result of fusion: kernels in run order, with the inputs and outputs of each.

use std::fmt;
use std::sync::Arc;

use broadloom_ir::kernel::{KernelOutput, Sink};
use broadloom_ir::{Axes, Reduction, Scan};
use broadloom_math::DType;
use smallvec::SmallVec;

use crate::fuse::decision::Decision;
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::scalar::Scalar;
use crate::shape::Shape;

/// The source of a kernel's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The caller's array of this number.
    Slot(u32),
    /// A temporary that an earlier kernel wrote.
    Temp(u32),
    /// No memory: the element at place `n` of the input's layout is the number `n`, of int64.
    Index,
}

/// The source of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamSource {
    /// The caller's literal of this number.
    Slot(u32),
    /// A value fixed by rewriting.
    Fixed(Scalar),
}

/// The destination of a kernel's output.
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

/// A kernel with its index space, what it reads and what it writes.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The loop body.
    pub kernel: Arc<Kernel>,
    /// The extents of the loops.
    pub shape: Shape,
    /// One per kernel input; and for a scan that continues another one, the totals of the blocks before its elements.
    pub inputs: Vec<InputView>,
    /// One per kernel parameter.
    pub params: Vec<ParamSource>,
    /// One per kernel output.
    pub outputs: Vec<Target>,
    /// The axes of the shape along which elements are combined, where outputs are not stored.
    pub axes: Axes,
    /// How a scan begins.
    pub beginning: Beginning,
}

/// How a scan begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// With its first element.
    #[default]
    First,
    /// With the sum or product of no elements, which is an element of the result.
    Initial,
    /// After some blocks of 2^level elements, whose totals are the stage's last input, and contiguous.
    After {
        /// The number of blocks.
        blocks: usize,
        /// log2 of their number of elements.
        level: u8,
    },
}

impl Stage {
    /// Whether all elements are stored as they are computed.
    pub fn stores(&self) -> bool {
        self.kernel.outputs.iter().all(|output| output.sink == Sink::Store)
    }

    /// Whether elements are reduced along axes. Others may be stored as well, if these axes are the last ones.
    pub fn reduces(&self) -> bool {
        self.reductions().any(|reduction| reduction.is_some())
    }

    /// The reduction of each output's elements along axes; `None` where they are stored or scanned.
    pub fn reductions(&self) -> impl Iterator<Item = Option<Reduction>> {
        self.kernel.outputs.iter().map(|output| match output.sink {
            Sink::Reduce(reduction) => Some(reduction),
            Sink::Store | Sink::Scan(_) => None,
        })
    }

    /// The scan of each output's elements and its axis, or `None`.
    pub fn scan(&self) -> Option<(Scan, usize)> {
        match (self.kernel.outputs.first()?.sink, self.axes.iter().next()) {
            (Sink::Scan(scan), Some(axis)) => Some((scan, axis)),
            _ => None,
        }
    }

    /// The names of what elements are combined by, for each output that is not stored.
    pub fn combined_by(&self) -> impl Iterator<Item = &'static str> {
        self.kernel.outputs.iter().filter_map(|output| match output.sink {
            Sink::Store => None,
            Sink::Reduce(reduction) => Some(reduction.name()),
            Sink::Scan(scan) => Some(scan.name()),
        })
    }

    /// The dtype and shape of each output.
    pub fn results(&self) -> impl Iterator<Item = (DType, Shape)> {
        let shape =
            |output: &KernelOutput| written_shape(&self.shape, output.sink, self.axes, self.beginning);
        self.kernel.result_dtypes().zip(self.kernel.outputs.iter().map(shape))
    }

    /// The name and dtype of an input: a value of the kernel, or the totals before a scan.
    pub fn read(&self, input: usize) -> (String, DType) {
        match self.kernel.inputs.get(input) {
            Some(&dtype) => (format!("{:?}", self.kernel.input(input)), dtype),
            None => ("totals".to_owned(), self.kernel.dtype(self.kernel.outputs[0].value)),
        }
    }

    /// Describes an output in words: a value of the kernel, or the reduction of its elements.
    pub fn written(&self, output: usize) -> String {
        let KernelOutput { value, sink } = self.kernel.outputs[output];
        match sink {
            Sink::Store => format!("{value:?}"),
            Sink::Reduce(reduction) => format!("{reduction}({value:?}, axis={})", self.axes),
            Sink::Scan(scan) => {
                let axis = self.axes.iter().next().unwrap_or(0);
                let beginning = match self.beginning {
                    Beginning::First => String::new(),
                    Beginning::Initial => ", include_initial=true".to_owned(),
                    Beginning::After { blocks, level } => {
                        format!(", after {blocks} blocks of {}", 1u64 << level)
                    }
                };
                format!("{scan}({value:?}, axis={axis}{beginning})")
            }
        }
    }
}

/// The shape of what is written of elements of this shape.
pub(super) fn written_shape(shape: &Shape, sink: Sink, axes: Axes, beginning: Beginning) -> Shape {
    let extents: SmallVec<[usize; 4]> = match sink {
        Sink::Store => return shape.clone(),
        Sink::Reduce(_) => axes.reduced(shape, false, 1).collect(),
        Sink::Scan(_) => {
            let initial = usize::from(beginning == Beginning::Initial);
            let longer =
                |(i, &extent): (usize, &usize)| if axes.contains(i) { extent + initial } else { extent };
            shape.iter().enumerate().map(longer).collect()
        }
    };
    // Inference has made a shape of these extents before.
    Shape::new(&extents).unwrap_or_default()
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
    /// The reasons for the cuts of the graph; of [`explain`](super::explain) only.
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
                let (name, _) = stage.read(j);
                writeln!(f, "  {name} reads {}, {}", input.source, describe(&input.layout))?;
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

/// The memory order of a layout's elements, in words.
pub fn describe(layout: &Layout) -> String {
    if layout.is_contiguous() {
        "contiguous".to_string()
    } else if layout.strides.iter().zip(layout.shape.iter()).all(|(&s, &e)| s == 0 || e == 1) {
        "one element for all".to_string()
    } else {
        format!("strides {:?}", &layout.strides[..])
    }
}
