//! Elements at computed indices.

use broadloom::{Array, IndexMode, Result};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error::{About, OrRaise};
use crate::handle::{Handle, operand};
use crate::origin::{self, HandleOperand};

/// The result of a function of an array and arrays of indices.
fn taken(
    operation: &str,
    x: &Handle,
    indices: &[Bound<'_, PyAny>],
    axis: Option<isize>,
    make: impl FnOnce(&[Array<'static>]) -> Result<Array<'static>>,
) -> PyResult<Handle> {
    let mut given: SmallVec<[HandleOperand; 3]> = SmallVec::new();
    given.push(x.operand());
    for index in indices {
        given.push(operand(index)?);
    }
    // The elements are those of the array, so the indices have no influence on how its dtype promotes.
    let (by_numpy, depth) = (given[0].by_numpy, given.iter().map(|operand| operand.depth).max().unwrap_or(0));
    let (arrays, origin) = origin::operands(None, given)?;
    let about = About {
        operation: Some(operation),
        operands: &arrays,
        axes: axis.as_ref().map(std::slice::from_ref),
    };
    let array = make(&arrays).or_raise_about(&about)?;
    Ok(Handle { array, depth: depth.saturating_add(1), origin, by_numpy })
}

/// The elements at indices of an axis. The mode is "raise", "clip" or "wrap".
#[pyfunction]
pub fn take(x: &Handle, indices: &Bound<'_, PyAny>, axis: isize, mode: &str) -> PyResult<Handle> {
    let mode: IndexMode = mode.parse().or_raise()?;
    let indices = std::slice::from_ref(indices);
    taken("take", x, indices, Some(axis), |arrays| arrays[0].take_by(&arrays[1], axis, mode))
}

/// The elements at indices along an axis, of which each row has its own.
#[pyfunction]
pub fn take_along_axis(x: &Handle, indices: &Bound<'_, PyAny>, axis: isize) -> PyResult<Handle> {
    let indices = std::slice::from_ref(indices);
    let make = |arrays: &[Array<'static>]| arrays[0].take_along_axis(&arrays[1], axis);
    taken("take_along_axis", x, indices, Some(axis), make)
}

/// The elements at tuples of indices of adjacent axes, beginning with `axis`.
#[pyfunction]
pub fn gather(x: &Handle, indices: Vec<Bound<'_, PyAny>>, axis: isize) -> PyResult<Handle> {
    taken("getitem", x, &indices, None, |arrays| arrays[0].gather(&arrays[1..], axis))
}
