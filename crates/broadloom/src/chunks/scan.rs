//! Windows of a scan for which the totals of blocks of 2^level elements are known.
//!
//! A window begins at a block, so that it needs its own elements and the totals of the blocks before it. With the initial
//! element, result i is the scan of the elements before element i.

use broadloom_core::node::Before;

use super::window::{Window, indices, span};

/// Extends a window, which is not empty, down to the beginning of a block.
pub(super) fn widen(window: &mut Window, axis: usize, initial: bool, level: u8) {
    let wanted = window.0[axis];
    let front = usize::from(initial);
    let start = match wanted.start.checked_sub(front) {
        Some(element) => (element >> level << level) + front,
        // The window begins with the initial element.
        None => 0,
    };
    window.0[axis] = indices(start, 1, wanted.start + span(wanted) - start);
}

/// The window of operand `i` that a window of the scan needs. Operand 0 is the elements, operand 1 the totals.
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

/// Converts the scan of all elements to the scan of a window: it continues after the blocks before the window, and has the
/// initial element only if the window does.
pub(super) fn begin<A>(window: &Window, axis: usize, initial: &mut bool, before: &mut Option<Before<A>>) {
    let Some(before) = before else { return };
    let start = window.0[axis].start;
    before.blocks = start.saturating_sub(usize::from(*initial)) >> before.level;
    *initial &= start == 0;
}
