//! The canonical order of reductions, which defines how the elements of a sum or a product are numbered, and which pairs of them
//! are added or multiplied.
//!
//! The elements of a reduction are numbered in C order of the reduced axes. A *row* is a sequence of [`LANES`] consecutive
//! elements, the first of which has a number that is a multiple of [`LANES`]. Rows are reduced lane by lane, as a binary tree of
//! adjacent pairs: the result of an aligned subtree of 2^k rows is a *node* of level k, which has as many lanes as a row. At the
//! end the lanes of the last node are reduced in the same way. The bits of the result therefore depend only on the elements and
//! their number, and code that reduces whole nodes (machine code in registers, reductions from memory, partial results of
//! threads) may begin at any multiple of the number of rows in a node.

use std::ops::Range;

/// The number of elements in a row, and of lanes in a node.
pub const LANES: usize = 16;

/// For each of 2^`level` consecutive rows, the number of merges after the row was added to the tree, which is the number of
/// carries when a binary counter is incremented. Each merge replaces the last two nodes by one; at the end one node is left.
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

/// Splits a range of element numbers into three: the part before the first whole node of 2^`level` rows, the whole nodes, and the
/// part after the last whole node.
///
/// ```
/// use broadloom_ir::canonical;
///
/// // Nodes of level 1 consist of two rows, which have 32 elements.
/// assert_eq!(canonical::nodes(20..100, 1), [20..32, 32..96, 96..100]);
/// assert_eq!(canonical::nodes(20..30, 1), [20..30, 30..30, 30..30]);
/// ```
pub fn nodes(numbers: Range<u64>, level: u8) -> [Range<u64>; 3] {
    let node = (LANES as u64) << level;
    let first = numbers.start.next_multiple_of(node).min(numbers.end);
    let last = (numbers.end / node * node).max(first);
    [numbers.start..first, first..last, last..numbers.end]
}
