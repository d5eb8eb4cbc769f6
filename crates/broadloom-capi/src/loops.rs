//! Loops of elements in a builder: what is added between the beginning and the end of a loop is its condition and its body.

use std::sync::Arc;

use broadloom::{OpenLoop, with_promotion};

use crate::argument::{OutPtr, many};
use crate::builder::{add_all, bl_builder, bl_value, builder};
use crate::open_loops::{BuilderLoop, OpenStatement};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY};
use crate::status::{CallFailure, answer};

/// The limit of a loop that may iterate as often as the option `max_iterations` allows; more iterations are an error.
pub const BL_MAX_ITERATIONS: u64 = u64::MAX;

/// Begins a loop, in which each element repeats a body while a condition holds, and adds its `count` carried values: those of one
/// iteration. `state` has their initial values; a literal has its default dtype, and the shapes broadcast. What is added until the
/// loop ends may use the carried values and all other values; it belongs to the loop, and can't be used after it, except inputs.
/// Loops may contain loops.
///
/// # Safety
/// `state` is null or valid for `count` reads; `carried` is null or valid for `count` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_loop_begin(
    handle: bl_builder,
    state: *const bl_value,
    count: usize,
    carried: *mut bl_value,
) -> bl_status {
    answer(|| {
        // SAFETY: `many` and `OutPtr::new` accept null; the safety section requires that `count` values can be read from any other
        // `state`, and that any other `carried` can be written.
        let (state, _) = unsafe {
            (
                many(state, count, "the pointer to the state")?,
                OutPtr::new(carried, "the pointer to the carried values")?,
            )
        };
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        let state = builder.arrays(&parts, state)?;
        let open = Arc::new(parts.build(builder.options.promotion, |_| OpenLoop::begin(&state))?);
        let first = parts.values.len();
        // SAFETY: a state of `count` values has as many carried ones, whose handles can be written by the safety section.
        unsafe { add_all(&builder, &mut parts, open.carried().to_vec().into_iter(), carried) }?;
        parts.loops.open.push(BuilderLoop { open: OpenStatement::Loop { open, condition: None }, first });
        Ok(())
    })
}

/// Sets the condition of the loop that has begun last: a bool for each element, which is tested before each iteration.
#[unsafe(no_mangle)]
pub extern "C" fn bl_builder_loop_condition(handle: bl_builder, condition: bl_value) -> bl_status {
    answer(|| {
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        let condition = builder.value(&parts, condition)?.clone();
        let (_, _, known) = parts.loops.innermost_loop()?;
        if known.is_some() {
            return Err(CallFailure::new(BL_ARGUMENT, "the loop has a condition already"));
        }
        *known = Some(condition);
        Ok(())
    })
}

/// Ends the loop that has begun last, and adds the last values of the `count` carried ones. `next` has their values after an
/// iteration, with the same dtypes and shapes. An element ends after `limit` iterations (or see BL_MAX_ITERATIONS).
///
/// # Safety
/// `next` is null or valid for `count` reads; `results` is null or valid for `count` writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_loop_end(
    handle: bl_builder,
    next: *const bl_value,
    count: usize,
    limit: u64,
    results: *mut bl_value,
) -> bl_status {
    answer(|| {
        // SAFETY: `many` and `OutPtr::new` accept null; the safety section requires that `count` values can be read from any other
        // `next`, and that any other `results` can be written.
        let (next, _) = unsafe {
            (
                many(next, count, "the pointer to the next state")?,
                OutPtr::new(results, "the pointer to the results")?,
            )
        };
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        let next = builder.arrays(&parts, next)?;
        let (open, first, condition) = parts.loops.innermost_loop()?;
        let carried = open.carried().len();
        if count != carried {
            return Err(CallFailure::new(
                BL_ARITY,
                format!("the loop carries {carried} values, but got {count}"),
            ));
        }
        let missing =
            || CallFailure::new(BL_ARGUMENT, "the loop has no condition: bl_builder_loop_condition");
        let condition = condition.clone().ok_or_else(missing)?;
        let limit = (limit != BL_MAX_ITERATIONS).then_some(limit);
        let last = with_promotion(builder.options.promotion, || open.end(&condition, &next, limit))?;
        let end = parts.values.len();
        // SAFETY: a loop has as many results as carried values, which are `count`; their handles can be written by the safety section.
        unsafe { add_all(&builder, &mut parts, last.into_iter(), results) }?;
        parts.loops.end(first..end);
        Ok(())
    })
}
