//! The options of an evaluation, as keywords; and facts about the engine, for reports.

use broadloom::{Accuracy, IntDivision, Promotion};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broadloom::{Engine, Executor, Options, VectorWidth};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// The process's semantics: those of evaluations that are not given keywords for them.
static NEAREST: AtomicBool = AtomicBool::new(false);
static CONTRACT: AtomicBool = AtomicBool::new(false);

/// The process's rule of promotion: whether operators promote by NumPy's rule if their operands don't say.
static BY_NUMPY: AtomicBool = AtomicBool::new(true);

/// Whether options were ever set for a context.
static HAS_CONTEXTS: AtomicBool = AtomicBool::new(false);

/// Whether the process's rule was ever set to the standard's, or options were set for a context. Before that, calls need not look
/// for what is set.
static IS_ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// Python's context variable, whose value is the options of the current context.
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The options of a context (`contextvars`): of a task or a block of `set_options`, and of all that runs in copies of its
/// context.
#[pyclass(frozen, get_all, module = "broadloom._core")]
#[derive(Clone, Copy)]
pub struct Context {
    /// Whether operators promote by NumPy's rule, whatever the process's rule is.
    pub by_numpy: bool,
    /// The most threads of an evaluation that is given no number of its own.
    pub threads: Option<usize>,
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (by_numpy = false, threads = None))]
    fn new(by_numpy: bool, threads: Option<&Bound<'_, PyAny>>) -> PyResult<Context> {
        let threads = threads.map(number_of_threads).transpose()?;
        HAS_CONTEXTS.store(true, Ordering::Relaxed);
        IS_ASKED_FOR.store(true, Ordering::Relaxed);
        Ok(Context { by_numpy, threads })
    }
}

/// Sets the context variable whose value is a `Context` or None.
#[pyfunction]
pub fn set_context_variable(py: Python<'_>, variable: Py<PyAny>) {
    // A module that is imported again keeps the variable that it had.
    let _ = VARIABLE.set(py, variable);
}

/// The options that hold for a call: those of its context, and the process's rule of promotion.
#[inline(always)]
pub fn current(py: Python<'_>) -> PyResult<Context> {
    // PERF: a short call takes a quarter of a microsecond in all, so that the common case is one load.
    match IS_ASKED_FOR.load(Ordering::Relaxed) {
        true => what_is_set(py),
        false => Ok(Context { by_numpy: true, threads: None }),
    }
}

/// The number of threads that a caller gave as an option.
fn number_of_threads(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let why = || format!("threads is {}, expected a number of threads from 1 on", shown(value));
    match value.extract::<usize>() {
        Ok(0) => Err(PyValueError::new_err(why())),
        Ok(threads) => Ok(threads),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(PyValueError::new_err(why()))
        }
        Err(_) => Err(PyTypeError::new_err(why())),
    }
}

/// A value as error messages show it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string())
}

fn what_is_set(py: Python<'_>) -> PyResult<Context> {
    let by_numpy = BY_NUMPY.load(Ordering::Relaxed);
    if !HAS_CONTEXTS.load(Ordering::Relaxed) {
        return Ok(Context { by_numpy, threads: None });
    }
    let Some(variable) = VARIABLE.get(py) else { return Ok(Context { by_numpy, threads: None }) };
    let value = variable.bind(py).call_method0(intern!(py, "get"))?;
    let of_context = match value.cast_exact::<Context>() {
        Ok(context) => *context.get(),
        Err(_) => Context { by_numpy: false, threads: None },
    };
    Ok(Context { by_numpy: by_numpy || of_context.by_numpy, ..of_context })
}

/// Sets the process's rule of promotion, and returns the previous one.
#[pyfunction]
#[pyo3(signature = (by_numpy = None))]
pub fn set_promotion(by_numpy: Option<bool>) -> bool {
    match by_numpy {
        Some(to) => {
            IS_ASKED_FOR.fetch_or(!to, Ordering::Relaxed);
            BY_NUMPY.swap(to, Ordering::Relaxed)
        }
        None => BY_NUMPY.load(Ordering::Relaxed),
    }
}

/// Sets the process's accuracy and contraction, for evaluations that are not given keywords for them, and returns the previous
/// ones.
#[pyfunction]
#[pyo3(signature = (accuracy = None, contract = None))]
pub fn set_semantics(
    accuracy: Option<&str>,
    contract: Option<&Bound<'_, PyAny>>,
) -> PyResult<(&'static str, bool)> {
    let contract = contract.map(|value| {
        let why = || PyTypeError::new_err(format!("contract is {}, expected True or False", shown(value)));
        value.extract::<bool>().map_err(|_| why())
    });
    let contract = contract.transpose()?;
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

/// The options of an evaluation of arrays: those that keywords give, and for the rest those that are set for the process.
pub fn of_evaluation(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let accuracy = if NEAREST.load(Ordering::Relaxed) { Accuracy::Nearest } else { Accuracy::Fast };
    let contract = CONTRACT.load(Ordering::Relaxed);
    with_keywords(Options { accuracy, contract, ..Options::default() }, keywords)
}

/// The options of a kernel: those that keywords give, and for the rest the defaults.
pub fn of_keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    with_keywords(Options::default(), keywords)
}

fn with_keywords(mut options: Options, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    // A number that is out of an option's range raises ValueError, even if it does not fit into Rust's type.
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
            PyValueError::new_err(format!("{name} is {}, expected {expected}", shown(&value)))
        };
        match &*name {
            "threads" => {
                options.threads = Some(number_of_threads(&value)?);
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

/// The number of threads of evaluations without another limit: that of the environment variable, or the number of processors.
#[pyfunction]
pub fn default_threads() -> usize {
    Engine::default_threads()
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
