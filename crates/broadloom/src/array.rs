//! The handle: an [`Array`] is a shared typed node of an expression.
//!
//! A node is a [`NodeKind`] whose operands are handles. Its type is inferred when it is built. This module defines handles and
//! nodes together, since each contains the other, and the queries that compute nothing. Dropping an expression takes bounded
//! stack, however deep the expression is. Nodes do not derive Debug, Eq or Hash, whose implementations would recurse.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use broadloom_core::infer;
use broadloom_core::node::{NodeId, NodeKind};
use broadloom_core::symbol::is_name;
use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Layout, Op, Result, Scalar, Shape};
use broadloom_ir::printable;
use broadloom_mem::HostFunction;
use smallvec::SmallVec;

use crate::marks::Marks;
use crate::stamp::Stamp;
use crate::storage::Storage;
use crate::weak::Number;

/// An array, or an expression that computes one: a handle that is cheap to clone, and computes its values on request.
///
/// `Array<'a>` may borrow data that lives for `'a`; `Array<'static>` owns its data, shared between handles. The dtype is known
/// only at run time. Operators and [functions](crate::functions) build expressions; [`Array::eval`] computes an expression, in
/// one pass over memory if possible.
///
/// A handle keeps the values that it had when it was built: writing into an array
/// ([`Evaluation::eval_into_array`](crate::Evaluation::eval_into_array)) never changes the values of another handle.
///
/// ```
/// use broadloom::prelude::*;
///
/// let data = [1.0_f64, 4.0, 9.0];
/// let x = Array::from_slice(&data);
/// let y = (x.sqrt() + 1).maximum(3.0);
/// assert_eq!(y.eval()?.to_vec::<f64>()?, [3.0, 3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Dtypes
///
/// Arrays of different dtypes are promoted as the [Python Array API standard] defines. A combination that the standard does not
/// define is an error that names the cast to write, unless [`with_promotion`](crate::with_promotion) selects other rules. A Rust
/// number (or an [`Array::scalar`]) takes the dtype of the arrays with which it is combined; it is an error if that dtype can't
/// represent the number. If all operands are numbers, as the choices of [`where_`](crate::functions::where_) may be, they have
/// their Rust types.
///
/// [Python Array API standard]: https://data-apis.org/array-api/latest/
///
/// ```
/// use broadloom::prelude::*;
///
/// let counts = Array::from_vec(vec![1_i32, 2, 3]);
/// let e = counts.try_multiply(0.5).unwrap_err();
/// assert!(e.to_string().contains("write astype(x, float64)"), "{e}");
/// assert_eq!((counts.astype(DType::Float32) * 0.5).dtype(), DType::Float32);
/// # Ok::<(), Error>(())
/// ```
///
/// # Shapes and views
///
/// Shapes broadcast as in NumPy. Views ([`Array::slice`], [`Array::permute_dims`], [`Array::reshape`] …) move no elements: a view
/// of an array in memory is another layout of the same memory, and a view of an expression is pushed down to its inputs.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let first = x.slice((.., ..1))?; // the first column, of shape [2, 1]
/// assert_eq!((&x / first).t().to_vec::<f32>()?, [1.0, 1.0, 2.0, 1.25, 3.0, 1.5]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Reductions
///
/// [`Array::sum`], [`Array::mean`], [`Array::max`], [`Array::argmax`] and the other reductions combine the elements along axes
/// ([`Over`](crate::Over)), or all elements with `()`. They are lazy; their operands are computed in the same loop and never
/// stored. Sums are added pairwise, in an order that depends on the number of elements alone: the bits are the same for every
/// layout, executor and number of threads, and the error grows with the logarithm of the number of elements.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 9.0]]);
/// assert_eq!((x.sum(())?.item::<f32>()?, x.mean(-1)?.to_vec::<f32>()?), (24.0, vec![2.0, 6.0]));
///
/// let rows = Over::axis(-1).keep_dims();
/// let e = (&x - x.max(rows.clone())?).exp();
/// let softmax = &e / e.sum(rows)?;
/// assert_eq!(softmax.argmax(-1)?.to_vec::<i64>()?, [2, 2]);
///
/// // The mean of the elements above 2: a function like `compress` is not needed.
/// let above = x.greater(2);
/// let mean = where_(&above, &x, 0).sum(())? / above.count_nonzero(())?.astype(DType::Float32);
/// assert_eq!(mean.item::<f32>()?, 5.25);
/// # Ok::<(), Error>(())
/// ```
///
/// # Results
///
/// [`Array::eval`] returns a new array, [`Array::to_vec`] a vector, and [`Array::eval_into`] writes to a slice;
/// [`eval_many`](crate::eval_many) computes several results in one pass. The handle stays lazy: the computed values are not
/// stored in it. A second evaluation of the same expression over other data plans and compiles nothing.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![1.0_f64, 4.0]);
/// let [root, half] = [x.sqrt(), &x / 2];
/// let both = eval_many(&[&root, &half])?; // one loop
/// assert_eq!(both[1].to_vec::<f64>()?, [0.5, 2.0]);
///
/// let mut out = [0.0; 2];
/// (root + half).eval_into(&mut out)?;
/// assert_eq!(out, [1.5, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Array<'a>(pub(crate) Arc<Expr<'a>>);

/// The kind of a handle's node: a [`NodeKind`] with handles as operands, and with host functions that can be called.
pub(crate) type Kind<'a> = NodeKind<Array<'a>, Leaf<'a>, HostFunction>;

/// A typed node.
pub(crate) struct Expr<'a> {
    pub kind: Kind<'a>,
    pub dtype: DType,
    /// The shape. If dims have symbols, it is [`Dims::least_shape`], in which each symbol is 1.
    pub shape: Shape,
    /// The dims, if the node depends on inputs of a kernel with dynamic dimensions.
    pub dims: Option<Arc<Dims>>,
    /// The loop whose functions made the node.
    pub stamp: Stamp,
    /// Whether the node depends on a placeholder ([`Leaf::Carried`]), so that it has no values.
    pub is_open: bool,
    pub marks: Marks,
}

/// A node without operands, whose values need no computation.
pub(crate) enum Leaf<'a> {
    /// Elements in memory.
    Data(Box<Data<'a>>),
    /// A named input of kernels, which has no elements.
    Input(Box<str>),
    /// The int64 numbers from 0 to this one, exclusive. They are generated, and take no memory.
    Index(usize),
    /// A value that a loop carries, in its condition and body. It has no elements.
    Carried,
    /// A 0-d number that has not been combined with an array yet. It is boxed, since it would be the largest variant and is rare.
    Number(Box<Number>),
    /// A 0-d number that has taken the dtype of an array.
    Const(Scalar),
    /// A 0-d number with a dtype, which was computed from other numbers by this approximate op.
    Rounded(Scalar, Op),
    /// A derivative that the application defines, and the number of the output. The leaf is the other choice of a `where` whose
    /// condition is true, so that it is never read; evaluated, it is 0.
    Rule(Arc<CustomRule<Array<'a>>>, u32),
    /// Such a derivative in the body of a loop or in a step, whose nodes stand for the arrays. The loop captures the leaf.
    RecordedRule(Arc<CustomRule<NodeId>>, u32),
}

/// The derivative that the application defines for a call of a function, with the arrays or nodes that the call is about.
pub(crate) struct CustomRule<X> {
    /// The arguments of the function.
    pub args: Vec<X>,
    /// Its outputs.
    pub outputs: Vec<X>,
    /// The arrays of floats that the function uses besides its arguments.
    pub captured: Vec<X>,
    pub derivative: Arc<CustomDerivative>,
}

/// A derivative that the application defines. It is called when a derivative is made, with arrays that have no values and stand
/// for the arguments of the function and for tangents of the arguments or, in reverse mode, adjoints of the outputs. It returns the
/// tangents of the outputs or, in reverse mode, the adjoints of the arguments.
pub(crate) struct CustomDerivative {
    /// The name of the function that has defined the rule.
    pub function: &'static str,
    pub is_reverse: bool,
    /// A panic of the rule leaves no array half made, so arrays with a rule may be used after one.
    pub rule: AssertUnwindSafe<Box<CustomFunction>>,
}

/// The rule of a derivative. Its arrays have no lifetime, so that that of an array with a rule can still be shortened.
pub(crate) type CustomFunction =
    dyn Fn(&[Array<'static>], &[Array<'static>]) -> Result<Vec<Array<'static>>> + Send + Sync;

/// Elements in memory, with their layout.
pub(crate) struct Data<'a> {
    pub storage: Storage<'a>,
    pub layout: Layout,
    /// If the elements are the initial states of a recurrence, where the states before its later steps are.
    pub blocks: Option<StateBlocks>,
}

/// The states before each block of steps of a recurrence, one after the other in the memory of the initial ones.
#[derive(Clone, Copy)]
pub(crate) struct StateBlocks {
    /// The number of steps in a block; the last block may have fewer.
    pub steps: usize,
    /// The number of elements from the states before a block to those before the next one.
    pub distance: usize,
}

/// An operand: an array, or a number, which takes the dtype of the arrays with which it is combined.
#[derive(Clone, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(Array<'a>),
    /// A number.
    Number(Number),
}

impl<'a> Array<'a> {
    pub(crate) fn of(kind: Kind<'a>, dtype: DType, shape: Shape) -> Array<'a> {
        Array::with_dims(kind, dtype, shape, None)
    }

    pub(crate) fn with_dims(
        kind: Kind<'a>,
        dtype: DType,
        shape: Shape,
        dims: Option<Arc<Dims>>,
    ) -> Array<'a> {
        let is_open = match &kind {
            Kind::Leaf(Leaf::Carried) => true,
            Kind::Leaf(Leaf::Rule(rule, _)) => rule.args.iter().chain(&rule.captured).any(|x| x.0.is_open),
            kind => kind.operands().any(|operand| operand.0.is_open),
        };
        let (stamp, marks) = (Stamp::current(), Marks::current());
        Array(Arc::new(Expr { kind, dtype, shape, dims, stamp, is_open, marks }))
    }

    /// An input of kernels. It represents memory on which a [`Kernel`](crate::Kernel) runs, and has no values.
    ///
    /// Its extents are numbers or symbols. A symbol is a number that is known when the kernel runs, and that is the same wherever
    /// the symbol occurs. [`Dim::Rest`], before the extents, represents any number of leading axes. An input without extents is a
    /// scalar parameter. A symbol broadcasts with itself and with 1, and with no other number or symbol.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] for a name that has other characters than letters, digits and `_`, or begins with a digit;
    /// [`ErrorKind::Shape`] and [`ErrorKind::Limit`] for dims that [`Dims::new`] rejects.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let x = Array::input("x", DType::Float32, &["n".into(), 3.into()])?;
    /// let rate = Array::input("rate", DType::Float32, &[])?;
    /// let kernel = Kernel::new(&[&(&x * &rate + 1)], &[&x, &rate], &Options::default())?;
    ///
    /// let mut out = [0.0_f32; 6];
    /// kernel.run(&[(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).into(), (&[10.0_f32]).into()], [(&mut out).into()])?;
    /// assert_eq!(out, [11.0, 21.0, 31.0, 41.0, 51.0, 61.0]);
    ///
    /// let y = Array::input("y", DType::Float32, &["m".into(), 3.into()])?;
    /// assert_eq!(
    ///     x.try_add(&y).unwrap_err().to_string(),
    ///     "add: cannot broadcast float32[n,3] with float32[m,3] (axis -2: n and m)"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn input(name: &str, dtype: DType, dims: &[Dim]) -> Result<Array<'a>> {
        if !is_name(name) {
            let why = format!("`{}` is no name of an input", printable(name));
            return Err(Error::new(ErrorKind::Name, why)
                .with_help("a name has letters, digits and `_`, and does not begin with a digit"));
        }
        let dims = Dims::new(dims)?;
        let shape = dims.least_shape()?;
        let dims = if dims.is_fixed() { None } else { Some(Arc::new(dims)) };
        Ok(Array::with_dims(Kind::Leaf(Leaf::Input(name.into())), dtype, shape, dims))
    }

    /// A number, which takes the dtype of the array with which it is combined.
    ///
    /// An expression that consists of numbers only is computed immediately, in the numbers' Rust types. In such an expression a
    /// [`Literal`](crate::Literal), which has no type, is int64, float64 or bool.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let half = Array::scalar(1.0) / 2;
    /// assert_eq!(half.dtype(), DType::Float64);
    /// let x = Array::from_vec(vec![1.0_f32, 3.0]);
    /// assert_eq!((x * half).dtype(), DType::Float32);
    /// ```
    pub fn scalar(x: impl Into<Number>) -> Array<'a> {
        let x = x.into();
        Array::of(Kind::Leaf(Leaf::Number(Box::new(x))), x.dtype(), Shape::scalar())
    }

    /// The dtype of the elements; for a number that has not been combined with an array, its default dtype.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// The extents, outermost first; empty for a 0-d array. A dynamic dimension ([`Array::dims`]) has the extent 1 here.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// The dims, if the array depends on an [`Array::input`] and some of its dimensions are dynamic.
    pub fn dims(&self) -> Option<&[Dim]> {
        self.0.dims.as_deref().map(|dims| &**dims)
    }

    /// The dims of any array, dynamic or not.
    pub(crate) fn all_dims(&self) -> Dims {
        self.0.dims.as_deref().cloned().unwrap_or_else(|| Dims::of(&self.0.shape))
    }

    /// The properties that type inference uses.
    pub(crate) fn known(&self) -> infer::Operand<'_> {
        match (self.number(), &self.0.dims) {
            (Some(x), _) => infer::Operand::Literal(x.literal()),
            (None, None) => infer::Operand::Array(self.0.dtype, &self.0.shape),
            (None, Some(dims)) => infer::Operand::Symbolic(self.0.dtype, dims),
        }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.shape.rank()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.shape.elements()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both handles refer to the same node of an expression, and so have the same values.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f32]);
    /// assert!(x.is_same(&x.clone()));
    /// assert!(!(&x + 1).is_same(&(&x + 1)));
    /// ```
    pub fn is_same(&self, other: &Array<'_>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }

    /// Whether the values are stored in memory and contiguous in row-major order. False for memory to which another owner may
    /// write ([`Array::lent`]).
    pub fn is_evaluated(&self) -> bool {
        self.in_memory().is_some_and(|data| data.layout.is_contiguous() && !data.storage.is_lent())
    }

    /// The strides in elements along each axis, if the values are in memory.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_shape_vec(&[2, 3], vec![0_i32; 6])?;
    /// assert_eq!(x.t().strides(), Some(&[1, 3][..]));
    /// assert_eq!((x + 1).strides(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn strides(&self) -> Option<&[isize]> {
        self.in_memory().map(|data| &data.layout.strides[..])
    }

    /// The leaf, if the array's node is a leaf.
    pub(crate) fn leaf(&self) -> Option<&Leaf<'a>> {
        match &self.0.kind {
            Kind::Leaf(leaf) => Some(leaf),
            _ => None,
        }
    }

    /// The derivative that the application defines for the array, which is an output of a function, and the number of the output.
    pub(crate) fn custom_rule(&self) -> Option<(&Arc<CustomRule<Array<'a>>>, usize)> {
        match self.0.kind.args_of(Op::Where)?.get(2)?.leaf()? {
            Leaf::Rule(rule, item) => Some((rule, *item as usize)),
            _ => None,
        }
    }

    /// The number, if this is a number that has not been combined with an array.
    pub(crate) fn number(&self) -> Option<Number> {
        match self.leaf()? {
            Leaf::Number(x) => Some(**x),
            _ => None,
        }
    }

    /// The data, if the array is in memory and nothing has to be computed.
    pub(crate) fn in_memory(&self) -> Option<&Data<'a>> {
        match self.leaf()? {
            Leaf::Data(data) => Some(data),
            _ => None,
        }
    }

    /// Makes an array of data in memory.
    pub(crate) fn data(storage: Storage<'a>, layout: Layout) -> Array<'a> {
        Array::of_data(Data { storage, layout, blocks: None })
    }

    /// Makes an array of elements in memory.
    pub(crate) fn of_data(data: Data<'a>) -> Array<'a> {
        let Data { storage, layout, .. } = &data;
        debug_assert!(
            layout.reach().is_none_or(|(low, high)| low >= 0 && (high as usize) < storage.len()),
            "a layout that reaches outside {} elements: {layout:?}",
            storage.len()
        );
        let (dtype, shape) = (storage.dtype(), layout.shape.clone());
        Array::of(Kind::Leaf(Leaf::Data(Box::new(data))), dtype, shape)
    }
}

impl<'a> Operand<'a> {
    /// The properties that type inference uses.
    pub(crate) fn known(&self) -> infer::Operand<'_> {
        match self {
            Operand::Number(x) => infer::Operand::Literal(x.literal()),
            Operand::Array(array) => array.known(),
        }
    }

    /// The number, if this is a number or a handle to one.
    pub(crate) fn number(&self) -> Option<Number> {
        match self {
            Operand::Number(x) => Some(*x),
            Operand::Array(array) => array.number(),
        }
    }

    /// The operand as an array; a number is converted by [`Array::scalar`].
    pub(crate) fn into_array(self) -> Array<'a> {
        match self {
            Operand::Array(x) => x,
            Operand::Number(x) => Array::scalar(x),
        }
    }
}

impl<'a> From<Array<'a>> for Operand<'a> {
    fn from(x: Array<'a>) -> Operand<'a> {
        Operand::Array(x)
    }
}

impl<'a, 'b: 'a> From<&Array<'b>> for Operand<'a> {
    fn from(x: &Array<'b>) -> Operand<'a> {
        Operand::Array(x.clone())
    }
}

impl Drop for Expr<'_> {
    /// Drops the nodes that only this node refers to, without recursion.
    fn drop(&mut self) {
        let mut orphans: SmallVec<[Array<'_>; 4]> = SmallVec::new();
        take_operands(&mut self.kind, &mut orphans);
        while let Some(Array(node)) = orphans.pop() {
            // `None` if another handle refers to the node. If two threads drop the last two handles, exactly one of them gets the
            // node.
            if let Some(mut node) = Arc::into_inner(node) {
                take_operands(&mut node.kind, &mut orphans);
            }
        }
    }
}

fn take_operands<'a>(kind: &mut Kind<'a>, into: &mut SmallVec<[Array<'a>; 4]>) {
    if let Kind::Leaf(Leaf::Rule(..)) = kind {
        let leaf = std::mem::replace(kind, Kind::Leaf(Leaf::Const(Scalar::of(false))));
        if let Kind::Leaf(Leaf::Rule(rule, _)) = leaf
            && let Some(rule) = Arc::into_inner(rule)
        {
            into.extend(rule.args.into_iter().chain(rule.outputs).chain(rule.captured));
        }
        return;
    }
    if !matches!(kind, Kind::Leaf(_)) {
        let leaf = Kind::Leaf(Leaf::Const(Scalar::of(false)));
        into.extend(std::mem::replace(kind, leaf).into_operands());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sends<T: Send + Sync>() {}

    #[test]
    fn a_handle_is_a_pointer_and_crosses_threads() {
        sends::<Array<'static>>();
        assert_eq!(size_of::<Array<'static>>(), size_of::<usize>());
        // A million nodes are 112 MB with the reference counts: nodes have to stay small.
        assert!(size_of::<Expr<'static>>() <= 96, "{}", size_of::<Expr<'static>>());
    }

    fn shorter<'a>(long: Array<'static>, _: &'a [f32]) -> Array<'a> {
        long // This compiles only if the lifetime is covariant.
    }

    #[test]
    fn an_owning_handle_serves_where_a_borrowing_one_is_asked_for() {
        assert_eq!(shorter(Array::scalar(1), &[0.0]).rank(), 0);
    }
}
