//! Converts views of the `ndarray` crate, whatever their strides, to this crate's views and regions (feature `ndarray`).
//!
//! Memory between the elements is neither read nor written, since other code may have borrowed it from `ndarray`.

use broadloom_ir::loop_plan::reach;
use broadloom_math::{DType, Elem};
use ndarray::{ArrayBase, ArrayView, ArrayViewMut, Data, Dimension};

use crate::bytes::bytes_of;
use crate::contain::contains;
use crate::overlap::{PerDim, Place};
use crate::region::{Elements, Region};
use crate::view::{View, ViewError, ViewMut};

/// Converts strides in elements to bytes.
fn in_bytes<T>(strides: &[isize]) -> PerDim<isize> {
    // The product can't overflow if the array has elements, since the strides in bytes are then distances in memory.
    strides.iter().map(|stride| stride.wrapping_mul(size_of::<T>() as isize)).collect()
}

impl<'a> View<'a> {
    /// A view of the elements of an `ndarray` view, without a copy (feature `ndarray`).
    ///
    /// # Errors
    /// The errors of [`View::new`]; none of them is known to occur for a view that `ndarray` made.
    ///
    /// ```
    /// use broadloom_mem::View;
    ///
    /// let x = ndarray::array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let view = View::of_ndarray(x.slice(ndarray::s![.., ..;-2]))?;
    /// assert_eq!(view.get::<f32>(&[1, 0]), Some(6.0));
    /// # Ok::<(), broadloom_mem::ViewError>(())
    /// ```
    pub fn of_ndarray<T: Elem, D: Dimension>(x: ArrayView<'a, T, D>) -> Result<View<'a>, ViewError> {
        let ptr = x.as_ptr().cast::<u8>();
        // SAFETY: an `ArrayView<'a>` borrows the elements that its shape and strides reach from its pointer, in one allocation, for
        // `'a`: they are initialised, and nothing writes to them. `View` reads no other bytes.
        unsafe { View::from_raw(ptr, size_of::<T>(), x.shape(), &in_bytes::<T>(x.strides())) }
    }
}

impl<'a> ViewMut<'a> {
    /// A writable view of the elements of an `ndarray` view (feature `ndarray`). It is `None` for elements of type `bool`, since
    /// not every byte is a valid `bool`.
    ///
    /// # Errors
    /// The errors of [`ViewMut::new`].
    pub fn of_ndarray<T: Elem, D: Dimension>(
        mut x: ArrayViewMut<'a, T, D>,
    ) -> Option<Result<ViewMut<'a>, ViewError>> {
        if T::DTYPE == DType::Bool {
            return None;
        }
        let strides = in_bytes::<T>(x.strides());
        let ptr = x.as_mut_ptr().cast::<u8>();
        // SAFETY: an `ArrayViewMut<'a>` borrows the elements that its shape and strides reach from its pointer exclusively, in one
        // allocation, for `'a`; it is consumed here. Any bytes are an element of a type other than bool, so writes leave them
        // initialised.
        Some(unsafe { ViewMut::from_raw(ptr, size_of::<T>(), x.shape(), &strides) })
    }
}

impl<T: Elem, S: Data<Elem = T>, D: Dimension> Elements for ArrayBase<S, D> {
    fn contain(&self, part: Place<'_>) -> bool {
        let strides = in_bytes::<T>(self.strides());
        let (address, shape) = (self.as_ptr().addr(), self.shape());
        contains(Place { address, item: size_of::<T>(), shape, strides: &strides }, part)
    }
}

impl<'a> Region<'a> {
    /// A region with the elements of an `ndarray` array, and the offset in the region, counted in elements, of the element whose
    /// indices are all 0. The region is a slice if there are no gaps between the elements (feature `ndarray`).
    pub fn of_ndarray<T: Elem, S: Data<Elem = T>, D: Dimension>(
        x: &'a ArrayBase<S, D>,
    ) -> (Region<'a>, usize) {
        let strides = in_bytes::<T>(x.strides());
        // The bounds can't overflow, since they are distances in memory; they are 0 if the array has no elements.
        let (low, high) = reach(x.shape(), &strides, size_of::<T>()).unwrap_or((0, 0));
        let first = low.unsigned_abs() / size_of::<T>();
        match x.as_slice_memory_order() {
            Some(slice) => (bytes_of(slice).into(), first),
            None => {
                let ptr = x.as_ptr().cast::<u8>();
                let ends = (ptr.addr().wrapping_add_signed(low), ptr.addr().wrapping_add_signed(high));
                (Region::of(x, ends, ptr), first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Axis, s};

    #[test]
    fn any_strides_and_any_order() {
        let x = Array2::from_shape_fn((4, 6), |(i, j)| (10 * i + j) as u16);
        let mut turned = x.slice(s![1..;2, ..;-2]).reversed_axes();
        turned.invert_axis(Axis(1));
        for view in [x.view(), x.t(), turned, x.slice(s![2..2, ..]), x.slice(s![3, ..]).insert_axis(Axis(0))]
        {
            let ours = View::of_ndarray(view).expect("a view");
            assert_eq!(ours.shape(), view.shape());
            for (index, &value) in view.indexed_iter() {
                assert_eq!(ours.get::<u16>(&[index.0, index.1]), Some(value));
            }
        }
    }

    #[test]
    fn views_to_write_are_exclusive_and_not_of_bool() {
        let mut x = Array2::<f32>::zeros((3, 4));
        let address = x.as_ptr().addr();
        let odd = ViewMut::of_ndarray(x.slice_mut(s![.., 1..;2])).expect("no bool").expect("a view");
        assert_eq!((odd.shape(), odd.strides()), (&[3, 2][..], &[16, 8][..]));
        assert_eq!(odd.layout.ptr.addr(), address + 4);
        assert!(ViewMut::of_ndarray(Array2::from_elem((2, 2), false).view_mut()).is_none());
    }
}
