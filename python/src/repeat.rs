//! A cache of recent calls, for further calls with row-major arguments of the same dtypes, shapes and kinds.
//!
//! A [`Repeat`] stores what a call determined about its arguments and results. Arguments are compared with it through the fields
//! of NumPy's struct. Small inputs are copied, which is cheaper than a view that checks whether an output overlaps it. Small
//! results are allocated by NumPy, which caches such memory.

use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use broadloom::{Call, DType, In, Literal, Out, Region};
use numpy::npyffi::{
    self, _PyArray_GET_ITEM_DATA, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE,
    PyArrayObject, PyArrayObject_fields,
};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use smallvec::SmallVec;

use crate::dtype;
use crate::entry::{Argument, Entry, InputSource, only};
use crate::error::OrRaise;
use crate::kernel::Results;
use crate::memory::{self, Axes};
use crate::number::{bits, number};
use crate::run::compute;

/// Inputs are copied if they take at most this many 8-byte words in total.
pub const SHORT_WORDS: usize = 512;

/// The maximum size of the results of a short call, in bytes.
const SHORT_RESULT: usize = 1 << 14;

/// A short call keeps the GIL if its estimated time is at most this. NumPy's own functions keep it up to 500 elements. Releasing
/// and taking the GIL costs 20 ns, a tenth of the shortest call. But if another thread runs Python code, calls that released it
/// took 40 µs each, and calls that kept it 4 µs (ten elements, CPython 3.11).
const KEEPS_GIL: Duration = Duration::from_micros(8);

/// The condition on one argument of a repeated call.
enum Like {
    /// A row-major array with this descriptor and shape.
    Array { descriptor: Py<PyArrayDescr>, shape: Axes<npyffi::npy_intp> },
    /// A number of exactly this Python type.
    Number(Py<PyAny>),
}

/// The source of a kernel's input; `argument` is the index of an argument.
enum RepeatedInput {
    /// An array that is copied.
    Copied { argument: usize, dtype: DType, bytes: usize },
    /// An array that is read in place.
    Memory { argument: usize, dtype: DType, bytes: usize, shape: Axes<usize>, strides: Axes<isize> },
    /// A Python number that is converted.
    Number { argument: usize, dtype: DType },
}

/// A result array to be allocated.
struct Made {
    dtype: DType,
    descriptor: Py<PyArrayDescr>,
    shape: Axes<usize>,
    bytes: usize,
}

/// What a call determined about its arguments and results, stored for calls with arguments of the same dtypes and shapes.
struct Repeat {
    array_type: Py<PyAny>,
    /// The conditions on the arguments, followed by those on the entry's captured arrays.
    like: SmallVec<[Like; 4]>,
    inputs: SmallVec<[RepeatedInput; 4]>,
    made: SmallVec<[Made; 2]>,
    /// Whether inputs are copied and results allocated by NumPy.
    is_short: bool,
    /// Whether the kernel runs without releasing the GIL, since it takes only microseconds.
    keeps_gil: bool,
    call: Call,
    /// The entry whose kernel is run.
    entry: Py<Entry>,
    /// The options that a call must match, as passed to [`Repeats::run`].
    tag: u64,
}

/// The number of calls that each function caches.
const REPEATS: usize = 4;

/// The cached calls of a function. The lock is tried and never waited for: an allocation during a run may start Python's garbage
/// collection, which may call the same function.
#[derive(Default)]
pub struct Repeats(Mutex<KeptCalls>);

/// The cached calls, and the index of the one to be replaced next.
#[derive(Default)]
struct KeptCalls {
    of: SmallVec<[Arc<Repeat>; REPEATS]>,
    next: usize,
}

impl Repeats {
    /// Runs a call through the cache. Returns `None` if no cached call matches.
    #[inline]
    pub fn run<'py>(
        &self,
        py: Python<'py>,
        objects: &[Borrowed<'_, 'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
        tag: u64,
    ) -> Option<PyResult<Bound<'py, PyAny>>> {
        let kept = self.0.try_lock().ok()?;
        let fits = |repeat: &&Arc<Repeat>| {
            repeat.tag == tag && repeat.fits(py, objects) && out.is_none_or(|out| repeat.fits_out(out))
        };
        let repeat = kept.of.iter().find(fits)?;
        let run = |repeat: &Repeat| {
            let made = repeat.run(py, objects)?;
            match out {
                Some(out) => repeat.copy_to(&made, out),
                None => Ok(made),
            }
        };
        if repeat.keeps_gil && !repeat.entry.get().is_rebuilt() {
            return Some(run(repeat).and_then(only));
        }
        let repeat = repeat.clone();
        drop(kept);
        Some(run(&repeat).and_then(|made| repeat.entry.get().rebuilt(py, made)))
    }

    /// Adds a call to the cache, if it is suitable.
    pub fn keep(
        &self,
        py: Python<'_>,
        entry: &Py<Entry>,
        call: &Call,
        objects: &[Borrowed<'_, '_, PyAny>],
        arguments: &[Argument<'_>],
        tag: u64,
    ) -> PyResult<()> {
        let Some(mut repeat) = Repeat::new(py, entry, call, objects, arguments)? else { return Ok(()) };
        repeat.tag = tag;
        let repeat = Arc::new(repeat);
        let Ok(mut kept) = self.0.try_lock() else { return Ok(()) };
        let next = kept.next;
        kept.next = (next + 1) % REPEATS;
        let replaced = match kept.of.get_mut(next) {
            Some(old) => Some(std::mem::replace(old, repeat)),
            None => {
                kept.of.push(repeat);
                None
            }
        };
        drop(kept);
        // Dropping it may run Python code, so the lock is released first.
        drop(replaced);
        Ok(())
    }
}

/// The fields of a NumPy array's struct.
///
/// # Safety
/// The object must be an array, and stay alive as long as the fields are used.
unsafe fn fields<'a>(object: *mut ffi::PyObject) -> &'a PyArrayObject_fields {
    // SAFETY: the caller guarantees that the object is a live array.
    unsafe { &*_PyArray_GET_ITEM_DATA(object.cast::<PyArrayObject>()) }
}

impl Repeat {
    /// Collects what a call determined. Returns `None` if an array is not row-major, or if a Python function computes an input.
    fn new(
        py: Python<'_>,
        entry: &Py<Entry>,
        call: &Call,
        objects: &[Borrowed<'_, '_, PyAny>],
        arguments: &[Argument<'_>],
    ) -> PyResult<Option<Repeat>> {
        let (mut like, mut words) = (SmallVec::new(), 0);
        for (i, argument) in arguments.iter().enumerate() {
            like.push(match argument {
                Argument::Array(array, memory) => {
                    // SAFETY: the object is a live array.
                    let flags = unsafe { fields(array.as_ptr()) }.flags;
                    if !memory.is_row_major || flags & NPY_ARRAY_ALIGNED == 0 {
                        return Ok(None);
                    }
                    words += memory.packed_bytes().div_ceil(8);
                    let shape = memory.shape.iter().map(|&extent| extent as npyffi::npy_intp).collect();
                    Like::Array { descriptor: array.dtype().unbind(), shape }
                }
                Argument::Number(_) => {
                    words += 1;
                    Like::Number(objects[i].get_type().into_any().unbind())
                }
            });
        }
        let kernel = entry.get().kernel().kernel();
        let of_results = kernel.outputs().iter().zip(call.output_shapes());
        let made = of_results.map(|(port, shape)| {
            let descriptor = dtype::numpy(py, port.dtype)?.unbind();
            let bytes = shape.iter().product::<usize>() * port.dtype.size();
            Ok(Made { dtype: port.dtype, descriptor, shape: shape.into(), bytes })
        });
        let made: SmallVec<[Made; 2]> = made.collect::<PyResult<_>>()?;
        let is_short = words <= SHORT_WORDS && made.iter().all(|made| made.bytes <= SHORT_RESULT);
        let mut inputs = SmallVec::new();
        for (source, port) in entry.get().sources().iter().zip(kernel.inputs()) {
            let InputSource::Argument(argument) = *source else { return Ok(None) };
            let dtype = port.dtype;
            inputs.push(match arguments.get(argument) {
                Some(Argument::Array(_, memory)) if is_short => {
                    RepeatedInput::Copied { argument, dtype, bytes: memory.packed_bytes() }
                }
                Some(Argument::Array(_, memory)) => RepeatedInput::Memory {
                    argument,
                    dtype,
                    bytes: memory.packed_bytes(),
                    shape: memory.shape.clone(),
                    strides: memory.strides.clone(),
                },
                Some(Argument::Number(_)) => RepeatedInput::Number { argument, dtype },
                None => return Ok(None),
            });
        }
        // An array that is the source of two inputs is copied twice.
        let copied = inputs.iter().map(|input| match input {
            RepeatedInput::Copied { bytes, .. } => bytes.div_ceil(8),
            RepeatedInput::Number { .. } => 1,
            RepeatedInput::Memory { .. } => 0,
        });
        if copied.sum::<usize>() > SHORT_WORDS {
            return Ok(None);
        }
        Ok(Some(Repeat {
            array_type: py.get_type::<PyUntypedArray>().into_any().unbind(),
            like,
            inputs,
            made,
            is_short,
            keeps_gil: is_short && call.estimated_time() <= KEEPS_GIL,
            call: call.clone(),
            entry: entry.clone_ref(py),
            tag: 0,
        }))
    }

    /// Whether the arguments meet the conditions of the cached call.
    #[inline]
    fn fits(&self, py: Python<'_>, objects: &[Borrowed<'_, '_, PyAny>]) -> bool {
        let is_like = |(object, like): (&Borrowed<'_, '_, PyAny>, &Like)| match like {
            Like::Array { descriptor, shape } => {
                if object.get_type_ptr().cast() != self.array_type.as_ptr() {
                    return false;
                }
                const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
                // SAFETY: the object has the type of arrays, and is alive while it is borrowed.
                let fields = unsafe { fields(object.as_ptr()) };
                fields.descr.cast() == descriptor.as_ptr()
                    && fields.nd as usize == shape.len()
                    && fields.flags & FLAGS == FLAGS
                    // SAFETY: `dimensions` has one extent per dimension.
                    && (0..shape.len()).all(|axis| unsafe { *fields.dimensions.add(axis) } == shape[axis])
            }
            Like::Number(kind) => object.get_type_ptr().cast() == kind.as_ptr(),
        };
        let captured = self.entry.get().captured();
        let Some(given) = self.like.len().checked_sub(captured.len()) else { return false };
        let (given, others) = self.like.split_at(given);
        objects.len() == given.len()
            && objects.iter().zip(given).all(is_like)
            && captured.iter().zip(others).all(|(array, like)| is_like((&array.bind_borrowed(py), like)))
    }

    /// The argument with this index, or a captured array if the index is beyond the arguments.
    #[inline]
    fn argument<'a, 'py>(
        &'a self,
        py: Python<'py>,
        objects: &[Borrowed<'a, 'py, PyAny>],
        number: usize,
    ) -> Borrowed<'a, 'py, PyAny> {
        match objects.get(number) {
            Some(object) => *object,
            None => self.entry.get().captured()[number - objects.len()].bind_borrowed(py),
        }
    }

    /// Whether the only result of a short call may be copied into the array `out`.
    #[inline]
    fn fits_out(&self, out: &Bound<'_, PyAny>) -> bool {
        let [made] = &self.made[..] else { return false };
        if !self.is_short || out.get_type_ptr().cast() != self.array_type.as_ptr() {
            return false;
        }
        const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
        // SAFETY: the object has the type of arrays, and is alive while it is borrowed.
        let fields = unsafe { fields(out.as_ptr()) };
        fields.descr.cast() == made.descriptor.as_ptr()
            && fields.nd as usize == made.shape.len()
            && fields.flags & FLAGS == FLAGS
            // SAFETY: `dimensions` has one extent per dimension.
            && (0..made.shape.len()).all(|axis| unsafe { *fields.dimensions.add(axis) as usize } == made.shape[axis])
    }

    /// Copies the only result of a short call to an array that [fits](Repeat::fits_out). The array may overlap inputs, since the
    /// kernel has read copies of them.
    #[inline]
    fn copy_to<'py>(&self, results: &Results<'py>, out: &Bound<'py, PyAny>) -> PyResult<Results<'py>> {
        // Allocating the result may have run Python code, which could have changed the array.
        if !self.fits_out(out) {
            return Err(PyValueError::new_err("out: the array was changed meanwhile"));
        }
        let bytes = self.made[0].bytes;
        // SAFETY: both are row-major arrays of this dtype and shape, and so of the same size. No one else uses the result.
        unsafe {
            let (from, to) = (fields(results[0].as_ptr()).data, fields(out.as_ptr()).data);
            std::ptr::copy_nonoverlapping(from, to, bytes);
        }
        Ok(SmallVec::from_iter([out.cast::<PyUntypedArray>()?.clone()]))
    }

    /// Runs the kernel on arguments that [fit](Repeat::fits). The results are still to be passed to `rebuild`.
    #[inline]
    pub fn run<'py>(&self, py: Python<'py>, objects: &[Borrowed<'_, 'py, PyAny>]) -> PyResult<Results<'py>> {
        let mut results: Results<'py> = SmallVec::new();
        for made in &self.made {
            results.push(match self.is_short {
                true => memory::new_short(py, made.descriptor.bind(py), &made.shape, made.bytes)?,
                false => memory::new(py, made.dtype, &made.shape)?,
            });
        }
        // Allocating may have run Python code, which could have changed an argument. Nothing below runs Python code.
        if !self.fits(py, objects) {
            return Err(memory::changed());
        }
        let mut scratch = [const { MaybeUninit::<u64>::uninit() }; SHORT_WORDS];
        let (from, mut word) = (scratch.as_mut_ptr(), 0);
        let mut inputs: SmallVec<[In<'_>; 4]> = SmallVec::new();
        for input in &self.inputs {
            inputs.push(match *input {
                RepeatedInput::Copied { argument, dtype, bytes } => {
                    // SAFETY: the scratch buffer has the words of all copied inputs, which `new` counted.
                    let to = unsafe { from.add(word) }.cast::<u8>();
                    word += bytes.div_ceil(8);
                    // SAFETY: the array matches, so it is row-major and has this many bytes from its first element on. The
                    // scratch buffer has them too, and no other input uses these words.
                    In::bytes(dtype, unsafe {
                        let data = fields(self.argument(py, objects, argument).as_ptr()).data.cast::<u8>();
                        std::ptr::copy_nonoverlapping(data, to, bytes);
                        std::slice::from_raw_parts(to, bytes)
                    })
                }
                RepeatedInput::Number { argument, dtype } => {
                    let value = converted(&self.argument(py, objects, argument), dtype)?;
                    // SAFETY: the word is within the scratch buffer, is used by no other input, and is written before it is read.
                    In::bytes(dtype, unsafe {
                        let to = from.add(word);
                        word += 1;
                        to.cast::<u64>().write(value);
                        std::slice::from_raw_parts(to.cast::<u8>(), dtype.size())
                    })
                }
                RepeatedInput::Memory { argument, dtype, bytes, ref shape, ref strides } => {
                    // SAFETY: the array matches, and is borrowed until the run ends. Writes by other Python threads are a race in
                    // the user's program; any bytes are valid elements.
                    let region = unsafe {
                        Region::from_raw(
                            fields(self.argument(py, objects, argument).as_ptr()).data.cast::<u8>(),
                            bytes,
                        )
                    };
                    In::raw(dtype, region, 0, shape, strides)
                }
            });
        }
        let mut outputs: SmallVec<[Out<'_>; 2]> = SmallVec::new();
        for (made, array) in self.made.iter().zip(&results) {
            outputs.push(match made.bytes {
                0 => Out::bytes(made.dtype, &mut []),
                // SAFETY: the array was created here with this size and with every byte initialised. No one else uses it, and
                // `results` keeps it alive until the run ends.
                bytes => Out::bytes(made.dtype, unsafe {
                    std::slice::from_raw_parts_mut(fields(array.as_ptr()).data.cast::<u8>(), bytes)
                }),
            });
        }
        if self.keeps_gil {
            self.call.run(&inputs, outputs).or_raise()?;
        } else {
            compute(py, None, |control| self.call.run_with(&inputs, outputs, control))?;
        }
        Ok(results)
    }
}

/// The bits of a Python number converted to a dtype, by the rules for literals.
#[inline]
fn converted(object: &Borrowed<'_, '_, PyAny>, dtype: DType) -> PyResult<u64> {
    let value = number(object)?;
    match (value, dtype) {
        (Literal::Float(value), DType::Float64) => Ok(value.to_bits()),
        _ => bits(value, dtype),
    }
}
