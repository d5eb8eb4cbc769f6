//! Views: the same elements in another shape or order, without a copy.
//!
//! A view of an array in memory is an array over the same memory; a view of an expression, or a reshape that strides can't express,
//! is a node of the expression. An error names the function, the shape and the axis; negative axes count from the end.

use broadloom_core::indices::{DynamicView, Indices};
use broadloom_core::{Dim, Error, ErrorKind, Result, Shape, View};
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr;
use crate::range::IntoRanges;

impl<'a> Array<'a> {
    /// Reshapes the array in row-major order. One extent may be −1, and is then computed from the number of elements.
    ///
    /// For evaluated data this is a view if strides can express it; otherwise the elements are reordered when the expression is
    /// evaluated.
    ///
    /// # Errors
    /// If the numbers of elements differ, an extent is below −1, or more than one is −1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.reshape(&[2, -1])?.shape(), [2, 3]);
    /// assert_eq!(
    ///     x.reshape(&[4, -1]).unwrap_err().to_string(),
    ///     "reshape: the 6 elements of [6] do not fill [4,-1]"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reshape(&self, shape: &[isize]) -> Result<Array<'a>> {
        expr::view(self, View::Reshape(self.resolve(shape)?))
    }

    fn resolve(&self, shape: &[isize]) -> Result<Shape> {
        let shown = || shape.iter().map(isize::to_string).collect::<Vec<_>>().join(",");
        let fail = |why: String| Err(Error::new(ErrorKind::Shape, format!("reshape: {why}")));
        if let Some(axis) = shape.iter().position(|&extent| extent < -1) {
            return fail(format!("axis {axis} of [{}] is {}", shown(), shape[axis]));
        }
        let mut open = shape.iter().enumerate().filter(|(_, extent)| **extent == -1).map(|(axis, _)| axis);
        let (first, second) = (open.next(), open.next());
        if let (Some(a), Some(b)) = (first, second) {
            return fail(format!("axes {a} and {b} of [{}] are both -1", shown()));
        }
        let mut extents: SmallVec<[usize; 4]> = shape.iter().map(|&extent| extent.max(0) as usize).collect();
        if let Some(axis) = first {
            extents[axis] = 1;
            let known = Shape::new(&extents)?.elements();
            let whole = self.len().checked_div(known).filter(|n| n * known == self.len());
            match whole {
                Some(extent) => extents[axis] = extent,
                None => {
                    let (n, of) = (self.len(), &self.0.shape);
                    return fail(format!("the {n} elements of {of} do not fill [{}]", shown()));
                }
            }
        }
        Shape::new(&extents)
    }

    /// Permutes the axes: axis `i` of the result is axis `axes[i]` of this array.
    ///
    /// # Errors
    /// If `axes` is not a permutation of the axes.
    pub fn permute_dims(&self, axes: &[isize]) -> Result<Array<'a>> {
        let axes =
            axes.iter().map(|&a| self.axis("permute_dims", a).map(|a| a as u8)).collect::<Result<_>>()?;
        expr::view(self, View::Permute(axes))
    }

    /// Reverses the order of the axes, which transposes a matrix.
    pub fn t(&self) -> Array<'a> {
        let reversed = View::Permute((0..self.rank() as u8).rev().collect());
        // Reversed axes are always a permutation. Typing fails only for a literal, which has no axes to reverse.
        expr::view(self, reversed).unwrap_or_else(|_| self.clone())
    }

    /// Selects a range of indices along each axis, as Python's slices do, or a single index, which removes the axis. Axes without
    /// a range remain complete. A negative bound or index counts from the end.
    ///
    /// # Errors
    /// For more ranges than axes, a step of 0, or an index that is out of range.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.slice((1.., ..-1))?.to_vec::<i32>()?, [4, 5]);
    /// assert_eq!(x.slice((.., 0))?.to_vec::<i32>()?, [1, 4]);
    /// assert_eq!(x.slice((.., Range::from(..).step(-1)))?.to_vec::<i32>()?, [3, 2, 1, 6, 5, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn slice(&self, ranges: impl IntoRanges) -> Result<Array<'a>> {
        self.indexed("slice", ranges.into_ranges().0.iter().map(|range| range.indices()).collect(), false)
    }

    /// The elements at these indices of the first axes or, if `of_last` is true, of the last axes.
    pub(crate) fn indexed(
        &self,
        function: &str,
        mut indices: SmallVec<[Indices; 4]>,
        of_last: bool,
    ) -> Result<Array<'a>> {
        let (n, rank) = (indices.len(), self.rank());
        if n > rank {
            let of = self.all_dims();
            let why = format!("{function}: {n} ranges for {of}, which has rank {rank}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if n > 0 && !of_last {
            self.has_known_rank(function)?;
        }
        indices.resize(rank, Indices::ALL);
        let has_rest = self.dims().is_some_and(|dims| dims.first() == Some(&Dim::Rest));
        expr::dynamic_view(self, function, DynamicView::Index { indices, has_rest })
    }

    /// Selects one index of an axis, and removes the axis. A negative index counts from the end.
    ///
    /// # Errors
    /// For an axis or an index out of range.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_shape_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(x.index_axis(1, -1)?.to_vec::<i32>()?, [3, 6]);
    /// assert_eq!(
    ///     x.index_axis(0, 2).unwrap_err().to_string(),
    ///     "index_axis: index 2 is out of range for axis 0 of [2,3]"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn index_axis(&self, axis: isize, index: isize) -> Result<Array<'a>> {
        self.one_axis("index_axis", axis, Indices::At(index))
    }

    /// Repeats the array along new leading axes and along axes of extent 1.
    ///
    /// # Errors
    /// If the array's shape does not broadcast to this shape.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Array<'a>> {
        expr::view(self, View::BroadcastTo(Shape::new(shape)?))
    }

    /// Adds an axis of extent 1, at this position among the axes of the result.
    ///
    /// # Errors
    /// For a position outside of the range from −rank−1 to rank.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0, 2.0, 3.0]);
    /// let table = x.expand_dims(1)? * &x; // all products
    /// assert_eq!(table.shape(), [3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn expand_dims(&self, axis: isize) -> Result<Array<'a>> {
        let position = resolve_axis("expand_dims", axis, self.rank() + 1, &self.0.shape)?;
        if axis >= 0 {
            self.has_known_rank("expand_dims")?;
        }
        let behind = (self.rank() - position) as u8;
        expr::dynamic_view(self, "expand_dims", DynamicView::NewAxis(behind))
    }

    /// Removes an axis of extent 1.
    ///
    /// # Errors
    /// For an axis out of range, or with another extent.
    pub fn squeeze(&self, axis: isize) -> Result<Array<'a>> {
        let position = self.axis("squeeze", axis)?;
        let dims = self.all_dims();
        let extent = &dims[dims.len() - self.rank() + position];
        if *extent != Dim::Fixed(1) {
            let why = format!("squeeze: axis {position} of {dims} has extent {extent}, not 1");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        self.one_axis("squeeze", axis, Indices::At(0))
    }

    /// Reverses the order of the elements along an axis.
    ///
    /// # Errors
    /// For an axis out of range.
    pub fn flip(&self, axis: isize) -> Result<Array<'a>> {
        self.one_axis("flip", axis, Indices::Range { start: None, stop: None, step: -1 })
    }

    /// The elements at these indices of one axis.
    fn one_axis(&self, function: &str, axis: isize, of_axis: Indices) -> Result<Array<'a>> {
        let position = self.axis(function, axis)?;
        if axis >= 0 {
            self.has_known_rank(function)?;
        }
        let mut indices = SmallVec::from_elem(Indices::ALL, self.rank());
        indices[position] = of_axis;
        let has_rest = self.dims().is_some_and(|dims| dims.first() == Some(&Dim::Rest));
        expr::dynamic_view(self, function, DynamicView::Index { indices, has_rest })
    }

    /// Returns an error for an array of dynamic rank, since its axes can be counted only from the end.
    pub(crate) fn has_known_rank(&self, function: &str) -> Result<()> {
        if self.dims().is_none_or(|dims| dims.first() != Some(&Dim::Rest)) {
            return Ok(());
        }
        let why = format!("{function}: the rank of {}{} is open", self.dtype(), self.all_dims());
        Err(Error::new(ErrorKind::Shape, why)
            .with_help("count axes from the end, as in x[..., 1:], or name the dimensions instead of `...`"))
    }

    /// Checks that no dimension is dynamic, since the view might not be valid for all extents.
    pub(crate) fn has_known_extents(&self, what: &str) -> Result<()> {
        if self.0.dims.is_none() {
            return Ok(());
        }
        let why = format!("{what}: the extents of {}{} are open", self.dtype(), self.all_dims());
        Err(Error::new(ErrorKind::Shape, why)
            .with_help("run the kernel on a view of the input instead, or fix the extents"))
    }

    pub(crate) fn axis(&self, what: &str, axis: isize) -> Result<usize> {
        resolve_axis(what, axis, self.rank(), &self.0.shape)
    }
}

/// Converts an axis, which may be counted from the end, to its index from the start. It must be one of `positions` axes.
pub(crate) fn resolve_axis(what: &str, axis: isize, positions: usize, of: &Shape) -> Result<usize> {
    let n = positions as isize;
    if axis < -n || axis >= n {
        let why = format!("{what}: axis {axis} is out of range for {of}, which has rank {}", of.rank());
        return Err(Error::new(ErrorKind::Shape, why));
    }
    Ok(if axis < 0 { axis + n } else { axis } as usize)
}
