//! Conversions from and to arrays and views of the `ndarray` crate, without a copy if possible (feature `ndarray`). A converted
//! layout addresses only elements of the `ndarray` array or view. `docs/ndarray.md` compares `ndarray`'s idioms with ours.

use broadloom_core::layout::Strides;
use broadloom_core::{Error, ErrorKind, Layout, Result, Shape};
use broadloom_math::Elem;
use broadloom_mem::{Region, View, ViewMut};
use ndarray::{ArrayBase, ArrayD, ArrayRef, ArrayView, ArrayViewMut, Data, Dimension, IxDyn};

use crate::array::{Array, Kind, Leaf, Operand};
use crate::engine::{self, Engine, Options};
use crate::evaluation::Evaluation;
use crate::kernel::{In, Out};
use crate::operand::IntoArray;
use crate::storage::{Element, Storage};

/// Converts `ndarray` arrays, shared arrays and views of any dimension to lazy arrays: `a.lazy()` (feature `ndarray`).
///
/// The elements are borrowed, whatever their strides: nothing is copied before the computation. The view itself may be a
/// temporary, since only its elements are borrowed.
///
/// ```
/// use broadloom::prelude::*;
/// use ndarray::{Array2, array, s};
///
/// let a = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let row = a.slice(s![0, ..]).lazy();
/// let scaled: Array2<f32> = (a.lazy() * 2 - row).try_into()?;
/// assert_eq!(scaled, array![[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]]);
/// # Ok::<(), Error>(())
/// ```
pub trait Lazy<'a> {
    /// The elements as an operand of expressions.
    ///
    /// # Panics
    /// For more than 64 axes, or extents near 2^60.
    fn lazy(self) -> Array<'a>;
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> Lazy<'a> for &'a ArrayBase<S, D> {
    fn lazy(self) -> Array<'a> {
        self.view().into()
    }
}

impl<'a, T: Element, D: Dimension> Lazy<'a> for &'a ArrayRef<T, D> {
    fn lazy(self) -> Array<'a> {
        self.view().into()
    }
}

impl<'a, T: Element, D: Dimension> Lazy<'a> for ArrayView<'a, T, D> {
    fn lazy(self) -> Array<'a> {
        self.into()
    }
}

/// Does the same as the method [`Lazy::lazy`]: `lazy(&a) + 1` (feature `ndarray`).
///
/// # Panics
/// The panics of [`Lazy::lazy`].
pub fn lazy<'a>(x: impl Lazy<'a>) -> Array<'a> {
    x.lazy()
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> IntoArray<'a> for &'a ArrayBase<S, D> {
    fn into_operand(self) -> Operand<'a> {
        Operand::Array(self.lazy())
    }
}

impl<'a, T: Element, D: Dimension> IntoArray<'a> for ArrayView<'a, T, D> {
    fn into_operand(self) -> Operand<'a> {
        Operand::Array(self.lazy())
    }
}

/// Writes lazy values into `ndarray` memory, like its own `assign` (feature `ndarray`).
pub trait AssignLazy {
    /// Computes the values into these elements, which may have any strides. The values are broadcast to the elements' shape.
    ///
    /// # Errors
    /// If the dtypes differ, or the shape of the values does not broadcast to the shape of the elements; and the errors of
    /// [`Array::eval`], after which the elements are unspecified.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use ndarray::{array, s};
    ///
    /// let a = array![1.0_f64, 4.0, 9.0];
    /// let mut out = ndarray::Array2::<f64>::zeros((3, 2));
    /// out.column_mut(1).assign_lazy(&a.lazy().sqrt())?;
    /// assert_eq!(out, array![[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]);
    /// # Ok::<(), Error>(())
    /// ```
    fn assign_lazy(&mut self, values: &Array<'_>) -> Result<()> {
        self.assign_lazy_with(values, &Options::default())
    }

    /// Does the same as [`AssignLazy::assign_lazy`], with options.
    ///
    /// # Errors
    /// The errors of [`AssignLazy::assign_lazy`] and [`Array::eval_with`].
    fn assign_lazy_with(&mut self, values: &Array<'_>, options: &Options) -> Result<()>;
}

impl<T: Element, D: Dimension> AssignLazy for ArrayRef<T, D> {
    fn assign_lazy_with(&mut self, values: &Array<'_>, options: &Options) -> Result<()> {
        if T::DTYPE != values.dtype() {
            let (is, given) = (values.dtype(), T::DTYPE);
            let why = format!("assign_lazy: the values are {is}, the elements {given}");
            return Err(Error::new(ErrorKind::DType, why));
        }
        let values = if values.shape() == self.shape() {
            values.clone()
        } else {
            let fit = values.broadcast_to(self.shape());
            fit.map_err(|e| Error::new(e.kind(), format!("assign_lazy: {}", e.message())))?
        };
        if let Some(out) = self.as_slice_mut() {
            return Evaluation::with(options).eval_into(&values, out);
        }
        if let Some(Ok(mut view)) = ViewMut::of_ndarray(self.view_mut()) {
            let (out, layout) = engine::output(&mut view)?;
            return Engine::global().eval_into(&values, out, layout, options, None);
        }
        // The remaining cases are bools, since not every byte is a valid bool, and strides by which two indices may address one
        // element.
        let computed = values.eval_with(options)?.into_ndarray::<T>()?;
        self.assign(&computed);
        Ok(())
    }
}

impl<T: Element, D: Dimension> From<ndarray::Array<T, D>> for Array<'_> {
    /// Takes ownership of the array's memory, whatever its strides; nothing is copied.
    ///
    /// # Panics
    /// For more than 64 axes, or an empty array with extents near 2^60.
    fn from(x: ndarray::Array<T, D>) -> Self {
        let (shape, strides) = (x.shape().to_vec(), x.strides().to_vec());
        let (data, first) = x.into_raw_vec_and_offset();
        let shape = Shape::new(&shape).unwrap_or_else(|e| panic!("{e}"));
        let layout = Layout { strides: strides.into(), offset: first.unwrap_or(0) as isize, shape };
        Array::data(Storage::from_vec(data), settled(layout))
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for Array<'a> {
    /// Borrows the elements, with the axes in any order, any direction along them, and any gaps. A view that repeats all elements
    /// along an axis is borrowed as well. Any other view in which two indices address one element is copied; only unsafe code can
    /// make such a view.
    ///
    /// # Panics
    /// For more than 64 axes, or extents near 2^60.
    fn from(x: ArrayView<'a, T, D>) -> Array<'a> {
        let shape = Shape::new(x.shape()).unwrap_or_else(|e| panic!("{e}"));
        let strides: Strides = x.strides().into();
        // Along an axis with a negative stride, the element at index 0 has the highest offset.
        let offset = shape.iter().zip(&strides).map(|(&n, &s)| (n as isize - 1).max(0) * (-s).max(0)).sum();
        let storage = match x.to_slice_memory_order() {
            Some(data) => Storage::borrow(data),
            None => match View::of_ndarray(x.clone()) {
                Ok(view) if view.is_nested() => Storage::spread(T::DTYPE, view),
                _ => {
                    let copy = Storage::from_vec(x.iter().copied().collect());
                    return Array::data(copy, Layout::contiguous(shape));
                }
            },
        };
        Array::data(storage, settled(Layout { shape, strides, offset }))
    }
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> From<&'a ArrayBase<S, D>> for Array<'a> {
    /// Borrows the array, with the same layout as a view of it.
    fn from(x: &'a ArrayBase<S, D>) -> Array<'a> {
        x.view().into()
    }
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> From<&'a ArrayBase<S, D>> for In<'a> {
    /// The elements with their shape and strides, as an input of a run.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let x = Array::input("x", DType::Float32, &["n".into(), "m".into()])?;
    /// let kernel = Kernel::new(&[&(&x * 10)], &[&x], &Options::default())?;
    ///
    /// let a = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let mut out = ndarray::Array2::<f32>::zeros((2, 2));
    /// kernel.run(&[(&a.t()).into()], [out.view_mut().into()])?;
    /// assert_eq!(out, ndarray::array![[10.0, 30.0], [20.0, 40.0]]);
    /// # Ok::<(), Error>(())
    /// ```
    fn from(x: &'a ArrayBase<S, D>) -> In<'a> {
        let (region, first) = Region::of_ndarray(x);
        In::raw(T::DTYPE, region, first, x.shape(), x.strides())
    }
}

impl<'a, T: Element + Elem<Store = T>, D: Dimension> From<ArrayViewMut<'a, T, D>> for Out<'a> {
    /// The elements, with any strides, as an output of a run. Bools are excluded, since not every byte is a valid bool.
    ///
    /// # Panics
    /// For a view in which two indices address one element, which only unsafe code can make.
    fn from(x: ArrayViewMut<'a, T, D>) -> Out<'a> {
        match ViewMut::of_ndarray(x) {
            Some(Ok(view)) => Out::raw(T::DTYPE, view),
            Some(Err(e)) => panic!("{e}"),
            None => panic!("bool is not its own store"),
        }
    }
}

/// The layout; if it has no elements, the contiguous layout of its shape.
fn settled(layout: Layout) -> Layout {
    if layout.shape.elements() == 0 { Layout::contiguous(layout.shape) } else { layout }
}

impl Array<'_> {
    /// The values as an `ndarray` array; an unevaluated array is computed directly into the new array's memory (feature `ndarray`).
    ///
    /// # Errors
    /// If `T` is not the type of the array's dtype; and the errors of [`Array::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let y = x.lazy().t() * 10;
    /// assert_eq!(y.to_ndarray::<f32>()?, ndarray::array![[10.0, 30.0], [20.0, 40.0]].into_dyn());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let data = if self.is_evaluated() || self.dtype() != T::DTYPE {
            self.to_vec()?
        } else {
            let refused = |e: broadloom_mem::AllocError| Error::new(ErrorKind::Limit, e.to_string());
            let mut data = T::zeros(self.len()).map_err(refused)?;
            self.eval_into(&mut data)?;
            data
        };
        filled(self.shape(), data)
    }

    /// Like [`Array::to_ndarray`], but consumes the array. Evaluated values are moved without a copy if no other handle shares
    /// their memory, they have no gaps, and the memory came from a vector or from `ndarray` (feature `ndarray`).
    ///
    /// Results of [`Array::eval`] are in memory of the engine and are copied; to avoid that, call this function on the unevaluated
    /// array.
    ///
    /// # Errors
    /// The errors of [`Array::to_ndarray`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let data = ndarray::array![[1, 2], [3, 4]];
    /// let address = data.as_ptr();
    /// let turned = Array::from(data).t();
    /// let back = turned.into_ndarray::<i32>()?;
    /// assert_eq!(back, ndarray::array![[1, 3], [2, 4]].into_dyn());
    /// assert_eq!(back.as_ptr(), address);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_ndarray<T: Element>(mut self) -> Result<ArrayD<T>> {
        if let Some(order) = self.in_memory().and_then(|data| memory_order(&data.layout, data.storage.len()))
            && let Some(node) = std::sync::Arc::get_mut(&mut self.0)
            && let Kind::Leaf(Leaf::Data(leaf)) = &mut node.kind
            && let Some(data) = leaf.storage.take_vec::<T>()
        {
            let shape = &leaf.layout.shape;
            let in_memory: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
            let mut inverse = vec![0; order.len()];
            order.iter().enumerate().for_each(|(at, &axis)| inverse[axis] = at);
            return Ok(filled(&in_memory, data)?.permuted_axes(inverse));
        }
        self.to_ndarray()
    }
}

/// The axes from the outermost to the innermost in memory, if the layout covers all `len` elements without gaps and has no
/// negative strides.
fn memory_order(layout: &Layout, len: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..layout.shape.rank()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(layout.strides[axis]));
    let mut step = 1;
    for &axis in order.iter().rev() {
        let extent = layout.shape[axis];
        if extent != 1 && layout.strides[axis] != step {
            return None;
        }
        step *= extent as isize;
    }
    (layout.offset == 0 && layout.shape.elements() == len).then_some(order)
}

fn filled<T>(shape: &[usize], data: Vec<T>) -> Result<ArrayD<T>> {
    ArrayD::from_shape_vec(IxDyn(shape), data)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("to_ndarray: {e}")))
}

impl<T: Element, D: Dimension> TryFrom<Array<'_>> for ndarray::Array<T, D> {
    type Error = Error;

    /// Converts by [`Array::into_ndarray`], to the requested number of dimensions.
    fn try_from(x: Array<'_>) -> Result<ndarray::Array<T, D>> {
        if let Some(rank) = D::NDIM
            && rank != x.rank()
        {
            let (shape, of) = (&x.0.shape, x.rank());
            let why = format!("to_ndarray: {shape} has {of} dimensions, {rank} are asked for");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let internal = |e: ndarray::ShapeError| Error::new(ErrorKind::Internal, format!("to_ndarray: {e}"));
        x.into_ndarray::<T>()?.into_dimensionality().map_err(internal)
    }
}
