//! The origin of a handle's values, which tracing needs to know.
//!
//! A handle that depends on a kernel's input has no values. A [`Parameter`] is a number that a kernel receives when it runs. It
//! is typed as weakly as a literal, and becomes one input for each dtype that a literal would take in its place. Memory that is
//! combined with traced values is captured: it becomes an input that is bound to that memory.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use broadloom::{Array, DType, Dim, Literal, Op};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;

/// The origin of a handle's values.
#[derive(Clone)]
pub enum HandleOrigin {
    /// Generated without memory.
    Generated,
    /// Read from memory. The field is the NumPy array, if the handle is exactly that array.
    Memory(Option<Arc<Py<PyUntypedArray>>>),
    /// Dependent on a kernel's input, so that there are no values yet.
    Traced,
    /// A number that a kernel receives when it runs.
    Parameter(Arc<Parameter>),
}

impl HandleOrigin {
    /// Whether there are no values before a kernel runs.
    pub fn is_traced(&self) -> bool {
        matches!(self, HandleOrigin::Traced | HandleOrigin::Parameter(_))
    }

    /// The origin of the result of an operation on this and another operand.
    pub fn joined(&self, other: &HandleOrigin) -> HandleOrigin {
        match (self, other) {
            _ if self.is_traced() || other.is_traced() => HandleOrigin::Traced,
            (HandleOrigin::Generated, HandleOrigin::Generated) => HandleOrigin::Generated,
            _ => HandleOrigin::Memory(None),
        }
    }
}

/// A number that a kernel receives when it runs.
pub struct Parameter {
    name: String,
    /// A literal of the same kind (bool, int or float).
    sample: Literal,
    /// The inputs created for it so far, one per dtype.
    inputs: Mutex<Vec<Array<'static>>>,
}

impl Parameter {
    /// A parameter of the same kind as the literal.
    pub fn new(name: String, sample: Literal) -> Parameter {
        Parameter { name, sample, inputs: Mutex::default() }
    }

    /// A literal of the same kind, which has the dtype that the parameter would take in its place.
    pub fn literal(&self) -> Array<'static> {
        Array::scalar(self.sample)
    }

    /// The input for this dtype, which is created if it does not exist.
    pub fn of(&self, dtype: DType) -> PyResult<Array<'static>> {
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = inputs.iter().find(|input| input.dtype() == dtype) {
            return Ok(known.clone());
        }
        let made = Array::input(&self.input_name(dtype), dtype, &[]);
        if let Ok(made) = &made {
            inputs.push(made.clone());
        }
        drop(inputs);
        made.or_raise()
    }

    fn input_name(&self, dtype: DType) -> String {
        match dtype == self.sample.default_dtype() {
            true => self.name.clone(),
            false => format!("{}__{dtype}", self.name),
        }
    }

    /// The input for the default dtype of the parameter's kind.
    pub fn alone(&self) -> PyResult<Array<'static>> {
        self.of(self.sample.default_dtype())
    }

    /// The inputs created so far.
    pub fn inputs(&self) -> Vec<Array<'static>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An operand of an operation, made from a handle or a number.
pub struct HandleOperand {
    pub array: Array<'static>,
    pub origin: HandleOrigin,
    /// The number of operations on the longest path to memory.
    pub depth: u32,
    /// Whether it requests NumPy's promotion.
    pub by_numpy: bool,
    /// Whether it was given as a Python number.
    pub is_number: bool,
    /// Whether it was given as a Python integer beyond 128 bits, which was rounded to a float.
    pub is_huge: bool,
}

/// The operands of an operation, and the origin of its result.
pub type Traceable = (SmallVec<[Array<'static>; 3]>, HandleOrigin);

/// Memory that a traced function uses, and the input that replaces it.
pub struct Captured {
    pub origin: HandleOrigin,
    pub array: Array<'static>,
    pub input: Array<'static>,
}

thread_local! {
    /// The memory captured by each active trace of this thread, innermost trace last.
    static TRACES: RefCell<Vec<Vec<Captured>>> = const { RefCell::new(Vec::new()) };
}

thread_local! {
    /// The number of functions that this thread calls in order to differentiate what they return.
    static DERIVATIVES: Cell<usize> = const { Cell::new(0) };
}

/// Calls a function whose results are to be differentiated. Arrays that depend on its variables must not be evaluated, since the
/// values would not depend on them.
pub fn differentiating<R>(call: impl FnOnce() -> R) -> R {
    struct RestoreCount(usize);
    impl Drop for RestoreCount {
        fn drop(&mut self) {
            DERIVATIVES.set(self.0);
        }
    }
    let _restore = RestoreCount(DERIVATIVES.replace(DERIVATIVES.get() + 1));
    call()
}

/// The origin of a result of an operation that is not a function of the op table.
pub fn of_result(array: &Array<'static>) -> HandleOrigin {
    match array.has_values() && DERIVATIVES.get() == 0 {
        true => HandleOrigin::Memory(None),
        false => HandleOrigin::Traced,
    }
}

/// Begins a trace on this thread.
pub fn begin() {
    TRACES.with_borrow_mut(|traces| traces.push(Vec::new()));
}

/// Ends the innermost trace of this thread, and returns the memory it captured.
pub fn end() -> Vec<Captured> {
    TRACES.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Whether a trace is active on this thread.
pub fn is_tracing() -> bool {
    TRACES.with_borrow(|traces| !traces.is_empty())
}

/// The input that replaces memory in the innermost trace of this thread; the memory itself if no trace is active.
pub fn captured(array: Array<'static>, origin: HandleOrigin) -> PyResult<Array<'static>> {
    let made = TRACES.with_borrow_mut(|traces| {
        let Some(trace) = traces.last_mut() else { return Ok(array) };
        let same = |captured: &&Captured| match (&captured.origin, &origin) {
            (HandleOrigin::Memory(Some(a)), HandleOrigin::Memory(Some(b))) => a.as_ptr() == b.as_ptr(),
            _ => captured.array.is_same(&array),
        };
        if let Some(known) = trace.iter().find(same) {
            return Ok(known.input.clone());
        }
        let dims: Vec<Dim> = array.shape().iter().map(|&extent| Dim::Fixed(extent)).collect();
        let input = Array::input(&format!("captured_{}", trace.len()), array.dtype(), &dims)?;
        trace.push(Captured { origin, array, input: input.clone() });
        Ok(input)
    });
    made.or_raise()
}

/// Prepares the operands of an op. Its result is traced if one of them is, or if a trace is active and memory is among them.
///
/// If it is traced, parameters become inputs of the dtypes that a literal would take, memory becomes captured inputs, and arrays
/// are converted to the op's common dtype first, so that parameters are combined with that dtype only.
pub fn operands(op: Option<Op>, given: SmallVec<[HandleOperand; 3]>) -> PyResult<Traceable> {
    let origins = || given.iter().map(|operand| &operand.origin);
    let origin = origins().fold(HandleOrigin::Generated, |origin, other| origin.joined(other));
    let captures = || is_tracing() && origins().any(|of| matches!(of, HandleOrigin::Memory(_)));
    if !(origin.is_traced() || captures()) {
        return Ok((given.into_iter().map(|operand| operand.array).collect(), origin));
    }
    let literals: SmallVec<[Array<'static>; 3]> = given
        .iter()
        .map(|operand| match &operand.origin {
            HandleOrigin::Parameter(parameter) => parameter.literal(),
            _ => operand.array.clone(),
        })
        .collect();
    let has_parameter = origins().any(|origin| matches!(origin, HandleOrigin::Parameter(_)));
    let dtypes = match op {
        Some(op) if has_parameter => Some(Array::operand_dtypes(op, &literals).or_raise()?),
        _ => None,
    };
    let made = given.into_iter().enumerate().map(|(i, operand)| {
        let array = match operand.origin {
            HandleOrigin::Parameter(parameter) => {
                return match &dtypes {
                    Some(dtypes) => parameter.of(dtypes[i]),
                    None => parameter.alone(),
                };
            }
            origin @ HandleOrigin::Memory(_) => captured(operand.array, origin)?,
            HandleOrigin::Generated | HandleOrigin::Traced => operand.array,
        };
        Ok(match &dtypes {
            Some(dtypes) if !operand.is_number => array.astype(dtypes[i]),
            _ => array,
        })
    });
    Ok((made.collect::<PyResult<_>>()?, HandleOrigin::Traced))
}
