//! Sorting and searching, which compute the values of their operands. The order is that of the crate `broadloom-sort`.

use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape, View};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{Buffer, FloatEnv, typed, typed_mut};
use broadloom_sort::{Direction, Memory, Side, Stopped, Workers};

use crate::array::Array;
use crate::engine::{self, Options, Watch, Work};
use crate::evaluation::Evaluation;
use crate::expr;
use crate::storage::Storage;

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
        let mut rows = Rows::of(self, "sort", array, axis)?;
        if rows.row > 0 {
            let (row, dtype, values) = (rows.row, rows.dtype, rows.values.as_bytes_mut().unwrap_or_default());
            self.with_workers(rows.count, row, |workers| {
                dtype.visit(Sort { values, row, direction: direction(descending), workers })
            })?;
        }
        let dtype = rows.dtype;
        rows.array(dtype, None)
    }

    /// [`Array::argsort`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::sort`].
    pub fn argsort(&self, array: &Array<'_>, axis: isize, descending: bool) -> Result<Array<'static>> {
        let rows = Rows::of(self, "argsort", array, axis)?;
        let mut indices = buffer(8 * rows.count)?;
        if rows.row > 0 {
            let (row, values) = (rows.row, rows.values.as_bytes());
            let to = indices.as_bytes_mut().unwrap_or_default();
            self.with_workers(rows.count, row, |workers| {
                let direction = direction(descending);
                rows.dtype.visit(ArgSort { values, row, direction, indices: to, workers })
            })?;
        }
        rows.array(DType::Int64, Some(indices))
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
        let (values, wanted) = (self.values(&sorted)?, self.values(&queries)?);
        let mut places = buffer(8 * queries.len())?;
        let to = places.as_bytes_mut().unwrap_or_default();
        let side = if right { Side::Right } else { Side::Left };
        let (values, wanted) = (values.as_bytes(), wanted.as_bytes());
        self.with_workers(queries.len(), sorted.len(), |workers| {
            sorted.dtype().visit(Search { sorted: values, queries: wanted, side, places: to, workers })
        })?;
        let layout = Layout::contiguous(Shape::new(queries.shape())?);
        Ok(Array::data(Storage::from_buffer(DType::Int64, places), layout))
    }

    /// The values of an array in memory of their own, in row-major order.
    fn values(&self, array: &Array<'_>) -> Result<Buffer> {
        let mut values = buffer(array.len() * array.dtype().size())?;
        self.eval_into_bytes(array, values.as_bytes_mut().unwrap_or_default())?;
        Ok(values)
    }

    /// Runs `work` with the threads of this evaluation, of which as many share it as is worth their cost for `count` elements in rows
    /// of `row`.
    fn with_workers(
        &self,
        count: usize,
        row: usize,
        work: impl FnOnce(&dyn Workers) -> std::result::Result<(), Stopped>,
    ) -> Result<()> {
        let _ieee = FloatEnv::ieee();
        self.prepared(|_, options, control| {
            let time = COMPARISON * count as f64 * (2.0 + row as f64).log2();
            let watch = Watch::over(Watch::begin(control, options)?, Work { elements: count, time })?;
            let lent = Lent { options, time, watch: watch.as_ref() };
            work(&lent).map_err(|Stopped| match lent.watch.map(Watch::check) {
                Some(Err(error)) => error,
                _ => Error::new(ErrorKind::Internal, "a thread was lost"),
            })
        })
    }
}

/// The threads of an evaluation, lent to a sort.
struct Lent<'l> {
    options: &'l Options,
    time: f64,
    watch: Option<&'l Watch<'l>>,
}

impl Workers for Lent<'_> {
    fn threads(&self) -> usize {
        engine::workers::threads(self.options, self.time)
    }

    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> std::result::Result<(), Stopped> {
        engine::workers::share(threads, work, None).map_err(|_| Stopped)
    }

    fn go_on(&self) -> std::result::Result<(), Stopped> {
        self.watch.map_or(Ok(()), |watch| watch.check().map_err(|_| Stopped))
    }
}

/// The values of an array, with the axis that is sorted as the last one.
struct Rows {
    dtype: DType,
    values: Buffer,
    shape: Shape,
    axis: usize,
    /// The number of elements, and of those of a row.
    count: usize,
    row: usize,
}

impl Rows {
    fn of(evaluation: &Evaluation<'_>, function: &str, array: &Array<'_>, axis: isize) -> Result<Rows> {
        let array = expr::typed(array)?;
        array.has_known_extents(function)?;
        let axis = array.axis(function, axis)?;
        let rank = array.rank() as u8;
        let last = (0..rank).filter(|&other| usize::from(other) != axis).chain([axis as u8]).collect();
        let rows = expr::view(&array, View::Permute(last))?;
        let (shape, row) = (Shape::new(rows.shape())?, array.shape()[axis]);
        let values = evaluation.values(&rows)?;
        Ok(Rows { dtype: array.dtype(), values, shape, axis, count: array.len(), row })
    }

    /// The array of the values, or of other memory in their place, with the axis where it was.
    fn array(self, dtype: DType, other: Option<Buffer>) -> Result<Array<'static>> {
        let rank = self.shape.rank();
        let memory = other.unwrap_or(self.values);
        let rows = Array::data(Storage::from_buffer(dtype, memory), Layout::contiguous(self.shape));
        let back = |axis: usize| match axis.cmp(&self.axis) {
            std::cmp::Ordering::Less => axis,
            std::cmp::Ordering::Equal => rank - 1,
            std::cmp::Ordering::Greater => axis - 1,
        };
        expr::view(&rows, View::Permute((0..rank).map(|axis| back(axis) as u8).collect()))
    }
}

fn direction(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

fn buffer(bytes: usize) -> Result<Buffer> {
    Buffer::for_overwrite(bytes).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

/// A sort of rows.
struct Sort<'s> {
    values: &'s mut [u8],
    row: usize,
    direction: Direction,
    workers: &'s dyn Workers,
}

impl DTypeVisitor for Sort<'_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed_mut::<T>(self.values).unwrap_or_default();
        broadloom_sort::sort::<T>(values, self.row, self.direction, &mut Memory::default(), self.workers)
    }
}

/// A sort of the indices of rows.
struct ArgSort<'s> {
    values: &'s [u8],
    row: usize,
    direction: Direction,
    indices: &'s mut [u8],
    workers: &'s dyn Workers,
}

impl DTypeVisitor for ArgSort<'_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed::<T>(self.values).unwrap_or_default();
        let indices = typed_mut::<i64>(self.indices).unwrap_or_default();
        let memory = &mut Memory::default();
        broadloom_sort::argsort::<T>(values, self.row, self.direction, indices, memory, self.workers)
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
