//! Selections of a given size, whose extents do not depend on values, so that they are expressions: what remains is filled.

use broadloom_core::routine::Routine;
use broadloom_core::{DType, Error, ErrorKind, Op, Result, Scalar};
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::sorts::first_of;
use crate::take::IndexMode;

impl<'a> Array<'a> {
    /// The indices of the first `size` elements that are not 0, in row-major order: an array of int64 for each axis, which ends with
    /// `fill_value` if there are fewer. [`Array::nonzero`] has all of them, and computes the values.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array without axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let indices = Array::from([0, 5, 7]).nonzero_sized(3, -1)?;
    /// assert_eq!(indices[0].to_vec::<i64>()?, [1, 2, -1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nonzero_sized(&self, size: usize, fill_value: i64) -> Result<Vec<Array<'a>>> {
        let x = expr::typed(self)?;
        if x.rank() == 0 {
            return Err(Error::new(ErrorKind::Shape, "nonzero: an array without axes has no indices"));
        }
        let mask = if x.dtype() == DType::Bool { x } else { x.try_not_equal(0)? };
        let positions = positions(&mask, size)?;
        let is_filled = positions.less(0);
        let fill = expr::constant(Scalar::of(fill_value));
        let filled = |index: Array<'a>| -> Result<Array<'a>> {
            expr::apply(Op::Where, smallvec![(&is_filled).into(), (&fill).into(), index.into()])
        };
        if mask.rank() == 1 {
            return Ok(vec![filled(positions)?]);
        }
        mask.has_known_extents("nonzero")?;
        let mut stride = mask.len();
        let indices = mask.shape().iter().map(|&extent| {
            stride /= extent.max(1);
            let rows = positions.try_floor_divide(stride.max(1) as i64)?;
            filled(rows.try_remainder(extent.max(1) as i64)?)
        });
        indices.collect()
    }

    /// The first `size` elements at which a mask is true, as [`Array::compress`] has all of them. If there are fewer, the fill value, of
    /// no axes and of the dtype of the array, takes their place.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for a mask that is not bool, and a fill value of another dtype; [`ErrorKind::Shape`] for an axis that does not
    /// exist, for a mask without axes or of other extents, and for open extents.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (x, mask) = (Array::from([1, 2, 3]), Array::from([true, false, true]));
    /// assert_eq!(x.compress_sized(&mask, 0, 3, &Array::scalar(9))?.to_vec::<i32>()?, [1, 3, 9]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compress_sized(
        &self,
        mask: &Array<'a>,
        axis: isize,
        size: usize,
        fill_value: &Array<'a>,
    ) -> Result<Array<'a>> {
        let (x, mask) = (expr::typed(self)?, expr::typed(mask)?);
        let fill = match fill_value.number() {
            Some(_) => expr::cast(fill_value.clone(), x.dtype()),
            None => fill_value.clone(),
        };
        x.has_known_extents("compress")?;
        mask.has_known_extents("compress")?;
        if fill.dtype() != x.dtype() || fill.rank() > 0 {
            let (of, given) = (x.dtype(), fill.all_dims());
            let why = format!("compress: a fill value is {of} without axes, not {}{given}", fill.dtype());
            return Err(Error::new(ErrorKind::DType, why));
        }
        let axis = x.axis("compress", axis)?;
        let end = axis + mask.rank();
        if mask.rank() == 0 || x.shape().get(axis..end) != Some(mask.shape()) {
            let (mask, array) = (mask.all_dims(), x.all_dims());
            let why = format!("compress: a mask of {mask} does not fit axis {axis} of {array}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let (before, after) = (&x.shape()[..axis], &x.shape()[end..]);
        let shape = |along: usize| [before, &[along], after].concat();
        if mask.is_empty() {
            return fill.broadcast_to(&shape(size));
        }
        let positions = positions(&mask, size)?;
        let rows: Vec<isize> = shape(mask.len()).into_iter().map(|extent| extent as isize).collect();
        let taken = x.reshape(&rows)?.take_by(&positions, axis as isize, IndexMode::Clip)?;
        let along: Vec<isize> = std::iter::once(size as isize).chain(after.iter().map(|_| 1)).collect();
        let is_filled = positions.less(0).reshape(&along)?;
        expr::apply(Op::Where, smallvec![is_filled.into(), fill.into(), taken.into()])
    }

    /// The first `size` distinct elements in ascending order, as [`Array::unique_values`] has all of them. If there are fewer, the first
    /// one takes their place.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array without elements, or of open extents.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::from([3, 1, 3]).unique_sized(4)?.to_vec::<i32>()?, [1, 3, 1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique_sized(&self, size: usize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        x.has_known_extents("unique_values")?;
        if x.is_empty() {
            return Err(Error::new(ErrorKind::Shape, "unique_values: there are no elements to fill with"));
        }
        let row = x.reshape(&[-1])?;
        // Elements that are equal have one key, so that the first occurrence of each comes first.
        let key = match x.dtype().is_float() {
            true => {
                let zero = expr::cast(Array::scalar(0), x.dtype());
                expr::apply(Op::Where, smallvec![row.equal(0).into(), zero.into(), (&row).into()])?
            }
            false => row.clone(),
        };
        let sorted = row.take(&key.argsort(0, false)?, 0)?;
        let index = expr::numbers(sorted.len())?;
        let before = sorted.take_by(&index.try_subtract(1)?, 0, IndexMode::Clip)?;
        let first = index.equal(0).logical_or(sorted.not_equal(&before));
        sorted.take_by(&positions(&first, size)?, 0, IndexMode::Clip)
    }
}

/// The positions of the first true elements of a mask, and then −1.
fn positions<'a>(mask: &Array<'a>, size: usize) -> Result<Array<'a>> {
    expr::routine(Routine::NonZero { size }, std::slice::from_ref(mask)).and_then(first_of)
}
