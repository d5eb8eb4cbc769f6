//! Calls whose arguments are more than operands, with these arguments parsed.

use std::ops::Range;

use smallvec::SmallVec;

use super::parameters::{ReductionName, ViewName};
use crate::DType;

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
    /// What a variance subtracts from the number of elements.
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
}
