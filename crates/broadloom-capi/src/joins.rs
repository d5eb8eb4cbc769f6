//! Joined and padded values of a builder, and windows of them.

use std::ffi::c_char;

use broadloom::{PadMode, concat};

use crate::argument::{BL_NUL_TERMINATED, many, text};
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::CallFailure;
use crate::status::bl_status::{self, BL_SHAPE};

/// Adds `count` values joined along an axis. They promote to one dtype, and their other extents are equal and not open. A negative
/// axis counts from the end.
///
/// # Safety
/// `values` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_concat(
    handle: bl_builder,
    values: *const bl_value,
    count: usize,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: this function has the same requirements on the values as `many`.
        let values = unsafe { many(values, count, "the pointer to the values") }?;
        Ok(concat(&builder.arrays(parts, values)?, axis)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a value with additional elements: `widths` has two numbers for each of its `rank` axes, those of the elements before and
/// after. The mode is "constant" (zeros), "edge", "reflect", "symmetric" or "wrap", as in NumPy. The extents are not open.
///
/// # Safety
/// `widths` is null or valid for 2 * `rank` reads; `mode` is null or ends with a zero; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_pad(
    handle: bl_builder,
    value: bl_value,
    widths: *const usize,
    rank: usize,
    mode: *const c_char,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let numbers = rank
            .checked_mul(2)
            .ok_or_else(|| CallFailure::new(BL_SHAPE, format!("{rank} axes are too many")))?;
        // SAFETY: `text` and `many` accept null; the safety section requires that any other `mode` is zero-terminated, and that
        // the widths at any other pointer can be read.
        let (widths, mode) = unsafe {
            let widths = many(widths, numbers, "the pointer to the widths")?;
            (widths, text(mode, BL_NUL_TERMINATED, "the name of the mode")?)
        };
        let pairs: Vec<(usize, usize)> = widths.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        let mode: PadMode = mode.parse()?;
        Ok(builder.value(parts, value)?.pad(&pairs, mode)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds all runs of `length` adjacent elements along an axis. The extent of the axis becomes their number, and their elements are
/// along a new last axis. The extents are not open.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_sliding_window(
    handle: bl_builder,
    value: bl_value,
    length: usize,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, value)?.sliding_window(length, axis)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}
