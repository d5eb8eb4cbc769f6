//! The buffer protocol for a class written in Python, which before Python 3.12 needs an extension type as its base.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;

/// A base class whose subclasses support `memoryview`: it returns a view of the NumPy array that `_buffer()` returns.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Buffered;

#[pymethods]
impl Buffered {
    #[new]
    fn new() -> Buffered {
        Buffered
    }

    /// Fills in a `Py_buffer`.
    ///
    /// # Safety
    /// `view` must point to a writeable `Py_buffer`, as Python passes it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.call_method0("_buffer")?;
        // SAFETY: the caller guarantees that `view` is writeable. The buffer holds a reference to the NumPy array, so that Python
        // releases it through NumPy.
        match unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
