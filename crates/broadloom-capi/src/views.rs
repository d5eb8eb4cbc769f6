//! Views of a builder's values: the same elements with another shape, without a copy.
//!
//! Each function corresponds to the method of `broadloom::Array` with the same name, and returns the same errors. Negative axes
//! count from the end.

use broadloom::{Array, Range};

use crate::argument::many;
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::Answer;
use crate::status::bl_status;

/// An omitted bound of a range: the end of the axis at which the steps begin or end.
pub const BL_OPEN: isize = isize::MIN;

/// A range of indices along an axis, like Python's `start:stop:step`: negative bounds count from the end, bounds beyond the
/// axis are clamped to it, and a negative step walks backwards.
///
/// Its size never changes, since arrays of it are passed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bl_range {
    /// The first index, or BL_OPEN.
    pub start: isize,
    /// The index before which to stop, or BL_OPEN.
    pub stop: isize,
    /// The distance from one index to the next; not 0.
    pub step: isize,
}

/// Adds a view of a value.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn view(
    handle: bl_builder,
    value: bl_value,
    out: *mut bl_value,
    view: impl FnOnce(&Array<'static>) -> Answer<Array<'static>>,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| view(builder.value(parts, value)?);
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a slice of a value: one range of indices for each of its first `count` axes, and all indices of the other axes.
///
/// # Safety
/// `ranges` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_slice(
    handle: bl_builder,
    value: bl_value,
    ranges: *const bl_range,
    count: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |array: &Array<'static>| {
        // SAFETY: `many` accepts null; the safety section requires that the ranges at any other pointer are readable.
        let ranges = unsafe { many(ranges, count, "the pointer to the ranges") }?;
        let bound = |bound: isize| (bound != BL_OPEN).then_some(bound);
        let ranges: Vec<Range> =
            ranges.iter().map(|r| Range::new(bound(r.start), bound(r.stop), r.step)).collect();
        Ok(array.slice(&ranges)?)
    };
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, make) }
}

/// Adds the elements of a value at one index of an axis, without that axis; a negative index counts from the end.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_index_axis(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    index: isize,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, |array| Ok(array.index_axis(axis, index)?)) }
}

/// Adds a value with its elements in reverse order along an axis.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_flip(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, |array| Ok(array.flip(axis)?)) }
}

/// Adds a value with its axes in another order: axis `i` of the result is axis `axes[i]` of the value. Negative axes count from
/// the end.
///
/// # Safety
/// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_permute(
    handle: bl_builder,
    value: bl_value,
    axes: *const isize,
    count: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |array: &Array<'static>| {
        // SAFETY: `many` accepts null; the safety section requires that the axes at any other pointer are readable.
        let axes = unsafe { many(axes, count, "the pointer to the axes") }?;
        Ok(array.permute_dims(axes)?)
    };
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, make) }
}

/// Adds a value with its axes in reverse order: the transpose of a matrix.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_transpose(
    handle: bl_builder,
    value: bl_value,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, |array| Ok(array.t())) }
}

/// Adds a value repeated along new leading axes and along axes of extent 1, so that it has this shape.
///
/// # Safety
/// `shape` is null or valid for `rank` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_broadcast_to(
    handle: bl_builder,
    value: bl_value,
    shape: *const usize,
    rank: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |array: &Array<'static>| {
        // SAFETY: `many` accepts null; the safety section requires that the extents at any other pointer are readable.
        let shape = unsafe { many(shape, rank, "the pointer to the shape") }?;
        Ok(array.broadcast_to(shape)?)
    };
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, make) }
}

/// Adds a value reshaped in row-major order. One extent of the shape may be -1; it is computed from the other extents.
///
/// # Safety
/// `shape` is null or valid for `rank` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_reshape(
    handle: bl_builder,
    value: bl_value,
    shape: *const isize,
    rank: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |array: &Array<'static>| {
        // SAFETY: `many` accepts null; the safety section requires that the extents at any other pointer are readable.
        let shape = unsafe { many(shape, rank, "the pointer to the shape") }?;
        Ok(array.reshape(shape)?)
    };
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, make) }
}

/// Adds a value with a new axis of extent 1 at this position of the result.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_expand_dims(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, |array| Ok(array.expand_dims(axis)?)) }
}

/// Adds a value without an axis of extent 1.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_squeeze(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `view` has the same requirements on `out` as this function.
    unsafe { view(handle, value, out, |array| Ok(array.squeeze(axis)?)) }
}
