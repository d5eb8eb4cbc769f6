//! Derivatives of views and of joined arrays.
//!
//! The tangent of a view is the view of the tangent. The adjoint of a view moves elements back: an element that the view repeats
//! gets the canonical sum of its repetitions, and one that the view omits gets 0.

use broadloom_core::indices::{DynamicView, Indices};
use broadloom_core::padding::{Padding, steps};
use broadloom_core::{DType, Result, Scalar, Shape, View};
use broadloom_ir::Axes;
use smallvec::SmallVec;

use super::linear::{self, ranked, select, spread, summed_to, zero};
use crate::array::Array;
use crate::create::repeated;
use crate::expr;

/// The tangent of a view of an array with the tangent `v`.
pub(super) fn tangent<'a>(view: &View, v: &Array<'a>, arg: &Array<'a>) -> Result<Array<'a>> {
    match view {
        // A tangent broadcasts to its node anyway.
        View::BroadcastTo(_) => Ok(v.clone()),
        View::Permute(_) => expr::view(&ranked(v, arg.rank())?, view.clone()),
        _ => expr::view(&spread(v, arg)?, view.clone()),
    }
}

/// The tangent of a view that depends on extents.
pub(super) fn dynamic_tangent<'a>(view: &DynamicView, v: &Array<'a>, arg: &Array<'a>) -> Result<Array<'a>> {
    expr::dynamic_view(&spread(v, arg)?, view.name(), view.clone())
}

/// The adjoint of `arg`, of which `of` is the view, whose adjoint is `v`.
pub(super) fn adjoint<'a>(view: &View, v: &Array<'a>, of: &Array<'a>, arg: &Array<'a>) -> Result<Array<'a>> {
    match view {
        View::BroadcastTo(_) => summed_to(v, of, &arg.all_dims()),
        View::Permute(axes) => {
            let mut back: SmallVec<[u8; 4]> = SmallVec::from_elem(0, axes.len());
            axes.iter().enumerate().for_each(|(to, &from)| back[usize::from(from)] = to as u8);
            expr::view(&ranked(v, of.rank())?, View::Permute(back))
        }
        View::Reshape(_) => expr::view(&spread(v, of)?, View::Reshape(arg.0.shape.clone())),
        View::Slice(slices) => {
            let mut v = spread(v, of)?;
            for (axis, slice) in slices.iter().enumerate() {
                v = expr::padded(&v, steps(*slice, axis, &v.0.shape, arg.shape()[axis])?)?;
            }
            Ok(v)
        }
        View::Windows { axis, length, .. } => of_windows(&spread(v, of)?, usize::from(*axis), *length),
    }
}

/// The array with this number before and after its elements along an axis.
pub(super) fn filled<'a>(
    v: &Array<'a>,
    axis: usize,
    before: usize,
    after: usize,
    by: f64,
) -> Result<Array<'a>> {
    let by = linear::number(by, v.dtype());
    let mut parts = vec![v.clone()];
    for (at, len) in [(0, before), (1, after)] {
        let mut extents: SmallVec<[usize; 4]> = v.shape().into();
        extents[axis] = len;
        if len > 0 {
            let part = expr::view(&by, View::BroadcastTo(Shape::new(&extents)?))?;
            parts.insert(if at == 0 { 0 } else { parts.len() }, part);
        }
    }
    expr::concat("gradient", &parts, axis)
}

fn zeros<'a>(extents: &[usize], dtype: DType) -> Result<Array<'a>> {
    repeated(Scalar { dtype, bits: 0 }, extents)
}

/// The adjoint of an array of which windows were taken along an axis: for each element the canonical sum of the adjoints of its
/// occurrences, numbered in the order of the windows.
///
/// Row k of the summed array has the k-th occurrence of each element, or −0, which changes no sum. Element i occurs first in
/// window 0 if i is less than the length, and otherwise in window i − length + 1.
fn of_windows<'a>(v: &Array<'a>, axis: usize, length: usize) -> Result<Array<'a>> {
    let (windows, last) = (v.shape()[axis], v.rank() - 1);
    let mut rows = Vec::new();
    for k in 0..length.min(windows) {
        // Elements k, …, length − 2 at window k, and then the windows from k on at index length − 1 − k.
        let first = v.along(axis, k, 1, 1)?.along(last, 0, 1, length - 1 - k)?;
        let first = first.index_axis(axis as isize, 0)?;
        let mut order: Vec<isize> = (0..last as isize - 1).collect();
        order.insert(axis, last as isize - 1);
        let first = first.permute_dims(&order)?;
        let rest = v.along(axis, k, 1, windows - k)?.index_axis(-1, (length - 1 - k) as isize)?;
        let row = if length - 1 > k { expr::concat("gradient", &[first, rest], axis)? } else { rest };
        let row = filled(&row, axis, k, k, -0.0)?;
        rows.push(row.expand_dims(0)?);
    }
    if rows.is_empty() {
        let mut extents: SmallVec<[usize; 4]> = v.shape()[..last].into();
        extents[axis] = windows + length - 1;
        return zeros(&extents, v.dtype());
    }
    linear::sum(&expr::concat("gradient", &rows, 0)?, [0].into_iter().collect::<Axes>(), false)
}

/// The adjoint of `arg`, of which `of` is a view that depends on extents.
pub(super) fn dynamic_adjoint<'a>(
    view: &DynamicView,
    v: &Array<'a>,
    of: &Array<'a>,
    arg: &Array<'a>,
) -> Result<Array<'a>> {
    let DynamicView::Index { indices, .. } = view else {
        let DynamicView::NewAxis(behind) = view else { return Ok(v.clone()) };
        return ranked(v, of.rank())?.squeeze(-1 - *behind as isize);
    };
    // The adjoint of an axis that is reversed may still be repeated along it.
    let is_moved = |of_axis: &Indices| match *of_axis {
        Indices::ALL | Indices::Range { start: None, stop: None, step: -1 } | Indices::At(_) => false,
        Indices::Range { .. } => true,
    };
    let mut v = if indices.iter().any(is_moved) { spread(v, of)? } else { ranked(v, of.rank())? };
    // Where the elements at single indices are.
    let mut selected = Vec::new();
    // From the last axis on, so that the axes after an index are those of the operand.
    for (i, &of_axis) in indices.iter().enumerate().rev() {
        let from_end = i as isize - indices.len() as isize;
        match of_axis {
            Indices::ALL => {}
            Indices::Range { start: None, stop: None, step: -1 } => v = v.flip(from_end)?,
            Indices::At(index) => {
                let axis = arg.rank() - indices.len() + i;
                let number = expr::index(arg, [axis].into_iter().collect())?;
                let at = match index {
                    0.. => expr::constant(Scalar::of(index as i64)),
                    _ => {
                        let extent = expr::count(arg, [axis].into_iter().collect(), DType::Int64);
                        extent.try_add(index as i64)?
                    }
                };
                v = v.expand_dims(from_end)?;
                selected.push(number.try_equal(at)?);
            }
            Indices::Range { start, stop, step } => {
                let behind = (-1 - from_end) as u8;
                v = expr::pad_like(&v, arg, Padding { behind, start, stop, step })?;
            }
        }
    }
    selected.iter().try_fold(v, |v, is_there| select(is_there, &v, &zero(v.dtype())))
}

/// The adjoint of an array whose elements were moved back to the indices of a range, from the adjoint `v` of the result.
pub(super) fn unpadded<'a>(v: &Array<'a>, of: &Array<'a>, padding: Padding) -> Result<Array<'a>> {
    let mut indices: SmallVec<[Indices; 4]> = SmallVec::from_elem(Indices::ALL, of.rank());
    indices[of.rank() - 1 - usize::from(padding.behind)] = padding.indices();
    spread(v, of)?.indexed("gradient", indices, true)
}

/// The adjoints of arrays that are joined along an axis to one with the adjoint `v`.
pub(super) fn parts<'a>(
    v: &Array<'a>,
    of: &Array<'a>,
    args: &[Array<'a>],
    axis: usize,
) -> Result<Vec<Array<'a>>> {
    let v = spread(v, of)?;
    let mut start = 0;
    let part = |arg: &Array<'a>| {
        let len = arg.shape()[axis];
        start += len;
        v.along(axis, start - len, 1, len)
    };
    args.iter().map(part).collect()
}

/// The elements between two indices of an axis, as Python counts them.
pub(super) fn between<'a>(
    x: &Array<'a>,
    axis: usize,
    start: Option<isize>,
    stop: Option<isize>,
) -> Result<Array<'a>> {
    let mut indices: SmallVec<[Indices; 4]> = SmallVec::from_elem(Indices::ALL, x.rank());
    indices[axis] = Indices::Range { start, stop, step: 1 };
    x.indexed("gradient", indices, false)
}
