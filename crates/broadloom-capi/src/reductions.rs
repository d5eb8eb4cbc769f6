//! Reductions and scans of a builder's values.
//!
//! Each function corresponds to the method of `broadloom::Array` with the same name, and gives the same errors. Negative axes
//! count from the end.

use broadloom::{Array, Over};

use crate::argument::many;
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::bl_status::{self, BL_ARGUMENT};
use crate::status::{Answer, CallFailure};

/// The way in which elements are combined to one: one of the BL_REDUCE constants.
pub type bl_reduction = u32;
/// The sum: floats keep their dtype, integers become int64 or uint64.
pub const BL_REDUCE_SUM: u32 = 0;
/// The product, with the dtypes of the sum.
pub const BL_REDUCE_PROD: u32 = 1;
/// The maximum: a NaN propagates, and -0 is less than +0.
pub const BL_REDUCE_MAX: u32 = 2;
/// The minimum, by the same rules.
pub const BL_REDUCE_MIN: u32 = 3;
/// Whether any element is not 0.
pub const BL_REDUCE_ANY: u32 = 4;
/// Whether all elements are not 0.
pub const BL_REDUCE_ALL: u32 = 5;
/// The arithmetic mean of floats.
pub const BL_REDUCE_MEAN: u32 = 6;
/// The variance of floats; the parameter is the correction, 0 by default.
pub const BL_REDUCE_VAR: u32 = 7;
/// The standard deviation of floats; the parameter is the correction, 0 by default.
pub const BL_REDUCE_STD: u32 = 8;
/// The int64 index of the first maximum, or of the first NaN.
pub const BL_REDUCE_ARGMAX: u32 = 9;
/// The int64 index of the first minimum, or of the first NaN.
pub const BL_REDUCE_ARGMIN: u32 = 10;
/// The number of elements that are not 0, an int64.
pub const BL_REDUCE_COUNT_NONZERO: u32 = 11;
/// The norm of vectors of floats; the parameter is the order, 2 by default.
pub const BL_REDUCE_VECTOR_NORM: u32 = 12;
/// The sum of what is not NaN.
pub const BL_REDUCE_NANSUM: u32 = 13;
/// The product of what is not NaN.
pub const BL_REDUCE_NANPROD: u32 = 14;
/// The maximum of what is not NaN.
pub const BL_REDUCE_NANMAX: u32 = 15;
/// The minimum of what is not NaN.
pub const BL_REDUCE_NANMIN: u32 = 16;
/// The mean of what is not NaN.
pub const BL_REDUCE_NANMEAN: u32 = 17;
/// The variance of what is not NaN; the parameter is the correction, 0 by default.
pub const BL_REDUCE_NANVAR: u32 = 18;
/// The standard deviation of what is not NaN; the parameter is the correction, 0 by default.
pub const BL_REDUCE_NANSTD: u32 = 19;

/// The way in which each element is combined with those before it: one of the BL_SCAN constants.
pub type bl_scan = u32;
/// The sum so far, with the dtypes of BL_REDUCE_SUM.
pub const BL_SCAN_SUM: u32 = 0;
/// The product so far.
pub const BL_SCAN_PROD: u32 = 1;

/// The reduction of a value; an error if there is a parameter and the reduction takes none.
fn reduce(
    code: bl_reduction,
    x: &Array<'static>,
    over: Over,
    parameter: Option<f64>,
) -> Answer<Array<'static>> {
    let (correction, order) = (parameter.unwrap_or(0.0), parameter.unwrap_or(2.0));
    match code {
        BL_REDUCE_VAR => return Ok(x.var(over, correction)?),
        BL_REDUCE_STD => return Ok(x.std(over, correction)?),
        BL_REDUCE_NANVAR => return Ok(x.nanvar(over, correction)?),
        BL_REDUCE_NANSTD => return Ok(x.nanstd(over, correction)?),
        BL_REDUCE_VECTOR_NORM => return Ok(x.vector_norm(over, order)?),
        _ => {}
    }
    let method: fn(&Array<'static>, Over) -> broadloom::Result<Array<'static>> = match code {
        BL_REDUCE_SUM => |x, over| x.sum(over),
        BL_REDUCE_PROD => |x, over| x.prod(over),
        BL_REDUCE_MAX => |x, over| x.max(over),
        BL_REDUCE_MIN => |x, over| x.min(over),
        BL_REDUCE_ANY => |x, over| x.any(over),
        BL_REDUCE_ALL => |x, over| x.all(over),
        BL_REDUCE_MEAN => |x, over| x.mean(over),
        BL_REDUCE_ARGMAX => |x, over| x.argmax(over),
        BL_REDUCE_ARGMIN => |x, over| x.argmin(over),
        BL_REDUCE_COUNT_NONZERO => |x, over| x.count_nonzero(over),
        BL_REDUCE_NANSUM => |x, over| x.nansum(over),
        BL_REDUCE_NANPROD => |x, over| x.nanprod(over),
        BL_REDUCE_NANMAX => |x, over| x.nanmax(over),
        BL_REDUCE_NANMIN => |x, over| x.nanmin(over),
        BL_REDUCE_NANMEAN => |x, over| x.nanmean(over),
        other => {
            return Err(CallFailure::new(BL_ARGUMENT, format!("{other} is not the code of a reduction")));
        }
    };
    match parameter {
        None => Ok(method(x, over)?),
        Some(_) => {
            Err(CallFailure::new(BL_ARGUMENT, format!("the reduction of the code {code} has no parameter")))
        }
    }
}

/// The axes of a C array; all axes if the array is null.
///
/// # Safety
/// As for [`many`].
unsafe fn over(axes: *const isize, count: usize, keep_dims: i32) -> Answer<Over> {
    let over = if axes.is_null() && count == 0 {
        Over::all()
    } else {
        // SAFETY: the caller guarantees what `many` requires.
        Over::axes(unsafe { many(axes, count, "the pointer to the axes") }?)
    };
    Ok(if keep_dims != 0 { over.keep_dims() } else { over })
}

/// Adds a reduction of a value.
///
/// # Safety
/// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
unsafe fn add_reduction(
    handle: bl_builder,
    (code, parameter): (bl_reduction, Option<f64>),
    value: bl_value,
    (axes, count, keep_dims): (*const isize, usize, i32),
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: `over` accepts null; the safety section requires that `count` axes are readable otherwise.
        let over = unsafe { over(axes, count, keep_dims) }?;
        reduce(code, builder.value(parts, value)?, over, parameter)
    };
    // SAFETY: `add` requires of `out` what this function's safety section says.
    unsafe { add(handle, out, make) }
}

/// Adds the elements of a value along `count` axes combined to one; with null and 0 along all axes. The axes stay with an
/// extent of 1 unless `keep_dims` is 0. A sum or product in another dtype is that of the value after `bl_builder_cast`.
///
/// # Safety
/// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_reduce(
    handle: bl_builder,
    reduction: bl_reduction,
    value: bl_value,
    axes: *const isize,
    count: usize,
    keep_dims: i32,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `add_reduction` requires of the pointers what this function's safety section says.
    unsafe { add_reduction(handle, (reduction, None), value, (axes, count, keep_dims), out) }
}

/// `bl_builder_reduce` with a parameter: the correction of a variance or standard deviation, the order of a norm (which may
/// be infinite). BL_ARGUMENT for a reduction that has none.
///
/// # Safety
/// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn bl_builder_reduce_with(
    handle: bl_builder,
    reduction: bl_reduction,
    parameter: f64,
    value: bl_value,
    axes: *const isize,
    count: usize,
    keep_dims: i32,
    out: *mut bl_value,
) -> bl_status {
    // SAFETY: `add_reduction` requires of the pointers what this function's safety section says.
    unsafe { add_reduction(handle, (reduction, Some(parameter)), value, (axes, count, keep_dims), out) }
}

/// Adds each element of a value combined with those before it along an axis. Unless `include_initial` is 0 the axis is longer
/// by one, and begins with 0 for a sum, with 1 for a product.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_scan(
    handle: bl_builder,
    scan: bl_scan,
    value: bl_value,
    axis: isize,
    include_initial: i32,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let x = builder.value(parts, value)?;
        match scan {
            BL_SCAN_SUM => Ok(x.cumulative_sum(Some(axis), None, include_initial != 0)?),
            BL_SCAN_PROD => Ok(x.cumulative_prod(Some(axis), None, include_initial != 0)?),
            other => Err(CallFailure::new(BL_ARGUMENT, format!("{other} is not the code of a scan"))),
        }
    };
    // SAFETY: `add` requires of `out` what this function's safety section says.
    unsafe { add(handle, out, make) }
}

/// Adds the inner products of the vectors of two values along an axis, counted from the end of both; the other axes
/// broadcast.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_vecdot(
    handle: bl_builder,
    first: bl_value,
    second: bl_value,
    axis: isize,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let second = builder.value(parts, second)?;
        Ok(builder.value(parts, first)?.vecdot(second, axis)?)
    };
    // SAFETY: `add` requires of `out` what this function's safety section says.
    unsafe { add(handle, out, make) }
}
