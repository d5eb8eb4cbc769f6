//! Recurrences in reverse with less memory: the states before some √n blocks of steps are kept, and those before the steps of a block
//! are computed again when its adjoints are.
//!
//! The steps are those of recurrences over the whole axis, which are made first and then run over the blocks. Every value therefore
//! has the bits that it has if all states are stored.

use std::ops::Range;
use std::sync::Arc;

use broadloom_core::node::{Region, StepOrder};
use broadloom_core::{Error, ErrorKind, Result};

use super::linear::refused;
use super::regions::HandleRecurrence;
use crate::array::{Array, Kind};
use crate::expr;
use crate::marks::Marks;
use crate::scan::item;

/// The maximum number of blocks, each of which is a part of the expression. Blocks of more than a million steps are longer.
const MOST_BLOCKS: usize = 1024;

/// The blocks of steps, as ranges of the axis in the order of the steps. `None` if all states are stored: the recurrence is not
/// checkpointed, or has too few steps.
pub(super) fn blocks(of: &HandleRecurrence<'_>) -> Result<Option<Vec<Range<usize>>>> {
    let Some(input) = of.inputs().first().filter(|_| Marks::current().is_checkpointed) else {
        return Ok(None);
    };
    if of.args.iter().any(|x| x.dims().is_some()) {
        let why = "its states cannot be computed again in blocks of steps, since extents are open";
        return Err(refused(of.function(), why).with_help(
            "give the inputs of the kernel numbers as extents, or store the states (without `checkpoint`)",
        ));
    }
    let steps = input.shape()[usize::from(of.axis)];
    let root = steps.isqrt();
    let length = (root + usize::from(root * root < steps)).max(steps.div_ceil(MOST_BLOCKS)).max(1);
    let block = |start: usize| start..steps.min(start + length);
    let blocks: Vec<Range<usize>> = (0..steps).step_by(length).map(block).collect();
    let in_order = |block: Range<usize>| match of.order {
        StepOrder::Backward => steps - block.end..steps - block.start,
        _ => block,
    };
    Ok((blocks.len() > 1).then(|| blocks.into_iter().map(in_order).collect()))
}

/// The last adjoints and the contributions of a recurrence in reverse, block by block. `stored` are the states before each step of
/// the whole axis, `adjoints` the last adjoints, which the recurrence in reverse computes from these; neither is evaluated. Among
/// the inputs of that recurrence, the states begin at number `at`.
pub(super) fn in_blocks<'a>(
    stored: &[Array<'a>],
    adjoints: &[Array<'a>],
    at: usize,
    blocks: &[Range<usize>],
) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
    let (storing, back) = (recurrence(stored)?, recurrence(adjoints)?);
    let without_outputs = Arc::new(Region { outputs: Vec::new(), ..(*storing.step).clone() });
    let keeping = HandleRecurrence { step: without_outputs, ..storing.clone() };
    let mut before = vec![storing.args[..storing.states()].to_vec()];
    for (i, block) in blocks[..blocks.len() - 1].iter().enumerate() {
        let (last, _) = values(&within(&keeping, &before[i], block, None)?)?;
        before.push(last);
    }
    let mut last = back.args[..back.states()].to_vec();
    let mut contributions = vec![Vec::with_capacity(blocks.len()); back.items() - back.states()];
    for (block, before) in blocks.iter().zip(&before).rev() {
        let (_, stored) = values(&within(storing, before, block, None)?)?;
        let (next, outputs) = values(&within(back, &last, block, Some((at, &stored)))?)?;
        last = next;
        contributions.iter_mut().zip(outputs).for_each(|(blocks, output)| blocks.push(output));
    }
    let joined = contributions.into_iter().map(|mut blocks| {
        // The blocks were visited from the last one to the first.
        if storing.order != StepOrder::Backward {
            blocks.reverse();
        }
        expr::concat("gradient", &blocks, usize::from(back.axis))
    });
    Ok((last, joined.collect::<Result<_>>()?))
}

/// The recurrence of which arrays are values.
fn recurrence<'r, 'a>(values: &'r [Array<'a>]) -> Result<&'r HandleRecurrence<'a>> {
    match values.first().map(|value| &value.0.kind) {
        Some(Kind::Recurrence(of)) => Ok(of),
        _ => Err(Error::new(ErrorKind::Internal, "states that are those of no recurrence")),
    }
}

/// The last states and the outputs of a recurrence.
fn values<'a>(of: &HandleRecurrence<'a>) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
    let mut values = (0..of.items()).map(|i| item(of, i)).collect::<Result<Vec<_>>>()?;
    let outputs = values.split_off(of.states());
    Ok((values, outputs))
}

/// The steps of a recurrence in a block, with these states before it. The inputs from a number on are given for the block; the others
/// are those of the whole axis.
fn within<'a>(
    of: &HandleRecurrence<'a>,
    states: &[Array<'a>],
    block: &Range<usize>,
    given: Option<(usize, &[Array<'a>])>,
) -> Result<HandleRecurrence<'a>> {
    let (axis, inputs) = (usize::from(of.axis), of.inputs().len());
    let input = |(i, x): (usize, &Array<'a>)| {
        let own = given.and_then(|(at, given)| given.get(i.checked_sub(at)?));
        match own {
            Some(own) => (own.rank()..x.rank()).try_fold(own.clone(), |own, _| own.expand_dims(0)),
            None => x.along(axis, block.start, 1, block.len()),
        }
    };
    let mut args = states.to_vec();
    for input in of.inputs().iter().enumerate().map(input) {
        args.push(input?);
    }
    args.extend_from_slice(&of.args[of.states() + inputs..]);
    Ok(HandleRecurrence { args, ..of.clone() })
}
