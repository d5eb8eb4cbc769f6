//! Arrays of the `ndarray` crate, without a copy where that is possible (feature `ndarray`).
//!
//! In: `ndarray` arrays and views. Out: [`Array`]s over the same memory, and back. Must hold: a layout reaches only
//! elements of the memory that it came with.

use broadloom_core::layout::Strides;
use broadloom_core::{Error, ErrorKind, Layout, Result, Shape};
use ndarray::{ArrayD, ArrayView, Dimension, IxDyn};

use crate::array::Array;
use crate::storage::{Element, Storage};

impl<T: Element, D: Dimension> From<ndarray::Array<T, D>> for Array<'_> {
    /// Takes over the array's memory, whatever its strides; nothing is copied.
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
    /// Borrows a view whose elements lie without gaps, in any order of the axes and any direction along them;
    /// copies another.
    ///
    /// # Panics
    /// For more than 64 axes, or extents near 2^60.
    fn from(x: ArrayView<'a, T, D>) -> Array<'a> {
        let shape = Shape::new(x.shape()).unwrap_or_else(|e| panic!("{e}"));
        let strides: Strides = x.strides().into();
        // The first element stands behind those that a negative stride leads back to.
        let offset = shape.iter().zip(&strides).map(|(&n, &s)| (n as isize - 1).max(0) * (-s).max(0)).sum();
        match x.to_slice_memory_order() {
            Some(data) => Array::data(Storage::borrow(data), settled(Layout { shape, strides, offset })),
            None => Array::data(Storage::from_vec(x.iter().copied().collect()), Layout::contiguous(shape)),
        }
    }
}

impl<'a, T: Element, D: Dimension> From<&'a ndarray::Array<T, D>> for Array<'a> {
    /// Borrows the array; see the conversion of a view.
    fn from(x: &'a ndarray::Array<T, D>) -> Array<'a> {
        x.view().into()
    }
}

/// The layout; of no elements, one that leads nowhere.
fn settled(layout: Layout) -> Layout {
    if layout.shape.elements() == 0 { Layout::contiguous(layout.shape) } else { layout }
}

impl Array<'_> {
    /// The values as an `ndarray` array; evaluates what is not yet evaluated (feature `ndarray`).
    ///
    /// # Errors
    /// If `T` is not the array's dtype; those of [`Array::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    /// let y = Array::from(x.view()).t() * 10;
    /// assert_eq!(y.to_ndarray::<f32>()?, ndarray::array![[10.0, 30.0], [20.0, 40.0]].into_dyn());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        ArrayD::from_shape_vec(IxDyn(self.shape()), self.to_vec()?)
            .map_err(|e| Error::new(ErrorKind::Internal, format!("to_ndarray: {e}")))
    }
}
