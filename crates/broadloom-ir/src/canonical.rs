//! The canonical order: how the elements of a sum or a product are numbered, and in which pairs they are combined.
//!
//! Elements are numbered in C order of the reduced axes, and [`LANES`] of them, from a multiple of it on, are a row. Rows are combined
//! lane by lane, neighbours first: an aligned subtree of 2^k rows becomes a *node*, which is one row. At the end the lanes of the last
//! node are combined in the same way. So the bits depend on the elements and their number alone, and whoever combines whole nodes
//! (machine code in registers, folds of memory, partial results of threads) may begin at any multiple of their rows.

use std::ops::Range;

/// The elements of a row.
pub const LANES: usize = 16;

/// After each of 2^`level` rows that come one after the other, how many pairs of nodes are combined: as often as a binary counter
/// carries. The last two nodes are combined each time, and at the end one is left.
///
/// ```
/// use broadloom_ir::canonical;
///
/// // Four rows: the second is combined with the first, the fourth with the third, and then both pairs.
/// assert!(canonical::carries(2).eq([0, 1, 0, 2]));
/// ```
pub fn carries(level: u8) -> impl Iterator<Item = u32> {
    (1_u64..=1 << level).map(u64::trailing_zeros)
}

/// A range of numbered elements as nodes of 2^`level` rows between two parts of less than such a node: before the first multiple
/// of its elements, and behind the last.
///
/// ```
/// use broadloom_ir::canonical;
///
/// // Of nodes of two rows, which have 32 elements.
/// assert_eq!(canonical::nodes(20..100, 1), [20..32, 32..96, 96..100]);
/// assert_eq!(canonical::nodes(20..30, 1), [20..30, 30..30, 30..30]);
/// ```
pub fn nodes(numbers: Range<u64>, level: u8) -> [Range<u64>; 3] {
    let node = (LANES as u64) << level;
    let first = numbers.start.next_multiple_of(node).min(numbers.end);
    let last = (numbers.end / node * node).max(first);
    [numbers.start..first, first..last, last..numbers.end]
}
