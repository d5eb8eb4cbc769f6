//! Exports NumPy arrays as Arrow structs. The memory is shared, and kept alive until the consumer releases the struct.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use broadloom::DType;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::abi::{
    ArrowArray, ArrowArrayStream, ArrowSchema, NULLABLE, Owned, Struct, bits_of, capsule, format_of,
};
use crate::dtype;
use crate::memory::NumpyMemory;

/// The schema of an unnamed, nullable field of a dtype.
fn schema(dtype: DType) -> ArrowSchema {
    ArrowSchema {
        format: format_of(dtype).as_ptr(),
        name: c"".as_ptr(),
        metadata: ptr::null(),
        flags: NULLABLE,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: ptr::null_mut(),
    }
}

/// The `release` callback of a schema made by [`schema`]. The schema's strings are static, so nothing is freed.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer passes a struct that it owns.
    unsafe { (*schema).release = None };
}

/// The private data of an exported array: keeps the shared memory alive.
struct Lent {
    #[expect(dead_code, reason = "keeps the memory alive")]
    owners: [Option<Py<PyUntypedArray>>; 2],
    /// The array that `ArrowArray::buffers` points to: the validity bitmap and the values.
    buffers: [*const c_void; 2],
}

/// The `release` callback of an array made by [`lent`]. Any thread may call it, attached to Python or not.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the consumer passes a struct that it owns, and releases it once. Its private data is the box that `lent` leaked.
    let lent = unsafe {
        (*array).release = None;
        (*array).private_data.cast::<Lent>()
    };
    // After the interpreter has shut down, nothing can free NumPy's memory any more, so it is leaked. SAFETY: the pointer is the
    // box that `lent` leaked, and nothing else frees it.
    Python::try_attach(|_| drop(unsafe { Box::from_raw(lent) }));
}

/// Returns a PyCapsule that contains the schema of a dtype.
#[pyfunction]
pub fn arrow_schema<'py>(py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    capsule(py, Owned(schema(dtype::extract(dtype)?)))
}

/// Exports an array of `length` elements of a dtype, `null_count` of them null.
///
/// `values` holds the elements (for bool, packed bits), and `validity` one bit per element, both in row-major order. Their memory
/// is shared, not copied.
fn lent(
    dtype: DType,
    length: usize,
    null_count: usize,
    values: &Bound<'_, PyUntypedArray>,
    validity: Option<&Bound<'_, PyUntypedArray>>,
) -> PyResult<Owned<ArrowArray>> {
    let bits = bits_of(dtype);
    let address = |array: &Bound<'_, PyUntypedArray>, bits: usize| {
        let memory = NumpyMemory::shared(array)?;
        let needed = length.checked_mul(bits).map(|bits| bits.div_ceil(8));
        let fits = needed.is_some_and(|needed| needed <= memory.packed_bytes());
        if !fits || !memory.is_row_major {
            return Err(PyValueError::new_err("the memory has not the elements in row-major order"));
        }
        Ok(memory.address().cast_const().cast::<c_void>())
    };
    if null_count > length || (null_count > 0 && validity.is_none()) {
        return Err(PyValueError::new_err("there are nulls without a place"));
    }
    let buffers =
        [validity.map_or(Ok(ptr::null()), |validity| address(validity, 1))?, address(values, bits)?];
    let owners = [validity.map(|validity| validity.clone().unbind()), Some(values.clone().unbind())];
    let lent = Box::into_raw(Box::new(Lent { owners, buffers }));
    // SAFETY: the box stays alive until the struct is released.
    let buffers = unsafe { (&raw mut (*lent).buffers).cast() };
    Ok(Owned(ArrowArray {
        length: length as i64,
        null_count: null_count as i64,
        offset: 0,
        n_buffers: 2,
        n_children: 0,
        buffers,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: lent.cast(),
    }))
}

/// Returns a PyCapsule that contains an array exported by [`lent`].
#[pyfunction]
pub fn arrow_array<'py>(
    py: Python<'py>,
    dtype: &Bound<'py, PyAny>,
    length: usize,
    null_count: usize,
    values: &Bound<'py, PyUntypedArray>,
    validity: Option<&Bound<'py, PyUntypedArray>>,
) -> PyResult<Bound<'py, PyAny>> {
    capsule(py, lent(dtype::extract(dtype)?, length, null_count, values, validity)?)
}

/// The private data of a stream made by [`arrow_stream`]: its one array, until that has been returned.
struct LentStream {
    dtype: DType,
    array: Owned<ArrowArray>,
}

/// Returns a PyCapsule that contains a stream of one array, which [`lent`] exports.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    dtype: &Bound<'py, PyAny>,
    length: usize,
    null_count: usize,
    values: &Bound<'py, PyUntypedArray>,
    validity: Option<&Bound<'py, PyUntypedArray>>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype::extract(dtype)?;
    let chunk = LentStream { dtype, array: lent(dtype, length, null_count, values, validity)? };
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(chunk)).cast(),
    };
    capsule(py, Owned(stream))
}

/// The `get_schema` callback of a stream made by [`arrow_stream`].
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes a stream that it owns and has not released, so its private data is a `LentStream`. `out` is a
    // valid pointer to a schema.
    unsafe {
        let chunk = (*stream).private_data.cast::<LentStream>();
        out.write(schema((*chunk).dtype));
    }
    0
}

/// The `get_next` callback of a stream made by [`arrow_stream`]: returns the array at the first call, and then a released struct,
/// which marks the end of the stream.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as for `get_schema`. The array is moved by copying its bytes, and the chunk's copy is marked as released.
    unsafe {
        let chunk = &mut *(*stream).private_data.cast::<LentStream>();
        out.write(ptr::read(&raw const chunk.array.0));
        *chunk.array.0.release() = None;
    }
    0
}

/// The `get_last_error` callback. It returns null, since the stream's calls never fail.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// The `release` callback of a stream made by [`arrow_stream`]. It also releases the array if that has not been returned.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the consumer passes a stream that it owns, and releases it once. Its private data is the box that `arrow_stream`
    // leaked.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<LentStream>()));
    }
}
