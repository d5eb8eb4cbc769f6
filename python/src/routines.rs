//! Sorts, searches, reductions by label and other functions of whole arrays. They are expressions.

use broadloom::{Array, ReductionFunction, Result, ScatterMode, with_promotion};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::{About, OrRaise};
use crate::handle::Handle;
use crate::origin::{self, HandleOperand};

/// The handles of the results that `make` returns for operands.
fn results<const N: usize>(
    operation: &str,
    operands: &[&Handle],
    make: impl FnOnce(&[Array<'static>]) -> Result<[Array<'static>; N]>,
) -> PyResult<[Handle; N]> {
    let made = several(operation, operands, |arrays| make(arrays).map(Vec::from))?;
    let count = made.len();
    made.try_into().map_err(|_| PyValueError::new_err(format!("{operation} has {count} results")))
}

/// The handles of any number of results.
fn several(
    operation: &str,
    operands: &[&Handle],
    make: impl FnOnce(&[Array<'static>]) -> Result<Vec<Array<'static>>>,
) -> PyResult<Vec<Handle>> {
    let given: SmallVec<[HandleOperand; 3]> = operands.iter().map(|operand| operand.operand()).collect();
    let by_numpy = given.iter().any(|operand| operand.by_numpy);
    let depth = given.iter().map(|operand| operand.depth).max().unwrap_or(0).saturating_add(1);
    let (arrays, origin) = origin::operands(None, given)?;
    let about = About { operation: Some(operation), operands: &arrays, axes: None };
    let made = make(&arrays).or_raise_about(&about)?;
    Ok(made.into_iter().map(|array| Handle { array, depth, origin: origin.clone(), by_numpy }).collect())
}

/// The handle of the only result.
fn result(
    operation: &str,
    operands: &[&Handle],
    make: impl FnOnce(&[Array<'static>]) -> Result<Array<'static>>,
) -> PyResult<Handle> {
    let [handle] = results(operation, operands, |arrays| Ok([make(arrays)?]))?;
    Ok(handle)
}

/// The reduction with this name of the elements of each label.
#[pyfunction]
pub fn segments(
    py: Python<'_>,
    function: &str,
    x: &Handle,
    labels: &Handle,
    segments: usize,
) -> PyResult<Handle> {
    let of = ReductionFunction::from_name(function)
        .ok_or_else(|| PyValueError::new_err(format!("there is no reduction {function}")))?;
    let (mode, operation) = (x.rule(py, false)?, format!("segment_{function}"));
    let made = result(&operation, &[x, labels], |arrays| {
        with_promotion(mode, || arrays[0].segment_reduce(of, &arrays[1], segments))
    })?;
    // The labels have no influence on how the result promotes.
    Ok(Handle { by_numpy: x.by_numpy, ..made })
}

/// The number of occurrences of each label.
#[pyfunction]
pub fn segment_count(labels: &Handle, segments: usize) -> PyResult<Handle> {
    result("segment_count", &[labels], |arrays| arrays[0].segment_count(segments))
}

/// The number of elements between edges.
#[pyfunction]
pub fn histogram(x: &Handle, edges: &Handle) -> PyResult<Handle> {
    result("histogram", &[x, edges], |arrays| arrays[0].histogram(&arrays[1]))
}

/// The elements along an axis in order.
#[pyfunction]
pub fn sort(x: &Handle, axis: isize, descending: bool) -> PyResult<Handle> {
    result("sort", &[x], |arrays| arrays[0].sort(axis, descending))
}

/// The indices that put the elements along an axis in order.
#[pyfunction]
pub fn argsort(x: &Handle, axis: isize, descending: bool) -> PyResult<Handle> {
    result("argsort", &[x], |arrays| arrays[0].argsort(axis, descending))
}

/// For each query, the index in a sorted array before which it is inserted.
#[pyfunction]
pub fn searchsorted(sorted: &Handle, queries: &Handle, right: bool) -> PyResult<Handle> {
    result("searchsorted", &[sorted, queries], |arrays| arrays[0].searchsorted(&arrays[1], right))
}

/// The first `k` elements along an axis in order, and their indices.
#[pyfunction]
pub fn topk(x: &Handle, k: usize, axis: isize, largest: bool) -> PyResult<[Handle; 2]> {
    results("topk", &[x], |arrays| Ok(<[_; 2]>::from(arrays[0].topk(k, axis, largest)?)))
}

/// Whether each element is an element of another array.
#[pyfunction]
pub fn isin(x: &Handle, among: &Handle) -> PyResult<Handle> {
    result("isin", &[x, among], |arrays| arrays[0].isin(&arrays[1]))
}

/// The quantiles along an axis, which are the first axis of the result.
#[pyfunction]
pub fn quantile(x: &Handle, q: Vec<f64>, axis: isize) -> PyResult<Handle> {
    result("quantile", &[x], |arrays| arrays[0].quantile(&q, axis))
}

/// The median along an axis.
#[pyfunction]
pub fn median(x: &Handle, axis: isize) -> PyResult<Handle> {
    result("median", &[x], |arrays| arrays[0].median(axis))
}

/// The indices of the first elements that are not 0, for each axis.
#[pyfunction]
pub fn nonzero_sized(x: &Handle, size: usize, fill_value: i64) -> PyResult<Vec<Handle>> {
    several("nonzero", &[x], |arrays| arrays[0].nonzero_sized(size, fill_value))
}

/// The first elements at which a mask is true.
#[pyfunction]
pub fn compress_sized(
    x: &Handle,
    mask: &Handle,
    axis: isize,
    size: usize,
    fill_value: &Handle,
) -> PyResult<Handle> {
    result("compress", &[x, mask, fill_value], |arrays| {
        arrays[0].compress_sized(&arrays[1], axis, size, &arrays[2])
    })
}

/// The first distinct elements.
#[pyfunction]
pub fn unique_sized(x: &Handle, size: usize) -> PyResult<Handle> {
    result("unique_values", &[x], |arrays| arrays[0].unique_sized(size))
}

/// An array with other elements at positions, which are set or combined with those before.
#[pyfunction]
pub fn scatter(mode: &str, x: &Handle, positions: &Handle, values: &Handle) -> PyResult<Handle> {
    let mode = ScatterMode::ALL
        .into_iter()
        .find(|known| known.function() == mode)
        .ok_or_else(|| PyValueError::new_err(format!("there is no {mode}")))?;
    let made = result(mode.function(), &[x, positions, values], |arrays| {
        arrays[0].scatter(mode, &arrays[1], &arrays[2])
    })?;
    Ok(Handle { by_numpy: x.by_numpy, ..made })
}
