//! Complete reductions of elements that are all in memory already.

use broadloom_ir::{DType, Reduction, Result};
use smallvec::SmallVec;

use crate::partial::{method, nothing};
use crate::{LANES, Partial};

/// Reduces each of several contiguous rows of `n` elements to one element: `elements` is `[rows][n]`, `out` is `[rows]`.
///
/// If `n` is 0, the results are those of [`Partial::finish`] without elements.
///
/// # Errors
/// The errors of [`Partial::new`].
///
/// # Panics
/// If the bytes are not aligned for the dtype, or if `elements` does not have `n` elements for each result in `out`.
pub fn reduce_each(
    reduction: Reduction,
    dtype: DType,
    n: usize,
    elements: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let method = method(reduction, dtype)?;
    let size = dtype.size();
    let result = reduction.result(dtype).size();
    assert_eq!(
        Some(elements.len()),
        (out.len() / result * size).checked_mul(n),
        "n elements for each result"
    );
    if n == 0 && nothing(reduction, dtype, out) {
        return Ok(());
    }
    if n != 0 && method.each(n, elements, out) {
        return Ok(());
    }
    let mut partial = Partial::new(reduction, dtype, 1, 0)?;
    for (i, out) in out.chunks_exact_mut(result).enumerate() {
        partial.push(&elements[i * n * size..][..n * size]);
        partial.finish(out);
    }
    Ok(())
}

/// The number of bytes of each row that are reduced at a time: few enough that the partial results of a block of outputs stay in
/// the L2 cache, and enough that memory is read in long ranges.
const BLOCK: usize = 2048;

/// Reduces `n` rows, which need not be contiguous, to one row. `row(i)` returns row `i`; each row and `out` have
/// `width` elements.
///
/// If `n` is 0, the results are those of [`Partial::finish`] without elements.
///
/// # Errors
/// The errors of [`Partial::new`].
///
/// # Panics
/// If the bytes of a row or of `out` are not aligned for the dtype, or are not `width` elements.
pub fn reduce_rows<'r>(
    reduction: Reduction,
    dtype: DType,
    n: usize,
    width: usize,
    row: impl Fn(usize) -> &'r [u8],
    out: &mut [u8],
) -> Result<()> {
    let method = method(reduction, dtype)?;
    let size = dtype.size();
    let result = reduction.result(dtype).size();
    assert_eq!(Some(out.len()), width.checked_mul(result), "a result for each output");
    if (1..=LANES).contains(&n) {
        let rows: SmallVec<[&[u8]; LANES]> = (0..n).map(&row).collect();
        if method.few_rows(&rows, out) {
            return Ok(());
        }
    }
    let block = (BLOCK / size).min(width);
    let mut partial = Partial::new(reduction, dtype, block, 0)?;
    for (i, out) in out.chunks_mut((block * result).max(1)).enumerate() {
        let results = out.len() / result;
        if results < block {
            partial = Partial::new(reduction, dtype, results, 0)?;
        }
        let range = i * block * size..(i * block + results) * size;
        partial.push_rows(n, |i| &row(i)[range.clone()]);
        partial.finish(out);
    }
    Ok(())
}
