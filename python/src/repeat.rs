//! Calls on arguments like those of an earlier call: of the same dtypes, shapes and kinds, and row-major.
//!
//! The facts that a call finds out about its arguments and its results hold for all such calls, so a [`Repeat`] keeps them.
//! Arguments are compared through the fields of NumPy's struct. Short arguments are copied, which is less work than a view that
//! checks whether an output overlaps it. The results of short calls are allocated by NumPy, which keeps such memory at hand.

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
use crate::entry::{Argument, Entry, Source, only};
use crate::error::OrRaise;
use crate::kernel::Results;
use crate::memory::{self, Axes};
use crate::number::{bits, number};
use crate::run::compute;

/// The most words of 8 bytes that the inputs of a call may have in all to be copied.
pub const SHORT_WORDS: usize = 512;

/// The most bytes that a result of a short call may have.
const SHORT_RESULT: usize = 1 << 14;

/// A short call that is estimated to take at most this time keeps the GIL, as NumPy's own functions do up to 500 elements. To
/// release and to take it again costs 20 ns, a tenth of the shortest call; but where another thread runs Python, calls that
/// release it took 40 µs each, where those that keep it took 4 µs (ten elements, CPython 3.11).
const KEEPS_GIL: Duration = Duration::from_micros(8);

/// The condition on an argument for a call to be repeated.
enum Like {
    /// A row-major array with this dtype's descriptor and this shape.
    Array { descriptor: Py<PyArrayDescr>, shape: Axes<npyffi::npy_intp> },
    /// A number whose Python type is exactly this one.
    Number(Py<PyAny>),
}

/// Where an input of the kernel comes from, in a repeated call.
enum Input {
    /// A copy of the array that is the argument of this number.
    Copied { argument: usize, dtype: DType, bytes: usize },
    /// The memory of the array that is the argument of this number.
    Memory { argument: usize, dtype: DType, bytes: usize, shape: Axes<usize>, strides: Axes<isize> },
    /// The number that is the argument of this number, converted to the input's dtype.
    Number { argument: usize, dtype: DType },
}

/// A result of the kernel, for which each call makes an array.
struct Made {
    dtype: DType,
    descriptor: Py<PyArrayDescr>,
    shape: Axes<usize>,
    bytes: usize,
}

/// The properties that calls on like arguments share, as the module's head explains.
struct Repeat {
    array_type: Py<PyAny>,
    /// The conditions on the arguments, and after them those on the arrays that the entry captured.
    like: SmallVec<[Like; 4]>,
    inputs: SmallVec<[Input; 4]>,
    made: SmallVec<[Made; 2]>,
    /// Whether inputs are copied, and results are allocated by NumPy.
    is_short: bool,
    /// Whether the call is so short that it runs without releasing the GIL.
    keeps_gil: bool,
    call: Call,
    /// The entry that the calls run.
    entry: Py<Entry>,
    /// The requests of the calls beside their arguments: the `tag` of [`Repeats::run`].
    tag: u64,
}

/// How many kinds of calls are kept for a function.
const REPEATS: usize = 4;

/// The last calls of a function. The lock is tried, never waited for: a run may allocate, and so run Python's garbage collection,
/// and with it Python code that calls the same function.
#[derive(Default)]
pub struct Repeats(Mutex<Kept>);

/// The kept calls, and which of them is replaced next.
#[derive(Default)]
struct Kept {
    of: SmallVec<[Arc<Repeat>; REPEATS]>,
    next: usize,
}

impl Repeats {
    /// Runs a call like one of the kept ones, and gives what it returns; `None` if the call is like none of them.
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

    /// Keeps what calls like this one share, if they share enough.
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
        // Dropping the Python objects that it holds may run Python code, which must not find the lock taken.
        drop(replaced);
        Ok(())
    }
}

/// The fields of a NumPy array's struct.
///
/// # Safety The object must be an array, and alive for as long as the fields are used.
unsafe fn fields<'a>(object: *mut ffi::PyObject) -> &'a PyArrayObject_fields {
    // SAFETY: the contract is the same.
    unsafe { &*_PyArray_GET_ITEM_DATA(object.cast::<PyArrayObject>()) }
}

impl Repeat {
    /// Finds the properties that calls like this one share; `None` if an array is not row-major, or a Python function computes an
    /// input.
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
                    // SAFETY: the object is this array.
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
            let Source::Argument(argument) = *source else { return Ok(None) };
            let dtype = port.dtype;
            inputs.push(match arguments.get(argument) {
                Some(Argument::Array(_, memory)) if is_short => {
                    Input::Copied { argument, dtype, bytes: memory.packed_bytes() }
                }
                Some(Argument::Array(_, memory)) => Input::Memory {
                    argument,
                    dtype,
                    bytes: memory.packed_bytes(),
                    shape: memory.shape.clone(),
                    strides: memory.strides.clone(),
                },
                Some(Argument::Number(_)) => Input::Number { argument, dtype },
                None => return Ok(None),
            });
        }
        // An argument that is two inputs of the kernel is copied twice.
        let copied = inputs.iter().map(|input| match input {
            Input::Copied { bytes, .. } => bytes.div_ceil(8),
            Input::Number { .. } => 1,
            Input::Memory { .. } => 0,
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

    /// Whether arguments are like those for which this was made.
    #[inline]
    fn fits(&self, py: Python<'_>, objects: &[Borrowed<'_, '_, PyAny>]) -> bool {
        let is_like = |(object, like): (&Borrowed<'_, '_, PyAny>, &Like)| match like {
            Like::Array { descriptor, shape } => {
                if object.get_type_ptr().cast() != self.array_type.as_ptr() {
                    return false;
                }
                const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
                // SAFETY: the object has the type of arrays, and is borrowed.
                let fields = unsafe { fields(object.as_ptr()) };
                fields.descr.cast() == descriptor.as_ptr()
                    && fields.nd as usize == shape.len()
                    && fields.flags & FLAGS == FLAGS
                    // SAFETY: an array has as many extents as dimensions.
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

    /// The argument of this number; captured arrays are numbered after the arguments.
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

    /// Whether an array may take a copy of a short call's only result.
    #[inline]
    fn fits_out(&self, out: &Bound<'_, PyAny>) -> bool {
        let [made] = &self.made[..] else { return false };
        if !self.is_short || out.get_type_ptr().cast() != self.array_type.as_ptr() {
            return false;
        }
        const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
        // SAFETY: the object has the type of arrays, and is borrowed.
        let fields = unsafe { fields(out.as_ptr()) };
        fields.descr.cast() == made.descriptor.as_ptr()
            && fields.nd as usize == made.shape.len()
            && fields.flags & FLAGS == FLAGS
            // SAFETY: an array has as many extents as dimensions.
            && (0..made.shape.len()).all(|axis| unsafe { *fields.dimensions.add(axis) as usize } == made.shape[axis])
    }

    /// Copies the only result of a short call to an array that [fits](Repeat::fits_out). The array may be an input too, since
    /// inputs were copied before the run.
    #[inline]
    fn copy_to<'py>(&self, results: &Results<'py>, out: &Bound<'py, PyAny>) -> PyResult<Results<'py>> {
        // Allocating the result may have run Python code, which may have changed the array.
        if !self.fits_out(out) {
            return Err(PyValueError::new_err("out: the array was changed meanwhile"));
        }
        let bytes = self.made[0].bytes;
        // SAFETY: both are row-major arrays of this dtype and shape, and so have this many bytes; the result belongs to no one
        // else.
        unsafe {
            let (from, to) = (fields(results[0].as_ptr()).data, fields(out.as_ptr()).data);
            std::ptr::copy_nonoverlapping(from, to, bytes);
        }
        Ok(SmallVec::from_iter([out.cast::<PyUntypedArray>()?.clone()]))
    }

    /// Runs the kernel on arguments that [fit](Repeat::fits), and gives its results, of which `Entry::rebuilt` makes what is
    /// returned.
    #[inline]
    pub fn run<'py>(&self, py: Python<'py>, objects: &[Borrowed<'_, 'py, PyAny>]) -> PyResult<Results<'py>> {
        let mut results: Results<'py> = SmallVec::new();
        for made in &self.made {
            results.push(match self.is_short {
                true => memory::new_short(py, made.descriptor.bind(py), &made.shape, made.bytes)?,
                false => memory::new(py, made.dtype, &made.shape)?,
            });
        }
        // Allocating the results may have run Python code, which may have changed an argument; from here on no Python code runs.
        if !self.fits(py, objects) {
            return Err(memory::changed());
        }
        let mut scratch = [const { MaybeUninit::<u64>::uninit() }; SHORT_WORDS];
        let (from, mut word) = (scratch.as_mut_ptr(), 0);
        let mut inputs: SmallVec<[In<'_>; 4]> = SmallVec::new();
        for input in &self.inputs {
            inputs.push(match *input {
                Input::Copied { argument, dtype, bytes } => {
                    // SAFETY: the scratch memory has words for all inputs that are copied, which `new` counted.
                    let to = unsafe { from.add(word) }.cast::<u8>();
                    word += bytes.div_ceil(8);
                    // SAFETY: the array fits, so that it is row-major and has this many bytes from its first element on; the
                    // scratch memory has as many at `to`, which no other input uses.
                    In::bytes(dtype, unsafe {
                        let data = fields(self.argument(py, objects, argument).as_ptr()).data.cast::<u8>();
                        std::ptr::copy_nonoverlapping(data, to, bytes);
                        std::slice::from_raw_parts(to, bytes)
                    })
                }
                Input::Number { argument, dtype } => {
                    let value = converted(&self.argument(py, objects, argument), dtype)?;
                    // SAFETY: the scratch memory has a word at `to`, which no other input uses; it is written before it is read.
                    In::bytes(dtype, unsafe {
                        let to = from.add(word);
                        word += 1;
                        to.cast::<u64>().write(value);
                        std::slice::from_raw_parts(to.cast::<u8>(), dtype.size())
                    })
                }
                Input::Memory { argument, dtype, bytes, ref shape, ref strides } => {
                    // SAFETY: the array fits, and is borrowed until the run is over. Other threads of Python may write to it, which
                    // is a race in their program, and any bytes are elements.
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
                // SAFETY: the array was made here with this many bytes, all of which have values. No one else has the array, and
                // `results` keeps it alive until the run is over.
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

/// The bits of a Python number converted to a dtype, by the rules of literals.
#[inline]
fn converted(object: &Borrowed<'_, '_, PyAny>, dtype: DType) -> PyResult<u64> {
    let value = number(object)?;
    match (value, dtype) {
        (Literal::Float(value), DType::Float64) => Ok(value.to_bits()),
        _ => bits(value, dtype),
    }
}
