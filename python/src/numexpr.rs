//! The fast path of `broadloom.numexpr`, from a text and the caller's variables to a kernel.
//!
//! A [`Plan`] represents one text: the names of its variables, and a kernel for each combination of dtypes and ranks that their
//! values have had. Python code translates a new text, and builds a kernel for a new combination; every other call is handled in
//! this module. `re_evaluate` runs the plan that the calling thread used last.

mod last;
mod layout;
mod plan;
mod scope;
mod translation;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyWeakrefMethods};

use last::{LastPlan, last, remember};
use layout::ResultOrder;
pub use plan::{Plan, numexpr_threads};
use plan::{SAFE, SAME_KIND, array_of};
use scope::Scope;
use translation::translation;

/// The cached plans of texts that are evaluated with default options. The keys are the texts. Python code adds plans and limits
/// their number.
fn plans<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDict>> {
    static PLANS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let plans = PLANS.get_or_try_init(py, || {
        translation(py, "PLANS")?.cast_into::<PyDict>().map(Bound::unbind).map_err(PyErr::from)
    })?;
    Ok(plans.bind(py))
}

/// Returns the cached plan of a text, or a new plan that Python code creates.
fn plan_of<'py>(
    py: Python<'py>,
    ex: &Bound<'py, PyAny>,
    sanitize: Option<bool>,
    keep_dtypes: bool,
    disable_cache: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Plan>> {
    // PERF: sympy passes `truediv=True` at each call, so the option does not count as a non-default one.
    let is_plain = |given: &Bound<'py, PyDict>| {
        let truediv = given.get_item(intern!(py, "truediv")).ok().flatten();
        given.len() == usize::from(truediv.is_some_and(|value| value.is_exact_instance_of::<PyBool>()))
    };
    let is_default = sanitize.is_none() && !keep_dtypes && !disable_cache && kwargs.is_none_or(is_plain);
    if is_default
        && ex.is_exact_instance_of::<PyString>()
        && let Some(plan) = plans(py)?.get_item(ex)?
    {
        return Ok(plan.cast_into::<Plan>()?);
    }
    let made = translation(py, "plan")?.call((ex, sanitize, keep_dtypes, disable_cache), kwargs)?;
    Ok(made.cast_into::<Plan>()?)
}

/// Evaluates a text of NumPy's operators and functions, element by element, in one pass.
///
/// Parameters
/// ----------
/// ex : str
///     An expression such as ``"2*a + 3*b"``. Its variables are arrays (of any shapes that broadcast), and numbers.
/// local_dict, global_dict : mapping, optional
///     The mappings that contain the variables. The default is the caller's local and global variables.
/// out : numpy.ndarray, optional
///     The array that receives the result, which is broadcast to its shape. It may be an operand. If the evaluation is
///     interrupted, its values are unspecified.
/// order : {'C', 'F', 'A', 'K'}
///     The order of the result's elements in memory.
/// casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
///     The casts that are allowed for the variables, and from the result to `out`.
/// sanitize : bool, optional
///     Whether a text that contains one of the characters ``;:[``, a name such as ``__x__``, or an attribute raises ValueError
///     before it is parsed. Parsing it raises an error in any case. The default is True, or False if the environment contains
///     ``NUMEXPR_SANITIZE=0``.
/// _frame_depth : int
///     The frame whose variables are used: 3 is the caller's frame, and 4 is the frame of the caller's caller.
/// disable_cache : bool
///     Whether the text is not cached. `re_evaluate` then doesn't find it.
/// keep_dtypes : bool
///     Whether dtypes follow broadloom's rules with NumPy's promotion, which keep float16 and small integers, instead of
///     numexpr's rules.
/// optimization : {'none', 'moderate', 'aggressive'}
///     With 'aggressive' (the default), powers with small constant exponents are computed as products.
/// truediv : {False, True, 'auto'}
///     Has no effect: the quotient ``/`` of integers is always a float.
///
/// Returns
/// -------
/// numpy.ndarray
///     `out`, or a new array. It has no dimensions if all variables are numbers.
///
/// Raises
/// ------
/// KeyError
///     If a variable is not found.
/// SyntaxError, ValueError, TypeError
///     If the text is not an expression, shapes don't broadcast, or a value or cast is not allowed.
/// NotImplementedError
///     For complex numbers and strings, and for operators that numexpr does not support for a dtype.
///
/// Examples
/// --------
/// >>> import numpy as np, broadloom.numexpr as ne
/// >>> a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
/// >>> ne.evaluate("2*a + 3*b")
/// array([11., 16.])
#[pyfunction]
#[pyo3(
    signature = (ex, local_dict = None, global_dict = None, out = None, order = None, casting = None, sanitize = None,
        _frame_depth = 3, disable_cache = false, keep_dtypes = false, **kwargs),
    text_signature = "(ex, local_dict=None, global_dict=None, out=None, order='K', casting='same_kind', sanitize=None, \
        _frame_depth=3, disable_cache=False, keep_dtypes=False, **kwargs)"
)]
#[expect(clippy::too_many_arguments, reason = "numexpr's")]
pub fn evaluate<'py>(
    py: Python<'py>,
    ex: &Bound<'py, PyAny>,
    local_dict: Option<&Bound<'py, PyAny>>,
    global_dict: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    order: Option<&Bound<'py, PyAny>>,
    casting: Option<&Bound<'py, PyAny>>,
    sanitize: Option<bool>,
    _frame_depth: usize,
    disable_cache: bool,
    keep_dtypes: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let plan = plan_of(py, ex, sanitize, keep_dtypes, disable_cache, kwargs)?;
    let scope = Scope { locals: local_dict, globals: global_dict, above: _frame_depth.saturating_sub(3) };
    let values = scope.values(py, plan.get().names())?;
    let (order, rule) = (ResultOrder::of(order)?, plan::casting(casting, SAME_KIND)?);
    out.map(array_of).transpose()?;
    if !disable_cache {
        remember(&plan, out, order, rule)?;
    }
    plan.get().compute(py, values, out, order, rule)
}

/// Evaluates again the text that this thread evaluated or validated last, with the current values of its variables.
///
/// Parameters
/// ----------
/// local_dict, global_dict : mapping, optional
///     The mappings that contain the variables. The default is the caller's local and global variables.
/// _frame_depth : int
///     The frame whose variables are used: 2 is the caller's frame.
///
/// Returns
/// -------
/// numpy.ndarray
///     The `out` of the last evaluation if it still exists, or a new array.
///
/// Raises
/// ------
/// RuntimeError
///     If this thread has not evaluated or validated anything.
///
/// Examples
/// --------
/// >>> import numpy as np, broadloom.numexpr as ne
/// >>> a = np.array([1.0, 2.0])
/// >>> ne.evaluate("a + 1")
/// array([2., 3.])
/// >>> a = np.array([3, 4])
/// >>> ne.re_evaluate()
/// array([4, 5])
#[pyfunction]
#[pyo3(signature = (local_dict = None, global_dict = None, _frame_depth = 2))]
pub fn re_evaluate<'py>(
    py: Python<'py>,
    local_dict: Option<&Bound<'py, PyAny>>,
    global_dict: Option<&Bound<'py, PyAny>>,
    _frame_depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let last = last(py)?.ok_or_else(|| {
        PyRuntimeError::new_err(
            "A previous evaluate() execution was not found, please call `validate` or `evaluate` once before `re_evaluate`",
        )
    })?;
    let LastPlan { plan, out, order, rule } = last.get();
    let out = out.as_ref().and_then(|out| out.bind(py).upgrade());
    let scope = Scope { locals: local_dict, globals: global_dict, above: _frame_depth.saturating_sub(2) };
    let plan = plan.get();
    let values = scope.values(py, plan.names())?;
    plan.compute(py, values, out.as_ref(), *order, *rule)
}

/// Checks whether a text can be evaluated with its variables, without computing it. A later `re_evaluate` computes it.
///
/// The parameters are those of `evaluate`, but the default of `casting` is 'safe'.
///
/// Returns
/// -------
/// Exception or None
///     The exception that `evaluate` would raise, or None.
///
/// Examples
/// --------
/// >>> import numpy as np, broadloom.numexpr as ne
/// >>> a = np.array([1.0, 2.0])
/// >>> ne.validate("2*a")
/// >>> ne.validate("2*nothing")
/// KeyError('nothing')
#[pyfunction]
#[pyo3(
    signature = (ex, local_dict = None, global_dict = None, out = None, order = None, casting = None, _frame_depth = 2,
        sanitize = None, disable_cache = false, keep_dtypes = false, **kwargs),
    text_signature = "(ex, local_dict=None, global_dict=None, out=None, order='K', casting='safe', _frame_depth=2, \
        sanitize=None, disable_cache=False, keep_dtypes=False, **kwargs)"
)]
#[expect(clippy::too_many_arguments, reason = "numexpr's")]
pub fn validate<'py>(
    py: Python<'py>,
    ex: &Bound<'py, PyAny>,
    local_dict: Option<&Bound<'py, PyAny>>,
    global_dict: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    order: Option<&Bound<'py, PyAny>>,
    casting: Option<&Bound<'py, PyAny>>,
    _frame_depth: usize,
    sanitize: Option<bool>,
    disable_cache: bool,
    keep_dtypes: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let validated = || {
        let plan = plan_of(py, ex, sanitize, keep_dtypes, disable_cache, kwargs)?;
        let scope = Scope { locals: local_dict, globals: global_dict, above: _frame_depth.saturating_sub(2) };
        let values = scope.values(py, plan.get().names())?;
        let (order, rule) = (ResultOrder::of(order)?, plan::casting(casting, SAFE)?);
        plan.get().check(py, values, out, rule)?;
        remember(&plan, out, order, rule)
    };
    match validated() {
        Ok(()) => Ok(py.None().into_bound(py)),
        Err(error) => {
            let is_ordinary = error.is_instance_of::<pyo3::exceptions::PyException>(py);
            if is_ordinary { Ok(error.into_value(py).into_bound(py).into_any()) } else { Err(error) }
        }
    }
}
