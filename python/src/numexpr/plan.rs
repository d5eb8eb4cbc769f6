//! The compiled form of a text: a kernel for each combination of dtypes and ranks that its variables have had.

use std::sync::atomic::{AtomicU8, Ordering};

use broadloom::DType;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

use super::layout::{ResultOrder, axes, check_broadcast};
use super::scope::Values;
use super::translation::translation;
use crate::bound_call::{BoundCall, Objects};
use crate::dispatch::{CallArguments, described, signature};
use crate::dtype;
use crate::entry::{Argument, Entry, first};
use crate::error::OrRaise;
use crate::memory::{self, Axes, NumpyMemory};
use crate::table::{CallKey, CallTable};

/// The number of threads that kernels are built for.
static THREADS: AtomicU8 = AtomicU8::new(1);

/// Sets the number of threads that `broadloom.numexpr` computes with, and returns the previous number.
#[pyfunction]
pub fn numexpr_threads(threads: u8) -> u8 {
    THREADS.swap(threads, Ordering::Relaxed)
}

/// NumPy's casting rules, strictest first.
const CASTINGS: [&str; 5] = ["no", "equiv", "safe", "same_kind", "unsafe"];

/// The index of a casting rule in [`CASTINGS`].
pub fn casting(given: Option<&Bound<'_, PyAny>>, default: usize) -> PyResult<usize> {
    let Some(given) = given else { return Ok(default) };
    let Ok(name) = given.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("casting must be str, not {}", given.get_type().name()?)));
    };
    let name = name.to_str()?;
    CASTINGS.iter().position(|of| *of == name).ok_or_else(|| {
        let shown = given.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!(
            "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got {shown})"
        ))
    })
}

/// The casting rule of `validate` and of compiled expressions.
pub const SAFE: usize = 2;
/// The casting rule of `evaluate`.
pub const SAME_KIND: usize = 3;

/// The compiled form of a text. `build(signature, out, threads, casting)` returns an `Entry` for a signature of arguments, or
/// raises the exception for a cast that is not allowed.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Plan {
    names: Vec<Py<PyString>>,
    builder: Py<PyAny>,
    is_elementwise: bool,
    table: CallTable,
}

impl Plan {
    /// The names of the text's variables.
    pub fn names(&self) -> &[Py<PyString>] {
        &self.names
    }

    /// Converts values to arrays and numbers, and returns a bound call that fits them. If there is none, a kernel is bound to
    /// them.
    fn bound<'py>(
        &self,
        py: Python<'py>,
        values: &mut Values<'py>,
        target: ResultTarget,
    ) -> PyResult<Bound<'py, BoundCall>> {
        let tag = target.tag();
        // Conversions run Python code, which may change arrays. All conversions are therefore done before any array's memory is
        // inspected.
        for value in values.iter_mut() {
            if is_huge(value) || Argument::of(value)?.is_none() {
                *value = translation(py, "as_operand")?.call1((&*value, CASTINGS[target.rule]))?;
            }
        }
        let objects = objects(values);
        if let Some(call) = self.table.call(py, tag, &objects) {
            return Ok(call);
        }
        let arguments = values.iter().map(|value| {
            Argument::of(value)?.ok_or_else(|| PyTypeError::new_err("a variable can't be made an array"))
        });
        let arguments: CallArguments = arguments.collect::<PyResult<_>>()?;
        let (signature, shapes) = signature(&arguments);
        let entry = match self.table.entry(py, tag, &signature, &shapes, false) {
            Some(entry) => entry,
            None => {
                if self.is_elementwise {
                    check_broadcast(arguments.iter().filter_map(|argument| match argument {
                        Argument::Array(memory) => Some(memory),
                        Argument::Number(_) => None,
                    }))?;
                }
                let pattern = described(py, &signature, &arguments)?;
                let dtype = target.dtype.map(|dtype| dtype::numpy(py, dtype)).transpose()?;
                let given = (pattern, dtype, target.threads, CASTINGS[target.rule]);
                let entry = self.builder.bind(py).call_method1("build", given)?.cast_into::<Entry>()?;
                self.table.insert(CallKey { tag, signature, shapes: None }, entry.clone().unbind());
                entry
            }
        };
        let call = BoundCall::bind(&entry, &objects)?.or_raise()?;
        self.table.keep(tag, &call);
        Ok(call)
    }

    /// Raises the exception that `compute` would raise before it runs a kernel.
    pub fn check<'py>(
        &self,
        py: Python<'py>,
        mut values: Values<'py>,
        out: Option<&Bound<'py, PyAny>>,
        rule: usize,
    ) -> PyResult<()> {
        self.bound(py, &mut values, ResultTarget::of(out.map(array_of).transpose()?, rule)).map(drop)
    }

    /// Computes the text with values given in the order of the names.
    pub fn compute<'py>(
        &self,
        py: Python<'py>,
        mut values: Values<'py>,
        out: Option<&Bound<'py, PyAny>>,
        order: ResultOrder,
        rule: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let out = out.map(array_of).transpose()?;
        let target = ResultTarget::of(out, rule);
        let call = match values.iter().any(is_huge) {
            true => None,
            false => self.table.call(py, target.tag(), &objects(&values)),
        };
        let call = match call {
            Some(call) => call,
            None => self.bound(py, &mut values, target)?,
        };
        let call = call.get();
        let run = |out: Option<&Bound<'py, PyAny>>| call.run(py, &objects(&values), out).and_then(first);
        let (dtype, shape) = call.first_result()?;
        if let Some(out) = out {
            let is_direct = self.is_elementwise
                && *shape == *out.shape()
                && NumpyMemory::of(out).is_ok_and(|memory| memory.is_writeable && memory.dtype == dtype);
            return match is_direct {
                true => run(Some(out)).map(Bound::into_any),
                false => copy_to(out, &run(None)?, rule),
            };
        }
        let is_ordered = shape.len() > 1 && self.is_elementwise;
        match is_ordered.then(|| axes(call.layouts(), shape.len(), order)).flatten() {
            None => run(None).map(Bound::into_any),
            Some(axes) => {
                let permuted: Axes<usize> = axes.iter().map(|&axis| shape[axis]).collect();
                let made = memory::new(py, dtype, &permuted)?;
                let mut back: Axes<usize> = axes.clone();
                for (at, &axis) in axes.iter().enumerate() {
                    back[axis] = at;
                }
                let made = made.call_method1("transpose", PyTuple::new(py, back)?)?;
                run(Some(&made)).map(Bound::into_any)
            }
        }
    }
}

/// The properties of a call that a kernel is built for, besides its arguments.
#[derive(Clone, Copy)]
struct ResultTarget {
    /// The dtype of `out`. If it is unsupported, NumPy copies the result to `out`.
    dtype: Option<DType>,
    rule: usize,
    threads: u8,
}

impl ResultTarget {
    fn of(out: Option<&Bound<'_, PyUntypedArray>>, rule: usize) -> ResultTarget {
        let dtype = out.and_then(|out| dtype::of_descriptor(&out.dtype()));
        let dtype = dtype.filter(|(_, is_native)| *is_native).map(|(dtype, _)| dtype);
        ResultTarget { dtype, rule, threads: THREADS.load(Ordering::Relaxed) }
    }

    fn tag(self) -> u64 {
        let dtype = self.dtype.map_or(255, |dtype| dtype as u64);
        dtype << 16 | (self.rule as u64) << 8 | u64::from(self.threads)
    }
}

fn objects<'a, 'py>(values: &'a Values<'py>) -> Objects<'a, 'py> {
    values.iter().map(Bound::as_borrowed).collect()
}

/// Whether the value is a Python integer that NumPy does not convert to int64.
fn is_huge(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>() && value.extract::<i64>().is_err()
}

/// The array passed as `out`.
pub fn array_of<'a, 'py>(out: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    out.cast::<PyUntypedArray>().map_err(|_| PyTypeError::new_err("out must be a NumPy array"))
}

/// Lets NumPy copy a result to an array of another shape, dtype or alignment.
fn copy_to<'py>(
    out: &Bound<'py, PyUntypedArray>,
    result: &Bound<'py, PyUntypedArray>,
    rule: usize,
) -> PyResult<Bound<'py, PyAny>> {
    translation(out.py(), "copy_to")?.call1((out, result, CASTINGS[rule]))?;
    Ok(out.clone().into_any())
}

#[pymethods]
impl Plan {
    /// `names` are the variables, in the order of the kernel's inputs.
    #[new]
    fn new(names: Vec<Py<PyString>>, builder: Py<PyAny>, is_elementwise: bool) -> Plan {
        Plan { names, builder, is_elementwise, table: CallTable::default() }
    }

    /// Runs on values given in the order of the names.
    #[pyo3(signature = (values, out = None, order = None, casting = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        order: Option<&Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if values.len() != self.names.len() {
            return Err(PyValueError::new_err(format!(
                "number of inputs doesn't match program: there are {} inputs, {} values were given",
                self.names.len(),
                values.len()
            )));
        }
        let values: Values<'py> = values.iter().collect();
        self.compute(py, values, out, ResultOrder::of(order)?, self::casting(casting, SAFE)?)
    }
}
