//! Joined, shifted and padded arrays, and windows.

use broadloom::{Array, PadMode, Result, concat as concat_all};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::{About, OrRaise};
use crate::handle::{Handle, operand};
use crate::origin::HandleOperand;

/// The result of a function of operands, in which the handle of an operand may be a number.
fn made(
    operation: &str,
    operands: &[Bound<'_, PyAny>],
    axis: Option<isize>,
    make: impl FnOnce(&[Array<'static>]) -> Result<Array<'static>>,
) -> PyResult<Handle> {
    let given: SmallVec<[HandleOperand; 3]> = operands.iter().map(operand).collect::<PyResult<_>>()?;
    Handle::of_operands(None, given, |arrays| {
        let about = About {
            operation: Some(operation),
            operands: arrays,
            axes: axis.as_ref().map(std::slice::from_ref),
        };
        make(arrays).or_raise_about(&about)
    })
}

/// Arrays of one dtype, joined along an axis. `function` is the name in errors.
#[pyfunction]
pub fn concat(function: &str, arrays: Vec<Bound<'_, PyAny>>, axis: isize) -> PyResult<Handle> {
    made(function, &arrays, Some(axis), |arrays| concat_all(arrays, axis))
}

/// The elements moved by a number of indices along an axis, in a circle.
#[pyfunction]
pub fn roll(x: &Bound<'_, PyAny>, shift: isize, axis: isize) -> PyResult<Handle> {
    made("roll", std::slice::from_ref(x), Some(axis), |arrays| arrays[0].roll(shift, axis))
}

/// The array with as many elements before and after those along each axis as `widths` says. The value is for the mode
/// "constant".
#[pyfunction]
pub fn pad(
    x: Bound<'_, PyAny>,
    widths: Vec<(usize, usize)>,
    mode: &str,
    value: Bound<'_, PyAny>,
) -> PyResult<Handle> {
    let mode: PadMode = mode.parse().or_raise()?;
    made("pad", &[x, value], None, |arrays| match mode {
        PadMode::Constant => arrays[0].pad_with(&widths, &arrays[1]),
        _ => arrays[0].pad(&widths, mode),
    })
}

/// All runs of adjacent elements of an axis, along a new last axis.
#[pyfunction]
pub fn sliding_window(x: &Bound<'_, PyAny>, length: usize, axis: isize) -> PyResult<Handle> {
    made("sliding_window", std::slice::from_ref(x), Some(axis), |arrays| {
        arrays[0].sliding_window(length, axis)
    })
}
