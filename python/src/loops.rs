//! Loops, conditionals, scans and reductions whose functions are Python functions.
//!
//! The functions are called with handles that have no values, and return handles or numbers. An exception of theirs is raised as
//! it is. A number that a kernel receives when it runs may be an initial value: like a literal, it takes the dtype that the body
//! gives it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use broadloom::{Along, Array, Error, ErrorKind, with_promotion};
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::smallvec;

use crate::error::{About, OrRaise};
use crate::handle::{Handle, operand};
use crate::number::beyond_floats;
use crate::options::{current, rule};
use crate::origin::{self, HandleOrigin, Parameter};

/// Repeats a body while a condition holds. The condition returns a list with one handle or number, and the body a list with the
/// next value of each carried one.
#[pyfunction]
#[pyo3(signature = (condition, body, state, limit = None))]
pub fn while_loop(
    condition: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    state: Vec<Bound<'_, PyAny>>,
    limit: Option<u64>,
) -> PyResult<Vec<Handle>> {
    let of = PythonLoop::new(condition.py(), "while_loop", state)?;
    let tested = |state: &[Array<'static>]| {
        let mut values = of.call(condition, state)?;
        values.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "a condition without a value"))
    };
    let next = |state: &[Array<'static>]| of.call(body, state);
    of.run(&|state| broadloom::try_while_loop(&tested, &next, state, limit))
}

/// Repeats a body for each integer of a range. The body takes a list with the integer and the carried values.
#[pyfunction]
pub fn fori_loop(
    lower: &Bound<'_, PyAny>,
    upper: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    state: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Handle>> {
    let mut of = PythonLoop::new(body.py(), "fori_loop", state)?;
    let [lower, upper] = [of.bound(lower)?, of.bound(upper)?];
    let next = |i: &Array<'static>, state: &[Array<'static>]| {
        of.call(body, &[std::slice::from_ref(i), state].concat())
    };
    of.run(&|state| broadloom::try_fori_loop(&lower, &upper, &next, state))
}

/// Computes one of two branches for each element. The functions take an empty list, and return lists of handles or numbers.
#[pyfunction]
pub fn cond(
    predicate: &Bound<'_, PyAny>,
    then: &Bound<'_, PyAny>,
    otherwise: &Bound<'_, PyAny>,
) -> PyResult<Vec<Handle>> {
    let mut of = PythonLoop::new(predicate.py(), "cond", Vec::new())?;
    let predicate = of.bound(predicate)?;
    of.run(&|_| broadloom::try_cond(&predicate, || of.call(then, &[]), || of.call(otherwise, &[])))
}

/// Runs a step along an axis of inputs. The step takes a list with the states and the elements of the inputs, and returns a list
/// with the next states and the outputs. Returns the last states and the outputs.
#[pyfunction]
#[pyo3(signature = (step, state, inputs, axis, reverse, length = None))]
pub fn scan(
    step: &Bound<'_, PyAny>,
    state: Vec<Bound<'_, PyAny>>,
    inputs: Vec<Bound<'_, PyAny>>,
    axis: isize,
    reverse: bool,
    length: Option<usize>,
) -> PyResult<Vec<Handle>> {
    let mut of = PythonLoop::new(step.py(), "scan", state)?;
    let inputs = inputs.iter().map(|input| of.bound(input)).collect::<PyResult<Vec<_>>>()?;
    let mut along = Along::axis(axis);
    if reverse {
        along = along.reverse();
    }
    if let Some(length) = length {
        along = along.length(length);
    }
    let called = |state: &[Array<'static>], elements: &[Array<'static>]| {
        let mut next = of.call(step, &[state, elements].concat())?;
        let outputs = next.split_off(state.len().min(next.len()));
        Ok((next, outputs))
    };
    of.run(&|state| {
        let (last, outputs) = broadloom::try_scan(&called, state, &inputs, along)?;
        Ok([last, outputs].concat())
    })
}

/// Reduces values together along an axis. The function takes a list with the left elements and the right ones, and returns a list
/// with one of each value.
#[pyfunction]
pub fn reduce(
    combine: &Bound<'_, PyAny>,
    identity: Vec<Bound<'_, PyAny>>,
    values: Vec<Bound<'_, PyAny>>,
    axis: isize,
) -> PyResult<Vec<Handle>> {
    let mut of = PythonLoop::new(combine.py(), "reduce", identity)?;
    let values = values.iter().map(|value| of.bound(value)).collect::<PyResult<Vec<_>>>()?;
    let called =
        |left: &[Array<'static>], right: &[Array<'static>]| of.call(combine, &[left, right].concat());
    of.run(&|identity| broadloom::try_reduce(&called, identity, &values, axis))
}

/// A function that builds a loop from its initial state.
type BuildLoop<'b> = dyn Fn(&[Array<'static>]) -> broadloom::Result<Vec<Array<'static>>> + 'b;

/// The number of operations as which a loop counts in the depth of its results. It is large enough that evaluating one of them
/// evaluates the others too (`MIN_DEPTH` in `_shared_work.py`).
const DEPTH: u32 = 8;

/// A loop that is built.
struct PythonLoop<'py> {
    py: Python<'py>,
    /// The name of the function in errors.
    name: &'static str,
    state: Vec<Array<'static>>,
    /// The initial values that a kernel receives when it runs, each with its index in the state.
    parameters: Vec<(usize, Arc<Parameter>)>,
    /// Whether handles in the loop use NumPy's promotion regardless of the current rule.
    by_numpy: bool,
    /// The greatest depth of a handle that takes part.
    depth: Cell<u32>,
    /// The exception of a function.
    failed: RefCell<Option<PyErr>>,
}

impl<'py> PythonLoop<'py> {
    fn new(py: Python<'py>, name: &'static str, given: Vec<Bound<'py, PyAny>>) -> PyResult<PythonLoop<'py>> {
        let (mut state, mut parameters) = (Vec::with_capacity(given.len()), Vec::new());
        let (mut by_numpy, mut depth) = (false, 0);
        for (i, given) in given.iter().enumerate() {
            let operand = operand(given)?;
            by_numpy |= operand.by_numpy;
            depth = depth.max(operand.depth);
            if let HandleOrigin::Parameter(parameter) = &operand.origin {
                state.push(parameter.literal());
                parameters.push((i, parameter.clone()));
            } else {
                state.push(array(given)?);
            }
        }
        let (depth, failed) = (Cell::new(depth), RefCell::default());
        Ok(PythonLoop { py, name, state, parameters, by_numpy, depth, failed })
    }

    /// A bound of a range, a predicate, or an input of a scan or reduction.
    fn bound(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Array<'static>> {
        let operand = operand(given)?;
        self.by_numpy |= operand.by_numpy;
        self.depth.set(self.depth.get().max(operand.depth));
        array(given)
    }

    /// Calls a function with handles that have no values. An exception is kept in `failed`.
    fn call(
        &self,
        function: &Bound<'py, PyAny>,
        values: &[Array<'static>],
    ) -> broadloom::Result<Vec<Array<'static>>> {
        let depth = self.depth.get();
        let called = || -> PyResult<Vec<Array<'static>>> {
            let handles = values.iter().map(|value| {
                let (array, origin) = (value.clone(), HandleOrigin::Traced);
                Py::new(self.py, Handle { array, depth, origin, by_numpy: self.by_numpy })
            });
            let handles = PyList::new(self.py, handles.collect::<PyResult<Vec<_>>>()?)?;
            let returned: Vec<Bound<'py, PyAny>> = function.call1((handles,))?.extract()?;
            let array = |given: &Bound<'py, PyAny>| {
                self.depth.set(self.depth.get().max(operand(given)?.depth));
                array(given)
            };
            returned.iter().map(array).collect()
        };
        called().map_err(|error| {
            self.failed.replace(Some(error));
            Error::new(ErrorKind::Internal, "a function of a loop has raised an exception")
        })
    }

    /// Builds the loop, and returns the handles of the last state.
    fn run(&self, build: &BuildLoop<'_>) -> PyResult<Vec<Handle>> {
        let rule = rule(self.by_numpy || current(self.py)?.by_numpy);
        let build = |state: &[Array<'static>]| {
            let made = with_promotion(rule, || build(state));
            let about = About { operation: Some(self.name), operands: state, axes: None };
            match self.failed.take() {
                Some(error) => Err(error),
                None => made.or_raise_about(&about),
            }
        };
        let mut made = build(&self.state)?;
        if !self.parameters.is_empty() {
            let mut state = self.state.clone();
            for (i, parameter) in &self.parameters {
                state[*i] = parameter.of(made[*i].dtype())?;
            }
            made = build(&state)?;
        }
        let depth = self.depth.get().saturating_add(DEPTH);
        let handle = |array: Array<'static>| {
            let origin = origin::of_result(&array);
            Handle { array, depth, origin, by_numpy: self.by_numpy }
        };
        Ok(made.into_iter().map(handle).collect())
    }
}

/// The array of a handle or a number. In a trace, memory is captured.
pub(crate) fn array(given: &Bound<'_, PyAny>) -> PyResult<Array<'static>> {
    let operand = operand(given)?;
    if operand.is_huge {
        return Err(beyond_floats());
    }
    let (mut arrays, _) = origin::operands(None, smallvec![operand])?;
    arrays.pop().ok_or_else(beyond_floats)
}
