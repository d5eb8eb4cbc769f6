//! The promotion mode in which expressions are built.
//!
//! The mode is local to a thread, and is restored when the closure returns or panics. Expressions do not store the mode; they
//! contain the conversions that follow from it.

use std::cell::Cell;

use broadloom_core::Promotion;

thread_local! {
    static MODE: Cell<Promotion> = const { Cell::new(Promotion::Strict) };
}

/// The mode in which this thread currently builds expressions; [`Promotion::Strict`] by default.
pub fn promotion() -> Promotion {
    MODE.get()
}

/// Runs a closure that builds expressions in this mode, on this thread.
///
/// ```
/// use broadloom::prelude::*;
///
/// let counts = Array::from_vec(vec![1_i32, 2, 3]);
/// assert!(counts.try_multiply(0.5).is_err());
///
/// let halves = with_promotion(Promotion::NumPy, || counts.try_multiply(0.5))?;
/// assert_eq!(halves.dtype(), DType::Float64);
/// # Ok::<(), Error>(())
/// ```
pub fn with_promotion<R>(mode: Promotion, build: impl FnOnce() -> R) -> R {
    struct Restore(Promotion);
    impl Drop for Restore {
        fn drop(&mut self) {
            MODE.set(self.0);
        }
    }
    let _restore = Restore(MODE.replace(mode));
    build()
}
