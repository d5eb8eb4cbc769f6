//! Conditionals: each element takes one of two branches.
//!
//! A branch is a [loop](crate::while_loop) that repeats at most once, for the elements that take it. It keeps everything that the
//! branch's function makes. A branch that can't fail, and that costs no more than such a loop, is computed for all elements.

use broadloom_core::{DType, Error, ErrorKind, Op, Result};
use broadloom_ir::kernel::Code;
use broadloom_ir::tuning::loops::BRANCH;
use rustc_hash::FxHashSet;

use crate::array::{Array, Kind};
use crate::expr;
use crate::recorder::{address, can_fail, may_be_inside};
use crate::stamp::{Stamp, stamped};
use crate::while_loop::{LoopBuilder, exact};

const NAME: &str = "cond";

/// Computes `then` for the elements where `predicate` holds, and `otherwise` for the others.
///
/// The results are those of [`where_`](crate::functions::where_), with the same dtypes. They have the shape to which the predicate
/// and the arrays used in the functions broadcast. What the functions make element by element is computed where it is needed:
/// errors and calls of host functions occur for exactly the elements that take the branch. The interpreter skips a branch where no
/// element of a tile takes it, and machine code where no lane of a block does, unless the branch is so cheap that a test would cost
/// more. Machine code computes branches with loops, host functions, takes, checked divisions, sines, cosines or tangents for all
/// elements. Reductions, views and arrays of which elements are taken are computed before, for all elements.
///
/// # Errors
/// [`ErrorKind::DType`] for a predicate that is not bool, and for results without a common dtype; [`ErrorKind::Shape`] for results
/// that do not broadcast; [`ErrorKind::Limit`] as for [`while_loop`](crate::while_loop()).
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{IntDivision, Options, cond};
///
/// let (a, b) = (Array::from_vec(vec![7_i32, 7]), Array::from_vec(vec![2_i32, 0]));
/// let [ratio] = cond(&b.not_equal(0), || [a.floor_divide(&b)], || [Array::scalar(0)])?;
/// let options = Options { int_division: IntDivision::Error, ..Options::default() };
/// assert_eq!(ratio.eval_with(&options)?.to_vec::<i32>()?, [3, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn cond<'a, const N: usize>(
    predicate: &Array<'a>,
    then: impl FnOnce() -> [Array<'a>; N],
    otherwise: impl FnOnce() -> [Array<'a>; N],
) -> Result<[Array<'a>; N]> {
    exact(try_cond(predicate, || Ok(then().to_vec()), || Ok(otherwise().to_vec()))?)
}

/// Computes one of two branches for each element like [`cond`], for any number of results and for functions that may fail.
///
/// # Errors
/// The errors of [`cond`] and of the functions; [`ErrorKind::Arity`] if the functions return different numbers of results, or none.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::try_cond;
///
/// let x = Array::from_vec(vec![-1.0_f64, 4.0]);
/// let root = || Ok(vec![x.try_sqrt()?]);
/// assert_eq!(try_cond(&x.greater(0), root, || Ok(vec![x.clone()]))?[0].to_vec::<f64>()?, [-1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn try_cond<'a>(
    predicate: &Array<'a>,
    then: impl FnOnce() -> Result<Vec<Array<'a>>>,
    otherwise: impl FnOnce() -> Result<Vec<Array<'a>>>,
) -> Result<Vec<Array<'a>>> {
    let predicate = expr::typed(predicate)?;
    if predicate.dtype() != DType::Bool {
        let (dtype, dims) = (predicate.dtype(), predicate.all_dims());
        let why = format!("{NAME}: the predicate must be bool, not {dtype}{dims}");
        return Err(Error::new(ErrorKind::DType, why).with_help("compare it with something"));
    }
    let (then, stamp) = stamped(then);
    let then = Branch { values: then?, stamp };
    let (otherwise, stamp) = stamped(otherwise);
    let otherwise = Branch { values: otherwise?, stamp };
    let counts = [&then, &otherwise].map(|branch| branch.values.len());
    if counts[0] != counts[1] {
        let why = format!("{NAME}: one function returns {} results, the other {}", counts[0], counts[1]);
        return Err(Error::new(ErrorKind::Arity, why));
    }
    if counts[0] == 0 {
        return Err(Error::new(ErrorKind::Arity, format!("{NAME}: the functions return nothing")));
    }
    let both = then.values.iter().zip(&otherwise.values);
    let selected = both.map(|(a, b)| Array::apply(Op::Where, &[predicate.clone(), a.clone(), b.clone()]));
    let selected = selected.collect::<Result<Vec<_>>>()?;
    let dtypes: Vec<DType> = selected.iter().map(Array::dtype).collect();
    let shapes_differ = selected.iter().any(|x| x.all_dims() != selected[0].all_dims());
    let tests_then = then.is_worth_a_test();
    // A loop gives all results one shape.
    let tests_otherwise = otherwise.is_worth_a_test() || shapes_differ && !tests_then;
    let mut values = match (tests_then, tests_otherwise) {
        (false, false) => return Ok(selected),
        (false, true) => then.converted(&dtypes),
        (true, false) => otherwise.converted(&dtypes),
        (true, true) => converted(&vec![Array::scalar(0); dtypes.len()], &dtypes),
    };
    if tests_then {
        values = then.taken_where(&predicate, &values, &dtypes)?;
    }
    if tests_otherwise {
        let opposite = Array::apply(Op::LogicalNot, &[predicate])?;
        values = otherwise.taken_where(&opposite, &values, &dtypes)?;
    }
    Ok(values)
}

/// Values as arrays of these dtypes.
fn converted<'a>(values: &[Array<'a>], dtypes: &[DType]) -> Vec<Array<'a>> {
    values.iter().zip(dtypes).map(|(x, &dtype)| expr::cast(x.clone(), dtype)).collect()
}

/// A branch: what its function returned.
struct Branch<'a> {
    values: Vec<Array<'a>>,
    /// The stamp of the arrays that the function made.
    stamp: Stamp,
}

impl<'a> Branch<'a> {
    fn converted(&self, dtypes: &[DType]) -> Vec<Array<'a>> {
        converted(&self.values, dtypes)
    }

    /// Whether the branch must be computed for the elements alone that take it, or costs enough for a test to pay.
    fn is_worth_a_test(&self) -> bool {
        let mut known = FxHashSet::default();
        let mut pending: Vec<&Array<'a>> = self.values.iter().collect();
        let mut cost = 0;
        while let Some(array) = pending.pop() {
            let kind = &array.0.kind;
            if !array.0.stamp.is_in(self.stamp) || !may_be_inside(kind) || !known.insert(address(array)) {
                continue;
            }
            if can_fail(kind) || matches!(kind, Kind::Loop(_)) {
                return true;
            }
            cost += match kind {
                Kind::Apply { op, accuracy, args } => {
                    let dtype = args.last().map_or(array.dtype(), Array::dtype);
                    Code::Apply { op: *op, accuracy: *accuracy, dtype }.cost()
                }
                Kind::Cast { arg, .. } => Code::Cast(arg.dtype(), array.dtype()).cost(),
                _ => 0,
            };
            if cost > BRANCH {
                return true;
            }
            pending.extend(kind.aligned());
        }
        false
    }

    /// The values where `predicate` holds, and `before` elsewhere.
    fn taken_where(
        &self,
        predicate: &Array<'a>,
        before: &[Array<'a>],
        dtypes: &[DType],
    ) -> Result<Vec<Array<'a>>> {
        let condition = |_: &[Array<'a>]| Ok(predicate.clone());
        let body = |_: &[Array<'a>]| Ok(self.converted(dtypes));
        let name = |i: usize| format!("result {i}");
        let (condition, body, name) = (&condition, &body, &name);
        let made = Some(self.stamp);
        LoopBuilder { function: NAME, hidden: 0, condition, body, name, limit: Some(1), made }.build(before)
    }
}
