//! Reductions in the canonical order, and scans, of elements that an executor has computed.
//!
//! Elements are numbered in C order of the reduced axes. Element i belongs to lane i mod [`LANES`]. The elements of a lane are
//! reduced in adjacent pairs, level by level; a last element without a partner is carried up unchanged. Then the lanes are
//! reduced in the same way. The bits of a sum therefore depend only on its elements and their number
//! ([`broadloom_ir::canonical`]). An engine lets executors compute elements, or nodes of that order, and pushes them into a
//! [`Partial`]. [`Partial::append`] merges the partials of consecutive ranges, which may begin anywhere.
//!
//! ```
//! use broadloom_ir::{DType, Reduction};
//! use broadloom_mem::{bytes_of, bytes_of_mut};
//! use broadloom_reduce::Partial;
//!
//! let elements = [0.1_f64, 0.2, 0.3, 0.4, 0.5];
//! let mut sum = Partial::new(Reduction::Sum, DType::Float64, 1, 0)?;
//! sum.push(bytes_of(&elements[..2]));
//! let mut later = Partial::new(Reduction::Sum, DType::Float64, 1, 2)?;
//! later.push(bytes_of(&elements[2..]));
//! sum.append(later)?;
//! let mut out = [0.0_f64];
//! sum.finish(bytes_of_mut(&mut out));
//! assert_eq!(out[0], ((0.1 + 0.2) + (0.3 + 0.4)) + 0.5);
//! # Ok::<(), broadloom_ir::Error>(())
//! ```
#![forbid(unsafe_code)]

mod combine;
mod each;
mod free;
mod index;
mod method;
mod partial;
mod scan;
mod segments;
mod state;
mod tree;
mod vectors;
mod whole;

pub use partial::Partial;
pub use scan::ScanState;
pub use segments::{
    LabelledRows, Labels, SegmentError, count_in_bins, count_segments, histogram_bytes, reduce_segments,
    segment_bytes, segment_words,
};
pub use whole::{reduce_each, reduce_rows};

pub use broadloom_ir::canonical::LANES;
