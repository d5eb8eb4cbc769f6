//! Random recurrences: steps along an axis of values of a program, or of inputs that are added to it.

use broadloom_core::DType;
use broadloom_core::node::StepOrder;

use super::loops::{LoopBody, input};
use super::program::{Program, RandomRecurrence, Step};
use super::shape::broadcast;
use super::typing::{self, Type};
use crate::rng::Rng;

/// The maximum number of elements of the index space, since the reference runs a program for each one.
const MOST: usize = 150;

/// A random recurrence over values of the program, to which it may add steps.
pub(super) fn recurrence(rng: &mut Rng, p: &mut Program) -> Option<RandomRecurrence> {
    let order = *rng.pick(&[StepOrder::Forward, StepOrder::Backward, StepOrder::Canonical])?;
    let is_reduction = order == StepOrder::Canonical;
    let axis = -(1 + rng.below(3) as isize);
    let states = 1 + rng.below(3);
    let inputs = if is_reduction { states } else { 1 + rng.below(2) };
    let mut operands = RecurrenceOperands { axis, types: typing::types(p), steps: None, others: Vec::new() };
    let mut given = Vec::new();
    for _ in 0..inputs {
        let known = operands.pick(rng, |of, t| of.joined(t, true).is_some());
        given.push(match known.filter(|_| rng.chance(1, 2)) {
            Some(known) => known,
            None => {
                let shape = operands.shape_of_input(rng, is_reduction);
                operands.add(p, input(rng, shape))
            }
        });
        operands.join(given[given.len() - 1], true)?;
    }
    let mut state = Vec::new();
    for i in 0..states {
        let known = operands.pick(rng, |of, t| of.joined(t, false).is_some());
        let mut first = match known.filter(|_| rng.chance(1, 3)) {
            Some(known) => known,
            None => {
                let shape = operands.shape_beside(rng);
                operands.add(p, input(rng, shape))
            }
        };
        operands.join(first, false)?;
        // The states of a reduction are combined with elements of the same dtype.
        let wanted = given.get(i).filter(|_| is_reduction).map(|&input| operands.types[input].dtype);
        if let Some(dtype) = wanted.filter(|&dtype| dtype != operands.types[first].dtype) {
            first = operands.add(p, Step::Cast(first, dtype));
        }
        state.push(first);
    }
    let mut captured = Vec::new();
    for _ in 0..rng.below(3) {
        let known = operands.pick(rng, |of, t| of.joined(t, false).is_some());
        captured.push(match known.filter(|_| rng.chance(1, 2)) {
            Some(known) => known,
            None => {
                let shape = operands.shape_beside(rng);
                operands.add(p, input(rng, shape))
            }
        });
        operands.join(captured[captured.len() - 1], false)?;
    }

    let params: Vec<DType> =
        state.iter().chain(&given).chain(&captured).map(|&arg| operands.types[arg].dtype).collect();
    let mut body = LoopBody::new(&params, states + inputs, p.promotion);
    for _ in 0..1 + rng.below(7) {
        body.add(rng, 1);
    }
    let next: Vec<usize> = (0..states).map(|i| body.of_dtype(rng, params[i])).collect::<Option<_>>()?;
    let outputs = if is_reduction { 0 } else { rng.below(3) };
    let outputs: Vec<usize> = (0..outputs).map(|_| body.any(rng)).collect();
    // A captured value that is not needed would not be part of the shape.
    let needed = body.needed(next.iter().chain(&outputs).copied());
    if needed[states + inputs..params.len()].contains(&false) {
        return None;
    }
    Some(RandomRecurrence { state, inputs: given, captured, body: body.steps, next, outputs, axis, order })
}

/// The operands of a recurrence that is generated.
struct RecurrenceOperands {
    axis: isize,
    types: Vec<Type>,
    /// The number of steps, once there is an input.
    steps: Option<usize>,
    /// The shape to which the operands without the axis broadcast.
    others: Vec<usize>,
}

impl RecurrenceOperands {
    /// The number of steps and the other shape with a further operand, if it fits.
    fn joined(&self, t: &Type, is_input: bool) -> Option<(Option<usize>, Vec<usize>)> {
        let (mut shape, mut steps) = (t.shape.clone(), self.steps);
        if is_input {
            let axis = shape.len().checked_add_signed(self.axis).filter(|axis| *axis < shape.len())?;
            let extent = shape.remove(axis);
            if *steps.get_or_insert(extent) != extent {
                return None;
            }
        }
        let others = broadcast(&self.others, &shape)?;
        let elements = others.iter().product::<usize>().saturating_mul(steps.unwrap_or(1));
        (elements <= MOST).then_some((steps, others))
    }

    fn join(&mut self, arg: usize, is_input: bool) -> Option<()> {
        (self.steps, self.others) = self.joined(&self.types[arg], is_input)?;
        Some(())
    }

    /// A random step whose type fits.
    fn pick(&self, rng: &mut Rng, fits: impl Fn(&RecurrenceOperands, &Type) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.types.len()).filter(|&i| fits(self, &self.types[i])).collect();
        rng.pick(&fitting).copied()
    }

    /// Adds a step to the program, which must be well-typed.
    fn add(&mut self, p: &mut Program, step: Step) -> usize {
        let t = typing::type_of(&step, &self.types, p.promotion).expect("an input or a conversion");
        self.types.push(t);
        p.steps.push(step);
        p.steps.len() - 1
    }

    /// The shape of a further input: along other axes than that of the steps, some extents are 1, and some leading axes are missing.
    fn shape_of_input(&self, rng: &mut Rng, is_reduction: bool) -> Vec<usize> {
        let behind = -(self.axis + 1) as usize;
        // Rows of reductions have 16 elements.
        let most = if is_reduction { 70 } else { 40 };
        let Some(steps) = self.steps else {
            let mut shape: Vec<usize> = (0..behind + rng.below(2)).map(|_| 1 + rng.below(4)).collect();
            shape.insert(shape.len() - behind, rng.below(most));
            return shape;
        };
        let mut shape = self.others.clone();
        shape.iter_mut().filter(|_| rng.chance(1, 3)).for_each(|extent| *extent = 1);
        shape.insert(shape.len() - behind, steps);
        let leading = shape.len() - 1 - behind;
        shape.drain(..if rng.chance(1, 3) { rng.below(leading + 1) } else { 0 });
        shape
    }

    /// The shape of an operand without the axis.
    fn shape_beside(&self, rng: &mut Rng) -> Vec<usize> {
        let mut shape = self.others.clone();
        shape.iter_mut().filter(|_| rng.chance(1, 3)).for_each(|extent| *extent = 1);
        if rng.chance(1, 3) {
            shape.drain(..rng.below(shape.len() + 1));
        }
        shape
    }
}
