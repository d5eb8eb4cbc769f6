//! Indices along axes as they are written, with bounds that may count from the end, and the views that they select.
//!
//! [`Indices`] become a [`Slice`] once the extent of their axis is known. If an array's extents are known only when a kernel is
//! bound, its indices are kept in a [`DynamicView`], which is resolved then; before, each extent of the result is a [`Dim`] that
//! is computed from the array's.

use std::fmt;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Slice, View};
use crate::shape::Shape;
use crate::symbol::{Dim, Dims};

/// Indices along one axis, with Python's rules: they may count from the end, and the bounds of a range are clamped to the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indices {
    /// One index, which must be in range. The result lacks the axis.
    At(isize),
    /// `start:stop:step`. Without `start` or `stop`, the range extends to that end of the axis.
    Range {
        /// The first index.
        start: Option<isize>,
        /// The index to stop before.
        stop: Option<isize>,
        /// The difference between successive indices.
        step: isize,
    },
}

/// A position between elements, counted from the start or the end of an axis.
#[derive(Clone, Copy)]
enum Bound {
    FromStart(usize),
    FromEnd(usize),
}

impl Indices {
    /// All of an axis.
    pub const ALL: Indices = Indices::Range { start: None, stop: None, step: 1 };

    /// The indices of a range on an axis of this extent; `None` for a step of 0.
    fn on(start: Option<isize>, stop: Option<isize>, step: isize, extent: usize) -> Option<Slice> {
        let n = extent as isize;
        let backwards = step < 0;
        // A backwards range stops before index −1.
        let (low, high) = if backwards { (-1, n - 1) } else { (0, n) };
        let bound = |x: isize| (if x < 0 { x.saturating_add(n) } else { x }).clamp(low, high);
        let (first, last) = if backwards { (high, low) } else { (low, high) };
        let start = start.map_or(first, bound);
        let stop = stop.map_or(last, bound);
        let len = match step {
            0 => return None,
            step if backwards => (start - stop).max(0).unsigned_abs().div_ceil(step.unsigned_abs()),
            step => (stop - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()),
        };
        Some(match len {
            // With at most one index any step is valid, and 1 can't overflow a stride.
            0 => Slice { start: 0, step: 1, len },
            1 => Slice { start: start as usize, step: 1, len },
            _ => Slice { start: start as usize, step, len },
        })
    }

    /// The slice of an axis of a shape.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the function, for a step of 0, and for an index that is out of range.
    pub fn slice(self, function: &str, axis: usize, of: &Shape) -> Result<Slice> {
        let fail = |why: String| Error::new(ErrorKind::Shape, format!("{function}: {why}"));
        match self {
            Indices::Range { start, stop, step } => Indices::on(start, stop, step, of[axis])
                .ok_or_else(|| fail(format!("the step along axis {axis} of {of} is 0"))),
            Indices::At(index) => {
                let counted = if index < 0 { index.checked_add_unsigned(of[axis]) } else { Some(index) };
                let start = counted.and_then(|i| usize::try_from(i).ok()).filter(|&i| i < of[axis]);
                // Brackets are reported as the function `index`, so the word is not repeated.
                let noun = if function == "index" { "" } else { "index " };
                let outside = || fail(format!("{noun}{index} is out of range for axis {axis} of {of}"));
                Ok(Slice { start: start.ok_or_else(outside)?, step: 1, len: 1 })
            }
        }
    }

    /// The number of indices on an axis with the extent `dim`; 1 for a single index.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the function, for a step of 0, and for a range of an open extent whose lower bound counts from
    /// the end of the axis and whose upper bound counts from its start: its extent has no form that [`Dim`] can express.
    pub(crate) fn extent(self, function: &str, axis: usize, of: &Dims, dim: &Dim) -> Result<Dim> {
        let fail = |why: String| Error::new(ErrorKind::Shape, format!("{function}: {why}"));
        let Indices::Range { start, stop, step } = self else { return Ok(Dim::Fixed(1)) };
        if let Dim::Fixed(extent) = *dim
            && let Some(slice) = Indices::on(start, stop, step, extent)
        {
            return Ok(Dim::Fixed(slice.len));
        }
        let count = |bound: isize| match usize::try_from(bound) {
            Ok(bound) => Bound::FromStart(bound),
            Err(_) => Bound::FromEnd(bound.unsigned_abs()),
        };
        // A backwards range has the indices of a forward range whose bounds are one position further.
        let behind = |bound: isize| match count(bound) {
            Bound::FromStart(bound) => Bound::FromStart(bound.saturating_add(1)),
            Bound::FromEnd(bound) => Bound::FromEnd(bound - 1),
        };
        let (start_of_axis, end_of_axis) = (Bound::FromStart(0), Bound::FromEnd(0));
        let (low, high) = match step {
            0 => return Err(fail(format!("the step along axis {axis} of {of} is 0"))),
            1.. => (start.map_or(start_of_axis, count), stop.map_or(end_of_axis, count)),
            _ => (stop.map_or(start_of_axis, behind), start.map_or(end_of_axis, behind)),
        };
        let extent = match (low, high) {
            (Bound::FromStart(low), Bound::FromStart(high)) => {
                dim.less(low).and_then(|left| left.at_most(high.saturating_sub(low)))
            }
            (Bound::FromStart(low), Bound::FromEnd(high)) => dim.less(low.saturating_add(high)),
            (Bound::FromEnd(low), Bound::FromEnd(high)) => {
                dim.less(high).and_then(|left| left.at_most(low.saturating_sub(high)))
            }
            // A range that stops at the start of the axis or starts at its end is empty.
            (Bound::FromEnd(0), Bound::FromStart(_)) | (_, Bound::FromStart(0)) => dim.at_most(0),
            (Bound::FromEnd(_), Bound::FromStart(_)) => {
                let why = format!("the extent of {self} along axis {axis} of {of} has no simple form");
                return Err(
                    fail(why).with_help("count both bounds from one end of the axis, or fix the extent")
                );
            }
        };
        let extent = extent.and_then(|extent| extent.every(step.unsigned_abs()));
        extent.ok_or_else(|| fail(format!("the rank of {of} is open")))
    }

    /// Whether the indices are the whole axis, in order.
    fn is_all(self) -> bool {
        self == Indices::ALL
    }
}

/// A view of an array whose extents are known when a kernel is bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DynamicView {
    /// Indices for each axis.
    Index {
        /// The indices.
        indices: SmallVec<[Indices; 4]>,
        /// Whether the indices are for the last axes, with any number of unchanged axes before these.
        has_rest: bool,
    },
    /// A new axis of extent 1, with this number of axes after it.
    NewAxis(u8),
}

impl DynamicView {
    /// The name of the function in the text language.
    pub fn name(&self) -> &'static str {
        match self {
            DynamicView::Index { .. } => "index",
            DynamicView::NewAxis(_) => "expand_dims",
        }
    }

    /// Whether the view of every array is the array itself.
    pub fn changes_nothing(&self) -> bool {
        match self {
            DynamicView::Index { indices, .. } => indices.iter().all(|indices| indices.is_all()),
            DynamicView::NewAxis(_) => false,
        }
    }

    /// The number of axes that the view mentions: the axes with indices, or the new axis and the axes after it.
    pub fn rank(&self) -> usize {
        match self {
            DynamicView::Index { indices, .. } => indices.len(),
            DynamicView::NewAxis(behind) => usize::from(*behind) + 1,
        }
    }

    /// The dims of the view of an array with the dims `of`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the function, for a step of 0, for too few axes, and for an extent that no [`Dim`] can
    /// express; [`ErrorKind::Limit`] for too high a rank.
    pub fn dims(&self, function: &str, of: &Dims) -> Result<Dims> {
        let fail = || Error::new(ErrorKind::Shape, format!("{function}: the rank of {of} is open"));
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
        match self {
            DynamicView::Index { indices, .. } => {
                let before = of.len().checked_sub(indices.len()).ok_or_else(fail)?;
                dims.extend(of[..before].iter().cloned());
                for (axis, (indices, dim)) in indices.iter().zip(&of[before..]).enumerate() {
                    let extent = if indices.is_all() {
                        dim.clone()
                    } else {
                        indices.extent(function, axis + before, of, dim)?
                    };
                    dims.extend(Some(extent).filter(|_| !matches!(indices, Indices::At(_))));
                }
            }
            DynamicView::NewAxis(behind) => {
                let at = of.len().checked_sub(usize::from(*behind)).ok_or_else(fail)?;
                dims.extend(of[..at].iter().cloned().chain([Dim::Fixed(1)]).chain(of[at..].iter().cloned()));
            }
        }
        Dims::new(&dims)
    }

    /// The views to apply, one after the other, to an array with the shape `of`: at most a slice and a reshape.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the function, for an index that is out of range, a step of 0, and for too few axes;
    /// [`ErrorKind::Limit`] for too high a rank.
    pub fn resolve(&self, function: &str, of: &Shape) -> Result<SmallVec<[View; 2]>> {
        let mut views = SmallVec::new();
        let needed = match self {
            DynamicView::Index { indices, .. } => indices.len(),
            DynamicView::NewAxis(behind) => usize::from(*behind),
        };
        let fail = || {
            let why = format!("{function}: {of} has rank {}, at least {needed} is needed", of.rank());
            Error::new(ErrorKind::Shape, why)
        };
        match self {
            DynamicView::Index { indices, .. } => {
                let before = of.rank().checked_sub(indices.len()).ok_or_else(fail)?;
                let of_axes = || std::iter::repeat_n(&Indices::ALL, before).chain(indices);
                let slices = of_axes().enumerate().map(|(axis, indices)| indices.slice(function, axis, of));
                let slices = View::Slice(slices.collect::<Result<_>>()?);
                let sliced = slices.shape(of);
                views.extend(Some(slices).filter(|slices| !slices.changes_nothing(of)));
                let kept =
                    of_axes().zip(sliced.iter()).filter(|(indices, _)| !matches!(indices, Indices::At(_)));
                let kept: SmallVec<[usize; 4]> = kept.map(|(_, extent)| *extent).collect();
                if kept.len() < sliced.rank() {
                    views.push(View::Reshape(Shape::new(&kept)?));
                }
            }
            DynamicView::NewAxis(behind) => {
                let mut extents: SmallVec<[usize; 4]> = of[..].into();
                extents.insert(of.rank().checked_sub(usize::from(*behind)).ok_or_else(fail)?, 1);
                views.push(View::Reshape(Shape::new(&extents)?));
            }
        }
        Ok(views)
    }
}

impl fmt::Display for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Indices::At(index) => write!(f, "{index}"),
            Indices::Range { start, stop, step } => {
                start.map_or(Ok(()), |start| write!(f, "{start}"))?;
                f.write_str(":")?;
                stop.map_or(Ok(()), |stop| write!(f, "{stop}"))?;
                if *step == 1 { Ok(()) } else { write!(f, ":{step}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Binding;

    /// The indices of a range, computed one by one as Python's `slice.indices` defines them.
    fn model(start: Option<isize>, stop: Option<isize>, step: isize, n: isize) -> Vec<isize> {
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let cut = |x: isize| if x < 0 { (x + n).max(low) } else { x.min(high) };
        let start = start.map_or(if step > 0 { low } else { high }, cut);
        let stop = stop.map_or(if step > 0 { high } else { low }, cut);
        let mut out = Vec::new();
        let mut i = start;
        while if step > 0 { i < stop } else { i > stop } {
            out.push(i);
            i += step;
        }
        out
    }

    #[test]
    fn ranges_are_pythons() {
        let bounds: Vec<Option<isize>> = (-7..=7).map(Some).chain([None]).collect();
        for n in 0..=5 {
            for &start in &bounds {
                for &stop in &bounds {
                    for step in [-6, -3, -2, -1, 1, 2, 3, 6] {
                        let s = Indices::on(start, stop, step, n).expect("a step");
                        let got: Vec<isize> =
                            (0..s.len as isize).map(|i| s.start as isize + i * s.step).collect();
                        let indices = Indices::Range { start, stop, step };
                        assert_eq!(got, model(start, stop, step, n as isize), "{indices} on {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_bounds_do_not_overflow() {
        for (start, stop, step, len) in [
            (Some(isize::MIN), Some(isize::MAX), isize::MAX, 1),
            (Some(isize::MAX), Some(isize::MIN), isize::MIN, 1),
            (None, None, -1, 4),
        ] {
            assert_eq!(Indices::on(start, stop, step, 4).map(|s| s.len), Some(len));
        }
        let of = Dims::new(&[Dim::from("n")]).expect("a name");
        let ends = [Some(isize::MIN), Some(-1), Some(0), Some(isize::MAX), None];
        for (start, stop) in ends.iter().flat_map(|&start| ends.map(|stop| (start, stop))) {
            for step in [isize::MIN, -1, 1, isize::MAX] {
                let indices = Indices::Range { start, stop, step };
                let Ok(extent) = indices.extent("slice", 0, &of, &of[0]) else { continue };
                let mut binding = Binding::default();
                binding.meet(&of, &[4]).expect("an extent");
                let len = Indices::on(start, stop, step, 4).map(|slice| slice.len);
                assert_eq!(binding.extent(&extent).ok(), len, "{indices}");
            }
        }
        assert_eq!(Indices::on(None, None, 0, 4), None);
    }

    /// For small bounds and axes, the symbolic extent of a range is equal to the length of its slice.
    #[test]
    fn extents_are_those_of_slices() -> Result<()> {
        let n = Dims::new(&[Dim::from("n")])?;
        let bounds: Vec<Option<isize>> = (-5..=5).map(Some).chain([None]).collect();
        let (mut simple, mut others) = (0, 0);
        for (&start, &stop) in bounds.iter().flat_map(|start| bounds.iter().map(move |stop| (start, stop))) {
            for step in [-3, -2, -1, 1, 2, 3] {
                let indices = Indices::Range { start, stop, step };
                let extent = match indices.extent("slice", 0, &n, &n[0]) {
                    Ok(extent) => extent,
                    Err(error) => {
                        assert!(error.message().ends_with("has no simple form"), "{error}");
                        let (low, high) = if step > 0 { (start, stop) } else { (stop, start) };
                        assert!(low.is_some_and(|low| low < 0) && high.is_some_and(|high| high >= 0));
                        others += 1;
                        continue;
                    }
                };
                simple += 1;
                for len in 0..=12 {
                    let shape = Shape::new(&[len])?;
                    let mut binding = Binding::default();
                    binding.meet(&n, &shape)?;
                    let slice = indices.slice("slice", 0, &shape)?;
                    assert_eq!(binding.extent(&extent)?, slice.len, "{indices} of {len}: {extent}");
                }
            }
        }
        assert_eq!((simple, others), (12 * 12 * 6 - others, 147));
        Ok(())
    }

    #[test]
    fn views_of_open_extents_are_those_of_known_ones() -> Result<()> {
        let range = |start, stop| Indices::Range { start, stop, step: 1 };
        let index = |indices: &[Indices], has_rest| DynamicView::Index { indices: indices.into(), has_rest };
        for (view, dims, result, shape, views) in [
            (
                index(&[range(Some(1), None), Indices::At(-1)], false),
                &["n", "m"][..],
                "[n - 1]",
                &[4, 5][..],
                "[slice [1:4, 4:5], reshape [3]]",
            ),
            (index(&[range(None, Some(9))], false), &["n"], "[min(n, 9)]", &[4], "[]"),
            (
                index(&[range(None, Some(2))], true),
                &["...", "n"],
                "[...,min(n, 2)]",
                &[7, 4],
                "[slice [0:7, 0:2]]",
            ),
            (DynamicView::NewAxis(1), &["n", "3"], "[n,1,3]", &[4, 3], "[reshape [4,1,3]]"),
            (DynamicView::NewAxis(0), &["..."], "[...,1]", &[4, 3], "[reshape [4,3,1]]"),
        ] {
            let dims = Dims::new(&dims.iter().map(|&dim| dim.into()).collect::<Vec<_>>())?;
            assert_eq!(view.dims("index", &dims)?.to_string(), result);
            let shown: Vec<String> =
                view.resolve("index", &Shape::new(shape)?)?.iter().map(View::to_string).collect();
            assert_eq!(format!("[{}]", shown.join(", ")), views);
        }
        let beyond = index(&[Indices::At(4)], false).resolve("index", &Shape::new(&[4])?);
        let message = beyond.map_err(|error| error.message().to_owned());
        assert_eq!(message, Err("index: 4 is out of range for axis 0 of [4]".to_owned()));
        Ok(())
    }
}
