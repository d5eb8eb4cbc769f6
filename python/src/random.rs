//! Keys of random numbers, and draws from them.

use broadloom::{Array, Draw, DrawCall, random};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::dtype;
use crate::error::{About, OrRaise};
use crate::handle::{Handle, operand};
use crate::selections::evaluated;

/// The handle of the key of a seed.
#[pyfunction]
pub fn random_key(seed: u64) -> PyResult<Handle> {
    Ok(Handle::evaluated_to(random::key(seed).eval().or_raise()?, false))
}

/// The handle of `n` keys made of a key.
#[pyfunction]
pub fn random_split(key: &Bound<'_, PyAny>, n: usize) -> PyResult<Handle> {
    made("split", [key.clone()].into_iter(), |arrays| random::split(&arrays[0], n))
}

/// The handle of keys made of a key and numbers.
#[pyfunction]
pub fn random_fold_in(key: &Bound<'_, PyAny>, number: &Bound<'_, PyAny>) -> PyResult<Handle> {
    made("fold_in", [key.clone(), number.clone()].into_iter(), |arrays| {
        random::fold_in(&arrays[0], &arrays[1])
    })
}

/// The numbers below `n` in a random order.
#[pyfunction]
pub fn random_permutation(key: &Bound<'_, PyAny>, n: usize) -> PyResult<Handle> {
    made("permutation", [key.clone()].into_iter(), |arrays| random::permutation(&arrays[0], n))
}

/// Indices below `n` that are chosen at random.
#[pyfunction]
pub fn random_choice(
    py: Python<'_>,
    key: &Handle,
    n: usize,
    shape: Vec<usize>,
    replace: bool,
    weights: Option<&Handle>,
) -> PyResult<Handle> {
    let key = key.computable(py)?;
    let weights = weights.map(|weights| weights.computable(py)).transpose()?;
    let made = evaluated(py, |evaluation| evaluation.choice(&key, n, &shape, replace, weights.as_ref()))?;
    Ok(Handle::evaluated_to(made, false))
}

/// The handle of a draw. The operands are the key and the parameters of the distribution.
#[pyfunction]
#[pyo3(signature = (name, shape, dtype, *operands))]
pub fn draw(
    name: &str,
    shape: Vec<usize>,
    dtype: Option<&Bound<'_, PyAny>>,
    operands: &Bound<'_, PyTuple>,
) -> PyResult<Handle> {
    let draw =
        Draw::from_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no draw `{name}`")))?;
    let dtype = dtype.map(dtype::extract).transpose()?;
    let call = DrawCall::new(draw, &shape, dtype).or_raise_about(&About {
        operation: Some(name),
        operands: &[],
        axes: None,
    })?;
    made(name, operands.iter(), |arrays| random::draw(&call, &arrays[0], &arrays[1..]))
}

fn made<'py>(
    name: &str,
    operands: impl Iterator<Item = Bound<'py, PyAny>>,
    make: impl FnOnce(&[Array<'static>]) -> broadloom::Result<Array<'static>>,
) -> PyResult<Handle> {
    let given = operands.map(|given| operand(&given)).collect::<PyResult<SmallVec<[_; 3]>>>()?;
    Handle::of_operands(None, given, |arrays| {
        make(arrays).or_raise_about(&About { operation: Some(name), operands: arrays, axes: None })
    })
}
