//! Arrays with additional elements at the ends of their axes.
//!
//! The additional elements are views of the array, or a constant, which are joined with it. Only if an axis is repeated more often
//! than [`MOST_PARTS`] are its elements taken by computed indices instead.

use std::fmt;

use broadloom_core::{Error, ErrorKind, Op, Result, Scalar, Shape, View};
use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Operand};
use crate::expr;
use crate::operand::IntoArray;
use crate::take::IndexMode;

/// The maximum number of views that an axis is padded with.
const MOST_PARTS: usize = 8;

/// The elements with which [`Array::pad`] continues an array `a b c d`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PadMode {
    /// Zeros, or false: `0 0 | a b c d | 0 0`.
    #[default]
    Constant,
    /// The element at the end: `a a | a b c d | d d`.
    Edge,
    /// The elements in reverse, without the one at the end: `c b | a b c d | c b`.
    Reflect,
    /// The elements in reverse: `b a | a b c d | d c`.
    Symmetric,
    /// The elements from the other end on: `c d | a b c d | a b`.
    Wrap,
}

impl PadMode {
    /// All modes.
    pub const ALL: [PadMode; 5] =
        [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap];
}

impl fmt::Display for PadMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PadMode::Constant => "constant",
            PadMode::Edge => "edge",
            PadMode::Reflect => "reflect",
            PadMode::Symmetric => "symmetric",
            PadMode::Wrap => "wrap",
        })
    }
}

impl std::str::FromStr for PadMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<PadMode> {
        PadMode::ALL.into_iter().find(|mode| mode.to_string() == name).ok_or_else(|| {
            let known: Vec<String> = PadMode::ALL.iter().map(PadMode::to_string).collect();
            let why = format!("pad: `{name}` is no mode; they are {}", known.join(", "));
            Error::new(ErrorKind::Name, why)
        })
    }
}

impl<'a> Array<'a> {
    /// The array with additional elements: `widths[i]` of them before and after those along axis `i`. The axes are padded in
    /// order, so that corners continue what was added along the axes before.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for another number of widths than axes, for an axis without elements that is to be continued by more
    /// than a constant, and for open extents; [`ErrorKind::Limit`] for too many elements.
    ///
    /// ```
    /// use broadloom::{PadMode, prelude::*};
    ///
    /// let x = Array::from([1, 2, 3, 4]);
    /// assert_eq!(x.pad(&[(2, 1)], PadMode::Reflect)?.to_vec::<i32>()?, [3, 2, 1, 2, 3, 4, 3]);
    /// assert_eq!(x.pad(&[(1, 2)], PadMode::Wrap)?.to_vec::<i32>()?, [4, 1, 2, 3, 4, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn pad(&self, widths: &[(usize, usize)], mode: PadMode) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        let zero = Scalar { dtype: x.dtype(), bits: 0 };
        x.padded(widths, mode, &expr::constant(zero))
    }

    /// The array with this value around it, `widths[i]` times before and after the elements along axis `i`. The value is a
    /// number, or an array of rank 0 and of the same dtype.
    ///
    /// # Errors
    /// The errors of [`Array::pad`]; [`ErrorKind::Literal`] for a number that the dtype can't represent; [`ErrorKind::DType`] and
    /// [`ErrorKind::Shape`] for another array.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1.0, 2.0]);
    /// assert_eq!(x.pad_with(&[(1, 2)], -1)?.to_vec::<f64>()?, [-1.0, 1.0, 2.0, -1.0, -1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn pad_with(&self, widths: &[(usize, usize)], value: impl IntoArray<'a>) -> Result<Array<'a>> {
        let x = expr::typed(self)?;
        let dtype = x.dtype();
        let value = match value.into_operand() {
            Operand::Number(number) => expr::constant(number.literal().to_dtype(dtype)?),
            Operand::Array(value) => match value.number() {
                Some(number) => expr::constant(number.literal().to_dtype(dtype)?),
                None => value,
            },
        };
        if value.rank() != 0 {
            let why = format!("pad: the value has the shape {}, it is one element", value.all_dims());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if value.dtype() != dtype {
            let why = format!("pad: the value is {}, the array {dtype}", value.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help(format!("write astype(value, {dtype})")));
        }
        x.padded(widths, PadMode::Constant, &value)
    }

    fn padded(&self, widths: &[(usize, usize)], mode: PadMode, value: &Array<'a>) -> Result<Array<'a>> {
        self.has_known_extents("pad")?;
        if widths.len() != self.rank() {
            let (n, rank) = (widths.len(), self.rank());
            let why = format!("pad: {n} pairs of widths for {}, which has rank {rank}", self.all_dims());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let mut x = self.clone();
        for (axis, &(before, after)) in widths.iter().enumerate() {
            let extent = x.shape()[axis];
            if before == 0 && after == 0 {
                continue;
            }
            if extent == 0 && mode != PadMode::Constant {
                let why = format!("pad: axis {axis} of {} has no elements to continue", x.all_dims());
                return Err(Error::new(ErrorKind::Shape, why));
            }
            let long = || Error::new(ErrorKind::Limit, format!("pad: too many elements along axis {axis}"));
            let total = before.checked_add(after).and_then(|n| n.checked_add(extent)).ok_or_else(long)?;
            let ends = Ends { mode, axis, before, after, extent, total };
            x = match mode {
                PadMode::Constant => ends.constant(&x, value)?,
                _ if ends.parts() <= MOST_PARTS => ends.joined(&x)?,
                _ => ends.taken(&x)?,
            };
        }
        Ok(x)
    }
}

/// The elements that an axis is padded with.
struct Ends {
    mode: PadMode,
    axis: usize,
    before: usize,
    after: usize,
    /// The number of elements of the axis.
    extent: usize,
    /// The number of elements with those that are added.
    total: usize,
}

impl Ends {
    /// The number of indices after which the elements repeat, and the number of them in one direction.
    fn period(&self) -> (usize, usize) {
        let n = self.extent;
        match self.mode {
            // NumPy continues a single element by itself.
            PadMode::Reflect if n > 1 => (2 * (n - 1), n - 1),
            PadMode::Symmetric => (2 * n, n),
            _ => (n, n),
        }
    }

    /// The number of views that contain the elements, or somewhat more.
    fn parts(&self) -> usize {
        if self.mode == PadMode::Edge {
            3
        } else {
            self.before.div_ceil(self.period().1) + self.after.div_ceil(self.period().1) + 3
        }
    }

    fn constant<'a>(&self, x: &Array<'a>, value: &Array<'a>) -> Result<Array<'a>> {
        let filled = |len: usize| {
            let mut extents: SmallVec<[usize; 4]> = x.shape().into();
            extents[self.axis] = len;
            expr::view(value, View::BroadcastTo(Shape::new(&extents)?))
        };
        let parts = [filled(self.before)?, x.clone(), filled(self.after)?];
        self.of_parts(&parts)
    }

    fn of_parts<'a>(&self, parts: &[Array<'a>]) -> Result<Array<'a>> {
        let filled: Vec<Array<'a>> =
            parts.iter().filter(|part| part.shape()[self.axis] > 0).cloned().collect();
        expr::concat("pad", if filled.is_empty() { parts } else { &filled }, self.axis)
    }

    /// The array joined with views of it.
    fn joined<'a>(&self, x: &Array<'a>) -> Result<Array<'a>> {
        let (n, axis) = (self.extent, self.axis);
        if self.mode == PadMode::Edge {
            let repeated = |at: usize, len: usize| {
                let mut extents: SmallVec<[usize; 4]> = x.shape().into();
                extents[axis] = len;
                expr::view(&x.along(axis, at, 1, 1)?, View::BroadcastTo(Shape::new(&extents)?))
            };
            return self.of_parts(&[repeated(0, self.before)?, x.clone(), repeated(n - 1, self.after)?]);
        }
        let mut parts = Vec::new();
        let (period, turn) = self.period();
        // The index before the first one is period - 1 of the first period that begins after `before` elements.
        let mut at = (period - self.before % period) % period;
        let mut left = self.before;
        let mut is_before = true;
        loop {
            if left == 0 && is_before {
                parts.push(x.clone());
                (at, left, is_before) = (n % period, self.after, false);
            }
            if left == 0 {
                return self.of_parts(&parts);
            }
            // Up to `turn` the elements ascend from 0 on; then they descend, to 1 for `reflect`.
            let (len, start, step) = match at < turn {
                true => (turn - at, at, 1),
                false => (period - at, period - at - usize::from(self.mode == PadMode::Symmetric), -1),
            };
            let len = len.min(left);
            parts.push(x.along(axis, start, step, len)?);
            (at, left) = ((at + len) % period, left - len);
        }
    }

    /// The elements at computed indices.
    fn taken<'a>(&self, x: &Array<'a>) -> Result<Array<'a>> {
        let int = |n: usize| expr::constant(Scalar::of(n as i64));
        let binary = |op: Op, x: Array<'a>, y: Array<'a>| expr::apply(op, smallvec![x.into(), y.into()]);
        let (period, _) = self.period();
        let index = binary(Op::Subtract, expr::numbers(self.total)?, int(self.before))?;
        let index = binary(Op::Remainder, index, int(period))?;
        let last = match self.mode {
            PadMode::Symmetric => 2 * self.extent - 1,
            _ => period,
        };
        let index = match period == self.extent {
            true => index,
            false => {
                let ascends = binary(Op::Less, index.clone(), int(self.extent))?;
                let descending = binary(Op::Subtract, int(last), index.clone())?;
                expr::apply(Op::Where, smallvec![ascends.into(), index.into(), descending.into()])?
            }
        };
        x.take_by(&index, self.axis as isize, IndexMode::Clip)
    }
}
