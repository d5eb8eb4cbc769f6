//! Windows of a recurrence for which the states before each block of steps are known.
//!
//! Blocks are numbered in the order in which their steps run, so the first block of a reversed recurrence is at the end of the axis.
//! A window of the outputs begins with the first step of a block: it needs only its own elements of the inputs, and the states
//! before it, which are its initial states.

use std::sync::Arc;

use broadloom_core::node::{RecurrenceNode, StepOrder};
use broadloom_mem::HostFunction;

use super::window::{Window, indices, span};
use crate::array::{Array, Data, Kind, StateBlocks};

/// A value of a recurrence.
pub(super) type RecurrenceValue<'a> = RecurrenceNode<Array<'a>, HostFunction>;

/// The blocks of a recurrence whose outputs are narrowed along its axis; `None` for other nodes, and for recurrences whose
/// states are not known.
pub(super) fn blocks(array: &Array<'_>) -> Option<StateBlocks> {
    match &array.0.kind {
        Kind::Recurrence(of) if !of.is_state() => of.args.first()?.in_memory()?.blocks,
        _ => None,
    }
}

/// Whether two nodes are values of one recurrence.
pub(super) fn is_same(of: &RecurrenceValue<'_>, other: &RecurrenceValue<'_>) -> bool {
    let same = |(a, b): (&Array<'_>, &Array<'_>)| a.is_same(b);
    Arc::ptr_eq(&of.step, &other.step)
        && of.along() == other.along()
        && of.args.len() == other.args.len()
        && of.args.iter().zip(&other.args).all(same)
}

/// Whether the steps run from the last index of the axis to the first.
pub(super) fn is_reversed(of: &RecurrenceValue<'_>) -> bool {
    of.order == StepOrder::Backward
}

/// The number of steps of a recurrence.
pub(super) fn steps(of: &RecurrenceValue<'_>) -> usize {
    let axis = usize::from(of.axis);
    // An extent of 1 is repeated; otherwise the inputs have the same.
    let extents = of.inputs().iter().filter_map(|input| input.shape().get(axis).copied());
    extents.fold(1, |steps, extent| if steps == 1 { extent } else { steps })
}

/// The number of elements of the index space for which `values` elements of this value need the step.
pub(super) fn elements(of: &RecurrenceValue<'_>, values: usize) -> usize {
    if of.is_state() { values.saturating_mul(steps(of)) } else { values }
}

/// Extends a nonempty window of an output, whose axis has `extent` elements, to the first step of its first block.
pub(super) fn widen(window: &mut Window, of: &RecurrenceValue<'_>, extent: usize, blocks: StateBlocks) {
    let axis = usize::from(of.axis);
    let wanted = window.0[axis];
    let mut range = wanted.start..wanted.start + span(wanted);
    if is_reversed(of) {
        range.end = extent - (extent - range.end) / blocks.steps * blocks.steps;
    } else {
        range.start = range.start / blocks.steps * blocks.steps;
    }
    window.0[axis] = indices(range.start, 1, range.len());
}

/// The number of the first block in a window of an output, which [`widen`] has extended.
pub(super) fn first_block(
    window: &Window,
    of: &RecurrenceValue<'_>,
    extent: usize,
    blocks: StateBlocks,
) -> usize {
    let wanted = window.0[usize::from(of.axis)];
    let first = if is_reversed(of) { extent - (wanted.start + wanted.len) } else { wanted.start };
    first / blocks.steps
}

/// The states before a block, given those before the first one.
pub(super) fn states_before<'a>(block: usize, first: &Data<'a>, blocks: StateBlocks) -> Data<'a> {
    let mut layout = first.layout.clone();
    layout.offset += (block * blocks.distance) as isize;
    Data { storage: first.storage.clone(), layout, blocks: None }
}

/// An array in memory as initial states, after which those before the later blocks follow.
pub(super) fn with_blocks<'a>(states: &Array<'a>, blocks: StateBlocks) -> Array<'a> {
    let marked = |data: &Data<'a>| {
        let Data { storage, layout, .. } = data;
        Array::of_data(Data { storage: storage.clone(), layout: layout.clone(), blocks: Some(blocks) })
    };
    states.in_memory().map_or_else(|| states.clone(), marked)
}

/// The value `item` of a recurrence that begins with other states.
pub(super) fn begun_with<'a>(of: &RecurrenceValue<'a>, states: &[Array<'a>], item: usize) -> Kind<'a> {
    let args = states.iter().chain(&of.args[of.states()..]).cloned().collect();
    let (step, functions) = (of.step.clone(), of.functions.clone());
    Kind::Recurrence(Box::new(RecurrenceNode { step, functions, args, item: item as u32, ..*of }))
}

/// The states after the steps of a window. `window` is an output in this window, and `states` are those before it.
pub(super) fn states_after<'a>(window: &Array<'a>, states: &[Array<'a>]) -> Vec<Array<'a>> {
    let Kind::Recurrence(of) = &window.0.kind else { return Vec::new() };
    let next = |(item, before): (usize, &Array<'a>)| {
        Array::of(begun_with(of, states, item), of.step.params[item], before.0.shape.clone())
    };
    states.iter().enumerate().map(next).collect()
}
