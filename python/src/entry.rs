//! The arguments of a call of a compiled function, and the entry that specifies how a kernel computes its result.

use broadloom::Literal;
use numpy::PyUntypedArray;
use numpy::npyffi;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};
use smallvec::SmallVec;

use crate::memory::NumpyMemory;
use crate::number::number;

/// The result arrays of a run.
pub type Results<'py> = SmallVec<[Bound<'py, PyUntypedArray>; 2]>;

/// An argument of a call.
pub enum Argument {
    /// The memory of a NumPy array.
    Array(NumpyMemory),
    /// A Python number.
    Number(Literal),
}

impl Argument {
    /// Describes an exact `numpy.ndarray` or a number; `None` for any other object, which Python code has to convert first.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Argument>> {
        // SAFETY: the pointer refers to a live object.
        if unsafe { npyffi::PyArray_CheckExact(object.py(), object.as_ptr()) } != 0 {
            return Ok(NumpyMemory::of(object.cast::<PyUntypedArray>()?).ok().map(Argument::Array));
        }
        let is_number = object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyBool>();
        Ok(if is_number { Some(Argument::Number(number(object)?)) } else { None })
    }
}

/// The source of a kernel's input.
pub enum InputSource {
    /// The argument with this index.
    Argument(usize),
    /// A Python function that computes a number from all arguments.
    Computed(Py<PyAny>),
}

/// A kernel for one signature, with the mapping from arguments to its inputs and from its results to the return value.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Entry {
    kernel: broadloom::Kernel,
    /// The kernel as a Python object; `None` in the entry for direct calls of that object.
    object: Option<Py<PyAny>>,
    sources: Vec<InputSource>,
    rebuild: Option<Py<PyAny>>,
    by_shape: bool,
    /// NumPy arrays that are passed at every call. Their indices follow those of the arguments.
    captured: Vec<Py<PyAny>>,
}

impl Entry {
    /// The entry for direct calls of a kernel, whose arguments are the kernel's inputs.
    pub fn of(kernel: broadloom::Kernel) -> Entry {
        let sources = (0..kernel.inputs().len()).map(InputSource::Argument).collect();
        Entry { kernel, object: None, sources, rebuild: None, by_shape: false, captured: Vec::new() }
    }

    /// Makes an entry for a kernel. `object` is the Python object that holds the kernel; the other arguments are those that
    /// Python code passes to the constructor of the class.
    ///
    /// # Errors
    /// ValueError if there is not one source for each input of the kernel.
    pub fn made(
        kernel: broadloom::Kernel,
        object: Py<PyAny>,
        sources: Vec<InputSource>,
        rebuild: Option<Py<PyAny>>,
        by_shape: bool,
        captured: Vec<Py<PyAny>>,
    ) -> PyResult<Entry> {
        if sources.len() != kernel.inputs().len() {
            return Err(PyValueError::new_err("an entry has a source for each input of its kernel"));
        }
        Ok(Entry { kernel, object: Some(object), sources, rebuild, by_shape, captured })
    }

    /// The kernel as a Python object; `None` in the entry for direct calls of that object.
    pub fn object(&self) -> Option<&Py<PyAny>> {
        self.object.as_ref()
    }

    /// The kernel.
    pub fn kernel(&self) -> &broadloom::Kernel {
        &self.kernel
    }

    /// The source of each input of the kernel.
    pub fn sources(&self) -> &[InputSource] {
        &self.sources
    }

    /// Whether the kernel accepts only the shapes it was built for.
    pub fn is_by_shape(&self) -> bool {
        self.by_shape
    }

    /// The NumPy arrays that are passed at every call, after the arguments.
    pub fn captured(&self) -> &[Py<PyAny>] {
        &self.captured
    }

    /// The return value, made from the kernel's results.
    #[inline]
    pub fn rebuilt<'py>(&self, py: Python<'py>, made: Results<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.rebuild {
            Some(rebuild) => rebuild.bind(py).call1((PyList::new(py, made)?,)),
            None => first(made).map(Bound::into_any),
        }
    }
}

/// The first result; an error if there is none.
#[inline]
pub fn first(mut made: Results<'_>) -> PyResult<Bound<'_, PyUntypedArray>> {
    match made.is_empty() {
        true => Err(PyValueError::new_err("no result")),
        false => Ok(made.swap_remove(0)),
    }
}
