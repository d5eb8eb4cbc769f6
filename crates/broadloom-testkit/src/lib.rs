//! The test kit for broadloom's executors: an oracle with the right results of every function, case files, random programs, and a
//! test suite for executors.
//!
//! The oracle shares no code with the crates that it judges, and computes with exact integers. It therefore has neither their
//! errors nor those of the target's floating-point unit.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cases;
#[cfg(feature = "check")]
pub mod conformance;
#[cfg(feature = "check")]
pub mod differential;
pub mod edge_cases;
mod effort;
#[cfg(feature = "check")]
pub mod elements;
#[cfg(feature = "check")]
pub mod gradients;
pub mod oracle;
pub mod random;
pub mod reduction;
pub mod reference;
mod rng;
#[cfg(feature = "check")]
mod runner;
#[cfg(feature = "check")]
pub mod stages;
pub mod suite;
mod tensor;
mod value;

#[cfg(feature = "check")]
pub use differential::check;
pub use effort::one_of;
#[cfg(feature = "check")]
pub use runner::Runner;
pub use value::{DTYPES, Value};

#[cfg(all(doctest, feature = "check"))]
#[doc = include_str!("../../../docs/reliability.md")]
struct Reliability;
