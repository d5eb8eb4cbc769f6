//! Scans in a builder: what is added between the beginning and the end of a scan is its step.

use std::sync::Arc;

use broadloom::{Along, OpenScan, with_promotion};

use crate::argument::{check_results, many};
use crate::builder::{add_all, bl_builder, bl_value, builder};
use crate::open_loops::{BuilderLoop, OpenStatement};
use crate::status::bl_status::{self, BL_ARGUMENT, BL_ARITY};
use crate::status::{CallFailure, answer};

/// The order of the steps of a scan: one of the BL_STEPS constants.
pub type bl_step_order = u32;
/// From the first index to the last.
pub const BL_STEPS_FORWARD: u32 = 0;
/// From the last index to the first.
pub const BL_STEPS_BACKWARD: u32 = 1;
/// In pairs, in the order of sums: a step combines the carried values with the elements, which are elements of the inputs or results
/// of other steps. There are as many inputs as carried values, of the same dtypes, and no outputs; `state` is the result of no
/// elements, and is otherwise combined with nothing.
pub const BL_STEPS_IN_PAIRS: u32 = 2;

/// Begins a scan, which performs a step at each index of an axis of `count` inputs, in the given order. Adds the `states` values
/// that are carried from step to step, and the elements of the inputs at the index of a step, which lack the axis. `state` has the
/// initial values; a literal has its default dtype. `length` is the number of steps if there are no inputs, and is not read
/// otherwise. What is added until the scan ends may use these and all other values; it belongs to the scan, as it does to a loop
/// (`bl_builder_loop_begin`). Steps may contain loops.
///
/// # Safety
/// `state` is null or valid for `states` reads, `inputs` for `count`; `carried` is null or valid for `states` writes, `elements` for
/// `count`.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn bl_builder_scan_begin(
    handle: bl_builder,
    state: *const bl_value,
    states: usize,
    inputs: *const bl_value,
    count: usize,
    axis: isize,
    order: bl_step_order,
    length: usize,
    carried: *mut bl_value,
    elements: *mut bl_value,
) -> bl_status {
    answer(|| {
        // SAFETY: `many` accepts null; the safety section requires that any other `state` and `inputs` can be read.
        let (state, inputs) = unsafe {
            (
                many(state, states, "the pointer to the state")?,
                many(inputs, count, "the pointer to the inputs")?,
            )
        };
        check_results(carried, states, "the pointer to the carried values")?;
        check_results(elements, count, "the pointer to the elements")?;
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        let (state, inputs) = (builder.arrays(&parts, state)?, builder.arrays(&parts, inputs)?);
        let along = Along::axis(axis);
        let along = match order {
            BL_STEPS_FORWARD => along,
            BL_STEPS_BACKWARD => along.reverse(),
            BL_STEPS_IN_PAIRS => along.in_pairs(),
            _ => {
                let why = format!("{order} is not the code of an order of steps");
                return Err(CallFailure::new(BL_ARGUMENT, why));
            }
        };
        let along = if count == 0 { along.length(length) } else { along };
        let begin = |_: &mut _| OpenScan::begin(&state, &inputs, along);
        let open = Arc::new(parts.build(builder.options.promotion, begin)?);
        builder.check_room(&parts, states.saturating_add(count))?;
        let first = parts.values.len();
        // SAFETY: a scan has as many states as initial ones and as many elements as inputs, whose handles can be written by the
        // safety section.
        unsafe {
            add_all(&builder, &mut parts, open.states().to_vec().into_iter(), carried)?;
            add_all(&builder, &mut parts, open.elements().to_vec().into_iter(), elements)?;
        }
        parts.loops.open.push(BuilderLoop { open: OpenStatement::Scan(open), first });
        Ok(())
    })
}

/// Ends the scan that has begun last, and adds the last values of its `states` carried ones, and the `count` outputs of all steps.
/// `next` has the carried values after a step, with the same dtypes and shapes, and `outputs` those that a step outputs.
///
/// # Safety
/// `next` is null or valid for `states` reads, `outputs` for `count`; `last` is null or valid for `states` writes, `results` for
/// `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_scan_end(
    handle: bl_builder,
    next: *const bl_value,
    states: usize,
    outputs: *const bl_value,
    count: usize,
    last: *mut bl_value,
    results: *mut bl_value,
) -> bl_status {
    answer(|| {
        // SAFETY: `many` accepts null; the safety section requires that any other `next` and `outputs` can be read.
        let (next, outputs) = unsafe {
            (
                many(next, states, "the pointer to the next state")?,
                many(outputs, count, "the pointer to the outputs")?,
            )
        };
        check_results(last, states, "the pointer to the last state")?;
        check_results(results, count, "the pointer to the results")?;
        let builder = builder(handle)?;
        let mut parts = builder.parts();
        let (next, outputs) = (builder.arrays(&parts, next)?, builder.arrays(&parts, outputs)?);
        let (open, first) = parts.loops.innermost_scan()?;
        let carried = open.states().len();
        if states != carried {
            let why = format!("the scan carries {carried} values, but got {states}");
            return Err(CallFailure::new(BL_ARITY, why));
        }
        let (made, all) = with_promotion(builder.options.promotion, || open.end(&next, &outputs))?;
        builder.check_room(&parts, states.saturating_add(count))?;
        let end = parts.values.len();
        // SAFETY: a scan has as many last states as carried ones, which are `states`, and as many results as outputs; their handles
        // can be written by the safety section.
        unsafe {
            add_all(&builder, &mut parts, made.into_iter(), last)?;
            add_all(&builder, &mut parts, all.into_iter(), results)?;
        }
        parts.loops.end(first..end);
        Ok(())
    })
}
