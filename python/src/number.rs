//! Converts Python numbers to literals.

use broadloom::{DType, Literal};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::error::OrRaise;

/// Converts a Python bool, int or float. An integer of more than 128 bits becomes a float, since no integer dtype can hold it.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Literal::Bool(value.is_true()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Literal::Float(value.value()));
    }
    if object.cast::<PyInt>().is_ok() {
        // PERF: extracting an i128 creates several Python objects, so i64 is tried first.
        if let Ok(value) = object.extract::<i64>() {
            return Ok(Literal::Int(i128::from(value)));
        }
        if let Ok(value) = object.extract::<i128>() {
            return Ok(Literal::Int(value));
        }
        return object.extract::<f64>().map(Literal::Float).map_err(|_| beyond_floats());
    }
    let kind = object.get_type().name()?;
    if kind == "complex" {
        return Err(PyNotImplementedError::new_err("there are no complex numbers in broadloom"));
    }
    Err(PyTypeError::new_err(format!("an operand is {kind}; expected an array, a bool, an int or a float")))
}

/// The error for an integer that is too large for a float.
pub fn beyond_floats() -> PyErr {
    PyValueError::new_err("an integer of this size cannot be represented as float64")
}

/// The bits of a number, converted to the dtype of a kernel's input. In a kernel with NumPy's promotion, a bool may become 0 or 1
/// of another dtype.
pub fn bits(value: Literal, dtype: DType) -> PyResult<u64> {
    let value = match value {
        Literal::Bool(value) if dtype != DType::Bool => Literal::Int(value.into()),
        other => other,
    };
    Ok(value.to_dtype(dtype).or_raise()?.bits)
}
