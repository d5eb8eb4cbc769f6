//! Elements at computed indices.
//!
//! Every function here computes the position of each element in the row-major order of the array, by ordinary integer arithmetic
//! that fuses with the rest of the expression, and ends in one node that reads the elements there ([`expr::gather`]). An index
//! that is out of range becomes a position outside of the array, for which the evaluation fails before anything is read.

use std::fmt;

use broadloom_core::{DType, Error, ErrorKind, Op, Result, Scalar, Shape, View};
use broadloom_ir::Axes;
use smallvec::{SmallVec, smallvec};

use crate::array::Array;
use crate::expr;

/// What an index out of range means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexMode {
    /// A negative index counts from the end; any other index out of range makes the evaluation fail
    /// ([`ErrorKind::Index`]).
    #[default]
    Raise,
    /// A negative index is 0, and an index beyond the last is the last.
    Clip,
    /// Indices are taken modulo the extent of the axis.
    Wrap,
}

impl fmt::Display for IndexMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IndexMode::Raise => "raise",
            IndexMode::Clip => "clip",
            IndexMode::Wrap => "wrap",
        })
    }
}

impl std::str::FromStr for IndexMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<IndexMode> {
        let known = [IndexMode::Raise, IndexMode::Clip, IndexMode::Wrap];
        known.into_iter().find(|mode| mode.to_string() == name).ok_or_else(|| {
            let why = format!("take: `{name}` is no mode of an index; they are raise, clip and wrap");
            Error::new(ErrorKind::Name, why)
        })
    }
}

impl<'a> Array<'a> {
    /// The elements at these indices of an axis. The axes of the indices take the place of the axis. Indices are integers of any
    /// dtype and shape; a negative one counts from the end.
    ///
    /// Evaluating the result fails with [`ErrorKind::Index`] if an index is out of range; the error names the first one.
    /// [`Array::take_by`] has other modes.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for indices that are no integers; [`ErrorKind::Shape`] for an axis that does not exist, or whose array
    /// has several axes of open extents.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// let columns = x.take(&Array::from([2, 0, -1]), 1)?;
    /// assert_eq!(columns.to_vec::<i32>()?, [3, 1, 3, 6, 4, 6]);
    ///
    /// let e = x.take(&Array::from([0, 5]), 0)?.eval().unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::Index);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take(&self, indices: &Array<'a>, axis: isize) -> Result<Array<'a>> {
        self.take_by(indices, axis, IndexMode::Raise)
    }

    /// [`Array::take`] with a mode for indices that are out of range.
    ///
    /// # Errors
    /// The errors of [`Array::take`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (x, i) = (Array::from([10, 20, 30]), Array::from([-1, 1, 7]));
    /// assert_eq!(x.take_by(&i, 0, IndexMode::Clip)?.to_vec::<i32>()?, [10, 20, 30]);
    /// assert_eq!(x.take_by(&i, 0, IndexMode::Wrap)?.to_vec::<i32>()?, [30, 20, 20]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_by(&self, indices: &Array<'a>, axis: isize, mode: IndexMode) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        let axis = x.axis("take", axis)?;
        Taken { function: "take", mode, first: axis }.of(&x, std::slice::from_ref(indices), false)
    }

    /// The elements at these indices along an axis: the indices have the rank of the array, and their other axes broadcast with
    /// those of the array, so that each row has indices of its own.
    ///
    /// # Errors
    /// The errors of [`Array::take`]; [`ErrorKind::Shape`] for indices of another rank or of axes that do not broadcast.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[30, 10, 20], [4, 6, 5]]);
    /// let smallest = x.argmin(Over::axis(1).keep_dims())?;
    /// assert_eq!(x.take_along_axis(&smallest, 1)?.to_vec::<i32>()?, [10, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_along_axis(&self, indices: &Array<'a>, axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        let first = x.axis("take_along_axis", axis)?;
        if indices.rank() != x.rank() {
            let (n, of) = (indices.rank(), x.all_dims());
            let why = format!("take_along_axis: the indices have {n} axes, {of} has {}", x.rank());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        Taken { function: "take_along_axis", mode: IndexMode::Raise, first }.of(
            &x,
            std::slice::from_ref(indices),
            true,
        )
    }

    /// The elements at the tuples of indices of adjacent axes, beginning with `axis`: one array of indices for each of these axes.
    /// The indices broadcast with each other, and their axes take the place of the axes. With axis 0 this is `x[i, j]` of NumPy.
    ///
    /// # Errors
    /// The errors of [`Array::take`]; [`ErrorKind::Shape`] for no indices, more of them than axes, or indices that do not
    /// broadcast.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// let (i, j) = (Array::from([0, 1, 1]), Array::from([2, 0, -1]));
    /// assert_eq!(x.gather(&[i, j], 0)?.to_vec::<i32>()?, [3, 4, 6]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn gather(&self, indices: &[Array<'a>], axis: isize) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        let first = x.axis("gather", axis)?;
        if indices.is_empty() || indices.len() > x.rank() - first {
            let (n, of) = (indices.len(), x.all_dims());
            let why = format!(
                "gather: {n} indices for {of} from axis {first} on, where it has {}",
                x.rank() - first
            );
            return Err(Error::new(ErrorKind::Shape, why));
        }
        Taken { function: "gather", mode: IndexMode::Raise, first }.of(&x, indices, false)
    }
}

/// A function that takes elements at indices of adjacent axes, beginning with axis `first`.
struct Taken {
    function: &'static str,
    mode: IndexMode,
    first: usize,
}

impl Taken {
    /// The elements of an array at these indices. If `is_aligned`, the indices have the rank of the array, and otherwise their
    /// axes take the place of those that are indexed.
    fn of<'a>(&self, x: &Array<'a>, indices: &[Array<'a>], is_aligned: bool) -> Result<Array<'a>> {
        let last = self.first + indices.len();
        if x.rank() > indices.len() {
            x.has_known_extents(self.function)?;
        }
        let (mut position, mut is_inside) = (None, None);
        for (i, index) in indices.iter().enumerate() {
            let extent = expr::count(x, [self.first + i].into_iter().collect(), DType::Int64);
            let index = self.index(index, &extent)?;
            position = Some(match position {
                None => index.clone(),
                Some(before) => {
                    let row = binary(Op::Multiply, before, extent.clone())?;
                    self.named(binary(Op::Add, row, index.clone()))?
                }
            });
            if x.rank() > 1 && self.mode == IndexMode::Raise {
                let inside = inside(&index, &extent)?;
                is_inside = Some(match is_inside {
                    None => inside,
                    Some(before) => binary(Op::LogicalAnd, before, inside)?,
                });
            }
        }
        let mut position = position.ok_or_else(|| Error::new(ErrorKind::Internal, "a take of no indices"))?;
        let axes = if is_aligned { 0 } else { position.rank() };
        let (outer, inner) = (0..self.first, last..x.rank());
        if !outer.is_empty() {
            let row = expr::count(x, (self.first..last).collect(), DType::Int64);
            let rows = numbers(x, outer, x.rank() - last + if is_aligned { 1 } else { axes })?;
            let rows = binary(Op::Multiply, rows, row)?;
            position = self.named(binary(Op::Add, rows, self.spread(position, x, last, is_aligned)?))?;
        } else {
            position = self.spread(position, x, last, is_aligned)?;
        }
        if !inner.is_empty() {
            let step = expr::count(x, inner.clone().collect(), DType::Int64);
            let columns = numbers(x, inner, 0)?;
            position = binary(Op::Add, binary(Op::Multiply, position, step)?, columns)?;
        }
        if let Some(inside) = is_inside {
            let inside = self.spread(inside, x, last, is_aligned)?;
            let outside = expr::constant(Scalar::of(-1i64));
            position = expr::apply(Op::Where, smallvec![inside.into(), position.into(), outside.into()])?;
        }
        expr::gather(x, &position)
    }

    /// The same with an error about shapes that names the function of the caller, in the place of a step within it.
    fn named<'a>(&self, made: Result<Array<'a>>) -> Result<Array<'a>> {
        made.map_err(|e| match (e.kind(), e.message().split_once(": ")) {
            (ErrorKind::Shape, Some((_, why))) => {
                Error::new(ErrorKind::Shape, format!("{}: {why}", self.function))
            }
            _ => e,
        })
    }

    /// A value with the axes of the indices, followed by an axis of extent 1 for each axis of the array from `last` on.
    fn spread<'a>(
        &self,
        value: Array<'a>,
        x: &Array<'a>,
        last: usize,
        is_aligned: bool,
    ) -> Result<Array<'a>> {
        let after = x.rank() - last;
        if is_aligned || after == 0 {
            return Ok(value);
        }
        value.has_known_extents(self.function)?;
        let extents: SmallVec<[usize; 4]> =
            value.shape().iter().copied().chain(std::iter::repeat_n(1, after)).collect();
        expr::view(&value, View::Reshape(Shape::new(&extents)?))
    }

    /// Indices as int64, of which those in range are at least 0 and below the extent.
    fn index<'a>(&self, index: &Array<'a>, extent: &Array<'a>) -> Result<Array<'a>> {
        let index = expr::typed(index)?;
        let dtype = index.dtype();
        if !dtype.is_integer() {
            let why = format!("{}: indices are integers, not {dtype}", self.function);
            let advice = match dtype {
                DType::Bool => "a mask selects by `where`, or by `nonzero` beforehand",
                _ => "astype(indices, int64) converts them",
            };
            return Err(Error::new(ErrorKind::DType, why).with_help(advice));
        }
        let index = match dtype {
            // Otherwise, larger ones would become negative.
            DType::UInt64 if self.mode == IndexMode::Wrap => {
                let least = expr::constant(Scalar::of(1u64));
                let extent = expr::cast(extent.clone(), DType::UInt64);
                binary(Op::Remainder, index, binary(Op::Maximum, extent, least)?)?
            }
            DType::UInt64 => binary(Op::Minimum, index, expr::constant(Scalar::of(i64::MAX as u64)))?,
            _ => index,
        };
        let index = expr::cast(index, DType::Int64);
        let zero = || expr::constant(Scalar::of(0i64));
        let one = || expr::constant(Scalar::of(1i64));
        match self.mode {
            IndexMode::Raise if dtype.kind() == broadloom_core::Kind::Unsigned => Ok(index),
            IndexMode::Raise => {
                let is_negative = binary(Op::Less, index.clone(), zero())?;
                let from_end = binary(Op::Add, index.clone(), extent.clone())?;
                expr::apply(Op::Where, smallvec![is_negative.into(), from_end.into(), index.into()])
            }
            IndexMode::Clip => {
                let last = binary(Op::Subtract, extent.clone(), one())?;
                binary(Op::Minimum, binary(Op::Maximum, index, zero())?, last)
            }
            // Of an empty axis, the position 0 is outside.
            IndexMode::Wrap => binary(Op::Remainder, index, binary(Op::Maximum, extent.clone(), one())?),
        }
    }
}

/// Whether an index is at least 0 and below an extent.
fn inside<'a>(index: &Array<'a>, extent: &Array<'a>) -> Result<Array<'a>> {
    let zero = expr::constant(Scalar::of(0i64));
    let from = binary(Op::GreaterEqual, index.clone(), zero)?;
    binary(Op::LogicalAnd, from, binary(Op::Less, index.clone(), extent.clone())?)
}

/// The number of each index of adjacent axes of an array, in row-major order, with `after` axes of extent 1 behind them.
fn numbers<'a>(x: &Array<'a>, axes: std::ops::Range<usize>, after: usize) -> Result<Array<'a>> {
    let count = axes.clone().collect::<Axes>().count(&x.0.shape);
    let extents: SmallVec<[usize; 4]> =
        x.shape()[axes].iter().copied().chain(std::iter::repeat_n(1, after)).collect();
    expr::view(&expr::numbers(count)?, View::Reshape(Shape::new(&extents)?))
}

fn binary<'a>(op: Op, x: Array<'a>, y: Array<'a>) -> Result<Array<'a>> {
    expr::apply(op, smallvec![x.into(), y.into()])
}
