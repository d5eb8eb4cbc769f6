//! A program of array operations as plain data, which a generator, a test or a parser creates.
//!
//! A step refers to earlier steps only. A program may be ill-typed; [`Program::run`] checks it.

use broadloom_core::draws::DrawCall;
use broadloom_core::graph::Semantics;
use broadloom_core::node::StepOrder;
use broadloom_core::routine::{ScatterMode, SegmentFunction};
use broadloom_core::{DType, Literal, Op, Promotion};

use crate::reduction::{Cumulative, Reduction, VecDot};
use crate::tensor::Tensor;

/// An operand of an op.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// The result of an earlier step.
    Step(usize),
    /// A number without a dtype.
    Literal(Literal),
}

impl PartialEq for Arg {
    /// Literals are equal if their bits are, including NaNs.
    fn eq(&self, other: &Arg) -> bool {
        match (*self, *other) {
            (Arg::Step(a), Arg::Step(b)) => a == b,
            (Arg::Literal(Literal::Float(a)), Arg::Literal(Literal::Float(b))) => a.to_bits() == b.to_bits(),
            (Arg::Literal(a), Arg::Literal(b)) => a == b,
            _ => false,
        }
    }
}

/// Python's `start:stop:step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PySlice {
    /// The first index, if given.
    pub start: Option<isize>,
    /// The index before which to stop, if given.
    pub stop: Option<isize>,
    /// The distance between indices; not 0.
    pub step: isize,
}

/// A view: a change of shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Slices of the first axes; the other axes are kept.
    Slice(Vec<PySlice>),
    /// Axis `i` of the result is the listed axis of the array.
    PermuteDims(Vec<isize>),
    /// Repeats along new leading axes and along axes of extent 1.
    BroadcastTo(Vec<usize>),
    /// A row-major reshape; one extent may be −1.
    Reshape(Vec<isize>),
    /// A new axis of extent 1.
    ExpandDims(isize),
    /// Removes an axis of extent 1.
    Squeeze(isize),
    /// Reverses an axis.
    Flip(isize),
    /// Selects an index (second field) of an axis (first field), and removes the axis.
    IndexAxis(isize, isize),
    /// Windows of this many adjacent elements of an axis (second field), along a new last axis.
    SlidingWindow(usize, isize),
}

/// How indices refer to the elements that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeKind {
    /// The axes of the indices take the place of the axis.
    Take,
    /// Each position on the other axes has its own indices.
    AlongAxis,
}

/// A function that reads whole arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeArrayCall {
    /// The elements along an axis in order.
    Sort {
        /// The axis.
        axis: isize,
        /// Whether the order is descending.
        descending: bool,
    },
    /// The indices that put the elements along an axis in order.
    ArgSort {
        /// The axis.
        axis: isize,
        /// Whether the order is descending.
        descending: bool,
    },
    /// The first elements along an axis in order, or their indices.
    TopK {
        /// The number of elements.
        k: usize,
        /// The axis.
        axis: isize,
        /// Whether the order is descending.
        largest: bool,
        /// Whether the result is the indices.
        is_indices: bool,
    },
    /// For each element of the second operand, the index before which it is inserted in the first one.
    SearchSorted {
        /// Whether the index is the last such one.
        right: bool,
    },
    /// The reduction of the rows of each label; the labels are the last operand, and of a count the only one.
    Segments {
        /// The function of the rows.
        function: SegmentFunction,
        /// The number of labels.
        segments: usize,
    },
    /// The first operand, changed at the positions that are the second one by the elements of the third.
    Scatter(ScatterMode),
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A row-major array in memory.
    Input(Tensor),
    /// A number with a dtype: an array without axes.
    Constant(DType, u64),
    /// A function applied to operands.
    Apply(Op, Vec<Arg>),
    /// A conversion.
    Cast(usize, DType),
    /// A view.
    View(usize, View),
    /// Arrays of one dtype, joined along an axis.
    Concat(Vec<usize>, isize),
    /// Elements of an array (second field) at indices (third field) of an axis (last field).
    Take(TakeKind, usize, usize, isize),
    /// A function of whole arrays.
    WholeArray(WholeArrayCall, Vec<usize>),
    /// A draw from a key, the first operand; the others are the distribution's parameters.
    Draw(Box<DrawCall>, Vec<Arg>),
    /// A reduction along axes.
    Reduce(usize, Reduction),
    /// A scan along an axis.
    Scan(usize, Cumulative),
    /// A dot product along an axis.
    VecDot(usize, usize, VecDot),
    /// A value that a loop carries, after the loop.
    While(Box<While>, usize),
    /// A value of a recurrence: the last value of a state, or an output.
    Recurrence(Box<RandomRecurrence>, usize),
}

/// A loop: each element repeats the body while its condition holds.
///
/// The body is a list of steps without arrays, views and reductions, which refer to each other by numbers of their own: first
/// the carried values, then the captured ones, then the steps of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// The steps with the initial values.
    pub state: Vec<usize>,
    /// The steps whose values the body uses.
    pub captured: Vec<usize>,
    /// The steps of the body: functions, conversions, constants, loops, and takes from arrays, which are steps of the body as well.
    pub body: Vec<Step>,
    /// The step of the body that is the condition.
    pub condition: usize,
    /// The step of the body that is the next value, for each carried value.
    pub next: Vec<usize>,
    /// The maximum number of iterations.
    pub limit: Option<u64>,
}

/// A recurrence: along an axis, each step computes the next states and the outputs from the states before and the elements of the
/// inputs. In the canonical order, it combines two elements instead, of which the left ones take the place of the states.
///
/// The body is like that of a [`While`]. Its values are first the states, then the elements of the inputs, the captured values, and
/// the steps of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomRecurrence {
    /// The steps with the initial values, which lack the axis.
    pub state: Vec<usize>,
    /// The steps whose elements the body is given one after another.
    pub inputs: Vec<usize>,
    /// The steps whose values the body uses, which lack the axis, and the tables of which it takes elements.
    pub captured: Vec<usize>,
    /// The steps of the body: functions, conversions, constants, loops, and takes.
    pub body: Vec<Step>,
    /// The step of the body that is the next value, for each state.
    pub next: Vec<usize>,
    /// The steps of the body that are the outputs.
    pub outputs: Vec<usize>,
    /// The axis of the inputs, counted from the end: −1 is the last.
    pub axis: isize,
    /// The order of the steps.
    pub order: StepOrder,
}

impl RandomRecurrence {
    /// The operands, in the order of the body's first values.
    pub fn operands(&self) -> Vec<usize> {
        [&self.state[..], &self.inputs, &self.captured].concat()
    }

    /// Whether a value of the body is a table, of which it takes elements.
    pub fn is_table(&self, value: usize) -> bool {
        is_table(&self.body, value)
    }

    /// The captured steps that are no tables.
    pub fn captured_elements(&self) -> Vec<usize> {
        let first = self.state.len() + self.inputs.len();
        let captured = self.captured.iter().enumerate();
        captured.filter(|(i, _)| !self.is_table(first + i)).map(|(_, &arg)| arg).collect()
    }
}

/// Whether the steps of a body take elements of a value.
pub(super) fn is_table(body: &[Step], value: usize) -> bool {
    body.iter().any(|step| matches!(step, Step::Take(_, table, ..) if *table == value))
}

impl Step {
    /// Whether the step is a reduction, a scan or a dot product.
    pub fn is_reduction(&self) -> bool {
        matches!(self, Step::Reduce(..) | Step::Scan(..) | Step::VecDot(..))
    }

    /// Whether the step is a value of a loop or a recurrence.
    pub fn is_loop(&self) -> bool {
        matches!(self, Step::While(..) | Step::Recurrence(..))
    }

    /// The earlier steps that the step refers to.
    pub fn args(&self) -> Vec<usize> {
        match self {
            Step::Input(_) | Step::Constant(..) => Vec::new(),
            Step::Apply(_, args) | Step::Draw(_, args) => {
                args.iter().filter_map(|arg| if let Arg::Step(i) = arg { Some(*i) } else { None }).collect()
            }
            Step::Cast(arg, _) | Step::View(arg, _) | Step::Reduce(arg, _) | Step::Scan(arg, _) => vec![*arg],
            Step::VecDot(x, y, _) => vec![*x, *y],
            Step::Take(_, x, indices, _) => vec![*x, *indices],
            Step::Concat(args, _) | Step::WholeArray(_, args) => args.clone(),
            Step::While(of, _) => [&of.state[..], &of.captured].concat(),
            Step::Recurrence(of, _) => of.operands(),
        }
    }

    /// Replaces the earlier steps that the step refers to.
    pub fn map_args(&mut self, to: impl Fn(usize) -> usize) {
        match self {
            Step::Input(_) | Step::Constant(..) => {}
            Step::Apply(_, args) | Step::Draw(_, args) => args.iter_mut().for_each(|arg| {
                if let Arg::Step(i) = arg {
                    *i = to(*i);
                }
            }),
            Step::Cast(arg, _) | Step::View(arg, _) | Step::Reduce(arg, _) | Step::Scan(arg, _) => {
                *arg = to(*arg);
            }
            Step::VecDot(x, y, _) => (*x, *y) = (to(*x), to(*y)),
            Step::Take(_, x, indices, _) => (*x, *indices) = (to(*x), to(*indices)),
            Step::Concat(args, _) | Step::WholeArray(_, args) => {
                args.iter_mut().for_each(|arg| *arg = to(*arg))
            }
            Step::While(of, _) => of.state.iter_mut().chain(&mut of.captured).for_each(|arg| *arg = to(*arg)),
            Step::Recurrence(of, _) => {
                let args = of.state.iter_mut().chain(&mut of.inputs).chain(&mut of.captured);
                args.for_each(|arg| *arg = to(*arg));
            }
        }
    }
}

/// A list of steps, and the requested results.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The steps in order; each may refer to earlier ones.
    pub steps: Vec<Step>,
    /// The steps whose values are requested together, possibly with repetitions.
    pub roots: Vec<usize>,
    /// The rule for operands of different kinds.
    pub promotion: Promotion,
    /// The options that affect results.
    pub semantics: Semantics,
}
