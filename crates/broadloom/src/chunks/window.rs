//! Windows of index spaces: the requested indices along each axis.
//!
//! Along an axis, a window contains the indices `start`, `start + step`, … with a positive step. A single index is stored with
//! step 1, and an empty set of indices with start 0, length 0 and step 1, so that equal windows have equal representations.

use std::ops::Range;

use broadloom_core::layout::Slice;
use broadloom_core::{Result, Shape};
use smallvec::SmallVec;

/// The requested indices along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window(pub SmallVec<[Slice; 4]>);

/// The requested windows of one node.
pub(crate) type WindowList = SmallVec<[Window; 1]>;

/// The maximum number of windows of a node. If there are more, the two windows whose union adds the fewest elements are merged.
const MAX_WINDOWS: usize = 64;

/// The canonical representation of a set of indices along an axis.
pub(super) fn indices(start: usize, step: usize, len: usize) -> Slice {
    match len {
        0 => Slice { start: 0, step: 1, len },
        1 => Slice { start, step: 1, len },
        _ => Slice { start, step: step as isize, len },
    }
}

/// The number of indices from the first to the last, including those that the step skips.
pub(super) fn span(slice: Slice) -> usize {
    if slice.len == 0 { 0 } else { (slice.len - 1) * slice.step.unsigned_abs() + 1 }
}

impl Window {
    /// The window of all indices.
    pub(crate) fn whole(shape: &[usize]) -> Window {
        Window(shape.iter().map(|&extent| indices(0, 1, extent)).collect())
    }

    /// The window that contains these ranges of indices.
    pub(crate) fn of_ranges(ranges: impl IntoIterator<Item = Range<usize>>) -> Window {
        Window(ranges.into_iter().map(|range| indices(range.start, 1, range.len())).collect())
    }

    /// Extends the window to all indices along an axis of this extent.
    pub(crate) fn take_whole(&mut self, axis: usize, extent: usize) {
        self.0[axis] = indices(0, 1, extent);
    }

    /// Whether the window has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().any(|slice| slice.len == 0)
    }

    /// The number of elements.
    pub(crate) fn elements(&self) -> usize {
        if self.is_empty() { 0 } else { self.0.iter().map(|slice| slice.len).product() }
    }

    /// The shape of an array that contains only the window's elements.
    pub(crate) fn shape(&self) -> Result<Shape> {
        Shape::new(&self.0.iter().map(|slice| slice.len).collect::<SmallVec<[usize; 4]>>())
    }

    /// The window of all indices between the first and the last along each axis.
    pub(crate) fn without_steps(&self) -> Window {
        Window(self.0.iter().map(|&slice| indices(slice.start, 1, span(slice))).collect())
    }

    /// The range from the first index to the last, along each axis.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        self.0.iter().map(|&slice| slice.start..slice.start + span(slice)).collect()
    }

    /// The number of contiguous pieces that the window's elements form in a row-major array of this shape. The window must have
    /// step 1 along each axis.
    pub(crate) fn pieces(&self, shape: &[usize]) -> usize {
        let whole =
            self.0.iter().zip(shape).rev().take_while(|(slice, extent)| slice.len == **extent).count();
        // The window has all indices along the last `whole` axes. Its indices along the axis before them are a range, so the
        // elements of these axes together are contiguous: there is one piece for each index of the remaining outer axes.
        let outer = self.0.len().saturating_sub(whole + 1);
        self.0[..outer].iter().map(|slice| slice.len).product()
    }

    /// Splits the window along the first axis that has several indices, into windows of one index along it. Empty for a window of
    /// one element.
    pub(crate) fn indices_of_first_axis(&self) -> Vec<Window> {
        let Some(axis) = self.0.iter().position(|slice| slice.len > 1) else { return Vec::new() };
        let slice = self.0[axis];
        let at = |i| {
            let mut window = self.clone();
            window.0[axis] = indices(slice.start + i * slice.step.unsigned_abs(), 1, 1);
            window
        };
        (0..slice.len).map(at).collect()
    }

    /// The slices that select this window from an array that contains the window `outer`; `None` if `outer` lacks an element of
    /// this window.
    pub(crate) fn within(&self, outer: &Window) -> Option<SmallVec<[Slice; 4]>> {
        self.0.iter().zip(&outer.0).map(|(&inner, &outer)| within(inner, outer)).collect()
    }

    /// The smallest window that contains all elements of `self` and `other`.
    fn cover(&self, other: &Window) -> Window {
        Window(self.0.iter().zip(&other.0).map(|(&a, &b)| cover(a, b)).collect())
    }
}

fn within(inner: Slice, outer: Slice) -> Option<Slice> {
    if inner.len == 0 {
        return Some(indices(0, 1, 0));
    }
    let (step, unit) = (inner.step.unsigned_abs(), outer.step.unsigned_abs());
    let first = inner.start.checked_sub(outer.start)?;
    let is_aligned = first.is_multiple_of(unit) && (inner.len == 1 || step.is_multiple_of(unit));
    (is_aligned && first + span(inner) <= span(outer)).then(|| indices(first / unit, step / unit, inner.len))
}

fn cover(a: Slice, b: Slice) -> Slice {
    if within(b, a).is_some() {
        return a;
    }
    if within(a, b).is_some() {
        return b;
    }
    let start = a.start.min(b.start);
    indices(start, 1, (a.start + span(a)).max(b.start + span(b)) - start)
}

/// Merges windows. Two windows are replaced by the smallest window that contains both if it has no more elements than the two
/// together, as for the overlapping windows of a stencil. Other windows stay separate.
pub(super) fn merged(windows: WindowList) -> WindowList {
    if windows.len() < 2 {
        return windows;
    }
    let mut out = WindowList::new();
    for mut window in windows {
        let is_cheap = |a: &Window, b: &Window| a.cover(b).elements() <= a.elements() + b.elements();
        while let Some(at) = out.iter().position(|other| is_cheap(&window, other)) {
            window = window.cover(&out.swap_remove(at));
        }
        out.push(window);
        if out.len() > MAX_WINDOWS {
            merge_cheapest(&mut out);
        }
    }
    out
}

/// Merges the two windows for which the smallest window that contains both has the fewest additional elements.
fn merge_cheapest(windows: &mut WindowList) {
    let waste = |&(i, j): &(usize, usize)| {
        let (a, b): (&Window, &Window) = (&windows[i], &windows[j]);
        a.cover(b).elements().saturating_sub(a.elements() + b.elements())
    };
    let pairs = (0..windows.len()).flat_map(|i| (i + 1..windows.len()).map(move |j| (i, j)));
    if let Some((i, j)) = pairs.min_by_key(waste) {
        let last = windows.swap_remove(j);
        windows[i] = windows[i].cover(&last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(slices: &[(usize, usize, usize)]) -> Window {
        Window(slices.iter().map(|&(start, step, len)| indices(start, step, len)).collect())
    }

    /// The list of the indices of a slice.
    fn each(slice: Slice) -> Vec<usize> {
        (0..slice.len).map(|i| slice.start + i * slice.step as usize).collect()
    }

    #[test]
    fn a_window_within_another_is_slices_of_it() {
        let all: Vec<Slice> = (0..5)
            .flat_map(|start| (1..4).flat_map(move |step| (0..4).map(move |len| indices(start, step, len))))
            .collect();
        for &outer in &all {
            for &inner in &all {
                let (has, wanted) = (each(outer), each(inner));
                match within(inner, outer) {
                    Some(slice) => {
                        let got: Vec<usize> = each(slice).iter().map(|&i| has[i]).collect();
                        assert_eq!(got, wanted, "{inner} of {outer}");
                    }
                    None => assert!(!wanted.iter().all(|i| has.contains(i)), "{inner} of {outer}"),
                }
                let union = each(cover(inner, outer));
                assert!(wanted.iter().chain(&has).all(|i| union.contains(i)), "{inner} and {outer}");
            }
        }
    }

    #[test]
    fn whole_trailing_axes_are_one_piece() {
        let pieces = |slices: &[(usize, usize, usize)]| window(slices).pieces(&[5, 6, 7]);
        assert_eq!(pieces(&[(0, 1, 5), (0, 1, 6), (0, 1, 7)]), 1);
        assert_eq!(pieces(&[(1, 1, 3), (0, 1, 6), (0, 1, 7)]), 1);
        assert_eq!(pieces(&[(1, 1, 3), (2, 1, 2), (0, 1, 7)]), 3);
        assert_eq!(pieces(&[(1, 1, 3), (0, 1, 6), (2, 1, 4)]), 18);
        assert_eq!(pieces(&[(1, 1, 1), (2, 1, 1), (2, 1, 4)]), 1);
        assert_eq!(Window::whole(&[]).pieces(&[]), 1);
    }

    #[test]
    fn neighbours_are_merged_and_others_are_not() {
        let list = |windows: &[Window]| windows.iter().cloned().collect::<WindowList>();
        let stencil = [window(&[(4, 1, 10)]), window(&[(5, 1, 10)]), window(&[(3, 1, 10)])];
        assert_eq!(merged(list(&stencil)), list(&[window(&[(3, 1, 12)])]));
        let halves = [window(&[(0, 2, 10)]), window(&[(1, 2, 10)])];
        assert_eq!(merged(list(&halves)), list(&[window(&[(0, 1, 20)])]));
        let ends = [window(&[(0, 1, 10)]), window(&[(90, 1, 10)])];
        assert_eq!(merged(list(&ends)), list(&ends));
        let rows_and_columns = [window(&[(0, 1, 2), (0, 1, 100)]), window(&[(0, 1, 100), (0, 1, 2)])];
        assert_eq!(merged(list(&rows_and_columns)), list(&rows_and_columns));
        // A window without elements is kept unless another window contains it.
        let empty = [window(&[(0, 1, 0), (0, 1, 0)]), window(&[(0, 1, 1), (0, 1, 0)])];
        assert_eq!(merged(list(&empty)), list(&empty[1..]));
        let crossed = [window(&[(0, 1, 0), (0, 1, 5)]), window(&[(0, 1, 3), (0, 1, 0)])];
        assert_eq!(merged(list(&crossed)), list(&crossed));
        let none = [window(&[(0, 1, 0)]), window(&[(90, 1, 10)])];
        assert_eq!(merged(list(&none)), list(&none[1..]));
    }

    #[test]
    fn the_number_of_windows_is_bounded() {
        let apart: WindowList = (0..200).map(|i| window(&[(i * i * 10, 1, 1)])).collect();
        let few = merged(apart.clone());
        assert!(few.len() <= MAX_WINDOWS);
        assert!(apart.iter().all(|one| few.iter().any(|window| one.within(window).is_some())));
    }
}
