//! NumPy's memory as operands of the engine, and the engine's memory as NumPy arrays.
//!
//! Another Python thread may write to an array while it is read here, whether or not the GIL is released. An array's memory is
//! therefore accessed through raw pointers, by a [`Region`] or a [`ViewMut`], and not as a slice. The only exception is a
//! reduction, which makes a slice of contiguous elements while it combines them. A reference to each array that is read keeps it
//! alive.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use broadloom::{Array, DType, Error, ErrorKind, In, Out, Region, ViewMut};
use numpy::npyffi::{
    self, _PyArray_GET_ITEM_DATA, NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO, NPY_ARRAY_OWNDATA,
    NPY_ARRAY_WRITEABLE, PY_ARRAY_API, PyArrayObject,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::dtype;
use crate::error::{OrRaise, exception};

/// A list with one number per axis.
pub type Axes<T> = SmallVec<[T; 4]>;

/// The memory of a NumPy array whose layout was checked: native byte order, aligned elements, and strides that are multiples of
/// the element size.
#[derive(Clone)]
pub struct NumpyMemory {
    pub dtype: DType,
    pub shape: Axes<usize>,
    /// The stride of each axis, in elements.
    pub strides: Axes<isize>,
    /// The address of the element with index 0 along each axis.
    data: *mut u8,
    /// The distance from the lowest address of any element to `data`, in elements.
    offset: usize,
    /// The size from the lowest address of any element to the end of the highest element, in bytes.
    bytes: usize,
    /// Whether elements are contiguous in row-major order.
    pub is_row_major: bool,
    pub is_writeable: bool,
}

// SAFETY: the pointer is dereferenced only through views, whose creators guarantee that the array is alive. Any thread may do so.
unsafe impl Send for NumpyMemory {}
// SAFETY: a shared reference only allows copying plain numbers and pointers.
unsafe impl Sync for NumpyMemory {}

/// The reason why an array can't be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshareable {
    /// Its dtype is not supported.
    DType,
    /// Its byte order is not the native one.
    Swapped,
    /// The addresses or strides of elements are not multiples of the element size.
    Misaligned,
}

impl Unshareable {
    /// The exception for this reason.
    pub fn exception(self, array: &Bound<'_, PyUntypedArray>) -> PyErr {
        let dtype = array.dtype();
        let shown = dtype.str().map_or_else(|_| "an unknown dtype".to_owned(), |text| text.to_string());
        match self {
            Unshareable::DType => {
                let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
                let why = format!("the array is {shown}; broadloom has {}", all.join(", "));
                exception(&Error::new(ErrorKind::DType, why))
            }
            Unshareable::Swapped => PyValueError::new_err(format!(
                "the array is {shown}, in another machine's order of bytes: its memory can't be shared; copy it with \
                 `x.astype(x.dtype.newbyteorder('='))`"
            )),
            Unshareable::Misaligned => PyValueError::new_err(format!(
                "the elements of the array are not aligned to their {} bytes: its memory can't be shared; copy it with `x.copy()`",
                dtype.itemsize()
            )),
        }
    }
}

impl NumpyMemory {
    /// Checks the layout of an array and describes its memory. The exception says why it can't be shared.
    pub fn shared(array: &Bound<'_, PyUntypedArray>) -> PyResult<NumpyMemory> {
        NumpyMemory::of(array).map_err(|why| why.exception(array))
    }

    /// Describes the memory of an array that is passed as `out`, or as one of several; it is an error if it is read-only.
    pub fn out(array: &Bound<'_, PyUntypedArray>) -> PyResult<NumpyMemory> {
        let memory = NumpyMemory::shared(array)?;
        match memory.is_writeable {
            true => Ok(memory),
            false => Err(PyValueError::new_err("out: the array is read-only")),
        }
    }

    /// Checks the layout of an array and describes its memory.
    pub fn of(array: &Bound<'_, PyUntypedArray>) -> Result<NumpyMemory, Unshareable> {
        // PERF: reads the array's struct directly, instead of one call per field.
        // SAFETY: the array is alive while it is borrowed, and its struct has these fields.
        let fields = unsafe { &*_PyArray_GET_ITEM_DATA(array.as_array_ptr()) };
        let descriptor = array.dtype();
        let (dtype, is_native) = dtype::of_descriptor(&descriptor).ok_or(Unshareable::DType)?;
        let size = dtype.size();
        if !is_native {
            return Err(Unshareable::Swapped);
        }
        let rank = fields.nd as usize;
        let (mut shape, mut strides) = (Axes::with_capacity(rank), Axes::with_capacity(rank));
        let (mut low, mut high, mut is_empty) = (0isize, 0isize, false);
        for axis in 0..rank {
            // SAFETY: an array has as many extents and strides as dimensions.
            let (extent, step) =
                unsafe { (*fields.dimensions.add(axis) as usize, *fields.strides.add(axis)) };
            is_empty |= extent == 0;
            if extent > 1 && step % size as isize != 0 {
                return Err(Unshareable::Misaligned);
            }
            let stride = if extent > 1 { step / size as isize } else { 0 };
            let reach = stride * (extent as isize - 1).max(0);
            low += reach.min(0);
            high += reach.max(0);
            shape.push(extent);
            strides.push(stride);
        }
        let data = fields.data.cast::<u8>();
        if is_empty {
            (low, high) = (0, -1);
        } else if !data.addr().is_multiple_of(size) {
            return Err(Unshareable::Misaligned);
        }
        let mut step = 1isize;
        let is_row_major = is_empty
            || shape.iter().zip(&strides).rev().all(|(&extent, &stride)| {
                let fits = extent == 1 || stride == step;
                step *= extent as isize;
                fits
            });
        Ok(NumpyMemory {
            dtype,
            shape,
            strides,
            data,
            offset: low.unsigned_abs(),
            bytes: (high - low + 1) as usize * size,
            is_row_major,
            is_writeable: fields.flags & NPY_ARRAY_WRITEABLE != 0,
        })
    }

    /// Whether both descriptions refer to the same elements: equal dtype, shape, strides and address.
    fn has_elements_of(&self, other: &NumpyMemory) -> bool {
        (self.data, self.dtype) == (other.data, other.dtype)
            && self.shape == other.shape
            && self.strides == other.strides
    }

    /// The address range that the array's elements span.
    fn addresses(&self) -> Range<usize> {
        let start = self.data.addr().wrapping_sub(self.offset * self.dtype.size());
        start..start.wrapping_add(self.bytes)
    }

    /// The dtype and shape, for messages.
    fn shown(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("{}[{}]", self.dtype, extents.join(","))
    }

    /// The address of the element with index 0 along each axis.
    pub fn address(&self) -> *mut u8 {
        self.data
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The size of the elements without gaps, in bytes.
    pub fn packed_bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }

    /// The memory that the elements of an array with this layout span, if its element with index 0 along each axis is at `data`.
    ///
    /// # Safety
    /// The array must stay alive as long as the region is used.
    unsafe fn region<'a>(&self, data: *mut u8) -> Region<'a> {
        let start = data.wrapping_sub(self.offset * self.dtype.size());
        // SAFETY: the array is alive, and NumPy guarantees that all its elements are in one readable allocation. For arrays made
        // by `as_strided`, the caller of that function guarantees it. Writes by other Python threads are a race in the user's
        // program; any bytes are valid elements.
        unsafe { Region::from_raw(start, self.bytes) }
    }

    /// The memory of an array with this layout, whose element with index 0 along each axis is at `data`, as an input of a kernel's
    /// run.
    ///
    /// # Safety
    /// The array must stay alive as long as the input is used.
    pub unsafe fn input(&self, data: *mut u8) -> In<'_> {
        // SAFETY: the caller guarantees what `region` requires.
        In::raw(self.dtype, unsafe { self.region(data) }, self.offset, &self.shape, &self.strides)
    }

    /// The memory as a writeable view.
    ///
    /// # Safety
    /// The array must stay alive and writeable as long as the view is used.
    pub unsafe fn view_mut<'a>(&self) -> PyResult<ViewMut<'a>> {
        let size = self.dtype.size();
        let strides: Axes<isize> = self.strides.iter().map(|stride| stride * size as isize).collect();
        // SAFETY: the elements belong to the array, aligned and in one allocation; they are written through pointers before they
        // are read. Concurrent access by other Python threads is a race in the user's program.
        let view = unsafe { ViewMut::from_raw(self.data, size, &self.shape, &strides) };
        view.map_err(|error| PyValueError::new_err(format!("out: {error}")))
    }

    /// The memory as an output of a kernel's run.
    ///
    /// # Safety
    /// The requirements of [`NumpyMemory::view_mut`].
    pub unsafe fn output<'a>(&self) -> PyResult<Out<'a>> {
        // SAFETY: the caller guarantees what `view_mut` requires.
        Ok(Out::raw(self.dtype, unsafe { self.view_mut() }?))
    }
}

/// A NumPy array whose memory is shared, and the description of that memory when it was shared. The memory is kept alive by a
/// reference to the array.
///
/// Python code can change the dtype, shape or strides of an array in place, and `resize` called with `refcheck=False` frees
/// memory that views still use. The description is therefore compared with the array before elements are read.
struct Lender {
    array: Py<PyUntypedArray>,
    memory: NumpyMemory,
    /// The array that allocated the memory, if it is another array.
    allocated_by: Option<Py<PyUntypedArray>>,
}

impl Lender {
    /// Records the array's current description.
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Lender> {
        let memory = NumpyMemory::shared(array)?;
        let base = last_base(array).filter(|base| allocates(base, &memory));
        Ok(Lender { array: array.clone().unbind(), memory, allocated_by: base.map(Bound::unbind) })
    }

    /// Raises ValueError if the array's memory or layout has changed.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let array = self.array.bind(py);
        let now = NumpyMemory::of(array);
        let is_allocated =
            self.allocated_by.as_ref().is_none_or(|base| allocates(base.bind(py), &self.memory));
        if is_allocated && now.as_ref().is_ok_and(|now| now.has_elements_of(&self.memory)) {
            return Ok(());
        }
        let is_there = now.as_ref().is_ok_and(|now| now.data == self.memory.data);
        let (was, is) = (
            self.memory.shown(),
            now.map_or_else(|_| "of a dtype that can't be shared".to_owned(), |now| now.shown()),
        );
        let why = if was != is {
            format!("the NumPy array was {was} when its memory was shared, and is {is} now")
        } else if is_allocated && is_there {
            format!("the NumPy array, {was}, has other strides than when its memory was shared")
        } else {
            format!("the memory of the NumPy array, {was}, was moved or freed since it was shared")
        };
        Err(PyValueError::new_err(format!("{why}; `broadloom.asarray` makes an array of what it is now")))
    }
}

/// The array at the end of the chain of bases; `None` if the array is not a view of another array.
fn last_base<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Bound<'py, PyUntypedArray>> {
    let mut found: Option<Bound<'py, PyUntypedArray>> = None;
    loop {
        let last = found.as_ref().unwrap_or(array);
        // SAFETY: the array is alive while it is borrowed, and its struct has these fields; a non-null base is a Python object.
        let base = unsafe {
            let base = (*_PyArray_GET_ITEM_DATA(last.as_array_ptr())).base;
            Bound::from_borrowed_ptr_or_opt(array.py(), base)
        };
        match base.map(Bound::cast_into::<PyUntypedArray>) {
            Some(Ok(base)) => found = Some(base),
            _ => return found,
        }
    }
}

/// Whether the memory lies within the array's own allocation.
fn allocates(array: &Bound<'_, PyUntypedArray>, memory: &NumpyMemory) -> bool {
    // SAFETY: the array is alive while it is borrowed, and its struct has these fields.
    let fields = unsafe { &*_PyArray_GET_ITEM_DATA(array.as_array_ptr()) };
    let bytes =
        array.shape().iter().fold(array.dtype().itemsize(), |bytes, &extent| bytes.saturating_mul(extent));
    let (start, inner) = (fields.data.addr(), memory.addresses());
    fields.flags & NPY_ARRAY_OWNDATA != 0 && start <= inner.start && inner.end <= start.saturating_add(bytes)
}

/// Creates a broadloom array over the memory of a NumPy array, and keeps that array alive.
pub fn lend(array: &Bound<'_, PyUntypedArray>) -> PyResult<Array<'static>> {
    let owner = Arc::new(Lender::of(array)?);
    let memory = &owner.memory;
    // SAFETY: the new array keeps the owner alive, and the owner keeps the NumPy array alive.
    let region = unsafe { memory.region(memory.data) };
    Array::lent(memory.dtype, region, memory.offset, &memory.shape, &memory.strides, owner.clone()).or_raise()
}

/// Raises ValueError if an expression reads NumPy memory whose array has changed its layout or dtype since the memory was shared.
pub fn check_lenders(py: Python<'_>, array: &Array<'_>) -> PyResult<()> {
    let mut checked = Ok(());
    array.visit_owners(&mut |owner| {
        if checked.is_ok()
            && let Some(lender) = owner.downcast_ref::<Lender>()
        {
            checked = lender.check(py);
        }
    });
    checked
}

/// The owner of broadloom memory that a NumPy array points to.
#[pyclass(frozen, module = "broadloom._core")]
struct MemoryOwner {
    #[expect(dead_code, reason = "keeps the memory alive")]
    array: Array<'static>,
}

/// A NumPy array over the memory of an evaluated array. It is writeable if no one else uses that memory.
pub fn share<'py>(py: Python<'py>, mut array: Array<'static>) -> PyResult<Bound<'py, PyAny>> {
    let (shape, dtype) = (array.shape().to_vec(), array.dtype());
    let (data, flags) = match array.as_bytes_mut() {
        Some(bytes) => (bytes.as_mut_ptr(), NPY_ARRAY_CARRAY),
        None => {
            let bytes =
                array.as_bytes().ok_or_else(|| PyValueError::new_err("the array is not evaluated"))?;
            (bytes.as_ptr().cast_mut(), NPY_ARRAY_CARRAY_RO)
        }
    };
    let base = Bound::new(py, MemoryOwner { array })?.into_any();
    // SAFETY: `data` holds the elements of this shape, in row-major order, as long as `base` lives. NumPy doesn't write to an
    // array without the writeable flag.
    unsafe { based(py, dtype, &shape, data, flags, base) }
}

/// A read-only NumPy array over memory that `base` keeps alive.
///
/// # Safety
/// The memory must hold the elements of this shape and dtype, in row-major order and aligned, as long as `base` lives.
pub unsafe fn over<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    data: *const u8,
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller guarantees what `based` requires.
    unsafe { based(py, dtype, shape, data.cast_mut(), NPY_ARRAY_CARRAY_RO, base) }
}

/// A NumPy array with a base object.
///
/// # Safety
/// The requirements of [`of_descriptor`], for as long as `base` lives.
unsafe fn based<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    data: *mut u8,
    flags: i32,
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let descriptor = dtype::numpy(py, dtype)?;
    // SAFETY: `base` becomes the array's base, which keeps the memory alive; NumPy steals the reference to it.
    unsafe {
        let made = of_descriptor(py, &descriptor, shape, data.cast(), flags)?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast::<PyArrayObject>(), base.into_ptr()) {
            0 => Ok(made),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// A new row-major NumPy array over the memory at a pointer, or over newly allocated memory if the pointer is null.
///
/// # Safety
/// The memory must hold the elements of this shape and dtype as long as the array lives. Besides the flags of row-major order,
/// only the writeable flag may be set.
unsafe fn of_descriptor<'py>(
    py: Python<'py>,
    descriptor: &Bound<'py, PyArrayDescr>,
    shape: &[usize],
    data: *mut c_void,
    flags: i32,
) -> PyResult<Bound<'py, PyAny>> {
    let mut extents: Axes<npyffi::npy_intp> =
        shape.iter().map(|&extent| extent as npyffi::npy_intp).collect();
    // SAFETY: the number of extents is the number of dimensions, and the caller guarantees the memory. NumPy steals a reference
    // to the descriptor, and returns a new reference or null with an exception set.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            descriptor.clone().into_dtype_ptr(),
            extents.len() as i32,
            extents.as_mut_ptr(),
            std::ptr::null_mut(),
            data,
            flags,
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// Results of at most this many bytes use memory allocated by NumPy, which is faster for small arrays.
const SMALL: usize = 1 << 14;

/// A new, writeable NumPy array.
pub fn new<'py>(py: Python<'py>, dtype: DType, shape: &[usize]) -> PyResult<Bound<'py, PyUntypedArray>> {
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, &extent| bytes.checked_mul(extent));
    match bytes.filter(|bytes| *bytes <= SMALL) {
        Some(bytes) => new_short(py, &dtype::numpy(py, dtype)?, shape, bytes),
        None => Ok(share(py, Array::for_overwrite(shape, dtype).or_raise()?)?.cast_into()?),
    }
}

/// A new, writeable, zeroed NumPy array with a size of at most `SMALL` bytes; `bytes` is the size that follows from its dtype and
/// shape.
pub fn new_short<'py>(
    py: Python<'py>,
    descriptor: &Bound<'py, PyArrayDescr>,
    shape: &[usize],
    bytes: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    // SAFETY: the object is an array, and NumPy allocated this many bytes at its `data`.
    unsafe {
        let made = of_descriptor(py, descriptor, shape, std::ptr::null_mut(), 0)?;
        let data = (*_PyArray_GET_ITEM_DATA(made.as_ptr().cast::<PyArrayObject>())).data;
        std::ptr::write_bytes(data, 0, bytes);
        Ok(made.cast_into_unchecked())
    }
}

/// The error for an array that Python code changed between the check of its layout and the run.
pub fn changed() -> PyErr {
    PyValueError::new_err(
        "an array was resized, or changed its dtype, while a call was made ready that uses it",
    )
}
