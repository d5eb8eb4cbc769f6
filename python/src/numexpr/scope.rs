//! Looks up the variables of a text in mappings that the caller passes, or in its frame.

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use smallvec::SmallVec;

/// The values of a plan's variables, in the order of their names.
pub type Values<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

/// The scope of a text's variables: dictionaries that the caller passes, or its frame.
pub struct Scope<'a, 'py> {
    pub locals: Option<&'a Bound<'py, PyAny>>,
    pub globals: Option<&'a Bound<'py, PyAny>>,
    /// The number of frames between the calling frame and the one whose variables are used.
    pub above: usize,
}

impl<'py> Scope<'_, 'py> {
    /// The values of the variables with these names.
    pub fn values(&self, py: Python<'py>, names: &[Py<PyString>]) -> PyResult<Values<'py>> {
        if let (Some(locals), Some(globals)) = (self.locals, self.globals) {
            return values_of(py, names, locals, globals);
        }
        let (locals, globals) = self.of_frame(py)?;
        let values = values_of(py, names, self.locals.unwrap_or(&locals), self.globals.unwrap_or(&globals));
        if self.locals.is_none() && !locals.is(&globals) {
            clear_snapshot(&locals);
        }
        values
    }

    /// The local and the global variables of the selected frame.
    fn of_frame(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if self.above > 0 {
            let frame = py.import("sys")?.getattr("_getframe")?.call1((self.above,))?;
            return Ok((frame.getattr("f_locals")?, frame.getattr("f_globals")?));
        }
        // SAFETY: the GIL is held. The result is null, or borrowed from the frame, which stays alive during this call.
        let globals = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetGlobals()) };
        let none = || PyRuntimeError::new_err("there is no frame to look for variables in");
        let globals = globals.ok_or_else(none)?;
        let locals = match self.locals {
            Some(given) => given.clone(),
            // SAFETY: the GIL is held. The result is borrowed from the frame, or null with an exception set.
            None => unsafe { Bound::from_borrowed_ptr_or_err(py, ffi::PyEval_GetLocals()) }?,
        };
        Ok((locals, globals))
    }
}

/// The value of a name in a mapping; `None` if it is missing.
fn look_up<'py>(
    scope: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(scope) = scope.cast_exact::<PyDict>() {
        return scope.get_item(name);
    }
    match scope.get_item(name) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyKeyError>(scope.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Empties the dictionary of a frame's local variables, so that it does not keep their values alive. A namespace that is also
/// used elsewhere (by a class body or `exec`, or because `locals()` returned it) has a larger reference count, and is left
/// unchanged.
fn clear_snapshot(locals: &Bound<'_, PyAny>) {
    // SAFETY: the object is alive and the GIL is held.
    let references = unsafe { ffi::Py_REFCNT(locals.as_ptr()) };
    if references == 2
        && let Ok(locals) = locals.cast_exact::<PyDict>()
    {
        locals.clear();
    }
}

/// Looks up each name in the first scope, and then in the second.
fn values_of<'py>(
    py: Python<'py>,
    names: &[Py<PyString>],
    locals: &Bound<'py, PyAny>,
    globals: &Bound<'py, PyAny>,
) -> PyResult<Values<'py>> {
    let mut values = Values::new();
    for name in names {
        let name = name.bind(py);
        let found = match look_up(locals, name)? {
            Some(found) => Some(found),
            None => look_up(globals, name)?,
        };
        values.push(found.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?);
    }
    Ok(values)
}
