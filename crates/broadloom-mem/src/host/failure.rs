//! Carries a host function's failure to the code that runs the loop.
//!
//! The C functions through which host functions are called return nothing, since machine code would not check a result, and do
//! not unwind. The code that runs a loop therefore opens a scope on its thread ([`catch_failure`]). When a host function fails,
//! its error is stored in the scope and the rest of its result is filled with zeros. Functions that can fail are not called
//! again until the scope has ended, so the scope returns the first failure.

use std::cell::{Cell, OnceCell};
use std::error;
use std::ptr;

use broadloom_ir::{Error, ErrorKind};

/// The error that a host function returns.
pub type Failure = Box<dyn error::Error + Send + Sync>;

thread_local! {
    /// The innermost scope that is open on this thread, if any. The variable has no destructor, so it is still accessible while a
    /// thread ends.
    static SCOPE: Cell<*const OnceCell<Error>> = const { Cell::new(ptr::null()) };
}

/// Calls `run`, which runs loops, and returns its result and the first failure of a host function that the loops called on this
/// thread.
///
/// Scopes nest, since a host function may itself evaluate an expression.
pub fn catch_failure<R>(run: impl FnOnce() -> R) -> (R, Option<Error>) {
    struct Close(*const OnceCell<Error>);
    impl Drop for Close {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }
    let scope = OnceCell::new();
    let close = Close(SCOPE.replace(&raw const scope));
    let result = run();
    drop(close);
    (result, scope.into_inner())
}

/// Whether a host function has failed in this thread's open scope.
pub fn has_failed() -> bool {
    scope().is_some_and(|scope| scope.get().is_some())
}

/// Stores the failure of the function `name` in the open scope. Without a scope the error is lost: only the zeros in the result
/// remain.
#[cold]
pub fn note(name: &str, failure: Failure) {
    if let Some(scope) = scope() {
        let error = Error::new(ErrorKind::Host, format!("{name}: {failure}")).with_source(failure);
        let _ = scope.set(error);
    }
}

fn scope<'s>() -> Option<&'s OnceCell<Error>> {
    // SAFETY: the pointer is null, or was set by a `catch_failure` on this thread that has not returned: its `Close` restores the
    // previous pointer on every way out. The two callers, above, drop the reference before they return.
    unsafe { SCOPE.get().as_ref() }
}

/// The error of a host function that was registered by pointer: the nonzero status that the function
/// returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function returned status {0}")]
pub struct HostStatus(pub i32);
