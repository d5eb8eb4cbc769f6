//! Derivatives of expressions. A function is called with variables, which have no values while it is called, and returns handles;
//! these are differentiated with respect to the variables.

use std::cell::Cell;

use broadloom::{Array, gradients};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::OrRaise;
use crate::handle::Handle;
use crate::loops::array;
use crate::origin::{self, HandleOrigin};

/// A handle of a result, which has values unless it depends on an input of a kernel.
fn settled_handle(array: Array<'static>, by_numpy: bool) -> Handle {
    let origin = origin::of_result(&array);
    Handle { array, depth: 0, origin, by_numpy }
}

fn arrays(handles: &[PyRef<'_, Handle>]) -> PyResult<Vec<Array<'static>>> {
    handles.iter().map(|handle| handle.array()).collect()
}

/// The variable for an argument: another array with the same values.
#[pyfunction]
pub fn variable(x: &Bound<'_, PyAny>) -> PyResult<Handle> {
    let by_numpy = x.cast_exact::<Handle>().is_ok_and(|handle| handle.get().by_numpy);
    let array = gradients::variable(&array(x)?).or_raise()?;
    Ok(Handle { array, depth: 0, origin: HandleOrigin::Traced, by_numpy })
}

/// Calls a function with variables among its arguments.
#[pyfunction]
#[pyo3(signature = (function, args, kwargs))]
pub fn differentiated<'py>(
    function: &Bound<'py, PyAny>,
    args: Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    origin::differentiating(|| function.call(args, Some(kwargs)))
}

/// Calls a function. The scans and loops that it makes compute their states again in reverse mode.
#[pyfunction]
pub fn checkpointed<'py>(
    function: &Bound<'py, PyAny>,
    args: Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    gradients::checkpoint(|| function.call(args, Some(kwargs)))
}

/// The handle of a result of a function that was called with variables.
#[pyfunction]
pub fn settled(x: &Handle) -> PyResult<Handle> {
    let array = x.array()?;
    let settled = settled_handle(array, x.by_numpy);
    Ok(Handle { depth: x.depth, ..settled })
}

/// A handle with the same values, which derivatives take as a constant.
#[pyfunction]
pub fn stop_gradient(x: &Bound<'_, PyAny>) -> PyResult<Handle> {
    let given = crate::handle::operand(x)?;
    Handle::of_operands(None, [given].into_iter().collect(), |arrays| {
        Ok(gradients::stop_gradient(&arrays[0]))
    })
}

/// The gradient of a number.
#[pyfunction]
pub fn grad(y: &Handle, arguments: Vec<PyRef<'_, Handle>>) -> PyResult<Vec<Handle>> {
    let (y, arguments) = (y.array()?, arrays(&arguments)?);
    let found = derived(|| gradients::grad(&y, &arguments.iter().collect::<Vec<_>>()))?;
    Ok(found.into_iter().map(|array| settled_handle(array, false)).collect())
}

/// The adjoints of arguments, from those of outputs.
#[pyfunction]
pub fn vjp(
    outputs: Vec<PyRef<'_, Handle>>,
    adjoints: Vec<PyRef<'_, Handle>>,
    arguments: Vec<PyRef<'_, Handle>>,
) -> PyResult<Vec<Handle>> {
    let [outputs, adjoints, arguments] = [arrays(&outputs)?, arrays(&adjoints)?, arrays(&arguments)?];
    let [y, v, x] = [&outputs, &adjoints, &arguments].map(|list| list.iter().collect::<Vec<_>>());
    let found = derived(|| gradients::vjp(&y, &v, &x))?;
    Ok(found.into_iter().map(|array| settled_handle(array, false)).collect())
}

/// The tangents of outputs, from those of arguments.
#[pyfunction]
pub fn jvp(
    outputs: Vec<PyRef<'_, Handle>>,
    arguments: Vec<PyRef<'_, Handle>>,
    tangents: Vec<PyRef<'_, Handle>>,
) -> PyResult<Vec<Handle>> {
    let [outputs, arguments, tangents] = [arrays(&outputs)?, arrays(&arguments)?, arrays(&tangents)?];
    let [y, x, v] = [&outputs, &arguments, &tangents].map(|list| list.iter().collect::<Vec<_>>());
    let found = derived(|| gradients::jvp(&y, &x, &v))?;
    Ok(found.into_iter().map(|array| settled_handle(array, false)).collect())
}

/// The Jacobian of an array with respect to another one, by forward or reverse mode.
#[pyfunction]
pub fn jacobian(y: &Handle, x: &Handle, is_forward: bool) -> PyResult<Handle> {
    let (y, x) = (y.array()?, x.array()?);
    let made = derived(|| if is_forward { gradients::jacfwd(&y, &x) } else { gradients::jacrev(&y, &x) })?;
    Ok(settled_handle(made, false))
}

/// The outputs of a function whose derivative is defined by a rule for tangents or, if `is_reverse`, adjoints. The function takes
/// and returns a list of handles. The rule takes two, of what stands for the arguments and of tangents or adjoints, and returns one.
#[pyfunction]
pub fn custom_rule(
    function: &Bound<'_, PyAny>,
    arguments: Vec<PyRef<'_, Handle>>,
    rule: Py<PyAny>,
    is_reverse: bool,
) -> PyResult<Vec<Handle>> {
    let (given, origin) = origin::operands(None, arguments.iter().map(|x| x.operand()).collect())?;
    let of_call = |own: &HandleOrigin| if origin.is_traced() { HandleOrigin::Traced } else { own.clone() };
    let mut failed = None;
    let mut traced: Vec<(u32, HandleOrigin, bool)> = Vec::new();
    let called = |given: &[Array<'static>]| {
        let mut call = || -> PyResult<Vec<Array<'static>>> {
            let handles = arguments.iter().zip(given).map(|(x, array)| Handle {
                array: array.clone(),
                depth: x.depth,
                origin: of_call(&x.origin),
                by_numpy: x.by_numpy,
            });
            let returned: Vec<PyRef<'_, Handle>> =
                function.call1((handles.collect::<Vec<_>>(),))?.extract()?;
            traced = returned.iter().map(|y| (y.depth, of_call(&y.origin), y.by_numpy)).collect();
            arrays(&returned)
        };
        call().map_err(|error| {
            failed = Some(error);
            broadloom::Error::new(broadloom::ErrorKind::Internal, "a function has raised an exception")
        })
    };
    let derivative = move |primals: &[Array<'static>], given: &[Array<'static>]| {
        let stand_in = |x: &Array<'static>| Handle {
            array: x.clone(),
            depth: 0,
            origin: HandleOrigin::Traced,
            by_numpy: false,
        };
        Python::attach(|py| -> PyResult<Vec<Array<'static>>> {
            let [primals, given] = [primals, given].map(|list| list.iter().map(stand_in).collect::<Vec<_>>());
            let returned: Vec<PyRef<'_, Handle>> = rule.bind(py).call1((primals, given))?.extract()?;
            arrays(&returned)
        })
        .map_err(|error| {
            RAISED.set(Some(error));
            broadloom::Error::new(broadloom::ErrorKind::Internal, "a rule has raised an exception")
        })
    };
    let given: Vec<&Array<'static>> = given.iter().collect();
    let made = match is_reverse {
        true => gradients::custom_vjp(called, &given, derivative),
        false => gradients::custom_jvp(called, &given, derivative),
    };
    if let Some(error) = failed {
        return Err(error);
    }
    let made = made.or_raise()?.into_iter().zip(traced);
    Ok(made.map(|(array, (depth, origin, by_numpy))| Handle { array, depth, origin, by_numpy }).collect())
}

thread_local! {
    /// The exception that a rule has raised while this thread makes a derivative.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Makes a derivative. An exception of a rule is raised as it is.
fn derived<T>(make: impl FnOnce() -> broadloom::Result<T>) -> PyResult<T> {
    RAISED.take();
    let made = make();
    match RAISED.take() {
        Some(error) if made.is_err() => Err(error),
        _ => made.or_raise(),
    }
}

/// Calls a function with a list of handles, which lack the axes of a batch, and returns its results over the batch. The function
/// returns a list of handles.
#[pyfunction]
pub fn vmap(
    function: &Bound<'_, PyAny>,
    arguments: Vec<Bound<'_, PyAny>>,
    in_axes: Vec<Option<isize>>,
) -> PyResult<Vec<Handle>> {
    let py = function.py();
    let given = arguments.iter().map(array).collect::<PyResult<Vec<_>>>()?;
    let mut failed = None;
    let mut by_numpy = Vec::new();
    let called = |given: &[Array<'static>]| {
        let mut call = || -> PyResult<Vec<Array<'static>>> {
            let handles = given.iter().map(|x| Handle {
                array: x.clone(),
                depth: 0,
                origin: HandleOrigin::Traced,
                by_numpy: false,
            });
            let handles = handles.map(|handle| Py::new(py, handle)).collect::<PyResult<Vec<_>>>()?;
            let returned: Vec<PyRef<'_, Handle>> = function.call1((handles,))?.extract()?;
            by_numpy = returned.iter().map(|handle| handle.by_numpy).collect();
            arrays(&returned)
        };
        call().map_err(|error| {
            failed = Some(error);
            broadloom::Error::new(broadloom::ErrorKind::Internal, "a function has raised an exception")
        })
    };
    let made = gradients::vmap(called, &given, &in_axes, 0);
    if let Some(error) = failed {
        return Err(error);
    }
    let made = made.or_raise()?;
    Ok(made.into_iter().zip(by_numpy).map(|(array, rule)| settled_handle(array, rule)).collect())
}
