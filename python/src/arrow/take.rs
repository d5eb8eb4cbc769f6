//! Structs of Arrow's C interfaces as NumPy arrays over the producer's memory, which is released when the last of these arrays
//! dies.
//!
//! All that a struct tells about itself is checked before any of its memory is read. Whether buffers are as long as they must be
//! can't be checked, since the interface does not tell their lengths.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use broadloom::DType;
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

use super::abi::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned, bits_of, dtype_of, held, taken};
use crate::dtype;
use crate::memory;

/// A schema as Python code gets it: the format string, broadloom's dtype, if there is one, and the format string of a
/// dictionary's values.
type Field<'py> = (String, Option<Bound<'py, PyArrayDescr>>, Option<String>);

/// An array as Python code gets it: its length, its number of nulls (or -1), the bytes of its values, the bytes of its validity
/// bitmap, if it has one, and how many bits at the start of the first byte belong to earlier elements. The last holds for the
/// bitmap, and for values that are bits.
type Chunk<'py> = (usize, i64, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, usize);

/// The error about a struct that breaks the rules of the interface.
fn malformed(what: &str) -> PyErr {
    PyValueError::new_err(format!("from_arrow: the producer's struct is malformed: {what}"))
}

/// The format string of a schema.
fn format(schema: &ArrowSchema) -> PyResult<String> {
    if schema.format.is_null() {
        return Err(malformed("an ArrowSchema without a format"));
    }
    // SAFETY: the format is text that ends with 0, as the interface demands, and lives as long as the schema.
    Ok(unsafe { CStr::from_ptr(schema.format) }.to_string_lossy().into_owned())
}

/// The type that a schema describes.
fn field<'py>(py: Python<'py>, schema: &ArrowSchema) -> PyResult<Field<'py>> {
    let own = format(schema)?;
    // SAFETY: the dictionary's schema lives as long as the schema, if there is one that is not released.
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

/// The type that the schema in a capsule describes. The schema is not consumed.
#[pyfunction]
pub fn arrow_field<'py>(py: Python<'py>, capsule: &Bound<'py, PyAny>) -> PyResult<Field<'py>> {
    let schema = held::<ArrowSchema>(capsule)?;
    // SAFETY: the capsule is alive, its schema is not released, and the GIL is held until this returns.
    field(py, unsafe { schema.as_ref() })
}

/// The owner of an array of another library, over whose memory there are NumPy arrays. It releases that array when it dies.
#[pyclass(frozen, module = "broadloom._core")]
struct ArrowMemory {
    #[expect(dead_code, reason = "keeps the memory alive")]
    array: Owned<ArrowArray>,
}

/// The bytes of a buffer that are read: their address and number.
#[derive(Clone, Copy)]
struct Span {
    data: *const u8,
    bytes: usize,
}

impl Span {
    /// The bytes of a buffer that hold `length` elements from number `offset` on; `None` if the pointer to the buffer is null.
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

/// The properties of an array that [`checked`] has checked: its length, number of nulls, bytes of the validity bitmap, bytes of
/// the values, and the number of bits at the start of the first byte that belong to earlier elements.
type Checked = (usize, i64, Option<Span>, Span, usize);

/// Checks all that an array with elements of a dtype tells about itself.
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
    // SAFETY: there are two pointers at `buffers`, since `n_buffers` is 2.
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

/// Makes NumPy arrays over the memory of another library's array, and keeps that array alive as long as they live.
fn chunk<'py>(py: Python<'py>, array: Owned<ArrowArray>, checked: Checked) -> PyResult<Chunk<'py>> {
    let (length, null_count, validity, values, bit) = checked;
    let owner = Bound::new(py, ArrowMemory { array })?.into_any();
    let over = |span: Span| {
        // SAFETY: the buffer has these bytes as long as the array is not released, which `owner` does when it dies. Consumers do
        // not write to the buffer, and the NumPy array is read-only.
        unsafe { memory::over(py, DType::UInt8, &[span.bytes], span.data, owner.clone()) }
    };
    Ok((length, null_count, over(values)?, validity.map(over).transpose()?, bit))
}

/// Moves an array with elements of a dtype out of its capsule, and shares its memory.
#[pyfunction]
pub fn arrow_chunk<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Chunk<'py>> {
    let dtype = dtype::extract(dtype)?;
    // SAFETY: the capsule is alive, its array is not released, and the GIL is held until the check is over.
    let checked = checked(unsafe { held::<ArrowArray>(capsule)?.as_ref() }, dtype)?;
    chunk(py, taken(capsule)?, checked)
}

/// The error codes of streams that become other exceptions than OSError. They have these numbers on all platforms.
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

/// A stream of arrays from another library.
#[pyclass(module = "broadloom._core")]
pub struct ArrowStream {
    stream: Owned<ArrowArrayStream>,
}

impl ArrowStream {
    /// The exception for an error code that the stream returned, with the stream's own words.
    fn exception(&mut self, code: c_int) -> PyErr {
        let last: *const c_char = match self.stream.0.get_last_error {
            // SAFETY: the stream is not released, and its last call failed.
            Some(get_last_error) => unsafe { get_last_error(self.stream.pointer()) },
            None => ptr::null(),
        };
        let words = if last.is_null() {
            "it gives no reason".to_owned()
        } else {
            // SAFETY: the text ends with 0 and lives until the next call on the stream.
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
    /// Moves the stream out of its capsule.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowStream> {
        Ok(ArrowStream { stream: taken(capsule)? })
    }

    /// The type that all arrays of the stream have.
    fn field<'py>(&mut self, py: Python<'py>) -> PyResult<Field<'py>> {
        let Some(get_schema) = self.stream.0.get_schema else {
            return Err(malformed("an ArrowArrayStream without get_schema"));
        };
        let (stream, mut schema) = (&mut self.stream, Owned::<ArrowSchema>::empty());
        // The producer may wait for other threads of Python. SAFETY: the stream is not released and no one else uses it; `schema`
        // has memory for the result.
        let code = py.detach(|| unsafe { get_schema(stream.pointer(), schema.pointer()) });
        match code {
            0 if schema.0.release.is_some() => field(py, &schema.0),
            0 => Err(malformed("get_schema gives a schema that is released")),
            code => {
                // A failing call gives no schema, and whatever it has written must not be released.
                schema.0.release = None;
                Err(self.exception(code))
            }
        }
    }

    /// The next array of the stream, whose elements are of a dtype; None at the stream's end.
    fn next<'py>(&mut self, py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Option<Chunk<'py>>> {
        let dtype = dtype::extract(dtype)?;
        let Some(get_next) = self.stream.0.get_next else {
            return Err(malformed("an ArrowArrayStream without get_next"));
        };
        let (stream, mut array) = (&mut self.stream, Owned::<ArrowArray>::empty());
        // SAFETY: as for the call in `field`.
        let code = py.detach(|| unsafe { get_next(stream.pointer(), array.pointer()) });
        if code != 0 {
            // A failing call gives no array, and whatever it has written must not be released.
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
