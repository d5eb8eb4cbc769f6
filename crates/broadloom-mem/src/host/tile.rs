//! The form in which every executor calls a host function, and the form of a pointer to a function that can fail.

use std::ffi::c_void;

/// A function over tiles. Its arguments are the number of elements, the first element of each operand, the first element of the
/// result, and the context that it was registered with.
///
/// It reads `elements` elements of each operand and writes as many of the result; they are contiguous and aligned for their dtype,
/// and the result overlaps no operand. A bool is a byte, a float16 its 16 bits.
///
/// It can't fail; a function that can is a [`HostFallibleTile`].
pub type HostTile =
    unsafe extern "C" fn(elements: usize, inputs: *const *const u8, output: *mut u8, context: *const c_void);

/// A [`HostTile`] that can fail: it returns 0, or a status, after which the elements of the result are unspecified.
pub type HostFallibleTile = unsafe extern "C" fn(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) -> i32;
