//! The options of an evaluation, as keywords; and what the engine is, for reports.

use broadloom::{Accuracy, IntDivision, Promotion};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broadloom::{Engine, Executor, Options, VectorWidth};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What evaluations of arrays mean without keywords that say so: the process's.
static NEAREST: AtomicBool = AtomicBool::new(false);
static CONTRACT: AtomicBool = AtomicBool::new(false);

/// Sets what evaluations of arrays mean that are not told by keywords, and gives what it was: accuracy, and contraction.
#[pyfunction]
#[pyo3(signature = (accuracy = None, contract = None))]
pub fn set_semantics(accuracy: Option<&str>, contract: Option<bool>) -> PyResult<(&'static str, bool)> {
    let is_nearest = match accuracy {
        None => None,
        Some("fast") => Some(false),
        Some("nearest") => Some(true),
        Some(other) => {
            let why = format!("accuracy is {other:?}, expected \"fast\" or \"nearest\"");
            return Err(PyValueError::new_err(why));
        }
    };
    let exchange = |of: &AtomicBool, to: Option<bool>| match to {
        Some(to) => of.swap(to, Ordering::Relaxed),
        None => of.load(Ordering::Relaxed),
    };
    let before = (exchange(&NEAREST, is_nearest), exchange(&CONTRACT, contract));
    Ok((if before.0 { "nearest" } else { "fast" }, before.1))
}

/// The options of an evaluation of arrays: the keywords', and else those that are set for the process.
pub fn of_evaluation(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let accuracy = if NEAREST.load(Ordering::Relaxed) { Accuracy::Nearest } else { Accuracy::Fast };
    let contract = CONTRACT.load(Ordering::Relaxed);
    with_keywords(Options { accuracy, contract, ..Options::default() }, keywords)
}

/// The options of a kernel: the keywords', and else the defaults.
pub fn of_keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    with_keywords(Options::default(), keywords)
}

fn with_keywords(mut options: Options, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
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
            "max_time" => {
                let limit = Duration::try_from_secs_f64(value.extract::<f64>()?);
                options.max_time = Some(limit.map_err(|_| wrong("a number of seconds"))?);
            }
            _ => {
                let all = "threads, executor, vector_width, int_division, accuracy, contract, promotion, max_bytes, max_time";
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
