//! Arrays that are joined, shifted or repeated along an axis.
//!
//! `concat` is a node of the expression. The other functions are made of it and of views, so that they fuse with what uses them:
//! the loops of each part read its elements where they are.

use broadloom_core::layout::Slice;
use broadloom_core::{Error, ErrorKind, Op, Result, Shape, View};
use smallvec::{SmallVec, smallvec};

use crate::array::Array;
use crate::expr;
use crate::promote::result_type;
use crate::views::resolve_axis;

/// The arrays joined along an axis, in their common dtype. Their other extents are equal.
///
/// # Errors
/// [`ErrorKind::Arity`] for no arrays; [`ErrorKind::DType`] for dtypes that do not promote; [`ErrorKind::Shape`] for different
/// ranks, different extents along another axis, an axis that does not exist, and open extents.
///
/// ```
/// use broadloom::{concat, prelude::*};
///
/// let (x, y) = (Array::from([[1, 2], [3, 4]]), Array::from([[5], [6]]));
/// assert_eq!(concat(&[x, y], 1)?.to_vec::<i32>()?, [1, 2, 5, 3, 4, 6]);
/// # Ok::<(), Error>(())
/// ```
pub fn concat<'a>(arrays: &[Array<'a>], axis: isize) -> Result<Array<'a>> {
    let arrays = of_one_dtype("concat", arrays)?;
    let first = arrays.first().ok_or_else(|| nothing("concat"))?;
    first.has_known_extents("concat")?;
    let axis = first.axis("concat", axis)?;
    expr::concat("concat", &arrays, axis)
}

/// The arrays, all of one shape, joined along a new axis, which is axis `axis` of the result.
///
/// # Errors
/// The errors of [`concat()`].
///
/// ```
/// use broadloom::{prelude::*, stack};
///
/// let (x, y) = (Array::from([1, 2]), Array::from([3, 4]));
/// assert_eq!(stack(&[x, y], 1)?.to_vec::<i32>()?, [1, 3, 2, 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn stack<'a>(arrays: &[Array<'a>], axis: isize) -> Result<Array<'a>> {
    let arrays = of_one_dtype("stack", arrays)?;
    let first = arrays.first().ok_or_else(|| nothing("stack"))?;
    if let Some(other) = arrays.iter().find(|other| other.0.shape != first.0.shape) {
        let why = format!("stack: {} and {} are different shapes", first.all_dims(), other.all_dims());
        return Err(Error::new(ErrorKind::Shape, why));
    }
    let axis = resolve_axis("stack", axis, first.rank() + 1, &first.0.shape)?;
    let rows: Result<Vec<Array<'a>>> = arrays.iter().map(|array| array.expand_dims(axis as isize)).collect();
    expr::concat("stack", &rows?, axis)
}

/// Converts arrays to their common dtype.
fn of_one_dtype<'a>(function: &str, arrays: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
    let arrays = arrays.iter().map(expr::typed).collect::<Result<Vec<Array<'a>>>>()?;
    let common = result_type(function, &arrays)?;
    Ok(arrays.into_iter().map(|array| array.astype(common)).collect())
}

fn nothing(function: &str) -> Error {
    Error::new(ErrorKind::Arity, format!("{function}: there is nothing to join"))
}

impl<'a> Array<'a> {
    /// The elements moved by `shift` indices along an axis, in a circle: those that leave the end come in at the beginning.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist, and for open extents.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1, 2, 3, 4]);
    /// assert_eq!(x.roll(1, 0)?.to_vec::<i32>()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(-1, 0)?.to_vec::<i32>()?, [2, 3, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn roll(&self, shift: isize, axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        x.has_known_extents("roll")?;
        let axis = x.axis("roll", axis)?;
        let extent = x.shape()[axis];
        let moved = match extent {
            0 => 0,
            _ => shift.rem_euclid(extent.min(isize::MAX as usize) as isize) as usize,
        };
        if moved == 0 {
            return Ok(x);
        }
        let (last, first) = (x.along(axis, extent - moved, 1, moved)?, x.along(axis, 0, 1, extent - moved)?);
        expr::concat("roll", &[last, first], axis)
    }

    /// Each element `times` times in succession along an axis.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist, and for open extents; [`ErrorKind::Limit`] for too many elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.repeat(2, 1)?.to_vec::<i32>()?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn repeat(&self, times: usize, axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        x.has_known_extents("repeat")?;
        let axis = x.axis("repeat", axis)?;
        x.repeated("repeat", times, axis, axis + 1)
    }

    /// The array `times[i]` times in succession along axis `i`. The shorter of the shape and `times` is extended by ones in
    /// front.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for open extents; [`ErrorKind::Limit`] for too many elements or axes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1, 2]);
    /// assert_eq!(x.tile(&[2, 2])?.to_vec::<i32>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn tile(&self, times: &[usize]) -> Result<Array<'a>> {
        let mut x = expr::typed(self)?;
        x.has_known_extents("tile")?;
        let ones = times.len().saturating_sub(x.rank());
        if ones > 0 {
            let extents: SmallVec<[usize; 4]> =
                std::iter::repeat_n(1, ones).chain(x.shape().iter().copied()).collect();
            x = expr::view(&x, View::Reshape(Shape::new(&extents)?))?;
        }
        let first = x.rank() - times.len();
        for (axis, &times) in (first..).zip(times) {
            x = x.repeated("tile", times, axis, axis)?;
        }
        Ok(x)
    }

    /// The differences of successive elements along an axis, which has one element less.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist, and for open extents; [`ErrorKind::DType`] for bools under strict
    /// promotion.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1, 4, 9, 16]);
    /// assert_eq!(x.diff(0)?.to_vec::<i32>()?, [3, 5, 7]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn diff(&self, axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        x.has_known_extents("diff")?;
        let axis = x.axis("diff", axis)?;
        let less = x.shape()[axis].saturating_sub(1);
        let (later, earlier) = (x.along(axis, x.shape()[axis] - less, 1, less)?, x.along(axis, 0, 1, less)?);
        expr::apply(Op::Subtract, smallvec![later.into(), earlier.into()])
    }

    /// All runs of `length` adjacent elements along an axis. The extent of the axis becomes their number, and their elements are
    /// along a new last axis. They are a view, and take no memory.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist or has fewer elements, and for open extents; [`ErrorKind::Limit`] for
    /// too many elements.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1, 2, 4, 8]);
    /// let windows = x.sliding_window(3, 0)?;
    /// assert_eq!(windows.to_vec::<i32>()?, [1, 2, 4, 2, 4, 8]);
    /// assert_eq!(windows.sum(1)?.to_vec::<i64>()?, [7, 14]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sliding_window(&self, length: usize, axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        x.has_known_extents("sliding_window")?;
        let axis = x.axis("sliding_window", axis)? as u8;
        expr::view(&x, View::Windows { axis, length, rank: x.rank() as u8 + 1 })
    }

    /// The indices `start`, `start + step`, … of an axis, `len` of them.
    pub(crate) fn along(&self, axis: usize, start: usize, step: isize, len: usize) -> Result<Array<'a>> {
        let all = |(i, &extent): (usize, &usize)| match i == axis {
            true => Slice { start, step, len },
            false => Slice { start: 0, step: 1, len: extent },
        };
        expr::view(self, View::Slice(self.shape().iter().enumerate().map(all).collect()))
    }

    /// The elements repeated along a new axis before the axis `at`, which is then joined with `axis`, its neighbour.
    fn repeated(&self, function: &str, times: usize, axis: usize, at: usize) -> Result<Array<'a>> {
        if times == 1 {
            return Ok(self.clone());
        }
        let mut extents: SmallVec<[usize; 4]> = self.shape().into();
        let joined = extents[axis].checked_mul(times).ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("{function}: {} times {times} elements", extents[axis]))
        })?;
        extents.insert(at, 1);
        let one = expr::view(self, View::Reshape(Shape::new(&extents)?))?;
        extents[at] = times;
        let repeated = expr::view(&one, View::BroadcastTo(Shape::new(&extents)?))?;
        extents.remove(at);
        extents[axis] = joined;
        expr::view(&repeated, View::Reshape(Shape::new(&extents)?))
    }
}
