//! Closures over elements, as loops over tiles.
//!
//! An element is read and written as its [`Elem::Store`], so that no byte is invalid. A panic stops at the entry and ends the
//! process, since machine code can't be unwound through.

use std::ffi::c_void;

use broadloom_math::{DType, Elem};

/// What [`HostFunction::new`](super::HostFunction::new) takes: `Fn(A) -> R`, `Fn(A, B) -> R` or `Fn(A, B, C) -> R` of
/// element types, `Send + Sync + 'static`.
///
/// # Safety
/// [`HostClosure::tile`] writes every element of the result, by the dtypes that are declared, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of 1 to 3 elements",
    note = "write the operands' types out: `|x: f32, y: f32| x + y`",
    note = "it must be `Fn + Send + Sync + 'static`, and take and give bool, integers or floats"
)]
pub unsafe trait HostClosure<Args>: Send + Sync + 'static {
    /// The dtypes of the operands.
    #[doc(hidden)]
    const OPERANDS: &'static [DType];
    /// The dtype of the result.
    #[doc(hidden)]
    const RESULT: DType;

    /// Calls the closure for each element.
    ///
    /// # Safety
    /// As [`HostTile`](super::HostTile) asks for, by the dtypes above.
    #[doc(hidden)]
    unsafe fn tile(&self, elements: usize, inputs: *const *const u8, output: *mut u8);
}

macro_rules! closures {
    ($(($($t:ident $i:tt),*))*) => {$(
        // SAFETY: the loop writes each element, as the `Store` of the declared dtype.
        unsafe impl<Function, R, $($t),*> HostClosure<($($t,)*)> for Function
        where
            Function: Fn($($t),*) -> R + Send + Sync + 'static,
            R: Elem,
            $($t: Elem,)*
        {
            const OPERANDS: &'static [DType] = &[$($t::DTYPE),*];
            const RESULT: DType = R::DTYPE;

            #[inline]
            unsafe fn tile(&self, elements: usize, inputs: *const *const u8, output: *mut u8) {
                // SAFETY: `inputs` has a pointer for each operand (the contract of `tile`), and $i counts the closure's.
                let inputs = unsafe { ($(inputs.add($i).read().cast::<$t::Store>(),)*) };
                let output = output.cast::<R::Store>();
                for at in 0..elements {
                    // SAFETY: `at` is less than `elements`, of which each operand has as many of its declared dtype, aligned
                    // (the contract of `tile`); any bytes are a `Store`, and nobody else uses the output.
                    unsafe {
                        let result = self($($t::load(inputs.$i.add(at).read())),*);
                        output.add(at).write(result.store());
                    }
                }
            }
        }
    )*};
}
closures! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
}

/// The closure's entry; of this ABI, a panic ends the process where it would leave.
///
/// # Safety
/// As [`HostTile`](super::HostTile) asks for; the context is a pointer to an `F`.
pub unsafe extern "C" fn entry<F: HostClosure<Args>, Args>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: the function is registered together with a context of type `F`, which lives as long as it does and is only
    // read; the operands are handed on as this function's contract describes them.
    unsafe { (*context.cast::<F>()).tile(elements, inputs, output) }
}
