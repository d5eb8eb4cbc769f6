//! Loops over ranges of integers, expressed by [loops with a condition](crate::while_loop).

use broadloom_core::{DType, Error, ErrorKind, Literal, Result, infer};

use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;
use crate::promote::promotion;
use crate::while_loop::{LoopBuilder, carried_value, exact, exactly, literal};

/// The name of the function in errors.
pub(crate) const NAME: &str = "fori_loop";

/// Repeats `body` for each integer from `lower` up to `upper`, exclusive, and returns the last state.
///
/// The body takes the integer and the carried values, and returns the next ones. The bounds may be arrays, so that each element
/// has its own range, which may be empty. The integer is int64 if both bounds are numbers; otherwise it has the dtype to which
/// the arrays promote. The rest is as in [`while_loop`](crate::while_loop()), but no number of iterations is too large.
///
/// # Errors
/// [`ErrorKind::DType`] for bounds that are no integers, or that do not promote to one dtype; otherwise as for
/// [`while_loop`](crate::while_loop()).
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::fori_loop;
///
/// // Powers, and a sum of the numbers below a bound.
/// let (x, n) = (Array::from_vec(vec![2_i64, 3, 5]), Array::from_vec(vec![10_i64, 4, 0]));
/// let [power, sum] = fori_loop(
///     0,
///     &n,
///     |i, [power, sum]| [power * &x, sum + i],
///     [Array::scalar(1), Array::scalar(0)],
/// )?;
/// assert_eq!(power.to_vec::<i64>()?, [1024, 81, 1]);
/// assert_eq!(sum.to_vec::<i64>()?, [45, 6, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn fori_loop<'a, const N: usize>(
    lower: impl IntoArray<'a>,
    upper: impl IntoArray<'a>,
    body: impl Fn(&Array<'a>, &[Array<'a>; N]) -> [Array<'a>; N],
    state: [Array<'a>; N],
) -> Result<[Array<'a>; N]> {
    let body = |i: &Array<'a>, state: &[Array<'a>]| exactly(state).map(|state| body(i, state).to_vec());
    exact(try_fori_loop(lower, upper, &body, &state)?)
}

/// A body that takes the integer and the carried values, and returns the next ones.
pub type RangeBody<'f, 'a> = dyn Fn(&Array<'a>, &[Array<'a>]) -> Result<Vec<Array<'a>>> + 'f;

/// Repeats `body` like [`fori_loop`], for any number of carried values and for a body that may fail.
///
/// # Errors
/// The errors of [`fori_loop`] and of the body; [`ErrorKind::Arity`] if there are no carried values, or `body` returns another
/// number of them.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::try_fori_loop;
///
/// let n = Array::from_vec(vec![3_u8, 0]);
/// let double = |_: &Array<'static>, state: &[Array<'static>]| Ok(vec![state[0].try_multiply(2)?]);
/// assert_eq!(try_fori_loop(0, &n, &double, &[Array::from_vec(vec![1_u8])])?[0].to_vec::<u8>()?, [8, 1]);
/// # Ok::<(), Error>(())
/// ```
pub fn try_fori_loop<'a>(
    lower: impl IntoArray<'a>,
    upper: impl IntoArray<'a>,
    body: &RangeBody<'_, 'a>,
    state: &[Array<'a>],
) -> Result<Vec<Array<'a>>> {
    range_loop(NAME, &carried_value, [lower.into_array(), upper.into_array()], body, state)
}

/// Builds a loop over a range. In errors it has the name `function`, and its carried values have the names that `name` returns.
pub(crate) fn range_loop<'a>(
    function: &'static str,
    name: &dyn Fn(usize) -> String,
    bounds: [Array<'a>; 2],
    body: &RangeBody<'_, 'a>,
    state: &[Array<'a>],
) -> Result<Vec<Array<'a>>> {
    if state.is_empty() {
        return Err(Error::new(ErrorKind::Arity, format!("{function}: there is no carried value")));
    }
    let dtype = dtype(function, &bounds)?;
    let [lower, upper] = bounds;
    let state = [&[bound(function, lower, dtype)?], state].concat();
    let upper = bound(function, upper, dtype)?;
    let condition = |state: &[Array<'a>]| state[0].try_less(&upper);
    let body = |state: &[Array<'a>]| {
        let mut next = vec![state[0].try_add(1)?];
        next.extend(body(&state[0], &state[1..])?);
        Ok(next)
    };
    let name = |i: usize| match i.checked_sub(1) {
        Some(i) => name(i),
        None => "the integer".to_owned(),
    };
    let limit = Some(u64::MAX);
    let of = LoopBuilder {
        function,
        hidden: 1,
        condition: &condition,
        body: &body,
        name: &name,
        limit,
        made: None,
    };
    let mut results = of.build(&state)?;
    results.remove(0);
    Ok(results)
}

/// A bound as an array of this dtype. A number must fit it.
fn bound<'a>(function: &str, x: Array<'a>, dtype: DType) -> Result<Array<'a>> {
    match x.number() {
        Some(number) => literal(number, dtype, || format!("{function}: a bound")),
        None if x.dtype() == dtype => Ok(x),
        None => Ok(expr::cast(x, dtype)),
    }
}

/// The dtype of the integer.
fn dtype(function: &str, bounds: &[Array<'_>; 2]) -> Result<DType> {
    for (bound, name) in bounds.iter().zip(["lower", "upper"]) {
        let dtype = match bound.number() {
            Some(number) if matches!(number.literal(), Literal::Int(_)) => continue,
            Some(number) => number.dtype(),
            None => bound.dtype(),
        };
        if !dtype.is_integer() {
            let why = format!("{function}: the {name} bound is {dtype}, but must be an integer");
            return Err(Error::new(ErrorKind::DType, why));
        }
    }
    let [lower, upper] = bounds.each_ref().map(|bound| bound.number().is_none().then(|| bound.dtype()));
    match (lower, upper) {
        (None, None) => Ok(DType::Int64),
        (Some(dtype), None) | (None, Some(dtype)) => Ok(dtype),
        (Some(lower), Some(upper)) => {
            infer::pair(lower, upper, promotion()).filter(|dtype| dtype.is_integer()).ok_or_else(|| {
                let why = format!("{function}: bounds of {lower} and {upper} have no common integer dtype");
                Error::new(ErrorKind::DType, why).with_help("convert one of them with `astype`")
            })
        }
    }
}
