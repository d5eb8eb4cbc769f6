//! Converts arguments from C (pointers, sizes and codes) to Rust types.
//!
//! A null or misaligned pointer is never dereferenced, and a struct is accessed only up to the size that its caller was compiled
//! with. The existence of the memory behind a pointer can't be checked; each function's safety section requires it.

use std::ffi::{CStr, c_char};

use crate::status::bl_status::{BL_ARGUMENT, BL_MISALIGNED, BL_NULL, BL_TOO_SMALL, BL_UTF8};
use crate::status::{Answer, CallFailure};

/// The length to pass for a text that ends at its first zero byte.
pub const BL_NUL_TERMINATED: usize = usize::MAX;

/// Returns an error if a pointer is null or misaligned.
#[inline]
fn check<T>(pointer: *const T, what: &str) -> Answer<()> {
    if pointer.is_null() {
        return Err(CallFailure::new(BL_NULL, format!("{what} is null")));
    }
    if !pointer.is_aligned() {
        let why = format!("{what} is at {pointer:p}, which is not a multiple of {}", align_of::<T>());
        return Err(CallFailure::new(BL_MISALIGNED, why));
    }
    Ok(())
}

/// The caller's array as a slice. If `count` is 0, the pointer is ignored.
///
/// # Safety
/// A pointer that is neither null nor misaligned must be valid for reads of `count` elements for `'a`, and nothing may write to
/// them during `'a`.
#[inline]
pub(crate) unsafe fn many<'a, T>(pointer: *const T, count: usize, what: &str) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(CallFailure::new(
            BL_ARGUMENT,
            format!("{what}: {count} elements exceed the address space"),
        ));
    }
    // SAFETY: the checks above ensured an aligned, non-null pointer and a size below `isize::MAX`. The safety section requires
    // that such a pointer is valid for reads of `count` elements that nothing writes to during `'a`.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Checks the caller's pointer for `count` results. If `count` is 0, the pointer is ignored.
pub(crate) fn check_results<T>(pointer: *const T, count: usize, what: &str) -> Answer<()> {
    if count == 0 { Ok(()) } else { check(pointer, what) }
}

/// The caller's pointer for a result.
pub(crate) struct OutPtr<T>(*mut T);

impl<T> OutPtr<T> {
    /// Checks the pointer.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned must be valid for writes as long as the `OutPtr` exists.
    #[inline]
    pub(crate) unsafe fn new(pointer: *mut T, what: &str) -> Answer<OutPtr<T>> {
        check(pointer, what)?;
        Ok(OutPtr(pointer))
    }

    #[inline]
    pub(crate) fn put(&self, value: T) {
        // SAFETY: an `OutPtr` comes from `new` only, which rejects null and misaligned pointers, and whose safety section
        // requires any other pointer to be valid for writes as long as `self` exists.
        unsafe { self.0.write(value) };
    }
}

/// The caller's string as UTF-8 text: `length` bytes, or the bytes before the first NUL.
///
/// # Safety
/// A non-null pointer must be valid for reads for `'a`, of `length` bytes or up to and including a NUL, and nothing may write to
/// them during `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, length: usize, what: &str) -> Answer<&'a str> {
    let bytes = if length == BL_NUL_TERMINATED {
        check(pointer, what)?;
        // SAFETY: `check` rejected null; the safety section requires a NUL in readable memory.
        unsafe { CStr::from_ptr(pointer) }.to_bytes()
    } else {
        // SAFETY: bytes are always aligned; the safety section requires that a non-null pointer is valid for reads of `length`
        // bytes.
        unsafe { many(pointer.cast::<u8>(), length, what) }?
    };
    std::str::from_utf8(bytes).map_err(|error| {
        CallFailure::new(BL_UTF8, format!("{what} is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// A struct whose first field is its size, in bytes, in the version that its caller was compiled with. Later versions may append
/// fields.
///
/// # Safety
/// The type must be `repr(C)` with a `usize` first, and every value that a C caller may store in its fields, including zero, must
/// be a valid value of the Rust type.
pub(crate) unsafe trait Versioned: Copy {
    /// The size of the struct's first version, in bytes.
    const MIN_SIZE: usize;
    /// The default values, used for fields that the caller's version lacks.
    fn defaults() -> Self;
}

/// Reads the size that the caller stored in a struct.
///
/// # Safety
/// The requirements of [`versioned`].
unsafe fn stated_size<T: Versioned>(pointer: *const T, what: &str) -> Answer<usize> {
    check(pointer, what)?;
    // SAFETY: `check` rejected null and misaligned pointers; `versioned` requires any other to be valid for a read of the leading
    // `usize`.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < T::MIN_SIZE {
        let why = format!(
            "{what} leads to a struct of {size} bytes, at least {} are required; set its `size`",
            T::MIN_SIZE
        );
        return Err(CallFailure::new(BL_ARGUMENT, why));
    }
    Ok(size)
}

/// Reads a caller's struct, whose version may have fewer or more fields. Fields that this version doesn't know must be zero.
///
/// # Safety
/// A pointer that is neither null nor misaligned must be valid for reads of a `usize`, and of the number of bytes stored there.
pub(crate) unsafe fn versioned<T: Versioned>(pointer: *const T, what: &str) -> Answer<T> {
    // SAFETY: the caller guarantees what `stated_size` requires.
    let size = unsafe { stated_size(pointer, what) }?;
    let mut known = T::defaults();
    let (from, to) = (pointer.cast::<u8>(), (&raw mut known).cast::<u8>());
    // SAFETY: the source has `size` readable bytes by the safety section, and `known` has `size_of::<T>()`. They don't overlap,
    // since `known` is a local. Any bytes of a caller's struct are a valid `T` by the safety section of `Versioned`.
    unsafe { to.copy_from_nonoverlapping(from, size.min(size_of::<T>())) };
    for at in size_of::<T>()..size {
        // SAFETY: `at` is below `size`, and the safety section requires that `size` bytes are readable.
        if unsafe { from.add(at).read() } != 0 {
            let why = format!(
                "{what} leads to a struct with a field set at byte {at} that this version does not know"
            );
            return Err(CallFailure::new(BL_ARGUMENT, why));
        }
    }
    Ok(known)
}

/// Fills in a caller's struct, whose version may have fewer or more fields. Its `size` is left unchanged.
///
/// # Safety
/// A pointer that is neither null nor misaligned must be valid for reads of a `usize`, and for writes of the number of bytes
/// stored there.
pub(crate) unsafe fn fill<T: Versioned>(pointer: *mut T, value: T, what: &str) -> Answer<()> {
    // SAFETY: `stated_size` reads the leading `usize`, which the safety section requires to be readable.
    let size = unsafe { stated_size(pointer, what) }?.min(size_of::<T>());
    let (from, to) = ((&raw const value).cast::<u8>(), pointer.cast::<u8>());
    let after = size_of::<usize>();
    // SAFETY: `size` is at least `T::MIN_SIZE`, which includes the leading `usize`, and at most both `size_of::<T>()` and the
    // number of bytes that the safety section requires to be writeable. `value` is a local, so the two don't overlap.
    unsafe { to.add(after).copy_from_nonoverlapping(from.add(after), size - after) };
    Ok(())
}

/// Copies a text with a terminating NUL to the caller's buffer, and stores its length in bytes without the NUL.
///
/// # Safety
/// `length` must be null or valid for a write; a non-null buffer must be valid for writes of `capacity` bytes.
pub(crate) unsafe fn give(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Answer<()> {
    // SAFETY: `OutPtr::new` accepts null, and has the same requirements on any other pointer as the safety section on `length`.
    unsafe { OutPtr::new(length, "the pointer to the length") }?.put(text.len());
    if capacity <= text.len() {
        let why = format!("a text of {} bytes and a zero does not fit into {capacity}", text.len());
        return Err(CallFailure::new(BL_TOO_SMALL, why));
    }
    check(buffer, "the buffer")?;
    let to = buffer.cast::<u8>();
    // SAFETY: `check` rejected null; the buffer has `capacity` writeable bytes by the safety section, and `capacity` is larger
    // than the text. `text` is this library's own memory, so the two don't overlap.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}
