//! Calls whose arguments are more than operands, with these arguments parsed.

use std::ops::Range;

use smallvec::SmallVec;

use super::parameters::{ReductionName, ViewName};
use crate::{DType, Literal, Scalar};

/// A reduction as it is written, with unchecked axes. What a function does not take has its default.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionCall {
    /// The function.
    pub name: ReductionName,
    /// The axes; `None` for all of them. One axis at most of a function that takes one.
    pub axis: Option<SmallVec<[isize; 4]>>,
    /// Whether reduced axes stay, with an extent of 1.
    pub keepdims: bool,
    /// The dtype of the accumulator and of the result; `None` for the one that follows from the operand's.
    pub dtype: Option<DType>,
    /// The correction that a variance subtracts from the number of elements.
    pub correction: f64,
    /// The order of a norm.
    pub ord: f64,
    /// Whether a cumulative sum or product begins with that of nothing.
    pub include_initial: bool,
}

impl ReductionCall {
    /// The function without any option.
    pub fn new(name: ReductionName) -> ReductionCall {
        let last = || SmallVec::from_slice(&[-1]);
        ReductionCall {
            name,
            axis: (name == ReductionName::VecDot).then(last),
            keepdims: false,
            dtype: (name == ReductionName::Count).then_some(DType::Int64),
            correction: 0.0,
            ord: 2.0,
            include_initial: false,
        }
    }
}

/// A call of a function whose elements come from their indices, with unchecked numbers and extents.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneratorCall {
    /// `start`, `start + step`, … up to and without `stop`.
    Arange {
        /// The first number.
        start: Literal,
        /// The number to stop before.
        stop: Literal,
        /// From one number to the next.
        step: Literal,
        /// `None` for int64 or, if a number is no integer, float64.
        dtype: Option<DType>,
    },
    /// Numbers that are evenly spaced.
    Linspace {
        /// The first number.
        start: Literal,
        /// The end of the interval.
        stop: Literal,
        /// The number of elements.
        num: isize,
        /// Whether the last number is the end of the interval.
        endpoint: bool,
        /// The dtype.
        dtype: DType,
    },
    /// A matrix with ones along a diagonal.
    Eye {
        /// The number of rows.
        rows: isize,
        /// The number of columns.
        cols: isize,
        /// The column of the diagonal in row 0.
        k: isize,
        /// The dtype.
        dtype: DType,
    },
    /// One value everywhere.
    Full {
        /// The extents.
        shape: SmallVec<[isize; 4]>,
        /// The value.
        value: Element,
        /// `None` for that of the value.
        dtype: Option<DType>,
    },
    /// The index of each element of the operand along an axis.
    Indices {
        /// The axis.
        axis: isize,
    },
}

/// A number in a text, with a dtype or without one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// Without a dtype.
    Literal(Literal),
    /// With a dtype.
    Scalar(Scalar),
}

/// A call with its arguments parsed, but for its operands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Astype(DType),
    View {
        name: ViewName,
        /// A range of [`Ast::integers`](super::Ast::integers).
        list: Range<u32>,
        axis: isize,
        index: isize,
    },
    Reduction(ReductionCall),
    Generator(GeneratorCall),
}
