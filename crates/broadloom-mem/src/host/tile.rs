//! The C function types of host functions over tiles. Functions of the first type can't fail, and every executor calls host
//! functions through it; functions of the second type can fail.

use std::ffi::c_void;

/// A function over tiles. Its arguments are the number of elements, the first element of each operand, the first element of the
/// result, and the context that it was registered with.
///
/// It reads `elements` elements of each operand and writes `elements` elements of the result. They are contiguous and aligned
/// for their dtype, and the result overlaps no operand. A bool is one byte, and a float16 is its 16 bits.
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
