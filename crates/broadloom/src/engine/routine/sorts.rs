//! Sorts, searches and histograms.

use broadloom_core::{DType, Error, ErrorKind};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{typed, typed_mut};
use broadloom_reduce::{SegmentError, count_in_bins, histogram_bytes};
use broadloom_sort::{Direction, Memory, Side, Stopped, Workers};

use crate::engine::lent::Ended;
use crate::engine::memory::buffer;
use crate::engine::routine::call::{CallMemory, RoutineCall};

fn direction(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

impl RoutineCall<'_> {
    /// The number of elements along the last axis of the first operand.
    pub(super) fn row(&self) -> usize {
        self.shape(0).last().copied().unwrap_or(1)
    }

    /// The words of 8 bytes that a sort takes beside its operand and its result.
    pub(super) fn words(&self, with_indices: bool, threads: usize) -> usize {
        broadloom_sort::words_needed(self.dtype(0), self.row(), with_indices, threads)
    }

    /// Sorts the elements along the last axis, or their indices.
    pub(super) fn sort(
        &self,
        descending: bool,
        with_indices: bool,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> Result<(), Ended> {
        let (row, dtype) = (self.row(), self.dtype(0));
        let values = memory.tables[0].bytes();
        let Some(Some(out)) = memory.results.first_mut() else { return Ok(()) };
        if row == 0 {
            return Ok(());
        }
        let mut own = buffer(memory.pool, 8 * self.words(with_indices, workers.threads()))?;
        let words = own.as_bytes_mut().and_then(typed_mut::<u64>).unwrap_or_default();
        let rows = Rows { values, row, direction: direction(descending) };
        let done = dtype.visit(Sort { rows, with_indices, out, memory: &mut Memory::lent(words), workers });
        memory.pool.give(own);
        Ok(done?)
    }

    /// The first elements along the last axis, and their indices.
    pub(super) fn topk(
        &self,
        k: usize,
        largest: bool,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> Result<(), Ended> {
        let (row, dtype, pool) = (self.row(), self.dtype(0), memory.pool);
        if row == 0 {
            return Ok(());
        }
        let rows = Rows { values: memory.tables[0].bytes(), row, direction: direction(largest) };
        let count = self.elements(0) / row * k;
        // The function writes both results, also if only one of them is asked for.
        memory.results.resize_with(2, || None);
        let mut own = [Vec::new(), Vec::new()];
        for ((result, own), size) in memory.results.iter().zip(&mut own).zip([dtype.size(), 8]) {
            if result.is_none() {
                own.push(buffer(pool, count * size)?);
            }
        }
        let [own_values, own_indices] = &mut own;
        let (given_values, given_indices) = memory.results.split_at_mut(1);
        let values = written(&mut given_values[0], own_values);
        let indices = written(&mut given_indices[0], own_indices);
        let done = dtype.visit(TopK { rows, k, to: (values, indices), workers });
        own.into_iter().flatten().for_each(|buffer| pool.give(buffer));
        Ok(done?)
    }

    /// The index of each query in sorted elements.
    pub(super) fn search(
        &self,
        right: bool,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> Result<(), Ended> {
        let Some(Some(places)) = memory.results.first_mut() else { return Ok(()) };
        let (sorted, queries) = (memory.tables[0].bytes(), memory.tables[1].bytes());
        let side = if right { Side::Right } else { Side::Left };
        Ok(self.dtype(0).visit(Search { sorted, queries, side, places, workers })?)
    }

    /// The bytes that a histogram takes beside its operands and its result.
    pub(super) fn bin_bytes(&self, threads: usize) -> usize {
        histogram_bytes(self.elements(1).saturating_sub(1), threads)
    }

    /// The number of elements between edges.
    pub(super) fn histogram(&self, memory: &mut CallMemory<'_>, workers: &dyn Workers) -> Result<(), Ended> {
        let Some(Some(counts)) = memory.results.first_mut() else { return Ok(()) };
        let (from, edges) = (memory.tables[0].bytes(), memory.tables[1].bytes());
        if !ascend(self.dtype(1), edges) {
            return Err(Error::new(ErrorKind::Literal, "histogram: the edges do not ascend").into());
        }
        let to = typed_mut::<i64>(counts).unwrap_or_default();
        count_in_bins(self.dtype(0), from, edges, to, workers).map_err(|error| match error {
            SegmentError::Stopped(why) => Ended::Stopped(why),
            SegmentError::Refused(error) => Ended::Failed(error),
            SegmentError::Label(at) => {
                Error::new(ErrorKind::Internal, format!("histogram: a label at [{at}]")).into()
            }
        })
    }
}

/// Whether no edge is below the one before it. NaN is no edge.
fn ascend(dtype: DType, edges: &[u8]) -> bool {
    match dtype {
        DType::Float64 => typed::<f64>(edges).is_some_and(<[f64]>::is_sorted),
        DType::Float32 => typed::<f32>(edges).is_some_and(<[f32]>::is_sorted),
        DType::Int64 => typed::<i64>(edges).is_some_and(<[i64]>::is_sorted),
        DType::UInt64 => typed::<u64>(edges).is_some_and(<[u64]>::is_sorted),
        _ => false,
    }
}

/// The memory of a result: that of the caller, or else a buffer.
fn written<'w>(given: &'w mut Option<&mut [u8]>, own: &'w mut [broadloom_mem::Buffer]) -> &'w mut [u8] {
    match (given, own) {
        (Some(given), _) => given,
        (None, [own, ..]) => own.as_bytes_mut().unwrap_or_default(),
        (None, []) => &mut [],
    }
}

/// Rows that are sorted.
struct Rows<'r> {
    values: &'r [u8],
    /// The number of elements of a row.
    row: usize,
    direction: Direction,
}

/// A sort of rows, or of their indices.
struct Sort<'s, 'm> {
    rows: Rows<'s>,
    with_indices: bool,
    out: &'s mut [u8],
    memory: &'s mut Memory<'m>,
    workers: &'s dyn Workers,
}

impl DTypeVisitor for Sort<'_, '_> {
    type Out = Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let Sort { rows: Rows { values, row, direction }, with_indices, out, memory, workers } = self;
        let values = typed::<T>(values).unwrap_or_default();
        if with_indices {
            let indices = typed_mut::<i64>(out).unwrap_or_default();
            return broadloom_sort::argsort::<T>(values, row, direction, indices, memory, workers);
        }
        let sorted = typed_mut::<T>(out).unwrap_or_default();
        broadloom_sort::sort::<T>(values, row, direction, sorted, memory, workers)
    }
}

/// The first elements of rows, and their indices.
struct TopK<'t> {
    rows: Rows<'t>,
    k: usize,
    to: (&'t mut [u8], &'t mut [u8]),
    workers: &'t dyn Workers,
}

impl DTypeVisitor for TopK<'_> {
    type Out = Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let Rows { values, row, direction } = self.rows;
        let values = typed::<T>(values).unwrap_or_default();
        let (first, indices) = self.to;
        let to = (typed_mut::<T>(first).unwrap_or_default(), typed_mut::<i64>(indices).unwrap_or_default());
        broadloom_sort::topk::<T>(values, row, self.k, direction, to, self.workers)
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
    type Out = Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let (sorted, queries) =
            (typed::<T>(self.sorted).unwrap_or_default(), typed::<T>(self.queries).unwrap_or_default());
        let places = typed_mut::<i64>(self.places).unwrap_or_default();
        broadloom_sort::searchsorted::<T>(sorted, queries, self.side, places, self.workers)
    }
}
