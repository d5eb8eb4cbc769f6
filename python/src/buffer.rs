//! The buffer protocol for a class of Python's, which before Python 3.12 only an extension can give it.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;

/// A base class: `memoryview(x)` is one of the array of NumPy's that `x._buffer()` gives.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Buffered;

#[pymethods]
impl Buffered {
    #[new]
    fn new() -> Buffered {
        Buffered
    }

    /// Fills in a buffer.
    ///
    /// # Safety
    /// `view` must be to a buffer that may be written, as Python gives one.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.call_method0("_buffer")?;
        // SAFETY: `view` is what this function's caller says. The buffer holds a reference to NumPy's array, so that NumPy is
        // asked to release it.
        match unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
