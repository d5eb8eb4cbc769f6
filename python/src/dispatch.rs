//! The fast path for a call of a compiled function with NumPy arrays.
//!
//! A [`Dispatch`] computes the signature of the arguments (dtypes, ranks, and which extents are equal), looks up the kernel built
//! for that signature, and runs it. Only for a new signature does it call Python, which builds a kernel. Small inputs are copied,
//! so that the kernel reads Rust slices, which have the smallest call overhead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broadloom::{Call, In, Literal, Out};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{Borrowed, intern};
use smallvec::SmallVec;

use crate::dtype;
use crate::entry::{Argument, Entry, InputSource, shapes_of};
use crate::error::{OrRaise, is_of_shape};
use crate::kernel::{Results, given_results, results, writeable};
use crate::memory::{NumpyMemory, changed};
use crate::number::{bits, number};
use crate::options::{Context, current};
use crate::repeat::{Repeats, SHORT_WORDS};
use crate::run::compute;
use crate::table::{LastCall, Shapes, Table};

/// The dtypes, ranks and equal extents of a call's arguments, encoded as bytes for comparison.
pub type Signature = SmallVec<[u8; 32]>;

/// Computes the signature and the shapes of a call's arguments. An extent of 1 is encoded as 0. Any other extent is encoded by
/// the order in which it first occurs among the extents on the same axis, counted from the right: the first is 1, the next
/// different one is 2.
pub fn signature(arguments: &[Argument<'_>]) -> (Signature, Shapes) {
    let (mut signature, mut shapes) = (Signature::new(), Shapes::new());
    let mut seen: SmallVec<[(usize, usize, u8); 8]> = SmallVec::new();
    for argument in arguments {
        match argument {
            Argument::Number(Literal::Bool(_)) => signature.push(255),
            Argument::Number(Literal::Int(_)) => signature.push(254),
            Argument::Number(Literal::Float(_)) => signature.push(253),
            Argument::Array(_, memory) => {
                signature.push(memory.dtype as u8);
                signature.push(memory.shape.len() as u8);
                shapes.extend_from_slice(&memory.shape);
                for (position, &extent) in memory.shape.iter().rev().enumerate() {
                    let code = match extent {
                        1 => 0,
                        _ => match seen.iter().find(|(at, of, _)| (*at, *of) == (position, extent)) {
                            Some((_, _, code)) => *code,
                            None => {
                                let others = seen.iter().filter(|(at, _, _)| *at == position).count();
                                let code = (others + 1).min(255) as u8;
                                seen.push((position, extent, code));
                                code
                            }
                        },
                    };
                    signature.push(code);
                }
            }
        }
    }
    (signature, shapes)
}

/// The signature as passed to Python's `_build`: `("array", dtype, dims)` or `("scalar", kind)` per argument.
pub fn described<'py>(
    py: Python<'py>,
    signature: &Signature,
    arguments: &[Argument<'py>],
) -> PyResult<Bound<'py, PyTuple>> {
    let mut codes = signature.iter();
    let mut parts: Vec<Bound<'py, PyAny>> = Vec::new();
    for argument in arguments {
        let first = codes.next();
        let kind = match (argument, first) {
            (Argument::Array(_, memory), _) => {
                codes.next();
                let mut dims: Vec<Bound<'py, PyAny>> = Vec::new();
                for (position, code) in codes.by_ref().take(memory.shape.len()).enumerate() {
                    dims.push(match code {
                        0 => 1usize.into_pyobject(py)?.into_any(),
                        1 => format!("d{position}").into_pyobject(py)?.into_any(),
                        _ => format!("d{position}_{}", code - 1).into_pyobject(py)?.into_any(),
                    });
                }
                dims.reverse();
                let of = dtype::numpy(py, memory.dtype)?;
                parts.push(("array", of, PyTuple::new(py, dims)?).into_pyobject(py)?.into_any());
                continue;
            }
            (Argument::Number(_), Some(255)) => "bool",
            (Argument::Number(_), Some(254)) => "int",
            (Argument::Number(_), _) => "float",
        };
        parts.push(("scalar", kind).into_pyobject(py)?.into_any());
    }
    PyTuple::new(py, parts)
}

/// The key of a kernel besides the signature: the form (a number that Python assigns to each combination of static
/// arguments and keywords; 0 for none), the promotion rule, and the number of threads.
#[derive(Clone, Copy)]
struct Asked {
    form: u32,
    context: Context,
}

impl Asked {
    /// All fields in one number. It is 0 for the most common call: no static arguments, NumPy's promotion, and the default number
    /// of threads.
    #[inline]
    fn tag(self) -> u64 {
        let threads = self.context.threads.map_or(0, |threads| threads.min(1 << 30) as u64);
        u64::from(self.form) << 32 | threads << 1 | u64::from(!self.context.by_numpy)
    }
}

/// An entry of the dispatch table.
pub struct Known {
    /// The form, promotion rule and number of threads that the kernel was built for, from `Asked::tag`.
    tag: u64,
    signature: Signature,
    /// The shapes that the kernel is restricted to; `None` if it serves all shapes of the signature.
    shapes: Option<Shapes>,
    entry: Py<Entry>,
    last: LastCall,
}

/// The base class of functions that run kernels on NumPy arrays. A subclass defines `_build(signature, shapes) -> Entry`, which
/// is called for new signatures, and `_general(args, kwargs)`, which handles calls with other arguments. `_build` also receives
/// the form, the promotion rule and the number of threads of a call, if one of them is not the default.
#[pyclass(subclass, frozen, module = "broadloom._core")]
pub struct Dispatch {
    known: Table<Known>,
    /// Whether `_general` handles every call.
    is_general: AtomicBool,
    /// A cache of recent calls.
    repeats: Repeats,
}

impl Dispatch {
    /// Looks up the entry for arguments, or builds it. Also returns the shapes of the arguments.
    fn known<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        arguments: &[Argument<'py>],
        by_shape: bool,
    ) -> PyResult<(Arc<Known>, Shapes)> {
        let (py, this) = (slf.py(), slf.get());
        let (signature, shapes) = signature(arguments);
        let tag = asked.tag();
        let fits = |known: &Known| {
            known.tag == tag
                && known.signature == signature
                && known.shapes.as_ref().map_or(!by_shape, |of| *of == shapes)
        };
        if let Some(known) = this.known.find(fits) {
            return Ok((known, shapes));
        }
        let described = described(py, &signature, arguments)?;
        let of_arrays = shapes_of(arguments).map(|shape| PyTuple::new(py, shape));
        let extents = PyList::new(py, of_arrays.collect::<PyResult<Vec<_>>>()?)?;
        let Context { by_numpy, threads } = asked.context;
        let built = match tag {
            _ if by_shape => {
                slf.call_method1("_build", (described, extents, asked.form, by_numpy, threads, true))?
            }
            0 => slf.call_method1("_build", (described, extents))?,
            _ => slf.call_method1("_build", (described, extents, asked.form, by_numpy, threads))?,
        };
        let entry = built.cast_into::<Entry>()?.unbind();
        let of_entry = entry.get().is_by_shape().then(|| shapes.clone());
        Ok((this.known.insert(Known::new(tag, signature, of_entry, entry)), shapes))
    }

    /// Runs a call, or passes it to `general` if an argument is neither an exact `numpy.ndarray` nor a number.
    #[inline(always)]
    fn called<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        general: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tag) = (slf.py(), asked.tag());
        let objects: SmallVec<[Borrowed<'_, 'py, PyAny>; 4]> = args.iter_borrowed().collect();
        if let Some(made) = slf.get().repeats.run(py, &objects, out, tag) {
            return made;
        }
        let mut arguments: SmallVec<[Argument<'py>; 4]> = SmallVec::new();
        for object in &objects {
            match Argument::of(object)? {
                Some(argument) => arguments.push(argument),
                None => return general(),
            }
        }
        match Dispatch::run(slf, asked, &objects, &mut arguments, args, out, false) {
            // What the kernel for all extents refuses of these may be right: an extent that is 1 repeats.
            Err(error) if is_of_shape(py, &error) => {
                arguments.truncate(objects.len());
                Dispatch::run(slf, asked, &objects, &mut arguments, args, out, true)
            }
            made => made,
        }
    }

    /// Runs a call.
    fn run<'py>(
        slf: &Bound<'py, Self>,
        asked: Asked,
        objects: &[Borrowed<'_, 'py, PyAny>],
        arguments: &mut SmallVec<[Argument<'py>; 4]>,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        by_shape: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tag) = (slf.py(), asked.tag());
        let (known, mut shapes) = Dispatch::known(slf, asked, arguments, by_shape)?;
        for captured in known.entry.get().captured() {
            let array = captured.bind(py).cast::<PyUntypedArray>()?.clone();
            let memory = NumpyMemory::of(&array).map_err(|why| why.exception(&array))?;
            shapes.extend_from_slice(&memory.shape);
            arguments.push(Argument::Array(array, memory));
        }
        let (made, call) = known.results(py, arguments, &shapes, args, out)?;
        if out.is_none_or(|out| out.is_none() || made.len() == 1) {
            slf.get().repeats.keep(py, &known.entry, &call, objects, arguments, tag)?;
        }
        known.entry.get().rebuilt(py, made)
    }
}

#[pymethods]
impl Dispatch {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Dispatch {
        Dispatch { known: Table::default(), is_general: AtomicBool::new(false), repeats: Repeats::default() }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let general = || slf.call_method1("_general", (args, kwargs));
        if slf.get().is_general.load(Ordering::Relaxed) {
            return general();
        }
        let mut out = None;
        if let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) {
            out = kwargs.get_item(intern!(py, "out"))?;
            if out.is_none() || kwargs.len() > 1 {
                return general();
            }
        }
        Dispatch::called(slf, Asked { form: 0, context: current(py)? }, args, out.as_ref(), general)
    }

    /// Makes `_general` handle every call, which functions with static arguments need.
    fn _see_all(&self) {
        self.is_general.store(true, Ordering::Relaxed);
    }

    /// Runs a call whose static arguments are encoded in `form`, with the remaining arguments. NumPy's promotion applies if
    /// `by_numpy` is set or it is the current rule.
    #[pyo3(signature = (form, by_numpy, args, out = None))]
    fn _call<'py>(
        slf: &Bound<'py, Self>,
        form: u32,
        by_numpy: bool,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asked = Asked { form, context: with_rule(by_numpy, current(slf.py())?) };
        Dispatch::called(slf, asked, args, out, || Err(PyTypeError::new_err(NOT_OURS)))
    }

    /// Looks up the entry for these arguments, or builds it, without running the kernel.
    #[pyo3(signature = (*args, form = 0, by_numpy = false))]
    fn entry<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        form: u32,
        by_numpy: bool,
    ) -> PyResult<Py<Entry>> {
        let arguments =
            args.iter().map(|object| Argument::of(&object)?.ok_or_else(|| PyTypeError::new_err(NOT_OURS)));
        let arguments = arguments.collect::<PyResult<SmallVec<[Argument<'py>; 4]>>>()?;
        let asked = Asked { form, context: with_rule(by_numpy, current(slf.py())?) };
        Ok(Dispatch::known(slf, asked, &arguments, false)?.0.entry.clone_ref(slf.py()))
    }

    /// The entries built so far, oldest first.
    fn entries(&self, py: Python<'_>) -> Vec<Py<Entry>> {
        self.known.all().iter().map(|known| known.entry.clone_ref(py)).collect()
    }
}

const NOT_OURS: &str = "expected arrays of NumPy's and numbers";

fn with_rule(by_numpy: bool, context: Context) -> Context {
    Context { by_numpy: by_numpy || context.by_numpy, ..context }
}

/// Inputs are copied if they take at most this many bytes in total.
const SHORT: usize = 8 * SHORT_WORDS;

/// The buffer that small inputs are copied into, in words of 8 bytes.
type InputBuffer = SmallVec<[u64; 64]>;

/// The location of one input of a run.
enum Given<'m> {
    /// The byte offset and size of a copy in the scratch buffer.
    Copied(usize, usize),
    /// The memory of the NumPy array itself.
    Memory(&'m NumpyMemory),
}

impl Known {
    /// An entry for a signature, without a cached call.
    pub fn new(tag: u64, signature: Signature, shapes: Option<Shapes>, entry: Py<Entry>) -> Known {
        Known { tag, signature, shapes, entry, last: LastCall::default() }
    }

    /// The kernel and the mapping of its inputs and results.
    pub fn entry(&self) -> &Py<Entry> {
        &self.entry
    }

    /// Runs the kernel on arguments of its signature, with these shapes, and returns what the function returns.
    pub fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Argument<'py>],
        shapes: &Shapes,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (made, _) = self.results(py, arguments, shapes, args, out)?;
        self.entry.get().rebuilt(py, made)
    }

    /// Determines the location of each input of the kernel. The scratch buffer that is also returned holds the numbers, and space
    /// for the arrays that will be copied.
    fn inputs<'m>(
        &self,
        arguments: &'m [Argument<'_>],
        args: &Bound<'_, PyTuple>,
        is_short: bool,
    ) -> PyResult<(InputBuffer, SmallVec<[Given<'m>; 4]>)> {
        let (entry, py) = (self.entry.get(), args.py());
        let (mut scratch, mut given) = (InputBuffer::new(), SmallVec::new());
        for (source, port) in entry.sources().iter().zip(entry.kernel().kernel().inputs()) {
            let value = match source {
                InputSource::Argument(number) => match arguments.get(*number) {
                    Some(Argument::Array(_, memory)) if memory.dtype != port.dtype => return Err(changed()),
                    Some(Argument::Array(_, memory)) => {
                        if is_short {
                            let (from, len) = (scratch.len(), memory.packed_bytes());
                            scratch.resize(from + len.div_ceil(8), 0);
                            given.push(Given::Copied(from, len));
                        } else {
                            given.push(Given::Memory(memory));
                        }
                        continue;
                    }
                    Some(Argument::Number(value)) => *value,
                    None => return Err(PyTypeError::new_err("an argument is missing")),
                },
                InputSource::Computed(function) => number(&function.bind(py).call1(args)?)?,
            };
            let value = bits(value, port.dtype)?;
            given.push(Given::Copied(scratch.len(), port.dtype.size()));
            scratch.push(value);
        }
        Ok((scratch, given))
    }

    /// Runs the kernel, and returns the results and the bound call that computed them.
    pub fn results<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Argument<'py>],
        shapes: &Shapes,
        args: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Results<'py>, Call)> {
        let entry = self.entry.get();
        let kernel = entry.kernel();
        let ports = kernel.kernel().inputs();
        let (mut bytes, mut is_plain) = (0, true);
        for argument in arguments {
            if let Argument::Array(_, memory) = argument {
                bytes += memory.packed_bytes();
                is_plain &= memory.is_row_major;
            }
        }
        let is_short = is_plain && bytes <= SHORT;
        let (mut scratch, given) = self.inputs(arguments, args, is_short)?;
        let call =
            self.call(py, &given, broadloom_mem::bytes_of(&scratch[..]), shapes, arguments, is_plain)?;
        let shapes: SmallVec<[&[usize]; 2]> = call.output_shapes().collect();
        let wanted = given_results(out)?;
        let made = results(py, &wanted, kernel.kernel().outputs(), &shapes)?;
        let written = writeable(&made)?;
        // Nothing below runs Python code, so arrays keep their memory and layout until the run ends.
        for argument in arguments {
            if let Argument::Array(array, memory) = argument
                && !memory.is_of(array)
            {
                return Err(changed());
            }
        }
        for (source, given) in entry.sources().iter().zip(&given) {
            if let (InputSource::Argument(number), Given::Copied(from, len)) = (source, given)
                && let Some(Argument::Array(_, memory)) = arguments.get(*number)
            {
                // SAFETY: the argument keeps the array alive, its memory was just checked to be unchanged, and it is row-major.
                unsafe { memory.copy_to(&mut broadloom_mem::bytes_of_mut(&mut scratch[*from..])[..*len]) };
            }
        }
        let bytes = broadloom_mem::bytes_of(&scratch[..]);
        let inputs: SmallVec<[In<'_>; 4]> = given
            .iter()
            .zip(ports)
            .map(|(given, port)| match given {
                Given::Copied(from, len) => In::bytes(port.dtype, &bytes[from * 8..from * 8 + len]),
                // SAFETY: `arguments` keeps the array alive until the run ends.
                Given::Memory(memory) => unsafe { memory.input() },
            })
            .collect();
        let outputs = written.iter().map(|memory| match wanted.is_empty() && is_short {
            // SAFETY: the array was created here, row-major and with every byte initialised. No one else has it, and `made` keeps
            // it alive until the run ends.
            true => Ok(unsafe { memory.output_slice() }),
            // SAFETY: `made` keeps the array alive until the run ends, and it is writeable.
            false => unsafe { memory.output() },
        });
        let outputs: SmallVec<[Out<'_>; 2]> = outputs.collect::<PyResult<_>>()?;
        compute(py, None, |control| call.run_with(&inputs, outputs, control))?;
        drop(shapes);
        Ok((made, call))
    }

    /// The kernel bound to inputs of these layouts. The last bound call is used again if the inputs are row-major and have the
    /// same shapes.
    fn call(
        &self,
        py: Python<'_>,
        given: &[Given<'_>],
        bytes: &[u8],
        shapes: &Shapes,
        arguments: &[Argument<'_>],
        is_plain: bool,
    ) -> PyResult<Call> {
        if is_plain && let Some(call) = self.last.find(shapes) {
            return Ok(call);
        }
        let entry = self.entry.get();
        let kernel = entry.compiled();
        let ports = kernel.inputs();
        let inputs: SmallVec<[In<'_>; 4]> = given
            .iter()
            .zip(entry.sources())
            .zip(ports)
            .map(|((given, source), port)| match (given, source) {
                (Given::Memory(memory), _) => {
                    // SAFETY: `arguments` keeps the array alive; binding reads no element.
                    unsafe { memory.input() }
                }
                (Given::Copied(..), InputSource::Argument(number)) => match arguments.get(*number) {
                    // SAFETY: `arguments` keeps the array alive; binding reads no element.
                    Some(Argument::Array(_, memory)) => unsafe { memory.input() },
                    _ => one(port.dtype, given, bytes),
                },
                (Given::Copied(..), InputSource::Computed(_)) => one(port.dtype, given, bytes),
            })
            .collect();
        // The GIL is released, since planning may take long.
        let call = py.detach(|| kernel.bind_like(&inputs)).or_raise()?;
        if is_plain {
            self.last.keep(shapes.clone(), &call);
        }
        Ok(call)
    }
}

/// The input for a number that was converted into the scratch bytes.
fn one<'b>(dtype: broadloom::DType, given: &Given<'_>, bytes: &'b [u8]) -> In<'b> {
    match given {
        Given::Copied(from, len) => In::bytes(dtype, &bytes[from * 8..from * 8 + len]),
        Given::Memory(_) => In::bytes(dtype, &[]),
    }
}
