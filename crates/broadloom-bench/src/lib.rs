//! Benchmarks of broadloom: workloads, the plain loops with which they are compared, and the timing.
//!
//! [`run`] measures a workload for a dtype and a size. Each [`Measurement`] that it returns contains the time per element of
//! broadloom and of a plain Rust loop over the same memory, and the machine's copy bandwidth at the same time. Results are compared
//! with the loop's before they are timed. All contenders alternate, so that a slow phase of the machine affects all of them.
//!
//! ```
//! use broadloom_bench::{Settings, run, workload};
//!
//! let triad = workload("triad").expect("in the table");
//! let settings = Settings { budget: std::time::Duration::from_millis(1), ..Settings::default() };
//! let rows = run(triad, triad.dtypes[0], 100, &settings)?;
//! assert!(rows[0].ns_per_elem > 0.0);
//! # Ok::<(), broadloom_bench::BenchError>(())
//! ```
#![forbid(unsafe_code)]

pub mod by_hand;
pub mod clock;
mod column;
mod float;
pub mod hostile;
mod layouts;
pub mod loops;
pub mod peak;
mod problem;
mod row;
mod workload;

pub use column::{Cell, NumberColumn, Placed, Slice, SliceMut};
pub use problem::{Problem, Roots, Sweep, sweep};
pub use row::{BenchError, Measurement, Settings, run};
pub use workload::{WORKLOADS, Workload, workload};
