//! What runs a call: the arguments that it has, and the entry that says what becomes of them.

use broadloom::Literal;
use numpy::PyUntypedArray;
use numpy::npyffi;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};

use crate::kernel::{Kernel, Results};
use crate::memory::NumpyMemory;
use crate::number::number;

/// An argument of a call.
pub enum Argument<'py> {
    /// An array, and its memory, which it keeps alive.
    Array(Bound<'py, PyUntypedArray>, NumpyMemory),
    /// A number of Python's.
    Number(Literal),
}

impl<'py> Argument<'py> {
    /// An array of NumPy's own class or a number; `None` for anything else, which Python has to make one of these first.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Argument<'py>>> {
        // SAFETY: the pointer is of a live object.
        if unsafe { npyffi::PyArray_CheckExact(object.py(), object.as_ptr()) } != 0 {
            let array = object.cast::<PyUntypedArray>()?.clone();
            return Ok(NumpyMemory::of(&array).ok().map(|memory| Argument::Array(array, memory)));
        }
        let is_number = object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyBool>();
        Ok(if is_number { Some(Argument::Number(number(object)?)) } else { None })
    }
}

/// The shapes of the arguments that are arrays.
pub fn shapes_of<'a>(arguments: &'a [Argument<'_>]) -> impl Iterator<Item = &'a [usize]> + Clone {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Array(_, memory) => Some(&memory.shape[..]),
        Argument::Number(_) => None,
    })
}

/// Where an input of a kernel comes from.
pub enum Source {
    /// The argument of this number.
    Argument(usize),
    /// A function of all arguments, which gives a number.
    Computed(Py<PyAny>),
}

/// A kernel for a signature, and how its inputs and results hang together with arguments and what is returned.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Entry {
    kernel: Py<Kernel>,
    sources: Vec<Source>,
    rebuild: Option<Py<PyAny>>,
    by_shape: bool,
    /// Arrays that are inputs at each call, numbered after the arguments.
    captured: Vec<Py<PyAny>>,
}

#[pymethods]
impl Entry {
    /// `sources` has, for each input of the kernel, the number of an argument, or a function of all arguments that gives a number;
    /// `rebuild` makes what is returned of a list of results, and None is for one result; `by_shape` says that the kernel was
    /// built for these extents only; `captured` are arrays of NumPy's that count as further arguments of each call.
    #[new]
    #[pyo3(signature = (kernel, sources, rebuild = None, by_shape = false, captured = Vec::new()))]
    fn new(
        kernel: Py<Kernel>,
        sources: Vec<Bound<'_, PyAny>>,
        rebuild: Option<Py<PyAny>>,
        by_shape: bool,
        captured: Vec<Py<PyAny>>,
    ) -> PyResult<Entry> {
        let sources = sources.into_iter().map(|source| match source.extract::<usize>() {
            Ok(number) => Ok(Source::Argument(number)),
            Err(_) if source.is_callable() => Ok(Source::Computed(source.unbind())),
            Err(error) => Err(error),
        });
        let sources = sources.collect::<PyResult<Vec<_>>>()?;
        if sources.len() != kernel.get().kernel().inputs().len() {
            return Err(PyValueError::new_err("an entry has a source for each input of its kernel"));
        }
        Ok(Entry { kernel, sources, rebuild, by_shape, captured })
    }

    /// The kernel.
    #[getter]
    #[pyo3(name = "kernel")]
    fn kernel_object(&self, py: Python<'_>) -> Py<Kernel> {
        self.kernel.clone_ref(py)
    }
}

impl Entry {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.kernel.get()
    }

    /// The kernel of the engine.
    pub fn compiled(&self) -> &broadloom::Kernel {
        self.kernel.get().kernel()
    }

    /// Where each input of the kernel comes from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Whether the kernel was built for certain extents only.
    pub fn is_by_shape(&self) -> bool {
        self.by_shape
    }

    /// Arrays that count as further arguments of each call.
    pub fn captured(&self) -> &[Py<PyAny>] {
        &self.captured
    }

    /// What is returned, of the results.
    pub fn rebuilt<'py>(&self, py: Python<'py>, made: Results<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.rebuild {
            Some(rebuild) => rebuild.bind(py).call1((PyList::new(py, made)?,)),
            None => only(made),
        }
    }

    /// Whether what is returned is made of the results by a function.
    pub fn is_rebuilt(&self) -> bool {
        self.rebuild.is_some()
    }
}

/// The one result.
pub fn only(made: Results<'_>) -> PyResult<Bound<'_, PyAny>> {
    made.into_iter().next().map(Bound::into_any).ok_or_else(|| PyValueError::new_err("no result"))
}
