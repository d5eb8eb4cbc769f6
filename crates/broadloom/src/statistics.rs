//! Quantiles and medians, of sorted elements.

use broadloom_core::{DType, Error, ErrorKind, Op, Result, Scalar};
use broadloom_math::Elem;
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::joining;
use crate::operand::IntoArray;
use crate::storage::Element;

impl<'a> Array<'a> {
    /// The quantiles of the elements along an axis, for numbers from 0 to 1, which are the first axis of the result.
    ///
    /// The quantile q of n elements is at the position p = q·(n − 1) of the sorted elements. Between two elements a and b, it is
    /// a + (b − a)·t for t = p − ⌊p⌋ below ½, and b − (b − a)·(1 − t) otherwise, computed in float64 and rounded to the dtype of
    /// the array, or to float64 for integers; it is a if t is 0 or a = b. Where an element is NaN, the result is the last NaN in
    /// the order of [`Array::sort`].
    ///
    /// # Errors
    /// [`ErrorKind::Literal`] for a number that is not from 0 to 1; [`ErrorKind::DType`] for bool; [`ErrorKind::Shape`] for an axis
    /// that does not exist, has no elements, or an open extent.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([10, 40, 20, 30]);
    /// assert_eq!(x.quantile(&[0.0, 0.5, 0.75], 0)?.to_vec::<f64>()?, [10.0, 25.0, 32.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn quantile(&self, q: &[f64], axis: isize) -> Result<Array<'a>> {
        if let Some(wrong) = q.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            return Err(Error::new(ErrorKind::Literal, format!("quantile: {wrong} is not from 0 to 1")));
        }
        of_sorted("quantile", self, axis, |sorted, axis| {
            let last = sorted.shape()[axis] - 1;
            let positions = q.iter().map(|q| q * last as f64);
            let (low, part): (Vec<i64>, Vec<f64>) =
                positions.map(|position| (position as i64, position.fract())).unzip();
            let high = low.iter().map(|&low| (low + 1).min(last as i64));
            let [low, high] = [low.clone(), high.collect()].map(|at| constants(&at));
            let mut shape = vec![1; sorted.rank()];
            shape[axis] = q.len() as isize;
            let t = constants(&part)?.reshape(&shape)?;
            let [a, b] = [sorted.take(&low?, axis as isize), sorted.take(&high?, axis as isize)];
            let [a, b] = [a?, b?].map(|x| x.astype(DType::Float64));
            let difference = &b - &a;
            // The products must not be contracted, so that the bits are those of the formula.
            let upwards = &a + expr::uncontracted(&(&difference * &t))?;
            let downwards = &b - expr::uncontracted(&(&difference * (1.0 - &t)))?;
            let between = choose(&t.greater_equal(0.5), &downwards, &upwards)?;
            let value = choose(&t.equal(0.0).logical_or(a.equal(&b)), &a, &between)?;
            let axes = (0..sorted.rank()).filter(|&other| other != axis).map(|other| other as isize);
            let axes: Vec<isize> = std::iter::once(axis as isize).chain(axes).collect();
            let result = value.astype(result_of(sorted.dtype()));
            of_nan(sorted, axis, &result)?.permute_dims(&axes)
        })
    }

    /// The median of the elements along an axis: the middle one, or half the sum of the middle two, computed in float64 and
    /// rounded to the dtype of the array, or to float64 for integers. Where an element is NaN, it is as in [`Array::quantile`].
    ///
    /// # Errors
    /// The errors of [`Array::quantile`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[3, 1, 2], [7, 5, 9]]);
    /// assert_eq!(x.median(1)?.to_vec::<f64>()?, [2.0, 7.0]);
    /// assert_eq!(x.median(0)?.to_vec::<f64>()?, [5.0, 3.0, 5.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn median(&self, axis: isize) -> Result<Array<'a>> {
        of_sorted("median", self, axis, |sorted, axis| {
            let n = sorted.shape()[axis];
            let [a, b] = [(n - 1) / 2, n / 2]
                .map(|at| sorted.along(axis, at, 1, 1).map(|element| element.astype(DType::Float64)));
            let (a, b) = (a?, b?);
            let median = if n % 2 == 1 { a } else { (&a + &b) / 2.0 };
            let result = median.astype(result_of(sorted.dtype()));
            of_nan(sorted, axis, &result)?.squeeze(axis as isize)
        })
    }
}

/// The maximum number of constants that are parts of an expression; more are an array in memory, which kernels do not have.
const MOST_CONSTANTS: usize = 16;

/// An array of these numbers.
fn constants<'a, T: Element + Elem>(numbers: &[T]) -> Result<Array<'a>> {
    if numbers.is_empty() || numbers.len() > MOST_CONSTANTS {
        return Ok(Array::from_vec(numbers.to_vec()));
    }
    let one = |&number: &T| expr::constant(Scalar::of(number)).reshape(&[1]);
    joining::concat(&numbers.iter().map(one).collect::<Result<Vec<_>>>()?, 0)
}

/// An expression of the sorted elements along an axis, which is given with its index.
fn of_sorted<'a>(
    function: &str,
    array: &Array<'a>,
    axis: isize,
    make: impl FnOnce(&Array<'a>, usize) -> Result<Array<'a>>,
) -> Result<Array<'a>> {
    let array = expr::typed(array)?;
    array.has_known_extents(function)?;
    let axis = array.axis(function, axis)?;
    if array.dtype() == DType::Bool {
        let why = format!("{function}: there are no numbers between bools");
        return Err(Error::new(ErrorKind::DType, why).with_help("convert the array by astype"));
    }
    if array.shape()[axis] == 0 {
        let why = format!("{function}: axis {axis} of {} has no elements", array.all_dims());
        return Err(Error::new(ErrorKind::Shape, why));
    }
    make(&array.sort(axis as isize, false)?, axis)
}

/// The dtype of quantiles.
fn result_of(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Float64 }
}

/// A result of sorted elements, with NaN where one of them is NaN.
fn of_nan<'a>(sorted: &Array<'a>, axis: usize, result: &Array<'a>) -> Result<Array<'a>> {
    if !sorted.dtype().is_float() {
        return Ok(result.clone());
    }
    let last = sorted.along(axis, sorted.shape()[axis] - 1, 1, 1)?;
    choose(&last.isnan(), &last, result)
}

fn choose<'a>(condition: &Array<'a>, x: &Array<'a>, y: &Array<'a>) -> Result<Array<'a>> {
    expr::apply(Op::Where, smallvec![condition.into_operand(), x.into_operand(), y.into_operand()])
}
