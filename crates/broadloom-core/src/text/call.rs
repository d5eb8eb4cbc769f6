//! Parsed calls of functions that take more than operands.

use std::ops::Range;

use smallvec::SmallVec;

use super::parameters::{ReductionName, ViewName};
use crate::{DType, Literal, Scalar};

/// A call of a reduction as it is written, with unchecked axes. Arguments that the function does not take have their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionCall {
    /// The function.
    pub name: ReductionName,
    /// The axes; `None` for all of them. A function that takes one axis has at most one here.
    pub axis: Option<SmallVec<[isize; 4]>>,
    /// Whether reduced axes are kept, with an extent of 1.
    pub keepdims: bool,
    /// The dtype of the accumulator and of the result; `None` if it follows from the operand's dtype.
    pub dtype: Option<DType>,
    /// The correction that a variance subtracts from the number of elements.
    pub correction: f64,
    /// The order of a norm.
    pub ord: f64,
    /// Whether a cumulative sum or product begins with the sum or product of no elements.
    pub include_initial: bool,
}

impl ReductionCall {
    /// A call of the function without options.
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

/// A call of a function whose elements are computed from their indices, with unchecked numbers and extents.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneratorCall {
    /// Evenly spaced numbers: `start`, `start + step`, and so on, without `stop`.
    Arange {
        /// The first number.
        start: Literal,
        /// The number to stop before.
        stop: Literal,
        /// The distance from one number to the next.
        step: Literal,
        /// The dtype; `None` for int64, or for float64 if one of the numbers is not an integer.
        dtype: Option<DType>,
    },
    /// A given number of evenly spaced numbers in an interval.
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
    /// An array filled with one value.
    Full {
        /// The extents.
        shape: SmallVec<[isize; 4]>,
        /// The value.
        value: Element,
        /// The dtype; `None` for the dtype of the value.
        dtype: Option<DType>,
    },
    /// The index of each element of the operand along an axis.
    Indices {
        /// The axis.
        axis: isize,
    },
}

/// A number in a text, with or without a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// A number without a dtype.
    Literal(Literal),
    /// A number with a dtype.
    Scalar(Scalar),
}

/// A call whose arguments other than operands have been parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Astype(DType),
    View {
        name: ViewName,
        /// The integers of a list, as a range of [`Ast::integers`](super::Ast::integers).
        list: Range<u32>,
        axis: isize,
        index: isize,
    },
    Reduction(ReductionCall),
    Generator(GeneratorCall),
}
