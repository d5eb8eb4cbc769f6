//! Selected and distinct elements, which compute the values of their operands.

use broadloom::{Evaluation, Result};
use pyo3::prelude::*;

use crate::handle::Handle;
use crate::options::of_evaluation;
use crate::run::compute;

/// Evaluates with the options of the process, with the GIL released.
pub fn evaluated<T: Send>(
    py: Python<'_>,
    run: impl FnOnce(&Evaluation<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let options = of_evaluation(None)?;
    compute(py, None, |control| run(&Evaluation::with(&options).control(control)))
}

/// The elements at which a mask is true, whose axes are those of the array from `axis` on.
#[pyfunction]
pub fn compress(py: Python<'_>, x: &Handle, mask: &Handle, axis: isize) -> PyResult<Handle> {
    let (array, mask) = (x.computable(py)?, mask.computable(py)?);
    let made = evaluated(py, |evaluation| evaluation.compress(&array, &mask, axis))?;
    Ok(Handle::evaluated_to(made, x.by_numpy))
}

/// The indices of the elements that are not 0, for each axis.
#[pyfunction]
pub fn nonzero(py: Python<'_>, x: &Handle) -> PyResult<Vec<Handle>> {
    let array = x.computable(py)?;
    let made = evaluated(py, |evaluation| evaluation.nonzero(&array))?;
    Ok(made.into_iter().map(|indices| Handle::evaluated_to(indices, x.by_numpy)).collect())
}

/// The distinct elements, and their numbers.
#[pyfunction]
pub fn unique_counts(py: Python<'_>, x: &Handle) -> PyResult<(Handle, Handle)> {
    let array = x.computable(py)?;
    let (values, counts) = evaluated(py, |evaluation| evaluation.unique_counts(&array))?;
    Ok((Handle::evaluated_to(values, x.by_numpy), Handle::evaluated_to(counts, x.by_numpy)))
}

/// The distinct elements, the indices of their first occurrences, the indices that reconstruct the array, and the numbers of
/// occurrences.
#[pyfunction]
pub fn unique_all(py: Python<'_>, x: &Handle) -> PyResult<[Handle; 4]> {
    let array = x.computable(py)?;
    let found = evaluated(py, |evaluation| evaluation.unique_all(&array))?;
    let arrays = [found.values, found.indices, found.inverse_indices, found.counts];
    Ok(arrays.map(|array| Handle::evaluated_to(array, x.by_numpy)))
}
