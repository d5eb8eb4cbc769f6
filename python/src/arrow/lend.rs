//! NumPy arrays as structs of Arrow's C interfaces: their memory is shared, and kept alive until the consumer releases it.

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

/// The schema of a dtype: it has no name, and its arrays may have nulls.
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

/// Releases a schema that [`schema`] made, whose texts live for ever.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer passes the struct that it owns.
    unsafe { (*schema).release = None };
}

/// The private data of a lent array: it keeps the shared NumPy arrays alive.
struct Lent {
    #[expect(dead_code, reason = "keeps the memory alive")]
    owners: [Option<Py<PyUntypedArray>>; 2],
    /// The struct's two buffers, to which its field `buffers` points: the validity bitmap, and the values.
    buffers: [*const c_void; 2],
}

/// Releases an array that [`lent`] made. It may be called on any thread, attached to Python or not.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the consumer passes the struct that it owns, and with it, once, the box that `lent` leaked into it.
    let lent = unsafe {
        (*array).release = None;
        (*array).private_data.cast::<Lent>()
    };
    // When the interpreter has ended, nothing can free NumPy's memory any more, and the box is leaked.
    // SAFETY: as above.
    Python::try_attach(|_| drop(unsafe { Box::from_raw(lent) }));
}

/// Makes a capsule with the schema of a dtype.
#[pyfunction]
pub fn arrow_schema<'py>(py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    capsule(py, Owned(schema(dtype::extract(dtype)?)))
}

/// The struct of `length` elements of a dtype, of which `null_count` are null.
///
/// `values` contains the elements (of bool, bits in bytes) and `validity` a bit for each element, both in row-major order. The
/// struct shares their memory.
fn lent(
    dtype: DType,
    length: usize,
    null_count: usize,
    values: &Bound<'_, PyUntypedArray>,
    validity: Option<&Bound<'_, PyUntypedArray>>,
) -> PyResult<Owned<ArrowArray>> {
    let bits = bits_of(dtype);
    let address = |array: &Bound<'_, PyUntypedArray>, bits: usize| {
        let memory = NumpyMemory::of(array).map_err(|why| why.exception(array))?;
        let needed = length.checked_mul(bits).map(|bits| bits.div_ceil(8));
        let fits = needed.is_some_and(|needed| needed <= memory.packed_bytes());
        if !fits || !memory.is_row_major {
            return Err(PyValueError::new_err("the memory has not the elements in row-major order"));
        }
        Ok(memory.address().cast::<c_void>())
    };
    if null_count > length || (null_count > 0 && validity.is_none()) {
        return Err(PyValueError::new_err("there are nulls without a place"));
    }
    let buffers =
        [validity.map_or(Ok(ptr::null()), |validity| address(validity, 1))?, address(values, bits)?];
    let owners = [validity.map(|validity| validity.clone().unbind()), Some(values.clone().unbind())];
    let lent = Box::into_raw(Box::new(Lent { owners, buffers }));
    // SAFETY: the box is alive until the struct is released.
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

/// Makes a capsule with an array as [`lent`] makes it.
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

/// The private data of a stream: the array that the stream has yet to give.
struct Chunk {
    dtype: DType,
    array: Owned<ArrowArray>,
}

/// Makes a capsule with a stream that gives one array as [`lent`] makes it.
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
    let chunk = Chunk { dtype, array: lent(dtype, length, null_count, values, validity)? };
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(chunk)).cast(),
    };
    capsule(py, Owned(stream))
}

/// Writes the schema of a stream that [`arrow_stream`] made.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes the stream that it owns and has not released, which has a chunk, and memory for a schema.
    unsafe {
        let chunk = (*stream).private_data.cast::<Chunk>();
        out.write(schema((*chunk).dtype));
    }
    0
}

/// Writes the one array of a stream that [`arrow_stream`] made. After it, as at any stream's end, an array with nothing to
/// release is written.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as for `get_schema`. The array is moved by copying its bytes, after which the chunk's array has nothing to release.
    unsafe {
        let chunk = &mut *(*stream).private_data.cast::<Chunk>();
        out.write(ptr::read(&raw const chunk.array.0));
        *chunk.array.0.release() = None;
    }
    0
}

/// The text of a stream's last error: null, since these streams never fail.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// Releases a stream that [`arrow_stream`] made, and the array if the stream has not given it.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the consumer passes the stream that it owns, and with it, once, the chunk that `arrow_stream` leaked into it.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<Chunk>()));
    }
}
