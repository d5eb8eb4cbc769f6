//! Begins and ends traces from Python.

use broadloom::Array;
use pyo3::prelude::*;

use crate::handle::Handle;
use crate::origin::{self, HandleOrigin};

/// Begins a trace on this thread.
#[pyfunction]
pub fn begin_trace() {
    origin::begin();
}

/// Ends the innermost trace of this thread. Returns the inputs that replace captured memory, each with that memory as a
/// NumPy array. Captured expressions that are not NumPy arrays are evaluated now.
#[pyfunction]
pub fn end_trace(py: Python<'_>) -> PyResult<Vec<(Handle, Py<PyAny>)>> {
    let bound = origin::end().into_iter().map(|captured| {
        let values = match &captured.origin {
            HandleOrigin::Memory(Some(array)) => array.clone_ref(py).into_any(),
            _ => Handle::evaluated_to(captured.array, false).to_numpy(py)?.unbind(),
        };
        Ok((Handle::input_of(captured.input), values))
    });
    bound.collect()
}

/// Ends the innermost trace of this thread after a failure. Nothing is evaluated, so this can't fail.
#[pyfunction]
pub fn abandon_trace() {
    drop(origin::end());
}

/// Returns the handle that a kernel uses in place of this one. Memory is replaced by an input of the trace, and a parameter by
/// its input for the default dtype.
#[pyfunction]
pub fn capture(handle: &Bound<'_, Handle>) -> PyResult<Handle> {
    let handle = handle.get();
    let array: Array<'static> = handle.array()?;
    match &handle.origin {
        origin @ HandleOrigin::Memory(_) => origin::captured(array, origin.clone()).map(Handle::input_of),
        HandleOrigin::Parameter(_) => Ok(Handle::input_of(array)),
        HandleOrigin::Generated | HandleOrigin::Traced => Ok(handle.clone()),
    }
}
