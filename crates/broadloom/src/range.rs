//! Ranges of indices with the meaning of Python's slices: start, stop and step may each be omitted, and bounds may count from the
//! end. As in Python's `slice.indices`, no bound is out of range, and only a step of 0 is an error.
//!
//! Rust's own ranges of any integer type convert to such ranges, and an integer is an index, whose axis is removed; [`IntoRanges`]
//! is the argument for several axes.

use broadloom_core::layout::Slice;
use smallvec::SmallVec;

/// Indices along one axis: either `start:stop:step` as in Python, or a single index ([`Range::at`]), which removes the axis.
///
/// Negative bounds count from the end, bounds beyond the axis are clamped, and a negative step reverses the order.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![0, 1, 2, 3, 4]);
/// assert_eq!(x.slice(1..-1)?.to_vec::<i32>()?, [1, 2, 3]);
/// assert_eq!(x.slice(Range::new(None, None, -2))?.to_vec::<i32>()?, [4, 2, 0]);
/// assert_eq!(x.slice(Range::from(1..).step(3))?.to_vec::<i32>()?, [1, 4]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    /// Whether this is only the index `start`, which removes the axis.
    is_index: bool,
}

impl Range {
    /// The range `start:stop:step`. A bound that is `None` is the end of the axis where the steps begin or end.
    pub fn new(start: Option<isize>, stop: Option<isize>, step: isize) -> Range {
        Range { start, stop, step, is_index: false }
    }

    /// A single index, which must exist on the axis; a negative index counts from the end. The result lacks the axis.
    pub fn at(index: isize) -> Range {
        Range { start: Some(index), stop: None, step: 1, is_index: true }
    }

    /// This range with another step. A single index is unchanged.
    pub fn step(self, step: isize) -> Range {
        if self.is_index { self } else { Range { step, ..self } }
    }

    /// The index, if this is a single index.
    pub(crate) fn index(self) -> Option<isize> {
        self.start.filter(|_| self.is_index)
    }

    /// The indices on an axis of this extent; `None` for a step of 0.
    pub(crate) fn on(self, extent: usize) -> Option<Slice> {
        let n = extent as isize;
        let backwards = self.step < 0;
        // A backward range stops before index −1.
        let (low, high) = if backwards { (-1, n - 1) } else { (0, n) };
        let bound = |x: isize| (if x < 0 { x.saturating_add(n) } else { x }).clamp(low, high);
        let (first, last) = if backwards { (high, low) } else { (low, high) };
        let start = self.start.map_or(first, bound);
        let stop = self.stop.map_or(last, bound);
        let len = match self.step {
            0 => return None,
            step if backwards => (start - stop).max(0).unsigned_abs().div_ceil(step.unsigned_abs()),
            step => (stop - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs()),
        };
        Some(match len {
            // Any step is valid, and 1 can't overflow a stride.
            0 => Slice { start: 0, step: 1, len },
            1 => Slice { start: start as usize, step: 1, len },
            _ => Slice { start: start as usize, step: self.step, len },
        })
    }
}

/// An integer of any Rust type as a bound or an index. A value that does not fit in `isize` is beyond any axis.
pub trait Bound: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn bound(self) -> isize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! bounds {
    ($($t:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Bound for $t {
            fn bound(self) -> isize {
                // A value that does not fit is replaced by the maximum, or by the minimum if it is negative.
                #[allow(unused_comparisons)]
                isize::try_from(self).unwrap_or(if self < 0 { isize::MIN } else { isize::MAX })
            }
        }
    )*};
}
bounds! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

/// The exclusive bound after a last index; `None` after the last index of an axis.
fn behind(last: isize) -> Option<isize> {
    if last == -1 { None } else { Some(last.saturating_add(1)) }
}

impl<I: Bound> From<I> for Range {
    fn from(index: I) -> Range {
        Range::at(index.bound())
    }
}

macro_rules! ranges {
    ($($range:ty, $r:ident => $start:expr, $stop:expr;)*) => {$(
        impl<I: Bound> From<$range> for Range {
            fn from($r: $range) -> Range {
                Range::new($start, $stop, 1)
            }
        }

        impl<I: Bound> IntoRanges for $range {
            fn into_ranges(self) -> Ranges {
                Ranges::from_iter([self])
            }
        }
    )*};
}
ranges! {
    std::ops::Range<I>, r => Some(r.start.bound()), Some(r.end.bound());
    std::ops::RangeFrom<I>, r => Some(r.start.bound()), None;
    std::ops::RangeTo<I>, r => None, Some(r.end.bound());
    std::ops::RangeInclusive<I>, r => Some(r.start().bound()), behind(r.end().bound());
    std::ops::RangeToInclusive<I>, r => None, behind(r.end.bound());
}

impl From<std::ops::RangeFull> for Range {
    fn from(_: std::ops::RangeFull) -> Range {
        Range::new(None, None, 1)
    }
}

/// The argument of [`Array::slice`](crate::Array::slice): a range or an index for each axis from the first on, in a tuple, an array
/// or a slice, or a single one for the first axis.
///
/// Ranges are Rust's, of integers of any type, or [`Range`]s, which may have steps.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.slice(1..)?.shape(), [1, 3]);
/// assert_eq!(x.slice((.., 1..=-1))?.to_vec::<i32>()?, [2, 3, 5, 6]);
/// assert_eq!(x.slice((-1, ..2))?.to_vec::<i32>()?, [4, 5], "without the first axis");
/// assert_eq!(x.slice([0, 2])?.item::<i32>()?, 3);
/// let mirrored = [Range::from(..), Range::from(..).step(-1)];
/// assert_eq!(x.slice(&mirrored)?.to_vec::<i32>()?, [3, 2, 1, 6, 5, 4]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range, an index, or a list of them",
    note = "write a tuple with one for each axis: `x.slice((1.., ..-1, 0))`"
)]
pub trait IntoRanges {
    /// The ranges, for the axes from the first on.
    fn into_ranges(self) -> Ranges;
}

/// Ranges for the axes of an array, from the first on: the result of [`IntoRanges`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(pub(crate) SmallVec<[Range; 4]>);

impl<R: Into<Range>> FromIterator<R> for Ranges {
    fn from_iter<I: IntoIterator<Item = R>>(ranges: I) -> Ranges {
        Ranges(ranges.into_iter().map(Into::into).collect())
    }
}

impl IntoRanges for Ranges {
    fn into_ranges(self) -> Ranges {
        self
    }
}

impl IntoRanges for Range {
    fn into_ranges(self) -> Ranges {
        Ranges::from_iter([self])
    }
}

impl IntoRanges for std::ops::RangeFull {
    fn into_ranges(self) -> Ranges {
        Ranges::from_iter([self])
    }
}

impl<I: Bound> IntoRanges for I {
    fn into_ranges(self) -> Ranges {
        Ranges::from_iter([self])
    }
}

impl IntoRanges for &[Range] {
    fn into_ranges(self) -> Ranges {
        self.iter().copied().collect()
    }
}

impl<const N: usize> IntoRanges for &[Range; N] {
    fn into_ranges(self) -> Ranges {
        self[..].into_ranges()
    }
}

impl IntoRanges for &Vec<Range> {
    fn into_ranges(self) -> Ranges {
        self[..].into_ranges()
    }
}

impl IntoRanges for Vec<Range> {
    fn into_ranges(self) -> Ranges {
        self[..].into_ranges()
    }
}

impl<R: Into<Range>, const N: usize> IntoRanges for [R; N] {
    fn into_ranges(self) -> Ranges {
        Ranges::from_iter(self)
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Into<Range>),*> IntoRanges for ($($t,)*) {
            fn into_ranges(self) -> Ranges {
                let ranges: [Range; _] = [$(self.$i.into()),*];
                ranges.into_ranges()
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's definition of `slice.indices`, as a model.
    fn model(r: Range, n: isize) -> Vec<isize> {
        let (low, high) = if r.step > 0 { (0, n) } else { (-1, n - 1) };
        let cut = |x: isize| if x < 0 { (x + n).max(low) } else { x.min(high) };
        let start = r.start.map_or(if r.step > 0 { low } else { high }, cut);
        let stop = r.stop.map_or(if r.step > 0 { high } else { low }, cut);
        let mut out = Vec::new();
        let mut i = start;
        while if r.step > 0 { i < stop } else { i > stop } {
            out.push(i);
            i += r.step;
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
                        let r = Range::new(start, stop, step);
                        let s = r.on(n).expect("a step");
                        let got: Vec<isize> =
                            (0..s.len as isize).map(|i| s.start as isize + i * s.step).collect();
                        assert_eq!(got, model(r, n as isize), "{r:?} on {n}");
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
            assert_eq!(Range::new(start, stop, step).on(4).map(|s| s.len), Some(len));
        }
        assert_eq!(Range::new(None, None, 0).on(4), None);
    }
}
