//! Elements of a builder's values at computed indices.

use crate::argument::many;
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::bl_status;

/// Adds the elements of a value at indices of an axis. The indices are integers; their axes take the place of the axis. A negative
/// axis or index counts from the end. A run ends with BL_INDEX if another index is out of range.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_take(
    handle: bl_builder,
    value: bl_value,
    indices: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[value, indices])?;
        Ok(operands[0].take(&operands[1], axis)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the elements of a value at indices along an axis. The indices have the value's rank, and their other axes broadcast with
/// those of the value, so that each position on them has its own indices. Otherwise it is bl_builder_take.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_take_along_axis(
    handle: bl_builder,
    value: bl_value,
    indices: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[value, indices])?;
        Ok(operands[0].take_along_axis(&operands[1], axis)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the elements of a value at tuples of indices of `count` adjacent axes, beginning with `axis`. The indices broadcast, and
/// their axes take the place of these axes. Otherwise it is bl_builder_take.
///
/// # Safety
/// `indices` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_gather(
    handle: bl_builder,
    value: bl_value,
    indices: *const bl_value,
    count: usize,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: this function has the same requirements on the indices as `many`.
        let indices = unsafe { many(indices, count, "the pointer to the indices") }?;
        let table = builder.value(parts, value)?.clone();
        Ok(table.gather(&builder.arrays(parts, indices)?, axis)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}
