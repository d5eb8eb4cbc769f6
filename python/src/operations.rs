//! Functions of the op table applied to handles and numbers under a promotion rule, and the evaluation of several handles at
//! once.

use broadloom::{Array, Evaluation, Literal, Op, Promotion, with_promotion};
use numpy::PyArrayDescr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::dtype;
use crate::error::{About, OrRaise};
use crate::handle::{Handle, operand};
use crate::number::beyond_floats;
use crate::options::{current, of_evaluation, rule};
use crate::origin::HandleOperand;
use crate::run::compute;

/// Applies a function of the op table to handles and numbers; with NumPy's promotion of mixed kinds if that is requested.
#[pyfunction]
#[pyo3(signature = (op, *operands, numpy_promotion = false))]
pub fn apply(op: &str, operands: &Bound<'_, PyTuple>, numpy_promotion: bool) -> PyResult<Handle> {
    applied(op, operands_of(operands)?, rule(numpy_promotion))
}

/// Applies a function of the op table to handles and numbers. It uses NumPy's promotion if one of the handles or the current
/// options require it, else the standard's.
#[pyfunction]
#[pyo3(signature = (op, *operands))]
pub fn promoted(py: Python<'_>, op: &str, operands: &Bound<'_, PyTuple>) -> PyResult<Handle> {
    let given = operands_of(operands)?;
    let by_numpy = given.iter().any(|operand| operand.by_numpy) || current(py)?.by_numpy;
    applied(op, given, rule(by_numpy))
}

/// The dtype to which the operands of a function promote, by NumPy's rules if that is requested, or else by the standard's. Errors
/// name the function.
#[pyfunction]
#[pyo3(signature = (function, *operands, numpy_promotion = false))]
pub fn result_type<'py>(
    py: Python<'py>,
    function: &str,
    operands: &Bound<'py, PyTuple>,
    numpy_promotion: bool,
) -> PyResult<Bound<'py, PyArrayDescr>> {
    let arrays: SmallVec<[Array<'static>; 4]> =
        operands_of(operands)?.into_iter().map(|operand| operand.array).collect();
    let about = About { operation: Some(function), operands: &arrays, axes: None };
    let promote = || broadloom::result_type(function, &arrays).or_raise_about(&about);
    dtype::numpy(py, with_promotion(rule(numpy_promotion), promote)?)
}

/// Whether operators of these handles use NumPy's promotion, because one of the handles or the current options require it.
#[pyfunction]
#[pyo3(signature = (*handles))]
pub fn by_numpy(py: Python<'_>, handles: &Bound<'_, PyTuple>) -> PyResult<bool> {
    let has_rule =
        |object: Bound<'_, PyAny>| object.cast_exact::<Handle>().is_ok_and(|handle| handle.get().by_numpy);
    Ok(current(py)?.by_numpy || handles.iter().any(has_rule))
}

fn operands_of(operands: &Bound<'_, PyTuple>) -> PyResult<SmallVec<[HandleOperand; 3]>> {
    operands.iter().map(|given| operand(&given)).collect()
}

/// If no other operand is a float, replaces each integer of more than 128 bits by the minimum or maximum 128-bit integer. That
/// integer is outside the range of every dtype too, so comparisons stay exact and other operations raise an error.
#[cold]
fn among_integers(given: &mut [HandleOperand]) -> PyResult<()> {
    let is_among_floats = given.iter().any(|operand| !operand.is_huge && operand.array.dtype().is_float());
    for operand in given.iter_mut().filter(|operand| operand.is_huge) {
        let array = &mut operand.array;
        let value = array.item::<f64>().or_raise()?;
        if !is_among_floats {
            *array = Array::scalar(Literal::Int(if value < 0.0 { i128::MIN } else { i128::MAX }));
        } else if value.is_infinite() {
            return Err(beyond_floats());
        }
    }
    Ok(())
}

fn applied(op: &str, mut given: SmallVec<[HandleOperand; 3]>, mode: Promotion) -> PyResult<Handle> {
    let op =
        Op::from_name(op).ok_or_else(|| PyValueError::new_err(format!("there is no function `{op}`")))?;
    if given.iter().any(|operand| operand.is_huge) {
        among_integers(&mut given)?;
    }
    with_promotion(mode, || {
        Handle::of_operands(Some(op), given, |arrays| {
            let about = About { operation: Some(op.name()), operands: arrays, axes: None };
            Array::apply(op, arrays).or_raise_about(&about)
        })
    })
}

/// Evaluates several handles in one pass.
#[pyfunction]
#[pyo3(signature = (handles, progress = None, **options))]
pub fn evaluate_many(
    py: Python<'_>,
    handles: Vec<PyRef<'_, Handle>>,
    progress: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Handle>> {
    let options = of_evaluation(options)?;
    let arrays: Vec<Array<'static>> = handles.iter().map(|handle| handle.array.clone()).collect();
    let rules: Vec<bool> = handles.iter().map(|handle| handle.by_numpy).collect();
    handles.iter().try_for_each(|handle| handle.check_values(py))?;
    handles.iter().try_for_each(|handle| handle.check_lenders(py))?;
    drop(handles);
    let roots: Vec<&Array<'_>> = arrays.iter().collect();
    let made =
        compute(py, progress, |control| Evaluation::with(&options).control(control).eval_many(&roots))?;
    Ok(made.into_iter().zip(rules).map(|(array, by_numpy)| Handle::evaluated_to(array, by_numpy)).collect())
}

/// The names of the kernel inputs that handles depend on, without duplicates.
#[pyfunction]
pub fn input_names(handles: Vec<PyRef<'_, Handle>>) -> PyResult<Vec<String>> {
    let arrays = handles.iter().map(|handle| handle.array()).collect::<PyResult<Vec<_>>>()?;
    let roots: Vec<&Array<'_>> = arrays.iter().collect();
    Ok(Array::input_names(&roots).into_iter().map(str::to_owned).collect())
}
