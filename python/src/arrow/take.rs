//! Structs of the interfaces as arrays of NumPy's over the producer's memory, which is released when the last of them dies.
//!
//! Everything that a struct tells about itself is checked before any of its memory is read: what can't be checked is whether buffers
//! are as long as they must be, which the interface does not tell.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use broadloom::DType;
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

use super::abi::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned, bits_of, dtype_of, held, taken};
use crate::dtype;
use crate::memory;

/// A type as Python sees it: its format, its dtype here, if it has one, and the format of a dictionary's values.
type Field<'py> = (String, Option<Bound<'py, PyArrayDescr>>, Option<String>);

/// A chunk as Python sees it: its length and number of nulls (or -1), the bytes of its values and of its validity bitmap, if it has
/// one, and how many bits of the first byte belong to elements before it: of the values, where they are bits, and of the bitmap.
type Chunk<'py> = (usize, i64, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, usize);

/// The error of a struct that is not as the interface has it.
fn malformed(what: &str) -> PyErr {
    PyValueError::new_err(format!("from_arrow: the producer's struct is malformed: {what}"))
}

/// The format of a schema.
fn format(schema: &ArrowSchema) -> PyResult<String> {
    if schema.format.is_null() {
        return Err(malformed("an ArrowSchema without a format"));
    }
    // SAFETY: the format is text that ends with 0, as the interface has it, and lives as long as the schema.
    Ok(unsafe { CStr::from_ptr(schema.format) }.to_string_lossy().into_owned())
}

/// What a schema says.
fn field<'py>(py: Python<'py>, schema: &ArrowSchema) -> PyResult<Field<'py>> {
    let own = format(schema)?;
    // SAFETY: the dictionary's schema lives as long as the schema, if it is there and not released.
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

/// The type in a capsule, which is not consumed.
#[pyfunction]
pub fn arrow_field<'py>(py: Python<'py>, capsule: &Bound<'py, PyAny>) -> PyResult<Field<'py>> {
    let schema = held::<ArrowSchema>(capsule)?;
    // SAFETY: the capsule is alive, its schema is not released, and the GIL is held meanwhile.
    field(py, unsafe { schema.as_ref() })
}

/// An array of another library's, whose memory arrays of NumPy's are over.
#[pyclass(frozen, module = "broadloom._core")]
struct ArrowMemory {
    #[expect(dead_code, reason = "keeps the memory alive")]
    array: Owned<ArrowArray>,
}

/// A buffer's address, and what of it is read, in bytes.
#[derive(Clone, Copy)]
struct Span {
    data: *const u8,
    bytes: usize,
}

impl Span {
    /// The bytes that hold elements from `offset` on; `None` for a buffer that is not there.
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

/// What was checked of an array: its length, number of nulls, validity, values and offset in bits.
type Checked = (usize, i64, Option<Span>, Span, usize);

/// Checks all that an array of elements of a dtype tells about itself.
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
    // SAFETY: there are two pointers at `buffers`, as the number of them says.
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

/// Arrays of NumPy's over the memory of an array, which it keeps alive.
fn chunk<'py>(py: Python<'py>, array: Owned<ArrowArray>, checked: Checked) -> PyResult<Chunk<'py>> {
    let (length, null_count, validity, values, bit) = checked;
    let owner = Bound::new(py, ArrowMemory { array })?.into_any();
    let over = |span: Span| {
        // SAFETY: the buffer has these bytes as long as the array is not released, which `owner` does when it dies. Consumers do
        // not write to it, and the array of NumPy's can't be written.
        unsafe { memory::over(py, DType::UInt8, &[span.bytes], span.data, owner.clone()) }
    };
    Ok((length, null_count, over(values)?, validity.map(over).transpose()?, bit))
}

/// The array of a dtype in a capsule, which is consumed.
#[pyfunction]
pub fn arrow_chunk<'py>(
    py: Python<'py>,
    capsule: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Chunk<'py>> {
    let dtype = dtype::extract(dtype)?;
    // SAFETY: the capsule is alive, its array is not released, and the GIL is held meanwhile.
    let checked = checked(unsafe { held::<ArrowArray>(capsule)?.as_ref() }, dtype)?;
    chunk(py, taken(capsule)?, checked)
}

/// Codes of errors whose exceptions are other ones than OSError; they have these numbers everywhere.
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

/// A stream of another library's.
#[pyclass(module = "broadloom._core")]
pub struct ArrowStream {
    stream: Owned<ArrowArrayStream>,
}

impl ArrowStream {
    /// The exception of a code that the stream gave, with its own words.
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
    /// The stream in a capsule, which is consumed.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowStream> {
        Ok(ArrowStream { stream: taken(capsule)? })
    }

    /// The type of all arrays.
    fn field<'py>(&mut self, py: Python<'py>) -> PyResult<Field<'py>> {
        let Some(get_schema) = self.stream.0.get_schema else {
            return Err(malformed("an ArrowArrayStream without get_schema"));
        };
        let (stream, mut schema) = (&mut self.stream, Owned::<ArrowSchema>::empty());
        // The producer may wait for other threads of Python.
        // SAFETY: the stream is not released and no one else uses it; there is memory for a schema.
        let code = py.detach(|| unsafe { get_schema(stream.pointer(), schema.pointer()) });
        match code {
            0 if schema.0.release.is_some() => field(py, &schema.0),
            0 => Err(malformed("get_schema gives a schema that is released")),
            code => {
                // What a failing call wrote is no one's.
                schema.0.release = None;
                Err(self.exception(code))
            }
        }
    }

    /// The next array, of a dtype; none at the end.
    fn next<'py>(&mut self, py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Option<Chunk<'py>>> {
        let dtype = dtype::extract(dtype)?;
        let Some(get_next) = self.stream.0.get_next else {
            return Err(malformed("an ArrowArrayStream without get_next"));
        };
        let (stream, mut array) = (&mut self.stream, Owned::<ArrowArray>::empty());
        // SAFETY: as in `field`.
        let code = py.detach(|| unsafe { get_next(stream.pointer(), array.pointer()) });
        if code != 0 {
            // As in `field`.
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
