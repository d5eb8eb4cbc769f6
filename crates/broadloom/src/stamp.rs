//! Stamps, which distinguish the arrays that the functions of a loop make from those that existed before.
//!
//! A loop computes what does not depend on its carried values before its first iteration. An operation that can fail must stay in
//! the loop if its functions made it, since elements without iterations must not fail.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    static CURRENT: Cell<Stamp> = const { Cell::new(Stamp(0)) };
}

/// The number of loops that were begun, by any thread.
static LOOPS: AtomicU32 = AtomicU32::new(0);

/// The stamp of an array: the number of the innermost loop whose functions this thread was calling when the array was made, or 0.
#[derive(Clone, Copy)]
pub(crate) struct Stamp(u32);

impl Stamp {
    /// The stamp of arrays that are made now.
    #[inline]
    pub(crate) fn current() -> Stamp {
        CURRENT.get()
    }

    /// The stamp of a loop that is about to be built.
    pub(crate) fn of_a_loop() -> Stamp {
        let counted = LOOPS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |loops| loops.checked_add(1));
        Stamp(counted.map_or(u32::MAX, |loops| loops + 1))
    }

    /// Whether the functions of a loop are being called.
    pub(crate) fn is_of_a_loop(self) -> bool {
        self.0 != 0
    }

    /// Calls a function. The arrays that it makes have this stamp.
    pub(crate) fn put_on<R>(self, build: impl FnOnce() -> R) -> R {
        struct Restore(Stamp);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        build()
    }

    /// Whether an array with this stamp was made by the functions of the loop with the stamp `of`, or of a loop inside it. The
    /// answer may also be yes for an array of another thread's loop, and after four billion loops for one of an earlier loop.
    pub(crate) fn is_in(self, of: Stamp) -> bool {
        self.0 >= of.0
    }
}

/// Calls the functions of a loop. Returns their result, and the stamp of the arrays that they made.
pub(crate) fn stamped<R>(build: impl FnOnce() -> R) -> (R, Stamp) {
    let stamp = Stamp::of_a_loop();
    (stamp.put_on(build), stamp)
}
