//! Derivatives that the application defines.
//!
//! A rule is called when a derivative is made, with placeholders for the arguments and for tangents or adjoints; arrays then take
//! the place of the placeholders in what it returns. Each output of the function is a `where` whose condition is true and whose
//! other choice is the leaf with the rule, so that graphs drop both. The body of a loop records the rule with its own nodes, and
//! makes it again of the arrays of each derivative.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use broadloom_core::{Error, ErrorKind, Op, Result};
use rustc_hash::FxHashSet;

use super::dependents::{Dependents, address, is_stopped, operands};
use super::linear::{apply, number, refused, spread, zeros_like};
use super::linearity::depend;
use super::regions::{Vjp, with_rule};
use super::substitution::substituted;
use crate::array::{Array, CustomDerivative, CustomRule, Kind, Leaf};
use crate::expr;
use crate::stamp::{Stamp, stamped};
use crate::while_loop::placeholder;

/// The outputs of a function of arrays whose derivative is defined by `rule`: for arrays that stand for the arguments, and a
/// tangent of each, which has its shape, the rule returns a tangent of each output, and is linear in the tangents. Both modes use
/// it. The rule is called when a derivative is made, once for each.
///
/// The function may use other arrays than its arguments, but there is no derivative with respect to them.
///
/// # Errors
/// Those of the function. A derivative has the errors of the rule; [`ErrorKind::Arity`], [`ErrorKind::DType`] and
/// [`ErrorKind::Shape`] for tangents that are unlike the outputs; [`ErrorKind::Derivative`] for one with respect to another array
/// that the function uses, and for a rule that is not linear, as far as its operations show.
///
/// ```
/// use broadloom::gradients::{custom_jvp, grad, variable};
/// use broadloom::prelude::*;
///
/// // log(1 + exp(x)), whose derivative is NaN for large x if it is left to the formula.
/// let x = variable(&Array::from([1.0, 800.0]))?;
/// let function = |x: &[Array<'static>]| Ok(vec![(x[0].exp() + 1.0).log()]);
/// let y = custom_jvp(function, &[&x], |x, v| Ok(vec![&v[0] * (1.0 - (x[0].exp() + 1.0).reciprocal())]))?;
/// assert_eq!(grad(&y[0].sum(())?, &[&x])?[0].to_vec::<f64>()?[1], 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn custom_jvp<'a>(
    function: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    arguments: &[&Array<'a>],
    rule: impl Fn(&[Array<'static>], &[Array<'static>]) -> Result<Vec<Array<'static>>> + Send + Sync + 'static,
) -> Result<Vec<Array<'a>>> {
    let rule = CustomDerivative {
        function: "custom_jvp",
        is_reverse: false,
        rule: AssertUnwindSafe(Box::new(rule)),
    };
    custom(function, arguments, rule)
}

/// The outputs of a function of arrays whose derivative is defined by `rule`: for arrays that stand for the arguments, and an
/// adjoint of each output, which has its shape, the rule returns an adjoint of each argument. There is no derivative in forward
/// mode. The rule is called when a derivative is made, once for each.
///
/// The function may use other arrays than its arguments, but there is no derivative with respect to them.
///
/// # Errors
/// Those of [`custom_jvp`].
///
/// ```
/// use broadloom::gradients::{custom_vjp, grad, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// // The gradient is clipped on its way back.
/// let y = custom_vjp(|x| Ok(x.to_vec()), &[&x], |_, v| Ok(vec![v[0].clip(-1.0, 1.0)]))?.remove(0);
/// assert_eq!(grad(&(y * 5.0).sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn custom_vjp<'a>(
    function: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    arguments: &[&Array<'a>],
    rule: impl Fn(&[Array<'static>], &[Array<'static>]) -> Result<Vec<Array<'static>>> + Send + Sync + 'static,
) -> Result<Vec<Array<'a>>> {
    let rule =
        CustomDerivative { function: "custom_vjp", is_reverse: true, rule: AssertUnwindSafe(Box::new(rule)) };
    custom(function, arguments, rule)
}

fn custom<'a>(
    function: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    arguments: &[&Array<'a>],
    derivative: CustomDerivative,
) -> Result<Vec<Array<'a>>> {
    // Arrays of their own, which the function has from its arguments alone.
    let own = |x: &&Array<'a>| match expr::typed(x)? {
        x if x.dtype().is_float() => apply(Op::Positive, &[&x]),
        x => Ok(x),
    };
    let args: Vec<Array<'a>> = arguments.iter().map(own).collect::<Result<_>>()?;
    let (outputs, stamp) = stamped(|| function(&args));
    let outputs = outputs?.iter().map(expr::typed).collect::<Result<Vec<_>>>()?;
    let captured = captured(&outputs, &args, stamp);
    with_rule(Arc::new(CustomRule { args, outputs, captured, derivative: Arc::new(derivative) }))
}

/// The arrays of floats that outputs depend on besides the arguments: those that the function has not made.
fn captured<'a>(outputs: &[Array<'a>], args: &[Array<'a>], stamp: Stamp) -> Vec<Array<'a>> {
    let mut visited: FxHashSet<*const ()> = args.iter().map(address).collect();
    let mut pending = outputs.to_vec();
    let mut captured = Vec::new();
    while let Some(array) = pending.pop() {
        // The outputs keep all nodes alive, so that their addresses stay theirs.
        if !array.dtype().is_float() || is_stopped(&array) || !visited.insert(address(&array)) {
            continue;
        }
        match &array.0.kind {
            Kind::Leaf(Leaf::Const(_) | Leaf::Number(_) | Leaf::Rounded(..)) => {}
            _ if array.0.stamp.is_in(stamp) => pending.extend(operands(&array)),
            _ => captured.push(array),
        }
    }
    captured
}

/// Checks that no array varies that the function uses besides its arguments.
pub(super) fn check_captured<'a>(rule: &CustomRule<Array<'a>>, dependents: &Dependents<'a>) -> Result<()> {
    if rule.captured.iter().any(|x| dependents.contains(x)) {
        let why = "the function uses an array that is differentiated and is not one of its arguments";
        let help = "make it an argument, or a constant by `stop_gradient`";
        return Err(refused(rule.derivative.function, why).with_help(help));
    }
    Ok(())
}

/// The tangent of each output, from those of the arguments.
pub(super) fn tangents<'a>(
    rule: &CustomRule<Array<'a>>,
    tangents: &[Option<Array<'a>>],
) -> Result<Vec<Option<Array<'a>>>> {
    if rule.derivative.is_reverse {
        return Err(refused("custom_vjp", "the function has a derivative in reverse mode only"));
    }
    Ok(called(rule, &whole(&rule.args, tangents)?)?.into_iter().map(Some).collect())
}

/// The adjoint of each argument, from those of the outputs.
pub(super) fn adjoints<'a>(
    rule: &CustomRule<Array<'a>>,
    adjoints: &[Option<Array<'a>>],
    vjp: &Vjp<'_, 'a>,
) -> Result<Vec<Option<Array<'a>>>> {
    if rule.derivative.is_reverse {
        return Ok(called(rule, &whole(&rule.outputs, adjoints)?)?.into_iter().map(Some).collect());
    }
    let given = stand_ins(&rule.args);
    let seeds = called(rule, &given)?.into_iter().zip(adjoints.iter().cloned());
    let seeds: Vec<_> = seeds.filter_map(|(y, v)| Some((y, v?))).collect();
    let found = vjp(&seeds, &given, &[])?.arrays;
    if depend(found.iter().flatten().cloned(), &given) {
        let why = "the rule is not linear in the tangents, so that there is no derivative in reverse mode";
        return Err(refused(rule.derivative.function, why)
            .with_help("multiply the tangents by derivatives, and add the products"));
    }
    // The tangents are linear in the placeholders, so that their derivative is the same at any point, such as 1.
    let ones = given.iter().map(|v| spread(&number(1.0, v.dtype()), v)).collect::<Result<Vec<_>>>()?;
    let one = |v: Option<Array<'a>>| match v {
        Some(v) => Ok(substituted(&[v], given.iter().cloned().zip(ones.iter().cloned()))?.pop()),
        None => Ok(None),
    };
    found.into_iter().map(one).collect()
}

/// Arrays without values that stand for others.
fn stand_ins<'a>(of: &[Array<'_>]) -> Vec<Array<'a>> {
    of.iter().map(|x| placeholder(x.dtype(), &x.0.shape, x.0.dims.as_ref())).collect()
}

/// What the rule returns for the arguments of the function and these tangents or adjoints.
fn called<'a>(rule: &CustomRule<Array<'a>>, vectors: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
    let derivative = &rule.derivative;
    let wanted = if derivative.is_reverse { &rule.args } else { &rule.outputs };
    let (primals, given) = (stand_ins(&rule.args), stand_ins(vectors));
    let made: Vec<Array<'a>> = results(derivative, &primals, &given, wanted)?;
    let stand_ins: Vec<Array<'a>> = primals.into_iter().chain(given).collect();
    let made = substituted(&made, stand_ins.into_iter().zip(rule.args.iter().chain(vectors).cloned()))?;
    whole_results(derivative, &made, wanted)
}

/// What a rule returns, which is like the arrays whose tangents or adjoints it is: as many, and of the same dtypes.
pub(super) fn results(
    derivative: &CustomDerivative,
    primals: &[Array<'static>],
    given: &[Array<'static>],
    wanted: &[Array<'_>],
) -> Result<Vec<Array<'static>>> {
    let mut made = (derivative.rule)(primals, given)?;
    if made.len() != wanted.len() {
        let why =
            format!("{}: the rule returns {} arrays, not {}", derivative.function, made.len(), wanted.len());
        return Err(Error::new(ErrorKind::Arity, why));
    }
    for (i, (v, like)) in made.iter_mut().zip(wanted).enumerate() {
        *v = if v.number().is_some() { expr::cast(v.clone(), like.dtype()) } else { v.clone() };
        if like.dtype().is_float() && v.dtype() != like.dtype() {
            return Err(unlike(ErrorKind::DType, derivative, i, v, like));
        }
    }
    Ok(made)
}

/// The results of a rule, with the shapes of the arrays whose tangents or adjoints they are.
pub(super) fn whole_results<'a>(
    derivative: &CustomDerivative,
    made: &[Array<'a>],
    wanted: &[Array<'a>],
) -> Result<Vec<Array<'a>>> {
    let spread_to = |(i, (v, like)): (usize, (&Array<'a>, &Array<'a>))| {
        let fail = || unlike(ErrorKind::Shape, derivative, i, v, like);
        if v.rank() > like.rank() { Err(fail()) } else { spread(v, like).map_err(|_| fail()) }
    };
    made.iter().zip(wanted).enumerate().map(spread_to).collect()
}

/// The error of a result of a rule that has another dtype or shape than the array whose tangent or adjoint it is.
fn unlike(kind: ErrorKind, of: &CustomDerivative, i: usize, got: &Array<'_>, needed: &Array<'_>) -> Error {
    let [got, needed] = [got, needed].map(|x| format!("{}{}", x.dtype(), x.all_dims()));
    Error::new(kind, format!("{}: result {i} of the rule is {got}, not {needed}", of.function))
}

/// Tangents or adjoints with the shapes of their arrays; zeros where there is none.
fn whole<'a>(of: &[Array<'a>], vectors: &[Option<Array<'a>>]) -> Result<Vec<Array<'a>>> {
    let one = |(x, v): (&Array<'a>, &Option<Array<'a>>)| match v {
        Some(v) => spread(v, x),
        None => zeros_like(x),
    };
    of.iter().zip(vectors).map(one).collect()
}
