//! Arrays from vectors, slices, values and closures. A vector is moved and a slice is borrowed; neither is copied. The shape must
//! have as many elements as the data.

use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Scalar, Shape, View, fold};
use broadloom_mem::FloatEnv;

use crate::array::Array;
use crate::expr;
use crate::storage::{Element, Storage};

impl<'a> Array<'a> {
    /// A 1-D array that owns the vector's data; nothing is copied.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1_u8, 2, 3]);
    /// assert_eq!((x.dtype(), x.shape()), (DType::UInt8, &[3][..]));
    /// ```
    pub fn from_vec<T: Element>(data: Vec<T>) -> Array<'a> {
        let shape = one_axis(data.len());
        Array::data(Storage::from_vec(data), Layout::contiguous(shape))
    }

    /// A 1-D array that borrows the slice.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let data = [1.0_f32, 2.0, 3.0];
    /// let x = Array::from_slice(&data[1..]);
    /// assert_eq!(x.as_slice::<f32>(), Some(&[2.0, 3.0][..]));
    /// ```
    pub fn from_slice<T: Element>(data: &'a [T]) -> Array<'a> {
        Array::data(Storage::borrow(data), Layout::contiguous(one_axis(data.len())))
    }

    /// An array that owns the vector's data in row-major order; nothing is copied.
    ///
    /// # Errors
    /// If the numbers of elements of the shape and the vector differ.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_shape_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(x.to_string(), "[[1 2 3]\n [4 5 6]]");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_shape_vec<T: Element>(shape: &[usize], data: Vec<T>) -> Result<Array<'a>> {
        let shape = holding("from_shape_vec", shape, data.len())?;
        Ok(Array::data(Storage::from_vec(data), Layout::contiguous(shape)))
    }

    /// An array that borrows the slice, in row-major order.
    ///
    /// # Errors
    /// If the numbers of elements of the shape and the slice differ.
    pub fn from_shape_slice<T: Element>(shape: &[usize], data: &'a [T]) -> Result<Array<'a>> {
        let shape = holding("from_shape_slice", shape, data.len())?;
        Ok(Array::data(Storage::borrow(data), Layout::contiguous(shape)))
    }

    /// An array that borrows strided elements of the slice. The element at index (0, …, 0) is at `offset`. `strides` contains,
    /// for each axis, the distance in elements between consecutive indices. A stride may be negative, or 0 to repeat elements
    /// along the axis.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the numbers of strides and axes differ; [`ErrorKind::Memory`] if an index addresses an element
    /// outside of the slice.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// // Red and blue of three pixels of four bytes, the last pixel first.
    /// let rgba = [1_u8, 2, 3, 255, 4, 5, 6, 255, 7, 8, 9, 255];
    /// let ends = Array::from_strided_slice(&[3, 2], &[-4, 2], 8, &rgba)?;
    /// assert_eq!(ends.to_vec::<u8>()?, [7, 9, 4, 6, 1, 3]);
    ///
    /// let e = Array::from_strided_slice(&[4, 2], &[-4, 2], 8, &rgba).unwrap_err();
    /// assert_eq!(e.to_string(), "from_strided_slice: [4,2] with strides [-4,2] from 8 on leads out of 12 elements");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_strided_slice<T: Element>(
        shape: &[usize],
        strides: &[isize],
        offset: usize,
        data: &'a [T],
    ) -> Result<Array<'a>> {
        let shown = || strides.iter().map(isize::to_string).collect::<Vec<_>>().join(",");
        let shape = Shape::new(shape)?;
        if strides.len() != shape.rank() {
            let (n, rank) = (strides.len(), shape.rank());
            let why = format!("from_strided_slice: {n} strides for {shape}, which has rank {rank}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let mut layout = Layout::contiguous(shape);
        if layout.shape.elements() > 0 {
            // An offset that exceeds `isize` is outside of the slice. It is replaced by `isize::MAX`, which is outside as well.
            layout.offset = isize::try_from(offset).unwrap_or(isize::MAX);
            // The stride of an axis with one index is not used.
            let given = layout.strides.iter_mut().zip(strides).zip(layout.shape.iter());
            given.filter(|(_, extent)| **extent > 1).for_each(|((stride, given), _)| *stride = *given);
            let inside = layout.reach().is_some_and(|(low, high)| low >= 0 && (high as usize) < data.len());
            if !inside {
                let (shape, n) = (&layout.shape, data.len());
                let why = format!(
                    "from_strided_slice: {shape} with strides [{}] from {offset} on leads out of {n} elements",
                    shown()
                );
                return Err(Error::new(ErrorKind::Memory, why));
            }
        }
        Ok(Array::data(Storage::borrow(data), layout))
    }

    /// An array of zeros, which takes no memory.
    ///
    /// # Errors
    /// If the shape has too many axes or elements.
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Array<'a>> {
        repeated(Scalar { dtype, bits: 0 }, shape)
    }

    /// An array of ones, which takes no memory.
    ///
    /// # Errors
    /// If the shape has too many axes or elements.
    pub fn ones(shape: &[usize], dtype: DType) -> Result<Array<'a>> {
        repeated(fold::cast(Scalar::of(true), dtype), shape)
    }

    /// An array with this value in all elements, of the dtype of the value's Rust type. It takes no memory.
    ///
    /// # Errors
    /// If the shape has too many axes or elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::full(&[2, 2], 0.5_f32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5; 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn full<T: Element>(shape: &[usize], value: T) -> Result<Array<'a>> {
        repeated(Scalar::of(value), shape)
    }

    /// An array whose elements are computed from their indices by `f`, which is called in row-major order.
    ///
    /// # Errors
    /// If the shape has too many axes, or more elements than fit in memory.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let table = Array::from_fn(&[3, 3], |i| (i[0] * i[1]) as u32)?;
    /// assert_eq!(table.to_vec::<u32>()?, [0, 0, 0, 0, 1, 2, 0, 2, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_fn<T: Element>(shape: &[usize], mut f: impl FnMut(&[usize]) -> T) -> Result<Array<'a>> {
        let shape = Shape::new(shape)?;
        let mut index = vec![0usize; shape.rank()];
        let data = collect("from_fn", shape.elements() as f64, |_| {
            let x = f(&index);
            for (i, &extent) in index.iter_mut().zip(shape.iter()).rev() {
                *i += 1;
                if *i < extent {
                    break;
                }
                *i = 0;
            }
            x
        })?;
        Ok(Array::data(Storage::from_vec(data), Layout::contiguous(shape)))
    }
}

fn one_axis(len: usize) -> Shape {
    Shape::new(&[len]).expect("data in memory has fewer than 2^60 elements")
}

/// Makes a shape, and checks that it has this many elements.
pub(crate) fn holding(what: &str, shape: &[usize], len: usize) -> Result<Shape> {
    let shape = Shape::new(shape)?;
    if shape.elements() == len {
        return Ok(shape);
    }
    let n = shape.elements();
    Err(Error::new(ErrorKind::Shape, format!("{what}: {shape} has {n} elements, the data has {len}")))
}

/// An array with this value in all elements.
pub(crate) fn repeated<'a>(value: Scalar, shape: &[usize]) -> Result<Array<'a>> {
    expr::view(&expr::constant(value), View::BroadcastTo(Shape::new(shape)?))
}

/// Collects `len` elements. It is an error if memory for them is refused.
fn collect<T: Element>(what: &str, len: f64, element: impl FnMut(usize) -> T) -> Result<Vec<T>> {
    let mut data = Vec::new();
    // Only the size is computed in the default floating-point environment: the closure may belong to the application, and runs in
    // the application's environment.
    let sized = FloatEnv::ieee();
    // The conversion saturates, so that the allocation of too many elements is refused.
    let n = len as usize;
    if data.try_reserve_exact(n).is_err() {
        let bytes = len * T::DTYPE.size() as f64;
        return Err(Error::new(ErrorKind::Limit, format!("{what}: no memory for {bytes:e} bytes")));
    }
    drop(sized);
    data.extend((0..n).map(element));
    Ok(data)
}
