//! The distinct elements of an array, whose values are computed, and whether elements occur in another array.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{bytes_of_stores, typed, typed_mut};
use broadloom_sort::{Memory, Stopped, Unique, UniqueIndices, Workers};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::take::IndexMode;
use crate::value_run::{ValueRun, borrowed, written};

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

impl<'a> Array<'a> {
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
    /// equals nothing.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for different dtypes; [`ErrorKind::Shape`] for open extents of `among`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let found = Array::from([1, 5, 2]).isin(&Array::from([2, 1]))?;
    /// assert_eq!(found.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn isin(&self, among: &Array<'a>) -> Result<Array<'a>> {
        let (array, among) = (expr::typed(self)?, expr::typed(among)?);
        if array.dtype() != among.dtype() {
            let why = format!("isin: {} among {}", array.dtype(), among.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help("convert one of them by astype"));
        }
        among.has_known_extents("isin")?;
        if among.is_empty() {
            array.has_known_extents("isin")?;
            return Array::zeros(array.shape(), DType::Bool);
        }
        let sorted = among.reshape(&[-1])?.sort(0, false)?;
        // Of the elements from here on, only the first can be equal.
        let places = sorted.searchsorted(&array, false)?;
        sorted.take_by(&places, 0, IndexMode::Clip)?.try_equal(&array)
    }
}

impl Evaluation<'_> {
    /// [`Array::unique_counts`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::unique_counts`].
    pub fn unique_counts(&self, array: &Array<'_>) -> Result<(Array<'static>, Array<'static>)> {
        let (row, run) = self.one_row("unique_counts", array)?;
        let dtype = row.dtype();
        let words = words_needed(&row, false, run.threads());
        // Values are sorted, and copied with their counts.
        let results = row.len().saturating_mul(2 * dtype.size() + 8);
        run.check_bytes(&[&row], results.saturating_add(8 * words))?;
        let (values, mut words) = (run.values(&row)?, run.memory(DType::UInt64, &[words])?);
        let (row, memory) = (borrowed(&values), &mut memory_of(&mut words));
        dtype.visit(Counts { row, memory, run: &run })
    }

    /// [`Array::unique_all`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::unique_all`].
    pub fn unique_all(&self, array: &Array<'_>) -> Result<UniqueAll> {
        let (row, run) = self.one_row("unique_all", array)?;
        let dtype = row.dtype();
        let words = words_needed(&row, true, run.threads());
        // The order of the elements and their inverse indices; values, which are copied, with first indices and counts.
        let results = row.len().saturating_mul(2 * dtype.size() + 32);
        run.check_bytes(&[&row], results.saturating_add(8 * words))?;
        let (values, mut words) = (run.values(&row)?, run.memory(DType::UInt64, &[words])?);
        let (row, memory) = (borrowed(&values), &mut memory_of(&mut words));
        let found = dtype.visit(Indices { row, memory, run: &run })?;
        let shape: Vec<isize> = array.shape().iter().map(|&extent| extent as isize).collect();
        let inverse_indices = found.inverse_indices.reshape(&shape)?;
        Ok(UniqueAll { inverse_indices, ..found })
    }

    /// The elements of an array as one row, and the run of a function that sorts it.
    fn one_row<'r>(&self, function: &str, array: &Array<'r>) -> Result<(Array<'r>, ValueRun<'_>)> {
        let array = expr::typed(array)?;
        array.has_known_extents(function)?;
        let count = array.len();
        let row = array.reshape(&[count as isize])?;
        Ok((row, self.run(count, count)))
    }
}

/// The memory of a sort, in words that [`ValueRun::memory`] returned.
fn memory_of<'w>(words: &'w mut Array<'static>) -> Memory<'w> {
    Memory::lent(typed_mut::<u64>(written(words)).unwrap_or_default())
}

/// The words of 8 bytes that a sort of an array needs beside values and indices.
fn words_needed(array: &Array<'_>, with_indices: bool, threads: usize) -> usize {
    broadloom_sort::words_needed(array.dtype(), array.len(), with_indices, threads)
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
