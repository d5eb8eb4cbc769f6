//! The memory of NumPy arrays as operands, and broadloom's memory as NumPy arrays.
//!
//! While broadloom reads a NumPy array, another thread of Python may write to it, whether the GIL is released or not. So no Rust
//! slice is made of the array's memory, but a [`Region`] or a [`ViewMut`], which are read and written through pointers. There is
//! one exception: a reduction makes a slice of neighbouring elements while it combines them. An array that is read is kept alive
//! by a reference to it.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use broadloom::{Array, DType, In, Out, Region, ViewMut};
use numpy::npyffi::{
    self, _PyArray_GET_ITEM_DATA, NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO, NPY_ARRAY_OWNDATA,
    NPY_ARRAY_WRITEABLE, PY_ARRAY_API, PyArrayObject,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::dtype;
use crate::error::OrRaise;

/// A list with one number per axis.
pub type Axes<T> = SmallVec<[T; 4]>;

/// A description of a NumPy array's memory that was checked: elements are aligned and in this machine's order of bytes, and
/// strides are whole elements.
pub struct NumpyMemory {
    pub dtype: DType,
    pub shape: Axes<usize>,
    /// The stride of each axis, in elements.
    pub strides: Axes<isize>,
    /// The address of the element whose index is 0 along each axis.
    data: *mut u8,
    /// The distance from the lowest address that an index reaches to `data`, in elements.
    offset: usize,
    /// The number of bytes from the lowest address to the end of the highest element.
    bytes: usize,
    /// Whether elements follow each other in row-major order.
    pub is_row_major: bool,
    pub is_writeable: bool,
}

// SAFETY: the pointer is read and written through views only, whose makers promise that the array is kept alive; which thread
// does so is of no importance.
unsafe impl Send for NumpyMemory {}
// SAFETY: as for `Send`; a shared reference only gives copies of plain numbers and pointers.
unsafe impl Sync for NumpyMemory {}

/// Why an array's memory can't be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshareable {
    /// Broadloom has no such dtype.
    DType,
    /// The bytes of an element are in the order of other machines.
    Swapped,
    /// The address of an element, or a stride, is not a multiple of the element's size.
    Misaligned,
}

impl Unshareable {
    /// The exception that explains why the array can't be shared.
    pub fn exception(self, array: &Bound<'_, PyUntypedArray>) -> PyErr {
        let dtype = array.dtype();
        let shown = dtype.str().map_or_else(|_| "an unknown dtype".to_owned(), |text| text.to_string());
        match self {
            Unshareable::DType => {
                let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
                PyTypeError::new_err(format!("the array is {shown}; broadloom has {}", all.join(", ")))
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
    /// The description of an array's memory.
    pub fn of(array: &Bound<'_, PyUntypedArray>) -> Result<NumpyMemory, Unshareable> {
        // PERF: one look at the array's struct, instead of a call for each of its parts.
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

    /// Whether this still describes the memory of the array: Python code may have resized the array, or changed its dtype, since
    /// the description was made.
    pub fn is_of(&self, array: &Bound<'_, PyUntypedArray>) -> bool {
        NumpyMemory::of(array)
            .is_ok_and(|now| now.is_writeable == self.is_writeable && now.has_elements_of(self))
    }

    /// Whether both descriptions are of the same elements: they have the same dtype, extents, strides and address.
    fn has_elements_of(&self, other: &NumpyMemory) -> bool {
        (self.data, self.dtype) == (other.data, other.dtype)
            && self.shape == other.shape
            && self.strides == other.strides
    }

    /// The range of addresses that the array's elements take up.
    fn addresses(&self) -> Range<usize> {
        let start = self.data.addr().wrapping_sub(self.offset * self.dtype.size());
        start..start.wrapping_add(self.bytes)
    }

    /// The array's dtype and shape, for messages.
    fn shown(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("{}[{}]", self.dtype, extents.join(","))
    }

    /// The address of the element whose index is 0 along each axis.
    pub fn address(&self) -> *const u8 {
        self.data
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of bytes of the elements when they are packed one after the other.
    pub fn packed_bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }

    /// The region of all bytes that the array's elements take up.
    ///
    /// # Safety
    /// The array must be alive as long as the region is used.
    unsafe fn region<'a>(&self) -> Region<'a> {
        let start = self.data.wrapping_sub(self.offset * self.dtype.size());
        // SAFETY: NumPy keeps what an array reaches in one allocation that it may read, except for arrays whose makers promise
        // this (`as_strided`); the array is alive. Other threads of Python may write to it, which is a race in their program, and
        // any bytes are elements.
        unsafe { Region::from_raw(start, self.bytes) }
    }

    /// The memory as an input of a kernel's run.
    ///
    /// # Safety The array must be alive as long as the input is used.
    pub unsafe fn input(&self) -> In<'_> {
        // SAFETY: the contract is the same.
        In::raw(self.dtype, unsafe { self.region() }, self.offset, &self.shape, &self.strides)
    }

    /// Copies the elements of a row-major array to `to`, which takes exactly these bytes.
    ///
    /// # Safety
    /// The array must be alive and row-major.
    pub unsafe fn copy_to(&self, to: &mut [u8]) {
        debug_assert!(self.is_row_major && to.len() == self.packed_bytes());
        // SAFETY: a row-major array has its elements from `data` on, as many bytes as `to` takes; `to` is Rust's memory.
        unsafe { std::ptr::copy_nonoverlapping(self.data, to.as_mut_ptr(), to.len()) }
    }

    /// The memory as a view to be written.
    ///
    /// # Safety
    /// The array must be alive and writeable as long as the view is used.
    pub unsafe fn view_mut<'a>(&self) -> PyResult<ViewMut<'a>> {
        let size = self.dtype.size();
        let strides: Axes<isize> = self.strides.iter().map(|stride| stride * size as isize).collect();
        // SAFETY: the elements are the array's, aligned and in one allocation; they are written through pointers, before any of
        // them is read. Only another thread of Python may read or write them at that time, which is a race in its program.
        let view = unsafe { ViewMut::from_raw(self.data, size, &self.shape, &strides) };
        view.map_err(|error| PyValueError::new_err(format!("out: {error}")))
    }

    /// The memory of a row-major array that no one else has, as an output of a kernel's run.
    ///
    /// # Safety
    /// As for [`NumpyMemory::view_mut`]; nothing else may read or write the array as long as the output is used, and all of its
    /// bytes must have values.
    pub unsafe fn output_slice<'a>(&self) -> Out<'a> {
        let len = self.packed_bytes();
        if len == 0 {
            return Out::bytes(self.dtype, &mut []);
        }
        // SAFETY: a row-major array has its elements from `data` on, and no one else has it.
        Out::bytes(self.dtype, unsafe { std::slice::from_raw_parts_mut(self.data, len) })
    }

    /// The memory as an output of a kernel's run.
    ///
    /// # Safety As for [`NumpyMemory::view_mut`].
    pub unsafe fn output<'a>(&self) -> PyResult<Out<'a>> {
        // SAFETY: the contract is the same.
        Ok(Out::raw(self.dtype, unsafe { self.view_mut() }?))
    }
}

/// A NumPy array whose memory is shared with an expression: it is kept alive, with a description of its memory as it was when it
/// was shared.
///
/// Python code can give an array another dtype, shape or strides in place, and `resize` frees the memory of an array, and of views of
/// it, if it is told not to look for references. So the description is compared with the array before elements are read.
struct Lender {
    array: Py<PyUntypedArray>,
    memory: NumpyMemory,
    /// The array that allocated the memory, if the shared array is a view of another array.
    allocated_by: Option<Py<PyUntypedArray>>,
}

impl Lender {
    /// The lender for an array as it is now.
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Lender> {
        let memory = NumpyMemory::of(array).map_err(|why| why.exception(array))?;
        let base = last_base(array).filter(|base| allocates(base, &memory));
        Ok(Lender { array: array.clone().unbind(), memory, allocated_by: base.map(Bound::unbind) })
    }

    /// Raises ValueError if the array does not have the described memory any more.
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

/// The array that a view is made of, followed to the last through views of views; `None` if the array is no view of another
/// array.
fn last_base<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Bound<'py, PyUntypedArray>> {
    let mut found: Option<Bound<'py, PyUntypedArray>> = None;
    loop {
        let last = found.as_ref().unwrap_or(array);
        // SAFETY: the array is alive while it is borrowed, and its struct has these fields; a base that is not null is an object.
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

/// Whether memory lies within what an array allocated itself.
fn allocates(array: &Bound<'_, PyUntypedArray>, memory: &NumpyMemory) -> bool {
    // SAFETY: the array is alive while it is borrowed, and its struct has these fields.
    let fields = unsafe { &*_PyArray_GET_ITEM_DATA(array.as_array_ptr()) };
    let bytes =
        array.shape().iter().fold(array.dtype().itemsize(), |bytes, &extent| bytes.saturating_mul(extent));
    let (start, inner) = (fields.data.addr(), memory.addresses());
    fields.flags & NPY_ARRAY_OWNDATA != 0 && start <= inner.start && inner.end <= start.saturating_add(bytes)
}

/// A broadloom array over the memory of a NumPy array, which is kept alive.
pub fn lend(array: &Bound<'_, PyUntypedArray>) -> PyResult<Array<'static>> {
    let owner = Arc::new(Lender::of(array)?);
    let memory = &owner.memory;
    // SAFETY: the array that is made keeps the owner, and with it NumPy's array.
    let region = unsafe { memory.region() };
    Array::lent(memory.dtype, region, memory.offset, &memory.shape, &memory.strides, owner.clone()).or_raise()
}

/// Raises ValueError if an expression reads the memory of a NumPy array whose dtype, shape or strides have changed since the
/// memory was shared.
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

/// The owner of broadloom's memory that a NumPy array shares.
#[pyclass(frozen, module = "broadloom._core")]
struct Memory {
    #[expect(dead_code, reason = "keeps the memory alive")]
    array: Array<'static>,
}

/// A NumPy array over the memory of an evaluated array. It is writeable if no one else has that memory.
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
    let base = Bound::new(py, Memory { array })?.into_any();
    // SAFETY: `data` has the elements of this shape in row-major order for as long as `base` lives. Without the flag for writing,
    // NumPy does not write to them.
    unsafe { based(py, dtype, &shape, data, flags, base) }
}

/// A read-only NumPy array over memory that `base` keeps alive.
///
/// # Safety
/// The memory must have the elements of this shape and dtype, in row-major order and aligned, for as long as `base` lives.
pub unsafe fn over<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    data: *const u8,
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the contract is the same.
    unsafe { based(py, dtype, shape, data.cast_mut(), NPY_ARRAY_CARRAY_RO, base) }
}

/// A NumPy array over memory that a base keeps alive.
///
/// # Safety As for [`of_descriptor`], for as long as `base` lives.
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

/// A new NumPy array in row-major order over the memory at a pointer; if the pointer is null, NumPy allocates the memory.
///
/// # Safety
/// The memory must have the elements of this shape and dtype for as long as the array lives; beside the flags of row-major order
/// only the flag for writing may be given.
unsafe fn of_descriptor<'py>(
    py: Python<'py>,
    descriptor: &Bound<'py, PyArrayDescr>,
    shape: &[usize],
    data: *mut c_void,
    flags: i32,
) -> PyResult<Bound<'py, PyAny>> {
    let mut extents: Axes<npyffi::npy_intp> =
        shape.iter().map(|&extent| extent as npyffi::npy_intp).collect();
    // SAFETY: there are as many extents as dimensions, and the caller promises what the memory has; NumPy takes over a reference
    // to the descriptor. NumPy returns a new reference, or null with an exception.
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

/// Results of at most this many bytes are in memory that NumPy allocates, which is faster for them.
const SMALL: usize = 1 << 14;

/// A new NumPy array, to which results are written.
pub fn new<'py>(py: Python<'py>, dtype: DType, shape: &[usize]) -> PyResult<Bound<'py, PyUntypedArray>> {
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, &extent| bytes.checked_mul(extent));
    match bytes.filter(|bytes| *bytes <= SMALL) {
        Some(bytes) => new_short(py, &dtype::numpy(py, dtype)?, shape, bytes),
        None => Ok(share(py, Array::for_overwrite(shape, dtype).or_raise()?)?.cast_into()?),
    }
}

/// A new NumPy array of a few bytes, to which results are written; all of its bytes are zero. `bytes` is the product of the
/// dtype's size and the extents.
pub fn new_short<'py>(
    py: Python<'py>,
    descriptor: &Bound<'py, PyArrayDescr>,
    shape: &[usize],
    bytes: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    // SAFETY: NumPy allocates the memory, which has this many bytes from `data` on; the object that is made is an array.
    unsafe {
        let made = of_descriptor(py, descriptor, shape, std::ptr::null_mut(), 0)?;
        let data = (*_PyArray_GET_ITEM_DATA(made.as_ptr().cast::<PyArrayObject>())).data;
        std::ptr::write_bytes(data, 0, bytes);
        Ok(made.cast_into_unchecked())
    }
}

/// The error about an array that Python code changed after its memory was described and before the run.
pub fn changed() -> PyErr {
    PyValueError::new_err(
        "an array was resized, or changed its dtype, while a call was made ready that uses it",
    )
}
