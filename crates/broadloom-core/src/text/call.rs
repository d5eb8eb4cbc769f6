//! Calls of functions that take more than operands, with the additional arguments parsed.

use std::ops::Range;

use smallvec::SmallVec;

use super::parameters::{RoutineName, TakeName, ViewName};
use crate::draws::Draw;
use crate::padding::Padding;
use crate::reductions::ReductionCall;
use crate::{DType, Literal, Scalar};

/// A call of a function that generates elements from their indices, with unchecked numbers and extents.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneratorCall {
    /// The numbers `start`, `start + step`, and so on, before `stop`.
    Arange {
        /// The first number.
        start: Literal,
        /// The number before which the range stops.
        stop: Literal,
        /// The difference between successive numbers.
        step: Literal,
        /// The dtype; `None` for int64 or, if a number is not an integer, float64.
        dtype: Option<DType>,
    },
    /// Evenly spaced numbers.
    Linspace {
        /// The first number.
        start: Literal,
        /// The end of the interval.
        stop: Literal,
        /// The number of elements.
        num: isize,
        /// Whether the last number is the end of the interval.
        endpoint: bool,
        /// The dtype of the elements.
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
        /// The dtype of the elements.
        dtype: DType,
    },
    /// An array whose elements all have one value.
    Full {
        /// The extents.
        shape: SmallVec<[isize; 4]>,
        /// The value of the elements.
        value: Element,
        /// The dtype of the elements; `None` for the dtype of the value.
        dtype: Option<DType>,
    },
    /// The index of each element of the operand along an axis.
    Indices {
        /// The axis.
        axis: isize,
    },
    /// The key of a seed.
    Key {
        /// The seed.
        seed: Literal,
    },
    /// Keys made of the operand, which is a key.
    Split {
        /// The number of keys.
        n: isize,
    },
    /// A key made of the first operand, a key, for each number of the second.
    FoldIn,
    /// A draw from the first operand, a key; the other operands are the distribution's parameters.
    Draw {
        /// The distribution.
        draw: Draw,
        /// The extents for each key.
        shape: SmallVec<[isize; 4]>,
        /// The dtype of the elements.
        dtype: DType,
    },
}

/// A call of a function of whole arrays, with its other arguments than operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutineCall {
    /// The function.
    pub name: RoutineName,
    /// The axis of elements that are put in order.
    pub axis: isize,
    /// The number of segments, or of elements of the result along an axis.
    pub count: isize,
    /// Whether the order is descending, the greatest elements come first, or an index is the last possible one.
    pub flag: bool,
}

/// A number or bool in a text, with or without a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// A number without a dtype.
    Literal(Literal),
    /// A number with a dtype.
    Scalar(Scalar),
}

/// A call with all arguments parsed except its operands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Astype(DType),
    View {
        name: ViewName,
        /// The integers in the list: a range of [`Ast::integers`](super::Ast::integers).
        list: Range<u32>,
        axis: isize,
        /// The index, or the length of windows.
        index: isize,
    },
    Take {
        name: TakeName,
        axis: isize,
    },
    Concat {
        axis: isize,
    },
    PadLike(Padding),
    Grad,
    Routine(RoutineCall),
    Reduction(ReductionCall),
    Generator(GeneratorCall),
}
