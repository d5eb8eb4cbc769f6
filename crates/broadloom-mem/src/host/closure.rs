//! Host functions from Rust closures. A closure is over elements (called once for each element of a tile) or over tiles.
//!
//! Elements are read and written as [`Elem::Store`], for which every byte pattern is valid. Machine code can't be unwound
//! through, so the functions that it calls ([`entry`], [`tile_entry`]) are `extern "C"`: a panic in a closure ends the process
//! there. An error that a closure returns is stored in the thread's scope (module `failure`).

use std::ffi::c_void;

use broadloom_math::{DType, Elem};

use super::failure::{self, Failure};

/// The return type of a function over elements: an element, or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element or a `Result` of one",
    note = "a host function gives bool, an integer or a float, or a `Result` of one whose error is a `std::error::Error`, or a text"
)]
pub trait HostResult {
    /// The element type.
    type Element: Elem;
    /// Whether the return type is a `Result`, so that the function can fail.
    #[doc(hidden)]
    const CAN_FAIL: bool;
    #[doc(hidden)]
    fn outcome(self) -> Result<Self::Element, Failure>;
}

macro_rules! elements {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {$(
        impl HostResult for $rust {
            type Element = $rust;
            const CAN_FAIL: bool = false;
            #[inline(always)]
            fn outcome(self) -> Result<$rust, Failure> {
                Ok(self)
            }
        }
    )*};
}
broadloom_math::for_each_dtype!(elements);

impl<T: Elem, E: Into<Failure>> HostResult for Result<T, E> {
    type Element = T;
    const CAN_FAIL: bool = true;
    #[inline(always)]
    fn outcome(self) -> Result<T, Failure> {
        self.map_err(Into::into)
    }
}

/// The closures that [`HostFunction::new`](super::HostFunction::new) accepts: `Fn(A) -> R`, `Fn(A, B) -> R` or `Fn(A, B, C) -> R`
/// of element types, `Send + Sync + 'static`; R may be a `Result` of an element.
///
/// # Safety
/// [`HostClosure::tile`] writes only to the elements of the result, and writes each of them with a valid
/// element of the declared dtype.
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
    /// Whether the function can fail.
    #[doc(hidden)]
    const CAN_FAIL: bool;

    /// Calls the closure for each element until it fails. The results for the failed element and those after it are zeros.
    ///
    /// # Safety
    /// The contract of [`HostTile`](super::HostTile), with the dtypes above.
    #[doc(hidden)]
    unsafe fn tile(&self, elements: usize, inputs: *const *const u8, output: *mut u8) -> Result<(), Failure>;
}

macro_rules! closures {
    ($(($($t:ident $i:tt),*))*) => {$(
        // SAFETY: the loop writes each element, as the `Store` of the declared dtype.
        unsafe impl<Function, R, $($t),*> HostClosure<($($t,)*)> for Function
        where
            Function: Fn($($t),*) -> R + Send + Sync + 'static,
            R: HostResult,
            $($t: Elem,)*
        {
            const OPERANDS: &'static [DType] = &[$($t::DTYPE),*];
            const RESULT: DType = <R::Element as Elem>::DTYPE;
            const CAN_FAIL: bool = R::CAN_FAIL;

            #[inline]
            unsafe fn tile(
                &self,
                elements: usize,
                inputs: *const *const u8,
                output: *mut u8,
            ) -> Result<(), Failure> {
                // SAFETY: `inputs` has a pointer for each operand (the contract of `tile`), and `$i` is the index of an operand
                // of the closure.
                let inputs = unsafe { ($(inputs.add($i).read().cast::<$t::Store>(),)*) };
                let output = output.cast::<<R::Element as Elem>::Store>();
                for at in 0..elements {
                    // SAFETY: `at` is less than `elements`, and each operand has that many aligned elements of its declared dtype
                    // (the contract of `tile`); any bytes are a `Store`, and nothing else uses the output.
                    unsafe {
                        match self($($t::load(inputs.$i.add(at).read())),*).outcome() {
                            Ok(result) => output.add(at).write(result.store()),
                            Err(failure) => {
                                // All-zero bytes are a valid element of every dtype.
                                output.add(at).write_bytes(0, elements - at);
                                return Err(failure);
                            }
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
}
closures! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
}

/// The return type of a function over tiles: nothing, or a `Result<(), E>`.
pub trait HostTileResult {
    /// Whether the return type is a `Result`, so that the function can fail.
    #[doc(hidden)]
    const CAN_FAIL: bool;
    #[doc(hidden)]
    fn outcome(self) -> Result<(), Failure>;
}

impl HostTileResult for () {
    const CAN_FAIL: bool = false;
    fn outcome(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<Failure>> HostTileResult for Result<(), E> {
    const CAN_FAIL: bool = true;
    fn outcome(self) -> Result<(), Failure> {
        self.map_err(Into::into)
    }
}

/// The closures that [`HostFunction::over_tiles`](super::HostFunction::over_tiles) accepts: `Fn(&[A], &mut [R])`, `Fn(&[A], &[B],
/// &mut [R])` or `Fn(&[A], &[B], &[C], &mut [R])` of integers and floats, `Send + Sync + 'static`; they return nothing or a
/// `Result<(), E>`.
///
/// # Safety
/// [`HostTileClosure::tile`] writes only to the elements of the result, and only valid elements of the declared dtype.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of 1 to 3 slices and of one that it writes",
    note = "write the types out: `|x: &[f32], out: &mut [f32]| …`",
    note = "it must be `Fn + Send + Sync + 'static`, over integers or floats; for bools, give a function over elements"
)]
pub unsafe trait HostTileClosure<Args>: Send + Sync + 'static {
    /// The dtypes of the operands.
    #[doc(hidden)]
    const OPERANDS: &'static [DType];
    /// The dtype of the result.
    #[doc(hidden)]
    const RESULT: DType;
    /// Whether the function can fail.
    #[doc(hidden)]
    const CAN_FAIL: bool;

    /// Calls the closure once for all of the elements. After a failure the results are unspecified.
    ///
    /// # Safety
    /// The contract of [`HostTile`](super::HostTile), with the dtypes above.
    #[doc(hidden)]
    unsafe fn tile(&self, elements: usize, inputs: *const *const u8, output: *mut u8) -> Result<(), Failure>;
}

macro_rules! tile_closures {
    ($(($($t:ident $i:tt),*))*) => {$(
        // SAFETY: the closure gets the result as a slice, to which it can write elements only.
        unsafe impl<Function, R, Outcome, $($t),*> HostTileClosure<($($t,)* R,)> for Function
        where
            Function: Fn($(&[$t],)* &mut [R]) -> Outcome + Send + Sync + 'static,
            Outcome: HostTileResult,
            R: Elem<Store = R>,
            $($t: Elem<Store = $t>,)*
        {
            const OPERANDS: &'static [DType] = &[$($t::DTYPE),*];
            const RESULT: DType = R::DTYPE;
            const CAN_FAIL: bool = Outcome::CAN_FAIL;

            unsafe fn tile(
                &self,
                elements: usize,
                inputs: *const *const u8,
                output: *mut u8,
            ) -> Result<(), Failure> {
                // SAFETY: `inputs` has a pointer for each operand, and `$i` is the index of an operand of the closure. Each
                // pointer points to aligned elements of its declared dtype, as many as the output has. The output overlaps none
                // of them, and nothing else uses it (the contract of `tile`). Its memory is a tile or a part of a stack frame,
                // with any contents: all bytes are valid elements, as the types are their own `Store`.
                unsafe {
                    let output = std::slice::from_raw_parts_mut(output.cast::<R>(), elements);
                    self($(std::slice::from_raw_parts(inputs.add($i).read().cast::<$t>(), elements),)* output).outcome()
                }
            }
        }
    )*};
}
tile_closures! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
}

/// A function and its name, which is part of the message if the function fails.
pub struct Named<F> {
    pub name: Box<str>,
    pub function: F,
}

/// The C function through which executors call a closure over elements. A panic in the closure ends the process, because the ABI
/// does not unwind.
///
/// # Safety
/// The contract of [`HostTile`](super::HostTile); the context is a pointer to a `Named<F>`.
pub unsafe extern "C" fn entry<F: HostClosure<Args>, Args>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: the function is registered together with a context of this type, which lives as long as the function and is only
    // read.
    let Named { name, function } = unsafe { &*context.cast::<Named<F>>() };
    // SAFETY: the operands are passed on as this function's contract describes them; the output has `elements` elements.
    unsafe {
        let call = || function.tile(elements, inputs, output);
        if F::CAN_FAIL {
            unless_failed(name, elements * F::RESULT.size(), output, call)
        } else {
            drop(call())
        }
    }
}

/// The C function through which executors call a closure over tiles. A panic in the closure ends the process, because the ABI
/// does not unwind.
///
/// # Safety
/// The contract of [`HostTile`](super::HostTile); the context is a pointer to a `Named<F>`.
pub unsafe extern "C" fn tile_entry<F: HostTileClosure<Args>, Args>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: as in `entry`.
    let Named { name, function } = unsafe { &*context.cast::<Named<F>>() };
    // SAFETY: as in `entry`.
    unsafe {
        let call = || function.tile(elements, inputs, output);
        if F::CAN_FAIL {
            unless_failed(name, elements * F::RESULT.size(), output, call)
        } else {
            drop(call())
        }
    }
}

/// Calls a function that can fail and records its failure in the thread's scope. If the scope already has a failure, the function
/// is not called and the result is filled with zeros.
///
/// # Safety
/// The output must have `bytes` bytes, and nothing else may use them.
pub unsafe fn unless_failed(
    name: &str,
    bytes: usize,
    output: *mut u8,
    call: impl FnOnce() -> Result<(), Failure>,
) {
    if failure::has_failed() {
        // SAFETY: the output has `bytes` bytes, which nothing else uses (this function's contract).
        unsafe { output.write_bytes(0, bytes) };
    } else if let Err(failure) = call() {
        failure::note(name, failure);
    }
}
