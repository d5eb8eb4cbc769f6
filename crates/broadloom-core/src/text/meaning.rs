//! What a program means: the values that evaluating it constructs, such as arrays, graphs or test programs.

use super::ast::{Item, ScanAxis};
use super::call::{GeneratorCall, RoutineCall};
use super::module::Input;
use super::parameters::TakeName;
use crate::padding::Padding;
use crate::reductions::ReductionCall;
use crate::{DType, ErrorKind, Literal, Op, Result, Scalar};

/// A change of shape as written in the text, with unchecked extents, axes and indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'m> {
    /// Indexing: `x[…]`.
    Index(&'m [Item]),
    /// `permute_dims(x, axes)`
    PermuteDims(&'m [isize]),
    /// `broadcast_to(x, shape)`
    BroadcastTo(&'m [isize]),
    /// `reshape(x, shape)`
    Reshape(&'m [isize]),
    /// `expand_dims(x, axis)`
    ExpandDims(isize),
    /// `squeeze(x, axis)`
    Squeeze(isize),
    /// `flip(x, axis)`
    Flip(isize),
    /// `index_axis(x, axis, index)`
    IndexAxis(isize, isize),
    /// Windows of this many adjacent elements of an axis (second field), along a new last axis.
    SlidingWindow(isize, isize),
}

/// The bits of the elements of an input that has values in the text, in row-major order.
pub type Data<'m> = &'m [u64];

/// A loop of a text.
#[derive(Clone, Debug)]
pub struct LoopCall<'m, V> {
    /// The names of the carried values.
    pub names: Vec<&'m str>,
    /// The kind of the loop.
    pub kind: LoopKind<V>,
    /// The initial values of the carried ones.
    pub state: Vec<V>,
}

/// The kind of a loop.
#[derive(Clone, Debug)]
pub enum LoopKind<V> {
    /// `while`, with the maximum number of iterations.
    While(Option<u64>),
    /// `for`, with the bounds of the range.
    For([V; 2]),
    /// `scan` or `reduce`, with the inputs and the axis.
    Scan(Vec<V>, ScanAxis),
}

/// A part of a loop that [`Meaning::repeat`] evaluates for carried values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPart {
    /// The condition of a `while`, which is one value.
    Condition,
    /// The next values, and the outputs of a `scan`. In a `for`, the integer comes before the carried values; in a `scan` or `reduce`,
    /// the elements of the inputs come after them.
    Body,
}

/// Evaluates a part of a loop for carried values.
pub type LoopRun<'r, M> =
    dyn FnMut(&mut M, LoopPart, &[<M as Meaning>::Value]) -> Result<Vec<<M as Meaning>::Value>> + 'r;

/// An interpretation of programs: constructs a value for each part of a program.
pub trait Meaning {
    /// The type of values, which must be cheap to clone, such as a handle.
    type Value: Clone;

    /// Constructs a literal without a dtype.
    fn literal(&mut self, x: Literal) -> Self::Value;

    /// Constructs a literal with a dtype.
    fn constant(&mut self, x: Scalar) -> Self::Value;

    /// Applies a function or an operator.
    ///
    /// # Errors
    /// If the function does not take these operands.
    fn apply(&mut self, op: Op, args: &[Self::Value]) -> Result<Self::Value>;

    /// Converts a value to a dtype.
    ///
    /// # Errors
    /// If the conversion is not possible.
    fn cast(&mut self, x: &Self::Value, dtype: DType) -> Result<Self::Value>;

    /// Changes the shape of a value.
    ///
    /// # Errors
    /// If the change does not apply to the shape.
    fn view(&mut self, x: &Self::Value, view: View<'_>) -> Result<Self::Value>;

    /// Applies a reduction, whose axes are unchecked.
    ///
    /// # Errors
    /// If the reduction does not take these operands, or they do not have these axes.
    fn reduce(&mut self, call: &ReductionCall, args: &[Self::Value]) -> Result<Self::Value>;

    /// Takes elements of the first operand at the indices that are the second one; several operands are indices of as many
    /// adjacent axes.
    ///
    /// # Errors
    /// If the indices are no integers, or the axis does not exist. By default, a meaning takes no elements.
    fn take(&mut self, name: TakeName, args: &[Self::Value], axis: isize) -> Result<Self::Value> {
        let _ = (name, args, axis);
        Err(crate::Error::new(ErrorKind::Syntax, "no elements are taken here"))
    }

    /// Joins the operands along an axis.
    ///
    /// # Errors
    /// If the operands differ along another axis, or the axis does not exist. By default, a meaning joins nothing.
    fn concat(&mut self, args: &[Self::Value], axis: isize) -> Result<Self::Value> {
        let _ = (args, axis);
        Err(crate::Error::new(ErrorKind::Syntax, "nothing is joined here"))
    }

    /// Moves the elements of the first operand back to the indices of a range of an axis that is as long as that of the second one.
    ///
    /// # Errors
    /// If the range has another number of indices, or the axis does not exist. By default, a meaning pads nothing.
    fn pad_like(&mut self, args: &[Self::Value], padding: Padding) -> Result<Self::Value> {
        let _ = (args, padding);
        Err(crate::Error::new(ErrorKind::Syntax, "nothing is padded here"))
    }

    /// The derivative of the first operand, which has no axes, with respect to the second one.
    ///
    /// # Errors
    /// If there is no derivative. By default, a meaning has none.
    fn grad(&mut self, args: &[Self::Value]) -> Result<Self::Value> {
        let _ = args;
        Err(crate::Error::new(ErrorKind::Syntax, "there are no derivatives here"))
    }

    /// Applies a function of whole arrays, such as a sort.
    ///
    /// # Errors
    /// If the function does not take the operands. By default, a meaning has no such functions.
    fn routine(&mut self, call: &RoutineCall, args: &[Self::Value]) -> Result<Self::Value> {
        let _ = (call, args);
        Err(crate::Error::new(ErrorKind::Syntax, "no whole arrays are computed here"))
    }

    /// Constructs an array whose elements are generated from their indices. `args` has one value if the call takes an
    /// operand, whose shape the result then has, and is empty otherwise.
    ///
    /// # Errors
    /// If the call does not describe an array.
    fn generate(&mut self, call: &GeneratorCall, args: &[Self::Value]) -> Result<Self::Value>;

    /// Calls the host function that was added to the library with this number by
    /// [`Library::declare`](super::Library::declare).
    ///
    /// # Errors
    /// If the function does not take these operands.
    fn host(&mut self, id: u32, args: &[Self::Value]) -> Result<Self::Value>;

    /// Constructs the values that a loop carries, after the loop, and then the outputs of a `scan`. `run` evaluates its parts, and
    /// its errors are returned.
    ///
    /// # Errors
    /// If the parts of the loop do not fit each other. By default, a meaning has no loops.
    fn repeat(
        &mut self,
        call: &LoopCall<'_, Self::Value>,
        run: &mut LoopRun<'_, Self>,
    ) -> Result<Vec<Self::Value>>
    where
        Self: Sized,
    {
        let _ = (call, run);
        Err(crate::Error::new(ErrorKind::Syntax, "there are no loops here"))
    }

    /// Constructs a declared input; `data` contains its values if they are in the text.
    ///
    /// # Errors
    /// If the array that is bound to the name does not have the declared type.
    fn input(&mut self, input: &Input<'_>, data: Option<Data<'_>>) -> Result<Self::Value>;

    /// The value of a name that the text does not declare; `None` if the name is unknown.
    fn free(&mut self, name: &str) -> Option<Self::Value>;

    /// The names for which [`Meaning::free`] has a value.
    fn names(&self) -> Vec<&str>;

    /// Checks that the value of a binding has the type declared for it.
    ///
    /// # Errors
    /// If it has another type.
    fn check(&mut self, value: &Self::Value, declared: &Input<'_>) -> Result<()>;

    /// Applies a setting of a case file.
    ///
    /// # Errors
    /// If there is no setting of this name and value.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;

    /// The type of a value, or the text of a literal, for messages.
    fn show(&self, x: &Self::Value) -> String;
}
