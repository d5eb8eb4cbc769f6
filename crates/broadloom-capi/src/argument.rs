//! Arguments from C: pointers, sizes and codes, converted to Rust types.
//!
//! A pointer that is null or misaligned is never followed, and of a struct only the part that the caller's version has is read or
//! written. It can't be checked that the memory behind a pointer exists; each function's safety section states this requirement.

use std::ffi::{CStr, c_char};

use crate::status::bl_status::{BL_ARGUMENT, BL_MISALIGNED, BL_NULL, BL_TOO_SMALL, BL_UTF8};
use crate::status::{Answer, Failure};

/// Instead of a text's length: the text ends at the first zero byte.
pub const BL_NUL_TERMINATED: usize = usize::MAX;

/// Refuses a pointer that is null or misaligned.
#[inline]
fn check<T>(pointer: *const T, what: &str) -> Answer<()> {
    if pointer.is_null() {
        return Err(Failure::new(BL_NULL, format!("{what} is null")));
    }
    if !pointer.is_aligned() {
        let why = format!("{what} is at {pointer:p}, which is not a multiple of {}", align_of::<T>());
        return Err(Failure::new(BL_MISALIGNED, why));
    }
    Ok(())
}

/// An array of the caller; for a count of 0 the pointer may be anything.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of `count` elements for `'a`, and nothing writes to
/// them during `'a`.
#[inline]
pub(crate) unsafe fn many<'a, T>(pointer: *const T, count: usize, what: &str) -> Answer<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::new(BL_ARGUMENT, format!("{what}: {count} elements exceed the address space")));
    }
    // SAFETY: the checks above leave a pointer that is neither null nor misaligned and a size below `isize::MAX`. By this
    // function's safety section such a pointer is valid for reads of `count` elements that nothing writes during `'a`.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A pointer of the caller to which a result is written.
pub(crate) struct OutPtr<T>(*mut T);

impl<T> OutPtr<T> {
    /// Checks the pointer.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned is valid for writes as long as the `OutPtr` exists.
    #[inline]
    pub(crate) unsafe fn new(pointer: *mut T, what: &str) -> Answer<OutPtr<T>> {
        check(pointer, what)?;
        Ok(OutPtr(pointer))
    }

    #[inline]
    pub(crate) fn put(&self, value: T) {
        // SAFETY: only `new` makes an `OutPtr`: it refused null and misaligned pointers, and by its safety section any other
        // pointer is valid for writes as long as `self` exists.
        unsafe { self.0.write(value) };
    }
}

/// A text of the caller: `length` bytes, or the bytes before the first zero.
///
/// # Safety
/// A pointer that is not null is valid for reads for `'a`, of `length` bytes or up to and including a zero, and nothing
/// writes to them during `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, length: usize, what: &str) -> Answer<&'a str> {
    let bytes = if length == BL_NUL_TERMINATED {
        check(pointer, what)?;
        // SAFETY: `check` refused null; by this function's safety section a zero follows in readable memory.
        unsafe { CStr::from_ptr(pointer) }.to_bytes()
    } else {
        // SAFETY: bytes can't be misaligned; this function's safety section says of `length` bytes what `many` requires.
        unsafe { many(pointer.cast::<u8>(), length, what) }?
    };
    std::str::from_utf8(bytes).map_err(|error| {
        Failure::new(BL_UTF8, format!("{what} is not UTF-8 from byte {} on", error.valid_up_to()))
    })
}

/// A struct that begins with its size in bytes in the version that its caller was compiled with, so that later versions may
/// append fields.
///
/// # Safety The type is `repr(C)` with a `usize` first and has no validity invariant beyond those of its C declaration: whatever
/// a C caller may store in its fields, zero included, is a value of the type.
pub(crate) unsafe trait Versioned: Copy {
    /// The size of the struct in the first version that had it.
    const MIN_SIZE: usize;
    /// The values of fields that the caller's version lacks.
    fn defaults() -> Self;
}

/// The size that the caller stored in a struct.
///
/// # Safety
/// As [`versioned`].
unsafe fn stated_size<T: Versioned>(pointer: *const T, what: &str) -> Answer<usize> {
    check(pointer, what)?;
    // SAFETY: `check` refused null and misaligned pointers; `versioned` requires that any other is valid for reads of the
    // leading `usize`.
    let size = unsafe { pointer.cast::<usize>().read() };
    if size < T::MIN_SIZE {
        let why = format!(
            "{what} leads to a struct of {size} bytes, at least {} are required; set its `size`",
            T::MIN_SIZE
        );
        return Err(Failure::new(BL_ARGUMENT, why));
    }
    Ok(size)
}

/// Reads a struct of a caller whose version may have fewer or more fields. Fields that are unknown here must be zero.
///
/// # Safety A pointer that is neither null nor misaligned is valid for reads of a `usize`, and of as many bytes as that says.
pub(crate) unsafe fn versioned<T: Versioned>(pointer: *const T, what: &str) -> Answer<T> {
    // SAFETY: this function's safety section is the one that `stated_size` refers to.
    let size = unsafe { stated_size(pointer, what) }?;
    let mut known = T::defaults();
    let (from, to) = (pointer.cast::<u8>(), (&raw mut known).cast::<u8>());
    // SAFETY: the source has `size` readable bytes by the safety section, and `known` has `size_of::<T>()`; `known` is a
    // local, so they don't overlap. Any bytes of a caller's struct are a `T` by the safety section of `Versioned`.
    unsafe { to.copy_from_nonoverlapping(from, size.min(size_of::<T>())) };
    for at in size_of::<T>()..size {
        // SAFETY: `at` is below `size`, and the safety section says that `size` bytes can be read.
        if unsafe { from.add(at).read() } != 0 {
            let why = format!(
                "{what} leads to a struct with a field set at byte {at} that this version does not know"
            );
            return Err(Failure::new(BL_ARGUMENT, why));
        }
    }
    Ok(known)
}

/// Fills a struct of a caller whose version may have fewer or more fields. Its `size` is left unchanged.
///
/// # Safety A pointer that is neither null nor misaligned is valid for reads of a `usize`, and for writes of as many bytes as
/// that says.
pub(crate) unsafe fn fill<T: Versioned>(pointer: *mut T, value: T, what: &str) -> Answer<()> {
    // SAFETY: `stated_size` reads the leading `usize`, which the safety section says can be read.
    let size = unsafe { stated_size(pointer, what) }?.min(size_of::<T>());
    let (from, to) = ((&raw const value).cast::<u8>(), pointer.cast::<u8>());
    let after = size_of::<usize>();
    // SAFETY: `size` is at most `size_of::<T>()` and at most what the safety section says can be written, and at least
    // `T::MIN_SIZE`, which includes the leading `usize`; `value` is a local, so the two don't overlap.
    unsafe { to.add(after).copy_from_nonoverlapping(from.add(after), size - after) };
    Ok(())
}

/// Copies a text to a caller's buffer with a terminating zero, and stores its length without the zero.
///
/// # Safety
/// `length` is null or valid for a write; a buffer that is not null is valid for writes of `capacity` bytes.
pub(crate) unsafe fn give(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Answer<()> {
    // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as the safety
    // section says of `length`.
    unsafe { OutPtr::new(length, "the pointer to the length") }?.put(text.len());
    if capacity <= text.len() {
        let why = format!("a text of {} bytes and a zero does not fit into {capacity}", text.len());
        return Err(Failure::new(BL_TOO_SMALL, why));
    }
    check(buffer, "the buffer")?;
    let to = buffer.cast::<u8>();
    // SAFETY: `check` refused null; the buffer has `capacity` writable bytes by the safety section, and `capacity` is larger
    // than the text. `text` is memory of this library, so the two don't overlap.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}
