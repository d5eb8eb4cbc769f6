//! Derivatives of a builder's values.

use broadloom::gradients;

use crate::builder::{Builder, BuilderParts, add, bl_builder, bl_value};
use crate::status::{CallFailure, bl_status};

/// Adds the gradient of a value without axes with respect to another value, from which it was computed: an input, or any other
/// value of floats. The result has the dtype and shape of that value. Returns BL_SHAPE if `value` has axes; BL_DERIVATIVE for an
/// operation between them that has no derivative.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bl_builder_grad(
    handle: bl_builder,
    value: bl_value,
    argument: bl_value,
    out: *mut bl_value,
) -> bl_status {
    let make = |builder: &Builder, parts: &mut BuilderParts| {
        let operands = builder.arrays(parts, &[value, argument])?;
        let gradient = gradients::grad(&operands[0], &[&operands[1]])?.pop();
        gradient.ok_or_else(|| CallFailure::new(bl_status::BL_INTERNAL, "a gradient that was lost"))
    };
    // SAFETY: `add` has the same requirements on `out` as this function.
    unsafe { add(handle, out, make) }
}
