//! Host functions from pointers in C's calling convention, over elements or over tiles.
//!
//! An `extern "C"` function may not unwind, but C++ code behind a pointer might. So the pointer is called with an ABI that
//! permits unwinding, by an `extern "C"` function of this module, at which unwinding ends the process.

use std::ffi::c_void;

use broadloom_math::{DType, Elem};

use super::closure::{HostClosure, HostResult, Named, unless_failed};
use super::failure::HostStatus;
use super::tile::{HostFallibleTile, HostTile};

/// The signatures that [`HostFunction::scalar`](super::HostFunction::scalar) accepts: `fn(A) -> R`, `fn(A, B) -> R` and `fn(A, B,
/// C) -> R`, where each letter is an element type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the signature of a function of 1 to 3 elements",
    note = "write it as `fn(f32, f32) -> bool`"
)]
pub trait HostPointer {
    /// The type of the pointer: `extern "C"` with the same types, except that bool is `u8`.
    type Pointer;

    /// The tuple of the operands' types, which is the type parameter of [`HostClosure`].
    #[doc(hidden)]
    type Args: 'static;

    /// Wraps the pointer in a closure.
    ///
    /// # Safety
    /// The contract of [`HostFunction::scalar`](super::HostFunction::scalar).
    #[doc(hidden)]
    unsafe fn closure(pointer: Self::Pointer) -> impl HostClosure<Self::Args>;
}

macro_rules! pointers {
    ($(($($t:ident $x:ident),*))*) => {$(
        impl<R: Elem + HostResult<Element = R>, $($t: Elem),*> HostPointer for fn($($t),*) -> R {
            type Pointer = unsafe extern "C" fn($($t::Store),*) -> R::Store;
            type Args = ($($t,)*);

            unsafe fn closure(pointer: Self::Pointer) -> impl HostClosure<Self::Args> {
                // SAFETY: the two types differ only in whether the function may unwind, which makes no difference to how it is
                // called.
                let pointer = unsafe {
                    std::mem::transmute::<
                        Self::Pointer,
                        unsafe extern "C-unwind" fn($($t::Store),*) -> R::Store,
                    >(pointer)
                };
                move |$($x: $t),*| -> R {
                    // SAFETY: `HostFunction::scalar` requires that a function of this signature may be called with any arguments,
                    // on any thread, for as long as the process runs.
                    R::load(unsafe { pointer($($x.store()),*) })
                }
            }
        }
    )*};
}
pointers! {
    (A x)
    (A x, B y)
    (A x, B y, C z)
}

/// A C function over tiles with its context; `gives_bools` is set if the result's dtype is bool.
pub struct Tile<C> {
    function: unsafe extern "C-unwind" fn(usize, *const *const u8, *mut u8, *const c_void),
    gives_bools: bool,
    context: C,
}

impl<C> Tile<C> {
    pub fn new(function: HostTile, result: DType, context: C) -> Tile<C> {
        // SAFETY: the ABIs differ only in whether the function may unwind, which makes no difference to how it is called.
        let function =
            unsafe { std::mem::transmute::<HostTile, unsafe extern "C-unwind" fn(_, _, _, _)>(function) };
        Tile { function, gives_bools: result == DType::Bool, context }
    }
}

/// The C function through which executors call a function over tiles that was registered by pointer. If the function unwinds, the
/// process ends here.
///
/// # Safety
/// The contract of [`HostTile`]; the context is a pointer to a `Tile<C>`.
pub unsafe extern "C" fn entry<C>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: the function is registered together with a context of type `Tile<C>`, which lives as long as the function and is only
    // read.
    let tile = unsafe { &*context.cast::<Tile<C>>() };
    // SAFETY: the operands have the declared dtypes (this function's contract), which the pointer accepts (the contract of its
    // registration), and the context is the one that it was registered with.
    unsafe { (tile.function)(elements, inputs, output, (&raw const tile.context).cast()) };
    if tile.gives_bools {
        // SAFETY: the result has `elements` elements of one byte, which the function has written.
        unsafe { make_bools(elements, output) };
    }
}

/// A C function over tiles that can fail, with its context and the dtype of its result.
pub struct FallibleTile<C> {
    function: unsafe extern "C-unwind" fn(usize, *const *const u8, *mut u8, *const c_void) -> i32,
    result: DType,
    context: C,
}

impl<C> FallibleTile<C> {
    pub fn new(function: HostFallibleTile, result: DType, context: C) -> FallibleTile<C> {
        // SAFETY: the ABIs differ only in whether the function may unwind, which makes no difference to how it is called.
        let function = unsafe {
            std::mem::transmute::<HostFallibleTile, unsafe extern "C-unwind" fn(_, _, _, _) -> i32>(function)
        };
        FallibleTile { function, result, context }
    }
}

/// The C function through which executors call a function over tiles that can fail and was registered by pointer. If the function
/// unwinds, the process ends here.
///
/// # Safety
/// The contract of [`HostTile`]; the context is a pointer to a `Named<FallibleTile<C>>`.
pub unsafe extern "C" fn fallible_entry<C>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: as in `entry`.
    let Named { name, function: tile } = unsafe { &*context.cast::<Named<FallibleTile<C>>>() };
    let call = || {
        // SAFETY: as in `entry`.
        match unsafe { (tile.function)(elements, inputs, output, (&raw const tile.context).cast()) } {
            0 => Ok(()),
            status => Err(HostStatus(status).into()),
        }
    };
    // SAFETY: the result has `elements` elements of its dtype, and nothing else uses it (this function's contract).
    unsafe { unless_failed(name, elements * tile.result.size(), output, call) };
    if tile.result == DType::Bool {
        // SAFETY: the result has `elements` bytes, which nothing else uses. A function that has failed may have left some of them
        // unwritten; their values are then arbitrary but initialised.
        unsafe { make_bools(elements, output) };
    }
}

/// Replaces every byte other than 0 by 1, so that the bytes are valid bools.
///
/// # Safety
/// `elements` bytes at `output` must be valid for reads and writes, and nothing else may use them.
unsafe fn make_bools(elements: usize, output: *mut u8) {
    for at in 0..elements {
        // SAFETY: `at < elements`, so the byte is valid, and nothing else uses it (this function's contract).
        unsafe {
            let byte = output.add(at);
            byte.write(u8::from(byte.read() != 0));
        }
    }
}
