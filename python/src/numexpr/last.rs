//! The last evaluation of each thread, for `re_evaluate`.
//!
//! It is kept in the dictionary that Python has for each thread, and not in a thread-local variable of Rust: the destructor of
//! such a variable would run while the interpreter ends a thread, without the GIL, where a reference to a Python object must not
//! be dropped.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};
use pyo3::{ffi, intern};

use super::layout::Order;
use super::plan::Plan;

/// A plan with the options of its last call, which `re_evaluate` runs again.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Last {
    pub plan: Py<Plan>,
    pub out: Option<Py<PyWeakrefReference>>,
    pub order: Order,
    pub rule: usize,
}

/// Python's dictionary of this thread.
fn of_thread(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    // SAFETY: the GIL is held; the dictionary is borrowed from the state of this thread, and null if the thread has none.
    let dict = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyThreadState_GetDict()) };
    let dict = dict.ok_or_else(|| PyRuntimeError::new_err("this thread has no state of Python's"))?;
    Ok(dict.cast_into::<PyDict>()?)
}

/// The last evaluation of this thread.
pub fn last(py: Python<'_>) -> PyResult<Option<Bound<'_, Last>>> {
    let found = of_thread(py)?.get_item(intern!(py, "broadloom.numexpr"))?;
    found.map(|found| Ok(found.cast_into::<Last>()?)).transpose()
}

/// Remembers what this thread evaluates.
pub fn remember(
    plan: &Bound<'_, Plan>,
    out: Option<&Bound<'_, PyAny>>,
    order: Order,
    rule: usize,
) -> PyResult<()> {
    let py = plan.py();
    // PERF: a loop evaluates the same text again, for which nothing new has to be kept.
    if out.is_none()
        && let Some(last) = last(py)?
    {
        let last = last.get();
        if last.plan.is(plan) && last.out.is_none() && (last.order, last.rule) == (order, rule) {
            return Ok(());
        }
    }
    let out = out.map(|out| PyWeakrefReference::new(out).map(Bound::unbind)).transpose()?;
    let made = Last { plan: plan.clone().unbind(), out, order, rule };
    of_thread(py)?.set_item(intern!(py, "broadloom.numexpr"), Bound::new(py, made)?)
}
