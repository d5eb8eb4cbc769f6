//! Sorts and searches, which compute the values of their operands.

use broadloom::Evaluation;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::handle::Handle;
use crate::options::of_evaluation;
use crate::run::compute;

/// The elements along an axis in order.
#[pyfunction]
#[pyo3(signature = (x, axis, descending, **options))]
pub fn sort(
    py: Python<'_>,
    x: &Handle,
    axis: isize,
    descending: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let array = x.computable(py)?;
    let made = compute(py, None, |control| {
        Evaluation::with(&options).control(control).sort(&array, axis, descending)
    })?;
    Ok(Handle::evaluated_to(made, x.by_numpy))
}

/// The indices that put the elements along an axis in order.
#[pyfunction]
#[pyo3(signature = (x, axis, descending, **options))]
pub fn argsort(
    py: Python<'_>,
    x: &Handle,
    axis: isize,
    descending: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let array = x.computable(py)?;
    let made = compute(py, None, |control| {
        Evaluation::with(&options).control(control).argsort(&array, axis, descending)
    })?;
    Ok(Handle::evaluated_to(made, x.by_numpy))
}

/// For each query, the index in a sorted array before which it is inserted.
#[pyfunction]
#[pyo3(signature = (sorted, queries, right, **options))]
pub fn searchsorted(
    py: Python<'_>,
    sorted: &Handle,
    queries: &Handle,
    right: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let (values, wanted) = (sorted.computable(py)?, queries.computable(py)?);
    let made = compute(py, None, |control| {
        Evaluation::with(&options).control(control).searchsorted(&values, &wanted, right)
    })?;
    Ok(Handle::evaluated_to(made, sorted.by_numpy || queries.by_numpy))
}
