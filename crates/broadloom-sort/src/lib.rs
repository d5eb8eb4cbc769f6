//! Sorting, searching and selecting: one order for every dtype, and one result for any number of threads.
//!
//! # The order
//!
//! bool and integers have their natural order. Floats are ordered −inf … −0, +0 … +inf, NaN; NaNs are ordered by their bits, read
//! as an unsigned integer, so that those with a negative sign are last. [`Direction::Descending`] reverses this order. Equal
//! elements keep the order of their indices in either direction, so that [`argsort`] and [`topk()`] have one result. [`searchsorted`]
//! and [`unique()`] compare values instead, as their modules say.
//!
//! Elements are those in memory, [`Elem::Store`](broadloom_math::Elem::Store). Of a bool, any byte but 0 is true, and a sorted row
//! has 1 for it.
//!
//! # How it is computed
//!
//! Elements are mapped to unsigned keys whose order is theirs. Short rows are sorted by std's sort, rows of 8 bits
//! and long ones of 16 bits by counting, and others by a radix sort of as many leading bits as tell most keys apart, after which
//! few items are moved by an insertion sort. A row that leaves the caches is first divided into buckets. Worst
//! cases end in std's sort, which takes time n log n.
//!
//! The crate has a radix sort of its own, because none of the libraries has what is asked. At 1e7 float64, of which NumPy sorts
//! the values in 155 ms and the indices in 1330 ms, on one thread:
//!
//! | sort | values | with indices |
//! | --- | --- | --- |
//! | this crate | 157 ms | 299 ms |
//! | `std`, unstable | 485 ms | 814 ms |
//! | `glidesort` 0.1 | 631 ms | – |
//! | `rdst` 0.20 | 544 ms | not stable |
//! | `voracious_radix_sort` 1.2 | 750 ms | stable on one thread alone |
//! | `radsort` 0.1 | 1035 ms | 1428 ms |
//!
//! int32 take 110 ms, and NumPy with AVX-512 76 ms. Libraries with threads take them from rayon's pool, and not from the caller.
//!
//! # Threads
//!
//! Threads belong to the caller, who lends them as [`Workers`].
//!
//! ```
//! use broadloom_sort::{Alone, Direction, Memory, argsort, sort};
//!
//! let (mut memory, values) = (Memory::default(), [2.0, f64::NAN, -0.0, 0.0]);
//! let (mut indices, mut sorted) = ([0; 4], [0.0; 4]);
//! argsort::<f64>(&values, 4, Direction::Descending, &mut indices, &mut memory, &Alone)?;
//! assert_eq!(indices, [1, 0, 3, 2]);
//! sort::<f64>(&values, 4, Direction::Ascending, &mut sorted, &mut memory, &Alone)?;
//! assert_eq!(sorted.map(f64::to_bits), [-0.0, 0.0, 2.0, f64::NAN].map(f64::to_bits));
//! # Ok::<(), broadloom_sort::Stopped>(())
//! ```
#![forbid(unsafe_code)]

mod bucket;
mod chain;
mod counting;
mod item;
mod order;
mod partition;
mod search;
mod select;
mod sort;
mod topk;
mod unique;
mod workers;

pub use item::{Memory, zeros};
pub use order::Direction;
pub use search::{Side, searchsorted};
pub use select::Selection;
pub use sort::{argsort, sort, words_needed};
pub use topk::{bytes_of_candidates, topk};
pub use unique::{Unique, UniqueIndices, unique, unique_indices};
pub use workers::{Alone, Stopped, Workers, for_each};
