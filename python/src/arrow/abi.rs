//! The structs of Arrow's C interfaces, and the capsules in which they travel.
//!
//! A struct belongs to one owner, who calls its `release` once unless `release` is null. A struct may be moved by copying its
//! bytes: who moves it sets `release` of the old place to null. [`Owned`] does both.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use broadloom::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// A function that releases a struct.
type Release<T> = Option<unsafe extern "C" fn(*mut T)>;

/// The interface's description of a type: that of an array's elements.
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

/// The interface's struct for the elements of an array.
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

/// The interface's struct for a sequence of arrays of one type.
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

/// One of the three structs of Arrow's C interfaces.
///
/// # Safety
/// All bytes zero must be a value of the type, whose `release` is null; `CAPSULE` must be the name of capsules that hold the
/// struct.
pub unsafe trait Struct {
    /// The name that the interface gives to capsules of the struct.
    const CAPSULE: &'static CStr;
    /// The struct's name.
    const NAME: &'static str;

    /// The struct's field `release`.
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

/// A struct with its right to be released: dropping this calls `release`, unless that is null because the struct was moved away
/// or is empty.
#[repr(transparent)]
pub struct Owned<T: Struct>(pub T);

// SAFETY: the interface lets any thread use and release a struct, one at a time; `&mut` is what holds them to that.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: a shared reference only gives copies of plain numbers and pointers.
unsafe impl<T: Struct> Sync for Owned<T> {}

impl<T: Struct> Owned<T> {
    /// A struct with nothing to release, which a producer writes to.
    pub fn empty() -> Owned<T> {
        // SAFETY: `Struct` promises that zero bytes are a value of the type.
        Owned(unsafe { std::mem::zeroed() })
    }

    /// A pointer to the struct, as the struct's own functions take it.
    pub fn pointer(&mut self) -> *mut T {
        &raw mut self.0
    }
}

impl<T: Struct> Drop for Owned<T> {
    fn drop(&mut self) {
        let Some(release) = *self.0.release() else { return };
        let pointer = self.pointer();
        // SAFETY: `release` is not null, so that the struct belongs to this owner, and was not released before.
        let call = || unsafe { release(pointer) };
        // Objects may be dropped while an exception is under way, which Python code in `release` must neither see nor change.
        let attached = Python::try_attach(|_| {
            let (mut kind, mut value, mut trace) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            // SAFETY: the thread is attached. The exception that is fetched is restored.
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

/// Makes a capsule of a struct. The capsule releases the struct unless a consumer moved the struct out of it.
pub fn capsule<T: Struct>(py: Python<'_>, owned: Owned<T>) -> PyResult<Bound<'_, PyAny>> {
    let pointer = Box::into_raw(Box::new(owned));
    // SAFETY: the name lives for ever. `PyCapsule_New` gives a new reference, or null with an exception; in that case the box is
    // still ours.
    unsafe {
        let made = ffi::PyCapsule_New(pointer.cast(), T::CAPSULE.as_ptr(), Some(destroy::<T>));
        if made.is_null() {
            drop(Box::from_raw(pointer));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The destructor of the capsules that [`capsule`] makes.
unsafe extern "C" fn destroy<T: Struct>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, attached, with the capsule. Under its first name the capsule has the box that `capsule`
    // made; a consumer that renamed the capsule took over the box.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::CAPSULE.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, T::CAPSULE.as_ptr());
            drop(Box::from_raw(pointer.cast::<Owned<T>>()));
        }
    }
}

/// A pointer to the struct in a capsule; it is an error if the struct was consumed.
pub fn held<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<NonNull<T>> {
    // SAFETY: the object is alive while it is borrowed; it may be of any type, which the first call checks.
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
    // SAFETY: a capsule of this name holds such a struct as long as the capsule lives, which its maker promises, and the pointer
    // is aligned. The GIL is held, so that no other thread looks at the struct.
    if unsafe { (*pointer.as_ptr()).release().is_none() } {
        return Err(PyValueError::new_err(format!(
            "from_arrow: the {} was consumed before: a capsule is taken once",
            T::NAME
        )));
    }
    Ok(pointer)
}

/// Moves the struct out of a capsule, which has nothing to release afterwards.
pub fn taken<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<Owned<T>> {
    let pointer = held::<T>(capsule)?.as_ptr();
    // SAFETY: the capsule is alive and holds the struct, with the GIL held; the old place loses its right to release.
    unsafe {
        let moved = ptr::read(pointer);
        *(*pointer).release() = None;
        Ok(Owned(moved))
    }
}

/// The format string by which the interface names each dtype.
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

/// The interface's format string of a dtype.
pub fn format_of(dtype: DType) -> &'static CStr {
    FORMATS.iter().find(|(known, _)| *known == dtype).map_or(c"n", |(_, format)| *format)
}

/// The dtype that a format string of the interface names; `None` if broadloom has no such dtype.
pub fn dtype_of(format: &[u8]) -> Option<DType> {
    FORMATS.iter().find(|(_, known)| known.to_bytes() == format).map(|(dtype, _)| *dtype)
}

/// How many bits an element has in Arrow's memory: a bool has one bit there, and eight in broadloom.
pub fn bits_of(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.size() * 8 }
}
