//! Imports Arrow structs as NumPy arrays over the producer's memory, which is released when the last of these arrays is freed.
//!
//! All fields of a struct are validated before its buffers are read. The sizes of the buffers can't be validated, since the
//! interface doesn't transmit them.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use broadloom::DType;
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

use super::abi::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned, bits_of, dtype_of, held, taken};
use crate::dtype;
use crate::memory;

/// A data type as passed to Python: its format string, its NumPy dtype if broadloom has it, and, for a dictionary, the format
/// string of its values.
type Field<'py> = (String, Option<Bound<'py, PyArrayDescr>>, Option<String>);

/// A chunk as passed to Python: its length, its null count (-1 if unknown), the bytes of its values and of its validity bitmap
/// (if any), and the number of bits at the start of the bitmap's first byte that belong to earlier elements. If the values are
/// bits too, the same number of bits precedes them.
type ArrowChunk<'py> = (usize, i64, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, usize);

/// The error for a struct that violates the interface.
fn malformed(what: &str) -> PyErr {
    PyValueError::new_err(format!("from_arrow: the producer's struct is malformed: {what}"))
}

/// The format string of a schema.
fn format(schema: &ArrowSchema) -> PyResult<String> {
    if schema.format.is_null() {
        return Err(malformed("an ArrowSchema without a format"));
    }
    // SAFETY: the interface requires the format to be a NUL-terminated string that lives as long as the schema.
    Ok(unsafe { CStr::from_ptr(schema.format) }.to_string_lossy().into_owned())
}

/// The data type that a schema describes.
fn field<'py>(py: Python<'py>, schema: &ArrowSchema) -> PyResult<Field<'py>> {
    let own = format(schema)?;
    // SAFETY: the schema of a dictionary lives as long as the outer schema, which is not released.
    let of_values = match unsafe { schema.dictionary.as_ref() } {
        Some(values) => Some(format(values)?),
        None => None,
    };
    let dtype = if of_values.is_none() { dtype_of(own.as_bytes()) } else { None };
    if dtype.is_some() && schema.n_children != 0 {
        return Err(malformed(&format!("the type {own} with {} children", schema.n_children)));
    }
    let dtype = dtype.map(|dtype| dtype::numpy(py, dtype)).transpose()?;
    Ok((own, dtype, of_values))
}

/// The data type described by the schema in a PyCapsule, which is not consumed.
#[pyfunction]
pub fn arrow_field<'py>(py: Python<'py>, capsule: &Bound<'py, PyAny>) -> PyResult<Field<'py>> {
    let schema = held::<ArrowSchema>(capsule)?;
    // SAFETY: the capsule is alive, its schema is not released, and the GIL is held during the call.
    field(py, unsafe { schema.as_ref() })
}

/// An imported array, which owns the memory that NumPy arrays point to.
#[pyclass(frozen, module = "broadloom._core")]
struct ArrowMemory {
    #[expect(dead_code, reason = "keeps the memory alive")]
    array: Owned<ArrowArray>,
}

/// The part of a buffer that is read: its address, and its size in bytes.
#[derive(Clone, Copy)]
struct Span {
    data: *const u8,
    bytes: usize,
}

impl Span {
    /// The bytes that hold the `length` elements from index `offset` on, of `bits` bits each; `None` if the buffer is null.
    fn of(buffer: *const u8, offset: usize, length: usize, bits: usize) -> PyResult<Option<Span>> {
        let too_long = || malformed(&format!("{length} elements from {offset} on are more than memory has"));
        let end = offset.checked_add(length).and_then(|end| end.checked_mul(bits)).ok_or_else(too_long)?;
        let (start, end) = (offset * bits / 8, end.div_ceil(8));
        if end > isize::MAX as usize || buffer.addr().checked_add(end).is_none() {
            return Err(too_long());
        }
        let bytes = if length == 0 { 0 } else { end - start };
        Ok((!buffer.is_null()).then(|| Span { data: buffer.wrapping_add(start), bytes }))
    }
}

/// The validated fields of an array: its length, null count, validity bitmap, values, and the offset of the first element's bit
/// within its byte.
type Checked = (usize, i64, Option<Span>, Span, usize);

/// Validates all fields of an array whose elements have this dtype.
fn checked(array: &ArrowArray, dtype: DType) -> PyResult<Checked> {
    let natural = |name: &str, number: i64| {
        usize::try_from(number).map_err(|_| malformed(&format!("the {name} is {number}")))
    };
    let (length, offset) = (natural("length", array.length)?, natural("offset", array.offset)?);
    if array.n_children != 0 || !array.dictionary.is_null() {
        return Err(malformed(&format!("{} with children or a dictionary", dtype.name())));
    }
    if array.n_buffers != 2 || array.buffers.is_null() {
        return Err(malformed(&format!("{} with {} buffers, not 2", dtype.name(), array.n_buffers)));
    }
    if array.null_count < -1 || array.null_count > array.length {
        return Err(malformed(&format!("{} nulls among {length} elements", array.null_count)));
    }
    // SAFETY: `n_buffers` is 2, so there are two pointers at `buffers`.
    let (validity, values) = unsafe {
        let buffers = array.buffers.cast::<*const u8>();
        (ptr::read_unaligned(buffers), ptr::read_unaligned(buffers.add(1)))
    };
    let validity = Span::of(validity, offset, length, 1)?;
    let values = Span::of(values, offset, length, bits_of(dtype))?;
    if validity.is_none() && array.null_count > 0 {
        return Err(malformed(&format!("{} nulls without a validity bitmap", array.null_count)));
    }
    let values = match values {
        Some(values) => values,
        None if length == 0 => Span { data: ptr::dangling(), bytes: 0 },
        None => return Err(malformed(&format!("{length} elements without a buffer of values"))),
    };
    Ok((length, array.null_count, validity, values, offset % 8))
}

/// Creates NumPy arrays over the memory of an imported array. They keep it alive.
fn chunk<'py>(py: Python<'py>, array: Owned<ArrowArray>, checked: Checked) -> PyResult<ArrowChunk<'py>> {
    let (length, null_count, validity, values, bit) = checked;
    let owner = Bound::new(py, ArrowMemory { array })?.into_any();
    let over = |span: Span| {
        // SAFETY: the buffer has these bytes until the array is released, which `owner` does when it is freed. Consumers must not
        // write to it, and the NumPy array is read-only.
        unsafe { memory::over(py, DType::UInt8, &[span.bytes], span.data, owner.clone()) }
    };
    Ok((length, null_count, over(values)?, validity.map(over).transpose()?, bit))
}

/// Consumes the PyCapsule of an array of this dtype.
#[pyfunction]
pub fn arrow_chunk<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<ArrowChunk<'py>> {
    let dtype = dtype::extract(dtype)?;
    // SAFETY: the capsule is alive, its array is not released, and the GIL is held during the call.
    let checked = checked(unsafe { held::<ArrowArray>(capsule)?.as_ref() }, dtype)?;
    chunk(py, taken(capsule)?, checked)
}

/// Error codes (errno) that are raised as an exception other than OSError. Their numbers are the same on every platform.
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

/// An imported stream.
#[pyclass(module = "broadloom._core")]
pub struct ArrowStream {
    stream: Owned<ArrowArrayStream>,
}

impl ArrowStream {
    /// The exception for an error code that the stream returned, with the stream's own message.
    fn exception(&mut self, code: c_int) -> PyErr {
        let last: *const c_char = match self.stream.0.get_last_error {
            // SAFETY: the stream is not released, and its last call failed, as `get_last_error` requires.
            Some(get_last_error) => unsafe { get_last_error(self.stream.pointer()) },
            None => ptr::null(),
        };
        let words = if last.is_null() {
            "it gives no reason".to_owned()
        } else {
            // SAFETY: the message is NUL-terminated, and lives until the next call on the stream.
            unsafe { CStr::from_ptr(last) }.to_string_lossy().into_owned()
        };
        let text = format!("from_arrow: the producer's stream failed: {words}");

        match code {
            ENOMEM => PyMemoryError::new_err(text),
            EINVAL => PyValueError::new_err(text),
            _ => PyOSError::new_err((code, text)),
        }
    }
}

#[pymethods]
impl ArrowStream {
    /// Consumes the PyCapsule of a stream.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowStream> {
        Ok(ArrowStream { stream: taken(capsule)? })
    }

    /// The data type of all arrays of the stream.
    fn field<'py>(&mut self, py: Python<'py>) -> PyResult<Field<'py>> {
        let Some(get_schema) = self.stream.0.get_schema else {
            return Err(malformed("an ArrowArrayStream without get_schema"));
        };
        let (stream, mut schema) = (&mut self.stream, Owned::<ArrowSchema>::empty());
        // The GIL is released because the producer may wait for other Python threads.
        // SAFETY: the stream is not released, no other thread uses it, and `schema` is writeable memory for the result.
        let code = py.detach(|| unsafe { get_schema(stream.pointer(), schema.pointer()) });
        match code {
            0 if schema.0.release.is_some() => field(py, &schema.0),
            0 => Err(malformed("get_schema gives a schema that is released")),
            code => {
                // The contents of `schema` are unspecified after an error, so they must not be released.
                schema.0.release = None;
                Err(self.exception(code))
            }
        }
    }

    /// The next array of the stream, whose elements have this dtype; `None` at the end.
    fn next<'py>(&mut self, py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Option<ArrowChunk<'py>>> {
        let dtype = dtype::extract(dtype)?;
        let Some(get_next) = self.stream.0.get_next else {
            return Err(malformed("an ArrowArrayStream without get_next"));
        };
        let (stream, mut array) = (&mut self.stream, Owned::<ArrowArray>::empty());
        // SAFETY: as for the call in `field`.
        let code = py.detach(|| unsafe { get_next(stream.pointer(), array.pointer()) });
        if code != 0 {
            // The contents of `array` are unspecified after an error, so they must not be released.
            array.0.release = None;
            return Err(self.exception(code));
        }
        if array.0.release.is_none() {
            return Ok(None);
        }
        let checked = checked(&array.0, dtype)?;
        chunk(py, array, checked).map(Some)
    }
}
