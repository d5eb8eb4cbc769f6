//! The structs of the interfaces and the capsules that they travel in.
//!
//! A struct belongs to one owner, who calls `release` once unless it is null. It may be moved as bytes: moving it sets
//! `release` of the old place to null. Both are [`Owned`]'s work.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use broadloom::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// A function that releases a struct.
type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// A type: that of an array's elements.
#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Release<ArrowSchema>,
    pub private_data: *mut c_void,
}

/// The elements of an array.
#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Release<ArrowArray>,
    pub private_data: *mut c_void,
}

/// Arrays of one type, one after the other.
#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Release<ArrowArrayStream>,
    pub private_data: *mut c_void,
}

/// The flag of a schema whose arrays may have nulls.
pub const NULLABLE: i64 = 2;

/// One of the structs.
///
/// # Safety
/// All bytes zero must be a value of it, whose `release` is null; `CAPSULE` names capsules that hold it.
pub unsafe trait Struct {
    /// The name of its capsules.
    const CAPSULE: &'static CStr;
    /// Its name.
    const NAME: &'static str;

    /// The field `release`.
    fn release(&mut self) -> &mut Release<Self>;
}

macro_rules! structs {
    ($($name:ident $capsule:literal)*) => {$(
        // SAFETY: the fields are pointers, integers and options of functions, which zeros are values of.
        unsafe impl Struct for $name {
            const CAPSULE: &'static CStr = $capsule;
            const NAME: &'static str = stringify!($name);

            fn release(&mut self) -> &mut Release<Self> {
                &mut self.release
            }
        }
    )*};
}

structs! {
    ArrowSchema c"arrow_schema"
    ArrowArray c"arrow_array"
    ArrowArrayStream c"arrow_array_stream"
}

/// A struct that is released when this is dropped, unless it was moved away or there is nothing to be released.
#[repr(transparent)]
pub struct Owned<T: Struct>(pub T);

// SAFETY: the interface lets any thread use and release a struct, one at a time; `&mut` is what holds them to that.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: through a shared reference there are copies of plain numbers and pointers.
unsafe impl<T: Struct> Sync for Owned<T> {}

impl<T: Struct> Owned<T> {
    /// One without anything to be released, to be written by a producer.
    pub fn empty() -> Owned<T> {
        // SAFETY: `Struct` says that zeros are a value.
        Owned(unsafe { std::mem::zeroed() })
    }

    /// The struct for its own functions.
    pub fn pointer(&mut self) -> *mut T {
        &raw mut self.0
    }
}

impl<T: Struct> Drop for Owned<T> {
    fn drop(&mut self) {
        let Some(release) = *self.0.release() else { return };
        let pointer = self.pointer();
        // SAFETY: `release` is not null, so that the struct is this owner's, and is released here for the first time.
        let call = || unsafe { release(pointer) };
        // Objects die while an exception is under way, which code of Python's in `release` must neither see nor change.
        let attached = Python::try_attach(|_| {
            let (mut kind, mut value, mut trace) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            // SAFETY: the thread is attached. What is fetched is given back.
            unsafe {
                ffi::PyErr_Fetch(&mut kind, &mut value, &mut trace);
                call();
                ffi::PyErr_Restore(kind, value, trace);
            }
        });
        if attached.is_none() {
            call();
        }
    }
}

/// A capsule of a struct, which it releases unless a consumer moved the struct out of it.
pub fn capsule<T: Struct>(py: Python<'_>, owned: Owned<T>) -> PyResult<Bound<'_, PyAny>> {
    let pointer = Box::into_raw(Box::new(owned));
    // SAFETY: the name lives for ever. What is made is a new reference, or null with an exception; in that case the box
    // is still ours.
    unsafe {
        let made = ffi::PyCapsule_New(pointer.cast(), T::CAPSULE.as_ptr(), Some(destroy::<T>));
        if made.is_null() {
            drop(Box::from_raw(pointer));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The destructor of a capsule of [`capsule`].
unsafe extern "C" fn destroy<T: Struct>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, attached, with the capsule. Under that name it has the box that `capsule` made; a consumer
    // that renamed it took the box over.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::CAPSULE.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, T::CAPSULE.as_ptr());
            drop(Box::from_raw(pointer.cast::<Owned<T>>()));
        }
    }
}

/// The struct in a capsule, which is not consumed yet.
pub fn held<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<NonNull<T>> {
    // SAFETY: the object is alive while it is borrowed; it may be of any type, which the first call tells.
    let pointer = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), T::CAPSULE.as_ptr()) != 1 {
            let kind = capsule.get_type().name()?;
            let name = T::CAPSULE.to_string_lossy();
            return Err(PyTypeError::new_err(format!(
                "from_arrow: expected a capsule named {name:?}, not {kind}"
            )));
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), T::CAPSULE.as_ptr())
    };
    let pointer = NonNull::new(pointer.cast::<T>()).ok_or_else(|| PyErr::fetch(capsule.py()))?;
    if !pointer.is_aligned() {
        return Err(PyValueError::new_err(format!("from_arrow: the {} is not aligned", T::NAME)));
    }
    // SAFETY: a capsule of this name holds such a struct as long as it lives, which is what its maker promises, and the pointer is
    // aligned. The GIL is held, so that no one else looks at it.
    if unsafe { (*pointer.as_ptr()).release().is_none() } {
        return Err(PyValueError::new_err(format!(
            "from_arrow: the {} was consumed before: a capsule is taken once",
            T::NAME
        )));
    }
    Ok(pointer)
}

/// Moves a struct out of a capsule, which then has nothing to be released.
pub fn taken<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<Owned<T>> {
    let pointer = held::<T>(capsule)?.as_ptr();
    // SAFETY: the capsule is alive and holds the struct, with the GIL held; the old place loses its right to release.
    unsafe {
        let moved = ptr::read(pointer);
        *(*pointer).release() = None;
        Ok(Owned(moved))
    }
}

/// The formats of the dtypes.
const FORMATS: [(DType, &CStr); 12] = [
    (DType::Bool, c"b"),
    (DType::Int8, c"c"),
    (DType::UInt8, c"C"),
    (DType::Int16, c"s"),
    (DType::UInt16, c"S"),
    (DType::Int32, c"i"),
    (DType::UInt32, c"I"),
    (DType::Int64, c"l"),
    (DType::UInt64, c"L"),
    (DType::Float16, c"e"),
    (DType::Float32, c"f"),
    (DType::Float64, c"g"),
];

/// The format of a dtype.
pub fn format_of(dtype: DType) -> &'static CStr {
    FORMATS.iter().find(|(known, _)| *known == dtype).map_or(c"n", |(_, format)| *format)
}

/// The dtype of a format; `None` for one that there is not here.
pub fn dtype_of(format: &[u8]) -> Option<DType> {
    FORMATS.iter().find(|(_, known)| known.to_bytes() == format).map(|(dtype, _)| *dtype)
}

/// How many bits an element has: a bool one, instead of the eight that it has here.
pub fn bits_of(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.size() * 8 }
}
