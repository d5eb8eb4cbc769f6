//! Keys of random numbers, and draws from them, as values of a builder.
//!
//! A key is a value of BL_DTYPE_UINT32 with four words along its last axis, such as an input that is passed at each run. The
//! functions return the same errors as those of `broadloom::random`.

use std::ffi::c_char;

use broadloom::{Array, Draw, DrawCall, random};

use crate::argument::{BL_NUL_TERMINATED, many, text};
use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::code::{bl_dtype, dtype};
use crate::status::CallFailure;
use crate::status::bl_status::{self, BL_NAME};

/// Adds the key of a seed: its low word, its high word, and two zeros.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_key(handle: bl_builder, seed: u64, out: *mut bl_value) -> bl_status {
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, |_: &Builder, _: &mut BuilderParts| Ok(random::key(seed))) }
}

/// Adds `n` independent keys made of a key, along a new axis before that of the words.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_split(
    handle: bl_builder,
    key: bl_value,
    n: usize,
    out: *mut bl_value,
) -> bl_status {
    let make =
        |builder: &Builder, parts: &mut BuilderParts| Ok(random::split(builder.value(parts, key)?, n)?);
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a key made of a key and a number, or a key for each of an array of numbers, along a new last axis.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_fold_in(
    handle: bl_builder,
    key: bl_value,
    number: bl_value,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[key, number])?;
        Ok(random::fold_in(&operands[0], &operands[1])?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}

/// Adds a draw from a distribution, such as "normal" or "gamma"; docs/generated/ops.md lists them, with their dtypes. The `count`
/// `parameters` are the values on which the distribution depends, in the order of that list, and broadcast to the shape, which
/// has `rank` extents.
///
/// # Safety
/// `name` is null or ends with a zero; `parameters` is null or valid for `count` reads, and `shape` for `rank`; `out` is null or
/// valid for a write.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn bl_builder_draw(
    handle: bl_builder,
    name: *const c_char,
    key: bl_value,
    parameters: *const bl_value,
    count: usize,
    shape: *const usize,
    rank: usize,
    dtype_code: bl_dtype,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        // SAFETY: `text` and `many` accept null; the safety section requires that any other `name` is zero-terminated, and that
        // the values and extents at any other pointer can be read.
        let (name, parameters, shape) = unsafe {
            let name = text(name, BL_NUL_TERMINATED, "the name of the draw")?;
            let parameters = many(parameters, count, "the pointer to the parameters")?;
            (name, parameters, many(shape, rank, "the pointer to the extents")?)
        };
        let Some(draw) = Draw::from_name(name) else {
            return Err(CallFailure::new(BL_NAME, format!("there is no draw `{name}`")));
        };
        let call = DrawCall::new(draw, shape, Some(dtype(dtype_code)?))?;
        let key: Array<'_> = builder.value(parts, key)?.clone();
        let parameters = builder.arrays(parts, parameters)?;
        Ok(random::draw(&call, &key, &parameters)?)
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}
