//! Host functions from pointers in C's calling convention, over elements or over tiles.
//!
//! The pointer is called as a function that may unwind, by a function that may not, where unwinding ends the process.

use std::ffi::c_void;

use broadloom_math::{DType, Elem};

use super::closure::{HostClosure, HostResult, Named, unless_failed};
use super::failure::HostStatus;
use super::tile::{HostFallibleTile, HostTile};

/// The signatures that [`HostFunction::scalar`](super::HostFunction::scalar) accepts: `fn(A) -> R`, `fn(A, B) -> R` or `fn(A, B, C)
/// -> R` of element types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the signature of a function of 1 to 3 elements",
    note = "write it as `fn(f32, f32) -> bool`"
)]
pub trait HostPointer {
    /// The pointer: `extern "C"` with the same types, except that bool is `u8`.
    type Pointer;

    /// The operands as [`HostClosure`]'s type parameter.
    #[doc(hidden)]
    type Args: 'static;

    /// Wraps the pointer in a closure.
    ///
    /// # Safety
    /// As for [`HostFunction::scalar`](super::HostFunction::scalar).
    #[doc(hidden)]
    unsafe fn closure(pointer: Self::Pointer) -> impl HostClosure<Self::Args>;
}

macro_rules! pointers {
    ($(($($t:ident $x:ident),*))*) => {$(
        impl<R: Elem + HostResult<Element = R>, $($t: Elem),*> HostPointer for fn($($t),*) -> R {
            type Pointer = unsafe extern "C" fn($($t::Store),*) -> R::Store;
            type Args = ($($t,)*);

            unsafe fn closure(pointer: Self::Pointer) -> impl HostClosure<Self::Args> {
                // SAFETY: the two types differ only in whether the function may unwind, which concerns only its caller: it is
                // called as one that may.
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

/// A function over tiles, and its context.
pub struct Tile<C> {
    function: unsafe extern "C-unwind" fn(usize, *const *const u8, *mut u8, *const c_void),
    gives_bools: bool,
    context: C,
}

impl<C> Tile<C> {
    pub fn new(function: HostTile, result: DType, context: C) -> Tile<C> {
        // SAFETY: ABIs that differ only in whether a function may unwind are the same for its caller.
        let function =
            unsafe { std::mem::transmute::<HostTile, unsafe extern "C-unwind" fn(_, _, _, _)>(function) };
        Tile { function, gives_bools: result == DType::Bool, context }
    }
}

/// The pointer's entry. Unwinding out of the function ends the process, because the ABI does not unwind.
///
/// # Safety
/// As for [`HostTile`]; the context is a pointer to a `Tile<C>`.
pub unsafe extern "C" fn entry<C>(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) {
    // SAFETY: the function is registered together with a context of type `Tile<C>`, which lives as long as the function and is only
    // read.
    let tile = unsafe { &*context.cast::<Tile<C>>() };
    // SAFETY: the operands are those of the declaration (this function's contract), which the pointer accepts (the contract of its
    // registration), with the context that it was registered with.
    unsafe { (tile.function)(elements, inputs, output, (&raw const tile.context).cast()) };
    if tile.gives_bools {
        // SAFETY: the result has that many elements of one byte, which the function has written.
        unsafe { make_bools(elements, output) };
    }
}

/// A function over tiles that can fail, and its context.
pub struct FallibleTile<C> {
    function: unsafe extern "C-unwind" fn(usize, *const *const u8, *mut u8, *const c_void) -> i32,
    result: DType,
    context: C,
}

impl<C> FallibleTile<C> {
    pub fn new(function: HostFallibleTile, result: DType, context: C) -> FallibleTile<C> {
        // SAFETY: ABIs that differ only in whether a function may unwind are the same for its caller.
        let function = unsafe {
            std::mem::transmute::<HostFallibleTile, unsafe extern "C-unwind" fn(_, _, _, _) -> i32>(function)
        };
        FallibleTile { function, result, context }
    }
}

/// The entry of a pointer to a function that can fail. Unwinding out of the function ends the process, because the ABI does not
/// unwind.
///
/// # Safety
/// As for [`HostTile`]; the context is a pointer to a `Named<FallibleTile<C>>`.
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
    // SAFETY: the result has that many elements of its dtype, and nothing else uses it (this function's contract).
    unsafe { unless_failed(name, elements * tile.result.size(), output, call) };
    if tile.result == DType::Bool {
        // SAFETY: as above; a function that has failed may have left bytes unwritten, whose values are arbitrary but initialised.
        unsafe { make_bools(elements, output) };
    }
}

/// Replaces every byte but 0 by 1.
///
/// # Safety
/// `elements` bytes at `output` are valid for reads and writes, and nothing else uses them.
unsafe fn make_bools(elements: usize, output: *mut u8) {
    for at in 0..elements {
        // SAFETY: the contract of this function.
        unsafe {
            let byte = output.add(at);
            byte.write(u8::from(byte.read() != 0));
        }
    }
}
