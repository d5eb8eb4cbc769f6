//! Converts errors to Python exceptions: one class per kind of error, from `broadloom._errors`, with broadloom's message.
//! Attributes name the operation, operands and axes that the error is about.

use std::borrow::Cow;

use broadloom::text::TextError;
use broadloom::{Array, Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyTuple};

use crate::dtype;

/// The exception class with this name.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("broadloom._errors").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// The name of the exception class for a kind of error.
fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::DType => "DTypeError",
        ErrorKind::Arity => "ArityError",
        ErrorKind::Shape => "ShapeError",
        ErrorKind::Literal => "LiteralError",
        ErrorKind::Name => "UnknownNameError",
        ErrorKind::Syntax => "TextError",
        ErrorKind::ZeroDivision => "DivisionError",
        ErrorKind::Index => "RangeError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Memory => "LayoutError",
        ErrorKind::Host => "HostError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::TimeLimit => "TimeLimitError",
        ErrorKind::Derivative => "DerivativeError",
        ErrorKind::Io => "FileError",
        // A kind of error that has no class here is a bug in broadloom too.
        _ => "InternalError",
    }
}

/// The failed operation and its operands, for the attributes of an exception.
#[derive(Default)]
pub struct About<'a, 'b> {
    /// The name of the function or reduction.
    pub operation: Option<&'a str>,
    /// The operands of the operation.
    pub operands: &'a [Array<'b>],
    /// The requested axes.
    pub axes: Option<&'a [isize]>,
}

/// The exception for an error.
pub fn exception(error: &Error) -> PyErr {
    exception_about(error, &About::default())
}

/// The exception for an error, with attributes that describe the failed operation.
pub fn exception_about(error: &Error, about: &About<'_, '_>) -> PyErr {
    Python::attach(|py| made(py, error, about).unwrap_or_else(|failed| failed))
}

fn made(py: Python<'_>, error: &Error, about: &About<'_, '_>) -> PyResult<PyErr> {
    let value = class(py, class_of(error.kind()))?.call1((in_python(&error.to_string()),))?;
    if let Some(help) = error.help() {
        value.setattr("help", in_python(help))?;
    }
    if let (Some(line), Some(column)) = (error.line(), error.column()) {
        value.setattr("place", (line, column))?;
    }
    if let Some(operation) = about.operation {
        value.setattr("operation", operation)?;
    }
    if !about.operands.is_empty() {
        let operands = about.operands.iter().map(|operand| described(py, operand));
        value.setattr("operands", PyTuple::new(py, operands.collect::<PyResult<Vec<_>>>()?)?)?;
    }
    match about.axes {
        Some([axis]) => value.setattr("axis", axis)?,
        Some(axes) => value.setattr("axis", PyTuple::new(py, axes)?)?,
        None => {}
    }
    Ok(PyErr::from_value(value))
}

/// Replaces the engine's spelling of the promotion option in a message by Python's spelling for arrays.
fn in_python(message: &str) -> Cow<'_, str> {
    let mut shown = Cow::from(message);
    let huge = [i128::MIN, i128::MAX].map(|value| format!("{value} cannot be"));
    let [low, high] = &huge;
    for (from, to) in [
        (OPTION, "(set_options(promotion=\"numpy\"))"),
        (low, "an integer of 128 bits or more cannot be"),
        (high, "an integer of 128 bits or more cannot be"),
    ] {
        if shown.contains(from) {
            shown = shown.replace(from, to).into();
        }
    }
    shown
}

/// The promotion option as the engine's messages spell it.
const OPTION: &str = "(promotion=numpy)";

/// The dtype and the shape of an operand, as a tuple.
fn described<'py>(py: Python<'py>, array: &Array<'_>) -> PyResult<Bound<'py, PyAny>> {
    let shape = match array.dims() {
        None => PyTuple::new(py, array.shape())?,
        Some(dims) => {
            let dims = dims.iter().map(|dim| match dim {
                broadloom::Dim::Fixed(extent) => Ok(extent.into_pyobject(py)?.into_any()),
                name => Ok(name.to_string().into_pyobject(py)?.into_any()),
            });
            PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?
        }
    };
    Ok((dtype::numpy(py, array.dtype())?, shape).into_pyobject(py)?.into_any())
}

/// The exception for a request for values of an expression that depends on a kernel's input.
pub fn no_values(py: Python<'_>, message: &str) -> PyErr {
    let value = class(py, "NoValuesError").and_then(|class| class.call1((message,)));
    value.map_or_else(|failed| failed, PyErr::from_value)
}

/// The exception for an error in a text. Lines and columns count from 1, in characters, as `SyntaxError` requires.
pub fn text_exception(error: &TextError, text: &str) -> PyErr {
    // In a text, the promotion option is a keyword of the function that compiles the text.
    let keyword = |words: &str| words.replace(OPTION, "(promotion=\"numpy\")");
    let help = error.help.as_deref().map(keyword);
    let message = match &help {
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
    Python::attach(|py| {
        let made = || {
            let place = ("<expression>", line, column, shown, end_line, end_column);
            let value = class(py, "TextError")?.call1((message, place))?;
            value.setattr("place", (line, column))?;
            if let Some(help) = &help {
                value.setattr("help", help)?;
            }
            Ok::<_, PyErr>(PyErr::from_value(value))
        };
        made().unwrap_or_else(|failed| failed)
    })
}

/// Converts an engine error to a Python exception, so that `?` can be used.
pub trait OrRaise<T> {
    /// Returns the value, or the error as an exception.
    fn or_raise(self) -> PyResult<T>;

    /// Returns the value, or the error as an exception with attributes that describe the failed operation.
    fn or_raise_about(self, about: &About<'_, '_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error))
    }

    fn or_raise_about(self, about: &About<'_, '_>) -> PyResult<T> {
        self.map_err(|error| exception_about(&error, about))
    }
}
