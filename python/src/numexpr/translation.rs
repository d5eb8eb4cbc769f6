//! The Python side of `broadloom.numexpr`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The module that translates, converts and complains: what a call that is not the common one needs.
pub fn translation<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("broadloom.numexpr._plans").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}
