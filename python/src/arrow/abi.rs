//! The structs of Arrow's C interfaces and the PyCapsules that carry them.
//!
//! A struct has one owner, which must call its `release` callback once. If `release` is null, the struct was already released
//! or moved. Moving a struct copies its bytes and sets `release` to null in the old copy. [`Owned`] implements both rules.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use broadloom::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// The `release` callback of a struct.
type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// `struct ArrowSchema`: the data type of an array.
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

/// `struct ArrowArray`: the buffers of an array.
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

/// `struct ArrowArrayStream`: a sequence of arrays of one data type.
#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Release<ArrowArrayStream>,
    pub private_data: *mut c_void,
}

/// The bit of `ArrowSchema::flags` that is set if arrays may contain nulls.
pub const NULLABLE: i64 = 2;

/// A struct of Arrow's C interfaces.
///
/// # Safety
/// The all-zero bit pattern must be a valid value with a null `release`, and `CAPSULE` must be the name of the PyCapsules that
/// hold this struct.
pub unsafe trait Struct {
    /// The name of the PyCapsules that hold this struct.
    const CAPSULE: &'static CStr;
    /// The name of the struct, for error messages.
    const NAME: &'static str;

    /// The `release` field.
    fn release(&mut self) -> &mut Release<Self>;
}

macro_rules! structs {
    ($($name:ident $capsule:literal)*) => {$(
        // SAFETY: the fields are pointers, integers and optional function pointers; zero bits are valid for each of them.
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

/// A struct of Arrow's C interfaces that is released on drop, unless its `release` is null, as it is after a move.
#[repr(transparent)]
pub struct Owned<T: Struct>(pub T);

// SAFETY: the interface lets any thread use and release a struct, but only one thread at a time, which `&mut` ensures.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: a shared reference only allows copying plain numbers and pointers.
unsafe impl<T: Struct> Sync for Owned<T> {}

impl<T: Struct> Owned<T> {
    /// A struct with a null `release`, which a producer overwrites.
    pub fn empty() -> Owned<T> {
        // SAFETY: an implementer of `Struct` guarantees that the all-zero bit pattern is valid.
        Owned(unsafe { std::mem::zeroed() })
    }

    /// A pointer to the struct, for calls of its callbacks.
    pub fn pointer(&mut self) -> *mut T {
        &raw mut self.0
    }
}

impl<T: Struct> Drop for Owned<T> {
    fn drop(&mut self) {
        let Some(release) = *self.0.release() else { return };
        let pointer = self.pointer();
        // SAFETY: `release` is not null, so this owner still owns the struct and has not released it before.
        let call = || unsafe { release(pointer) };
        // The struct may be dropped while an exception is set. The exception is saved, since Python code that `release` calls
        // must not see or change it.
        let attached = Python::try_attach(|_| {
            let (mut kind, mut value, mut trace) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            // SAFETY: the thread is attached, and the exception fetched here is restored below.
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

/// Creates a PyCapsule that owns a struct. Its destructor releases the struct unless a consumer has moved it out.
pub fn capsule<T: Struct>(py: Python<'_>, owned: Owned<T>) -> PyResult<Bound<'_, PyAny>> {
    let pointer = Box::into_raw(Box::new(owned));
    // SAFETY: the name is static. The call returns a new reference, or null with an exception set. If it returns null, this
    // function still owns the box.
    unsafe {
        let made = ffi::PyCapsule_New(pointer.cast(), T::CAPSULE.as_ptr(), Some(destroy::<T>));
        if made.is_null() {
            drop(Box::from_raw(pointer));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The destructor of a PyCapsule made by [`capsule`].
unsafe extern "C" fn destroy<T: Struct>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls the destructor once, attached, with the capsule. A capsule of this name holds the box that `capsule`
    // made; a consumer that renamed the capsule has taken ownership of the box.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::CAPSULE.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, T::CAPSULE.as_ptr());
            drop(Box::from_raw(pointer.cast::<Owned<T>>()));
        }
    }
}

/// The struct in a PyCapsule; an error if it has been consumed already.
pub fn held<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<NonNull<T>> {
    // SAFETY: the object is alive while it is borrowed. It may be of any type: `PyCapsule_IsValid` checks that.
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
    // SAFETY: the producer guarantees that a capsule of this name holds an aligned struct of this type for as long as it lives.
    // The GIL is held, so no other thread accesses it.
    if unsafe { (*pointer.as_ptr()).release().is_none() } {
        return Err(PyValueError::new_err(format!(
            "from_arrow: the {} was consumed before: a capsule is taken once",
            T::NAME
        )));
    }
    Ok(pointer)
}

/// Moves the struct out of a PyCapsule, which is then marked as released.
pub fn taken<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<Owned<T>> {
    let pointer = held::<T>(capsule)?.as_ptr();
    // SAFETY: the capsule is alive, holds the struct, and the GIL is held. The copy left in the capsule is marked as released.
    unsafe {
        let moved = ptr::read(pointer);
        *(*pointer).release() = None;
        Ok(Owned(moved))
    }
}

/// The Arrow format string of each dtype.
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

/// The Arrow format string of a dtype.
pub fn format_of(dtype: DType) -> &'static CStr {
    FORMATS.iter().find(|(known, _)| *known == dtype).map_or(c"n", |(_, format)| *format)
}

/// The dtype of an Arrow format string; `None` if broadloom has no such dtype.
pub fn dtype_of(format: &[u8]) -> Option<DType> {
    FORMATS.iter().find(|(_, known)| known.to_bytes() == format).map(|(dtype, _)| *dtype)
}

/// The size of an element in Arrow's layout, in bits: 1 for bool, which takes 8 bits in broadloom.
pub fn bits_of(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.size() * 8 }
}
