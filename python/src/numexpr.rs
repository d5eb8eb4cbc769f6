//! The fast way of `broadloom.numexpr`: from a text and the caller's variables into a kernel.
//!
//! A [`Plan`] is what a text computes: the names of its variables, and a kernel for each pattern of dtypes and ranks that their
//! values had. Python translates a text that is new, and builds a kernel for a pattern that is new; every later call stays here.
//! The plan that a thread used last is what `re_evaluate` runs.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use broadloom::Literal;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{Borrowed, ffi};
use smallvec::SmallVec;

use crate::dispatch::{Known, Shapes, Signature, described, signature};
use crate::dtype;
use crate::entry::{Argument, Entry};
use crate::memory::{self, Axes, NumpyMemory};
use crate::repeat::Repeats;

/// The module that translates, converts and complains: what a call that is not the common one needs.
fn translation<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("broadloom.numexpr._plans").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// The plans of texts that are evaluated with default options. Python adds to them and bounds their number.
fn plans<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDict>> {
    static PLANS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let plans = PLANS.get_or_try_init(py, || {
        translation(py, "PLANS")?.cast_into::<PyDict>().map(Bound::unbind).map_err(PyErr::from)
    })?;
    Ok(plans.bind(py))
}

/// How many threads kernels are built for.
static THREADS: AtomicU8 = AtomicU8::new(1);

/// Sets how many threads `broadloom.numexpr` computes with, and returns how many there were.
#[pyfunction]
pub fn numexpr_threads(threads: u8) -> u8 {
    THREADS.swap(threads, Ordering::Relaxed)
}

/// The order of elements in memory of a result, as NumPy's letters have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    C,
    F,
    A,
    K,
}

impl Order {
    fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Order> {
        let Some(given) = given else { return Ok(Order::K) };
        let letter = given.cast::<PyString>().map_or(Ok(None), |text| text.to_str().map(Some))?;
        match letter {
            Some("K" | "k") => Ok(Order::K),
            Some("C" | "c") => Ok(Order::C),
            Some("F" | "f") => Ok(Order::F),
            Some("A" | "a") => Ok(Order::A),
            None => Err(PyTypeError::new_err(format!("order must be str, not {}", given.get_type().name()?))),
            Some(_) => Err(PyValueError::new_err(format!(
                "order must be one of 'C', 'F', 'A', or 'K' (got {})",
                given.repr()?
            ))),
        }
    }
}

/// NumPy's rules for casts, the strictest first.
const CASTINGS: [&str; 5] = ["no", "equiv", "safe", "same_kind", "unsafe"];

/// The number of a rule in [`CASTINGS`].
fn casting(given: Option<&Bound<'_, PyAny>>, default: usize) -> PyResult<usize> {
    let Some(given) = given else { return Ok(default) };
    let Ok(name) = given.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("casting must be str, not {}", given.get_type().name()?)));
    };
    let name = name.to_str()?;
    CASTINGS.iter().position(|of| *of == name).ok_or_else(|| {
        let shown = given.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!(
            "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got {shown})"
        ))
    })
}

const SAFE: usize = 2;
const SAME_KIND: usize = 3;

/// What a plan does for one pattern of arguments.
struct Built {
    key: Signature,
    what: What,
    /// A bit for each rule of [`CASTINGS`] that allows the casts of the inputs and of the result.
    allowed: u8,
}

enum What {
    Kernel(Box<Known>),
    /// A text without variables: each call gets a copy.
    Constant(Py<PyAny>),
}

/// As many patterns of a plan are kept as these at most; the oldest goes first.
const PATTERNS: usize = 64;

/// What a text computes. `build(signature, out, threads)` gives, for a pattern of arguments, an `Entry` (or an array,
/// where there are no variables) and a bit for each rule of casting that allows it; `refuse(signature, casting, out)` raises.
#[pyclass(frozen, module = "broadloom._core")]
pub struct Plan {
    names: Vec<Py<PyString>>,
    builder: Py<PyAny>,
    is_elementwise: bool,
    built: Mutex<Vec<Arc<Built>>>,
    /// For calls like the last ones.
    repeats: Repeats,
}

/// The values of a plan's variables.
type Values<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

/// Arguments for which a kernel was found.
struct Found<'py> {
    arguments: SmallVec<[Argument<'py>; 4]>,
    shapes: Shapes,
    built: Arc<Built>,
}

impl Plan {
    /// The arguments that values make, and what is built for them.
    fn find<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyUntypedArray>>,
        rule: usize,
    ) -> PyResult<Found<'py>> {
        let mut arguments: SmallVec<[Argument<'py>; 4]> = SmallVec::new();
        for value in values {
            arguments.push(match Argument::of(value) {
                Ok(Some(argument)) if is_typed(&argument) => argument,
                _ => {
                    let array = translation(py, "as_operand")?.call1((value, CASTINGS[rule]))?;
                    Argument::of(&array)?
                        .ok_or_else(|| PyTypeError::new_err("a variable can't be made an array"))?
                }
            });
        }
        let (mut key, shapes) = signature(&arguments);
        // Results of a dtype that is not ours are copied to `out` by NumPy.
        let target = out
            .and_then(|out| dtype::of_descriptor(&out.dtype()))
            .filter(|(_, native)| *native)
            .map(|(of, _)| of);
        key.push(target.map_or(255, |dtype| dtype as u8));
        let threads = THREADS.load(Ordering::Relaxed);
        key.push(threads);
        let known = {
            let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
            built.iter().rev().find(|built| built.key == key).cloned()
        };
        let target = || target.map(|dtype| dtype::numpy(py, dtype)).transpose();
        let built = match known {
            Some(built) => built,
            None => {
                if self.is_elementwise {
                    broadcast(&arguments)?;
                }
                let pattern = described(py, &key, &arguments)?;
                let made = self.builder.bind(py).call_method1("build", (pattern, target()?, threads))?;
                let (what, allowed) = made.extract::<(Bound<'py, PyAny>, u8)>()?;
                let what = match what.cast_into::<Entry>() {
                    Ok(entry) => What::Kernel(Box::new(Known::new(key.clone(), None, entry.unbind()))),
                    Err(other) => What::Constant(other.into_inner().unbind()),
                };
                let made = Arc::new(Built { key, what, allowed });
                let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
                if built.len() >= PATTERNS {
                    built.remove(0);
                }
                built.push(made.clone());
                made
            }
        };
        if built.allowed & (1 << rule) == 0 {
            let pattern = described(py, &built.key, &arguments)?;
            self.builder.bind(py).call_method1("refuse", (pattern, CASTINGS[rule], target()?))?;
        }
        Ok(Found { arguments, shapes, built })
    }

    fn compute<'py>(
        &self,
        py: Python<'py>,
        values: &[Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
        order: Order,
        rule: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects: SmallVec<[Borrowed<'_, 'py, PyAny>; 4]> =
            values.iter().map(Bound::as_borrowed).collect();
        // What a call is allowed and asked for beside its values; an integer may be too large for numexpr's dtype of integers.
        let tag = (rule as u32) << 16 | (order as u32) << 8 | u32::from(THREADS.load(Ordering::Relaxed));
        if let Some(made) = self.repeats.run(py, &objects, out, tag) {
            return made;
        }
        let out = out.map(array_of).transpose()?;
        let found = self.find(py, values, out, rule)?;
        let Found { arguments, shapes, built } = &found;
        let known = match &built.what {
            What::Kernel(known) => known,
            What::Constant(value) => {
                let value = value.bind(py);
                return match out {
                    Some(out) => copy_to(out, value, rule),
                    None => value.call_method0("copy"),
                };
            }
        };
        let run =
            |out: Option<&Bound<'py, PyAny>>| known.run(py, arguments, shapes, &PyTuple::empty(py), out);
        if let Some(out) = out {
            let is_direct = self.is_elementwise
                && broadcast(arguments)?[..] == *out.shape()
                && NumpyMemory::of(out).is_ok_and(|memory| memory.is_writeable);
            return match is_direct {
                true => run(Some(out.as_any())).map(|_| out.clone().into_any()),
                false => copy_to(out, &run(None)?, rule),
            };
        }
        match self.is_elementwise.then(|| axes(arguments, order)).flatten() {
            None => {
                let (made, call) = known.results(py, arguments, shapes, &PyTuple::empty(py), None)?;
                // Arguments that were converted are not those of the next call, and an integer may be too large for numexpr's dtype.
                let is_as_given = |(value, argument): (&Bound<'py, PyAny>, &Argument<'py>)| match argument {
                    Argument::Number(number) => !matches!(number, Literal::Int(_)),
                    Argument::Array(array, _) => array.is(value),
                };
                if values.iter().zip(arguments).all(is_as_given) {
                    self.repeats.keep(py, known.entry(), &call, &objects, arguments, tag)?;
                }
                known.entry().get().rebuilt(py, made)
            }
            Some(axes) => {
                let extents = broadcast(arguments)?;
                let permuted: Axes<usize> = axes.iter().map(|&axis| extents[axis]).collect();
                let Some(port) = known.entry().get().compiled().outputs().first() else { return run(None) };
                let made = memory::new(py, port.dtype, &permuted)?;
                let mut back: Axes<usize> = axes.clone();
                for (at, &axis) in axes.iter().enumerate() {
                    back[axis] = at;
                }
                let made = made.call_method1("transpose", PyTuple::new(py, back)?)?;
                run(Some(&made))?;
                Ok(made)
            }
        }
    }
}

/// Whether a number is one that NumPy makes an int64, a float64 or a bool of.
fn is_typed(argument: &Argument<'_>) -> bool {
    !matches!(argument, Argument::Number(Literal::Int(value)) if i64::try_from(*value).is_err())
}

/// The array that a result goes to.
fn array_of<'a, 'py>(out: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    out.cast::<PyUntypedArray>().map_err(|_| PyTypeError::new_err("out must be a NumPy array"))
}

/// A result copied by NumPy to an array of another shape, dtype or alignment.
fn copy_to<'py>(
    out: &Bound<'py, PyUntypedArray>,
    result: &Bound<'py, PyAny>,
    rule: usize,
) -> PyResult<Bound<'py, PyAny>> {
    translation(out.py(), "copy_to")?.call1((out, result, CASTINGS[rule]))?;
    Ok(out.clone().into_any())
}

/// The shape that arguments broadcast to.
fn broadcast(arguments: &[Argument<'_>]) -> PyResult<Axes<usize>> {
    let mut shape: Axes<usize> = Axes::new();
    let mut fits = true;
    for argument in arguments {
        let Argument::Array(_, memory) = argument else { continue };
        while shape.len() < memory.shape.len() {
            shape.insert(0, 1);
        }
        for (extent, &of) in shape.iter_mut().rev().zip(memory.shape.iter().rev()) {
            if *extent == 1 {
                *extent = of;
            }
            fits &= of == 1 || of == *extent;
        }
    }
    if fits {
        return Ok(shape);
    }
    let shown = arguments.iter().filter_map(|argument| match argument {
        Argument::Array(_, memory) => {
            let extents: Vec<String> = memory.shape.iter().map(usize::to_string).collect();
            Some(format!("({}{})", extents.join(","), if extents.len() == 1 { "," } else { "" }))
        }
        Argument::Number(_) => None,
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    Err(PyValueError::new_err(format!("operands could not be broadcast together with shapes {shown}")))
}

/// The axes of a result from the outermost in memory to the innermost, where that is not row-major order.
fn axes(arguments: &[Argument<'_>], order: Order) -> Option<Axes<usize>> {
    let memories = || {
        arguments.iter().filter_map(|argument| match argument {
            Argument::Array(_, memory) => Some(memory),
            Argument::Number(_) => None,
        })
    };
    let rank = memories().map(|memory| memory.shape.len()).max().unwrap_or(0);
    let is_plain = || memories().all(|memory| memory.is_row_major);
    if rank < 2 || order == Order::C || (order != Order::F && is_plain()) {
        return None;
    }
    let reversed = || (0..rank).rev().collect();
    match order {
        Order::C => None,
        Order::F => Some(reversed()),
        Order::A => memories().all(is_column_major).then(reversed),
        Order::K => {
            let axes = by_strides(&memories().collect::<SmallVec<[&NumpyMemory; 4]>>(), rank);
            (!axes.is_sorted()).then_some(axes)
        }
    }
}

/// Whether elements follow each other with the first axis innermost.
fn is_column_major(memory: &NumpyMemory) -> bool {
    let mut step = 1isize;
    memory.shape.contains(&0)
        || memory.shape.iter().zip(&memory.strides).all(|(&extent, &stride)| {
            let fits = extent == 1 || stride == step;
            step *= extent as isize;
            fits
        })
}

/// The axes by decreasing strides: an insertion sort that moves an axis inwards only where an operand asks for it and none
/// objects, which is what NumPy's iterator does for `order='K'`.
fn by_strides(memories: &[&NumpyMemory], rank: usize) -> Axes<usize> {
    let stride = |memory: &NumpyMemory, axis: usize| {
        let missing = rank - memory.shape.len();
        if axis < missing { 0 } else { memory.strides[axis - missing].unsigned_abs() }
    };
    // The innermost axis comes first until the end.
    let mut sorted: Axes<usize> = (0..rank).rev().collect();
    for from in 1..rank {
        let axis = sorted[from];
        let mut to = from;
        for at in (0..from).rev() {
            let mut moves = None;
            for memory in memories {
                let (outer, inner) = (stride(memory, axis), stride(memory, sorted[at]));
                if outer != 0 && inner != 0 {
                    moves = Some(inner > outer && moves != Some(false));
                }
            }
            match moves {
                Some(true) => to = at,
                Some(false) => break,
                None => {}
            }
        }
        sorted[to..=from].rotate_right(1);
    }
    sorted.reverse();
    sorted
}

#[pymethods]
impl Plan {
    /// `names` are those of the variables, in the order of the kernels' inputs.
    #[new]
    fn new(names: Vec<Py<PyString>>, builder: Py<PyAny>, is_elementwise: bool) -> Plan {
        Plan { names, builder, is_elementwise, built: Mutex::default(), repeats: Repeats::default() }
    }

    /// Runs on values in the order of the names.
    #[pyo3(signature = (values, out = None, order = None, casting = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        order: Option<&Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if values.len() != self.names.len() {
            return Err(PyValueError::new_err(format!(
                "number of inputs doesn't match program: there are {} inputs, {} values were given",
                self.names.len(),
                values.len()
            )));
        }
        let values: Values<'py> = values.iter().collect();
        self.compute(py, &values, out, Order::of(order)?, self::casting(casting, SAFE)?)
    }
}

/// What `re_evaluate` runs.
struct Last {
    plan: Py<Plan>,
    out: Option<Py<PyWeakrefReference>>,
    order: Order,
    rule: usize,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Remembers what this thread evaluates; what it did before is dropped after the cell is free again.
fn remember(
    plan: &Bound<'_, Plan>,
    out: Option<&Bound<'_, PyAny>>,
    order: Order,
    rule: usize,
) -> PyResult<()> {
    let out = out.map(|out| PyWeakrefReference::new(out).map(Bound::unbind)).transpose()?;
    let made = Last { plan: plan.clone().unbind(), out, order, rule };
    let before = LAST.with(|last| last.borrow_mut().replace(made));
    drop(before);
    Ok(())
}

/// Where the caller's variables are: dictionaries that it gives, or its frame.
struct Scope<'a, 'py> {
    locals: Option<&'a Bound<'py, PyAny>>,
    globals: Option<&'a Bound<'py, PyAny>>,
    /// Frames above the one that called.
    above: usize,
}

/// The value of a name, or None.
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

impl<'py> Scope<'_, 'py> {
    fn values(&self, py: Python<'py>, names: &[Py<PyString>]) -> PyResult<Values<'py>> {
        if self.above == 0 {
            return self.values_here(py, names);
        }
        let frame = py.import("sys")?.getattr("_getframe")?.call1((self.above,))?;
        let of_frame = |given: Option<&Bound<'py, PyAny>>, name: &str| match given {
            Some(given) => Ok(given.clone()),
            None => frame.getattr(name),
        };
        let (locals, globals) = (of_frame(self.locals, "f_locals")?, of_frame(self.globals, "f_globals")?);
        let values = values_of(names, py, Some(&locals), &globals);
        if self.locals.is_none() && !locals.is(&globals) {
            let references = locals.as_ptr();
            drop(locals);
            drop_snapshot(py, references, &frame);
        }
        values
    }

    /// The values of the frame that called.
    fn values_here(&self, py: Python<'py>, names: &[Py<PyString>]) -> PyResult<Values<'py>> {
        // SAFETY: the GIL is held; the result is borrowed from the frame, which runs for as long as this call, or null.
        let of_frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetGlobals()) };
        let globals = match (self.globals, &of_frame) {
            (Some(given), _) => given,
            (None, Some(globals)) => globals,
            (None, None) => {
                return Err(PyRuntimeError::new_err("there is no frame to look for variables in"));
            }
        };
        if let Some(locals) = self.locals {
            return values_of(names, py, Some(locals), globals);
        }
        if names.is_empty() {
            return Ok(Values::new());
        }
        // SAFETY: as above.
        let snapshot = unsafe { ffi::PyEval_GetLocals() };
        if snapshot.is_null() {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: as above; the frame keeps it.
        let locals = unsafe { Bound::from_borrowed_ptr(py, snapshot) };
        let values = values_of(names, py, Some(&locals), globals);
        drop(locals);
        let is_globals = of_frame.is_some_and(|globals| globals.as_ptr() == snapshot);
        if !is_globals {
            clear_snapshot(snapshot);
        }
        values
    }
}

/// Empties the dictionary in which a function's frame presents its variables, so that it does not keep them alive. A namespace
/// that is someone else's too (of a class body, of `exec`, or one that `locals()` has given) stays as it is.
fn clear_snapshot(snapshot: *mut ffi::PyObject) {
    // SAFETY: the frame keeps the dictionary; with one reference, nobody else reads it, and a function's variables are not in it.
    unsafe {
        if ffi::PyDict_CheckExact(snapshot) != 0 && ffi::Py_REFCNT(snapshot) == 1 {
            ffi::PyDict_Clear(snapshot);
        }
    }
}

/// [`clear_snapshot`] for a frame further up.
fn drop_snapshot(_py: Python<'_>, snapshot: *mut ffi::PyObject, frame: &Bound<'_, PyAny>) {
    // The frame still has it, unless its variables are presented by a proxy, which is gone by now.
    let Ok(again) = frame.getattr("f_locals") else { return };
    if again.as_ptr() == snapshot {
        drop(again);
        clear_snapshot(snapshot);
    }
}

/// The values of names in the first of two scopes that has them.
fn values_of<'py>(
    names: &[Py<PyString>],
    py: Python<'py>,
    locals: Option<&Bound<'py, PyAny>>,
    globals: &Bound<'py, PyAny>,
) -> PyResult<Values<'py>> {
    let mut values = Values::new();
    for name in names {
        let name = name.bind(py);
        let mut found = None;
        if let Some(locals) = locals {
            found = look_up(locals, name)?;
        }
        if found.is_none() {
            found = look_up(globals, name)?;
        }
        values.push(found.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?);
    }
    Ok(values)
}

/// The plan of a text.
fn plan_of<'py>(
    py: Python<'py>,
    ex: &Bound<'py, PyAny>,
    sanitize: Option<bool>,
    keep_dtypes: bool,
    disable_cache: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Plan>> {
    let is_default =
        sanitize.is_none() && !keep_dtypes && !disable_cache && kwargs.is_none_or(|given| given.is_empty());
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
///     Where the variables are looked for; by default the caller's local and global variables.
/// out : numpy.ndarray, optional
///     Where the result goes; it may be an operand. The result is broadcast to its shape.
/// order : {'C', 'F', 'A', 'K'}
///     The order of the result's elements in memory.
/// casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
///     Which casts are allowed of the variables and of the result to `out`.
/// sanitize : bool, optional
///     Whether texts with the characters ``;:[``, names such as ``__x__`` and attributes are a ValueError before they are parsed;
///     they are errors in any case. By default True, unless the environment has ``NUMEXPR_SANITIZE=0``.
/// _frame_depth : int
///     The frame in which variables are looked for: 3 is the caller's, 4 that of its caller.
/// disable_cache : bool
///     Whether nothing of the text is kept; `re_evaluate` then doesn't find it.
/// keep_dtypes : bool
///     Whether dtypes are those of broadloom with NumPy's promotion (float16 and small integers stay what they are) instead of
///     numexpr's.
/// optimization : {'none', 'moderate', 'aggressive'}
///     With 'aggressive' (the default) powers with small constant exponents are products.
/// truediv : {False, True, 'auto'}
///     Without an effect: ``/`` divides.
///
/// Returns
/// -------
/// numpy.ndarray
///     `out`, or a new array; of no dimensions where all variables are numbers.
///
/// Raises
/// ------
/// KeyError
///     For a variable that is not found.
/// SyntaxError, ValueError, TypeError
///     For a text that is no expression, shapes that don't broadcast, and values or casts that are not allowed.
/// NotImplementedError
///     For complex numbers, strings, and operators that numexpr does not have for a dtype.
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
    let values = scope.values(py, &plan.get().names)?;
    let (order, rule) = (Order::of(order)?, self::casting(casting, SAME_KIND)?);
    out.map(array_of).transpose()?;
    if !disable_cache {
        remember(&plan, out, order, rule)?;
    }
    plan.get().compute(py, &values, out, order, rule)
}

/// Evaluates the text again that this thread evaluated or validated last, with the variables as they are now.
///
/// Parameters
/// ----------
/// local_dict, global_dict : mapping, optional
///     Where the variables are looked for; by default the caller's local and global variables.
/// _frame_depth : int
///     2 is the caller's frame.
///
/// Returns
/// -------
/// numpy.ndarray
///     The last `out`, while it lives, or a new array.
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
    let last = LAST.with(|last| {
        let last = last.borrow();
        last.as_ref().map(|last| {
            let out = last.out.as_ref().map(|out| out.clone_ref(py));
            (last.plan.clone_ref(py), out, last.order, last.rule)
        })
    });
    let (plan, out, order, rule) = last.ok_or_else(|| {
        PyRuntimeError::new_err(
            "A previous evaluate() execution was not found, please call `validate` or `evaluate` once before `re_evaluate`",
        )
    })?;
    let out = out.and_then(|out| out.bind(py).upgrade());
    let scope = Scope { locals: local_dict, globals: global_dict, above: _frame_depth.saturating_sub(2) };
    let plan = plan.get();
    let values = scope.values(py, &plan.names)?;
    plan.compute(py, &values, out.as_ref(), order, rule)
}

/// Looks whether a text can be evaluated with its variables, without computing it; `re_evaluate` does that then.
///
/// Parameters are those of `evaluate`, but that `casting` is 'safe' by default.
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
        sanitize = None, keep_dtypes = false, **kwargs),
    text_signature = "(ex, local_dict=None, global_dict=None, out=None, order='K', casting='safe', _frame_depth=2, \
        sanitize=None, keep_dtypes=False, **kwargs)"
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
    keep_dtypes: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let validated = || {
        let plan = plan_of(py, ex, sanitize, keep_dtypes, false, kwargs)?;
        let scope = Scope { locals: local_dict, globals: global_dict, above: _frame_depth.saturating_sub(2) };
        let values = scope.values(py, &plan.get().names)?;
        let (order, rule) = (Order::of(order)?, self::casting(casting, SAFE)?);
        let array = out.map(array_of).transpose()?;
        plan.get().find(py, &values, array, rule)?;
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
