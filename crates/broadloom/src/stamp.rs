//! Stamps, which distinguish the arrays that the functions of a loop make from those that existed before.
//!
//! A loop computes what does not depend on its carried values before its first iteration. An operation that can fail must stay in
//! the loop if its functions made it, since elements without iterations must not fail.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Stamp> = const { Cell::new(Stamp(0)) };
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The stamp of an array: the number of the innermost loop whose functions this thread was calling when the array was made, or 0.
#[derive(Clone, Copy)]
pub(crate) struct Stamp(u32);

impl Stamp {
    /// The stamp of arrays that are made now.
    #[inline]
    pub(crate) fn current() -> Stamp {
        CURRENT.get()
    }

    /// Whether an array with this stamp was made by the functions of the loop with the stamp `of`, or of a loop inside it. After
    /// four billion loops on a thread, the answer may be yes for an array that an earlier loop made.
    pub(crate) fn is_in(self, of: Stamp) -> bool {
        self.0 >= of.0
    }
}

/// Calls the functions of a loop. Returns their result, and the stamp of the arrays that they made.
pub(crate) fn stamped<R>(build: impl FnOnce() -> R) -> (R, Stamp) {
    struct Restore(Stamp);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let stamp = Stamp(LAST.get().saturating_add(1));
    LAST.set(stamp.0);
    let _restore = Restore(CURRENT.replace(stamp));
    (build(), stamp)
}
