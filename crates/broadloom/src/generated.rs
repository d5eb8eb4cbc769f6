//! Arrays that are computed from the indices of their elements, without memory: ranges, even spacings, diagonals and indices.
//!
//! Each such array is ordinary arithmetic on one leaf, the numbers 0, 1, 2, …, so that it is fused into the kernels that use it.
//! An element is a function of its index only, computed in float64 or int64 and converted once: errors do not accumulate along a
//! range, and a part of a range has the same bits as in the complete range, on any executor.

use broadloom_core::layout::Slice;
use broadloom_core::{DType, Error, ErrorKind, Op, Result, Scalar, Shape, View, fold};
use broadloom_math::Real;
use broadloom_mem::FloatEnv;
use smallvec::smallvec;

use crate::array::Array;
use crate::create::repeated;
use crate::expr;
use crate::storage::Element;
use crate::views::resolve_axis;

impl<'a> Array<'a> {
    /// The values `start`, `start + step`, … up to `stop`, exclusive, of the dtype of the Rust values. They take no memory.
    ///
    /// There are ⌈(stop − start) / step⌉ elements, or none if this number is negative. Element `i` is `start + i·step`; for
    /// floats it is computed in float64 and rounded to the dtype. As in the standard, the rounding of floats may lead to one
    /// element more or less than expected; [`Array::linspace`] takes the number of elements instead.
    ///
    /// # Errors
    /// For bool, a step of 0, a bound that is not finite, or more elements than can be counted.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::arange(5_i16, 0, -2)?.to_vec::<i16>()?, [5, 3, 1]);
    /// // Eight terabytes, if they were stored.
    /// let x = Array::arange(0.0, 1e12, 1.0)?.sqrt();
    /// assert_eq!(x.slice(-1)?.item::<f64>()?, 999_999_999_999_f64.sqrt());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn arange<T: Element>(start: T, stop: T, step: T) -> Result<Array<'a>> {
        arange([start, stop, step].map(Scalar::of)).map_err(|why| match why {
            NoRange::Error(error) => error,
            NoRange::Bounds(why) => {
                Error::new(ErrorKind::Literal, format!("arange({start:?}, {stop:?}, {step:?}): {why}"))
            }
        })
    }

    /// `num` values evenly spaced from `start` to `stop`, both included, of the dtype of the Rust values; they take no
    /// memory.
    ///
    /// Element `i` is `start + i·((stop − start) / (num − 1))`, computed in float64 and rounded to the dtype. The last of several
    /// elements is exactly `stop`; a single element is `start`.
    ///
    /// # Errors
    /// For more elements than can be counted.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::linspace(0.0_f32, 1.0, 5)?.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn linspace<T: Element + Real>(start: T, stop: T, num: usize) -> Result<Array<'a>> {
        linspace(Scalar::of(start), Scalar::of(stop), num, true)
    }

    /// A matrix of `rows` × `cols` elements, which are one if the column index is the row index plus `k`, and zero otherwise. It
    /// takes no memory.
    ///
    /// # Errors
    /// If the matrix has more elements than can be counted.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let above = Array::eye(2, 3, 1, DType::Int32)?;
    /// assert_eq!(above.to_string(), "[[0 1 0]\n [0 0 1]]");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eye(rows: usize, cols: usize, k: isize, dtype: DType) -> Result<Array<'a>> {
        let row = expr::view(&expr::numbers(rows)?, View::Reshape(Shape::new(&[rows, 1])?))?;
        let diagonal = binary(Op::Add, row, expr::constant(Scalar::of(k as i64)))?;
        Ok(expr::cast(binary(Op::Equal, expr::numbers(cols)?, diagonal)?, dtype))
    }

    /// The index of each element along an axis, as an int64 array of the same shape. It takes no memory, and does not read the
    /// elements.
    ///
    /// The array may be an [`Array::input`] with dynamic dimensions, whose extents are known when the kernel runs.
    ///
    /// # Errors
    /// For an axis out of range, and for an input of dynamic rank.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// let (row, col) = (x.indices(0)?, x.indices(-1)?);
    /// assert_eq!(col.to_string(), "[[0 1 2]\n [0 1 2]]");
    /// // A lower triangle.
    /// assert_eq!(where_(col.less_equal(row), x, 0).to_vec::<i32>()?, [1, 0, 0, 4, 5, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn indices(&self, axis: isize) -> Result<Array<'a>> {
        if self.0.dims.as_ref().is_some_and(|dims| dims.has_rest()) {
            let why = format!("indices: the rank of {}{} is open", self.dtype(), self.all_dims());
            return Err(Error::new(ErrorKind::Shape, why).with_help("name its dimensions instead of `...`"));
        }
        let axis = resolve_axis("indices", axis, self.rank(), &self.0.shape)?;
        expr::index(self, [axis].into_iter().collect())
    }
}

/// The reason why bounds and a step do not define a range.
pub(crate) enum NoRange {
    /// The values are invalid, for this reason.
    Bounds(&'static str),
    Error(Error),
}

impl From<Error> for NoRange {
    fn from(error: Error) -> NoRange {
        NoRange::Error(error)
    }
}

/// The range from a start to a stop by a step, all of one dtype.
pub(crate) fn arange<'a>(bounds: [Scalar; 3]) -> std::result::Result<Array<'a>, NoRange> {
    let dtype = bounds[0].dtype;
    let numbers = match dtype.kind() {
        broadloom_core::Kind::Bool => {
            return Err(Error::new(ErrorKind::DType, "arange: does not take bool").into());
        }
        broadloom_core::Kind::Signed | broadloom_core::Kind::Unsigned => {
            let [start, stop, step] = bounds.map(integer);
            if step == 0 {
                return Err(NoRange::Bounds("the step is 0"));
            }
            // The quotient, rounded up. It can't overflow an i128, since the operands have at most 64 bits.
            let len = ((stop - start + step - step.signum()) / step).max(0);
            // The values are computed modulo 2^64, which is exact for all values of the dtype.
            integers(start as i64, step as i64, usize::try_from(len).unwrap_or(usize::MAX))?
        }
        broadloom_core::Kind::Float => {
            let _ieee = FloatEnv::ieee();
            let [start, stop, step] = bounds.map(real);
            if step == 0.0 {
                return Err(NoRange::Bounds("the step is 0"));
            }
            let len = ((stop - start) / step).ceil();
            if !len.is_finite() || !step.is_finite() {
                return Err(NoRange::Bounds("not finite"));
            }
            // The conversion saturates, so that too many elements are an error.
            floats(start, step, len.max(0.0) as usize)?
        }
    };
    Ok(expr::cast(numbers, dtype))
}

/// Evenly spaced floats of one dtype. If `endpoint` is true, the last of several elements is `stop`.
pub(crate) fn linspace<'a>(start: Scalar, stop: Scalar, num: usize, endpoint: bool) -> Result<Array<'a>> {
    let dtype = start.dtype;
    let _ieee = FloatEnv::ieee();
    let (from, to) = (real(start), real(stop));
    if endpoint && num == 1 {
        return repeated(start, &[1]);
    }
    let step = (to - from) / (num - usize::from(endpoint && num > 0)) as f64;
    let mut values = floats(from, step, num)?;
    if endpoint && num > 0 {
        let is_last = binary(Op::Equal, expr::numbers(num)?, expr::constant(Scalar::of(num as i64 - 1)))?;
        let operands = [is_last, expr::constant(Scalar::of(to)), values].map(Into::into);
        values = expr::apply(Op::Where, operands.into_iter().collect())?;
    }
    Ok(expr::cast(values, dtype))
}

/// The int64 indices that a slice selects.
pub(crate) fn of_slice<'a>(slice: Slice) -> Result<Array<'a>> {
    integers(slice.start as i64, slice.step as i64, slice.len)
}

/// The values `start + i·step`, computed in int64 with wrapping.
fn integers<'a>(start: i64, step: i64, len: usize) -> Result<Array<'a>> {
    let mut numbers = expr::numbers(len)?;
    if step != 1 {
        numbers = binary(Op::Multiply, numbers, expr::constant(Scalar::of(step)))?;
    }
    if start != 0 {
        numbers = binary(Op::Add, numbers, expr::constant(Scalar::of(start)))?;
    }
    Ok(numbers)
}

/// The values `start + i·step`, computed in float64.
fn floats<'a>(start: f64, step: f64, len: usize) -> Result<Array<'a>> {
    let mut numbers = expr::cast(expr::numbers(len)?, DType::Float64);
    if step != 1.0 {
        numbers = binary(Op::Multiply, numbers, expr::constant(Scalar::of(step)))?;
    }
    // With a negative step the first product is −0, and adding 0 makes it +0.
    if start != 0.0 || step.is_sign_negative() {
        numbers = binary(Op::Add, expr::uncontracted(&numbers)?, expr::constant(Scalar::of(start)))?;
    }
    Ok(numbers)
}

fn binary<'a>(op: Op, x: Array<'a>, y: Array<'a>) -> Result<Array<'a>> {
    expr::apply(op, smallvec![x.into(), y.into()])
}

fn integer(x: Scalar) -> i128 {
    match x.dtype.kind() {
        broadloom_core::Kind::Signed => fold::cast(x, DType::Int64).bits as i64 as i128,
        _ => x.bits as i128,
    }
}

/// A float converted to float64, which is exact.
fn real(x: Scalar) -> f64 {
    f64::from_bits(fold::cast(x, DType::Float64).bits)
}
