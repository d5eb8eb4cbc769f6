//! Derivatives that the application defines.
//!
//! A rule is called once, when the function is, with placeholders for tangents or adjoints; what it returns is recorded. A
//! derivative puts arrays in the place of the placeholders. Each output is a `where` whose condition is true and whose other choice
//! is the leaf with the rule, so that graphs drop both.

use std::sync::Arc;

use broadloom_core::{Error, ErrorKind, Result, Scalar, Shape};
use rustc_hash::FxHashMap;

use super::dependents::{address, custom_rule};
use super::linear::{number, refused, select, spread, zeros_like};
use super::regions::Vjp;
use crate::array::{Array, CustomRule, Kind, Leaf};
use crate::expr;
use crate::while_loop::placeholder;

/// Outputs of a function of arrays whose derivative is defined by a function of tangents: for a tangent of each argument, which has
/// its shape, it returns one of each output, and is linear. Both modes use it. The derivative is not used where the function is
/// part of the body of a loop.
///
/// # Errors
/// Those of the rule; [`ErrorKind::Arity`], [`ErrorKind::DType`] and [`ErrorKind::Shape`] for results that are unlike the outputs.
///
/// ```
/// use broadloom::gradients::{custom_jvp, grad, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 800.0]))?;
/// // log(1 + exp(x)), whose derivative is NaN for large x if it is left to the formula.
/// let y = (x.exp() + 1.0).log();
/// let y = custom_jvp(&[&y], &[&x], |v| Ok(vec![&v[0] * (1.0 - (x.exp() + 1.0).reciprocal())]))?.remove(0);
/// assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?[1], 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn custom_jvp<'a>(
    outputs: &[&Array<'a>],
    arguments: &[&Array<'a>],
    rule: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
) -> Result<Vec<Array<'a>>> {
    custom("custom_jvp", outputs, arguments, rule, false)
}

/// Outputs of a function of arrays whose derivative is defined by a function of adjoints: for an adjoint of each output, which has
/// its shape, it returns one of each argument, and is linear. There is no derivative in forward mode. The derivative is not used
/// where the function is part of the body of a loop.
///
/// # Errors
/// Those of the rule; [`ErrorKind::Arity`], [`ErrorKind::DType`] and [`ErrorKind::Shape`] for results that are unlike the
/// arguments.
///
/// ```
/// use broadloom::gradients::{custom_vjp, grad, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// // The gradient is clipped on its way back.
/// let y = custom_vjp(&[&x], &[&x], |v| Ok(vec![v[0].clip(-1.0, 1.0)]))?.remove(0);
/// assert_eq!(grad(&(y * 5.0).sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn custom_vjp<'a>(
    outputs: &[&Array<'a>],
    arguments: &[&Array<'a>],
    rule: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
) -> Result<Vec<Array<'a>>> {
    custom("custom_vjp", outputs, arguments, rule, true)
}

fn custom<'a>(
    function: &str,
    outputs: &[&Array<'a>],
    arguments: &[&Array<'a>],
    rule: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    is_reverse: bool,
) -> Result<Vec<Array<'a>>> {
    let typed = |list: &[&Array<'a>]| list.iter().map(|x| expr::typed(x)).collect::<Result<Vec<_>>>();
    let (outputs, args) = (typed(outputs)?, typed(arguments)?);
    let (of_given, wanted) = if is_reverse { (&outputs, &args) } else { (&args, &outputs) };
    let given: Vec<Array<'a>> =
        of_given.iter().map(|x| placeholder(x.dtype(), &x.0.shape, x.0.dims.as_ref())).collect();
    let mut made = rule(&given)?;
    if made.len() != wanted.len() {
        let why = format!("{function}: the rule returns {} arrays, not {}", made.len(), wanted.len());
        return Err(Error::new(ErrorKind::Arity, why));
    }
    for (i, (v, like)) in made.iter_mut().zip(wanted).enumerate() {
        *v = if v.number().is_some() { expr::cast(v.clone(), like.dtype()) } else { v.clone() };
        let [got, needed] = [&*v, like].map(|x| format!("{}{}", x.dtype(), x.all_dims()));
        let fail =
            |kind| Error::new(kind, format!("{function}: result {i} of the rule is {got}, not {needed}"));
        if like.dtype().is_float() && v.dtype() != like.dtype() {
            return Err(fail(ErrorKind::DType));
        }
        if v.rank() > like.rank() {
            return Err(fail(ErrorKind::Shape));
        }
        *v = spread(v, like).map_err(|_| fail(ErrorKind::Shape))?;
    }
    let rule = Arc::new(CustomRule { args, outputs: outputs.clone(), given, made, is_reverse });
    let marked = |(i, y): (usize, &Array<'a>)| {
        let leaf = Kind::Leaf(Leaf::Rule(rule.clone(), i as u32));
        let leaf = Array::of(leaf, y.dtype(), Shape::scalar());
        select(&expr::constant(Scalar::of(true)), y, &leaf)
    };
    outputs.iter().enumerate().map(marked).collect()
}

/// The tangent of each output, from those of the arguments.
pub(super) fn tangents<'a>(
    rule: &CustomRule<'a>,
    tangents: &[Option<Array<'a>>],
) -> Result<Vec<Option<Array<'a>>>> {
    if rule.is_reverse {
        return Err(refused("custom_vjp", "the function has a derivative in reverse mode only"));
    }
    let made = substituted(&rule.made, &rule.given, &whole(&rule.args, tangents)?)?;
    Ok(made.into_iter().map(Some).collect())
}

/// The adjoint of each argument, from those of the outputs.
pub(super) fn adjoints<'a>(
    rule: &CustomRule<'a>,
    adjoints: &[Option<Array<'a>>],
    vjp: &Vjp<'_, 'a>,
) -> Result<Vec<Option<Array<'a>>>> {
    if rule.is_reverse {
        let made = substituted(&rule.made, &rule.given, &whole(&rule.outputs, adjoints)?)?;
        return Ok(made.into_iter().map(Some).collect());
    }
    // The tangents are linear in the placeholders, so that their derivative is the same at any point, such as 1.
    let seeds = rule.made.iter().cloned().zip(adjoints.iter().cloned());
    let seeds: Vec<_> = seeds.filter_map(|(y, v)| Some((y, v?))).collect();
    let found = vjp(&seeds, &rule.given)?;
    let ones = rule.given.iter().zip(&rule.args).map(|(v, x)| spread(&number(1.0, v.dtype()), x));
    let ones = ones.collect::<Result<Vec<_>>>()?;
    let found = found.into_iter().map(|v| match v {
        Some(v) => Ok(substituted(&[v], &rule.given, &ones)?.pop()),
        None => Ok(None),
    });
    found.collect()
}

/// Tangents or adjoints with the shapes of their arrays; zeros where there is none.
fn whole<'a>(of: &[Array<'a>], vectors: &[Option<Array<'a>>]) -> Result<Vec<Array<'a>>> {
    let one = |(x, v): (&Array<'a>, &Option<Array<'a>>)| match v {
        Some(v) => spread(v, x),
        None => zeros_like(x),
    };
    of.iter().zip(vectors).map(one).collect()
}

/// Expressions in which arrays of the same dtypes and shapes take the place of placeholders.
fn substituted<'a>(roots: &[Array<'a>], given: &[Array<'a>], by: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
    let mut made: FxHashMap<*const (), Option<Array<'a>>> =
        given.iter().zip(by).map(|(x, by)| (address(x), Some(by.clone()))).collect();
    let mut pending: Vec<(Array<'a>, bool)> = roots.iter().rev().map(|x| (x.clone(), false)).collect();
    while let Some((array, operands_done)) = pending.pop() {
        if made.contains_key(&address(&array)) {
            continue;
        }
        if !operands_done {
            let operands: Vec<_> = array.0.kind.operands().map(|x| (x.clone(), false)).collect();
            pending.push((array, true));
            pending.extend(operands.into_iter().rev());
            continue;
        }
        let of = |x: &Array<'a>| made.get(&address(x)).cloned().flatten();
        let changed = array.0.kind.operands().any(|x| of(x).is_some());
        let new = if !changed {
            None
        } else if custom_rule(&array).is_some() {
            // The rule is about the arrays that were replaced.
            array.0.kind.operand(1).and_then(of)
        } else {
            let operand = |x: &Array<'a>| Ok(of(x).unwrap_or_else(|| x.clone()));
            let leaf = |_: &Leaf<'a>| Err(Error::new(ErrorKind::Internal, "a leaf with operands"));
            let kind = array.0.kind.try_map(operand, leaf, Clone::clone)?;
            Some(Array::with_dims(kind, array.dtype(), array.0.shape.clone(), array.0.dims.clone()))
        };
        made.insert(address(&array), new);
    }
    let of = |x: &Array<'a>| made.get(&address(x)).cloned().flatten().unwrap_or_else(|| x.clone());
    Ok(roots.iter().map(of).collect())
}
