//! Finds the leaves of expressions: arrays in memory, kernel inputs, generated numbers and literals.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::lower::memo::Memo;

/// Visits the leaves of the roots from left to right. Each node is visited once, and the walk does not recurse.
pub(crate) fn visit_leaves<'e, 'a>(roots: &[&'e Array<'a>], visit: &mut dyn FnMut(&'e Leaf<'a>)) {
    // Only a node with several references, or one of several roots, can be reached twice.
    let mut visited: Memo<usize, ()> = Memo::new();
    let mut pending: SmallVec<[&Array<'_>; 16]> = roots.iter().rev().copied().collect();
    while let Some(array) = pending.pop() {
        if Arc::strong_count(&array.0) > 1 || roots.len() > 1 {
            let address = Arc::as_ptr(&array.0).addr();
            if visited.get(&address).is_some() {
                continue;
            }
            visited.insert(address, ());
        }
        match &array.0.kind {
            Kind::Leaf(leaf) => visit(leaf),
            kind => pending.extend(kind.operands().rev()),
        }
    }
}
