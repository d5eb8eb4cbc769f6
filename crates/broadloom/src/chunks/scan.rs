//! Windows of a scan of which the totals of blocks of 2^level elements are known.
//!
//! A window begins at a block, so that it needs its own elements and the totals of the blocks before. With the initial element,
//! result i is the scan of the elements before element i.

use broadloom_core::node::Before;

use super::window::{Window, indices, span};

/// Extends a window, which has elements, down to the beginning of a block.
pub(super) fn widen(window: &mut Window, axis: usize, initial: bool, level: u8) {
    let wanted = window.0[axis];
    let front = usize::from(initial);
    let start = match wanted.start.checked_sub(front) {
        Some(element) => (element >> level << level) + front,
        // From the initial element on.
        None => 0,
    };
    window.0[axis] = indices(start, 1, wanted.start + span(wanted) - start);
}

/// The window of an operand that a window of the scan needs: the elements are operand 0, the totals operand 1.
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

/// Makes the scan of a window from that of all elements: blocks are before it, and it has the initial element only if the window
/// does.
pub(super) fn begin<A>(window: &Window, axis: usize, initial: &mut bool, before: &mut Option<Before<A>>) {
    let Some(before) = before else { return };
    let start = window.0[axis].start;
    before.blocks = start.saturating_sub(usize::from(*initial)) >> before.level;
    *initial &= start == 0;
}
