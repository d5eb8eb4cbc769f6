//! The arguments of a call, and the entry that runs it, which says how a kernel's inputs are made of the arguments and what is
//! returned.

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
    /// An array, which is kept alive, and the description of its memory.
    Array(Bound<'py, PyUntypedArray>, NumpyMemory),
    /// A bool, int or float of Python.
    Number(Literal),
}

impl<'py> Argument<'py> {
    /// The argument that an object is: an array of NumPy's own class or a number. It is `None` for any other object, of which
    /// Python code has to make an array first.
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
    /// The argument with this number.
    Argument(usize),
    /// The number that a Python function returns when it is given all arguments.
    Computed(Py<PyAny>),
}

/// A kernel for a signature, with how its inputs are made of a call's arguments, and how its results become what is returned.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Entry {
    kernel: Py<Kernel>,
    sources: Vec<Source>,
    rebuild: Option<Py<PyAny>>,
    by_shape: bool,
    /// The NumPy arrays that are inputs at each call. They are numbered after the arguments.
    captured: Vec<Py<PyAny>>,
}

#[pymethods]
impl Entry {
    /// Makes an entry. `sources` has, for each input of the kernel, the number of an argument, or a function of all arguments
    /// that returns a number. `rebuild` is a function that makes of a list of results what is returned; it is None if the one
    /// result is returned. `by_shape` says that the kernel was built for these extents only. `captured` are NumPy arrays that
    /// count as further arguments of each call.
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

    /// The kernel, as a Python object.
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

    /// The engine's kernel.
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

    /// The NumPy arrays that count as further arguments of each call.
    pub fn captured(&self) -> &[Py<PyAny>] {
        &self.captured
    }

    /// The call's return value, made of the kernel's results.
    pub fn rebuilt<'py>(&self, py: Python<'py>, made: Results<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.rebuild {
            Some(rebuild) => rebuild.bind(py).call1((PyList::new(py, made)?,)),
            None => only(made),
        }
    }

    /// Whether a Python function makes of the results what is returned.
    pub fn is_rebuilt(&self) -> bool {
        self.rebuild.is_some()
    }
}

/// The result of a kernel that has only one.
pub fn only(made: Results<'_>) -> PyResult<Bound<'_, PyAny>> {
    made.into_iter().next().map(Bound::into_any).ok_or_else(|| PyValueError::new_err("no result"))
}
