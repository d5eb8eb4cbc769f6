//! Divides a shape into boxes (rectangular ranges of indices) that are consecutive in row-major order.
//!
//! Concatenated, the boxes contain each element once, in order. A division has at least one box. The only box of a shape
//! without elements is empty.

use std::ops::Range;

/// A division of a shape into boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    shape: Vec<usize>,
    /// The divided axis. A box has a single index along each axis before it, and all indices along each axis after it.
    axis: usize,
    /// Number of indices of the divided axis in a box.
    rows: usize,
}

impl Cuts {
    /// A division into a single box.
    pub(crate) fn none(shape: &[usize]) -> Cuts {
        Cuts { shape: shape.to_vec(), axis: 0, rows: usize::MAX }
    }

    /// Searches for the division into the largest boxes that fit. The result is approximate: the search makes a few attempts,
    /// and assumes that every box smaller than a fitting one also fits. `None` if a box of one element does not fit.
    ///
    /// # Errors
    /// The first error that `fits` returns.
    pub(crate) fn largest<E>(
        shape: &[usize],
        mut fits: impl FnMut(&Cuts) -> Result<bool, E>,
    ) -> Result<Option<Cuts>, E> {
        let whole = Cuts::none(shape);
        if shape.contains(&0) || fits(&whole)? {
            return Ok(Some(whole));
        }
        for axis in 0..shape.len() {
            if let Some(cuts) = Cuts::along(shape, axis, &mut fits)? {
                return Ok(Some(cuts));
            }
        }
        Ok(None)
    }

    /// Searches for the division along this axis into the largest boxes that fit. `None` if a box of one index along the axis
    /// does not fit.
    ///
    /// # Errors
    /// The first error that `fits` returns.
    pub(crate) fn along<E>(
        shape: &[usize],
        axis: usize,
        mut fits: impl FnMut(&Cuts) -> Result<bool, E>,
    ) -> Result<Option<Cuts>, E> {
        let cut = |rows| Cuts { shape: shape.to_vec(), axis, rows };
        if !fits(&cut(1))? {
            return Ok(None);
        }
        // A number of rows that fits, and a larger one that does not. The search ends when they differ by about 3 %.
        let (mut good, mut bad) = (1, shape[axis].max(2));
        while bad - good > good / 32 + 1 || bad - good > 1 && good < 32 {
            // The next attempt is the geometric mean of the two while they differ by a factor of 4 or more, then the arithmetic
            // mean.
            let middle = if bad / good >= 4 { geometric_mean(good, bad) } else { good.midpoint(bad) };
            let middle = middle.clamp(good + 1, bad - 1);
            if fits(&cut(middle))? { good = middle } else { bad = middle }
        }
        Ok(Some(cut(good)))
    }

    /// The division into boxes of this many indices along an axis, and a single index along each axis before it.
    pub(crate) fn at(shape: &[usize], axis: usize, rows: usize) -> Cuts {
        Cuts { shape: shape.to_vec(), axis, rows }
    }

    /// The division into boxes of one element.
    pub(crate) fn smallest(shape: &[usize]) -> Cuts {
        Cuts { shape: shape.to_vec(), axis: shape.len().saturating_sub(1), rows: 1 }
    }

    /// This division, with the number of indices in a box rounded up to a multiple of `of`.
    pub(crate) fn multiple_of(&self, of: usize) -> Cuts {
        let rows = self.rows.checked_next_multiple_of(of).unwrap_or(usize::MAX);
        Cuts { rows, ..self.clone() }
    }

    /// The divided shape.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of boxes.
    pub(crate) fn count(&self) -> usize {
        let outer: usize = self.shape.iter().take(self.axis).product();
        outer * self.boxes_per_index()
    }

    fn boxes_per_index(&self) -> usize {
        self.shape.get(self.axis).map_or(1, |extent| extent.div_ceil(self.rows).max(1))
    }

    /// The range of indices along each axis of box `i`, which must exist.
    pub(crate) fn get(&self, i: usize) -> Vec<Range<usize>> {
        let per_index = self.boxes_per_index();
        let (mut outer, at) = (i / per_index, i % per_index);
        let mut ranges: Vec<Range<usize>> = self.shape.iter().map(|&extent| 0..extent).collect();
        if let Some(extent) = self.shape.get(self.axis) {
            let start = at.saturating_mul(self.rows).min(*extent);
            ranges[self.axis] = start..start.saturating_add(self.rows).min(*extent);
        }
        for axis in (0..self.axis).rev() {
            let index = outer % self.shape[axis];
            outer /= self.shape[axis];
            ranges[axis] = index..index + 1;
        }
        ranges
    }
}

/// An integer near the geometric mean of two positive integers.
fn geometric_mean(low: usize, high: usize) -> usize {
    low << ((high / low).ilog2() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn elements(ranges: &[Range<usize>]) -> usize {
        ranges.iter().map(Range::len).product()
    }

    /// The division into the largest boxes of at most this many elements.
    fn of_at_most(shape: &[usize], most: usize) -> Option<Cuts> {
        let fits = |cuts: &Cuts| Ok::<_, Infallible>(elements(&cuts.get(0)) <= most);
        Cuts::largest(shape, fits).unwrap_or_else(|never| match never {})
    }

    /// The row-major indices of the elements in a box.
    fn flat(shape: &[usize], ranges: &[Range<usize>]) -> Vec<usize> {
        let mut flat = vec![0];
        for (&extent, range) in shape.iter().zip(ranges) {
            flat = flat.iter().flat_map(|&at| range.clone().map(move |i| at * extent + i)).collect();
        }
        flat
    }

    #[test]
    fn boxes_follow_each_other() {
        for shape in [&[][..], &[1], &[7], &[3, 4], &[2, 3, 4], &[1, 5, 1, 3], &[5, 1, 1], &[2, 2, 2, 2]] {
            assert_eq!(of_at_most(shape, 0), None);
            for most in 1..30 {
                let cuts = of_at_most(shape, most).expect("one element fits");
                let boxes: Vec<Vec<Range<usize>>> = (0..cuts.count()).map(|i| cuts.get(i)).collect();
                let all: Vec<usize> = boxes.iter().flat_map(|ranges| flat(shape, ranges)).collect();
                assert_eq!(all, (0..shape.iter().product()).collect::<Vec<_>>(), "{shape:?} {most}");
                assert!(boxes.iter().all(|ranges| elements(ranges) <= most), "{shape:?} {most}");
            }
        }
    }

    #[test]
    fn boxes_are_not_needlessly_small() {
        let count = |shape: &[usize], most| of_at_most(shape, most).map(|cuts| cuts.count());
        assert_eq!(count(&[100, 10], 50), Some(20));
        assert_eq!(count(&[2, 1000], 520), Some(4));
        assert_eq!(count(&[1, 1000, 10], 5200), Some(2));
        for extent in [1_000, 1_000_000, usize::MAX / 8] {
            for most in [1, 10, 999, 12_345] {
                let rows = of_at_most(&[extent], most).map(|cuts| cuts.get(0)[0].len());
                let wanted = most.min(extent);
                assert!(rows.is_some_and(|rows| rows + rows / 32 + 1 >= wanted), "{extent} {most} {rows:?}");
            }
        }
    }

    #[test]
    fn a_shape_without_elements_is_one_box() {
        for shape in [&[0][..], &[3, 0], &[0, 3], &[usize::MAX, 0, usize::MAX]] {
            let cuts = of_at_most(shape, 0).expect("nothing fits anywhere");
            assert_eq!((cuts.count(), cuts.get(0)), (1, shape.iter().map(|&n| 0..n).collect()), "{shape:?}");
        }
    }
}
