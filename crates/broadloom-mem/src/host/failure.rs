//! How the failure of a host function gets to whoever runs the loop that called it.
//!
//! An entry returns nothing, since machine code could not act on it, and does not unwind. So whoever runs loops opens a
//! scope on the thread ([`catch_failure`]); an entry whose function fails leaves the error there, makes what is left of its
//! result zeros, and the functions that can fail are not called again until the scope has ended: the first failure wins.

use std::cell::{Cell, OnceCell};
use std::error::Error as StdError;
use std::ptr;

use broadloom_ir::{Error, ErrorKind};

/// What a function of the application failed with.
pub type Failure = Box<dyn StdError + Send + Sync>;

thread_local! {
    /// The scope that is open on this thread, if there is one. It has no destructor, so that it is there while a thread ends.
    static SCOPE: Cell<*const OnceCell<Error>> = const { Cell::new(ptr::null()) };
}

/// Runs loops, and gives the first failure of a host function that they called on this thread.
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

/// Whether a host function has failed in the scope that is open on this thread.
pub fn has_failed() -> bool {
    scope().is_some_and(|scope| scope.get().is_some())
}

/// Leaves a function's failure in the open scope; without one it is lost, and zeros are all that tells of it.
#[cold]
pub fn note(name: &str, failure: Failure) {
    if let Some(scope) = scope() {
        let error = Error::new(ErrorKind::Host, format!("{name}: {failure}")).with_source(failure);
        let _ = scope.set(error);
    }
}

fn scope<'s>() -> Option<&'s OnceCell<Error>> {
    // SAFETY: null, or set by a `catch_failure` on this thread that has not returned: its `Close` sets the one before, however it
    // ends. The callers, above, keep the reference no longer than they run.
    unsafe { SCOPE.get().as_ref() }
}

/// The status that a function by pointer failed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the function returned status {0}")]
pub struct HostStatus(pub i32);
