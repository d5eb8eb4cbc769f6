//! Random loops over values of a program.

use broadloom_core::{DType, Op, Promotion};

use super::program::{Arg, Step, TakeKind, While};
use super::shape::broadcast;
use super::typing::{self, Type};
use crate::edge_cases;
use crate::rng::Rng;
use crate::tensor::Tensor;

/// The maximum number of elements of a loop, since the reference runs each one alone.
pub(super) const MOST: usize = 60;

/// A random loop over values of these types; `depth` is the number of loops around it.
pub(super) fn repeated(rng: &mut Rng, before: &[Type], promotion: Promotion, depth: usize) -> Option<While> {
    let mut shape = Vec::new();
    let mut pick = |rng: &mut Rng, most: usize| {
        let mut picked = Vec::new();
        for _ in 0..most {
            let arg = rng.below(before.len());
            // Within a loop, an array with axes is a table.
            if (depth == 0 || before[arg].shape.is_empty())
                && let Some(wider) = broadcast(&shape, &before[arg].shape)
                && wider.iter().product::<usize>() <= MOST
            {
                shape = wider;
                picked.push(arg);
            }
        }
        picked
    };
    let (most_state, most_captured) = (1 + rng.below(3), rng.below(3));
    let (state, captured) = (pick(rng, most_state), pick(rng, most_captured));
    if state.is_empty() {
        return None;
    }
    let params: Vec<DType> = state.iter().chain(&captured).map(|&arg| before[arg].dtype).collect();
    let mut body = LoopBody::new(&params, state.len(), promotion);
    for _ in 0..1 + rng.below(7) {
        body.add(rng, depth);
    }
    let next: Vec<usize> =
        (0..state.len()).map(|i| body.of_dtype(rng, before[state[i]].dtype)).collect::<Option<_>>()?;
    let condition = body.condition(rng)?;
    let limit = Some([0, 1, 2, 3, 5, 9][rng.below(6)]);
    // An array that is captured but not needed would not be part of the shape.
    let is_needed = body.needed(next.iter().copied().chain([condition]));
    if is_needed[state.len()..params.len()].contains(&false) {
        return None;
    }
    Some(While { state, captured, body: body.steps, condition, next, limit })
}

/// The body of a loop or recurrence that is generated.
pub(super) struct LoopBody {
    types: Vec<Type>,
    /// Whether each value depends on a carried one. What does not is computed before the loop, and is not contracted.
    depends: Vec<bool>,
    pub steps: Vec<Step>,
    promotion: Promotion,
}

impl LoopBody {
    /// A body without steps. The first `changing` parameters change from one iteration to the next.
    pub(super) fn new(params: &[DType], changing: usize, promotion: Promotion) -> LoopBody {
        LoopBody {
            types: params.iter().map(|&dtype| Type { dtype, shape: Vec::new() }).collect(),
            depends: (0..params.len()).map(|i| i < changing).collect(),
            steps: Vec::new(),
            promotion,
        }
    }

    /// For each value, whether these are computed from it.
    pub(super) fn needed(&self, of: impl Iterator<Item = usize>) -> Vec<bool> {
        let params = self.types.len() - self.steps.len();
        let mut is_needed = vec![false; self.types.len()];
        of.for_each(|value| is_needed[value] = true);
        for value in (params..self.types.len()).rev() {
            if is_needed[value] {
                self.steps[value - params].args().into_iter().for_each(|arg| is_needed[arg] = true);
            }
        }
        is_needed
    }

    /// One of the last values.
    pub(super) fn any(&self, rng: &mut Rng) -> usize {
        self.types.len() - 1 - rng.below(self.types.len().min(9))
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let depends = step.args().iter().any(|&arg| self.depends[arg]);
        if !depends && !matches!(step, Step::Constant(..) | Step::Input(_)) {
            return None;
        }
        let t = typing::type_of(&step, &self.types, self.promotion).ok()?;
        self.types.push(t);
        self.depends.push(depends);
        self.steps.push(step);
        Some(self.types.len() - 1)
    }

    /// Adds a random step, if it is well-typed.
    pub(super) fn add(&mut self, rng: &mut Rng, depth: usize) {
        if rng.chance(1, 8) {
            self.take(rng);
            return;
        }
        let elements: Vec<usize> = (0..self.types.len()).filter(|&value| self.is_element(value)).collect();
        let any = |rng: &mut Rng| elements[rng.below(elements.len())];
        if rng.chance(1, 8) && depth < 2 {
            if let Some(of) = repeated(rng, &self.types, self.promotion, depth + 1) {
                for item in 0..of.state.len() {
                    self.push(Step::While(Box::new(of.clone()), item));
                }
            }
            return;
        }
        if rng.chance(1, 6) {
            let dtype = *rng.pick(DType::ALL).expect("dtypes");
            let arg = any(rng);
            self.push(Step::Cast(arg, dtype));
            return;
        }
        let ops: Vec<Op> = Op::public().collect();
        let near = [Op::Add, Op::Multiply, Op::Subtract, Op::FloorDivide, Op::Remainder, Op::Where];
        let op = match rng.chance(1, 2) {
            true => *rng.pick(&near).expect("ops"),
            false => *rng.pick(&ops).expect("ops"),
        };
        let mut args: Vec<usize> = (0..op.operands()).map(|_| any(rng)).collect();
        // Operands are converted to the dtype of one of them, if they do not promote.
        let step = |args: &[usize]| Step::Apply(op, args.iter().map(|&arg| Arg::Step(arg)).collect());
        if typing::type_of(&step(&args), &self.types, self.promotion).is_err() {
            let dtype = self.types[args[args.len() - 1]].dtype;
            for (i, arg) in args.iter_mut().enumerate() {
                let dtype = if op == Op::Where && i == 0 { DType::Bool } else { dtype };
                if self.types[*arg].dtype != dtype {
                    match self.push(Step::Cast(*arg, dtype)) {
                        Some(cast) => *arg = cast,
                        None => return,
                    }
                }
            }
        }
        self.push(step(&args));
    }

    /// Whether a value is an element, and not an array.
    fn is_element(&self, value: usize) -> bool {
        self.types[value].shape.is_empty()
    }

    /// Adds an element of an array at a value that changes from iteration to iteration, mostly inside.
    fn take(&mut self, rng: &mut Rng) -> Option<usize> {
        let changing: Vec<usize> = (0..self.types.len()).filter(|&value| self.depends[value]).collect();
        let mut index = *rng.pick(&changing)?;
        if !self.types[index].dtype.is_integer() {
            let dtype = *rng.pick(&[DType::Int8, DType::Int32, DType::Int64, DType::UInt16])?;
            index = self.push(Step::Cast(index, dtype))?;
        }
        let (dtype, extent) = (self.types[index].dtype, 1 + rng.below(9));
        if rng.chance(15, 16) {
            let extent = self.push(Step::Constant(dtype, extent as u64))?;
            index = self.push(Step::Apply(Op::Remainder, vec![Arg::Step(index), Arg::Step(extent)]))?;
        }
        let table = self.push(input(rng, vec![extent]))?;
        self.push(Step::Take(TakeKind::Take, table, index, 0))
    }

    /// A random value of a dtype, to which it is converted if it has another one.
    pub(super) fn of_dtype(&mut self, rng: &mut Rng, dtype: DType) -> Option<usize> {
        let is_usable = |&value: &usize| {
            self.is_element(value) && (self.depends[value] || self.types[value].dtype == dtype)
        };
        let usable: Vec<usize> = (0..self.types.len()).filter(is_usable).collect();
        let value = usable[usable.len() - 1 - rng.below(usable.len().min(5))];
        match self.types[value].dtype == dtype {
            true => Some(value),
            false => self.push(Step::Cast(value, dtype)),
        }
    }

    /// A random bool: a comparison of two values, or a value that is converted.
    fn condition(&mut self, rng: &mut Rng) -> Option<usize> {
        let value = (0..self.types.len()).rev().find(|&value| self.depends[value])?;
        if rng.chance(1, 3) {
            return self.of_dtype(rng, DType::Bool);
        }
        let op = *rng.pick(&[Op::Less, Op::Greater, Op::NotEqual, Op::LessEqual]).expect("ops");
        let dtype = self.types[value].dtype;
        let other = self.of_dtype(rng, dtype)?;
        let compared = self.push(Step::Apply(op, vec![Arg::Step(value), Arg::Step(other)]));
        compared.or_else(|| self.of_dtype(rng, DType::Bool))
    }
}

/// An input of edge-case values.
pub(super) fn input(rng: &mut Rng, shape: Vec<usize>) -> Step {
    let dtype = *rng.pick(DType::ALL).expect("dtypes");
    let values = edge_cases::values(dtype);
    let bits =
        (0..shape.iter().product::<usize>()).map(|_| rng.pick(&values).expect("values").bits).collect();
    Step::Input(Tensor { dtype, shape, bits })
}
