//! Compiled kernels, which run on NumPy arrays.

use broadloom::{Array, Error, ErrorKind, Port};
use numpy::PyUntypedArray;
use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::bound_call::{BoundCall, Objects};
use crate::dtype;
use crate::entry::{Entry, InputSource, Results, first};
use crate::error::{OrRaise, exception, text_exception};
use crate::handle::Handle;
use crate::options::of_keywords;
use crate::table::{CallKey, CallTable};

/// A compiled expression with named inputs.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Kernel {
    kernel: broadloom::Kernel,
    text: String,
    /// The keywords it was built with.
    keywords: Option<Py<PyDict>>,
    /// A table with one entry.
    table: CallTable,
    entry: Py<Entry>,
}

impl Kernel {
    fn made(
        py: Python<'_>,
        kernel: broadloom::Kernel,
        text: String,
        keywords: Option<Py<PyDict>>,
    ) -> PyResult<Kernel> {
        let (table, entry) = (CallTable::default(), Py::new(py, Entry::of(kernel.clone()))?);
        table.insert(CallKey::default(), entry.clone_ref(py));
        Ok(Kernel { kernel, text, keywords, table, entry })
    }

    /// The engine's kernel.
    pub fn kernel(&self) -> &broadloom::Kernel {
        &self.kernel
    }

    /// Runs on arrays given in the order of the inputs.
    fn results<'py>(
        &self,
        py: Python<'py>,
        objects: &[Borrowed<'_, 'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Results<'py>> {
        if let Some(call) = self.table.call(py, 0, objects) {
            return call.get().run(py, objects, out);
        }
        let (given, wanted) = (objects.len(), self.kernel.inputs().len());
        if given != wanted {
            let inputs = if wanted == 1 { "input" } else { "inputs" };
            let why = format!("kernel: it has {wanted} {inputs}, not {given}");
            return Err(exception(&Error::new(ErrorKind::Arity, why)));
        }
        let call = BoundCall::bind(self.entry.bind(py), objects)?.or_raise()?;
        self.table.keep(0, &call);
        call.get().run(py, objects, out)
    }

    /// The arguments of a call, in the order of the kernel's inputs.
    fn arguments<'py>(
        &self,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyUntypedArray>>> {
        let py = positional.py();
        let all = PyDict::new(py);
        let mut positional: Vec<Bound<'py, PyAny>> = positional.iter().collect();
        if let [one] = &positional[..]
            && let Ok(dict) = one.cast::<PyDict>()
        {
            all.update(dict.as_mapping())?;
            positional.clear();
        }
        let ports = self.kernel.inputs();
        if positional.len() > ports.len() {
            let (wanted, given) = (ports.len(), positional.len());
            return Err(PyTypeError::new_err(format!("kernel: it has {wanted} inputs, not {given}")));
        }
        for (port, value) in ports.iter().zip(positional) {
            all.set_item(&port.name, value)?;
        }
        for (name, value) in named.into_iter().flatten() {
            if all.contains(&name)? {
                return Err(PyTypeError::new_err(format!("kernel: the input `{name}` is given twice")));
            }
            all.set_item(name, value)?;
        }
        let known = || ports.iter().map(|port| format!("`{}`", port.name)).collect::<Vec<_>>().join(", ");
        let unknown = all.keys().iter().find(|name| {
            name.extract::<&str>().map_or(true, |name| !ports.iter().any(|port| port.name == name))
        });
        if let Some(name) = unknown {
            let why = format!("kernel: there is no input `{name}`; its inputs are {}", known());
            return Err(PyTypeError::new_err(why));
        }
        let asarray = py.import("numpy")?.getattr("asarray")?;
        let of = |port: &Port| {
            let Some(value) = all.get_item(&port.name)? else {
                let why = format!("kernel: the input `{}` is missing; its inputs are {}", port.name, known());
                return Err(PyTypeError::new_err(why));
            };
            // An object with a dtype must have the kernel's; numbers and sequences are converted to it.
            let made = match value.hasattr("dtype")? {
                true => asarray.call1((&value,)),
                // NumPy would convert it to NaN.
                false if value.is_none() => Err(PyTypeError::new_err("None is no number")),
                false => asarray.call1((&value, dtype::numpy(py, port.dtype)?)),
            };
            made.and_then(|made| Ok(made.cast_into::<PyUntypedArray>()?)).map_err(|error| {
                if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyValueError>(py) {
                    return error;
                }
                let (name, dtype, given) = (&port.name, port.dtype, value.get_type());
                let why =
                    format!("kernel: the input `{name}` is {dtype}, which {given} does not become: {error}");
                PyTypeError::new_err(why)
            })
        };
        ports.iter().map(of).collect()
    }
}

#[pymethods]
impl Kernel {
    /// Compiles named handles to a kernel with these inputs.
    #[new]
    #[pyo3(signature = (outputs, inputs, **options))]
    fn new(
        py: Python<'_>,
        outputs: Vec<(String, PyRef<'_, Handle>)>,
        inputs: Vec<PyRef<'_, Handle>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Kernel> {
        let keywords = copied(options)?;
        let options = of_keywords(options)?;
        let named = outputs.iter().map(|(name, handle)| Ok((&**name, handle.array()?)));
        let named: Vec<(&str, Array<'_>)> = named.collect::<PyResult<_>>()?;
        let named: Vec<(&str, &Array<'_>)> = named.iter().map(|(name, array)| (*name, array)).collect();
        let inputs = inputs.iter().map(|handle| handle.array()).collect::<PyResult<Vec<_>>>()?;
        let kernel =
            broadloom::Kernel::named(&named, &inputs.iter().collect::<Vec<_>>(), &options).or_raise()?;
        let text = with_inputs(kernel.inputs(), &broadloom::text::print(&named).or_raise()?);
        Kernel::made(py, kernel, text, keywords)
    }

    /// Compiles a program in broadloom's text language.
    #[staticmethod]
    #[pyo3(signature = (text, **options))]
    fn parse(py: Python<'_>, text: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Kernel> {
        let keywords = copied(options)?;
        let options = of_keywords(options)?;
        let kernel =
            broadloom::Kernel::parse(text, &options).map_err(|error| text_exception(&error, text))?;
        Kernel::made(py, kernel, text.to_owned(), keywords)
    }

    /// Runs on arrays given in the order of the inputs, and returns the results in the order of the outputs.
    #[pyo3(signature = (arrays, out = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Bound<'py, PyUntypedArray>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let objects: Objects<'_, 'py> = arrays.iter().map(|array| array.as_any().as_borrowed()).collect();
        PyList::new(py, self.results(py, &objects, out)?)
    }

    /// Runs on arrays, numbers and sequences, given in the order of the inputs, by name, or in one dict. Returns the result, or a
    /// tuple of several, in new arrays or in those of `out`.
    #[pyo3(signature = (*arrays, out = None, **inputs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        inputs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects: Objects<'_, 'py> = arrays.iter_borrowed().collect();
        let made = match self.table.call(py, 0, &objects).filter(|_| inputs.is_none()) {
            Some(call) => call.get().run(py, &objects, out)?,
            None => {
                let given = self.arguments(arrays, inputs)?;
                let objects: Objects<'_, 'py> = given.iter().map(|x| x.as_any().as_borrowed()).collect();
                self.results(py, &objects, out)?
            }
        };
        match made.len() {
            1 => first(made).map(Bound::into_any),
            _ => Ok(PyTuple::new(py, made)?.into_any()),
        }
    }

    /// The name, dtype and dims of each input.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Described<'py>>> {
        self.kernel.inputs().iter().map(|port| described(py, port)).collect()
    }

    /// The name, dtype and dims of each output.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Described<'py>>> {
        self.kernel.outputs().iter().map(|port| described(py, port)).collect()
    }

    /// The program in broadloom's text language.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// A hash that identifies the expression and its options on every machine.
    #[getter]
    fn id(&self) -> String {
        self.kernel.id().to_string()
    }

    /// Pickles the kernel as its text and options.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.import("broadloom._shipping")?.getattr("kernel_of_text")?;
        let keywords = self.keywords.as_ref().map(|keywords| keywords.bind(py).copy()).transpose()?;
        Ok((rebuild, (&*self.text, keywords.unwrap_or_else(|| PyDict::new(py))).into_pyobject(py)?))
    }

    /// Describes, as text, how the kernel would run.
    fn explain(&self) -> PyResult<String> {
        self.kernel.explain().or_raise()
    }
}

/// The name, the NumPy dtype and the dims of an input or output.
type Described<'py> = (String, Bound<'py, PyAny>, Vec<String>);

/// A copy of the keywords, for pickling.
fn copied(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Py<PyDict>>> {
    keywords.map(|keywords| Ok(keywords.copy()?.unbind())).transpose()
}

/// Prepends declarations of all inputs, in their order, to a program's text. The text of an expression declares only the inputs
/// that it uses, in the order of their use.
fn with_inputs(inputs: &[Port], text: &str) -> String {
    let is_declaration = |line: &&str| {
        inputs.iter().any(|input| line.strip_prefix(&*input.name).is_some_and(|rest| rest.starts_with(':')))
            && !line.contains('=')
    };
    let mut made = String::new();
    for input in inputs {
        let dims: Vec<String> = input.dims.iter().map(ToString::to_string).collect();
        made += &format!("{}: {}[{}]\n", input.name, input.dtype, dims.join(","));
    }
    for line in text.lines().skip_while(is_declaration) {
        made += line;
        made.push('\n');
    }
    made
}

fn described<'py>(py: Python<'py>, port: &Port) -> PyResult<Described<'py>> {
    let dims = port.dims.iter().map(ToString::to_string).collect();
    Ok((port.name.clone(), dtype::numpy(py, port.dtype)?.into_any(), dims))
}

// The constructor of an entry takes a Python kernel, which this module defines. If it were in the module of entries, the two
// modules would import each other, since a kernel has an entry.
#[pymethods]
impl Entry {
    /// `sources` has, for each input of the kernel, the index of an argument, or a function that computes a number from all
    /// arguments. `rebuild` maps the list of results to the return value; it is None if the one result is returned. `by_shape`
    /// restricts the kernel to the shapes it was built for. `captured` are NumPy arrays that are passed at every call, after the
    /// arguments.
    #[new]
    #[pyo3(signature = (kernel, sources, rebuild = None, by_shape = false, captured = Vec::new()))]
    fn new(
        kernel: Bound<'_, Kernel>,
        sources: Vec<Bound<'_, PyAny>>,
        rebuild: Option<Py<PyAny>>,
        by_shape: bool,
        captured: Vec<Py<PyAny>>,
    ) -> PyResult<Entry> {
        let sources = sources.into_iter().map(|source| match source.extract::<usize>() {
            Ok(number) => Ok(InputSource::Argument(number)),
            Err(_) if source.is_callable() => Ok(InputSource::Computed(source.unbind())),
            Err(error) => Err(error),
        });
        let sources = sources.collect::<PyResult<Vec<_>>>()?;
        let of = kernel.get().kernel().clone();
        Entry::made(of, kernel.into_any().unbind(), sources, rebuild, by_shape, captured)
    }

    /// The kernel, as a Python object.
    #[getter]
    #[pyo3(name = "kernel")]
    fn kernel_object(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.object().map(|kernel| kernel.clone_ref(py))
    }
}
