//! Where the values of a handle come from, which a trace needs to know.
//!
//! A handle that depends on an input of kernels has no values; it is traced. A number that a kernel is given when it runs is a
//! [`Parameter`]: its dtype is as weak as a literal's, so that it becomes an input of each dtype that a literal would take in its
//! place. Memory that meets traced values is captured: it becomes an input, which is bound to that memory at each call.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use broadloom::{Array, DType, Dim, Literal, Op};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::work::Work;

/// Where the values of a handle come from.
#[derive(Clone)]
pub enum Origin {
    /// The values come from numbers alone.
    Generated,
    /// The values come from memory: that of a NumPy array, which is given if the handle is that array itself and no expression of
    /// it.
    Memory(Option<Arc<Py<PyUntypedArray>>>),
    /// The values come from an input of kernels: there are none before a kernel runs.
    Traced,
    /// The value is a number that a kernel is given when it runs.
    Parameter(Arc<Parameter>),
}

impl Origin {
    /// Whether there are no values before a kernel runs.
    pub fn is_traced(&self) -> bool {
        matches!(self, Origin::Traced | Origin::Parameter(_))
    }

    /// The origin of a result whose operands have this origin and the other one.
    pub fn joined(&self, other: &Origin) -> Origin {
        match (self, other) {
            _ if self.is_traced() || other.is_traced() => Origin::Traced,
            (Origin::Generated, Origin::Generated) => Origin::Generated,
            _ => Origin::Memory(None),
        }
    }
}

/// A number that a kernel is given when it runs, before its dtype is known.
pub struct Parameter {
    name: String,
    /// A literal of the number's kind.
    sample: Literal,
    /// The inputs that the number has become, one for each dtype.
    inputs: Mutex<Vec<Array<'static>>>,
}

impl Parameter {
    /// A parameter of the same kind as a literal.
    pub fn new(name: String, sample: Literal) -> Parameter {
        Parameter { name, sample, inputs: Mutex::default() }
    }

    /// The input of a dtype that stands for the number, which is made if there is none.
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

    /// The input of the dtype that the number has where it meets no array.
    pub fn alone(&self) -> PyResult<Array<'static>> {
        self.of(self.sample.default_dtype())
    }

    /// The inputs that the number has become, one for each dtype.
    pub fn inputs(&self) -> Vec<Array<'static>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An operand of an operation.
pub struct Operand {
    pub array: Array<'static>,
    /// Whether the operand is a Python number.
    pub is_number: bool,
    /// Whether the operand is a Python integer beyond 128 bits, rounded to a float.
    pub is_huge: bool,
    pub work: Work,
    pub origin: Origin,
    /// Whether the operand promotes by NumPy's rule, whatever is set.
    pub by_numpy: bool,
}

/// The operands of an operation, and whether they are traced.
pub type Traceable = (SmallVec<[Array<'static>; 3]>, bool);

/// Memory that a traced function uses, and the input that represents it.
pub struct Captured {
    pub origin: Origin,
    pub array: Array<'static>,
    pub input: Array<'static>,
}

thread_local! {
    /// The captured memory of each trace that this thread is in, the innermost trace last.
    static TRACES: RefCell<Vec<Vec<Captured>>> = const { RefCell::new(Vec::new()) };
}

/// Begins a trace on this thread.
pub fn begin() {
    TRACES.with_borrow_mut(|traces| traces.push(Vec::new()));
}

/// Ends the innermost trace of this thread, and returns the memory that it captured.
pub fn end() -> Vec<Captured> {
    TRACES.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Whether this thread is in a trace.
pub fn is_tracing() -> bool {
    TRACES.with_borrow(|traces| !traces.is_empty())
}

/// The input that represents memory in this thread's innermost trace; outside of a trace, the memory itself.
pub fn captured(array: Array<'static>, origin: Origin) -> PyResult<Array<'static>> {
    let made = TRACES.with_borrow_mut(|traces| {
        let Some(trace) = traces.last_mut() else { return Ok(array) };
        let same = |captured: &&Captured| match (&captured.origin, &origin) {
            (Origin::Memory(Some(a)), Origin::Memory(Some(b))) => a.as_ptr() == b.as_ptr(),
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

/// The operands of an op, and whether they are traced. They are if one of them is, or if one is in memory and this thread is in a
/// trace.
///
/// Among traced operands, parameters become inputs of the dtypes that a literal would take, and memory becomes captured inputs.
/// If there are parameters, arrays are converted as the op would convert them, so that a parameter's input meets its own dtype
/// only.
pub fn operands(op: Option<Op>, given: SmallVec<[Operand; 3]>) -> PyResult<Traceable> {
    let is_traced = given.iter().any(|operand| operand.origin.is_traced())
        || is_tracing() && given.iter().any(|operand| matches!(operand.origin, Origin::Memory(_)));
    if !is_traced {
        return Ok((given.into_iter().map(|operand| operand.array).collect(), false));
    }
    let literals: SmallVec<[Array<'static>; 3]> = given
        .iter()
        .map(|operand| match &operand.origin {
            Origin::Parameter(parameter) => Array::scalar(parameter.sample),
            _ => operand.array.clone(),
        })
        .collect();
    let has_parameter = given.iter().any(|operand| matches!(operand.origin, Origin::Parameter(_)));
    let dtypes = match op {
        Some(op) if has_parameter => Some(Array::operand_dtypes(op, &literals).or_raise()?),
        _ => None,
    };
    let made = given.into_iter().enumerate().map(|(i, operand)| {
        let array = match operand.origin {
            Origin::Parameter(parameter) => {
                return match &dtypes {
                    Some(dtypes) => parameter.of(dtypes[i]),
                    None => parameter.alone(),
                };
            }
            origin @ Origin::Memory(_) => captured(operand.array, origin)?,
            Origin::Generated | Origin::Traced => operand.array,
        };
        Ok(match &dtypes {
            Some(dtypes) if !operand.is_number => array.astype(dtypes[i]),
            _ => array,
        })
    });
    Ok((made.collect::<PyResult<_>>()?, true))
}
