//! Counts of numbers, which compute the values of their operands.

use broadloom::Evaluation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::handle::Handle;
use crate::options::of_evaluation;
use crate::run::compute;

/// The number of occurrences of each number, or the sum of its weights.
#[pyfunction]
#[pyo3(signature = (numbers, weights, at_least, **options))]
pub fn bincount(
    py: Python<'_>,
    numbers: &Handle,
    weights: Option<&Handle>,
    at_least: usize,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let array = numbers.computable(py)?;
    let weighed = weights.map(|weights| weights.computable(py)).transpose()?;
    let made = compute(py, None, |control| {
        Evaluation::with(&options).control(control).bincount(&array, weighed.as_ref(), at_least)
    })?;
    Ok(Handle::evaluated_to(made, numbers.by_numpy))
}
