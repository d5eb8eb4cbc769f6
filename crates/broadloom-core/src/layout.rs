//! Strided layouts, and the views that change them without a copy.
//!
//! A [`Layout`] has a shape, strides and an offset, all in elements; a stride of 0 repeats, a negative one reverses.
//! The result of a [`View`] is a layout over the same memory, or `None` if no strides express it; every element of the
//! result is an element of the original.

use std::fmt;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::shape::Shape;

/// Strides in elements, outermost first.
pub type Strides = SmallVec<[isize; 4]>;

/// The offset of each element of an array, in elements from the start of its memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The extents.
    pub shape: Shape,
    /// The distance from one index to the next along each dimension, in elements.
    pub strides: Strides,
    /// The offset of the element at index 0 … 0.
    pub offset: isize,
}

/// Indices along one axis: `start`, `start + step`, and so on, `len` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first index.
    pub start: usize,
    /// The difference between successive indices; not 0 unless `len` is at most 1.
    pub step: isize,
    /// The number of indices.
    pub len: usize,
}

/// A change of shape that leaves all elements in place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Elements are repeated along new leading axes and along axes of extent 1.
    BroadcastTo(Shape),
    /// Axes are permuted: axis `i` of the result is axis `axes[i]` of the original.
    Permute(SmallVec<[u8; 4]>),
    /// Takes a slice along each axis.
    Slice(SmallVec<[Slice; 4]>),
    /// Gives another shape to the elements, in row-major order.
    Reshape(Shape),
    /// All runs of `length` adjacent elements along an axis, whose elements are along a new last axis.
    Windows {
        /// The axis, whose extent becomes the number of runs.
        axis: u8,
        /// The number of elements of a run.
        length: usize,
        /// The rank of the result, one more than that of the array.
        rank: u8,
    },
}

impl Layout {
    /// The row-major layout of this shape, without gaps.
    pub fn contiguous(shape: Shape) -> Layout {
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut step = 1isize;
        for (stride, &extent) in strides.iter_mut().zip(shape.iter()).rev() {
            *stride = step;
            step *= extent.max(1) as isize;
        }
        Layout { shape, strides, offset: 0 }
    }

    /// Whether elements are in row-major order without gaps (extents of 1 may have any stride).
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if extent != 1 && stride != step {
                return self.shape.elements() == 0;
            }
            step *= extent.max(1) as isize;
        }
        true
    }

    /// The lowest and the highest offset of an element, both inclusive.
    ///
    /// `None` for a layout without elements, and if the arithmetic overflows.
    pub fn reach(&self) -> Option<(isize, isize)> {
        if self.shape.elements() == 0 {
            return None;
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let span = stride.checked_mul(extent as isize - 1)?;
            let end = if span < 0 { &mut low } else { &mut high };
            *end = end.checked_add(span)?;
        }
        Some((low, high))
    }

    /// The layout of the view; `None` if strides can't express it, which only happens to [`View::Reshape`].
    pub fn view(&self, view: &View) -> Option<Layout> {
        match view {
            View::BroadcastTo(shape) => Some(self.broadcast_to(shape)),
            View::Permute(axes) => Some(Layout {
                shape: view.shape(&self.shape),
                strides: axes.iter().map(|&a| self.strides[a as usize]).collect(),
                offset: self.offset,
            }),
            View::Slice(slices) => {
                let shape = view.shape(&self.shape);
                if shape.elements() == 0 {
                    // The result has no elements. Its offset stays the same: if slices added their starts each time,
                    // the sum could overflow an isize.
                    return Some(Layout { offset: self.offset, ..Layout::contiguous(shape) });
                }
                let mut offset = self.offset;
                let mut strides = self.strides.clone();
                for (s, stride) in slices.iter().zip(&mut strides) {
                    offset += s.start as isize * *stride;
                    // A single index has no successor, and its slice may have any step.
                    *stride = if s.len > 1 { *stride * s.step } else { 0 };
                }
                Some(Layout { shape, strides, offset })
            }
            View::Reshape(shape) => self.reshape(shape),
            View::Windows { axis, .. } => {
                let shape = view.shape(&self.shape);
                if shape.elements() == 0 {
                    return Some(Layout { offset: self.offset, ..Layout::contiguous(shape) });
                }
                let mut strides = self.strides.clone();
                strides.push(strides[usize::from(*axis)]);
                Some(Layout { shape, strides, offset: self.offset })
            }
        }
    }

    fn broadcast_to(&self, shape: &Shape) -> Layout {
        let new = shape.rank() - self.shape.rank();
        let strides = (0..shape.rank())
            .map(|i| if i < new || self.shape[i - new] != shape[i] { 0 } else { self.strides[i - new] })
            .collect();
        Layout { shape: shape.clone(), strides, offset: self.offset }
    }

    /// Groups axes of both shapes so that the groups have equal products. If a group has several old axes, their
    /// strides must merge into one.
    fn reshape(&self, shape: &Shape) -> Option<Layout> {
        if self.shape.elements() == 0 {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(shape.clone()) });
        }
        let old: SmallVec<[(usize, isize); 4]> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(e, _)| e != 1).collect();
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            let (from_i, from_j) = (i, j);
            let (mut have, mut want) = (old[i].0, 1);
            i += 1;
            while want != have {
                if want < have {
                    want *= shape[j];
                    j += 1;
                } else {
                    have *= old[i].0;
                    i += 1;
                }
            }
            let group = &old[from_i..i];
            if group.windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as isize) {
                return None;
            }
            let mut step = group[group.len() - 1].1;
            for axis in (from_j..j).rev() {
                strides[axis] = step;
                step *= shape[axis] as isize;
            }
        }
        Some(Layout { shape: shape.clone(), strides, offset: self.offset })
    }
}

impl View {
    /// The rank of the result of the view.
    pub fn rank(&self) -> usize {
        match self {
            View::BroadcastTo(shape) | View::Reshape(shape) => shape.rank(),
            View::Permute(axes) => axes.len(),
            View::Slice(slices) => slices.len(),
            View::Windows { rank, .. } => usize::from(*rank),
        }
    }

    /// The shape of the view of an array with the shape `of`.
    pub fn shape(&self, of: &Shape) -> Shape {
        let extents: SmallVec<[usize; 4]> = match self {
            View::BroadcastTo(shape) | View::Reshape(shape) => return shape.clone(),
            View::Permute(axes) => axes.iter().map(|&a| of[a as usize]).collect(),
            View::Slice(slices) => slices.iter().map(|s| s.len).collect(),
            View::Windows { axis, length, .. } => {
                let mut extents: SmallVec<[usize; 4]> = of[..].into();
                extents[usize::from(*axis)] = (of[usize::from(*axis)] + 1).saturating_sub(*length);
                extents.push(*length);
                extents
            }
        };
        Shape::new(&extents).unwrap_or_default()
    }

    /// Checks that the view applies to an array of the shape `of`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`], naming the view, the shape and the axis.
    pub fn check(&self, of: &Shape) -> Result<()> {
        let fail = |why: String| Err(Error::new(ErrorKind::Shape, why));
        match self {
            View::BroadcastTo(shape) => {
                let fits = shape.rank() >= of.rank()
                    && of.iter().rev().zip(shape.iter().rev()).all(|(&a, &b)| a == b || a == 1);
                if fits { Ok(()) } else { fail(format!("broadcast_to: {of} does not broadcast to {shape}")) }
            }
            View::Permute(axes) => {
                let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, of.rank());
                for &a in axes {
                    match seen.get_mut(a as usize) {
                        Some(seen) if !*seen => *seen = true,
                        _ => {
                            return fail(format!(
                                "permute_dims: {axes:?} is not a permutation of the axes of {of}"
                            ));
                        }
                    }
                }
                if axes.len() == of.rank() {
                    Ok(())
                } else {
                    fail(format!("permute_dims: {} axes for {of}, which has {}", axes.len(), of.rank()))
                }
            }
            View::Slice(slices) => {
                if slices.len() != of.rank() {
                    return fail(format!(
                        "slice: {} slices for {of}, which has {} axes",
                        slices.len(),
                        of.rank()
                    ));
                }
                for (axis, (s, &extent)) in slices.iter().zip(of.iter()).enumerate() {
                    let last = (s.len as isize - 1)
                        .checked_mul(s.step)
                        .and_then(|span| span.checked_add_unsigned(s.start))
                        .filter(|&last| {
                            s.len == 0 || s.start < extent && last >= 0 && (last as usize) < extent
                        });
                    if last.is_none() {
                        return fail(format!("slice: axis {axis} of {of} has no {s}"));
                    }
                }
                Ok(())
            }
            View::Windows { axis, length, rank } => {
                let extent = of.get(usize::from(*axis)).filter(|_| usize::from(*rank) == of.rank() + 1);
                let Some(&extent) = extent else {
                    return fail(format!("sliding_window: {of} has no axis {axis}"));
                };
                if *length > extent {
                    return fail(format!(
                        "sliding_window: axis {axis} of {of} has no {length} adjacent elements"
                    ));
                }
                let mut extents: SmallVec<[usize; 4]> = of[..].into();
                extents[usize::from(*axis)] = extent + 1 - length;
                extents.push(*length);
                Shape::new(&extents).map(|_| ())
            }
            View::Reshape(shape) => {
                if shape.elements() == of.elements() {
                    Ok(())
                } else {
                    fail(format!(
                        "reshape: {of} has {} elements, {shape} {}",
                        of.elements(),
                        shape.elements()
                    ))
                }
            }
        }
    }

    /// Whether the view of an array of this shape is the array itself.
    pub fn changes_nothing(&self, of: &Shape) -> bool {
        match self {
            View::BroadcastTo(shape) | View::Reshape(shape) => shape == of,
            View::Permute(axes) => axes.iter().enumerate().all(|(i, &axis)| i == axis as usize),
            View::Windows { .. } => false,
            View::Slice(slices) => {
                let is_whole =
                    |(s, &n): (&Slice, &usize)| s.len == n && (n <= 1 || s.start == 0 && s.step == 1);
                slices.iter().zip(of.iter()).all(is_whole)
            }
        }
    }

    /// Whether a reshape joins axes of extents above 1, so that strides may fail to express it.
    pub fn merges_axes(&self, of: &Shape) -> bool {
        let View::Reshape(shape) = self else { return false };
        // These strides never merge, so that the layout can be reshaped if and only if no axes are joined.
        let apart: Strides = (0..of.rank()).map(|i| 3 + 2 * i as isize).collect();
        of.elements() != 0 && Layout { shape: of.clone(), strides: apart, offset: 0 }.reshape(shape).is_none()
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.start as isize + self.step * self.len as isize;
        match self.step {
            1 => write!(f, "{}:{end}", self.start),
            // The end is omitted if it is before the first element, since a negative number would count from the end.
            step if end < 0 => write!(f, "{}::{step}", self.start),
            step => write!(f, "{}:{end}:{step}", self.start),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            View::BroadcastTo(shape) => write!(f, "broadcast_to {shape}"),
            View::Permute(axes) => write!(f, "permute_dims {axes:?}"),
            View::Slice(slices) => {
                let shown: Vec<String> = slices.iter().map(Slice::to_string).collect();
                write!(f, "slice [{}]", shown.join(", "))
            }
            View::Reshape(shape) => write!(f, "reshape {shape}"),
            View::Windows { axis, length, .. } => write!(f, "sliding_window of {length} along axis {axis}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn shape(extents: &[usize]) -> Shape {
        Shape::new(extents).expect("small")
    }

    fn strides(l: &Layout) -> Vec<isize> {
        l.strides.to_vec()
    }

    #[test]
    fn reshape_where_strides_allow() {
        let whole = Layout::contiguous(shape(&[4, 6]));
        assert_eq!(strides(&whole.view(&View::Reshape(shape(&[2, 12]))).unwrap()), [12, 1]);
        let turned = whole.view(&View::Permute(smallvec![1, 0])).unwrap();
        assert_eq!(strides(&turned), [1, 6]);
        assert_eq!(turned.view(&View::Reshape(shape(&[24]))), None);
        let split = turned.view(&View::Reshape(shape(&[2, 3, 1, 4]))).unwrap();
        assert_eq!(strides(&split), [3, 1, 24, 6]);
        let empty = Layout::contiguous(shape(&[0, 6])).view(&View::Reshape(shape(&[3, 0])));
        assert!(empty.is_some());
        assert!(View::Reshape(shape(&[24])).merges_axes(&shape(&[4, 6])));
        assert!(!View::Reshape(shape(&[2, 2, 1, 6])).merges_axes(&shape(&[4, 6])));
        assert!(!View::Reshape(shape(&[6])).merges_axes(&shape(&[1, 6, 1])));
    }

    #[test]
    fn slices_reach_only_their_elements() {
        let l = Layout::contiguous(shape(&[5]));
        let back = View::Slice(smallvec![Slice { start: 4, step: -2, len: 3 }]);
        assert!(back.check(&l.shape).is_ok());
        let l = l.view(&back).unwrap();
        assert_eq!((l.offset, strides(&l), l.reach()), (4, vec![-2], Some((0, 4))));
        for bad in [Slice { start: 4, step: -2, len: 4 }, Slice { start: 5, step: 1, len: 1 }] {
            assert!(View::Slice(smallvec![bad]).check(&shape(&[5])).is_err(), "{bad}");
        }
        assert!(View::Slice(smallvec![Slice { start: 9, step: 1, len: 0 }]).check(&shape(&[5])).is_ok());
    }

    #[test]
    fn broadcasting_repeats() {
        let l = Layout::contiguous(shape(&[3, 1])).view(&View::BroadcastTo(shape(&[2, 3, 4]))).unwrap();
        assert_eq!(strides(&l), [0, 1, 0]);
        assert!(View::BroadcastTo(shape(&[3])).check(&shape(&[3, 1])).is_err());
    }
}
