//! The options of an evaluation, given as keywords, and information about the engine for reports.

use broadloom::{Accuracy, IntDivision, Promotion};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broadloom::{Engine, Executor, Options, VectorWidth};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// The process-wide default of the option `accuracy`: whether it is `nearest`.
static NEAREST: AtomicBool = AtomicBool::new(false);
static CONTRACT: AtomicBool = AtomicBool::new(false);

/// The process-wide promotion rule, for operators whose operands don't determine one: whether it is NumPy's.
static BY_NUMPY: AtomicBool = AtomicBool::new(true);

/// Whether a `Context` was ever created.
static HAS_CONTEXTS: AtomicBool = AtomicBool::new(false);

/// Whether the process-wide rule was ever set to the standard's, or a `Context` created. Until then, calls skip looking up
/// options.
static IS_ASKED_FOR: AtomicBool = AtomicBool::new(false);

/// The Python context variable that holds the options of the current context.
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The options of a Python context (`contextvars`), which are set for a task or within a block of `set_options`, and inherited by
/// copies of the context.
#[pyclass(frozen, get_all, module = "broadloom._core")]
#[derive(Clone, Copy)]
pub struct Context {
    /// Whether operators use NumPy's promotion, regardless of the process-wide rule.
    pub by_numpy: bool,
    /// The maximum number of threads of an evaluation that does not specify one.
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

/// Sets the context variable, whose value is a `Context` or None.
#[pyfunction]
pub fn set_context_variable(py: Python<'_>, variable: Py<PyAny>) {
    // If the module is imported a second time, the first variable is kept.
    let _ = VARIABLE.set(py, variable);
}

/// The current options: the options of the context, combined with the process-wide promotion rule.
#[inline(always)]
pub fn current(py: Python<'_>) -> PyResult<Context> {
    // PERF: a short call takes only 0.25 µs, so the lookup is skipped unless an option was ever set.
    match IS_ASKED_FOR.load(Ordering::Relaxed) {
        true => what_is_set(py),
        false => Ok(Context { by_numpy: true, threads: None }),
    }
}

/// The promotion rule: NumPy's or the standard's.
pub fn rule(by_numpy: bool) -> Promotion {
    if by_numpy { Promotion::NumPy } else { Promotion::Strict }
}

/// Parses the value of an option that is a number of threads.
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

/// A value as shown in an error message.
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

/// Sets the process-wide promotion rule, and returns the previous one.
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

/// Sets the process-wide defaults of `accuracy` and `contract`, and returns the previous ones.
#[pyfunction]
#[pyo3(signature = (accuracy = None, contract = None))]
pub fn set_semantics(
    accuracy: Option<&Bound<'_, PyAny>>,
    contract: Option<&Bound<'_, PyAny>>,
) -> PyResult<(&'static str, bool)> {
    let contract = contract.map(|value| {
        let why = || PyTypeError::new_err(format!("contract is {}, expected True or False", shown(value)));
        value.extract::<bool>().map_err(|_| why())
    });
    let contract = contract.transpose()?;
    let accuracy = accuracy.map(|value| one_of("accuracy", value, &accuracies())).transpose()?;
    let exchange = |of: &AtomicBool, to: Option<bool>| match to {
        Some(to) => of.swap(to, Ordering::Relaxed),
        None => of.load(Ordering::Relaxed),
    };
    let is_nearest = exchange(&NEAREST, accuracy.map(|accuracy| accuracy == Accuracy::Nearest));
    let before = if is_nearest { Accuracy::Nearest } else { Accuracy::Fast };
    Ok((before.name(), exchange(&CONTRACT, contract)))
}

/// The options of an evaluation of arrays: the keywords, with the process-wide defaults for the options that are not given.
pub fn of_evaluation(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let accuracy = if NEAREST.load(Ordering::Relaxed) { Accuracy::Nearest } else { Accuracy::Fast };
    let contract = CONTRACT.load(Ordering::Relaxed);
    with_keywords(Options { accuracy, contract, ..Options::default() }, keywords)
}

/// The options of a kernel: the keywords, with built-in defaults for the options that are not given.
pub fn of_keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    with_keywords(Options::default(), keywords)
}

/// The accuracies by their names.
fn accuracies() -> [(&'static str, Accuracy); 2] {
    Accuracy::ALL.map(|accuracy| (accuracy.name(), accuracy))
}

/// Looks up the value of an option by its name.
fn one_of<T: Copy>(option: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let name = value.extract::<String>()?;
    known.iter().find(|(of, _)| *of == name).map(|(_, of)| *of).ok_or_else(|| {
        let mut names: Vec<String> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
        let last = names.pop().unwrap_or_default();
        let expected = format!("{} or {last}", names.join(", "));
        PyValueError::new_err(format!("{option} is {}, expected {expected}", shown(value)))
    })
}

fn with_keywords(mut options: Options, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    // An integer too large for any option raises ValueError, as one that is out of the range of this option.
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
            "threads" => options.threads = Some(number_of_threads(&value)?),
            "executor" => {
                let known = [("auto", Executor::Auto), ("interp", Executor::Interp), ("jit", Executor::Jit)];
                options.executor = one_of(&name, &value, &known)?;
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
                let known = [("zero", IntDivision::Zero), ("error", IntDivision::Error)];
                options.int_division = one_of(&name, &value, &known)?;
            }
            "accuracy" => options.accuracy = one_of(&name, &value, &accuracies())?,
            "contract" => options.contract = value.extract::<bool>()?,
            "promotion" => {
                let known = [("strict", Promotion::Strict), ("numpy", Promotion::NumPy)];
                options.promotion = one_of(&name, &value, &known)?;
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

/// The default number of threads, from the environment variable or the number of processors.
#[pyfunction]
pub fn default_threads() -> usize {
    Engine::default_threads()
}

/// The version of broadloom, the vector width of this CPU in bits, and, if machine code is unavailable, the reason.
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
