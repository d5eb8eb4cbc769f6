//! The buffer protocol for a class that is written in Python: before Python 3.12 only an extension module can give a class this
//! protocol.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;

/// A base class that gives the buffer protocol: `memoryview(x)` is a view of the NumPy array that `x._buffer()` returns.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Buffered;

#[pymethods]
impl Buffered {
    #[new]
    fn new() -> Buffered {
        Buffered
    }

    /// Fills in Python's description of a buffer.
    ///
    /// # Safety
    /// `view` must point to a `Py_buffer` that may be written, as Python passes it.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.call_method0("_buffer")?;
        // SAFETY: this function's caller promises that `view` may be written. The filled-in buffer holds a reference to NumPy's
        // array, so that NumPy is asked to release it.
        match unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
