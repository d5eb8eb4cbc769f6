//! Numbers of Python's as literals.

use broadloom::Literal;
use pyo3::exceptions::{PyNotImplementedError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// A number of Python's: bool, int or float.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Literal::Bool(value.is_true()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Literal::Float(value.value()));
    }
    if object.cast::<PyInt>().is_ok() {
        // PERF: an i128 is put together of several objects of Python's.
        if let Ok(value) = object.extract::<i64>() {
            return Ok(Literal::Int(i128::from(value)));
        }
        let value = object.extract::<i128>();
        return value
            .map(Literal::Int)
            .map_err(|_| PyOverflowError::new_err("the integer is beyond what any dtype holds"));
    }
    let kind = object.get_type().name()?;
    if kind == "complex" {
        return Err(PyNotImplementedError::new_err("there are no complex numbers in broadloom"));
    }
    Err(PyTypeError::new_err(format!("an operand is {kind}; expected an array, a bool, an int or a float")))
}
