//! Short segments: the elements of several are collected in rows, whose lanes are merged by vector code for all rows together.

use crate::LANES;
use crate::combine::Combine;
use crate::vectors::Vectors;

/// The number of rows that are collected.
const ROWS: usize = 16;

/// Rows of at most [`LANES`] elements, and the indices of their results.
pub(super) struct ShortSegments<T> {
    /// The rows, and space for what is written after the last one.
    rows: [[T; LANES]; ROWS + 1],
    results: [usize; ROWS],
    count: usize,
}

impl<T: Vectors> ShortSegments<T> {
    pub(super) fn new() -> Self {
        ShortSegments { rows: [[T::default(); LANES]; ROWS + 1], results: [0; ROWS], count: 0 }
    }

    /// Adds the segment of `count` elements that begins at index `start`, whose result is `out[result]`. Results are written when
    /// enough rows are collected, or by [`ShortSegments::flush`].
    #[inline(always)]
    pub(super) fn push<F: Combine<T>>(
        &mut self,
        elements: &[T],
        start: usize,
        count: usize,
        result: usize,
        out: &mut [T],
    ) {
        // Absent elements are identities, which change no bits, so that all rows take the same steps.
        //
        // Two copies of constant length are a few vector instructions; a choice for each lane was compiled to one branch each. What they
        // write of the next row is overwritten by it.
        let rows = &mut self.rows.as_flattened_mut()[self.count * LANES..];
        match elements[start..].first_chunk::<LANES>() {
            Some(next) => rows[..LANES].copy_from_slice(next),
            None => rows[..count].copy_from_slice(&elements[start..start + count]),
        }
        rows[count..][..LANES].fill(F::identity());
        self.results[self.count] = result;
        self.count += 1;
        if self.count == ROWS {
            self.flush::<F>(out);
        }
    }

    /// Writes the results of the rows that are collected.
    #[inline(always)]
    pub(super) fn flush<F: Combine<T>>(&mut self, out: &mut [T]) {
        let (mut eights, mut fours) = ([T::default(); 8 * ROWS], [T::default(); 4 * ROWS]);
        let (mut twos, mut ones) = ([T::default(); 2 * ROWS], [T::default(); ROWS]);
        pairs::<F, T>(self.rows[..ROWS].as_flattened(), &mut eights);
        pairs::<F, T>(&eights, &mut fours);
        pairs::<F, T>(&fours, &mut twos);
        pairs::<F, T>(&twos, &mut ones);
        for (&result, &x) in self.results.iter().zip(&ones).take(self.count) {
            out[result] = F::result(x);
        }
        self.count = 0;
    }
}

/// Merges adjacent elements.
#[inline(always)]
fn pairs<F: Combine<T>, T: Vectors>(from: &[T], to: &mut [T]) {
    for (to, [a, b]) in to.iter_mut().zip(from.as_chunks::<2>().0) {
        *to = F::pair(*a, *b);
    }
}
