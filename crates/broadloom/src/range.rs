//! Ranges of indices with the meaning of Python's slices: start, stop and step may each be left out or count from
//! the end. As in Python's `slice.indices`, no bound is out of range, and only a step of 0 is an error.

use broadloom_core::layout::Slice;

/// Indices along one axis: `start:stop:step`, as in Python.
///
/// Negative bounds count from the end, bounds beyond the axis are cut to it, and a negative step walks backwards.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![0, 1, 2, 3, 4]);
/// assert_eq!(x.slice(&[(1..-1).into()])?.to_vec::<i32>()?, [1, 2, 3]);
/// assert_eq!(x.slice(&[Range::new(None, None, -2)])?.to_vec::<i32>()?, [4, 2, 0]);
/// assert_eq!(x.slice(&[Range::from(1..).step(3)])?.to_vec::<i32>()?, [1, 4]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
}

impl Range {
    /// `start:stop:step`; a bound that is `None` is the end of the axis that the step walks from or to.
    pub fn new(start: Option<isize>, stop: Option<isize>, step: isize) -> Range {
        Range { start, stop, step }
    }

    /// The same bounds with another step.
    pub fn step(self, step: isize) -> Range {
        Range { step, ..self }
    }

    /// The indices on an axis of this extent; `None` for a step of 0.
    pub(crate) fn on(self, extent: usize) -> Option<Slice> {
        let n = extent as isize;
        let backwards = self.step < 0;
        // A backwards walk stops before index −1.
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
            // Any step does, and 1 can't overflow a stride.
            0 => Slice { start: 0, step: 1, len },
            1 => Slice { start: start as usize, step: 1, len },
            _ => Slice { start: start as usize, step: self.step, len },
        })
    }
}

impl From<std::ops::Range<isize>> for Range {
    fn from(r: std::ops::Range<isize>) -> Range {
        Range::new(Some(r.start), Some(r.end), 1)
    }
}

impl From<std::ops::RangeFrom<isize>> for Range {
    fn from(r: std::ops::RangeFrom<isize>) -> Range {
        Range::new(Some(r.start), None, 1)
    }
}

impl From<std::ops::RangeTo<isize>> for Range {
    fn from(r: std::ops::RangeTo<isize>) -> Range {
        Range::new(None, Some(r.end), 1)
    }
}

impl From<std::ops::RangeFull> for Range {
    fn from(_: std::ops::RangeFull) -> Range {
        Range::new(None, None, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's definition of `slice.indices`, step by step.
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
