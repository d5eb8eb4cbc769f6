//! The text that a thread evaluated last, for `re_evaluate`.
//!
//! It is stored in Python's dictionary for the thread and not in a Rust thread-local variable. The destructor of a thread-local
//! variable would run without the GIL, while the interpreter ends the thread. A Python reference must not be dropped then.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};
use pyo3::{ffi, intern};

use super::layout::ResultOrder;
use super::plan::Plan;

/// The plan and variables that `re_evaluate` runs.
#[pyclass(frozen, module = "broadloom._core")]
pub struct LastPlan {
    pub plan: Py<Plan>,
    pub out: Option<Py<PyWeakrefReference>>,
    pub order: ResultOrder,
    pub rule: usize,
}

/// Python's dictionary of the current thread.
fn of_thread(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: the GIL is held. The call returns a reference borrowed from the thread's state, or null if there is no state.
    let dict = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyThreadState_GetDict()) };
    let dict = dict.ok_or_else(|| PyRuntimeError::new_err("this thread has no state of Python's"))?;
    Ok(dict.cast_into::<PyDict>()?)
}

/// The evaluation that this thread ran last.
pub fn last(py: Python<'_>) -> PyResult<Option<Bound<'_, LastPlan>>> {
    let found = of_thread(py)?.get_item(intern!(py, "broadloom.numexpr"))?;
    found.map(|found| Ok(found.cast_into::<LastPlan>()?)).transpose()
}

/// Records the evaluation that this thread runs, for `re_evaluate`.
pub fn remember(
    plan: &Bound<'_, Plan>,
    out: Option<&Bound<'_, PyAny>>,
    order: ResultOrder,
    rule: usize,
) -> PyResult<()> {
    let py = plan.py();
    // PERF: nothing is stored if the thread evaluates the same text again, as loops do.
    if out.is_none()
        && let Some(last) = last(py)?
    {
        let last = last.get();
        if last.plan.is(plan) && last.out.is_none() && (last.order, last.rule) == (order, rule) {
            return Ok(());
        }
    }
    let out = out.map(|out| PyWeakrefReference::new(out).map(Bound::unbind)).transpose()?;
    let made = LastPlan { plan: plan.clone().unbind(), out, order, rule };
    of_thread(py)?.set_item(intern!(py, "broadloom.numexpr"), Bound::new(py, made)?)
}
