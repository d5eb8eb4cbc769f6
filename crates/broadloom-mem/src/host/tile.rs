//! The C function types of host functions over tiles: those that can't fail, through which every executor calls host functions,
//! and those that can.

use std::ffi::c_void;

/// A function over tiles. Its arguments are the number of elements, the first element of each operand, the first element of the
/// result, and the context that it was registered with.
///
/// It reads `elements` elements of each operand and writes as many of the result; they are contiguous and aligned for their dtype,
/// and the result overlaps no operand. A bool is a byte, a float16 its 16 bits.
///
/// A function that can fail is a [`HostFallibleTile`] instead.
pub type HostTile =
    unsafe extern "C" fn(elements: usize, inputs: *const *const u8, output: *mut u8, context: *const c_void);

/// The type of a [`HostTile`] that can fail. It returns 0 for success, or another status after which the elements of the result
/// are unspecified.
pub type HostFallibleTile = unsafe extern "C" fn(
    elements: usize,
    inputs: *const *const u8,
    output: *mut u8,
    context: *const c_void,
) -> i32;
