//! Access to the Python code of `broadloom.numexpr`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns an attribute of the Python module `broadloom.numexpr._plans`. That module translates texts,
/// converts arguments and raises errors for all calls that the fast path does not handle.
pub fn translation<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("broadloom.numexpr._plans").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}
