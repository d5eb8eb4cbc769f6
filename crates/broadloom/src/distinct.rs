//! The distinct elements of an array, and whether elements occur in another array. The values of the operands are computed.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{bytes_of_stores, typed};
use broadloom_sort::{Memory, Stopped, Unique, UniqueIndices, Workers};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::sorts::{Rows, memory_of};
use crate::take::IndexMode;
use crate::value_run::{ValueRun, borrowed, bytes, written};

/// The result of [`Array::unique_all`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UniqueAll {
    /// The distinct elements in ascending order, each as the bits of its first occurrence.
    pub values: Array<'static>,
    /// The index of the first occurrence of each value in row-major order, int64.
    pub indices: Array<'static>,
    /// The index of the value of each element of the array, int64, in the array's shape.
    pub inverse_indices: Array<'static>,
    /// The number of occurrences of each value, int64.
    pub counts: Array<'static>,
}

impl Array<'_> {
    /// The distinct elements in ascending order, of which each is the first occurrence. −0 equals +0, and each NaN is an element
    /// of its own. Computes the values.
    ///
    /// # Errors
    /// The errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::from([3, 1, 3]).unique_values()?.to_vec::<i32>()?, [1, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique_values(&self) -> Result<Array<'static>> {
        Ok(self.unique_counts()?.0)
    }

    /// The elements of [`Array::unique_values`], and the number of occurrences of each, int64.
    ///
    /// # Errors
    /// The errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let (values, counts) = Array::from([3, 1, 3]).unique_counts()?;
    /// assert_eq!((values.to_vec::<i32>()?, counts.to_vec::<i64>()?), (vec![1, 3], vec![1, 2]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique_counts(&self) -> Result<(Array<'static>, Array<'static>)> {
        Evaluation::default().unique_counts(self)
    }

    /// The elements of [`Array::unique_values`], and where they occur.
    ///
    /// # Errors
    /// The errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let found = Array::from([[3, 1], [3, 3]]).unique_all()?;
    /// assert_eq!(found.values.to_vec::<i32>()?, [1, 3]);
    /// assert_eq!(found.indices.to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(found.inverse_indices.to_vec::<i64>()?, [1, 0, 1, 1]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unique_all(&self) -> Result<UniqueAll> {
        Evaluation::default().unique_all(self)
    }

    /// Whether each element is equal to an element of `among`, an array of any shape and the same dtype. −0 equals +0, and NaN
    /// equals nothing. Computes the values.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for different dtypes, and the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let found = Array::from([1, 5, 2]).isin(&Array::from([2, 1]))?;
    /// assert_eq!(found.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn isin(&self, among: &Array<'_>) -> Result<Array<'static>> {
        Evaluation::default().isin(self, among)
    }
}

impl Evaluation<'_> {
    /// [`Array::unique_counts`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::unique_counts`].
    pub fn unique_counts(&self, array: &Array<'_>) -> Result<(Array<'static>, Array<'static>)> {
        let (rows, run) = self.one_row("unique_counts", array)?;
        let words = rows.words_needed(false, run.threads());
        // Values are sorted, and copied with their counts.
        let results = rows.array.len().saturating_mul(2 * rows.dtype().size() + 8);
        run.check_bytes(&[&rows.array], results.saturating_add(8 * words))?;
        let (values, mut words) = (run.values(&rows.array)?, run.memory(DType::UInt64, &[words])?);
        let (row, memory) = (borrowed(&values), &mut memory_of(&mut words));
        rows.dtype().visit(Counts { row, memory, run: &run })
    }

    /// [`Array::unique_all`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::unique_all`].
    pub fn unique_all(&self, array: &Array<'_>) -> Result<UniqueAll> {
        let (rows, run) = self.one_row("unique_all", array)?;
        let words = rows.words_needed(true, run.threads());
        // The order of the elements and their inverse indices; values, which are copied, with first indices and counts.
        let results = rows.array.len().saturating_mul(2 * rows.dtype().size() + 32);
        run.check_bytes(&[&rows.array], results.saturating_add(8 * words))?;
        let (values, mut words) = (run.values(&rows.array)?, run.memory(DType::UInt64, &[words])?);
        let (row, memory) = (borrowed(&values), &mut memory_of(&mut words));
        let found = rows.dtype().visit(Indices { row, memory, run: &run })?;
        let shape: Vec<isize> = array.shape().iter().map(|&extent| extent as isize).collect();
        let inverse_indices = found.inverse_indices.reshape(&shape)?;
        Ok(UniqueAll { inverse_indices, ..found })
    }

    /// [`Array::isin`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::isin`].
    pub fn isin(&self, array: &Array<'_>, among: &Array<'_>) -> Result<Array<'static>> {
        let (array, among) = (expr::typed(array)?, expr::typed(among)?);
        if array.dtype() != among.dtype() {
            let why = format!("isin: {} among {}", array.dtype(), among.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help("convert one of them by astype"));
        }
        array.has_known_extents("isin")?;
        among.has_known_extents("isin")?;
        let run = self.run(array.len(), among.len());
        run.check_bytes(&[&array], bytes(&among).saturating_add(array.len().saturating_mul(9)))?;
        let sorted = run.part(|part| part.sort(&among.reshape(&[-1])?, 0, false))?;
        if sorted.is_empty() {
            return run.part(|part| part.eval(&Array::zeros(array.shape(), DType::Bool)?));
        }
        let values = run.values(&array)?;
        // Of the elements from here on, only the first can be equal.
        let places = run.part(|part| part.searchsorted(&sorted, &values, false))?;
        let found = sorted.take_by(&places, 0, IndexMode::Clip)?.try_equal(&values)?;
        run.part(|part| part.eval(&found))
    }

    /// The elements of an array as one row, and the run of a function that sorts it.
    fn one_row<'r>(&self, function: &str, array: &Array<'r>) -> Result<(Rows<'r>, ValueRun<'_>)> {
        let array = expr::typed(array)?;
        array.has_known_extents(function)?;
        let rows = Rows::of(function, &array.reshape(&[array.len() as isize])?, 0)?;
        let run = self.run(rows.row, rows.row);
        Ok((rows, run))
    }
}

impl ValueRun<'_> {
    /// An array of elements of one axis.
    fn array_of<T: Elem>(&self, elements: &[T::Store]) -> Result<Array<'static>> {
        let mut array = self.memory(T::DTYPE, &[elements.len()])?;
        written(&mut array).copy_from_slice(bytes_of_stores::<T>(elements));
        Ok(array)
    }
}

/// The distinct elements of a row and their numbers.
struct Counts<'c, 'm> {
    row: &'c [u8],
    memory: &'c mut Memory<'m>,
    run: &'c ValueRun<'c>,
}

impl DTypeVisitor for Counts<'_, '_> {
    type Out = Result<(Array<'static>, Array<'static>)>;

    fn visit<T: Elem>(self) -> Self::Out {
        let row = typed::<T>(self.row).unwrap_or_default();
        let count = |workers: &dyn Workers| -> std::result::Result<Unique<T::Store>, Stopped> {
            broadloom_sort::unique::<T>(row, self.memory, workers)
        };
        let Unique { values, counts } = self.run.with_workers(count)?;
        Ok((self.run.array_of::<T>(&values)?, Array::from_vec(counts)))
    }
}

/// The distinct elements of a row and where they occur.
struct Indices<'i, 'm> {
    row: &'i [u8],
    memory: &'i mut Memory<'m>,
    run: &'i ValueRun<'i>,
}

impl DTypeVisitor for Indices<'_, '_> {
    type Out = Result<UniqueAll>;

    fn visit<T: Elem>(self) -> Self::Out {
        let row = typed::<T>(self.row).unwrap_or_default();
        let find = |workers: &dyn Workers| -> std::result::Result<UniqueIndices<T::Store>, Stopped> {
            broadloom_sort::unique_indices::<T>(row, self.memory, workers)
        };
        let UniqueIndices { values, first, inverse, counts } = self.run.with_workers(find)?;
        Ok(UniqueAll {
            values: self.run.array_of::<T>(&values)?,
            indices: Array::from_vec(first),
            inverse_indices: Array::from_vec(inverse),
            counts: Array::from_vec(counts),
        })
    }
}
