//! What broadloom is timed on, and how.
//!
//! In: a workload of [`WORKLOADS`], a dtype, a size. Out: a [`Row`]: what an element costs, by broadloom and by a plain
//! Rust loop over the same memory, and what the machine copies meanwhile. Must hold: what is timed was compared with
//! the loop's results first; ours, the loop and the copy take turns, so that the machine's moods meet all of them.
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
pub mod hostile;
mod layouts;
pub mod loops;
pub mod peak;
mod problem;
mod row;
mod workload;

pub use column::{Cell, Column, Slice, SliceMut};
pub use problem::{Problem, Roots, Sweep, sweep};
pub use row::{BenchError, Row, Settings, run};
pub use workload::{WORKLOADS, Workload, workload};
