//! The result of fusion: kernels in execution order, with the inputs and outputs of each.

use std::fmt;
use std::sync::Arc;

use broadloom_ir::kernel::{KernelOutput, Sink};
use broadloom_ir::loop_plan::Generated;
use broadloom_ir::{Axes, Reduction, Scan};
use broadloom_math::DType;
use smallvec::SmallVec;

use crate::fuse::decision::Decision;
use crate::graph::NodeId;
use crate::kernel::Kernel;
use crate::layout::Layout;
use crate::node::StepOrder;
use crate::routine::Routine;
use crate::scalar::Scalar;
use crate::shape::Shape;

/// The source of a kernel's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The caller's array with this number.
    Slot(u32),
    /// The temporary with this number, which an earlier kernel has written.
    Temp(u32),
    /// Generated numbers, without memory: the element at offset `n` of the input's layout is the int64 number `n`.
    Index,
    /// The words of the random stream of the key in the caller's array with this number: the element at offset `n` of the
    /// input's layout is element `n` of the stream.
    SlotWords(u32),
    /// The words of the random stream of the key in the temporary with this number.
    TempWords(u32),
}

impl Source {
    /// How the elements are generated; `None` if they are in memory.
    pub fn generated(self) -> Option<Generated> {
        match self {
            Source::Slot(_) | Source::Temp(_) => None,
            Source::Index => Some(Generated::Numbers),
            Source::SlotWords(_) | Source::TempWords(_) => Some(Generated::Words),
        }
    }

    /// The temporary that is read: for elements, or for the key that they are generated from.
    pub fn temp(self) -> Option<u32> {
        match self {
            Source::Temp(temp) | Source::TempWords(temp) => Some(temp),
            Source::Slot(_) | Source::Index | Source::SlotWords(_) => None,
        }
    }
}

/// The source of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamSource {
    /// The caller's literal with this number.
    Slot(u32),
    /// A value that does not change from run to run.
    Fixed(Scalar),
}

/// The destination of a kernel's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The root with this number.
    Root(u32),
    /// The contiguous temporary of this number.
    Temp(u32),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Slot(s) => write!(f, "input {s}"),
            Source::Temp(t) => write!(f, "temporary {t}"),
            Source::Index => f.write_str("generated numbers"),
            Source::SlotWords(s) => write!(f, "random words of input {s}"),
            Source::TempWords(t) => write!(f, "random words of temporary {t}"),
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

/// An array that a kernel reads: the source of its memory, and the layout that gives the element for each index of the
/// kernel's index space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputView {
    /// The source of the memory.
    pub source: Source,
    /// The layout over the kernel's index space; a stride of 0 repeats elements along an axis.
    pub layout: Arc<Layout>,
}

/// A kernel with its index space, its inputs and its outputs.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The loop body.
    pub kernel: Arc<Kernel>,
    /// The extents of the loops: the shape of the index space.
    pub shape: Shape,
    /// One view for each input of the kernel. If the stage continues a longer scan, another view follows: the totals of
    /// the blocks before the stage's elements.
    pub inputs: Vec<InputView>,
    /// The memory of each table of the kernel, whose layouts are contiguous.
    pub tables: Vec<InputView>,
    /// The source of each parameter of the kernel.
    pub params: Vec<ParamSource>,
    /// The destination of each output of the kernel.
    pub outputs: Vec<Target>,
    /// The axes of the shape along which elements are reduced or scanned, for outputs that are not stored.
    pub axes: Axes,
    /// The state in which a scan begins.
    pub beginning: Beginning,
    /// The recurrence whose step the kernel is, if it is one.
    pub recurrence: Option<Recurrence>,
    /// If the stage writes a part of each output, the index of the part's first element. Its shape is that of the stage, and other
    /// stages write the other parts.
    pub part_at: Option<Index>,
    /// The routine that computes the outputs from the tables, if the stage is no kernel: the kernel then has tables and nothing else,
    /// and the shape is that of the first operand.
    pub routine: Option<StageRoutine>,
}

/// A routine that computes the outputs of a stage from its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRoutine {
    /// The routine, with its options.
    pub routine: Routine,
    /// The index of each output among the results of the routine, in ascending order.
    pub items: SmallVec<[u32; 2]>,
    /// The dtype and shape of each output.
    pub results: SmallVec<[(DType, Shape); 2]>,
}

impl StageRoutine {
    /// The definition of an output, in which the operands are the tables.
    pub fn written(&self, output: usize, tables: usize) -> String {
        let names: Vec<String> = (0..tables).map(|i| format!("t{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.routine.written(&names, self.items.get(output).copied().unwrap_or(0))
    }
}

/// An index along each axis.
pub type Index = SmallVec<[usize; 4]>;

/// A recurrence along an axis of a stage.
///
/// The first inputs of the kernel are the states. At the first step they are read from their memory, the initial states,
/// whose layouts repeat them along the axis; at every other step they are the first outputs of the step before it. After the
/// last step these outputs are the results of the shape that lacks the axis. All other outputs are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The number of states.
    pub states: usize,
    /// The axis.
    pub axis: usize,
    /// The order of the steps. If it is backward, the layouts of the inputs are reversed along the axis: their first index is the
    /// last one of the outputs. In the canonical order the inputs after the states are the elements, as many as states.
    pub order: StepOrder,
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order {
            StepOrder::Forward => write!(f, "step by step along axis {}", self.axis),
            StepOrder::Backward => write!(f, "step by step along axis {}, in reverse", self.axis),
            StepOrder::Canonical => write!(f, "combined pair by pair along axis {}", self.axis),
        }
    }
}

/// The state in which a scan begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// The first element of the result is the first element of the operand.
    #[default]
    First,
    /// The scan begins with the sum or product of no elements, which becomes the first element of the result.
    Initial,
    /// The scan continues after some blocks of 2^level elements. The totals of these blocks are the stage's last input,
    /// which is contiguous.
    After {
        /// The number of blocks before the stage's elements.
        blocks: usize,
        /// log2 of the number of elements of a block.
        level: u8,
    },
}

impl Stage {
    /// Whether all outputs are stored element by element.
    pub fn stores(&self) -> bool {
        self.recurrence.is_none()
            && self.routine.is_none()
            && self.kernel.outputs.iter().all(|output| output.sink == Sink::Store)
    }

    /// Whether an output is reduced along axes. If these axes are the last ones, other outputs may be stored.
    pub fn reduces(&self) -> bool {
        self.reductions().any(|reduction| reduction.is_some())
    }

    /// The reduction of each output along the axes; `None` for an output that is stored or scanned.
    pub fn reductions(&self) -> impl Iterator<Item = Option<Reduction>> {
        self.kernel.outputs.iter().map(|output| match output.sink {
            Sink::Reduce(reduction) => Some(reduction),
            Sink::Store | Sink::Scan(_) => None,
        })
    }

    /// The scan of the outputs and its axis; `None` if they are stored or reduced.
    pub fn scan(&self) -> Option<(Scan, usize)> {
        match (self.kernel.outputs.first()?.sink, self.axes.iter().next()) {
            (Sink::Scan(scan), Some(axis)) => Some((scan, axis)),
            _ => None,
        }
    }

    /// The name of the reduction or scan of each output that is not stored.
    pub fn combined_by(&self) -> impl Iterator<Item = &'static str> {
        self.kernel.outputs.iter().filter_map(|output| match output.sink {
            Sink::Store => None,
            Sink::Reduce(reduction) => Some(reduction.name()),
            Sink::Scan(scan) => Some(scan.name()),
        })
    }

    /// The dtype and shape of each output.
    pub fn results(&self) -> impl Iterator<Item = (DType, Shape)> {
        let shape = |(i, output): (usize, &KernelOutput)| match &self.recurrence {
            Some(of) if i < of.states => state_shape(&self.shape, of.axis),
            _ => written_shape(&self.shape, output.sink, self.axes, self.beginning),
        };
        let computed = self.kernel.result_dtypes().zip(self.kernel.outputs.iter().enumerate().map(shape));
        // The kernel of a routine has no outputs.
        self.routine.iter().flat_map(|of| of.results.iter().cloned()).chain(computed)
    }

    /// The name and dtype of an input: a value of the kernel, or the totals that a scan continues from.
    pub fn read(&self, input: usize) -> (String, DType) {
        match self.kernel.inputs.get(input) {
            Some(&dtype) => (format!("{:?}", self.kernel.input(input)), dtype),
            None => ("totals".to_owned(), self.kernel.dtype(self.kernel.outputs[0].value)),
        }
    }

    /// If the stage writes a part of its outputs, where the part begins, in words that follow a target.
    pub fn part(&self) -> String {
        self.part_at.as_ref().map_or_else(String::new, |at| format!(", from {:?} on", &at[..]))
    }

    /// A description of an output: a value of the kernel, or its reduction or scan.
    pub fn written(&self, output: usize) -> String {
        if let Some(routine) = &self.routine {
            return routine.written(output, self.tables.len());
        }
        let KernelOutput { value, sink } = self.kernel.outputs[output];
        match sink {
            Sink::Store if self.recurrence.is_some_and(|of| output < of.states) => {
                format!("{value:?} after the last step")
            }
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

/// The shape of the states of a recurrence along an axis of `shape`.
pub(super) fn state_shape(shape: &Shape, axis: usize) -> Shape {
    let axes: Axes = [axis].into_iter().collect();
    let extents: SmallVec<[usize; 4]> = axes.reduced(shape, false, 1).collect();
    // The extents are valid, since they are some of those of a shape.
    Shape::new(&extents).unwrap_or_default()
}

/// The shape of the output of a kernel with the loops `shape`, after the reduction or scan.
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
    // The extents are valid, since inference has created a shape from them.
    Shape::new(&extents).unwrap_or_default()
}

/// Kernels in execution order, and the temporaries between them.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The stages, in execution order.
    pub stages: Vec<Stage>,
    /// The dtype and shape of each temporary.
    pub temps: Vec<(DType, Shape)>,
    /// The dtype and shape of each root.
    pub roots: Vec<(DType, Shape)>,
    /// The reasons for the cuts of the graph; only recorded by [`explain`](super::explain).
    pub decisions: Vec<Decision>,
    /// For each stage, the node of each instruction, followed by the nodes into which elements are reduced or scanned;
    /// only recorded by [`explain`](super::explain).
    pub computes: Vec<Vec<NodeId>>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, stage) in self.stages.iter().enumerate() {
            match (&stage.recurrence, &stage.routine) {
                (_, Some(of)) => writeln!(f, "stage {i}, {} of {}:", of.routine.name(), stage.shape)?,
                (None, None) => writeln!(f, "stage {i} over {}:", stage.shape)?,
                (Some(of), None) => writeln!(f, "stage {i} over {}, {}:", stage.shape, of)?,
            }
            for (j, input) in stage.inputs.iter().enumerate() {
                let (name, _) = stage.read(j);
                writeln!(f, "  {name} reads {}, {}", input.source, describe(&input.layout))?;
            }
            for (j, table) in stage.tables.iter().enumerate() {
                writeln!(f, "  t{j} is {} of {}", table.source, table.layout.shape)?;
            }
            for (j, target) in stage.outputs.iter().enumerate() {
                writeln!(f, "  {} is written to {target}{}", stage.written(j), stage.part())?;
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
