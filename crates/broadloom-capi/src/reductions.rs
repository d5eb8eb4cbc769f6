//! Reductions and scans of a builder's values.
//!
//! The codes number the functions of broadloom's table of reductions, in its order; a test compares their names. The functions
//! return the same errors as the methods of `broadloom::Array`. Negative axes count from the end.

use std::slice;

use broadloom::{Array, ReductionCall, ReductionFunction};
use smallvec::SmallVec;

use crate::argument::many;
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::bl_status::{self, BL_ARGUMENT};
use crate::status::{Answer, CallFailure};

/// The code of a reduction, which combines elements to one: one of the BL_REDUCE constants.
pub type bl_reduction = u32;
/// The sum: floats keep their dtype, integers become int64 or uint64.
pub const BL_REDUCE_SUM: u32 = 0;
/// The product, with the dtypes of the sum.
pub const BL_REDUCE_PROD: u32 = 1;
/// The maximum: a NaN propagates, and -0 is less than +0.
pub const BL_REDUCE_MAX: u32 = 2;
/// The minimum: a NaN propagates, and -0 is less than +0.
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
/// The sum of the elements that are not NaN.
pub const BL_REDUCE_NANSUM: u32 = 13;
/// The product of the elements that are not NaN.
pub const BL_REDUCE_NANPROD: u32 = 14;
/// The maximum of the elements that are not NaN.
pub const BL_REDUCE_NANMAX: u32 = 15;
/// The minimum of the elements that are not NaN.
pub const BL_REDUCE_NANMIN: u32 = 16;
/// The mean of the elements that are not NaN.
pub const BL_REDUCE_NANMEAN: u32 = 17;
/// The variance of the elements that are not NaN; the parameter is the correction, 0 by default.
pub const BL_REDUCE_NANVAR: u32 = 18;
/// The standard deviation of the elements that are not NaN; the parameter is the correction, 0 by default.
pub const BL_REDUCE_NANSTD: u32 = 19;

/// The code of a scan, which combines each element with the elements before it: one of the BL_SCAN constants.
pub type bl_scan = u32;
/// The cumulative sum, with the dtypes of BL_REDUCE_SUM.
pub const BL_SCAN_SUM: u32 = 0;
/// The cumulative product, with the dtypes of BL_REDUCE_PROD.
pub const BL_SCAN_PROD: u32 = 1;

/// The functions of the table that have a code: reductions of one operand that can keep their axes.
fn reductions() -> impl Iterator<Item = ReductionFunction> {
    ReductionFunction::ALL.iter().copied().filter(|function| function.has("keepdims"))
}

/// The functions of the table that have a code of a scan.
fn scans() -> impl Iterator<Item = ReductionFunction> {
    ReductionFunction::ALL.iter().copied().filter(|function| function.is_scan())
}

/// The function with this code.
pub(crate) fn reduction_of(code: bl_reduction) -> Answer<ReductionFunction> {
    let unknown = || CallFailure::new(BL_ARGUMENT, format!("{code} is not the code of a reduction"));
    reductions().nth(code as usize).ok_or_else(unknown)
}

/// The call of a reduction; an error if there is a parameter and the reduction takes none.
fn call(code: bl_reduction, parameter: Option<f64>) -> Answer<ReductionCall> {
    let function = reduction_of(code)?;
    let mut call = ReductionCall::new(function);
    match (parameter, call.number_mut()) {
        (None, _) => {}
        (Some(parameter), Some(number)) => *number = parameter,
        (Some(_), None) => {
            let why = format!("the reduction of the code {code} has no parameter");
            return Err(CallFailure::new(BL_ARGUMENT, why));
        }
    }
    Ok(call)
}

/// The axes of a C array; all axes if the array is null.
///
/// # Safety
/// The requirements of [`many`].
unsafe fn axes_of<'a>(axes: *const isize, count: usize) -> Answer<Option<&'a [isize]>> {
    if axes.is_null() && count == 0 {
        return Ok(None);
    }
    // SAFETY: the caller guarantees what `many` requires.
    unsafe { many(axes, count, "the pointer to the axes") }.map(Some)
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
        // SAFETY: `axes_of` accepts null; the safety section requires that the axes at any other pointer are readable.
        let axes = unsafe { axes_of(axes, count) }?;
        let x = builder.value(parts, value)?;
        let axis = axes.map(SmallVec::from_slice);
        let call = ReductionCall { axis, keepdims: keep_dims != 0, ..call(code, parameter)? };
        Ok(Array::reduce(&call, slice::from_ref(x))?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a value reduced along `count` axes, or along all axes if `axes` is null and `count` is 0. The reduced axes are kept
/// with an extent of 1 unless `keep_dims` is 0. For a sum or product in another dtype, convert the value first
/// (`bl_builder_cast`).
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
    // SAFETY: `add_reduction` has the same requirements on the pointers as this function.
    unsafe { add_reduction(handle, (reduction, None), value, (axes, count, keep_dims), out) }
}

/// Adds a reduced value as `bl_builder_reduce` does, with a parameter: the correction of a variance or standard deviation, or
/// the order of a norm (which may be infinite). Returns BL_ARGUMENT for a reduction without a parameter.
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
    // SAFETY: `add_reduction` has the same requirements on the pointers as this function.
    unsafe { add_reduction(handle, (reduction, Some(parameter)), value, (axes, count, keep_dims), out) }
}

/// Adds the scan of a value along an axis: each element is combined with the elements before it. Unless `include_initial` is 0,
/// the axis is longer by one, and begins with 0 for a sum or with 1 for a product.
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
        let Some(function) = scans().nth(scan as usize) else {
            return Err(CallFailure::new(BL_ARGUMENT, format!("{scan} is not the code of a scan")));
        };
        let (axis, include_initial) = (Some(SmallVec::from_slice(&[axis])), include_initial != 0);
        let call = ReductionCall { axis, include_initial, ..ReductionCall::new(function) };
        Ok(Array::reduce(&call, slice::from_ref(x))?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds the inner products of the vectors along an axis of two values. The axis is counted from the end in both shapes, and the
/// other axes broadcast.
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
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants of the header whose names begin with this prefix: the names without the prefix, and the values.
    fn constants(prefix: &str) -> Vec<(String, usize)> {
        let header = include_str!("../include/broadloom.h");
        let constant = |line: &str| {
            let (name, value) = line.strip_prefix("#define ")?.strip_prefix(prefix)?.split_once(' ')?;
            Some((name.to_lowercase(), value.parse().expect("a number")))
        };
        header.lines().filter_map(constant).collect()
    }

    #[test]
    fn codes_number_the_rows_of_the_table() {
        let numbered = |names: Vec<&str>| -> Vec<(String, usize)> {
            names.into_iter().enumerate().map(|(code, name)| (name.to_owned(), code)).collect()
        };
        let names = reductions().map(ReductionFunction::name).collect();
        assert_eq!(constants("BL_REDUCE_"), numbered(names));
        let short = |scan: ReductionFunction| scan.name().strip_prefix("cumulative_").expect("a scan");
        assert_eq!(constants("BL_SCAN_"), numbered(scans().map(short).collect()));
    }

    #[test]
    fn a_parameter_is_the_correction_or_the_order() {
        for function in reductions() {
            let code = reductions().position(|other| other == function).expect("has a code") as u32;
            let plain = call(code, None).expect("no parameter");
            assert_eq!(plain, ReductionCall::new(function));
            match (call(code, Some(7.5)), function.has("correction"), function.has("ord")) {
                (Ok(call), true, false) => assert_eq!(call, ReductionCall { correction: 7.5, ..plain }),
                (Ok(call), false, true) => assert_eq!(call, ReductionCall { ord: 7.5, ..plain }),
                (Err(_), false, false) => {}
                (call, ..) => panic!("{function}: {:?}", call.is_ok()),
            }
        }
    }
}
