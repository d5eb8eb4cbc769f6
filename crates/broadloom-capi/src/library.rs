//! Libraries: the functions that an application provides for programs in the text language.
//!
//! A kernel keeps the functions that it was parsed with, regardless of what is added to the library later.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use broadloom::text::Library;

use crate::argument::{OutPtr, text};
use crate::host::{bl_host, function};
use crate::status::bl_status;
use crate::status::{Answer, CallFailure, answer};
use crate::table::{ObjectTable, Refused};

/// A handle of a library: host functions and functions defined in the text language, which programs can use. 0 is no
/// library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_library {
    /// Opaque.
    pub id: u64,
}

static LIBRARIES: ObjectTable<Mutex<Library>> = ObjectTable::new(b'l');

fn refused(why: Refused) -> CallFailure {
    CallFailure::handle("library", why)
}

/// Runs `work` on a library. A change that fails leaves the library unchanged.
fn with<T>(handle: bl_library, work: impl FnOnce(&mut Library) -> Answer<T>) -> Answer<T> {
    let library = LIBRARIES.pin(handle.id).map_err(refused)?;
    // A panic leaves the library valid, since adding a function is the last step of each change.
    let mut library = library.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut library)
}

/// A copy of the library in its current state; an empty library for a handle of 0.
pub(crate) fn library(handle: bl_library) -> Answer<Library> {
    if handle.id == 0 { Ok(Library::default()) } else { with(handle, |library| Ok(library.clone())) }
}

/// Creates an empty library.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_library_new(out: *mut bl_library) -> bl_status {
    answer(|| {
        // SAFETY: `OutPtr::new` accepts null and requires any other aligned pointer to be valid for a write, as `out` is.
        let out = unsafe { OutPtr::new(out, "the pointer to the library") }?;
        out.put(bl_library { id: LIBRARIES.insert(Mutex::default()).map_err(refused)? });
        Ok(())
    })
}

/// Releases a library. Kernels that were parsed with it keep its functions.
#[unsafe(no_mangle)]
pub extern "C" fn bl_library_release(handle: bl_library) -> bl_status {
    answer(|| LIBRARIES.release(handle.id).map_err(refused))
}

/// Adds a host function under its name. Returns BL_NAME if the name already has a meaning.
#[unsafe(no_mangle)]
pub extern "C" fn bl_library_register(handle: bl_library, host: bl_host) -> bl_status {
    answer(|| with(handle, |library| Ok(library.register(&*function(host)?)?)))
}

/// Adds the functions that a text defines. The text consists of `def` statements, which may use the functions that are
/// already in the library.
///
/// `length` is the length of the text in bytes, or BL_NUL_TERMINATED. If the text is wrong, `bl_last_error_span`
/// returns the place of the error.
///
/// # Safety
/// `definitions` is null or valid for reads of the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_library_define(
    handle: bl_library,
    definitions: *const c_char,
    length: usize,
) -> bl_status {
    answer(|| {
        // SAFETY: `text` accepts null and has the same requirements on any other pointer as the safety section.
        let definitions = unsafe { text(definitions, length, "the text") }?;
        with(handle, |library| Ok(library.define(definitions)?))
    })
}
