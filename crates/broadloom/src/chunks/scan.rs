//! Windows of a scan for which the totals of blocks of 2^level elements are known.
//!
//! A window begins at the beginning of a block, so that it needs only its own elements and the totals of the blocks before it. If
//! a scan includes its initial value, result `i` is the scan of the elements before element `i`, so the indices of the results
//! are higher by one.

use broadloom_core::node::Before;

use super::window::{Window, indices, span};

/// Extends a nonempty window down to the beginning of its first block.
pub(super) fn widen(window: &mut Window, axis: usize, initial: bool, level: u8) {
    let wanted = window.0[axis];
    let front = usize::from(initial);
    let start = match wanted.start.checked_sub(front) {
        Some(element) => (element >> level << level) + front,
        // The window includes the initial element.
        None => 0,
    };
    window.0[axis] = indices(start, 1, wanted.start + span(wanted) - start);
}

/// The window of operand `i` that a window of the scan needs. Operand 0 contains the elements, operand 1 the totals of blocks.
pub(super) fn operand(window: &Window, axis: usize, initial: bool, level: u8, i: usize) -> Window {
    let wanted = window.0[axis];
    let front = usize::from(initial);
    let (start, end) = (wanted.start.saturating_sub(front), wanted.start + wanted.len - front);
    let mut needed = window.clone();
    needed.0[axis] = match i {
        0 => indices(start, 1, end - start),
        _ => indices(0, 1, start >> level),
    };
    needed
}

/// Changes the fields of a scan of all elements to those of a scan of a window: sets the number of blocks before the window, and
/// keeps the initial value only if the window includes it.
pub(super) fn begin<A>(window: &Window, axis: usize, initial: &mut bool, before: &mut Option<Before<A>>) {
    let Some(before) = before else { return };
    let start = window.0[axis].start;
    before.blocks = start.saturating_sub(usize::from(*initial)) >> before.level;
    *initial &= start == 0;
}
