//! Compiled kernels, which run on NumPy arrays.

use broadloom::{Array, In, Out, Port};
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use crate::dtype;
use crate::error::{OrRaise, text_exception};
use crate::handle::Handle;
use crate::memory::{self, NumpyMemory, changed};
use crate::options::of_keywords;
use crate::run::compute;
use crate::table::{LastCall, Shapes};

/// A compiled expression with named inputs.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Kernel {
    kernel: broadloom::Kernel,
    text: String,
    /// The keywords it was built with.
    keywords: Option<Py<PyDict>>,
    last: LastCall,
}

/// The result arrays of a run.
pub type Results<'py> = SmallVec<[Bound<'py, PyUntypedArray>; 2]>;

impl Kernel {
    /// The engine's kernel.
    pub fn kernel(&self) -> &broadloom::Kernel {
        &self.kernel
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
            return Err(PyTypeError::new_err(format!("the kernel takes {wanted} inputs, not {given}")));
        }
        for (port, value) in ports.iter().zip(positional) {
            all.set_item(&port.name, value)?;
        }
        for (name, value) in named.into_iter().flatten() {
            if all.contains(&name)? {
                return Err(PyTypeError::new_err(format!("the input `{name}` is given twice")));
            }
            all.set_item(name, value)?;
        }
        let known = || ports.iter().map(|port| format!("`{}`", port.name)).collect::<Vec<_>>().join(", ");
        let unknown = all.keys().iter().find(|name| {
            name.extract::<&str>().map_or(true, |name| !ports.iter().any(|port| port.name == name))
        });
        if let Some(name) = unknown {
            let why = format!("the kernel has no input `{name}`; its inputs are {}", known());
            return Err(PyTypeError::new_err(why));
        }
        let asarray = py.import("numpy")?.getattr("asarray")?;
        let of = |port: &Port| {
            let Some(value) = all.get_item(&port.name)? else {
                let why =
                    format!("the input `{}` is missing; the kernel's inputs are {}", port.name, known());
                return Err(PyTypeError::new_err(why));
            };
            // An object with a dtype must have the kernel's; numbers and sequences are converted to it.
            let made = match value.hasattr("dtype")? {
                true => asarray.call1((value,))?,
                false => asarray.call1((value, dtype::numpy(py, port.dtype)?))?,
            };
            Ok(made.cast_into::<PyUntypedArray>()?)
        };
        ports.iter().map(of).collect()
    }

    /// The ranks and extents of inputs that are all row-major and of the kernel's dtypes; `None` for other inputs.
    fn shapes_of(&self, memory: &[NumpyMemory]) -> Option<Shapes> {
        let ports = self.kernel.inputs();
        let fits = |(memory, port): (&NumpyMemory, &Port)| memory.is_row_major && memory.dtype == port.dtype;
        if memory.len() != ports.len() || !memory.iter().zip(ports).all(fits) {
            return None;
        }
        Some(
            memory
                .iter()
                .flat_map(|memory| std::iter::once(memory.shape.len()).chain(memory.shape.iter().copied()))
                .collect(),
        )
    }
}

/// The arrays that results are written to: those passed as `out`, or new ones of these dtypes and shapes.
pub fn results<'py>(
    py: Python<'py>,
    given: &[Bound<'py, PyUntypedArray>],
    ports: &[Port],
    shapes: &[&[usize]],
) -> PyResult<Results<'py>> {
    if given.is_empty() {
        return ports.iter().zip(shapes).map(|(port, shape)| memory::new(py, port.dtype, shape)).collect();
    }
    if given.len() != ports.len() {
        let (n, wanted) = (given.len(), ports.len());
        return Err(PyTypeError::new_err(format!("out has {n} arrays, there are {wanted} results")));
    }
    Ok(given.iter().cloned().collect())
}

/// The memory of arrays that will be written to; an error if one is read-only.
pub fn writeable(arrays: &[Bound<'_, PyUntypedArray>]) -> PyResult<SmallVec<[NumpyMemory; 2]>> {
    let memory = arrays.iter().map(|array| {
        let memory = NumpyMemory::of(array).map_err(|why| why.exception(array))?;
        match memory.is_writeable {
            true => Ok(memory),
            false => Err(PyValueError::new_err("out: the array is read-only")),
        }
    });
    memory.collect()
}

/// The arrays passed as `out=`: none, one, or a tuple or list of several.
pub fn given_results<'py>(out: Option<&Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyUntypedArray>>> {
    let Some(out) = out.filter(|out| !out.is_none()) else { return Ok(Vec::new()) };
    if let Ok(array) = out.cast::<PyUntypedArray>() {
        return Ok(vec![array.clone()]);
    }
    let several = out
        .try_iter()
        .map_err(|_| PyTypeError::new_err("out: expected a NumPy array, or a tuple of them"))?;
    several
        .map(|array| {
            array?
                .cast_into::<PyUntypedArray>()
                .map_err(|_| PyTypeError::new_err("out: expected NumPy arrays"))
        })
        .collect()
}

#[pymethods]
impl Kernel {
    /// Compiles named handles to a kernel with these inputs.
    #[new]
    #[pyo3(signature = (outputs, inputs, **options))]
    fn new(
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
        Ok(Kernel { kernel, text, keywords, last: LastCall::default() })
    }

    /// Compiles a program in broadloom's text language.
    #[staticmethod]
    #[pyo3(signature = (text, **options))]
    fn parse(text: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Kernel> {
        let keywords = copied(options)?;
        let options = of_keywords(options)?;
        let kernel =
            broadloom::Kernel::parse(text, &options).map_err(|error| text_exception(&error, text))?;
        Ok(Kernel { kernel, text: text.to_owned(), keywords, last: LastCall::default() })
    }

    /// Runs on arrays given in the order of the inputs, and returns the results in the order of the outputs.
    #[pyo3(signature = (arrays, out = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Bound<'py, PyUntypedArray>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let wanted = given_results(out)?;
        let memory = arrays.iter().map(|array| NumpyMemory::of(array).map_err(|why| why.exception(array)));
        let memory: SmallVec<[NumpyMemory; 4]> = memory.collect::<PyResult<_>>()?;
        // SAFETY: `arrays` keeps the arrays alive until the run ends.
        let inputs: SmallVec<[In<'_>; 4]> = memory.iter().map(|memory| unsafe { memory.input() }).collect();
        let shapes = self.shapes_of(&memory);
        let call = match shapes.as_ref().and_then(|shapes| self.last.find(shapes)) {
            Some(call) => call,
            None => {
                // The GIL is released, since planning may take long.
                let call = py.detach(|| self.kernel.bind_like(&inputs)).or_raise()?;
                if let Some(shapes) = shapes {
                    self.last.keep(shapes, &call);
                }
                call
            }
        };
        let shapes: SmallVec<[&[usize]; 2]> = call.output_shapes().collect();
        let made = results(py, &wanted, self.kernel.outputs(), &shapes)?;
        let written = writeable(&made)?;
        // SAFETY: `made` keeps the arrays alive until the run ends, and they are writeable.
        let outputs = written.iter().map(|memory| unsafe { memory.output() });
        let outputs: SmallVec<[Out<'_>; 2]> = outputs.collect::<PyResult<_>>()?;
        // Planning and allocation may have run Python code, which could have changed the arrays.
        if !memory.iter().zip(&arrays).all(|(memory, array)| memory.is_of(array)) {
            return Err(changed());
        }
        compute(py, None, |control| call.run_with(&inputs, outputs, control))?;
        PyList::new(py, made)
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
        let given = self.arguments(arrays, inputs)?;
        let made = self.run(py, given, out)?;
        match made.len() {
            1 => made.get_item(0),
            _ => Ok(made.to_tuple().into_any()),
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
