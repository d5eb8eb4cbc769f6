//! Sorting and searching, which compute the values of their operands. The order is that of the crate `broadloom-sort`.

use broadloom_core::{DType, Error, ErrorKind, Result, View};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{typed, typed_mut};
use broadloom_sort::{Direction, Memory, Side, Stopped, Workers};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::value_run::{ValueRun, borrowed, bytes, written};

/// The approximate time per element and comparison of a sort, and of a search, in nanoseconds.
const COMPARISON: f64 = 1.0;

impl Array<'_> {
    /// The elements along an axis in ascending order, or in descending order. Computes the values.
    ///
    /// −0 comes before +0 and NaN after infinity, and the descending order is the reverse. [`Evaluation::sort`] takes options.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that does not exist, and the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[3, 1, 2], [4, 6, 5]]);
    /// assert_eq!(x.sort(1, false)?.to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.sort(0, true)?.to_vec::<i32>()?, [4, 6, 5, 3, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sort(&self, axis: isize, descending: bool) -> Result<Array<'static>> {
        Evaluation::default().sort(self, axis, descending)
    }

    /// The indices, int64, that sort the elements along an axis as [`Array::sort`] does. Equal elements keep their order in
    /// either direction. Computes the values.
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let order = Array::from([2.0, f64::NAN, 1.0, 2.0]).argsort(0, true)?;
    /// assert_eq!(order.to_vec::<i64>()?, [1, 0, 3, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn argsort(&self, axis: isize, descending: bool) -> Result<Array<'static>> {
        Evaluation::default().argsort(self, axis, descending)
    }

    /// For each of the other elements, the index in this sorted array of one axis before which it is inserted to keep the order,
    /// int64: the first such index or, if `right`, the last. The dtypes are the same. Computes the values.
    ///
    /// −0 and +0 are equal, and NaN comes after all numbers. Of an array that is not sorted, the result is that of a bisection
    /// from the middle, `low + (high - low) / 2`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array of another rank; [`ErrorKind::DType`] for different dtypes; the errors of
    /// [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1.0, 2.0, 2.0, 5.0]);
    /// let queries = Array::from([2.0, 9.0]);
    /// assert_eq!(x.searchsorted(&queries, false)?.to_vec::<i64>()?, [1, 4]);
    /// assert_eq!(x.searchsorted(&queries, true)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn searchsorted(&self, queries: &Array<'_>, right: bool) -> Result<Array<'static>> {
        Evaluation::default().searchsorted(self, queries, right)
    }
}

impl Evaluation<'_> {
    /// [`Array::sort`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    pub fn sort(&self, array: &Array<'_>, axis: isize, descending: bool) -> Result<Array<'static>> {
        let rows = Rows::of("sort", array, axis)?;
        let run = self.run(rows.array.len(), rows.row);
        let words = rows.words_needed(false, run.threads());
        run.check_bytes(&[&rows.array], rows.bytes().saturating_add(8 * words))?;
        let values = run.values(&rows.array)?;
        let (mut sorted, mut words) =
            (run.memory(rows.dtype(), rows.array.shape())?, run.memory(DType::UInt64, &[words])?);
        if rows.row > 0 {
            let (values, row, direction) = (borrowed(&values), rows.row, direction(descending));
            let (to, memory) = (written(&mut sorted), &mut memory_of(&mut words));
            run.with_workers(|workers| {
                rows.dtype().visit(Sort { values, row, direction, sorted: to, memory, workers })
            })?;
        }
        rows.back(&sorted)
    }

    /// [`Array::argsort`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    pub fn argsort(&self, array: &Array<'_>, axis: isize, descending: bool) -> Result<Array<'static>> {
        let rows = Rows::of("argsort", array, axis)?;
        let run = self.run(rows.array.len(), rows.row);
        let words = rows.words_needed(true, run.threads());
        run.check_bytes(&[&rows.array], words.saturating_add(rows.array.len()).saturating_mul(8))?;
        let values = run.values(&rows.array)?;
        let (mut indices, mut words) =
            (run.memory(DType::Int64, rows.array.shape())?, run.memory(DType::UInt64, &[words])?);
        if rows.row > 0 {
            let (values, row, direction) = (borrowed(&values), rows.row, direction(descending));
            let (to, memory) = (written(&mut indices), &mut memory_of(&mut words));
            run.with_workers(|workers| {
                rows.dtype().visit(ArgSort { values, row, direction, indices: to, memory, workers })
            })?;
        }
        rows.back(&indices)
    }

    /// [`Array::searchsorted`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::searchsorted`].
    pub fn searchsorted(
        &self,
        sorted: &Array<'_>,
        queries: &Array<'_>,
        right: bool,
    ) -> Result<Array<'static>> {
        let (sorted, queries) = (expr::typed(sorted)?, expr::typed(queries)?);
        if sorted.rank() != 1 {
            let why =
                format!("searchsorted: the sorted array has one axis, not those of {}", sorted.all_dims());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if sorted.dtype() != queries.dtype() {
            let why = format!("searchsorted: {} in {}", queries.dtype(), sorted.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help("convert one of them by astype"));
        }
        let run = self.run(queries.len(), sorted.len());
        run.check_bytes(&[&sorted, &queries], queries.len().saturating_mul(8))?;
        let (values, wanted) = (run.values(&sorted)?, run.values(&queries)?);
        let mut places = run.memory(DType::Int64, queries.shape())?;
        let to = written(&mut places);
        let side = if right { Side::Right } else { Side::Left };
        let (values, wanted) = (borrowed(&values), borrowed(&wanted));
        run.with_workers(|workers| {
            sorted.dtype().visit(Search { sorted: values, queries: wanted, side, places: to, workers })
        })?;
        Ok(places)
    }

    /// The run of a sort or search of `count` elements in rows of `row`. Its time begins now.
    pub(crate) fn run(&self, count: usize, row: usize) -> ValueRun<'_> {
        ValueRun::begin(self, count, COMPARISON * count as f64 * (2.0 + row as f64).log2())
    }
}

/// An array, with the axis that is sorted as the last one.
pub(crate) struct Rows<'r> {
    pub(crate) array: Array<'r>,
    axis: usize,
    /// The number of elements of a row.
    pub(crate) row: usize,
}

impl<'r> Rows<'r> {
    pub(crate) fn of(function: &str, array: &Array<'r>, axis: isize) -> Result<Rows<'r>> {
        let array = expr::typed(array)?;
        array.has_known_extents(function)?;
        let axis = array.axis(function, axis)?;
        let rank = array.rank() as u8;
        let last = (0..rank).filter(|&other| usize::from(other) != axis).chain([axis as u8]).collect();
        let row = array.shape()[axis];
        Ok(Rows { array: expr::view(&array, View::Permute(last))?, axis, row })
    }

    pub(crate) fn dtype(&self) -> DType {
        self.array.dtype()
    }

    fn bytes(&self) -> usize {
        bytes(&self.array)
    }

    /// The words of 8 bytes that a sort needs beside values and indices.
    pub(crate) fn words_needed(&self, with_indices: bool, threads: usize) -> usize {
        self.dtype().visit(WordsNeeded { row: self.row, with_indices, threads })
    }

    /// An array of these rows, with the axis where it was.
    pub(crate) fn back(&self, rows: &Array<'static>) -> Result<Array<'static>> {
        let rank = rows.rank();
        let back = |axis: usize| match axis.cmp(&self.axis) {
            std::cmp::Ordering::Less => axis,
            std::cmp::Ordering::Equal => rank - 1,
            std::cmp::Ordering::Greater => axis - 1,
        };
        expr::view(rows, View::Permute((0..rank).map(|axis| back(axis) as u8).collect()))
    }
}

/// The memory of a sort, in words that [`ValueRun::memory`] returned.
pub(crate) fn memory_of<'w>(words: &'w mut Array<'static>) -> Memory<'w> {
    Memory::lent(typed_mut::<u64>(written(words)).unwrap_or_default())
}

pub(crate) fn direction(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

/// The words of 8 bytes that a sort needs beside values and indices.
struct WordsNeeded {
    row: usize,
    with_indices: bool,
    threads: usize,
}

impl DTypeVisitor for WordsNeeded {
    type Out = usize;

    fn visit<T: Elem>(self) -> usize {
        broadloom_sort::words_needed::<T>(self.row, self.with_indices, self.threads)
    }
}

/// A sort of rows.
struct Sort<'s, 'm> {
    values: &'s [u8],
    row: usize,
    direction: Direction,
    sorted: &'s mut [u8],
    memory: &'s mut Memory<'m>,
    workers: &'s dyn Workers,
}

impl DTypeVisitor for Sort<'_, '_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed::<T>(self.values).unwrap_or_default();
        let sorted = typed_mut::<T>(self.sorted).unwrap_or_default();
        broadloom_sort::sort::<T>(values, self.row, self.direction, sorted, self.memory, self.workers)
    }
}

/// A sort of the indices of rows.
struct ArgSort<'s, 'm> {
    values: &'s [u8],
    row: usize,
    direction: Direction,
    indices: &'s mut [u8],
    memory: &'s mut Memory<'m>,
    workers: &'s dyn Workers,
}

impl DTypeVisitor for ArgSort<'_, '_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed::<T>(self.values).unwrap_or_default();
        let indices = typed_mut::<i64>(self.indices).unwrap_or_default();
        broadloom_sort::argsort::<T>(values, self.row, self.direction, indices, self.memory, self.workers)
    }
}

/// A search of several elements.
struct Search<'s> {
    sorted: &'s [u8],
    queries: &'s [u8],
    side: Side,
    places: &'s mut [u8],
    workers: &'s dyn Workers,
}

impl DTypeVisitor for Search<'_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let (sorted, queries) =
            (typed::<T>(self.sorted).unwrap_or_default(), typed::<T>(self.queries).unwrap_or_default());
        let places = typed_mut::<i64>(self.places).unwrap_or_default();
        broadloom_sort::searchsorted::<T>(sorted, queries, self.side, places, self.workers)
    }
}
