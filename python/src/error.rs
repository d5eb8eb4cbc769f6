//! Errors as Python's exceptions, of the types that Python programmers expect, with broadloom's messages.

use broadloom::text::TextError as RustTextError;
use broadloom::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyMemoryError, PyOSError, PyRuntimeError, PySyntaxError, PyTimeoutError, PyTypeError, PyValueError,
    PyZeroDivisionError,
};
use pyo3::prelude::*;

create_exception!(broadloom, LimitError, PyMemoryError, "A limit was exceeded, or memory refused.");
create_exception!(broadloom, CancelledError, PyRuntimeError, "An evaluation was cancelled.");
create_exception!(broadloom, TimeLimitError, PyTimeoutError, "An evaluation took longer than `max_time`.");
create_exception!(
    broadloom,
    TextError,
    PySyntaxError,
    "A text in broadloom's language is wrong; `lineno`, `offset` and `text` say where."
);

/// The exception of an error.
pub fn exception(error: &Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::DType | ErrorKind::Arity => PyTypeError::new_err(message),
        ErrorKind::ZeroDivision => PyZeroDivisionError::new_err(message),
        ErrorKind::Limit => LimitError::new_err(message),
        ErrorKind::Cancelled => CancelledError::new_err(message),
        ErrorKind::TimeLimit => TimeLimitError::new_err(message),
        ErrorKind::Io => PyOSError::new_err(message),
        ErrorKind::Internal | ErrorKind::Host => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// The exception of an error in a text, with its place as [`SyntaxError`](PySyntaxError) has it: lines and columns from 1, in
/// characters.
pub fn text_exception(error: &RustTextError, text: &str) -> PyErr {
    let message = match &error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message.clone(),
    };
    let place = |at: u32| {
        let before = text.get(..at as usize).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        (line, before.rsplit('\n').next().unwrap_or("").chars().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (place(error.span.start), place(error.span.end));
    let shown = text.lines().nth(line - 1).unwrap_or("").to_owned();
    TextError::new_err((message, ("<expression>", line, column, shown, end_line, end_column)))
}

/// `?` for results of broadloom.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error))
    }
}
