//! Sorting.
#![forbid(unsafe_code)]

mod bucket;
mod counting;
mod item;
mod order;
mod partition;
mod sort;
mod workers;

pub use item::Memory;
pub use order::Direction;
pub use sort::{argsort, sort};
pub use workers::{Alone, Stopped, Workers};
