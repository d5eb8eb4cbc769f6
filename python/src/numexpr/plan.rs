//! The compiled form of a text: a kernel for each combination of dtypes and ranks that its variables have had.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use broadloom::Literal;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use super::layout::{ResultOrder, axes, broadcast};
use super::scope::Values;
use super::translation::translation;
use crate::dispatch::{Known, Signature, described, signature};
use crate::dtype;
use crate::entry::{Argument, Entry};
use crate::memory::{self, Axes, NumpyMemory};
use crate::repeat::Repeats;
use crate::table::{Shapes, Table};

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

/// The kernel or value built for one signature of arguments.
struct Built {
    key: Signature,
    what: What,
    /// A bit mask over [`CASTINGS`]: the rules that allow the casts of the inputs and of the result.
    allowed: u8,
}

enum What {
    Kernel(Box<Known>),
    /// The value of a text without variables. Each call returns a copy.
    Constant(Py<PyAny>),
}

/// The compiled form of a text. `build(signature, out, threads)` returns an `Entry` for a signature of arguments (or an array, if
/// there are no variables), and a bit mask of the casting rules that allow it. `refuse(signature, casting, out)` raises the
/// exception for a cast that is not allowed.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Plan {
    names: Vec<Py<PyString>>,
    builder: Py<PyAny>,
    is_elementwise: bool,
    built: Table<Built>,
    /// A cache of recent calls.
    repeats: Repeats,
}

/// The converted arguments of a call, and the kernel that was found for them.
pub struct FoundKernel<'py> {
    arguments: SmallVec<[Argument<'py>; 4]>,
    shapes: Shapes,
    built: Arc<Built>,
}

impl Plan {
    /// The names of the text's variables.
    pub fn names(&self) -> &[Py<PyString>] {
        &self.names
    }

    /// Converts the values of variables to arguments, and looks up or builds a kernel for them.
    pub fn find<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyUntypedArray>>,
        rule: usize,
    ) -> PyResult<FoundKernel<'py>> {
        // Conversions run Python code, which may change arrays. All conversions are therefore done before any array's memory is
        // inspected.
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
        // If `out` has an unsupported dtype, NumPy copies the result to it.
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
        Ok(FoundKernel { arguments, shapes, built })
    }

    /// Computes the text with values given in the order of the names.
    pub fn compute<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
        order: ResultOrder,
        rule: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects: SmallVec<[Borrowed<'_, 'py, PyAny>; 4]> =
            values.iter().map(Bound::as_borrowed).collect();
        // Encodes everything besides the values that a cached call depends on.
        let tag = (rule as u64) << 16 | (order as u64) << 8 | u64::from(THREADS.load(Ordering::Relaxed));
        if let Some(made) = self.repeats.run(py, &objects, out, tag) {
            return made;
        }
        let out = out.map(array_of).transpose()?;
        let found = self.find(py, values, out, rule)?;
        let FoundKernel { arguments, shapes, built } = &found;
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
                // A call is not cached if an argument was converted, since the next call would convert again, or if it has an
                // integer that may be too large for numexpr's dtype.
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

/// Whether the argument is an array, or a number that NumPy converts to int64, float64 or bool.
fn is_typed(argument: &Argument<'_>) -> bool {
    !matches!(argument, Argument::Number(Literal::Int(value)) if i64::try_from(*value).is_err())
}

/// The array passed as `out`.
pub fn array_of<'a, 'py>(out: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    out.cast::<PyUntypedArray>().map_err(|_| PyTypeError::new_err("out must be a NumPy array"))
}

/// Lets NumPy copy a result to an array of another shape, dtype or alignment.
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
    /// `names` are the variables, in the order of the kernel's inputs.
    #[new]
    fn new(names: Vec<Py<PyString>>, builder: Py<PyAny>, is_elementwise: bool) -> Plan {
        Plan { names, builder, is_elementwise, built: Table::default(), repeats: Repeats::default() }
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
        self.compute(py, &values, out, ResultOrder::of(order)?, self::casting(casting, SAFE)?)
    }
}
