//! Reductions by label, counts and histograms, which compute the values of their operands.

use broadloom::{Evaluation, ReductionFunction, with_promotion};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::handle::Handle;
use crate::options::of_evaluation;
use crate::run::compute;

/// The reduction with this name of the elements of each label.
#[pyfunction]
#[pyo3(signature = (function, x, labels, segments, **options))]
pub fn segments(
    py: Python<'_>,
    function: &str,
    x: &Handle,
    labels: &Handle,
    segments: usize,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let function = ReductionFunction::from_name(function)
        .ok_or_else(|| PyValueError::new_err(format!("there is no reduction {function}")))?;
    let (options, mode) = (of_evaluation(options)?, x.rule(py, false)?);
    let (array, by) = (x.computable(py)?, labels.computable(py)?);
    let made = compute(py, None, |control| {
        let evaluation = Evaluation::with(&options).control(control);
        with_promotion(mode, || evaluation.segments(function, &array, &by, segments))
    })?;
    Ok(Handle::evaluated_to(made, x.by_numpy))
}

/// The number of occurrences of each label.
#[pyfunction]
#[pyo3(signature = (labels, segments, **options))]
pub fn segment_count(
    py: Python<'_>,
    labels: &Handle,
    segments: usize,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let array = labels.computable(py)?;
    let made = compute(py, None, |control| {
        Evaluation::with(&options).control(control).segment_count(&array, segments)
    })?;
    Ok(Handle::evaluated_to(made, labels.by_numpy))
}

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

/// The number of elements between edges.
#[pyfunction]
#[pyo3(signature = (x, edges, **options))]
pub fn histogram(
    py: Python<'_>,
    x: &Handle,
    edges: &Handle,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Handle> {
    let options = of_evaluation(options)?;
    let (array, between) = (x.computable(py)?, edges.computable(py)?);
    let made =
        compute(py, None, |control| Evaluation::with(&options).control(control).histogram(&array, &between))?;
    Ok(Handle::evaluated_to(made, x.by_numpy))
}
