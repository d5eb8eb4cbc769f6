//! Functions over batches, and Jacobians, which are derivatives along a batch of all directions.

use broadloom_core::{Error, ErrorKind, Result, Shape, View};
use smallvec::SmallVec;

use super::batch::{batched, moved, stacked};
use super::functions::{check, grad};
use super::linear::zeros_like;
use super::{forward, reverse};
use crate::array::Array;
use crate::expr;
use crate::marks::Marks;
use crate::while_loop::placeholder;

/// Calls a function for each index of an axis of arguments, as one expression. `in_axes` has the axis of each argument, or `None`
/// for one that is the same for each index; the results have the indices along `out_axis`.
///
/// The function is called once, with arrays that lack the axis and have no values. It may use any other arrays.
///
/// # Errors
/// Those of the function; [`ErrorKind::Arity`] for another number of axes than arguments; [`ErrorKind::Shape`] for an axis that an
/// argument does not have, for axes of different extents, for no axis at all, and for open extents;
/// [`ErrorKind::Derivative`] for random numbers whose key is an argument.
///
/// ```
/// use broadloom::gradients::vmap;
/// use broadloom::prelude::*;
///
/// let rows = Array::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let normed = vmap(|x| Ok(vec![&x[0] / x[0].sum(())?]), &[rows], &[Some(0)], 0)?;
/// assert_eq!(normed[0].sum(1)?.to_vec::<f64>()?, [1.0, 1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn vmap<'a>(
    function: impl FnOnce(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    arguments: &[Array<'a>],
    in_axes: &[Option<isize>],
    out_axis: isize,
) -> Result<Vec<Array<'a>>> {
    if in_axes.len() != arguments.len() {
        let why = format!("vmap: {} axes for {} arguments", in_axes.len(), arguments.len());
        return Err(Error::new(ErrorKind::Arity, why));
    }
    let mut extent: Option<(usize, usize)> = None;
    let (mut given, mut replaced) = (Vec::new(), Vec::new());
    for (i, (x, axis)) in arguments.iter().zip(in_axes).enumerate() {
        let x = expr::typed(x)?;
        let Some(axis) = axis else {
            given.push(x);
            continue;
        };
        x.has_known_extents("vmap")?;
        let axis = x.axis("vmap", *axis)?;
        match extent {
            Some((first, extent)) if extent != x.shape()[axis] => {
                let n = x.shape()[axis];
                let why =
                    format!("vmap: argument {i} has {n} elements along its axis, argument {first} {extent}");
                return Err(Error::new(ErrorKind::Shape, why));
            }
            Some(_) => {}
            None => extent = Some((i, x.shape()[axis])),
        }
        let batch = moved(&x, axis as isize, 0)?;
        let one = placeholder(x.dtype(), &Shape::new(&batch.shape()[1..])?, None);
        given.push(one.clone());
        replaced.push((one, batch));
    }
    let Some((_, extent)) = extent else {
        return Err(Error::new(ErrorKind::Shape, "vmap: no argument has an axis"));
    };
    let outputs: Vec<Array<'a>> = function(&given)?.iter().map(expr::typed).collect::<Result<_>>()?;
    let made = batched(&outputs, &replaced, extent)?;
    made.into_iter()
        .map(|(y, is_batched)| {
            let y = if is_batched { y } else { stacked(&y, extent)? };
            moved(&y, 0, y.axis("vmap", out_axis)? as isize)
        })
        .collect()
}

/// All directions of an array: along the first axis, arrays of its shape with a single 1.
fn directions<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    x.has_known_extents("jacobian")?;
    let eye = Array::eye(x.len(), x.len(), 0, x.dtype())?;
    let extents: SmallVec<[usize; 4]> = [x.len()].iter().chain(x.shape()).copied().collect();
    expr::view(&eye, View::Reshape(Shape::new(&extents)?))
}

/// The Jacobian of an array with respect to another one, by reverse mode: its shape is that of `y`, followed by that of `x`. It
/// computes an adjoint for each element of `y`.
///
/// # Errors
/// Those of [`grad`](super::grad), except that `y` may have axes; [`ErrorKind::Shape`] for open extents.
///
/// ```
/// use broadloom::gradients::{jacrev, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// let y = Array::from([3.0, 1.0]) * x.sum(())? * &x;
/// assert_eq!(jacrev(&y, &x)?.to_vec::<f64>()?, [12.0, 3.0, 2.0, 5.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn jacrev<'a>(y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    let y = checked("jacrev", y, x)?;
    Marks::DERIVATIVE.put_on(|| rows(&y, x))
}

/// The Jacobian by reverse mode.
fn rows<'a>(y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    let v = placeholder(y.dtype(), &y.0.shape, None);
    let found = reverse::adjoints(&[(y.clone(), v.clone())], std::slice::from_ref(x))?;
    let rows = match found.into_iter().flatten().next() {
        Some(adjoint) => along(&adjoint, &v, &directions(y)?)?,
        None => stacked(&zeros_like(x)?, y.len())?,
    };
    let extents: SmallVec<[usize; 4]> = y.shape().iter().chain(x.shape()).copied().collect();
    expr::view(&rows, View::Reshape(Shape::new(&extents)?))
}

/// The Jacobian of an array with respect to another one, by forward mode: its shape is that of `y`, followed by that of `x`. It
/// computes a tangent for each element of `x`.
///
/// # Errors
/// Those of [`jacrev`].
///
/// ```
/// use broadloom::gradients::{jacfwd, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([1.0, 2.0]))?;
/// let y = Array::from([3.0, 1.0]) * x.sum(())? * &x;
/// assert_eq!(jacfwd(&y, &x)?.to_vec::<f64>()?, [12.0, 3.0, 2.0, 5.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn jacfwd<'a>(y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    let y = checked("jacfwd", y, x)?;
    Marks::DERIVATIVE.put_on(|| columns(&y, x))
}

/// The Jacobian by forward mode.
fn columns<'a>(y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    let v = placeholder(x.dtype(), &x.0.shape, None);
    let found = forward::tangents(std::slice::from_ref(y), &[(x.clone(), v.clone())])?;
    let columns = match found.into_iter().flatten().next() {
        Some(tangent) => along(&tangent, &v, &directions(x)?)?,
        None => stacked(&zeros_like(y)?, x.len())?,
    };
    let extents: SmallVec<[usize; 4]> = x.shape().iter().chain(y.shape()).copied().collect();
    let columns = expr::view(&columns, View::Reshape(Shape::new(&extents)?))?;
    let (first, all) = (x.rank() as isize, (x.rank() + y.rank()) as isize);
    let order: SmallVec<[isize; 6]> = (first..all).chain(0..first).collect();
    columns.permute_dims(&order)
}

/// The second derivatives of a number with respect to an array, of the array's shape twice: the Jacobian, by forward mode, of the
/// gradient.
///
/// # Errors
/// Those of [`grad`](super::grad); [`ErrorKind::Shape`] for open extents.
///
/// ```
/// use broadloom::gradients::{hessian, variable};
/// use broadloom::prelude::*;
///
/// let x = variable(&Array::from([2.0, 3.0]))?;
/// assert_eq!(hessian(&x.prod(())?, &x)?.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn hessian<'a>(y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    let gradient = grad(y, &[x])?.remove(0);
    jacfwd(&gradient, x)
}

/// A linear expression of the placeholder `v`, along each of the directions.
fn along<'a>(linear: &Array<'a>, v: &Array<'a>, directions: &Array<'a>) -> Result<Array<'a>> {
    let extent = directions.shape()[0];
    let made = batched(std::slice::from_ref(linear), &[(v.clone(), directions.clone())], extent)?;
    match made.into_iter().next() {
        Some((made, true)) => Ok(made),
        Some((made, false)) => stacked(&made, extent),
        None => Err(Error::new(ErrorKind::Internal, "a derivative that was lost")),
    }
}

/// Checks the arrays of a Jacobian, which are floats of known extents.
fn checked<'a>(function: &str, y: &Array<'a>, x: &Array<'a>) -> Result<Array<'a>> {
    check(function, 0, x)?;
    let y = expr::typed(y)?;
    if !y.dtype().is_float() {
        let why = format!("{function}: the result is {}, but must be a float", y.dtype());
        return Err(Error::new(ErrorKind::DType, why));
    }
    y.has_known_extents(function)?;
    x.has_known_extents(function)?;
    Ok(y)
}
