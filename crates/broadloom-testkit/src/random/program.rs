//! A program of array operations as plain data, which a generator, a test or a parser writes down.
//!
//! A step refers to earlier steps only. A value of these types need not type: [`Program::run`] decides that.

use broadloom_core::graph::Semantics;
use broadloom_core::{DType, Literal, Op, Promotion};

use crate::reduction::{Cumulative, Reduction, VecDot};
use crate::tensor::Tensor;

/// An operand of an op.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// The result of an earlier step.
    Step(usize),
    /// A number without a dtype of its own.
    Literal(Literal),
}

impl PartialEq for Arg {
    /// Literals are equal if their bits are, NaNs too.
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
    /// The index to stop before, if given.
    pub stop: Option<isize>,
    /// From one index to the next, not 0.
    pub step: isize,
}

/// A change of shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Ranges of the first axes; the others are taken whole.
    Slice(Vec<PySlice>),
    /// Axis `i` of the result is this axis of the array.
    PermuteDims(Vec<isize>),
    /// Repeats along new leading axes and along axes of extent 1.
    BroadcastTo(Vec<usize>),
    /// A reshaped view, in row-major order; one extent may be −1.
    Reshape(Vec<isize>),
    /// A new axis of extent 1.
    ExpandDims(isize),
    /// Without an axis of extent 1.
    Squeeze(isize),
    /// Reversed along an axis.
    Flip(isize),
    /// One index of an axis, without the axis: axis, index.
    IndexAxis(isize, isize),
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An array in memory, row by row.
    Input(Tensor),
    /// A number that has met a dtype: a 0-d array without memory.
    Constant(DType, u64),
    /// A function.
    Apply(Op, Vec<Arg>),
    /// A conversion.
    Cast(usize, DType),
    /// A view.
    View(usize, View),
    /// The elements along axes, combined to one.
    Reduce(usize, Reduction),
    /// Along an axis, each element combined with those before it.
    Scan(usize, Cumulative),
    /// The sums of the products along an axis.
    VecDot(usize, usize, VecDot),
}

impl Step {
    /// Whether elements along axes are combined.
    pub fn is_reduction(&self) -> bool {
        matches!(self, Step::Reduce(..) | Step::Scan(..) | Step::VecDot(..))
    }

    /// The earlier steps that it refers to.
    pub fn args(&self) -> Vec<usize> {
        match self {
            Step::Input(_) | Step::Constant(..) => Vec::new(),
            Step::Apply(_, args) => {
                args.iter().filter_map(|arg| if let Arg::Step(i) = arg { Some(*i) } else { None }).collect()
            }
            Step::Cast(arg, _) | Step::View(arg, _) | Step::Reduce(arg, _) | Step::Scan(arg, _) => vec![*arg],
            Step::VecDot(x, y, _) => vec![*x, *y],
        }
    }

    /// Maps the earlier steps that the step refers to.
    pub fn map_args(&mut self, to: impl Fn(usize) -> usize) {
        match self {
            Step::Input(_) | Step::Constant(..) => {}
            Step::Apply(_, args) => args.iter_mut().for_each(|arg| {
                if let Arg::Step(i) = arg {
                    *i = to(*i);
                }
            }),
            Step::Cast(arg, _) | Step::View(arg, _) | Step::Reduce(arg, _) | Step::Scan(arg, _) => {
                *arg = to(*arg);
            }
            Step::VecDot(x, y, _) => (*x, *y) = (to(*x), to(*y)),
        }
    }
}

/// Steps, and the requested results.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// In order; each may refer to those before it.
    pub steps: Vec<Step>,
    /// The steps whose values are requested together, repetitions included.
    pub roots: Vec<usize>,
    /// How dtypes of different kinds meet.
    pub promotion: Promotion,
    /// The options that are part of its meaning.
    pub semantics: Semantics,
}
