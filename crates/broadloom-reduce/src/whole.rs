//! Reductions all of whose elements are at hand.

use broadloom_ir::{DType, Reduction, Result};

use crate::Partial;

/// Reduces each row of `n` neighbouring elements to an element: `elements` is [rows][n], `out` is [rows].
///
/// # Errors
/// As [`Partial::new`].
///
/// # Panics
/// If the bytes are not aligned for the dtype, or `elements` has not `n` for each of `out`.
pub fn reduce_each(
    reduction: Reduction,
    dtype: DType,
    n: usize,
    elements: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let mut partial = Partial::new(reduction, dtype, 1, 0)?;
    let size = dtype.size();
    assert_eq!(Some(elements.len()), out.len().checked_mul(n), "n elements for each result");
    for (i, out) in out.chunks_exact_mut(size).enumerate() {
        partial.push(&elements[i * n * size..][..n * size]);
        partial.finish(out);
    }
    Ok(())
}

/// Reduces `n` rows of `width` elements, which may lie apart, to one row: `row(i)` has `width` elements, and so has `out`.
///
/// # Errors
/// As [`Partial::new`].
///
/// # Panics
/// If the bytes of a row or of `out` are not aligned for the dtype or not of `width` elements.
pub fn reduce_rows<'r>(
    reduction: Reduction,
    dtype: DType,
    n: usize,
    width: usize,
    row: impl Fn(usize) -> &'r [u8],
    out: &mut [u8],
) -> Result<()> {
    let mut partial = Partial::new(reduction, dtype, width, 0)?;
    partial.push_rows(n, row);
    partial.finish(out);
    Ok(())
}
