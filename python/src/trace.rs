//! Functions with which Python code begins and ends traces.

use broadloom::Array;
use pyo3::prelude::*;

use crate::handle::Handle;
use crate::origin::{self, Origin};

/// Begins a trace on this thread.
#[pyfunction]
pub fn begin_trace() {
    origin::begin();
}

/// Ends the innermost trace of this thread, and returns the inputs that represent captured memory, each with that memory as a
/// NumPy array. What was captured and is not the memory of a NumPy array is evaluated now.
#[pyfunction]
pub fn end_trace(py: Python<'_>) -> PyResult<Vec<(Handle, Py<PyAny>)>> {
    let bound = origin::end().into_iter().map(|captured| {
        let values = match &captured.origin {
            Origin::Memory(Some(array)) => array.clone_ref(py).into_any(),
            _ => Handle::of_memory(captured.array).values(py)?.unbind(),
        };
        Ok((Handle::input_of(captured.input), values))
    });
    bound.collect()
}

/// Ends the innermost trace of this thread after a failure: nothing is evaluated, so that nothing can fail.
#[pyfunction]
pub fn abandon_trace() {
    drop(origin::end());
}

/// The handle that stands for a handle in a kernel: memory becomes an input of the trace, and a parameter the input of the dtype
/// that it has where it meets no array.
#[pyfunction]
pub fn capture(handle: &Bound<'_, Handle>) -> PyResult<Handle> {
    let handle = handle.get();
    let array: Array<'static> = handle.array()?;
    match handle.origin() {
        Origin::Memory(_) => origin::captured(array, handle.origin().clone()).map(Handle::input_of),
        Origin::Parameter(_) => Ok(Handle::input_of(array)),
        Origin::Generated | Origin::Traced => Ok(handle.clone()),
    }
}
