//! Conversions between NumPy's dtypes and broadloom's.

use broadloom::DType;
use numpy::npyffi::{_PyDataType_GET_ITEM_DATA, NPY_TYPES};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

/// The NumPy dtype of a broadloom dtype.
pub fn numpy<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyArrayDescr>> {
    static DESCRIPTORS: PyOnceLock<Vec<Py<PyArrayDescr>>> = PyOnceLock::new();
    let descriptors = DESCRIPTORS.get_or_try_init(py, || {
        let make = |dtype: &DType| PyArrayDescr::new(py, dtype.name()).map(Bound::unbind);
        DType::ALL.iter().map(make).collect::<PyResult<Vec<_>>>()
    })?;
    let at = DType::ALL.iter().position(|known| *known == dtype).unwrap_or_default();
    Ok(descriptors[at].bind(py).clone())
}

/// The broadloom dtype of a NumPy type number, ignoring byte order; `None` if there is none (complex numbers, strings, objects
/// and so on).
pub fn of_type_number(number: i32, size: usize) -> Option<DType> {
    const BOOL: i32 = NPY_TYPES::NPY_BOOL as i32;
    const FLOAT: i32 = NPY_TYPES::NPY_FLOAT as i32;
    const DOUBLE: i32 = NPY_TYPES::NPY_DOUBLE as i32;
    const HALF: i32 = NPY_TYPES::NPY_HALF as i32;
    // NumPy's type numbers alternate between signed and unsigned integers. Two C types may have the same size, so the size
    // determines the dtype.
    match (number, size) {
        (BOOL, _) => Some(DType::Bool),
        (FLOAT, _) => Some(DType::Float32),
        (DOUBLE, _) => Some(DType::Float64),
        (HALF, _) => Some(DType::Float16),
        (1..=10, 1) => Some(if number % 2 == 1 { DType::Int8 } else { DType::UInt8 }),
        (1..=10, 2) => Some(if number % 2 == 1 { DType::Int16 } else { DType::UInt16 }),
        (1..=10, 4) => Some(if number % 2 == 1 { DType::Int32 } else { DType::UInt32 }),
        (1..=10, 8) => Some(if number % 2 == 1 { DType::Int64 } else { DType::UInt64 }),
        _ => None,
    }
}

/// The broadloom dtype of a descriptor, and whether its elements have native byte order.
pub fn of_descriptor(descriptor: &Bound<'_, PyArrayDescr>) -> Option<(DType, bool)> {
    let dtype = of_type_number(descriptor.num(), descriptor.itemsize())?;
    // SAFETY: the descriptor is alive while it is borrowed, and the GIL is held, so no other thread changes it.
    let order = unsafe { (*_PyDataType_GET_ITEM_DATA(descriptor.as_dtype_ptr())).byteorder } as u8;
    let swapped = if cfg!(target_endian = "little") { b'>' } else { b'<' };
    Some((dtype, order != swapped))
}

/// The dtype that a caller specified as a NumPy dtype, a scalar type, or a name.
pub fn extract(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(name) = object.cast_exact::<PyString>()
        && let Some(dtype) = DType::from_name(name.to_str()?)
    {
        return Ok(dtype);
    }
    if let Ok(descriptor) = object.cast::<PyArrayDescr>()
        && let Some((dtype, true)) = of_descriptor(descriptor)
    {
        return Ok(dtype);
    }
    let refused = || {
        let shown = object.str().map_or_else(|_| "that".to_owned(), |text| text.to_string());
        let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        PyTypeError::new_err(format!("{shown} is not a dtype of broadloom; they are {}", all.join(", ")))
    };
    let descriptor = PyArrayDescr::new(object.py(), object).map_err(|_| refused())?;
    of_descriptor(&descriptor).map(|(dtype, _)| dtype).ok_or_else(refused)
}
