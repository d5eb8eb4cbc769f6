//! The functions that differentiate arrays with respect to others.

use broadloom_core::{Error, ErrorKind, Op, Result};

use super::linear::{apply, number, zeros_like};
use super::regions::stopped;
use super::{forward, reverse};
use crate::array::Array;
use crate::expr;
use crate::marks::Marks;

/// An array with the values of another one, with respect to which expressions can be differentiated. Each call returns a new array,
/// even for the same memory.
///
/// # Errors
/// [`ErrorKind::DType`] for an array that has no floats.
///
/// ```
/// use broadloom::gradients::{grad, variable};
/// use broadloom::prelude::*;
///
/// let memory = Array::from([1.0, 2.0]);
/// let x = variable(&memory)?;
/// let y = (x.slice(1..)? * &memory).sum(())?;
/// assert_eq!(grad(&y, &[&x])?[0].to_vec::<f64>()?, [0.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn variable<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    let x = expr::typed(x)?;
    check("variable", 0, &x)?;
    apply(Op::Positive, &[&x])
}

/// Calls a function that computes arrays. In reverse mode, the scans, and the loops over constant ranges, that it makes compute the
/// states before their steps again, from those before about √n blocks of the n steps, instead of storing all of them. The
/// derivatives have the same bits, except that those of a derivative in reverse mode add contributions block by block. The states
/// take the memory of 2√n of them, and are computed once more, but what the steps contribute to the adjoints of inputs and of
/// other arrays is stored for all steps.
///
/// In kernels, a derivative in reverse mode of such a scan or loop is an error ([`ErrorKind::Derivative`]) if extents are symbols.
///
/// ```
/// use broadloom::gradients::{checkpoint, grad, variable};
/// use broadloom::prelude::*;
/// use broadloom::fori_loop;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// let [y] = checkpoint(|| fori_loop(0, 1000, |_, [y]| [y + y.sin() * 0.01], [x.clone()]))?;
/// let [z] = fori_loop(0, 1000, |_, [y]| [y + y.sin() * 0.01], [x.clone()])?;
/// let (found, stored) = (grad(&y.sum(())?, &[&x])?, grad(&z.sum(())?, &[&x])?);
/// assert_eq!(found[0].to_vec::<f64>()?, stored[0].to_vec::<f64>()?);
/// # Ok::<(), Error>(())
/// ```
pub fn checkpoint<R>(function: impl FnOnce() -> R) -> R {
    Marks::CHECKPOINTED.put_on(function)
}

/// An array with the same values that derivatives take as a constant.
///
/// ```
/// use broadloom::gradients::{grad, stop_gradient, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([3.0]))?;
/// let y = (&x * stop_gradient(&x)).sum(())?;
/// assert_eq!(grad(&y, &[&x])?[0].to_vec::<f64>()?, [3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn stop_gradient<'a>(x: &Array<'a>) -> Array<'a> {
    match expr::typed(x) {
        Ok(x) if x.dtype().is_float() => stopped(&x),
        _ => x.clone(),
    }
}

/// The gradient of `y`, a single number, with respect to each of these arrays. Each of them varies while the others are held fixed.
///
/// # Errors
/// [`ErrorKind::Shape`] if `y` has axes; [`ErrorKind::DType`] for an array that has no floats; [`ErrorKind::Derivative`] for an
/// operation between them that has no derivative.
///
/// ```
/// use broadloom::gradients::{grad, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([0.0, 4.0]))?;
/// // The branch that is not taken contributes nothing, although its derivative at 0 is infinite.
/// let y = where_(x.greater(0.0), x.sqrt(), 0.0).sum(())?;
/// assert_eq!(grad(&y, &[&x])?[0].to_vec::<f64>()?, [0.0, 0.25]);
///
/// let e = grad(&x, &[&x]).unwrap_err();
/// assert_eq!(e.to_string(), "grad: float64[2] has axes; write grad(sum(y), x)");
/// # Ok::<(), Error>(())
/// ```
pub fn grad<'a>(y: &Array<'a>, arguments: &[&Array<'a>]) -> Result<Vec<Array<'a>>> {
    let y = expr::typed(y)?;
    if y.rank() != 0 || y.dims().is_some() {
        let why = format!("grad: {}{} has axes", y.dtype(), y.all_dims());
        return Err(Error::new(ErrorKind::Shape, why).with_help("write grad(sum(y), x)"));
    }
    if !y.dtype().is_float() {
        let why = format!("grad: the result is {}, but must be a float", y.dtype());
        return Err(Error::new(ErrorKind::DType, why));
    }
    let one = Marks::DERIVATIVE.put_on(|| number(1.0, y.dtype()));
    pulled_back("grad", &[(y, one)], arguments)
}

/// The adjoints of arguments, from those of outputs: the product of each adjoint with the Jacobian of the outputs.
///
/// # Errors
/// [`ErrorKind::Arity`] for another number of adjoints than outputs; [`ErrorKind::Shape`] and [`ErrorKind::DType`] for an adjoint
/// that is unlike its output; otherwise as for [`grad`].
///
/// ```
/// use broadloom::gradients::{variable, vjp};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// let found = vjp(&[&x.square()], &[&Array::from([1.0, 10.0])], &[&x])?;
/// assert_eq!(found[0].to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn vjp<'a>(
    outputs: &[&Array<'a>],
    adjoints: &[&Array<'a>],
    arguments: &[&Array<'a>],
) -> Result<Vec<Array<'a>>> {
    let seeds = pairs("vjp", "adjoint", "output", outputs, adjoints)?;
    pulled_back("vjp", &seeds, arguments)
}

/// The tangents of outputs, from those of arguments: the product of the Jacobian of the outputs with the tangents.
///
/// # Errors
/// [`ErrorKind::Arity`] for another number of tangents than arguments; [`ErrorKind::Shape`] and [`ErrorKind::DType`] for a tangent
/// that is unlike its argument; otherwise as for [`grad`].
///
/// ```
/// use broadloom::gradients::{jvp, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// let found = jvp(&[&x.square()], &[&x], &[&Array::from([1.0, 10.0])])?;
/// assert_eq!(found[0].to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn jvp<'a>(
    outputs: &[&Array<'a>],
    arguments: &[&Array<'a>],
    tangents: &[&Array<'a>],
) -> Result<Vec<Array<'a>>> {
    for (i, x) in arguments.iter().enumerate() {
        check("jvp", i, x)?;
    }
    let arguments = pairs("jvp", "tangent", "argument", arguments, tangents)?;
    let outputs: Vec<Array<'a>> = outputs.iter().map(|y| expr::typed(y)).collect::<Result<_>>()?;
    Marks::DERIVATIVE.put_on(|| {
        let found = forward::tangents(&outputs, &arguments)?;
        found.into_iter().zip(&outputs).map(|(v, y)| v.map_or_else(|| zeros_like(y), Ok)).collect()
    })
}

/// The value of a function of arrays, which is a single number, and its gradient with respect to each of them.
///
/// # Errors
/// Those of the function, and of [`grad`].
///
/// ```
/// use broadloom::gradients::value_and_grad;
/// use broadloom::prelude::*;
///
/// let (x, y) = (Array::from([1.0, 2.0]), Array::from([3.0, 5.0]));
/// let loss = |[w]: &[Array<'static>; 1]| ((&x * w - &y).square()).mean(());
/// let (value, [slope]) = value_and_grad(loss, [Array::scalar(2.0)])?;
/// assert_eq!((value.item::<f64>()?, slope.item::<f64>()?), (1.0, -3.0));
/// # Ok::<(), Error>(())
/// ```
pub fn value_and_grad<'a, const N: usize>(
    function: impl FnOnce(&[Array<'a>; N]) -> Result<Array<'a>>,
    arguments: [Array<'a>; N],
) -> Result<(Array<'a>, [Array<'a>; N])> {
    let mut variables = arguments;
    for (i, x) in variables.iter_mut().enumerate() {
        let typed = expr::typed(x)?;
        check("value_and_grad", i, &typed)?;
        *x = variable(&typed)?;
    }
    let y = function(&variables)?;
    let found = grad(&y, &variables.each_ref())?;
    let lost = |_| Error::new(ErrorKind::Internal, "a gradient that was lost");
    Ok((y, found.try_into().map_err(lost)?))
}

/// The adjoints of arguments, which are zeros for an argument on which no output depends.
fn pulled_back<'a>(
    function: &str,
    seeds: &[(Array<'a>, Array<'a>)],
    arguments: &[&Array<'a>],
) -> Result<Vec<Array<'a>>> {
    for (i, x) in arguments.iter().enumerate() {
        check(function, i, x)?;
    }
    let arguments: Vec<Array<'a>> = arguments.iter().map(|&x| x.clone()).collect();
    Marks::DERIVATIVE.put_on(|| {
        let found = reverse::adjoints(seeds, &arguments)?;
        found.into_iter().zip(&arguments).map(|(v, x)| v.map_or_else(|| zeros_like(x), Ok)).collect()
    })
}

/// Checks that an argument has floats.
pub(super) fn check(function: &str, i: usize, x: &Array<'_>) -> Result<()> {
    if x.dtype().is_float() && x.number().is_none() {
        return Ok(());
    }
    let why =
        format!("{function}: argument {i} is {}{}, but must be an array of floats", x.dtype(), x.all_dims());
    Err(Error::new(ErrorKind::DType, why).with_help("convert it with `astype`"))
}

/// Arrays with their adjoints or tangents, whose dtypes and shapes must be theirs.
fn pairs<'a>(
    function: &str,
    what: &str,
    of: &str,
    arrays: &[&Array<'a>],
    vectors: &[&Array<'a>],
) -> Result<Vec<(Array<'a>, Array<'a>)>> {
    if arrays.len() != vectors.len() {
        let why = format!("{function}: {} {what}s for {} {of}s", vectors.len(), arrays.len());
        return Err(Error::new(ErrorKind::Arity, why));
    }
    let pair = |(i, (x, v)): (usize, (&&Array<'a>, &&Array<'a>))| {
        let x = expr::typed(x)?;
        let v = if v.number().is_some() { expr::cast((*v).clone(), x.dtype()) } else { (*v).clone() };
        let fail = |kind| {
            let [x, v] = [&x, &v].map(|x| format!("{}{}", x.dtype(), x.all_dims()));
            Err(Error::new(kind, format!("{function}: {what} {i} is {v}, its {of} {x}")))
        };
        match (x.dtype() == v.dtype(), x.all_dims() == v.all_dims()) {
            (true, true) => Ok((x, v)),
            (false, _) => fail(ErrorKind::DType),
            (_, false) => fail(ErrorKind::Shape),
        }
    };
    arrays.iter().zip(vectors).enumerate().map(pair).collect()
}
