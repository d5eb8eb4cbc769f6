//! Calls from the fast way of `broadloom.numexpr` to its Python code.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A function of the Python module that translates texts, converts values and raises exceptions: what calls other than common
/// ones need.
pub fn translation<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("broadloom.numexpr._plans").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}
