//! Status codes, and the last error message of each thread.
//!
//! [`answer`] runs the body of a call, converts errors and panics to a status, and stores the message for the calling thread. A
//! successful call allocates nothing and leaves the message unchanged.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use broadloom::text::TextError;
use broadloom::{Error, ErrorKind};

use crate::table::Refused;

#[cfg(panic = "abort")]
compile_error!("no panic may leave the C ABI, nor abort the application: build it with panic = \"unwind\"");

/// The outcome of a call. A number never changes its meaning; later versions may add numbers.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bl_status {
    /// Success.
    BL_OK = 0,
    /// A pointer that must not be null is null.
    BL_NULL = 1,
    /// A pointer is not aligned for what it points to.
    BL_MISALIGNED = 2,
    /// A handle is 0, was released, or belongs to another kind of object.
    BL_HANDLE = 3,
    /// A struct's size, a code or an option is unknown to this version.
    BL_ARGUMENT = 4,
    /// A text is not UTF-8.
    BL_UTF8 = 5,
    /// A buffer is too small for the result. Nothing was written to the buffer, but the required size was stored.
    BL_TOO_SMALL = 6,
    /// Dtypes don't promote, or are not accepted by a function, or differ from those that a kernel was built for.
    BL_DTYPE = 7,
    /// Shapes don't broadcast or differ from those that a kernel was built for, a rank is wrong, or a range is outside of an
    /// axis.
    BL_SHAPE = 8,
    /// A literal can't be represented in its dtype.
    BL_LITERAL = 9,
    /// A name is not bound, or a function does not exist.
    BL_NAME = 10,
    /// The number of arguments, inputs or outputs is wrong.
    BL_ARITY = 11,
    /// A text is not a valid program.
    BL_SYNTAX = 12,
    /// An integer was divided by zero, and the options make that an error.
    BL_ZERO_DIVISION = 13,
    /// A limit was exceeded, or an allocation failed.
    BL_LIMIT = 14,
    /// Operands overlap in a way that is not allowed, or memory is not aligned to its elements.
    BL_MEMORY = 15,
    /// The run was cancelled; the outputs are unspecified.
    BL_CANCELLED = 16,
    /// The operating system returned an error.
    BL_IO = 17,
    /// There is a bug in broadloom; please report it.
    BL_INTERNAL = 18,
    /// A host function failed; the outputs are unspecified.
    BL_HOST = 19,
    /// The run took longer than `max_time`; the outputs are unspecified.
    BL_TIME_LIMIT = 20,
    /// An index is outside of its axis; the outputs are unspecified.
    BL_INDEX = 21,
    /// An operation has no derivative, or none of the requested mode.
    BL_DERIVATIVE = 22,
}
use bl_status::*;

impl bl_status {
    /// Every status.
    pub const ALL: [bl_status; 23] = [
        BL_OK,
        BL_NULL,
        BL_MISALIGNED,
        BL_HANDLE,
        BL_ARGUMENT,
        BL_UTF8,
        BL_TOO_SMALL,
        BL_DTYPE,
        BL_SHAPE,
        BL_LITERAL,
        BL_NAME,
        BL_ARITY,
        BL_SYNTAX,
        BL_ZERO_DIVISION,
        BL_LIMIT,
        BL_MEMORY,
        BL_CANCELLED,
        BL_IO,
        BL_INTERNAL,
        BL_HOST,
        BL_TIME_LIMIT,
        BL_INDEX,
        BL_DERIVATIVE,
    ];

    fn name(self) -> &'static CStr {
        match self {
            BL_OK => c"ok",
            BL_NULL => c"null pointer",
            BL_MISALIGNED => c"misaligned pointer",
            BL_HANDLE => c"invalid handle",
            BL_ARGUMENT => c"invalid argument",
            BL_UTF8 => c"invalid UTF-8",
            BL_TOO_SMALL => c"buffer too small",
            BL_DTYPE => c"wrong dtype",
            BL_SHAPE => c"wrong shape",
            BL_LITERAL => c"literal out of range",
            BL_NAME => c"unknown name",
            BL_ARITY => c"wrong number of arguments",
            BL_SYNTAX => c"syntax error",
            BL_ZERO_DIVISION => c"division by zero",
            BL_LIMIT => c"limit exceeded",
            BL_MEMORY => c"overlapping or misaligned memory",
            BL_CANCELLED => c"cancelled",
            BL_IO => c"input or output failed",
            BL_INTERNAL => c"internal error",
            BL_HOST => c"host function failed",
            BL_TIME_LIMIT => c"time limit exceeded",
            BL_INDEX => c"index out of range",
            BL_DERIVATIVE => c"no derivative",
        }
    }
}

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    status: bl_status,
    message: String,
    span: Option<(usize, usize)>,
}

pub(crate) type Answer<T> = Result<T, CallFailure>;

impl CallFailure {
    #[cold]
    pub(crate) fn new(status: bl_status, message: impl Into<String>) -> CallFailure {
        CallFailure { status, message: message.into(), span: None }
    }

    #[cold]
    pub(crate) fn handle(what: &str, why: Refused) -> CallFailure {
        let (status, why) = match why {
            Refused::Null => (BL_HANDLE, "is 0"),
            Refused::Kind => (BL_HANDLE, "is a handle of another kind"),
            Refused::Stale => (BL_HANDLE, "was released"),
            Refused::Full => {
                (BL_LIMIT, "exceeds a limit on the number of handles, references or concurrent uses")
            }
        };
        CallFailure::new(status, format!("the {what} {why}"))
    }
}

impl From<Error> for CallFailure {
    #[cold]
    fn from(error: Error) -> CallFailure {
        let status = match error.kind() {
            ErrorKind::DType => BL_DTYPE,
            ErrorKind::Shape => BL_SHAPE,
            ErrorKind::Literal => BL_LITERAL,
            ErrorKind::Name => BL_NAME,
            ErrorKind::Arity => BL_ARITY,
            ErrorKind::Syntax => BL_SYNTAX,
            ErrorKind::ZeroDivision => BL_ZERO_DIVISION,
            ErrorKind::Index => BL_INDEX,
            ErrorKind::Limit => BL_LIMIT,
            ErrorKind::Memory => BL_MEMORY,
            ErrorKind::Host => BL_HOST,
            ErrorKind::Cancelled => BL_CANCELLED,
            ErrorKind::TimeLimit => BL_TIME_LIMIT,
            ErrorKind::Derivative => BL_DERIVATIVE,
            ErrorKind::Io => BL_IO,
            _ => BL_INTERNAL,
        };
        CallFailure::new(status, error.to_string())
    }
}

impl From<TextError> for CallFailure {
    #[cold]
    fn from(error: TextError) -> CallFailure {
        let span = Some((error.span.start as usize, error.span.end as usize));
        CallFailure { span, ..Error::from(error).into() }
    }
}

/// The error of a thread's last failed call.
struct LastError {
    message: CString,
    span: Option<(usize, usize)>,
}

thread_local! {
    static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) };
}

/// Runs the body of a call, and converts its result to a status.
#[inline]
pub(crate) fn answer(work: impl FnOnce() -> Answer<()>) -> bl_status {
    // Unwind safety: a panic leaves incomplete at most an entry of a builder, which stays usable, or the caller's memory, which
    // is unspecified after a status other than BL_OK.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => BL_OK,
        Ok(Err(failure)) => note(failure),
        Err(panic) => note_panic(panic),
    }
}

#[cold]
fn note(failure: CallFailure) -> bl_status {
    // A message may quote the caller's text, and C strings end at the first NUL.
    let message = CString::new(failure.message.replace('\0', "\\0")).unwrap_or_default();
    // During thread exit the thread-local storage no longer exists; the caller then gets the status without a message.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(LastError { message, span: failure.span }));
    failure.status
}

#[cold]
fn note_panic(panic: Box<dyn Any + Send>) -> bl_status {
    let words =
        panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(|words| &**words));
    let failure =
        CallFailure::new(BL_INTERNAL, format!("a bug in broadloom: {}", words.unwrap_or("a panic")));
    // The payload is leaked, since dropping it could panic again.
    std::mem::forget(panic);
    note(failure)
}

/// A short description of a status, in static memory; never null.
///
/// A status is an `int32_t`; a number that is not a status has the description "unknown status".
#[unsafe(no_mangle)]
pub extern "C" fn bl_status_name(status: i32) -> *const c_char {
    let known = bl_status::ALL.into_iter().find(|known| *known as i32 == status);
    known.map_or(c"unknown status", bl_status::name).as_ptr()
}

/// The message of this thread's last call that did not return BL_OK, as UTF-8; empty if there was none. Never null.
///
/// The text is valid until the next call of this thread that does not return BL_OK.
#[unsafe(no_mangle)]
pub extern "C" fn bl_last_error() -> *const c_char {
    let message =
        |last: &RefCell<Option<LastError>>| last.borrow().as_ref().map(|last| last.message.as_ptr());
    LAST.try_with(message).ok().flatten().unwrap_or(c"".as_ptr())
}

/// Stores the place of this thread's last error in the program's text: the offset of the first wrong byte, and the offset after
/// the last one.
///
/// Returns BL_ARGUMENT if that error is not about a text. This result does not replace the last error.
///
/// # Safety
/// Both pointers are null, or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_last_error_span(start: *mut usize, end: *mut usize) -> bl_status {
    let span = LAST.try_with(|last| last.borrow().as_ref().and_then(|last| last.span));
    let Some((first, last)) = span.ok().flatten() else { return BL_ARGUMENT };
    for (to, value) in [(start, first), (end, last)] {
        if to.is_null() {
            return BL_NULL;
        }
        if !to.is_aligned() {
            return BL_MISALIGNED;
        }
        // SAFETY: the checks above rejected null and misaligned pointers; the safety section requires others to be writeable.
        unsafe { to.write(value) };
    }
    BL_OK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the pointer refers to a C string that lives until the next failed call, and it is copied before that.
        unsafe { CStr::from_ptr(bl_last_error()) }.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn panics_and_failures_are_statuses_with_a_message() {
        assert_eq!((answer(|| Ok(())), last()), (BL_OK, String::new()));
        assert_eq!(answer(|| panic!("at {}", 3)), BL_INTERNAL);
        assert_eq!(last(), "a bug in broadloom: at 3");
        assert_eq!(answer(|| std::panic::panic_any(7)), BL_INTERNAL);
        assert_eq!(last(), "a bug in broadloom: a panic");
        assert_eq!(answer(|| Err(CallFailure::new(BL_NAME, "a\0b"))), BL_NAME);
        assert_eq!((answer(|| Ok(())), last()), (BL_OK, "a\\0b".into()));
        std::thread::spawn(|| assert_eq!(last(), "")).join().expect("another thread's is its own");
    }

    #[test]
    fn statuses_are_numbered_and_named() {
        let mut names: Vec<_> = bl_status::ALL.iter().map(|status| status.name()).collect();
        assert!(bl_status::ALL.iter().enumerate().all(|(i, status)| *status as usize == i));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), bl_status::ALL.len());
        // SAFETY: `bl_status_name` returns a C string literal, which is zero-terminated and lives forever.
        let name = |status| unsafe { CStr::from_ptr(bl_status_name(status)) };
        assert_eq!((name(0), name(99), name(-1)), (c"ok", c"unknown status", c"unknown status"));
    }
}
