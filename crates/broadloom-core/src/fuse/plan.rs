//! The result of fusion: kernels in the order in which they run, each with its inputs and outputs.

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
    /// The caller's array with this number.
    Slot(u32),
    /// The temporary with this number, which an earlier kernel has written.
    Temp(u32),
    /// No memory: the element at position `n` of the input's layout is the int64 number `n`.
    Index,
}

/// The source of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamSource {
    /// The caller's literal with this number.
    Slot(u32),
    /// A value fixed by rewriting.
    Fixed(Scalar),
}

/// The destination of a kernel's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The root with this number.
    Root(u32),
    /// The temporary with this number, which is contiguous.
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

/// An array that a kernel reads: its source, and the element for each index of the kernel's whole index space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputView {
    /// The source of the elements.
    pub source: Source,
    /// The position of the element for each index; strides of 0 repeat elements.
    pub layout: Arc<Layout>,
}

/// A kernel with its index space, what it reads and what it writes.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The loop body.
    pub kernel: Arc<Kernel>,
    /// The extents of the loops: the shape of the index space.
    pub shape: Shape,
    /// The inputs, one for each input of the kernel. For a scan that continues another one, there is a further input with the
    /// totals of the blocks before its elements.
    pub inputs: Vec<InputView>,
    /// The sources of the parameters, one for each parameter of the kernel.
    pub params: Vec<ParamSource>,
    /// The destinations of the outputs, one for each output of the kernel.
    pub outputs: Vec<Target>,
    /// The axes of the shape along which elements are reduced or scanned; none if all outputs are stored.
    pub axes: Axes,
    /// The state in which a scan begins.
    pub beginning: Beginning,
}

/// The state in which a scan begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// With its first element as the first result.
    #[default]
    First,
    /// With the sum or product of no elements, which is an additional first result.
    Initial,
    /// After some blocks of 2^level elements. Their totals are the stage's last input, which is contiguous.
    After {
        /// The number of blocks before the scan.
        blocks: usize,
        /// log2 of the number of elements of a block.
        level: u8,
    },
}

impl Stage {
    /// Whether all elements are stored as they are computed.
    pub fn stores(&self) -> bool {
        self.kernel.outputs.iter().all(|output| output.sink == Sink::Store)
    }

    /// Whether elements are reduced along axes. If these are the last axes, elements may be stored as well.
    pub fn reduces(&self) -> bool {
        self.reductions().any(|reduction| reduction.is_some())
    }

    /// For each output, the reduction of its elements along axes; `None` if they are stored or scanned.
    pub fn reductions(&self) -> impl Iterator<Item = Option<Reduction>> {
        self.kernel.outputs.iter().map(|output| match output.sink {
            Sink::Reduce(reduction) => Some(reduction),
            Sink::Store | Sink::Scan(_) => None,
        })
    }

    /// The scan of the outputs' elements and its axis, if the stage is a scan.
    pub fn scan(&self) -> Option<(Scan, usize)> {
        match (self.kernel.outputs.first()?.sink, self.axes.iter().next()) {
            (Sink::Scan(scan), Some(axis)) => Some((scan, axis)),
            _ => None,
        }
    }

    /// The names of the reductions or scans, one for each output that is not stored.
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

    /// Describes an input by name and dtype: a value of the kernel, or the totals before a scan.
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

/// The shape of an output for elements of this shape: reduced or scanned as `sink` says.
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
    // Inference has made a shape of these extents before, so they are valid.
    Shape::new(&extents).unwrap_or_default()
}

/// Kernels in the order in which they run, and the temporaries between them.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The stages in the order in which they run.
    pub stages: Vec<Stage>,
    /// The dtype and shape of each temporary.
    pub temps: Vec<(DType, Shape)>,
    /// The dtype and shape of each root.
    pub roots: Vec<(DType, Shape)>,
    /// The reasons for the cuts of the graph, if the plan was made by [`explain`](super::explain).
    pub decisions: Vec<Decision>,
    /// For each stage, the node behind each instruction and then the nodes to which elements are reduced or scanned, if the plan
    /// was made by [`explain`](super::explain).
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

/// Describes the memory order of a layout's elements in words.
pub fn describe(layout: &Layout) -> String {
    if layout.is_contiguous() {
        "contiguous".to_string()
    } else if layout.strides.iter().zip(layout.shape.iter()).all(|(&s, &e)| s == 0 || e == 1) {
        "one element for all".to_string()
    } else {
        format!("strides {:?}", &layout.strides[..])
    }
}
