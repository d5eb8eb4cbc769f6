//! Plans, which are kept for texts: a kernel for each pattern of dtypes and ranks that its variables had.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use broadloom::Literal;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use super::layout::{Order, axes, broadcast};
use super::scope::Values;
use super::translation::translation;
use crate::dispatch::{Known, Signature, described, signature};
use crate::dtype;
use crate::entry::{Argument, Entry};
use crate::memory::{self, Axes, NumpyMemory};
use crate::repeat::Repeats;
use crate::table::{Shapes, Table};

/// How many threads the kernels of `broadloom.numexpr` are built for.
static THREADS: AtomicU8 = AtomicU8::new(1);

/// Sets how many threads `broadloom.numexpr` computes with, and returns how many there were.
#[pyfunction]
pub fn numexpr_threads(threads: u8) -> u8 {
    THREADS.swap(threads, Ordering::Relaxed)
}

/// The names of NumPy's rules for casts, the strictest first.
const CASTINGS: [&str; 5] = ["no", "equiv", "safe", "same_kind", "unsafe"];

/// The number in [`CASTINGS`] of the rule that a caller gave.
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

/// The rule of casting that `validate` and compiled expressions use by default.
pub const SAFE: usize = 2;
/// The rule of casting that `evaluate` uses by default.
pub const SAME_KIND: usize = 3;

/// The part of a plan for arguments of one pattern of dtypes and ranks.
struct Built {
    key: Signature,
    what: What,
    /// A bit for each rule of [`CASTINGS`]: it is set if the rule allows the casts of the inputs and of the result.
    allowed: u8,
}

enum What {
    Kernel(Box<Known>),
    /// The value of a text without variables; each call gets a copy.
    Constant(Py<PyAny>),
}

/// A text's kernels and the means of building more. For a pattern of arguments, Python's `build(signature, out, threads)` returns
/// an `Entry` (or an array, if there are no variables), and a bit for each rule of casting that allows the casts.
/// `refuse(signature, casting, out)` raises the exception for a rule that does not allow them.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Plan {
    names: Vec<Py<PyString>>,
    builder: Py<PyAny>,
    is_elementwise: bool,
    built: Table<Built>,
    /// The last calls, which are kept to answer calls like them.
    repeats: Repeats,
}

/// The arguments of a call, and the kernel that was found for them.
pub struct Found<'py> {
    arguments: SmallVec<[Argument<'py>; 4]>,
    shapes: Shapes,
    built: Arc<Built>,
}

impl Plan {
    /// The names of the text's variables.
    pub fn names(&self) -> &[Py<PyString>] {
        &self.names
    }

    /// The arguments that are made of the variables' values, and what is built for their pattern.
    pub fn find<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyUntypedArray>>,
        rule: usize,
    ) -> PyResult<Found<'py>> {
        // Conversions run Python code, which may change arrays: all conversions are done before the arrays' memory is looked at.
        let converted = values.iter().map(|value| match Argument::of(value) {
            Ok(Some(argument)) if is_typed(&argument) => Ok(value.clone()),
            _ => translation(py, "as_operand")?.call1((value, CASTINGS[rule])),
        });
        let converted: Values<'py> = converted.collect::<PyResult<_>>()?;
        let arguments = converted.iter().map(|value| {
            Argument::of(value)?.ok_or_else(|| PyTypeError::new_err("a variable can't be made an array"))
        });
        let arguments: SmallVec<[Argument<'py>; 4]> = arguments.collect::<PyResult<_>>()?;
        let (mut key, shapes) = signature(&arguments);
        // If the dtype of `out` is not one of broadloom's, NumPy copies the result to it.
        let target = out
            .and_then(|out| dtype::of_descriptor(&out.dtype()))
            .filter(|(_, native)| *native)
            .map(|(of, _)| of);
        key.push(target.map_or(255, |dtype| dtype as u8));
        let threads = THREADS.load(Ordering::Relaxed);
        key.push(threads);
        let known = self.built.find(|built| built.key == key);
        let target = || target.map(|dtype| dtype::numpy(py, dtype)).transpose();
        let built = match known {
            Some(built) => built,
            None => {
                if self.is_elementwise {
                    broadcast(&arguments)?;
                }
                let pattern = described(py, &key, &arguments)?;
                let made = self.builder.bind(py).call_method1("build", (pattern, target()?, threads))?;
                let (what, allowed) = made.extract::<(Bound<'py, PyAny>, u8)>()?;
                let what = match what.cast_into::<Entry>() {
                    Ok(entry) => What::Kernel(Box::new(Known::new(0, key.clone(), None, entry.unbind()))),
                    Err(other) => What::Constant(other.into_inner().unbind()),
                };
                self.built.insert(Built { key, what, allowed })
            }
        };
        if built.allowed & (1 << rule) == 0 {
            let pattern = described(py, &built.key, &arguments)?;
            self.builder.bind(py).call_method1("refuse", (pattern, CASTINGS[rule], target()?))?;
        }
        Ok(Found { arguments, shapes, built })
    }

    /// Evaluates the text with values in the order of the names.
    pub fn compute<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
        order: Order,
        rule: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects: SmallVec<[Borrowed<'_, 'py, PyAny>; 4]> =
            values.iter().map(Bound::as_borrowed).collect();
        // The call's requests beside its values, as one number.
        let tag = (rule as u64) << 16 | (order as u64) << 8 | u64::from(THREADS.load(Ordering::Relaxed));
        if let Some(made) = self.repeats.run(py, &objects, out, tag) {
            return made;
        }
        let out = out.map(array_of).transpose()?;
        let found = self.find(py, values, out, rule)?;
        let Found { arguments, shapes, built } = &found;
        let known = match &built.what {
            What::Kernel(known) => known,
            What::Constant(value) => {
                let value = value.bind(py);
                return match out {
                    Some(out) => copy_to(out, value, rule),
                    None => value.call_method0("copy"),
                };
            }
        };
        let run =
            |out: Option<&Bound<'py, PyAny>>| known.run(py, arguments, shapes, &PyTuple::empty(py), out);
        if let Some(out) = out {
            let is_direct = self.is_elementwise
                && broadcast(arguments)?[..] == *out.shape()
                && NumpyMemory::of(out).is_ok_and(|memory| memory.is_writeable);
            return match is_direct {
                true => run(Some(out.as_any())).map(|_| out.clone().into_any()),
                false => copy_to(out, &run(None)?, rule),
            };
        }
        match self.is_elementwise.then(|| axes(arguments, order)).flatten() {
            None => {
                let (made, call) = known.results(py, arguments, shapes, &PyTuple::empty(py), None)?;
                // A call is kept only if its arguments are the values themselves: an argument that was converted is not that of
                // the next call, and an int may be too large for numexpr's dtype the next time.
                let is_as_given = |(value, argument): (&Bound<'py, PyAny>, &Argument<'py>)| match argument {
                    Argument::Number(number) => !matches!(number, Literal::Int(_)),
                    Argument::Array(array, _) => array.is(value),
                };
                if values.iter().zip(arguments).all(is_as_given) {
                    self.repeats.keep(py, known.entry(), &call, &objects, arguments, tag)?;
                }
                known.entry().get().rebuilt(py, made)
            }
            Some(axes) => {
                let extents = broadcast(arguments)?;
                let permuted: Axes<usize> = axes.iter().map(|&axis| extents[axis]).collect();
                let Some(port) = known.entry().get().compiled().outputs().first() else { return run(None) };
                let made = memory::new(py, port.dtype, &permuted)?;
                let mut back: Axes<usize> = axes.clone();
                for (at, &axis) in axes.iter().enumerate() {
                    back[axis] = at;
                }
                let made = made.call_method1("transpose", PyTuple::new(py, back)?)?;
                run(Some(&made))?;
                Ok(made)
            }
        }
    }
}

/// Whether NumPy makes an int64, a float64 or a bool of a number.
fn is_typed(argument: &Argument<'_>) -> bool {
    !matches!(argument, Argument::Number(Literal::Int(value)) if i64::try_from(*value).is_err())
}

/// The NumPy array that a caller gave as `out`.
pub fn array_of<'a, 'py>(out: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    out.cast::<PyUntypedArray>().map_err(|_| PyTypeError::new_err("out must be a NumPy array"))
}

/// Has NumPy copy a result to an array of another shape, dtype or alignment.
fn copy_to<'py>(
    out: &Bound<'py, PyUntypedArray>,
    result: &Bound<'py, PyAny>,
    rule: usize,
) -> PyResult<Bound<'py, PyAny>> {
    translation(out.py(), "copy_to")?.call1((out, result, CASTINGS[rule]))?;
    Ok(out.clone().into_any())
}

#[pymethods]
impl Plan {
    /// Makes a plan. `names` are those of the variables, in the order of the kernels' inputs.
    #[new]
    fn new(names: Vec<Py<PyString>>, builder: Py<PyAny>, is_elementwise: bool) -> Plan {
        Plan { names, builder, is_elementwise, built: Table::default(), repeats: Repeats::default() }
    }

    /// Evaluates the text with values in the order of the names.
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
        self.compute(py, &values, out, Order::of(order)?, self::casting(casting, SAFE)?)
    }
}
