//! Python's numbers as literals.

use broadloom::{DType, Literal};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::error::OrRaise;

/// The literal of a Python number: bool, int or float. An integer of more than 128 bits becomes a float, since no dtype of
/// integers holds it.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Literal::Bool(value.is_true()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Literal::Float(value.value()));
    }
    if object.cast::<PyInt>().is_ok() {
        // PERF: to extract an i128, several Python objects are made.
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

/// The error about an integer that is greater than all floats.
pub fn beyond_floats() -> PyErr {
    PyValueError::new_err("an integer of this size cannot be represented as float64")
}

/// The bits of a number as the dtype that it has in a kernel. In a kernel that promotes as NumPy does, a bool may become a 0 or 1
/// of another dtype.
pub fn bits(value: Literal, dtype: DType) -> PyResult<u64> {
    let value = match value {
        Literal::Bool(value) if dtype != DType::Bool => Literal::Int(value.into()),
        other => other,
    };
    Ok(value.to_dtype(dtype).or_raise()?.bits)
}
