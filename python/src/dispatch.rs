//! The fast path for a call of a compiled function with NumPy arrays.
//!
//! A [`Dispatch`] first looks for a bound call that fits the arguments. If there is none, it computes the signature of the
//! arguments (dtypes, ranks, and which extents are equal), looks up the entry built for that signature, and binds its kernel. Only
//! for a new signature does it call Python, which builds an entry.

use std::sync::atomic::{AtomicBool, Ordering};

use broadloom::{ErrorKind, Literal};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, intern};
use smallvec::SmallVec;

use crate::bound_call::{BoundCall, Objects};
use crate::dtype;
use crate::entry::{Argument, Entry};
use crate::error::exception;
use crate::memory::changed;
use crate::options::{Context, current};
use crate::table::{CallKey, CallTable, Shapes, Signature};

/// The arguments of a call.
pub type CallArguments = SmallVec<[Argument; 4]>;

/// Computes the signature and the shapes of a call's arguments. An extent of 1 is encoded as 0. The other extents on an axis are
/// numbered in the order in which they first occur: the first is encoded as 1, the next different one as 2. Axes are counted from
/// the right.
pub fn signature(arguments: &[Argument]) -> (Signature, Shapes) {
    let (mut signature, mut shapes) = (Signature::new(), Shapes::new());
    let mut seen: SmallVec<[(usize, usize, u8); 8]> = SmallVec::new();
    for argument in arguments {
        match argument {
            Argument::Number(Literal::Bool(_)) => signature.push(255),
            Argument::Number(Literal::Int(_)) => signature.push(254),
            Argument::Number(Literal::Float(_)) => signature.push(253),
            Argument::Array(memory) => {
                signature.push(memory.dtype as u8);
                signature.push(memory.shape.len() as u8);
                shapes.extend_from_slice(&memory.shape);
                for (position, &extent) in memory.shape.iter().rev().enumerate() {
                    let code = match extent {
                        1 => 0,
                        _ => match seen.iter().find(|(at, of, _)| (*at, *of) == (position, extent)) {
                            Some((_, _, code)) => *code,
                            None => {
                                let others = seen.iter().filter(|(at, _, _)| *at == position).count();
                                let code = (others + 1).min(255) as u8;
                                seen.push((position, extent, code));
                                code
                            }
                        },
                    };
                    signature.push(code);
                }
            }
        }
    }
    (signature, shapes)
}

/// The signature as passed to Python's `_build`: `("array", dtype, dims)` or `("scalar", kind)` per argument.
pub fn described<'py>(
    py: Python<'py>,
    signature: &Signature,
    arguments: &[Argument],
) -> PyResult<Bound<'py, PyTuple>> {
    let mut codes = signature.iter();
    let parts = arguments.iter().map(|argument| {
        codes.next();
        let memory = match argument {
            Argument::Number(Literal::Bool(_)) => return ("scalar", "bool").into_bound_py_any(py),
            Argument::Number(Literal::Int(_)) => return ("scalar", "int").into_bound_py_any(py),
            Argument::Number(Literal::Float(_)) => return ("scalar", "float").into_bound_py_any(py),
            Argument::Array(memory) => memory,
        };
        codes.next();
        let dims = codes.by_ref().take(memory.shape.len()).enumerate().map(|(position, code)| match code {
            0 => 1usize.into_bound_py_any(py),
            1 => format!("d{position}").into_bound_py_any(py),
            _ => format!("d{position}_{}", code - 1).into_bound_py_any(py),
        });
        let dims: Vec<_> = dims.collect::<PyResult<_>>()?;
        let dims = PyTuple::new(py, dims.iter().rev())?;
        ("array", dtype::numpy(py, memory.dtype)?, dims).into_bound_py_any(py)
    });
    PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)
}

/// The key of a kernel besides the signature: the form (a number that Python assigns to each combination of static
/// arguments and keywords; 0 for none), the promotion rule, and the number of threads.
#[derive(Clone, Copy)]
struct Asked {
    form: u32,
    context: Context,
}

impl Asked {
    /// All fields in one number. It is 0 for the most common call: no static arguments, NumPy's promotion, and the default number
    /// of threads.
    #[inline]
    fn tag(self) -> u64 {
        let threads = self.context.threads.map_or(0, |threads| threads.min(1 << 30) as u64);
        u64::from(self.form) << 32 | threads << 1 | u64::from(!self.context.by_numpy)
    }
}

/// The base class of functions that run kernels on NumPy arrays. A subclass defines `_build(signature, shapes) -> Entry`, which
/// is called for new signatures, and `_general(args, kwargs)`, which handles calls with other arguments. `_build` also receives
/// the form, the promotion rule and the number of threads of a call, if one of them is not the default.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Dispatch {
    table: CallTable,
    /// Whether `_general` handles every call.
    is_general: AtomicBool,
}

impl Dispatch {
    /// Looks up the entry for arguments, or builds it.
    fn entry_of<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        arguments: &[Argument],
        by_shape: bool,
    ) -> PyResult<Bound<'py, Entry>> {
        let (py, table, tag) = (slf.py(), &slf.get().table, asked.tag());
        let (signature, shapes) = signature(arguments);
        if let Some(entry) = table.entry(py, tag, &signature, &shapes, by_shape) {
            return Ok(entry);
        }
        let described = described(py, &signature, arguments)?;
        let extents = arguments.iter().filter_map(|argument| match argument {
            Argument::Array(memory) => Some(PyTuple::new(py, &memory.shape)),
            Argument::Number(_) => None,
        });
        let extents = PyList::new(py, extents.collect::<PyResult<Vec<_>>>()?)?;
        let Context { by_numpy, threads } = asked.context;
        let built = match tag {
            _ if by_shape => {
                slf.call_method1("_build", (described, extents, asked.form, by_numpy, threads, true))?
            }
            0 => slf.call_method1("_build", (described, extents))?,
            _ => slf.call_method1("_build", (described, extents, asked.form, by_numpy, threads))?,
        };
        let entry = built.cast_into::<Entry>()?;
        let shapes = entry.get().is_by_shape().then_some(shapes);
        table.insert(CallKey { tag, signature, shapes }, entry.clone().unbind());
        Ok(entry)
    }

    /// Runs a call if all arguments are exact `numpy.ndarray`s or numbers, or else passes it to `general`.
    #[inline(always)]
    fn called<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        general: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let objects: Objects<'_, 'py> = args.iter_borrowed().collect();
        let call = match slf.get().table.call(py, asked.tag(), &objects) {
            Some(call) => call,
            None => match Dispatch::bound(slf, asked, &objects)? {
                Some(call) => call,
                None => return general(),
            },
        };
        let made = call.get().run(py, &objects, out)?;
        call.get().entry().get().rebuilt(py, made)
    }

    /// Binds a kernel to arguments; `None` unless all of them are exact `numpy.ndarray`s or numbers.
    #[cold]
    fn bound<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        objects: &Objects<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, BoundCall>>> {
        let mut arguments = CallArguments::new();
        for object in objects {
            match Argument::of(object)? {
                Some(argument) => arguments.push(argument),
                None => return Ok(None),
            }
        }
        let bind =
            |by_shape| BoundCall::bind(&Dispatch::entry_of(slf, asked, &arguments, by_shape)?, objects);
        let bound = match bind(false)? {
            // The kernel for all extents may refuse an extent of 1 that a kernel built for exactly these shapes broadcasts.
            Err(error) if error.kind() == ErrorKind::Shape => bind(true)?,
            bound => bound,
        };
        let call = bound.map_err(|error| match error.kind() {
            ErrorKind::DType => changed(),
            _ => exception(&error),
        })?;
        slf.get().table.keep(asked.tag(), &call);
        Ok(Some(call))
    }
}

#[pymethods]
impl Dispatch {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Dispatch {
        Dispatch { table: CallTable::default(), is_general: AtomicBool::new(false) }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let general = || slf.call_method1("_general", (args, kwargs));
        if slf.get().is_general.load(Ordering::Relaxed) {
            return general();
        }
        let mut out = None;
        if let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) {
            out = kwargs.get_item(intern!(py, "out"))?;
            if out.is_none() || kwargs.len() > 1 {
                return general();
            }
        }
        Dispatch::called(slf, Asked { form: 0, context: current(py)? }, args, out.as_ref(), general)
    }

    /// Makes `_general` handle every call, which functions with static arguments need.
    fn _see_all(&self) {
        self.is_general.store(true, Ordering::Relaxed);
    }

    /// Runs a call whose static arguments are encoded in `form`, with the remaining arguments. NumPy's promotion applies if
    /// `by_numpy` is set or it is the current rule.
    #[pyo3(signature = (form, by_numpy, args, out = None))]
    fn _call<'py>(
        slf: &Bound<'py, Self>,
        form: u32,
        by_numpy: bool,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asked = Asked { form, context: with_rule(by_numpy, current(slf.py())?) };
        Dispatch::called(slf, asked, args, out, || Err(PyTypeError::new_err(NOT_OURS)))
    }

    /// Looks up the entry for these arguments, or builds it, without running the kernel.
    #[pyo3(signature = (*args, form = 0, by_numpy = false))]
    fn entry<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        form: u32,
        by_numpy: bool,
    ) -> PyResult<Bound<'py, Entry>> {
        let argument =
            |object: Bound<'py, PyAny>| Argument::of(&object)?.ok_or_else(|| PyTypeError::new_err(NOT_OURS));
        let arguments: CallArguments = args.iter().map(argument).collect::<PyResult<_>>()?;
        let asked = Asked { form, context: with_rule(by_numpy, current(slf.py())?) };
        Dispatch::entry_of(slf, asked, &arguments, false)
    }

    /// The entries built so far, oldest first.
    fn entries(&self, py: Python<'_>) -> Vec<Py<Entry>> {
        self.table.entries(py)
    }
}

const NOT_OURS: &str = "expected arrays of NumPy's and numbers";

fn with_rule(by_numpy: bool, context: Context) -> Context {
    Context { by_numpy: by_numpy || context.by_numpy, ..context }
}
