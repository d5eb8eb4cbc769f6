//! Reductions of elements by label: the elements of one label are a segment, and each segment has a result.
//!
//! A result has the bits of the reduction of its segment alone, whose elements are numbered in the order of the array. Elements
//! that are sorted by label are contiguous already ([`runs`]). Few other segments of floats are [streams], of which each keeps nodes of
//! the canonical order. The elements of many segments are moved to contiguous memory first ([`buckets`]). Rows of several elements
//! are gathered by their numbers ([`columns`]). Whatever may be merged in any order has one accumulator per segment ([`free`]).

mod buckets;
mod columns;
mod free;
mod histogram;
mod labels;
mod runs;
mod short;
mod streams;

use broadloom_ir::{DType, Reduction};
use broadloom_math::{Kind, f16};
use broadloom_sort::Workers;

use crate::combine::{All, Any, Max, Min, Prod, Sum};
use crate::partial::{method, nothing, refused};
use crate::state::{elements, elements_mut};
use crate::vectors::{CombineVectors, Vectors};

pub use histogram::{count_in_bins, histogram_bytes};
pub use labels::{Labels, SegmentError};

/// Segments of floats are streams if there are at most this many: their buffers and the nodes in use fit a second-level cache.
const FEW: usize = 1024;
/// A stream pays if its segment has at least this many elements on average, since its buffer and its nodes are cleared first.
const PER_STREAM: usize = 16;

/// The rows that are reduced, one for each label.
#[derive(Clone, Copy)]
pub struct LabelledRows<'e> {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The elements, `[n][width]` for n labels, aligned for the dtype.
    pub elements: &'e [u8],
    /// The number of elements of a row.
    pub width: usize,
}

/// Reduces the rows of each label to one row: `out` is `[segments][width]`.
///
/// Of no elements, the result is [`Reduction::of_nothing`], or the lowest value for a maximum and the highest for a minimum.
///
/// Elements may be moved to `memory`, whose contents are unspecified then; other memory is allocated if it has fewer words than
/// [`segment_words`].
///
/// # Errors
/// The variants of [`SegmentError`].
///
/// # Panics
/// If the bytes are not aligned for the dtype, or are not as many as rows of `width` elements take.
pub fn reduce_segments(
    reduction: Reduction,
    rows: LabelledRows<'_>,
    labels: &Labels<'_>,
    out: &mut [u8],
    memory: &mut [u64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    let LabelledRows { dtype, elements, width } = rows;
    let is_index = matches!(reduction, Reduction::ArgMax | Reduction::ArgMin);
    let row = width * dtype.size();
    method(reduction, dtype)?;
    assert_eq!(labels.len().checked_mul(row), Some(elements.len()), "a row for each label");
    assert_eq!(labels.segments().checked_mul(row), Some(out.len()), "a row for each segment");
    let done = match width {
        _ if out.is_empty() => labels.check(workers),
        _ if width == 1 || is_index => {
            nothing(reduction, dtype, out);
            reduce_elements(reduction, dtype, elements, labels, out, memory, workers)
        }
        _ => columns::reduce(reduction, dtype, elements, width, labels, out, workers),
    };
    done.map_err(|error| labels.first_of(error))
}

/// The number of elements of each segment.
///
/// # Errors
/// The variants of [`SegmentError`].
///
/// # Panics
/// If `out` does not have an element for each segment.
pub fn count_segments(
    labels: &Labels<'_>,
    out: &mut [i64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    assert_eq!(labels.segments(), out.len(), "a count for each segment");
    free::count(labels, out, workers).map_err(|error| labels.first_of(error))
}

/// Whether segments of floats are streams.
fn are_streams(n: usize, segments: usize) -> bool {
    segments <= FEW && n >= PER_STREAM * segments
}

/// The number of words of the memory to which a reduction of `n` rows may move elements.
pub fn segment_words(reduction: Reduction, dtype: DType, n: usize, width: usize, segments: usize) -> usize {
    let is_ordered = matches!(reduction, Reduction::Sum | Reduction::Prod) && dtype.kind() == Kind::Float;
    if is_ordered && width == 1 && !are_streams(n, segments) { buckets::words(dtype.size(), n) } else { 0 }
}

/// The approximate number of bytes that a reduction of `n` rows needs beside its operands and its result.
pub fn segment_bytes(dtype: DType, n: usize, width: usize, segments: usize, threads: usize) -> usize {
    let size = dtype.size();
    let moved = match width {
        1 => n.saturating_mul(2 * size + 2),
        _ => n.saturating_mul(size_of::<usize>()),
    };
    let streams = streams::bytes(size, n, segments.min(FEW)).saturating_mul(threads);
    let accumulators = segments.saturating_mul(size_of::<u64>().saturating_mul(threads));
    moved.saturating_add(streams).saturating_add(accumulators)
}

/// Reduces the elements of each label to one element. The outputs of segments without elements may be left as they are.
fn reduce_elements(
    reduction: Reduction,
    dtype: DType,
    from: &[u8],
    labels: &Labels<'_>,
    out: &mut [u8],
    memory: &mut [u64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    macro_rules! by {
        (in_order $combine:ident $t:ty) => {
            in_order::<$combine, $t>(elements::<$t>(from), labels, elements_mut::<$t>(out), memory, workers)
        };
        (in_any_order $combine:ident $t:ty) => {
            free::reduce::<$combine, $t>(elements::<$t>(from), labels, elements_mut::<$t>(out), workers)
        };
    }
    /// Reduces elements of `dtype`, which must not be bool, in any order.
    macro_rules! of_numbers {
        ($combine:ident: $($variant:ident $t:ty),*) => {
            match dtype {
                $(DType::$variant => by!(in_any_order $combine $t),)*
                DType::Bool => Err(refused(reduction, dtype).into()),
            }
        };
        ($combine:ident) => {
            of_numbers!($combine: Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
                Float16 f16, Float32 f32, Float64 f64)
        };
    }
    match (reduction, dtype) {
        (Reduction::Sum, DType::Float32) => by!(in_order Sum f32),
        (Reduction::Sum, DType::Float64) => by!(in_order Sum f64),
        (Reduction::Prod, DType::Float32) => by!(in_order Prod f32),
        (Reduction::Prod, DType::Float64) => by!(in_order Prod f64),
        (Reduction::Sum, DType::Int64 | DType::UInt64) => by!(in_any_order Sum u64),
        (Reduction::Prod, DType::Int64 | DType::UInt64) => by!(in_any_order Prod u64),
        (Reduction::Max, _) => of_numbers!(Max),
        (Reduction::Min, _) => of_numbers!(Min),
        (Reduction::Any, DType::Bool) => by!(in_any_order Any bool),
        (Reduction::All, DType::Bool) => by!(in_any_order All bool),
        _ => Err(refused(reduction, dtype).into()),
    }
}

/// Reduces segments whose results depend on the order of the elements.
fn in_order<F: CombineVectors<T>, T: Vectors>(
    elements: &[T],
    labels: &Labels<'_>,
    out: &mut [T],
    memory: &mut [u64],
    workers: &dyn Workers,
) -> Result<(), SegmentError> {
    if runs::reduce::<F, T>(elements, labels, out, workers)? {
        return Ok(());
    }
    if are_streams(labels.len(), labels.segments()) {
        return streams::reduce::<F, T>(elements, labels, out, workers);
    }
    buckets::reduce::<F, T>(elements, labels, out, memory, workers)
}
