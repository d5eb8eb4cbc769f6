//! Derivatives of recurrences.
//!
//! Forwards, the tangents of the states are further states. Backwards, the states before each step are outputs of the steps, or are
//! computed again and stored, all at once or [block by block](super::checkpoints); a second recurrence in the opposite order carries
//! the adjoints of the states. The contributions of a captured value are numbered from the last step to the first, and added in the
//! canonical order; so are the adjoints of elements that the steps take of a table.

use std::cell::RefCell;

use broadloom_core::node::StepOrder;
use broadloom_core::{DType, Dim, Dims, Op, Result};
use smallvec::SmallVec;

use super::checkpoints::{blocks, in_blocks};
use super::combinations;
use super::linear::{apply, spread, summed_to, zero};
use super::regions::{
    HandleRecurrence, Jvp, LoopAdjoints, LoopTangents, RegionBody, Take, Vjp, taken_like, with_tangents,
};
use super::tables::{TakenElements, of_steps};
use crate::along::Along;
use crate::array::Array;
use crate::expr;
use crate::scan::{item, try_scan};

/// The operands and results of a recurrence, by kind.
struct RecurrenceParts<'r, 'a> {
    body: RegionBody<'r, 'a>,
    initial: &'r [Array<'a>],
    inputs: &'r [Array<'a>],
    /// The captured values, and the numbers of the elements if there are any.
    captured: &'r [Array<'a>],
    along: Along,
}

impl<'r, 'a> RecurrenceParts<'r, 'a> {
    fn of(of: &'r HandleRecurrence<'a>) -> RecurrenceParts<'r, 'a> {
        let (initial, others) = of.args.split_at(of.states());
        let (inputs, captured) = others.split_at(of.inputs().len());
        let along = Along::axis(of.axis as isize);
        let along = match of.order {
            StepOrder::Forward => along,
            StepOrder::Backward => along.reverse(),
            StepOrder::Canonical => along.in_pairs(),
        };
        RecurrenceParts {
            body: RegionBody { region: &of.step, functions: &of.functions, args: &of.args, take: None },
            initial,
            inputs,
            captured,
            along,
        }
    }

    /// The states before each step, computed again.
    fn stored(&self) -> Result<Vec<Array<'a>>> {
        let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
            Ok((self.step(state, elements, self.captured)?.0, state.to_vec()))
        };
        Ok(try_scan(&step, self.initial, self.inputs, self.along.unlimited())?.1)
    }

    /// The opposite order.
    fn reversed(&self) -> Along {
        let is_backward = self.along.order == StepOrder::Backward;
        let along = if is_backward { Along::axis(self.along.axis) } else { self.along.reverse() };
        along.unlimited()
    }

    /// The captured values that are wanted: the tables, and the others.
    fn tables_and_used(&self, wanted: &[bool]) -> (Vec<usize>, Vec<usize>) {
        let first = self.initial.len() + self.inputs.len();
        let wanted = (0..self.captured.len()).filter(|i| wanted[first + i]);
        wanted.partition(|i| self.body.region.is_table(first + i))
    }

    /// The next states and the outputs of a step.
    fn step(
        &self,
        states: &[Array<'a>],
        inputs: &[Array<'a>],
        captured: &[Array<'a>],
    ) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
        let region = self.body.region;
        let roots: Vec<_> = region.next.iter().chain(&region.outputs).copied().collect();
        let mut next = self.body.values(&roots, &[states, inputs, captured].concat())?;
        let outputs = next.split_off(region.next.len());
        Ok((next, outputs))
    }
}

/// The values of a recurrence whose steps take elements by a function.
pub(super) fn with_takes<'a>(of: &HandleRecurrence<'a>, take: &Take<'_, 'a>) -> Result<Vec<Array<'a>>> {
    let mut parts = RecurrenceParts::of(of);
    parts.body.take = Some(take);
    let step = |state: &[Array<'a>], elements: &[Array<'a>]| parts.step(state, elements, parts.captured);
    let (last, outputs) = try_scan(&step, parts.initial, parts.inputs, parts.along.unlimited())?;
    Ok([last, outputs].concat())
}

/// The tangent of each state and output, from those of the operands.
pub(super) fn tangents<'a>(
    of: &HandleRecurrence<'a>,
    tangents: &[Option<Array<'a>>],
    jvp: &Jvp<'_, 'a>,
) -> Result<LoopTangents<'a>> {
    let parts = RecurrenceParts::of(of);
    let (states, inputs) = (parts.initial.len(), parts.inputs.len());
    let varying = parts.body.varying(|param| tangents[param].is_some());
    let is_paired = of.order == StepOrder::Canonical;
    // A step that combines pairs has a tangent of each value for a tangent of each identity.
    let is_moving = |i: usize| varying[i] || is_paired && varying[states + i];
    let moving: Vec<usize> = (0..states).filter(|&i| is_moving(i)).collect();
    let tangent = |param: usize| tangents[param].clone().unwrap_or_else(|| zero(of.args[param].dtype()));
    let initial: Vec<Array<'a>> =
        parts.initial.iter().cloned().chain(moving.iter().map(|&i| tangent(i))).collect();
    let given: Vec<usize> = match is_paired {
        true => moving.clone(),
        false => (0..inputs).filter(|i| tangents[states + i].is_some()).collect(),
    };
    let of_inputs = given.iter().map(|&i| spread(&tangent(states + i), &parts.inputs[i]));
    let all_inputs: Vec<Array<'a>> =
        parts.inputs.iter().cloned().map(Ok).chain(of_inputs).collect::<Result<_>>()?;
    let moved = RefCell::new(Vec::new());
    let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
        let (values, of_states) = state.split_at(states);
        let (elements, of_elements) = elements.split_at(inputs);
        let (next, outputs) = parts.step(values, elements, parts.captured)?;
        let arguments: Vec<_> = moving
            .iter()
            .zip(of_states)
            .map(|(&i, v)| (values[i].clone(), v.clone()))
            .chain(given.iter().zip(of_elements).map(|(&i, v)| (elements[i].clone(), v.clone())))
            .chain(with_tangents(parts.captured, &tangents[states + inputs..]))
            .collect();
        let (mut next, mut found) = jvp(&[next, outputs].concat(), &arguments)?;
        next.truncate(states);
        let of_outputs = found.split_off(states);
        next.extend(moving.iter().map(|&i| found[i].clone().unwrap_or_else(|| zero(values[i].dtype()))));
        *moved.borrow_mut() = of_outputs.iter().map(Option::is_some).collect();
        Ok((next, of_outputs.into_iter().flatten().collect()))
    };
    let (last, outputs) = try_scan(&step, &initial, &all_inputs, parts.along.unlimited())?;
    let mut tangents = vec![None; states];
    moving.iter().zip(&last[states..]).for_each(|(&i, v)| tangents[i] = Some(v.clone()));
    let mut outputs = outputs.into_iter();
    tangents.extend(moved.take().iter().map(|&has| if has { outputs.next() } else { None }));
    Ok(LoopTangents { values: Vec::new(), tangents })
}

/// The adjoint of each operand, from those of the states and outputs. `wanted` tells which operands vary.
pub(super) fn adjoints<'a>(
    of: &HandleRecurrence<'a>,
    adjoints: &[Option<Array<'a>>],
    wanted: &[bool],
    vjp: &Vjp<'_, 'a>,
) -> Result<LoopAdjoints<'a>> {
    if of.order == StepOrder::Canonical {
        return combinations::adjoints(of, adjoints, wanted, vjp);
    }
    let like = item(of, 0)?;
    let mut parts = RecurrenceParts::of(of);
    let (states, inputs) = (parts.initial.len(), parts.inputs.len());
    let varying = parts.body.varying(|param| wanted[param]);
    let moving: Vec<usize> = (0..states).filter(|&i| varying[i]).collect();
    let read: Vec<usize> = (0..inputs).filter(|i| wanted[states + i]).collect();
    let (tables, used) = parts.tables_and_used(wanted);

    let blocks = blocks(of)?;
    let stored = match earlier_outputs(of, &parts)? {
        Some(stored) if blocks.is_none() => stored,
        _ => parts.stored()?,
    };
    let take = taken_like(&like);
    parts.body.take = Some(&take);

    // The elements of the second recurrence: the inputs, the stored states, and the adjoints of outputs.
    let of_outputs: Vec<usize> = (states..adjoints.len()).filter(|&i| adjoints[i].is_some()).collect();
    let outputs = of_outputs.iter().filter_map(|&i| Some((i, adjoints[i].as_ref()?)));
    let outputs = outputs.map(|(i, v)| spread(v, &item(of, i)?)).collect::<Result<Vec<_>>>()?;
    let elements = [parts.inputs, &stored, &outputs].concat();
    let whole = parts.captured.iter().enumerate().map(|(i, x)| match used.contains(&i) {
        true => apply(Op::Positive, &[&spread(x, &like)?]),
        false => Ok(x.clone()),
    });
    let whole = whole.collect::<Result<Vec<_>>>()?;
    let of_state = |&i: &usize| adjoints[i].clone().unwrap_or_else(|| zero(of.args[i].dtype()));
    let mut initial: Vec<Array<'a>> = moving.iter().map(of_state).collect();
    // A recurrence has a state, even if none of the states varies.
    let is_idle = moving.is_empty();
    initial.extend(is_idle.then(|| zero(DType::Float32)));
    let contributed = RefCell::new(Contributions::default());
    let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
        let (xs, others) = elements.split_at(inputs);
        let (before, of_results) = others.split_at(states);
        let (next, outputs) = parts.step(before, xs, &whole)?;
        let seeds: Vec<_> = moving
            .iter()
            .zip(state)
            .map(|(&i, v)| (next[i].clone(), v.clone()))
            .chain(of_outputs.iter().zip(of_results).map(|(&i, v)| (outputs[i - states].clone(), v.clone())))
            .collect();
        let arguments: Vec<Array<'a>> = moving
            .iter()
            .map(|&i| before[i].clone())
            .chain(read.iter().map(|&i| xs[i].clone()))
            .chain(used.iter().map(|&i| whole[i].clone()))
            .collect();
        let tables: Vec<Array<'a>> = tables.iter().map(|&i| whole[i].clone()).collect();
        let mut found = vjp(&seeds, &arguments, &tables)?;
        let of_operands = found.arrays.split_off(moving.len());
        let next = found.arrays.into_iter().zip(&moving);
        let mut next: Vec<_> = next.map(|(v, &i)| v.unwrap_or_else(|| zero(of.args[i].dtype()))).collect();
        next.extend(is_idle.then(|| state[0].clone()));
        let (made, outputs) = Contributions::of(of_operands, &found.taken);
        *contributed.borrow_mut() = made;
        Ok((next, outputs))
    };
    let (mut last, mut contributions) = try_scan(&step, &initial, &elements, parts.reversed())?;
    if let Some(blocks) = &blocks {
        (last, contributions) = in_blocks(&stored, &last, inputs, blocks)?;
    }
    let mut arrays = vec![None; of.args.len()];
    for (&i, v) in moving.iter().zip(&last).filter(|(i, _)| wanted[**i]) {
        arrays[i] = Some(summed_to(v, v, &of.args[i].all_dims())?);
    }
    let operands = read.iter().map(|&i| states + i).chain(used.iter().map(|&i| states + inputs + i));
    let operands: Vec<usize> = operands.collect();
    let tables: Vec<usize> = tables.iter().map(|&i| states + inputs + i).collect();
    contributed.take().distributed(of, arrays, contributions, &operands, &tables)
}

/// What a step of a recurrence in reverse contributes: which of its outputs belong to which operand.
#[derive(Default)]
struct Contributions {
    /// Whether each array has a contribution, which is an output.
    arrays: Vec<bool>,
    /// For each table, whether the elements of each take may be absent. The adjoints and positions of a take are two outputs.
    takes: Vec<Vec<bool>>,
}

impl Contributions {
    /// The contributions of a step, with its outputs.
    fn of<'a>(
        arrays: Vec<Option<Array<'a>>>,
        taken: &[Vec<TakenElements<'a>>],
    ) -> (Contributions, Vec<Array<'a>>) {
        let takes = taken.iter().map(|takes| takes.iter().map(|take| take.may_be_absent).collect());
        let made =
            Contributions { arrays: arrays.iter().map(Option::is_some).collect(), takes: takes.collect() };
        let of_takes =
            taken.iter().flatten().flat_map(|take| [take.adjoints.clone(), take.positions.clone()]);
        (made, arrays.into_iter().flatten().chain(of_takes).collect())
    }

    /// The adjoints of the operands, from the outputs of all steps, and the adjoints that are known already. The operands have these
    /// numbers.
    fn distributed<'a>(
        self,
        of: &HandleRecurrence<'a>,
        mut arrays: Vec<Option<Array<'a>>>,
        outputs: Vec<Array<'a>>,
        operands: &[usize],
        tables: &[usize],
    ) -> Result<LoopAdjoints<'a>> {
        let inputs_end = of.states() + of.inputs().len();
        let mut outputs = outputs.into_iter();
        for (&operand, _) in operands.iter().zip(self.arrays).filter(|(_, has)| *has) {
            let Some(v) = outputs.next() else { break };
            arrays[operand] = Some(match operand < inputs_end {
                true => summed_to(&v, &v, &of.args[operand].all_dims())?,
                false => of_captured(of, &v, &of.args[operand])?,
            });
        }
        let mut taken = vec![Vec::new(); of.args.len()];
        for (&table, takes) in tables.iter().zip(self.takes).filter(|(_, takes)| !takes.is_empty()) {
            let take = |may_be_absent: bool| {
                let (adjoints, positions) = (outputs.next()?, outputs.next()?);
                Some(TakenElements { positions, adjoints, may_be_absent })
            };
            let takes: Vec<TakenElements<'a>> = takes.into_iter().filter_map(take).collect();
            taken[table] = vec![of_steps(&takes, usize::from(of.axis), of.order)?];
        }
        Ok(LoopAdjoints { arrays, taken })
    }
}

/// The states before each step, if each next state is also an output: the initial states, and the outputs of the steps but the last.
fn earlier_outputs<'a>(
    of: &HandleRecurrence<'a>,
    parts: &RecurrenceParts<'_, 'a>,
) -> Result<Option<Vec<Array<'a>>>> {
    let (region, axis) = (&of.step, usize::from(of.axis));
    let mut stored = Vec::new();
    for (i, next) in region.next.iter().enumerate() {
        let Some(output) = region.outputs.iter().position(|output| output == next) else { return Ok(None) };
        let (last, output) = (item(of, i)?, item(of, of.states() + output)?);
        if output.dims().is_some() || output.shape()[axis] == 0 {
            return Ok(None);
        }
        let others = output.shape()[axis] - 1;
        let initial = spread(&parts.initial[i], &last)?.expand_dims(axis as isize)?;
        let joined = match of.order {
            StepOrder::Backward => [output.along(axis, 1, 1, others)?, initial],
            _ => [initial, output.along(axis, 0, 1, others)?],
        };
        stored.push(expr::concat("gradient", &joined, axis)?);
    }
    Ok(Some(stored))
}

/// The adjoint of a captured value, which each step uses, from its adjoint `v` at each step: the canonical sum, in which the
/// contributions of the last step come first.
fn of_captured<'a>(of: &HandleRecurrence<'a>, v: &Array<'a>, captured: &Array<'a>) -> Result<Array<'a>> {
    let (axis, rank) = (usize::from(of.axis), v.rank());
    let v = match of.order {
        StepOrder::Backward => v.clone(),
        _ => v.flip(axis as isize - rank as isize)?,
    };
    let dims = captured.all_dims();
    let new = rank - 1 - dims.len();
    let mut aligned: SmallVec<[Dim; 4]> = SmallVec::from_elem(Dim::Fixed(1), new);
    aligned.extend(dims.iter().cloned());
    aligned.insert(axis, Dim::Fixed(1));
    let sum = summed_to(&v, &v, &Dims::new(&aligned)?)?.squeeze(axis as isize - rank as isize)?;
    (0..new).try_fold(sum, |sum, _| sum.squeeze(0))
}
