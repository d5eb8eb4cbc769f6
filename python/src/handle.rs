//! `Handle`: an expression as a Python object, which `broadloom.Array` wraps.

use std::sync::Arc;

use broadloom::{
    Array, Dim, Evaluation, Literal, Op, Promotion, Range, ReductionCall, ReductionFunction, with_promotion,
};
use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PySlice, PyTuple};
use smallvec::SmallVec;

use crate::dtype;
use crate::error::{About, OrRaise, no_values};
use crate::generator::{self, Generator};
use crate::memory::{self, NumpyMemory};
use crate::number::number;
use crate::options::{current, of_evaluation, rule};
use crate::origin::{self, HandleOperand, HandleOrigin, Parameter};
use crate::run::compute;

/// An immutable array expression, whose dtype and shape are checked when it is built.
#[pyclass(frozen, module = "broadloom._core")]
#[derive(Clone)]
pub struct Handle {
    /// The expression. For a parameter it has the parameter's default dtype, but [`Handle::array`] must be called to create the
    /// input.
    pub array: Array<'static>,
    /// The number of operations on the longest path to memory, which decides whether the expression is evaluated before it grows
    /// further.
    pub depth: u32,
    pub origin: HandleOrigin,
    /// Whether operators of this handle, and of handles made from it, use NumPy's promotion regardless of the current rule.
    pub by_numpy: bool,
}

impl Handle {
    /// The handle as an operand.
    pub fn operand(&self) -> HandleOperand {
        let Handle { array, depth, origin, by_numpy } = self.clone();
        HandleOperand { array, origin, depth, by_numpy, is_number: false, is_huge: false }
    }

    fn new(array: Array<'static>, origin: HandleOrigin) -> Handle {
        Handle { array, depth: 0, origin, by_numpy: false }
    }

    /// A handle of a generated array.
    fn generated(array: Array<'static>) -> Handle {
        Handle::new(array, HandleOrigin::Generated)
    }

    /// The handle of what `make` returns for operands: those of a function of the op table, if there is one.
    pub fn of_operands(
        op: Option<Op>,
        given: SmallVec<[HandleOperand; 3]>,
        make: impl FnOnce(&[Array<'static>]) -> PyResult<Array<'static>>,
    ) -> PyResult<Handle> {
        let by_numpy = given.iter().any(|operand| operand.by_numpy);
        let depth = given.iter().map(|operand| operand.depth).max().unwrap_or(0).saturating_add(1);
        let (arrays, origin) = origin::operands(op, given)?;
        Ok(Handle { array: make(&arrays)?, depth, origin, by_numpy })
    }

    /// The array, whose values can be computed.
    pub fn computable(&self, py: Python<'_>) -> PyResult<Array<'static>> {
        self.check_values(py)?;
        self.check_lenders(py)?;
        self.array()
    }

    /// A handle of values in broadloom's own memory, with a promotion rule.
    pub fn evaluated_to(array: Array<'static>, by_numpy: bool) -> Handle {
        Handle { by_numpy, ..Handle::new(array, HandleOrigin::Memory(None)) }
    }

    /// A handle of an input of a kernel.
    pub fn input_of(array: Array<'static>) -> Handle {
        Handle::new(array, HandleOrigin::Traced)
    }

    /// The array expression. For a parameter, it is the input for the parameter's default dtype.
    pub fn array(&self) -> PyResult<Array<'static>> {
        match &self.origin {
            HandleOrigin::Parameter(parameter) => parameter.alone(),
            _ => Ok(self.array.clone()),
        }
    }

    /// The result of an operation whose only operand is this handle.
    fn then(&self, array: Array<'static>) -> Handle {
        if let HandleOrigin::Parameter(parameter) = &self.origin {
            // Creates the input for the parameter's default dtype, which `array` was built from.
            let _ = parameter.alone();
        }
        let origin = self.origin.joined(&self.origin);
        Handle { array, depth: self.depth.saturating_add(1), origin, by_numpy: self.by_numpy }
    }

    /// The result of a reduction or scan of this handle.
    fn reduced(&self, call: &ReductionCall, mode: Promotion) -> PyResult<Handle> {
        let made = with_promotion(mode, || Array::reduce(call, std::slice::from_ref(&self.array)));
        let about = self.about(call.function.name(), call.axis.as_deref());
        Ok(self.then(made.or_raise_about(&about)?))
    }

    /// The promotion rule of a function applied to this handle, which may be NumPy's for another reason.
    pub fn rule(&self, py: Python<'_>, is_numpys: bool) -> PyResult<Promotion> {
        Ok(rule(is_numpys || self.by_numpy || current(py)?.by_numpy))
    }

    /// The result of a function of this handle that moves elements.
    fn viewed(
        &self,
        operation: &str,
        axes: Option<&[isize]>,
        made: broadloom::Result<Array<'static>>,
    ) -> PyResult<Handle> {
        Ok(self.then(made.or_raise_about(&self.about(operation, axes))?))
    }

    /// The description of a failed operation on this handle, for an exception.
    fn about<'a>(&'a self, operation: &'a str, axes: Option<&'a [isize]>) -> About<'a, 'static> {
        About { operation: Some(operation), operands: std::slice::from_ref(&self.array), axes }
    }

    /// Raises an exception if the expression depends on a kernel's input, since it then has no values.
    pub fn check_values(&self, py: Python<'_>) -> PyResult<()> {
        match self.origin.is_traced() {
            true => Err(no_values(
                py,
                "the array depends on an input of kernels, and has no values before a kernel runs",
            )),
            false => Ok(()),
        }
    }

    fn evaluated(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Array<'static>> {
        let options = of_evaluation(options)?;
        self.check_values(py)?;
        self.check_lenders(py)?;
        compute(py, progress, |control| Evaluation::with(&options).control(control).eval(&self.array))
    }
}

#[pymethods]
impl Handle {
    /// Shares the memory of a NumPy array. It is read when a value is computed.
    #[staticmethod]
    fn from_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Handle> {
        let (made, of) = (memory::lend(array)?, HandleOrigin::Memory(Some(Arc::new(array.clone().unbind()))));
        match origin::is_tracing() {
            true => origin::captured(made, of).map(Handle::input_of),
            false => Ok(Handle::new(made, of)),
        }
    }

    /// A weakly typed number, which takes the dtype of the arrays it is combined with.
    #[staticmethod]
    #[pyo3(name = "number")]
    fn of_number(value: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(Handle::generated(Array::scalar(number(value)?)))
    }

    /// An input of kernels. Each dimension is a number or a name.
    #[staticmethod]
    fn input(name: &str, dtype: &Bound<'_, PyAny>, dims: Vec<Bound<'_, PyAny>>) -> PyResult<Handle> {
        let dims = dims.iter().map(|dim| match dim.extract::<usize>() {
            Ok(extent) => Ok(Dim::Fixed(extent)),
            Err(_) => dim.extract::<String>().map(|name| Dim::from(&*name)),
        });
        let dims = dims.collect::<PyResult<Vec<_>>>()?;
        Ok(Handle::input_of(Array::input(name, dtype::extract(dtype)?, &dims).or_raise()?))
    }

    /// A number passed to a kernel at run time, of the kind "bool", "int" or "float". Combined with arrays, it becomes an input
    /// of the dtype that a Python number would take there.
    #[staticmethod]
    fn parameter(name: &str, kind: &str) -> PyResult<Handle> {
        let sample = match kind {
            "bool" => Literal::Bool(true),
            "int" => Literal::Int(1),
            "float" => Literal::Float(1.5),
            _ => return Err(PyValueError::new_err(format!("there is no kind `{kind}` of numbers"))),
        };
        let alone = Array::input(name, sample.default_dtype(), &[]).or_raise()?;
        let parameter = Arc::new(Parameter::new(name.to_owned(), sample));
        Ok(Handle::new(alone, HandleOrigin::Parameter(parameter)))
    }

    /// The inputs that a parameter was turned into, one for each dtype.
    fn parameter_inputs(&self) -> Vec<Handle> {
        match &self.origin {
            HandleOrigin::Parameter(parameter) => {
                parameter.inputs().into_iter().map(Handle::input_of).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A generated array with the same value everywhere.
    #[staticmethod]
    fn full(shape: Vec<usize>, value: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        generator::array(dtype::extract(dtype)?, Generator::Full(&shape, number(value)?))
            .map(Handle::generated)
    }

    /// A generated array: `start`, `start + step`, …, up to but excluding `stop`.
    #[staticmethod]
    fn arange(
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
        step: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
    ) -> PyResult<Handle> {
        let bounds = [number(start)?, number(stop)?, number(step)?];
        generator::array(dtype::extract(dtype)?, Generator::Arange(bounds)).map(Handle::generated)
    }

    /// A generated array of `num` evenly spaced values from `start` to `stop`.
    #[staticmethod]
    fn linspace(
        start: f64,
        stop: f64,
        num: usize,
        dtype: &Bound<'_, PyAny>,
        endpoint: bool,
    ) -> PyResult<Handle> {
        let dtype = dtype::extract(dtype)?;
        let values = match endpoint {
            true => Array::linspace(start, stop, num),
            // `stop` is excluded: the values are the first `num` of `num + 1` values from `start` to `stop`.
            false => {
                Array::linspace(start, stop, num.saturating_add(1)).and_then(|values| values.slice(..num))
            }
        };
        Ok(Handle::generated(values.or_raise()?.astype(dtype)))
    }

    /// A generated matrix with ones where the column index is the row index plus `k`.
    #[staticmethod]
    fn eye(rows: usize, cols: usize, k: isize, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(Handle::generated(Array::eye(rows, cols, k, dtype::extract(dtype)?).or_raise()?))
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        dtype::numpy(py, self.array.dtype())
    }

    /// The extents; None for an extent that is not known before a kernel runs.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.array.dims() {
            None => PyTuple::new(py, self.array.shape()),
            Some(dims) => PyTuple::new(
                py,
                dims.iter().map(|dim| match dim {
                    Dim::Fixed(extent) => Some(*extent),
                    _ => None,
                }),
            ),
        }
    }

    /// The extents in the notation of a kernel's text: numbers and names.
    #[getter]
    fn dims(&self) -> Vec<String> {
        match self.array.dims() {
            None => self.array.shape().iter().map(usize::to_string).collect(),
            Some(dims) => dims.iter().map(Dim::to_string).collect(),
        }
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.array.rank()
    }

    /// The number of elements; None if an extent is not known.
    #[getter]
    fn size(&self) -> Option<usize> {
        self.array.dims().is_none().then(|| self.array.len())
    }

    /// Whether operators of this handle use NumPy's promotion regardless of the current rule.
    #[getter]
    #[pyo3(name = "by_numpy")]
    fn has_numpys_rule(&self) -> bool {
        self.by_numpy
    }

    /// This expression, with NumPy's promotion.
    fn promoting_by_numpy(&self) -> Handle {
        Handle { by_numpy: true, ..self.clone() }
    }

    /// Whether the expression depends on a kernel's input, so that it has no values.
    #[getter]
    fn is_symbolic(&self) -> bool {
        self.origin.is_traced()
    }

    /// Whether the values are already computed and in broadloom's own memory.
    #[getter]
    fn is_evaluated(&self) -> bool {
        self.array.is_evaluated()
    }

    /// Raises ValueError if the layout or dtype of NumPy memory that the expression reads has changed since the memory was
    /// shared.
    #[pyo3(name = "check")]
    pub fn check_lenders(&self, py: Python<'_>) -> PyResult<()> {
        match self.origin {
            HandleOrigin::Memory(_) => memory::check_lenders(py, &self.array),
            _ => Ok(()),
        }
    }

    /// The number of operations on the longest path from this expression to memory.
    #[getter]
    #[pyo3(name = "depth")]
    fn operations_to_memory(&self) -> u32 {
        self.depth
    }

    /// The handle of the elements converted to a dtype, as the function astype converts them.
    fn astype(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(self.then(self.array.astype(dtype::extract(dtype)?)))
    }

    /// Applies the reduction with this name.
    #[pyo3(signature = (name, axes = None, keepdims = false, dtype = None, correction = 0.0, numpy_promotion = false, ord = 2.0))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Python's reductions")]
    fn reduce(
        &self,
        py: Python<'_>,
        name: &str,
        axes: Option<Vec<isize>>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        correction: f64,
        numpy_promotion: bool,
        ord: f64,
    ) -> PyResult<Handle> {
        let dtype = dtype.map(dtype::extract).transpose()?;
        let function = ReductionFunction::from_name(name).filter(|function| function.has("keepdims"));
        let function =
            function.ok_or_else(|| PyValueError::new_err(format!("there is no reduction `{name}`")))?;
        let axis = axes.as_deref().map(SmallVec::from_slice);
        let call = ReductionCall { axis, keepdims, dtype, correction, ord, ..ReductionCall::new(function) };
        self.reduced(&call, self.rule(py, numpy_promotion)?)
    }

    /// The handle of `cumulative_sum` or `cumulative_prod`.
    #[pyo3(signature = (name, axis = None, dtype = None, include_initial = false))]
    fn cumulative(
        &self,
        py: Python<'_>,
        name: &str,
        axis: Option<isize>,
        dtype: Option<&Bound<'_, PyAny>>,
        include_initial: bool,
    ) -> PyResult<Handle> {
        let dtype = dtype.map(dtype::extract).transpose()?;
        let function = ReductionFunction::from_name(name).filter(|function| function.is_scan());
        let function = function
            .ok_or_else(|| PyValueError::new_err(format!("there is no cumulative function `{name}`")))?;
        let axis = axis.map(|axis| SmallVec::from_slice(&[axis]));
        let call = ReductionCall { axis, dtype, include_initial, ..ReductionCall::new(function) };
        self.reduced(&call, self.rule(py, false)?)
    }

    /// Computes the dot products of vectors along an axis.
    fn vecdot(&self, py: Python<'_>, other: &Bound<'_, PyAny>, axis: isize) -> PyResult<Handle> {
        let given = [self.operand(), operand(other)?];
        let by_numpy = given.iter().any(|operand| operand.by_numpy);
        let depth = given.iter().map(|operand| operand.depth).max().unwrap_or(0);
        let (arrays, origin) = origin::operands(None, SmallVec::from_iter(given))?;
        let about =
            About { operation: Some("vecdot"), operands: &arrays, axes: Some(std::slice::from_ref(&axis)) };
        let made = with_promotion(self.rule(py, by_numpy)?, || arrays[0].vecdot(&arrays[1], axis));
        Ok(Handle { array: made.or_raise_about(&about)?, depth: depth.saturating_add(1), origin, by_numpy })
    }

    fn reshape(&self, shape: Vec<isize>) -> PyResult<Handle> {
        self.viewed("reshape", None, self.array.reshape(&shape))
    }

    fn permute_dims(&self, axes: Vec<isize>) -> PyResult<Handle> {
        self.viewed("permute_dims", Some(&axes), self.array.permute_dims(&axes))
    }

    fn broadcast_to(&self, shape: Vec<usize>) -> PyResult<Handle> {
        self.viewed("broadcast_to", None, self.array.broadcast_to(&shape))
    }

    fn expand_dims(&self, axis: isize) -> PyResult<Handle> {
        self.viewed("expand_dims", Some(&[axis]), self.array.expand_dims(axis))
    }

    fn squeeze(&self, axis: isize) -> PyResult<Handle> {
        self.viewed("squeeze", Some(&[axis]), self.array.squeeze(axis))
    }

    fn flip(&self, axis: isize) -> PyResult<Handle> {
        self.viewed("flip", Some(&[axis]), self.array.flip(axis))
    }

    /// The index of each element along an axis, as int64.
    fn indices(&self, axis: isize) -> PyResult<Handle> {
        Ok(self.then(self.array.indices(axis).or_raise()?))
    }

    /// Returns, for each of the other handles, whether it has a subexpression in common with this handle that would be computed.
    fn shares_work(&self, others: Vec<PyRef<'_, Handle>>) -> Vec<bool> {
        let others: Vec<&Array<'static>> = others.iter().map(|other| &other.array).collect();
        self.array.shares_work(&others)
    }

    /// Indexes the leading axes, each by an integer or a slice.
    fn slice(&self, items: Vec<Bound<'_, PyAny>>) -> PyResult<Handle> {
        let ranges = items.iter().map(|item| {
            if let Ok(slice) = item.cast::<PySlice>() {
                let bound = |name| slice.getattr(name)?.extract::<Option<isize>>();
                return Ok(Range::new(bound("start")?, bound("stop")?, bound("step")?.unwrap_or(1)));
            }
            item.extract::<isize>().map(Range::at)
        });
        let ranges = ranges.collect::<PyResult<Vec<_>>>()?;
        Ok(self.then(self.array.slice(&ranges[..]).or_raise()?))
    }

    /// A handle of the computed values, in broadloom's own memory.
    #[pyo3(signature = (progress = None, **options))]
    fn evaluate(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Handle> {
        let made = self.evaluated(py, progress, options)?;
        Ok(Handle::evaluated_to(made, self.by_numpy))
    }

    /// Computes the values and writes them to a NumPy array of the same shape and dtype.
    #[pyo3(signature = (out, progress = None, **options))]
    fn evaluate_into(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyUntypedArray>,
        progress: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = of_evaluation(options)?;
        let memory = NumpyMemory::out(out)?;
        if memory.dtype != self.array.dtype() {
            let (is, given) = (self.array.dtype(), memory.dtype);
            return Err(PyTypeError::new_err(format!("out: the result is {is}, the array {given}")));
        }
        self.check_values(py)?;
        self.check_lenders(py)?;
        // SAFETY: `out` is writeable, and borrowed for as long as the view is used.
        let view = unsafe { memory.view_mut() }?;
        compute(py, progress, |control| {
            Evaluation::with(&options).control(control).eval_into_view(&self.array, view)
        })
    }

    /// The values as a NumPy array over broadloom's memory, without a copy. The array is read-only if this handle also keeps that
    /// memory.
    pub fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array =
            if self.array.is_evaluated() { self.array.clone() } else { self.evaluated(py, None, None)? };
        memory::share(py, array)
    }

    /// The value of the only element, as a Python bool, int or float.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_numpy(py)?.call_method0("item")
    }

    /// Describes, as text, how the expression would be evaluated; with the code of each kernel if `code` is set.
    #[pyo3(signature = (code = false, **options))]
    fn explain(&self, code: bool, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        self.array.explain_with(&of_evaluation(options)?, code).or_raise()
    }

    /// Describes, as an HTML page, how the expression would be evaluated.
    #[pyo3(signature = (title = "broadloom", code = true))]
    fn explain_html(&self, title: &str, code: bool) -> PyResult<String> {
        let explanation = self.array.explanation(&of_evaluation(None)?, code).or_raise()?;
        Ok(broadloom_html::page(&explanation, title))
    }

    /// The numbers of operations and of moved bytes of an evaluation.
    fn cost(&self) -> PyResult<(u64, u64)> {
        let explanation = self.array.explanation(&of_evaluation(None)?, false).or_raise()?;
        Ok((explanation.operations(), explanation.bytes()))
    }

    /// The expression in broadloom's language.
    #[pyo3(signature = (name = "result"))]
    fn text(&self, name: &str) -> PyResult<String> {
        broadloom::text::print(&[(name, &self.array)]).or_raise()
    }
}

/// Converts a handle or a number to an operand.
pub fn operand(object: &Bound<'_, PyAny>) -> PyResult<HandleOperand> {
    if let Ok(handle) = object.cast_exact::<Handle>() {
        return Ok(handle.get().operand());
    }
    let is_integer = object.is_instance_of::<PyInt>();
    let number = match number(object) {
        // The integer is too large for a float. With an infinity in its place, comparisons with integers stay exact, and
        // operations with floats raise an error.
        Err(_) if is_integer => Literal::Float(if object.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }),
        made => made?,
    };
    let is_huge = is_integer && matches!(number, Literal::Float(_));
    Ok(HandleOperand { is_number: true, is_huge, ..Handle::generated(Array::scalar(number)).operand() })
}
