//! Ranges of indices with the meaning of Python's slices: start, stop and step may each be omitted, and bounds may count from the
//! end. As in Python's `slice.indices`, no bound is out of range, and only a step of 0 is an error.
//!
//! Rust's own ranges of any integer type convert to [`Range`]. An integer converts to a single index, which removes its axis.
//! [`IntoRanges`] is the trait of arguments for several axes.

use broadloom_core::indices::Indices;
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
pub struct Range(Indices);

impl Range {
    /// The range `start:stop:step`. If `start` is `None`, the range begins at the first element in the direction of the step; if
    /// `stop` is `None`, it extends to the last one.
    pub fn new(start: Option<isize>, stop: Option<isize>, step: isize) -> Range {
        Range(Indices::Range { start, stop, step })
    }

    /// A single index, which must exist on the axis. A negative index counts from the end. The result of a slice lacks the axis.
    pub fn at(index: isize) -> Range {
        Range(Indices::At(index))
    }

    /// The range with these bounds and another step; a single index is unchanged.
    pub fn step(self, step: isize) -> Range {
        match self.0 {
            Indices::Range { start, stop, .. } => Range::new(start, stop, step),
            Indices::At(_) => self,
        }
    }

    /// The range as the indices that a text writes in brackets.
    pub(crate) fn indices(self) -> Indices {
        self.0
    }
}

/// An integer of any Rust type, as a bound or an index. An integer that does not fit `isize` is beyond the ends of any axis.
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

/// Converts an inclusive bound to an exclusive one: `None`, which is the end of the axis, for −1, the last index.
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

/// The argument of [`Array::slice`](crate::Array::slice): a tuple, an array or a slice with a range or an index for each axis
/// from the first on; or a single range or index, for the first axis.
///
/// A range is a Rust range of integers of any type, or a [`Range`], which may have a step.
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
    /// One range for each of the first axes.
    fn into_ranges(self) -> Ranges;
}

/// One range for each of the first axes of an array, as [`IntoRanges`] returns them. The axes after these remain complete.
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
