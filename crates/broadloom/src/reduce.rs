//! Reductions along an axis by a function of the caller, in the canonical order of sums.
//!
//! A reduction is a recurrence whose steps combine two elements, or results of other steps, instead of a state and an
//! element. The function is recorded as the [step](crate::scan()) of a scan is.

#[cfg(doc)]
use broadloom_core::ErrorKind;
use broadloom_core::Result;

use crate::along::Along;
use crate::array::Array;
use crate::scan::named_scan;
use crate::while_loop::{exact, exactly};

/// A function that combines two elements of each array, the left ones and the right ones.
pub type Combine<'f, 'a> = dyn Fn(&[Array<'a>], &[Array<'a>]) -> Result<Vec<Array<'a>>> + 'f;

/// Reduces arrays together along an axis: `combine` takes an element of each, twice, and returns one of each.
///
/// The function takes the elements to the left and those to the right, which are elements of the arrays or results of the
/// function, and works element by element along all other axes. The arrays broadcast to one shape; an array used in the
/// function is the same for all elements, and lacks the axis, except one of which it [takes](Array::take) elements. `identity` is
/// the result for an axis without elements, and is otherwise combined with nothing; it broadcasts to the other axes. A number in it
/// takes the dtype of the array.
///
/// Elements are combined in the order of [`Array::sum`]: those whose numbers are equal modulo 16 as a binary tree of adjacent
/// pairs, then the 16 results in the same way. The order is the same on every machine and for any number of threads. It
/// does not combine adjacent elements first, so the function should be associative and commutative; otherwise the result is that of
/// this order.
///
/// # Errors
/// [`ErrorKind::DType`] for results and identities that have another dtype than the array, [`ErrorKind::Literal`] for a number that
/// this dtype can't represent; [`ErrorKind::Shape`] for operations that are not element-wise, for an axis that an array does not
/// have, and for arrays of different extents along it; [`ErrorKind::Arity`] without arrays; [`ErrorKind::Limit`] for more than 64
/// arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::reduce;
///
/// // The largest element and its index, the first one of equal elements.
/// let x = Array::from_vec(vec![2.0_f64, 7.0, 1.0, 7.0]);
/// let index = Array::arange(0_i64, 4, 1)?;
/// let [largest, at] = reduce(
///     |[a, i], [b, j]| {
///         let is_left = a.greater(b) | (a.equal(b) & i.less(j));
///         [where_(&is_left, a, b), where_(&is_left, i, j)]
///     },
///     [Array::scalar(f64::NEG_INFINITY), Array::scalar(-1)],
///     [x, index],
///     0,
/// )?;
/// assert_eq!((largest.item::<f64>()?, at.item::<i64>()?), (7.0, 1));
/// # Ok::<(), Error>(())
/// ```
pub fn reduce<'a, const N: usize>(
    combine: impl Fn(&[Array<'a>; N], &[Array<'a>; N]) -> [Array<'a>; N],
    identity: [Array<'a>; N],
    values: [Array<'a>; N],
    axis: isize,
) -> Result<[Array<'a>; N]> {
    let combine =
        |left: &[Array<'a>], right: &[Array<'a>]| Ok(combine(exactly(left)?, exactly(right)?).to_vec());
    exact(try_reduce(&combine, &identity, &values, axis)?)
}

/// Reduces like [`reduce`], any number of arrays, by a function that may fail.
///
/// # Errors
/// The errors of [`reduce`] and of the function; [`ErrorKind::Arity`] also for another number of identities or results than of
/// arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::try_reduce;
///
/// let x = Array::from_vec(vec![1_i64, 2, 3]);
/// let combine = |left: &[Array<'static>], right: &[Array<'static>]| Ok(vec![left[0].try_multiply(&right[0])?]);
/// let product = try_reduce(&combine, &[Array::scalar(1)], &[x], 0)?;
/// assert_eq!(product[0].item::<i64>()?, 6);
/// # Ok::<(), Error>(())
/// ```
pub fn try_reduce<'a>(
    combine: &Combine<'_, 'a>,
    identity: &[Array<'a>],
    values: &[Array<'a>],
    axis: isize,
) -> Result<Vec<Array<'a>>> {
    named_reduce(&|i| format!("array {i}"), combine, identity, values, axis)
}

/// Reduces like [`try_reduce`]; in errors, the arrays have the names that `name` returns.
pub(crate) fn named_reduce<'a>(
    name: &dyn Fn(usize) -> String,
    combine: &Combine<'_, 'a>,
    identity: &[Array<'a>],
    values: &[Array<'a>],
    axis: isize,
) -> Result<Vec<Array<'a>>> {
    let step = |left: &[Array<'a>], right: &[Array<'a>]| Ok((combine(left, right)?, Vec::new()));
    named_scan(name, &step, identity, values, Along::axis(axis).in_pairs()).map(|(results, _)| results)
}
