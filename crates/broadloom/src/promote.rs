//! The promotion mode in which expressions are built, and the dtype to which arrays promote.
//!
//! The mode is local to a thread, and is restored when the closure returns or panics. Expressions do not store the mode; they
//! contain the conversions that follow from it.

use std::cell::Cell;

use broadloom_core::{DType, Promotion, Result, infer};
use smallvec::SmallVec;

use crate::array::Array;

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

/// The dtype to which the operands of a function promote, in the mode of this thread. A number takes the dtype of the arrays.
///
/// # Errors
/// [`ErrorKind::DType`](crate::ErrorKind::DType), with the name of the function, if the mode does not allow their combination.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::result_type;
///
/// let (small, large) = (Array::from_vec(vec![1_i8]), Array::from_vec(vec![1_u8]));
/// assert_eq!(result_type("concat", &[small, large])?, DType::Int16);
/// # Ok::<(), Error>(())
/// ```
pub fn result_type(function: &str, operands: &[Array<'_>]) -> Result<DType> {
    let known: SmallVec<[infer::Operand<'_>; 4]> = operands.iter().map(Array::known).collect();
    infer::promote(function, &known, promotion())
}
