//! Views: the same elements in another shape or order, without a copy.
//!
//! A view of an array in memory is an array over the same memory; a view of an expression, or a reshape that strides can't express,
//! is a node of the expression. An error names the function, the shape and the axis; negative axes count from the end.

use broadloom_core::layout::Slice;
use broadloom_core::{Error, ErrorKind, Result, Shape, View};
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr;
use crate::range::{IntoRanges, Range};

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
        let ranges = ranges.into_ranges().0;
        let of = &self.0.shape;
        if ranges.len() > of.rank() {
            let (n, rank) = (ranges.len(), of.rank());
            return Err(Error::new(
                ErrorKind::Shape,
                format!("slice: {n} ranges for {of}, which has rank {rank}"),
            ));
        }
        let whole = std::iter::repeat(Range::from(..));
        let mut slices: SmallVec<[Slice; 4]> = SmallVec::new();
        for (axis, (range, &extent)) in ranges.iter().copied().chain(whole).zip(of.iter()).enumerate() {
            slices.push(match range.index() {
                Some(index) => {
                    self.has_known_extents("slice")?;
                    one_index("slice", index, axis, of)?
                }
                None => range.on(extent).ok_or_else(|| {
                    Error::new(ErrorKind::Shape, format!("slice: the step along axis {axis} of {of} is 0"))
                })?,
            });
        }
        let sliced = expr::view(self, View::Slice(slices))?;
        if ranges.iter().all(|range| range.index().is_none()) {
            return Ok(sliced);
        }
        let is_kept = |axis: &usize| ranges.get(*axis).is_none_or(|range| range.index().is_none());
        let left: SmallVec<[usize; 4]> =
            (0..sliced.rank()).filter(is_kept).map(|axis| sliced.shape()[axis]).collect();
        expr::view(&sliced, View::Reshape(Shape::new(&left)?))
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
        self.has_known_extents("index_axis")?;
        let of = &self.0.shape;
        let axis = self.axis("index_axis", axis)?;
        let mut slices: SmallVec<[Slice; 4]> =
            of.iter().map(|&len| Slice { start: 0, step: 1, len }).collect();
        slices[axis] = one_index("index_axis", index, axis, of)?;
        expr::view(self, View::Slice(slices))?.without_axis(axis)
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
        let mut extents: SmallVec<[usize; 4]> = self.shape().into();
        extents.insert(position, 1);
        expr::view(self, View::Reshape(Shape::new(&extents)?))
    }

    /// Removes an axis of extent 1.
    ///
    /// # Errors
    /// For an axis out of range, or with another extent.
    pub fn squeeze(&self, axis: isize) -> Result<Array<'a>> {
        self.has_known_extents("squeeze")?;
        let axis = self.axis("squeeze", axis)?;
        let extent = self.shape()[axis];
        if extent != 1 {
            let of = &self.0.shape;
            return Err(Error::new(
                ErrorKind::Shape,
                format!("squeeze: axis {axis} of {of} has extent {extent}, not 1"),
            ));
        }
        self.without_axis(axis)
    }

    /// Reverses the order of the elements along an axis.
    ///
    /// # Errors
    /// For an axis out of range.
    pub fn flip(&self, axis: isize) -> Result<Array<'a>> {
        let axis = self.axis("flip", axis)?;
        let mut ranges = vec![Range::from(..); self.rank()];
        ranges[axis] = Range::new(None, None, -1);
        self.slice(ranges)
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

    fn without_axis(&self, axis: usize) -> Result<Array<'a>> {
        let mut extents: SmallVec<[usize; 4]> = self.shape().into();
        extents.remove(axis);
        expr::view(self, View::Reshape(Shape::new(&extents)?))
    }

    pub(crate) fn axis(&self, what: &str, axis: isize) -> Result<usize> {
        resolve_axis(what, axis, self.rank(), &self.0.shape)
    }
}

/// The slice with one index of an axis; a negative index counts from the end.
fn one_index(what: &str, index: isize, axis: usize, of: &Shape) -> Result<Slice> {
    let counted = if index < 0 { index.checked_add_unsigned(of[axis]) } else { Some(index) };
    let start = counted.and_then(|i| usize::try_from(i).ok()).filter(|&i| i < of[axis]);
    let why = || format!("{what}: index {index} is out of range for axis {axis} of {of}");
    let start = start.ok_or_else(|| Error::new(ErrorKind::Shape, why()))?;
    Ok(Slice { start, step: 1, len: 1 })
}

/// The axis counted from the start, which must be one of `positions` axes; a negative axis counts from the end.
pub(crate) fn resolve_axis(what: &str, axis: isize, positions: usize, of: &Shape) -> Result<usize> {
    let n = positions as isize;
    if axis < -n || axis >= n {
        let why = format!("{what}: axis {axis} is out of range for {of}, which has rank {}", of.rank());
        return Err(Error::new(ErrorKind::Shape, why));
    }
    Ok(if axis < 0 { axis + n } else { axis } as usize)
}
