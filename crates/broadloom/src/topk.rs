//! The first elements in order, without sorting the others.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{typed, typed_mut};
use broadloom_sort::{Direction, Stopped, Workers};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::sorts::{Rows, direction};
use crate::value_run::{borrowed, written};

impl Array<'_> {
    /// The `k` greatest elements along an axis in descending order, or the `k` least in ascending order, and their indices, int64.
    /// The order is that of [`Array::sort`]; of equal elements, the one with the lower index is first. Computes the values.
    ///
    /// NaNs are greater than numbers. [`Evaluation::topk`] takes options.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist or has fewer elements, and the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (values, indices) = Array::from([3, 9, 5, 9]).topk(2, 0, true)?;
    /// assert_eq!((values.to_vec::<i32>()?, indices.to_vec::<i64>()?), (vec![9, 9], vec![1, 3]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> Result<(Array<'static>, Array<'static>)> {
        Evaluation::default().topk(self, k, axis, largest)
    }
}

impl Evaluation<'_> {
    /// [`Array::topk`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::topk`].
    pub fn topk(
        &self,
        array: &Array<'_>,
        k: usize,
        axis: isize,
        largest: bool,
    ) -> Result<(Array<'static>, Array<'static>)> {
        let rows = Rows::of("topk", array, axis)?;
        if k > rows.row {
            let why = format!("topk: {k} of {} elements along axis {axis}", rows.row);
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let mut shape = rows.array.shape().to_vec();
        shape.iter_mut().next_back().into_iter().for_each(|extent| *extent = k);
        let run = self.run(rows.array.len(), k);
        let results = shape.iter().fold(rows.dtype().size() + 8, |bytes, &n| bytes.saturating_mul(n));
        let candidates = broadloom_sort::bytes_of_candidates(rows.row, k, run.threads());
        run.check_bytes(&[&rows.array], results.saturating_add(candidates))?;
        let values = run.values(&rows.array)?;
        let (mut first, mut indices) = (run.memory(rows.dtype(), &shape)?, run.memory(DType::Int64, &shape)?);
        if rows.row > 0 {
            let (values, row, direction) = (borrowed(&values), rows.row, direction(largest));
            let to = (written(&mut first), written(&mut indices));
            run.with_workers(|workers| rows.dtype().visit(TopK { values, row, k, direction, to, workers }))?;
        }
        Ok((rows.back(&first)?, rows.back(&indices)?))
    }
}

/// The first elements of rows, and their indices.
struct TopK<'t> {
    values: &'t [u8],
    row: usize,
    k: usize,
    direction: Direction,
    to: (&'t mut [u8], &'t mut [u8]),
    workers: &'t dyn Workers,
}

impl DTypeVisitor for TopK<'_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed::<T>(self.values).unwrap_or_default();
        let (first, indices) = self.to;
        let to = (typed_mut::<T>(first).unwrap_or_default(), typed_mut::<i64>(indices).unwrap_or_default());
        broadloom_sort::topk::<T>(values, self.row, self.k, self.direction, to, self.workers)
    }
}
