//! What broadloom's executors are held to, and nothing that they are built from.
//!
//! In: a function's name and plain values, or a case file's text. Out: the one right result, or rows to run.
//! Must hold: the oracle shares no code with the crates it judges, and does its arithmetic in exact integers,
//! so that it cannot inherit their mistakes (nor the host's floating-point unit).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cases;
#[cfg(feature = "check")]
pub mod conformance;
#[cfg(feature = "check")]
pub mod differential;
#[cfg(feature = "check")]
pub mod elements;
pub mod oracle;
pub mod random;
pub mod reference;
#[cfg(feature = "check")]
mod runner;
pub mod spicy;
#[cfg(feature = "check")]
pub mod stages;
pub mod suite;
mod value;

#[cfg(feature = "check")]
pub use differential::check;
#[cfg(feature = "check")]
pub use runner::Runner;
pub use value::{DTYPES, Value};

#[cfg(all(doctest, feature = "check"))]
#[doc = include_str!("../../../docs/reliability.md")]
struct Reliability;
