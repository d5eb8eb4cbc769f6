//! Functions of whole arrays, as values of a builder: sorts, searches, reductions by label, selections and scatters.
//!
//! They return the same errors as the methods of `broadloom::Array`. What depends on elements, such as a label that is out of range,
//! is found by a run, which then ends with BL_INDEX. Negative axes count from the end, except that of
//! bl_builder_nonzero.

use broadloom::ScatterMode;

use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::reductions::{bl_reduction, reduction_of};
use crate::status::CallFailure;
use crate::status::bl_status::{self, BL_ARGUMENT, BL_SHAPE};

/// The code of the way in which scattered elements are combined with those before: one of the BL_SCATTER constants.
pub type bl_scatter = u32;
/// The element takes the place of the one before; of several, the last in row-major order.
pub const BL_SCATTER_SET: u32 = 0;
/// The sum of the elements is added.
pub const BL_SCATTER_ADD: u32 = 1;
/// The product of the elements is multiplied.
pub const BL_SCATTER_MULTIPLY: u32 = 2;
/// The minimum.
pub const BL_SCATTER_MIN: u32 = 3;
/// The maximum.
pub const BL_SCATTER_MAX: u32 = 4;

/// Adds the elements of a value along an axis in ascending order, or in descending order unless `descending` is 0. -0 comes before 0, and
/// NaN last.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_sort(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    descending: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, value)?.sort(axis, descending != 0)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the indices, int64, that put the elements of a value along an axis in the order of bl_builder_sort. Equal elements keep their
/// order.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_argsort(
    handle: bl_builder,
    value: bl_value,
    axis: isize,
    descending: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, value)?.argsort(axis, descending != 0)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds, for each element of `queries`, the index in `sorted`, of one axis, before which it is inserted to keep the order, int64: the first
/// such index, or the last unless `right` is 0.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_searchsorted(
    handle: bl_builder,
    sorted: bl_value,
    queries: bl_value,
    right: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[sorted, queries])?;
        Ok(operands[0].searchsorted(&operands[1], right != 0)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the `k` greatest elements of a value along an axis in descending order, or the `k` least in ascending order if `largest` is 0.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_topk(
    handle: bl_builder,
    value: bl_value,
    k: usize,
    axis: isize,
    largest: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, value)?.topk(k, axis, largest != 0)?.0)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the indices, int64, of the elements of bl_builder_topk. Of equal elements, the one with the lower index is first.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_topk_indices(
    handle: bl_builder,
    value: bl_value,
    k: usize,
    axis: isize,
    largest: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, value)?.topk(k, axis, largest != 0)?.1)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a reduction of the rows of a value with each label, from 0 to `segments` - 1: BL_REDUCE_SUM, PROD, MAX, MIN or MEAN. Labels are
/// integers, one for each index of the first axis; -1 omits its row.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_segment(
    handle: bl_builder,
    reduction: bl_reduction,
    value: bl_value,
    labels: bl_value,
    segments: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let function = reduction_of(reduction)?;
        let operands = builder.arrays(parts, &[value, labels])?;
        Ok(operands[0].segment_reduce(function, &operands[1], segments)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the number of occurrences of each label from 0 to `segments` - 1, int64. The label -1 is not counted.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_segment_count(
    handle: bl_builder,
    labels: bl_value,
    segments: usize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        Ok(builder.value(parts, labels)?.segment_count(segments)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the number of elements of a value between ascending edges of its dtype, int64. A bin contains its left edge, the last one also its
/// right edge.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_histogram(
    handle: bl_builder,
    value: bl_value,
    edges: bl_value,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[value, edges])?;
        Ok(operands[0].histogram(&operands[1])?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the indices along an axis, counted from 0, of the first `size` elements of a value that are not 0, in row-major order, int64. If there
/// are fewer, `fill` takes the place of the others.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_nonzero(
    handle: bl_builder,
    value: bl_value,
    axis: usize,
    size: usize,
    fill: i64,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let mut indices = builder.value(parts, value)?.nonzero_sized(size, fill)?;
        match axis < indices.len() {
            true => Ok(indices.swap_remove(axis)),
            false => Err(CallFailure::new(BL_SHAPE, format!("axis {axis} of {} axes", indices.len()))),
        }
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the first `size` elements of a value at which a mask is true. The axes of the mask are those of the value from `axis` on, and become
/// one axis. If there are fewer elements, `fill`, a value of the same dtype without axes, takes the place of the others.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_compress(
    handle: bl_builder,
    value: bl_value,
    mask: bl_value,
    axis: isize,
    size: usize,
    fill: bl_value,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[value, mask, fill])?;
        Ok(operands[0].compress_sized(&operands[1], axis, size, &operands[2])?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a value with other elements at positions, int64, in its row-major order. `values` has the dtype of the value and the shape of the
/// positions, of which negative ones are out of range.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_scatter(
    handle: bl_builder,
    scatter: bl_scatter,
    value: bl_value,
    positions: bl_value,
    values: bl_value,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let Some(&mode) = ScatterMode::ALL.get(scatter as usize) else {
            return Err(CallFailure::new(BL_ARGUMENT, format!("{scatter} is not the code of a scatter")));
        };
        let operands = builder.arrays(parts, &[value, positions, values])?;
        Ok(operands[0].scatter(mode, &operands[1], &operands[2])?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}
