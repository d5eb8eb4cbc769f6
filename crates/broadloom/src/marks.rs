//! Marks of arrays. They are no part of an expression's structure, and change neither its results nor its plan; one tells how its
//! derivative is computed.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Marks> = const { Cell::new(Marks::NONE) };
}

/// The marks of an array, which are those that were current when it was made.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    /// A differentiation has made the array. Explanations show it.
    pub is_derivative: bool,
    /// A recurrence or loop whose states are computed again in reverse mode, from some of them.
    pub is_checkpointed: bool,
}

impl Marks {
    pub(crate) const NONE: Marks = Marks { is_derivative: false, is_checkpointed: false };
    pub(crate) const DERIVATIVE: Marks = Marks { is_derivative: true, ..Marks::NONE };
    pub(crate) const CHECKPOINTED: Marks = Marks { is_checkpointed: true, ..Marks::NONE };

    /// The marks of arrays that this thread makes now.
    #[inline]
    pub(crate) fn current() -> Marks {
        CURRENT.get()
    }

    /// Calls a function. The arrays that it makes have these marks beside the current ones.
    pub(crate) fn put_on<R>(self, make: impl FnOnce() -> R) -> R {
        struct RestoreMarks(Marks);
        impl Drop for RestoreMarks {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let before = CURRENT.get();
        let _restore = RestoreMarks(before);
        CURRENT.set(Marks {
            is_derivative: before.is_derivative || self.is_derivative,
            is_checkpointed: before.is_checkpointed || self.is_checkpointed,
        });
        make()
    }
}
