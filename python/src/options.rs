//! The options of an evaluation, as keywords; and what the engine is, for reports.

use broadloom::{Accuracy, IntDivision, Promotion};
use broadloom::{Engine, Executor, Options, VectorWidth};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The options that keywords stand for; each keyword is removed from the dictionary that is left.
pub fn of_keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    // A number that no option has is an error of its value, as one that this option has not.
    let number = |name: &str, value: &Bound<'_, PyAny>| {
        value.extract::<usize>().map_err(|error| match error.is_instance_of::<PyOverflowError>(value.py()) {
            true => PyValueError::new_err(format!("{name} is out of range")),
            false => error,
        })
    };
    for (name, value) in keywords.into_iter().flat_map(|keywords| keywords.iter()) {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let wrong = |expected: &str| {
            let shown = value.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
            PyValueError::new_err(format!("{name} is {shown}, expected {expected}"))
        };
        match &*name {
            "threads" => {
                let threads = number(&name, &value)?;
                if threads == 0 {
                    return Err(wrong("a number of threads from 1 on"));
                }
                options.threads = Some(threads);
            }
            "executor" => {
                options.executor = match &*value.extract::<String>()? {
                    "auto" => Executor::Auto,
                    "interp" => Executor::Interp,
                    "jit" => Executor::Jit,
                    _ => return Err(wrong("\"auto\", \"interp\" or \"jit\"")),
                }
            }
            "vector_width" => {
                options.vector_width = Some(match number(&name, &value)? {
                    128 => VectorWidth::W128,
                    256 => VectorWidth::W256,
                    512 => VectorWidth::W512,
                    _ => return Err(wrong("128, 256 or 512 bits")),
                });
            }
            "int_division" => {
                options.int_division = match &*value.extract::<String>()? {
                    "zero" => IntDivision::Zero,
                    "error" => IntDivision::Error,
                    _ => return Err(wrong("\"zero\" or \"error\"")),
                }
            }
            "accuracy" => {
                options.accuracy = match &*value.extract::<String>()? {
                    "fast" => Accuracy::Fast,
                    "nearest" => Accuracy::Nearest,
                    _ => return Err(wrong("\"fast\" or \"nearest\"")),
                }
            }
            "contract" => options.contract = value.extract::<bool>()?,
            "promotion" => {
                options.promotion = match &*value.extract::<String>()? {
                    "strict" => Promotion::Strict,
                    "numpy" => Promotion::NumPy,
                    _ => return Err(wrong("\"strict\" or \"numpy\"")),
                }
            }
            "max_bytes" => options.max_bytes = number(&name, &value)?,
            _ => {
                let all =
                    "threads, executor, vector_width, int_division, accuracy, contract, promotion, max_bytes";
                return Err(PyTypeError::new_err(format!("there is no option `{name}`; there are {all}")));
            }
        }
    }
    Ok(options)
}

/// The version of broadloom, the vector width of this CPU in bits, and why there is no compiler, if there is none.
#[pyfunction]
pub fn engine_info() -> (&'static str, u32, Option<String>) {
    let engine = Engine::global();
    let bits = match engine.vector_width() {
        VectorWidth::W128 => 128,
        VectorWidth::W256 => 256,
        VectorWidth::W512 => 512,
    };
    (env!("CARGO_PKG_VERSION"), bits, engine.no_compiler().map(str::to_owned))
}
