//! Carries a host function's failure to the code that runs the loop.
//!
//! An entry returns nothing, since machine code could not act on it, and does not unwind. The code that runs loops therefore opens
//! a scope on the thread ([`catch_failure`]). An entry whose function fails stores the error in the scope and fills the rest of its
//! result with zeros, and functions that can fail are not called again until the scope has ended: the first failure wins.

use std::cell::{Cell, OnceCell};
use std::error::Error as StdError;
use std::ptr;

use broadloom_ir::{Error, ErrorKind};

/// The error that a host function returns.
pub type Failure = Box<dyn StdError + Send + Sync>;

thread_local! {
    /// The scope that is open on this thread, if any. It has no destructor, so it is still accessible while a thread ends.
    static SCOPE: Cell<*const OnceCell<Error>> = const { Cell::new(ptr::null()) };
}

/// Runs loops and returns the first failure of a host function that they called on this thread.
///
/// Scopes nest: a host function may itself evaluate something.
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

/// Stores a function's failure in the open scope; without a scope the error is lost, and the result is zeros.
#[cold]
pub fn note(name: &str, failure: Failure) {
    if let Some(scope) = scope() {
        let error = Error::new(ErrorKind::Host, format!("{name}: {failure}")).with_source(failure);
        let _ = scope.set(error);
    }
}

fn scope<'s>() -> Option<&'s OnceCell<Error>> {
    // SAFETY: null, or set by a `catch_failure` on this thread that has not returned: its `Close` restores the previous one on
    // every way out. The callers, above, keep the reference no longer than they run.
    unsafe { SCOPE.get().as_ref() }
}

/// The status that a function registered by pointer has returned for a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function returned status {0}")]
pub struct HostStatus(pub i32);
