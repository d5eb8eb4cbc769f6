//! Arguments from C: pointers, sizes and codes, converted to Rust types.
//!
//! No pointer is followed that is null or misaligned, and no more of a struct is read or written than its caller's
//! version of it has. What can't be checked, that the memory behind a pointer exists, is stated in each function's
//! safety section.

use std::ffi::{CStr, c_char};

use crate::status::bl_status::{BL_ARGUMENT, BL_MISALIGNED, BL_NULL, BL_TOO_SMALL, BL_UTF8};
use crate::status::{Answer, Failure};

/// In place of a text's length: the text ends at the first zero byte.
pub const BL_NUL_TERMINATED: usize = usize::MAX;

/// Whether a pointer may be followed, as far as can be told.
#[inline]
fn check<T>(pointer: *const T, what: &str) -> Answer<()> {
    if pointer.is_null() {
        return Err(Failure::new(BL_NULL, format!("{what} is null")));
    }
    if !pointer.is_aligned() {
        let why = format!("{what} is at {pointer:p}, which is no multiple of {}", align_of::<T>());
        return Err(Failure::new(BL_MISALIGNED, why));
    }
    Ok(())
}

/// An array of the caller's; without elements the pointer may be anything.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of so many elements for `'a`, and nothing writes to
/// them meanwhile.
#[inline]
pub(crate) unsafe fn many<'a, T>(pointer: *const T, count: usize, what: &str) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::new(BL_ARGUMENT, format!("{what}: {count} elements are more than memory has")));
    }
    // SAFETY: it is neither null nor misaligned, the size fits, and the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A place for an answer.
pub(crate) struct Place<T>(*mut T);

impl<T> Place<T> {
    /// The place at a pointer.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned is valid for a write for as long as the place is there.
    #[inline]
    pub(crate) unsafe fn new(pointer: *mut T, what: &str) -> Answer<Place<T>> {
        check(pointer, what)?;
        Ok(Place(pointer))
    }

    #[inline]
    pub(crate) fn put(&self, value: T) {
        // SAFETY: `new` checked the pointer, and its caller promised the memory.
        unsafe { self.0.write(value) };
    }
}

/// A text of the caller's: so many bytes, or up to the first zero.
///
/// # Safety
/// A pointer that is not null is valid for reads of so many bytes, or up to a zero, for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, length: usize, what: &str) -> Answer<&'a str> {
    let bytes = if length == BL_NUL_TERMINATED {
        check(pointer, what)?;
        // SAFETY: it is not null, and the caller promises a zero.
        unsafe { CStr::from_ptr(pointer) }.to_bytes()
    } else {
        // SAFETY: the caller's promise is that of `many`.
        unsafe { many(pointer.cast::<u8>(), length, what) }?
    };
    std::str::from_utf8(bytes).map_err(|error| {
        Failure::new(BL_UTF8, format!("{what} is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// A struct that begins with its size in bytes, as its caller knows it, and may have more fields one day.
///
/// # Safety
/// The type is `repr(C)` with a `usize` first, and has no invariant: any bytes that a caller may put there, and zeros,
/// are a value.
pub(crate) unsafe trait Versioned: Copy {
    /// The size in the first version that had the struct.
    const FIRST: usize;
    /// What fields have that the caller's version lacks.
    fn unsaid() -> Self;
}

/// The size that a struct says to have.
///
/// # Safety
/// As [`versioned`].
unsafe fn said<T: Versioned>(pointer: *const T, what: &str) -> Answer<usize> {
    check(pointer, what)?;
    // SAFETY: it is neither null nor misaligned, and the caller has at least the size.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < T::FIRST {
        let why = format!("{what} says to have {size} bytes, it has at least {}; set its size", T::FIRST);
        return Err(Failure::new(BL_ARGUMENT, why));
    }
    Ok(size)
}

/// A struct of a caller who may know fewer or more fields of it; unknown ones must be zero.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of a `usize`, and of as many bytes as that says.
pub(crate) unsafe fn versioned<T: Versioned>(pointer: *const T, what: &str) -> Answer<T> {
    // SAFETY: the promise is the same.
    let size = unsafe { said(pointer, what) }?;
    let mut known = T::unsaid();
    let (from, to) = (pointer.cast::<u8>(), (&raw mut known).cast::<u8>());
    // SAFETY: both have so many bytes, which are a `T` by the trait's promise; `known` is a local.
    unsafe { to.copy_from_nonoverlapping(from, size.min(size_of::<T>())) };
    for at in size_of::<T>()..size {
        // SAFETY: the caller's struct has `size` bytes.
        if unsafe { from.add(at).read() } != 0 {
            let why = format!("{what} has a field set that this version does not know, at byte {at}");
            return Err(Failure::new(BL_ARGUMENT, why));
        }
    }
    Ok(known)
}

/// Fills a struct of a caller who may know fewer or more fields of it; the size stays as it is.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of a `usize`, and for writes of as many bytes as
/// that says.
pub(crate) unsafe fn fill<T: Versioned>(pointer: *mut T, value: T, what: &str) -> Answer<()> {
    // SAFETY: the promise is the same.
    let size = unsafe { said(pointer, what) }?.min(size_of::<T>());
    let (from, to) = ((&raw const value).cast::<u8>(), pointer.cast::<u8>());
    let after = size_of::<usize>();
    // SAFETY: both have so many bytes; `value` is a local.
    unsafe { to.add(after).copy_from_nonoverlapping(from.add(after), size - after) };
    Ok(())
}

/// Gives a text to a caller's buffer, with a zero after it, and its length without the zero.
///
/// # Safety
/// `length` is null or valid for a write; a buffer that is not null is valid for writes of `capacity` bytes.
pub(crate) unsafe fn give(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Answer<()> {
    // SAFETY: the caller's promise.
    unsafe { Place::new(length, "the pointer to the length") }?.put(text.len());
    if capacity <= text.len() {
        let why = format!("a text of {} bytes and a zero does not fit into {capacity}", text.len());
        return Err(Failure::new(BL_TOO_SMALL, why));
    }
    check(buffer, "the buffer")?;
    let to = buffer.cast::<u8>();
    // SAFETY: the buffer has room for the text and a zero; nothing of the caller's is borrowed here.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}
