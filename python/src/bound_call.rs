//! A kernel bound to arguments with given types, shapes and strides. Every call from Python runs as a [`BoundCall`].
//!
//! The arguments of a later call are compared with these by reading the fields of NumPy's array struct. Small inputs are copied,
//! which is cheaper than a view that checks whether an output overlaps it. Small results are allocated by NumPy, which caches such
//! memory.

use std::mem::MaybeUninit;
use std::time::Duration;

use broadloom::{Call, DType, Error, In, Literal, Out};
use numpy::npyffi::{
    _PyArray_GET_ITEM_DATA, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NpyTypes,
    PyArrayObject, PyArrayObject_fields, get_type_object, npy_intp,
};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use pyo3::{Borrowed, ffi};
use smallvec::SmallVec;

use crate::dtype;
use crate::entry::{Entry, InputSource, Results};
use crate::error::OrRaise;
use crate::memory::{self, Axes, NumpyMemory, changed};
use crate::number::{bits, number};
use crate::run::compute;

/// The arguments of a call.
pub type Objects<'a, 'py> = SmallVec<[Borrowed<'a, 'py, PyAny>; 4]>;

/// Inputs are copied if they take at most this many 8-byte words in total.
const SHORT_WORDS: usize = 512;

/// The maximum size of each result of a short call, in bytes.
const SHORT_RESULT: usize = 1 << 14;

/// A short call keeps the GIL if its estimated time is at most this. NumPy's own functions keep it up to 500 elements. Releasing
/// and taking the GIL costs 20 ns, a tenth of the shortest call. But if another thread runs Python code, calls that released it
/// took 40 µs each, and calls that kept it 4 µs (ten elements, CPython 3.11).
const KEEPS_GIL: Duration = Duration::from_micros(8);

/// The flags of NumPy's arrays that are compared.
const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;

/// The condition that a bound call sets for one argument: exactly this Python type and, for an array, this layout.
struct Like {
    kind: Py<PyType>,
    array: Option<LikeArray>,
}

/// The condition on an array.
struct LikeArray {
    descriptor: Py<PyArrayDescr>,
    flags: i32,
    shape: Axes<npy_intp>,
    /// The strides in bytes; empty for a row-major array.
    strides: Axes<npy_intp>,
}

/// The source of a kernel's input.
enum BoundInput {
    /// The array argument with this index, with its layout and its size in bytes. The address is taken from the array of each call.
    Array { argument: usize, memory: NumpyMemory, bytes: usize },
    /// The argument with this index, a Python number that is converted.
    Number { argument: usize, dtype: DType },
    /// A Python function that computes a number from all arguments.
    Computed { function: Py<PyAny>, dtype: DType },
}

/// A result array to be allocated.
struct Made {
    dtype: DType,
    descriptor: Py<PyArrayDescr>,
    shape: Axes<usize>,
    bytes: usize,
}

/// The kernel of an entry, bound to arguments of certain types and layouts.
#[pyclass(frozen, module = "broadloom._core")]
pub struct BoundCall {
    /// The conditions on the arguments, followed by those on the entry's captured arrays.
    like: Box<[Like]>,
    inputs: Box<[BoundInput]>,
    made: Box<[Made]>,
    /// The total size of the copied inputs and the numbers, in 8-byte words.
    words: usize,
    /// Whether inputs are copied and results allocated by NumPy.
    is_short: bool,
    has_computed: bool,
    /// Whether the kernel runs without releasing the GIL, since it takes only microseconds.
    keeps_gil: bool,
    call: Call,
    entry: Py<Entry>,
}

/// The fields of a NumPy array's struct.
///
/// # Safety
/// The object must be an array, and stay alive as long as the fields are used.
unsafe fn fields<'a>(object: *mut ffi::PyObject) -> &'a PyArrayObject_fields {
    // SAFETY: the caller guarantees that the object is a live array.
    unsafe { &*_PyArray_GET_ITEM_DATA(object.cast::<PyArrayObject>()) }
}

impl Like {
    /// Returns the condition that describes an object's current type and layout, and the description of its memory if it is an
    /// array.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<(Like, Option<NumpyMemory>)> {
        let kind = object.get_type().unbind();
        let Ok(array) = object.cast::<PyUntypedArray>() else {
            return Ok((Like { kind, array: None }, None));
        };
        let memory = NumpyMemory::shared(array)?;
        // SAFETY: the object is a live array, with as many extents and strides as dimensions. `NumpyMemory::of` ran no Python
        // code, so both describe the same layout.
        let like = unsafe {
            let fields = fields(array.as_ptr());
            let axes = 0..fields.nd as usize;
            let flags = fields.flags & FLAGS;
            let strided = if flags & NPY_ARRAY_C_CONTIGUOUS != 0 { 0..0 } else { axes.clone() };
            LikeArray {
                descriptor: array.dtype().unbind(),
                flags,
                shape: axes.map(|axis| *fields.dimensions.add(axis)).collect(),
                strides: strided.map(|axis| *fields.strides.add(axis)).collect(),
            }
        };
        Ok((Like { kind, array: Some(like) }, Some(memory)))
    }

    /// Whether an object meets the condition.
    #[inline]
    fn fits(&self, object: &Borrowed<'_, '_, PyAny>) -> bool {
        if object.get_type_ptr().cast() != self.kind.as_ptr() {
            return false;
        }
        let Some(LikeArray { descriptor, flags, shape, strides }) = &self.array else { return true };
        // SAFETY: the object has the type of an array, and is alive while it is borrowed.
        let fields = unsafe { fields(object.as_ptr()) };
        fields.descr.cast() == descriptor.as_ptr()
            && fields.nd as usize == shape.len()
            && fields.flags & FLAGS == *flags
            // SAFETY: an array has as many extents and strides as dimensions.
            && (0..shape.len()).all(|axis| unsafe { *fields.dimensions.add(axis) } == shape[axis])
            // SAFETY: as above.
            && (0..strides.len()).all(|axis| unsafe { *fields.strides.add(axis) } == strides[axis])
    }
}

impl BoundCall {
    /// Binds the kernel of an entry to arguments. The inner error is the engine's, which means that the kernel was not built for
    /// such arguments.
    pub fn bind<'py>(
        entry: &Bound<'py, Entry>,
        objects: &[Borrowed<'_, 'py, PyAny>],
    ) -> PyResult<Result<Bound<'py, BoundCall>, Error>> {
        let py = entry.py();
        let of = entry.get();
        let captured = of.captured().iter().map(|array| array.bind_borrowed(py));
        let described: Vec<_> = objects
            .iter()
            .copied()
            .chain(captured)
            .map(|object| Like::of(&object))
            .collect::<PyResult<_>>()?;
        let (like, memories): (Vec<Like>, Vec<Option<NumpyMemory>>) = described.into_iter().unzip();
        let kernel = of.kernel();
        let inputs = of.sources().iter().zip(kernel.inputs()).map(|(source, port)| {
            let dtype = port.dtype;
            match source {
                InputSource::Computed(function) => {
                    Ok(BoundInput::Computed { function: function.clone_ref(py), dtype })
                }
                InputSource::Argument(argument) => match memories.get(*argument) {
                    Some(Some(memory)) => {
                        let (memory, bytes) = (memory.clone(), memory.packed_bytes());
                        Ok(BoundInput::Array { argument: *argument, memory, bytes })
                    }
                    Some(None) => Ok(BoundInput::Number { argument: *argument, dtype }),
                    None => Err(PyTypeError::new_err("an argument is missing")),
                },
            }
        });
        let inputs: Box<[BoundInput]> = inputs.collect::<PyResult<_>>()?;
        // Binding reads no element.
        let given = inputs.iter().map(|input| match input {
            // SAFETY: the caller and the entry keep the arrays alive.
            BoundInput::Array { memory, .. } => unsafe { memory.input(memory.address()) },
            BoundInput::Number { dtype, .. } | BoundInput::Computed { dtype, .. } => {
                In::bytes(*dtype, &broadloom_mem::bytes_of(&[0u64])[..dtype.size()])
            }
        });
        let given: SmallVec<[In<'_>; 4]> = given.collect();
        // The GIL is released, since planning may take long.
        let call = match py.detach(|| kernel.bind_like(&given)) {
            Ok(call) => call,
            Err(error) => return Ok(Err(error)),
        };
        drop(given);
        let made = kernel.outputs().iter().zip(call.output_shapes()).map(|(port, shape)| {
            let descriptor = dtype::numpy(py, port.dtype)?.unbind();
            let bytes = shape.iter().product::<usize>() * port.dtype.size();
            Ok(Made { dtype: port.dtype, descriptor, shape: shape.into(), bytes })
        });
        let made: Box<[Made]> = made.collect::<PyResult<_>>()?;
        let words = |copies: bool| {
            let of = inputs.iter().map(|input| match input {
                BoundInput::Array { bytes, .. } if copies => bytes.div_ceil(8),
                BoundInput::Array { .. } => 0,
                _ => 1,
            });
            of.sum::<usize>()
        };
        let is_row_major = |like: &Like| like.array.as_ref().is_none_or(|array| array.strides.is_empty());
        let is_short = words(true) <= SHORT_WORDS
            && like.iter().all(is_row_major)
            && made.iter().all(|made| made.bytes <= SHORT_RESULT);
        let made = BoundCall {
            words: words(is_short),
            is_short,
            has_computed: inputs.iter().any(|input| matches!(input, BoundInput::Computed { .. })),
            keeps_gil: is_short && call.estimated_time() <= KEEPS_GIL,
            like: like.into(),
            inputs,
            made,
            call,
            entry: entry.clone().unbind(),
        };
        Bound::new(py, made).map(Ok)
    }

    /// The entry whose kernel is bound.
    pub fn entry(&self) -> &Py<Entry> {
        &self.entry
    }

    /// The dtype and shape of the first result.
    pub fn first_result(&self) -> PyResult<(DType, &[usize])> {
        let first = self.made.first().map(|made| (made.dtype, &made.shape[..]));
        first.ok_or_else(|| PyValueError::new_err("no result"))
    }

    /// The layouts of the array inputs. Their addresses are those of the arrays that the call was bound to.
    pub fn layouts(&self) -> impl Iterator<Item = &NumpyMemory> + Clone {
        self.inputs.iter().filter_map(|input| match input {
            BoundInput::Array { memory, .. } => Some(memory),
            _ => None,
        })
    }

    /// Whether the arguments meet the conditions of the call.
    #[inline]
    pub fn fits(&self, py: Python<'_>, objects: &[Borrowed<'_, '_, PyAny>]) -> bool {
        let captured = self.entry.get().captured();
        self.like.len() == objects.len() + captured.len()
            && objects.iter().zip(&self.like).all(|(object, like)| like.fits(object))
            && (captured.is_empty() || self.fits_captured(py, captured))
    }

    fn fits_captured(&self, py: Python<'_>, captured: &[Py<PyAny>]) -> bool {
        let conditions = &self.like[self.like.len() - captured.len()..];
        captured.iter().zip(conditions).all(|(array, like)| like.fits(&array.bind_borrowed(py)))
    }

    /// Whether the only result of a short call is computed in the scratch buffer and copied to the array `out`, which may
    /// therefore overlap inputs.
    #[inline]
    fn copies_to(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> bool {
        let [made] = &*self.made else { return false };
        let is_array = || out.get_type_ptr() == array_type(py);
        if !self.is_short || self.words + made.bytes.div_ceil(8) > SHORT_WORDS || !is_array() {
            return false;
        }
        const FLAGS: i32 = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
        // SAFETY: the object has the type of arrays, and is alive while it is borrowed.
        let fields = unsafe { fields(out.as_ptr()) };
        fields.descr.cast() == made.descriptor.as_ptr()
            && fields.nd as usize == made.shape.len()
            && fields.flags & FLAGS == FLAGS
            // SAFETY: an array has as many extents as dimensions.
            && (0..made.shape.len()).all(|axis| unsafe { *fields.dimensions.add(axis) as usize } == made.shape[axis])
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

    /// Runs the kernel on arguments that [fit](BoundCall::fits), and returns the results: the arrays of `out`, or new ones.
    #[inline]
    pub fn run<'py>(
        &self,
        py: Python<'py>,
        objects: &[Borrowed<'_, 'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Results<'py>> {
        match out.filter(|out| !out.is_none()) {
            None if !self.has_computed => self.run_to(py, objects, &[], self.new_results(py)?, &[], None),
            out => self.run_with(py, objects, out),
        }
    }

    /// Runs the kernel if the results go to given arrays, or if Python functions compute some of the inputs.
    fn run_with<'py>(
        &self,
        py: Python<'py>,
        objects: &[Borrowed<'_, 'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Results<'py>> {
        let computed = self.computed(py, objects)?;
        let Some(out) = out else {
            return self.run_to(py, objects, &computed, self.new_results(py)?, &[], None);
        };
        if self.copies_to(py, out) {
            let results = SmallVec::from_iter([out.cast::<PyUntypedArray>()?.clone()]);
            return self.run_to(py, objects, &computed, results, &[], Some(out));
        }
        let results = given_results(out)?;
        let written = writeable(&results, self.made.len())?;
        self.run_to(py, objects, &computed, results, &written, None)
    }

    /// Allocates an array for each result.
    #[inline]
    fn new_results<'py>(&self, py: Python<'py>) -> PyResult<Results<'py>> {
        let mut results = Results::new();
        for made in &self.made {
            results.push(match self.is_short {
                true => memory::new_short(py, made.descriptor.bind(py), &made.shape, made.bytes)?,
                false => memory::new(py, made.dtype, &made.shape)?,
            });
        }
        Ok(results)
    }

    /// Runs the kernel and writes its results to `results`. If `copied_to` is set, it is the only array in `results`, and is copied
    /// from the scratch buffer. If `written` is not empty, it describes the memory of `results`. Otherwise this call created
    /// `results`.
    fn run_to<'py>(
        &self,
        py: Python<'py>,
        objects: &[Borrowed<'_, 'py, PyAny>],
        computed: &[u64],
        results: Results<'py>,
        written: &[NumpyMemory],
        copied_to: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Results<'py>> {
        // Allocation and conversions may have run Python code, which could have changed an argument. Nothing below runs Python code.
        if !self.fits(py, objects) {
            return Err(changed());
        }
        let mut inline = [const { MaybeUninit::<u64>::uninit() }; SHORT_WORDS];
        let mut heap;
        let from = match self.words <= SHORT_WORDS {
            true => inline.as_mut_ptr(),
            false => {
                heap = Box::<[u64]>::new_uninit_slice(self.words);
                heap.as_mut_ptr()
            }
        };
        let (mut word, mut computed) = (0, computed.iter());
        let mut inputs: SmallVec<[In<'_>; 4]> = SmallVec::new();
        for input in &self.inputs {
            let (value, dtype) = match *input {
                BoundInput::Array { argument, ref memory, bytes } => {
                    // SAFETY: the array fits, so it has this layout, and is borrowed until the run ends. Writes by other Python
                    // threads are a race in the user's program; any bytes are valid elements.
                    let data =
                        unsafe { fields(self.argument(py, objects, argument).as_ptr()) }.data.cast::<u8>();
                    if !self.is_short {
                        // SAFETY: as above.
                        inputs.push(unsafe { memory.input(data) });
                        continue;
                    }
                    // SAFETY: the array is row-major, so it has this many bytes from its first element on. The scratch buffer
                    // has the words of all copied inputs, which `bind` counted, and no other input uses these.
                    inputs.push(In::bytes(memory.dtype, unsafe {
                        let to = from.add(word).cast::<u8>();
                        std::ptr::copy_nonoverlapping(data, to, bytes);
                        std::slice::from_raw_parts(to, bytes)
                    }));
                    word += bytes.div_ceil(8);
                    continue;
                }
                BoundInput::Number { argument, dtype } => {
                    (converted(&self.argument(py, objects, argument), dtype)?, dtype)
                }
                BoundInput::Computed { dtype, .. } => (computed.next().copied().unwrap_or_default(), dtype),
            };
            // SAFETY: the word is within the scratch buffer, is used by no other input, and is written before it is read.
            inputs.push(In::bytes(dtype, unsafe {
                let to = from.add(word);
                to.cast::<u64>().write(value);
                std::slice::from_raw_parts(to.cast::<u8>(), dtype.size())
            }));
            word += 1;
        }
        let mut outputs: SmallVec<[Out<'_>; 2]> = SmallVec::new();
        for memory in written {
            // SAFETY: `results` keeps the array alive until the run ends, and it is writeable.
            outputs.push(unsafe { memory.output() }?);
        }
        if let Some(made) = copied_to.and(self.made.first()) {
            // SAFETY: the scratch buffer has room for the result after the inputs, as `copies_to` found. It is zeroed first.
            outputs.push(Out::bytes(made.dtype, unsafe {
                let to = from.add(self.words).cast::<u8>();
                to.write_bytes(0, made.bytes);
                std::slice::from_raw_parts_mut(to, made.bytes)
            }));
        } else if written.is_empty() {
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
        }
        if self.keeps_gil {
            self.call.run(&inputs, outputs).or_raise()?;
        } else {
            compute(py, None, |control| self.call.run_with(&inputs, outputs, control))?;
        }
        if let Some((out, made)) = copied_to.zip(self.made.first()) {
            // Another thread may have changed the array if the GIL was released.
            if !self.copies_to(py, out) {
                return Err(changed());
            }
            // SAFETY: the array is row-major and has as many bytes as the result, which is in the scratch buffer.
            unsafe {
                let to = fields(out.as_ptr()).data.cast::<u8>();
                std::ptr::copy_nonoverlapping(from.add(self.words).cast::<u8>(), to, made.bytes);
            }
        }
        Ok(results)
    }

    /// Calls the Python functions that compute numbers from the arguments.
    fn computed(&self, py: Python<'_>, objects: &[Borrowed<'_, '_, PyAny>]) -> PyResult<Vec<u64>> {
        let computed = self.inputs.iter().filter_map(|input| match input {
            BoundInput::Computed { function, dtype } => Some((function, *dtype)),
            _ => None,
        });
        let bits_of = |(function, dtype): (&Py<PyAny>, DType)| {
            bits(number(&function.bind(py).call1(PyTuple::new(py, objects)?)?)?, dtype)
        };
        computed.map(bits_of).collect()
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

/// The type `numpy.ndarray`.
#[inline]
fn array_type(py: Python<'_>) -> *mut ffi::PyTypeObject {
    // SAFETY: the GIL is held.
    unsafe { get_type_object(py, NpyTypes::PyArray_Type) }
}

/// The arrays passed as `out=`: one, or a tuple or list of several.
fn given_results<'py>(out: &Bound<'py, PyAny>) -> PyResult<Results<'py>> {
    if let Ok(array) = out.cast::<PyUntypedArray>() {
        return Ok(SmallVec::from_iter([array.clone()]));
    }
    let expected = |what: &str| PyTypeError::new_err(format!("out: expected {what}"));
    let several = out.try_iter().map_err(|_| expected("a NumPy array, or a tuple of them"))?;
    several.map(|array| array?.cast_into().map_err(|_| expected("NumPy arrays"))).collect()
}

/// The memory of the arrays passed as `out=`. It is an error if one is read-only, or if there is not one for each result.
fn writeable(arrays: &[Bound<'_, PyUntypedArray>], results: usize) -> PyResult<Vec<NumpyMemory>> {
    if arrays.len() != results {
        let n = arrays.len();
        return Err(PyTypeError::new_err(format!("out has {n} arrays, there are {results} results")));
    }
    arrays.iter().map(NumpyMemory::out).collect()
}
