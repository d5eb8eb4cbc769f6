//! The one form in which every executor calls a host function, and the form of a pointer whose function can fail.

use std::ffi::c_void;

/// A function over tiles: the number of elements, the first element of each operand, the first of the result, and the
/// context that it was registered with.
///
/// It reads `elements` elements of each operand and writes as many of the result; all lie side by side, aligned for their
/// dtype, and the result overlaps no operand. A bool is a byte, a float16 its 16 bits.
///
/// It can't fail; one that can is a [`HostFallibleTile`].
pub type HostTile =
    unsafe extern "C" fn(elements: usize, inputs: *const *const u8, output: *mut u8, context: *const c_void);

/// A [`HostTile`] that can fail: it returns 0, or else a status, and then the elements of the result may be anything.
pub type HostFallibleTile = unsafe extern "C" fn(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) -> i32;
