//! Expressions as Python objects: what `broadloom.Array` holds.

use std::sync::Arc;

use broadloom::{Array, Dim, Literal, Over, Promotion, Range, with_promotion};
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
use crate::options::{current, of_evaluation};
use crate::origin::{self, Operand, Origin, Parameter};
use crate::run::compute;
use crate::work::Work;

/// An expression of arrays, typed when it is made: a handle that nothing changes.
#[pyclass(frozen, module = "broadloom._core")]
#[derive(Clone)]
pub struct Handle {
    array: Array<'static>,
    work: Work,
    origin: Origin,
    /// Its operators promote by NumPy's rule, whatever is set; what is made of it has this rule too.
    by_numpy: bool,
}

impl Handle {
    /// A handle of an array in no memory.
    fn generated(array: Array<'static>) -> Handle {
        Handle { array, work: Work::default(), origin: Origin::Generated, by_numpy: false }
    }

    /// A handle of an array in memory.
    pub fn of_memory(array: Array<'static>) -> Handle {
        Handle { array, work: Work::default(), origin: Origin::Memory(None), by_numpy: false }
    }

    /// The handle of values in memory of ours, with a rule of promotion.
    pub fn evaluated_to(array: Array<'static>, by_numpy: bool) -> Handle {
        Handle { by_numpy, ..Handle::of_memory(array) }
    }

    /// The handle of an operation's result.
    pub fn made(array: Array<'static>, work: Work, origin: Origin, by_numpy: bool) -> Handle {
        Handle { array, work, origin, by_numpy }
    }

    /// This as an operand.
    pub fn operand(&self) -> Operand {
        let Handle { array, work, origin, by_numpy } = self.clone();
        Operand { array, is_number: false, is_huge: false, work, origin, by_numpy }
    }

    /// Whether operators of it promote by NumPy's rule, whatever is set.
    pub fn has_numpys_rule(&self) -> bool {
        self.by_numpy
    }

    /// A handle of an input of kernels.
    pub fn input_of(array: Array<'static>) -> Handle {
        Handle { array, work: Work::default(), origin: Origin::Traced, by_numpy: false }
    }

    /// The array; of a parameter, the input of the dtype that it has alone.
    pub fn array(&self) -> PyResult<Array<'static>> {
        match &self.origin {
            Origin::Parameter(parameter) => parameter.alone(),
            _ => Ok(self.array.clone()),
        }
    }

    /// Where its values come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The values as an array of NumPy's over memory of ours.
    pub fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_numpy(py)
    }

    /// What lies between it and memory.
    pub fn work(&self) -> Work {
        self.work
    }

    /// An operation on this.
    fn then(&self, array: Array<'static>) -> Handle {
        if let Origin::Parameter(parameter) = &self.origin {
            // It takes part as the input that `array` is.
            let _ = parameter.alone();
        }
        let origin = self.origin.joined(&self.origin);
        Handle { array, work: self.work.then(), origin, by_numpy: self.by_numpy }
    }

    /// The rule of promotion of a function of this.
    fn rule(&self, py: Python<'_>) -> PyResult<Promotion> {
        let by_numpy = self.by_numpy || current(py)?.by_numpy;
        Ok(if by_numpy { Promotion::NumPy } else { Promotion::Strict })
    }

    /// What an error of an operation on this is about.
    fn about<'a>(&'a self, operation: &'a str, axes: Option<&'a [isize]>) -> About<'a, 'static> {
        About { operation: Some(operation), operands: std::slice::from_ref(&self.array), axes }
    }

    /// An exception if it depends on an input of kernels, and so has no values.
    pub fn check_values(&self, py: Python<'_>) -> PyResult<()> {
        match self.origin.is_traced() {
            true => Err(no_values(
                py,
                "the array depends on an input of kernels, and has no values before a kernel runs",
            )),
            false => Ok(()),
        }
    }

    /// ValueError if NumPy's memory that it reads has changed its description since it was shared.
    pub fn check_lenders(&self, py: Python<'_>) -> PyResult<()> {
        match self.origin {
            Origin::Memory(_) => memory::check_lenders(py, &self.array),
            _ => Ok(()),
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
        compute(py, progress, |control| self.array.eval_watched(&options, control))
    }
}

/// What a reduction runs over.
fn over(axes: Option<Vec<isize>>, keepdims: bool, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Over> {
    let mut over = axes.map_or_else(Over::all, |axes| Over::axes(&axes));
    if keepdims {
        over = over.keep_dims();
    }
    if let Some(dtype) = dtype {
        over = over.dtype(dtype::extract(dtype)?);
    }
    Ok(over)
}

#[pymethods]
impl Handle {
    /// An array of NumPy's; its memory is shared, and read when a value is computed.
    #[staticmethod]
    fn from_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Handle> {
        let (made, of) = (memory::lend(array)?, Origin::Memory(Some(Arc::new(array.clone().unbind()))));
        match origin::is_tracing() {
            true => origin::captured(made, of).map(Handle::input_of),
            false => Ok(Handle { array: made, work: Work::default(), origin: of, by_numpy: false }),
        }
    }

    /// A number that takes the dtype of the arrays that it meets.
    #[staticmethod]
    #[pyo3(name = "number")]
    fn of_number(value: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(Handle::generated(Array::scalar(number(value)?)))
    }

    /// An input of kernels; its extents are numbers and names.
    #[staticmethod]
    fn input(name: &str, dtype: &Bound<'_, PyAny>, dims: Vec<Bound<'_, PyAny>>) -> PyResult<Handle> {
        let dims = dims.iter().map(|dim| match dim.extract::<usize>() {
            Ok(extent) => Ok(Dim::Fixed(extent)),
            Err(_) => dim.extract::<String>().map(|name| Dim::from(&*name)),
        });
        let dims = dims.collect::<PyResult<Vec<_>>>()?;
        Ok(Handle::input_of(Array::input(name, dtype::extract(dtype)?, &dims).or_raise()?))
    }

    /// A number that a kernel is given when it runs, of the kind "bool", "int" or "float": where it meets arrays, it is an input of
    /// the dtype that a number of Python's would take.
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
        Ok(Handle {
            array: alone,
            work: Work::default(),
            origin: Origin::Parameter(parameter),
            by_numpy: false,
        })
    }

    /// The inputs that a parameter has become, one for each dtype.
    fn parameter_inputs(&self) -> Vec<Handle> {
        match &self.origin {
            Origin::Parameter(parameter) => parameter.inputs().into_iter().map(Handle::input_of).collect(),
            _ => Vec::new(),
        }
    }

    /// One value everywhere, in no memory.
    #[staticmethod]
    fn full(shape: Vec<usize>, value: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        generator::array(dtype::extract(dtype)?, Generator::Full(&shape, number(value)?))
            .map(Handle::generated)
    }

    /// `start`, `start + step`, … without `stop`, in no memory.
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

    /// `num` values evenly spaced from `start` to `stop`, in no memory.
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
            // Of one value more, the last is `stop`.
            false => {
                Array::linspace(start, stop, num.saturating_add(1)).and_then(|values| values.slice(..num))
            }
        };
        Ok(Handle::generated(values.or_raise()?.astype(dtype)))
    }

    /// A matrix with ones where the column is the row plus `k`, in no memory.
    #[staticmethod]
    fn eye(rows: usize, cols: usize, k: isize, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(Handle::generated(Array::eye(rows, cols, k, dtype::extract(dtype)?).or_raise()?))
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        dtype::numpy(py, self.array.dtype())
    }

    /// The extents; None for one that is known when a kernel runs.
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

    /// The extents as a kernel's text has them: numbers and names.
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

    /// The number of elements; None where an extent is not known.
    #[getter]
    fn size(&self) -> Option<usize> {
        match self.array.dims() {
            None => Some(self.array.len()),
            Some(_) => None,
        }
    }

    /// Whether its operators promote by NumPy's rule, whatever is set.
    #[getter]
    #[pyo3(name = "by_numpy")]
    fn promotes_by_numpy(&self) -> bool {
        self.by_numpy
    }

    /// These values, with NumPy's rule of promotion.
    fn promoting_by_numpy(&self) -> Handle {
        Handle { by_numpy: true, ..self.clone() }
    }

    /// Whether it depends on an input of kernels, and has no values.
    #[getter]
    fn is_symbolic(&self) -> bool {
        self.origin.is_traced()
    }

    /// Whether the values are computed and in memory of ours.
    #[getter]
    fn is_evaluated(&self) -> bool {
        self.array.is_evaluated()
    }

    /// ValueError if NumPy's memory that it reads has changed its description since it was shared.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.check_lenders(py)
    }

    /// Operations on the longest way to memory.
    #[getter]
    #[pyo3(name = "depth")]
    fn operations_to_memory(&self) -> u32 {
        self.work.depth
    }

    /// The elements converted, as astype converts them.
    fn astype(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Handle> {
        Ok(self.then(self.array.astype(dtype::extract(dtype)?)))
    }

    /// A reduction by its name.
    #[pyo3(signature = (name, axes = None, keepdims = false, dtype = None, correction = 0.0, numpy_promotion = false))]
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
    ) -> PyResult<Handle> {
        let (x, over) = (&self.array, over(axes.clone(), keepdims, dtype)?);
        let mode = if numpy_promotion { Promotion::NumPy } else { self.rule(py)? };
        let made = with_promotion(mode, || match name {
            "sum" => Some(x.sum(over)),
            "prod" => Some(x.prod(over)),
            "max" => Some(x.max(over)),
            "min" => Some(x.min(over)),
            "mean" => Some(x.mean(over)),
            "var" => Some(x.var(over, correction)),
            "std" => Some(x.std(over, correction)),
            "any" => Some(x.any(over)),
            "all" => Some(x.all(over)),
            "argmax" => Some(x.argmax(over)),
            "argmin" => Some(x.argmin(over)),
            "count_nonzero" => Some(x.count_nonzero(over)),
            "nansum" => Some(x.nansum(over)),
            "nanprod" => Some(x.nanprod(over)),
            "nanmax" => Some(x.nanmax(over)),
            "nanmin" => Some(x.nanmin(over)),
            "nanmean" => Some(x.nanmean(over)),
            "nanvar" => Some(x.nanvar(over, correction)),
            "nanstd" => Some(x.nanstd(over, correction)),
            _ => None,
        });
        let made = made.ok_or_else(|| PyValueError::new_err(format!("there is no reduction `{name}`")))?;
        let axes = axes.as_deref();
        let about = self.about(name, axes);
        Ok(self.then(made.or_raise_about(&about)?))
    }

    /// The norm of vectors along axes.
    #[pyo3(signature = (axes = None, keepdims = false, ord = 2.0))]
    fn vector_norm(
        &self,
        py: Python<'_>,
        axes: Option<Vec<isize>>,
        keepdims: bool,
        ord: f64,
    ) -> PyResult<Handle> {
        let over = over(axes, keepdims, None)?;
        let made = with_promotion(self.rule(py)?, || self.array.vector_norm(over, ord));
        Ok(self.then(made.or_raise()?))
    }

    /// `cumulative_sum` or `cumulative_prod`.
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
        let made = with_promotion(self.rule(py)?, || match name {
            "cumulative_sum" => Some(self.array.cumulative_sum(axis, dtype, include_initial)),
            "cumulative_prod" => Some(self.array.cumulative_prod(axis, dtype, include_initial)),
            _ => None,
        });
        let made =
            made.ok_or_else(|| PyValueError::new_err(format!("there is no cumulative function `{name}`")))?;
        let about = self.about(name, axis.as_ref().map(std::slice::from_ref));
        Ok(self.then(made.or_raise_about(&about)?))
    }

    /// The products of two arrays' elements, added up along an axis.
    fn vecdot(&self, py: Python<'_>, other: &Bound<'_, PyAny>, axis: isize) -> PyResult<Handle> {
        let (given, other) = (self.operand(), operand(other)?);
        let by_numpy = given.by_numpy || other.by_numpy;
        let before = self.work.or(other.work);
        let origin = self.origin.joined(&other.origin);
        let (arrays, is_traced) = origin::operands(None, SmallVec::from_iter([given, other]))?;
        let about =
            About { operation: Some("vecdot"), operands: &arrays, axes: Some(std::slice::from_ref(&axis)) };
        let mode = if by_numpy { Promotion::NumPy } else { self.rule(py)? };
        let made = with_promotion(mode, || arrays[0].vecdot(&arrays[1], axis));
        let array = made.or_raise_about(&about)?;
        let origin = if is_traced { Origin::Traced } else { origin };
        Ok(Handle { array, work: before.then(), origin, by_numpy })
    }

    fn reshape(&self, shape: Vec<isize>) -> PyResult<Handle> {
        let about = self.about("reshape", None);
        Ok(self.then(self.array.reshape(&shape).or_raise_about(&about)?))
    }

    fn permute_dims(&self, axes: Vec<isize>) -> PyResult<Handle> {
        let about = self.about("permute_dims", Some(&axes));
        Ok(self.then(self.array.permute_dims(&axes).or_raise_about(&about)?))
    }

    fn broadcast_to(&self, shape: Vec<usize>) -> PyResult<Handle> {
        let about = self.about("broadcast_to", None);
        Ok(self.then(self.array.broadcast_to(&shape).or_raise_about(&about)?))
    }

    fn expand_dims(&self, axis: isize) -> PyResult<Handle> {
        let about = self.about("expand_dims", Some(std::slice::from_ref(&axis)));
        Ok(self.then(self.array.expand_dims(axis).or_raise_about(&about)?))
    }

    fn squeeze(&self, axis: isize) -> PyResult<Handle> {
        let about = self.about("squeeze", Some(std::slice::from_ref(&axis)));
        Ok(self.then(self.array.squeeze(axis).or_raise_about(&about)?))
    }

    fn flip(&self, axis: isize) -> PyResult<Handle> {
        let about = self.about("flip", Some(std::slice::from_ref(&axis)));
        Ok(self.then(self.array.flip(axis).or_raise_about(&about)?))
    }

    /// The index of each element along an axis, as int64.
    fn indices(&self, axis: isize) -> PyResult<Handle> {
        Ok(self.then(self.array.indices(axis).or_raise()?))
    }

    /// For each of the others, whether evaluating it computes something that evaluating this computes as well.
    fn shares_work(&self, others: Vec<PyRef<'_, Handle>>) -> Vec<bool> {
        let others: Vec<&Array<'static>> = others.iter().map(|other| &other.array).collect();
        self.array.shares_work(&others)
    }

    /// The elements at one int or slice per leading axis.
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

    /// The values, in memory of ours.
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

    /// Computes into an array of NumPy's of the same shape and dtype.
    #[pyo3(signature = (out, progress = None, **options))]
    fn evaluate_into(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyUntypedArray>,
        progress: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = of_evaluation(options)?;
        let memory = NumpyMemory::of(out).map_err(|why| why.exception(out))?;
        if !memory.is_writeable {
            return Err(PyValueError::new_err("out: the array is read-only"));
        }
        if memory.dtype != self.array.dtype() {
            let (is, given) = (self.array.dtype(), memory.dtype);
            return Err(PyTypeError::new_err(format!("out: the result is {is}, the array {given}")));
        }
        self.check_values(py)?;
        self.check_lenders(py)?;
        // SAFETY: `out` is borrowed for as long as the view is used, and writeable.
        let view = unsafe { memory.view_mut() }?;
        compute(py, progress, |control| self.array.eval_into_view(view, &options, Some(control)))
    }

    /// The values as an array of NumPy's over memory of ours, without a copy: read-only if this handle has that memory too.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array =
            if self.array.is_evaluated() { self.array.clone() } else { self.evaluated(py, None, None)? };
        memory::share(py, array)
    }

    /// The value of one element, as a bool, int or float of Python's.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array =
            if self.array.is_evaluated() { self.array.clone() } else { self.evaluated(py, None, None)? };
        memory::share(py, array)?.call_method0("item")
    }

    /// How it would be evaluated, as text; with the code of each kernel, if that is requested.
    #[pyo3(signature = (code = false, **options))]
    fn explain(&self, code: bool, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        self.array.explain_with(&of_evaluation(options)?, code).or_raise()
    }

    /// How it would be evaluated, as a page.
    #[pyo3(signature = (title = "broadloom", code = true))]
    fn explain_html(&self, title: &str, code: bool) -> PyResult<String> {
        let explanation = self.array.explanation(&of_evaluation(None)?, code).or_raise()?;
        Ok(explanation.to_html(title))
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

/// An operand: a handle or a number.
pub fn operand(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Ok(handle) = object.cast_exact::<Handle>() {
        return Ok(handle.get().operand());
    }
    let is_integer = object.is_instance_of::<PyInt>();
    let number = match number(object) {
        // Comparisons with integers take it; among floats it is an error.
        Err(_) if is_integer => Literal::Float(if object.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }),
        made => made?,
    };
    let is_huge = is_integer && matches!(number, Literal::Float(_));
    let array = Array::scalar(number);
    Ok(Operand {
        array,
        is_number: true,
        is_huge,
        work: Work::default(),
        origin: Origin::Generated,
        by_numpy: false,
    })
}
