//! Random programs that have derivatives, and whose values and tangents are of moderate size.
//!
//! Inputs are float64 multiples of 1/16. A step is kept if each of its elements is defined, and neither it nor its tangent is
//! large, so that few digits cancel. Only the branches of `where` that are not taken may be undefined.

use broadloom_core::node::StepOrder;
use broadloom_core::{DType, Op, Promotion};

use super::dual::{self, Duals};
use super::real::Real;
use super::{program_is_fine, tangents_of};
use crate::random::typing::{self, Type};
use crate::random::{Arg, Program, PySlice, RandomRecurrence, Rng, Step, TakeKind, Tensor, View};
use crate::reduction::{Cumulative, Function, Reduction};

/// The maximum number of elements of a step.
const MOST: usize = 32;

/// Functions of one operand.
const UNARY: &[Op] = &[
    Op::Abs,
    Op::Acos,
    Op::Acosh,
    Op::Asin,
    Op::Asinh,
    Op::Atan,
    Op::Atanh,
    Op::Cbrt,
    Op::Ceil,
    Op::Cos,
    Op::Cosh,
    Op::Erf,
    Op::Exp,
    Op::Exp2,
    Op::ExpM1,
    Op::Floor,
    Op::Log,
    Op::Log10,
    Op::Log1p,
    Op::Log2,
    Op::Negative,
    Op::Positive,
    Op::Reciprocal,
    Op::Round,
    Op::Sign,
    Op::Sin,
    Op::Sinh,
    Op::Sqrt,
    Op::Square,
    Op::Tan,
    Op::Tanh,
    Op::Trunc,
];

/// Functions of two operands. Those of ordinary arithmetic come up more often.
const BINARY: &[Op] = &[
    Op::Add,
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Multiply,
    Op::Multiply,
    Op::Divide,
    Op::Divide,
    Op::Atan2,
    Op::CopySign,
    Op::FloorDivide,
    Op::Hypot,
    Op::LogAddExp,
    Op::Maximum,
    Op::Minimum,
    Op::Pow,
    Op::Remainder,
];

/// Comparisons, for conditions.
const TESTS: &[Op] = &[Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual, Op::Equal, Op::NotEqual];

/// Functions in the steps of recurrences.
const IN_STEPS: &[Op] = &[Op::Add, Op::Multiply, Op::Subtract, Op::Maximum, Op::Hypot, Op::LogAddExp];

/// The program of a seed: its roots are floats that depend on its inputs.
///
/// ```
/// use broadloom_testkit::gradients::{difference_of_gradients, program_with_gradients};
///
/// let program = program_with_gradients(7);
/// assert_eq!(difference_of_gradients(&program, 7), None);
/// ```
pub fn program_with_gradients(seed: u64) -> Program {
    let mut rng = Rng::new(seed ^ 0x6_7ad);
    let mut rng = Rng::new(rng.next());
    (0..).find_map(|_: u64| Drawn::program(seed, &mut rng)).expect("one of many")
}

struct Drawn<'r> {
    seed: u64,
    rng: &'r mut Rng,
    program: Program,
    types: Vec<Type>,
    duals: Vec<Duals>,
}

impl Drawn<'_> {
    fn program(seed: u64, rng: &mut Rng) -> Option<Program> {
        let program = Program {
            steps: Vec::new(),
            roots: Vec::new(),
            promotion: Promotion::Strict,
            semantics: Default::default(),
        };
        let mut made = Drawn { seed, rng, program, types: Vec::new(), duals: Vec::new() };
        made.inputs();
        // Inputs of too many elements were not added.
        made.types.first()?;
        for _ in 0..2 + made.rng.below(7) {
            made.step();
        }
        let floats: Vec<usize> = (0..made.types.len()).filter(|&i| made.is_varying(i)).collect();
        let last = *floats.last()?;
        made.program.roots.push(last);
        if made.rng.chance(1, 3) {
            made.program.roots.extend(made.rng.pick(&floats).copied());
        }
        let is_computed = !matches!(made.program.steps[last], Step::Input(_));
        (is_computed && program_is_fine(&made.program, seed)).then_some(made.program)
    }

    /// Whether a step has floats that depend on the inputs.
    fn is_varying(&self, step: usize) -> bool {
        self.types[step].dtype == DType::Float64 && self.duals[step].varies
    }

    /// One to three inputs, whose shapes broadcast together.
    fn inputs(&mut self) {
        let shape: Vec<usize> = (0..self.rng.below(4)).map(|_| 1 + self.rng.below(4)).collect();
        for _ in 0..1 + self.rng.below(3) {
            let first = if self.rng.chance(1, 3) { self.rng.below(shape.len() + 1) } else { 0 };
            let one = |rng: &mut Rng, extent: usize| if rng.chance(1, 6) { 1 } else { extent };
            let shape: Vec<usize> = shape[first..].iter().map(|&extent| one(self.rng, extent)).collect();
            let elements = shape.iter().product();
            let numbers = (0..elements).map(|_| (self.rng.below(97) as f64 - 48.0) / 16.0);
            let bits = numbers.map(f64::to_bits).collect();
            self.push(Step::Input(Tensor { dtype: DType::Float64, shape, bits }), true);
        }
    }

    /// Adds a step, unless its type or, if they have to be, its elements are not fine.
    fn push(&mut self, step: Step, is_strict: bool) -> Option<usize> {
        let t = typing::type_of(&step, &self.types, Promotion::Strict).ok()?;
        let number = self.types.len();
        if t.elements() > MOST || t.elements() == 0 || t.shape.len() > 4 {
            return None;
        }
        self.program.steps.push(step);
        self.types.push(t);
        let tangents = |input: usize| tangents_of(&self.program, input, self.seed);
        let found = dual::of_step(&self.program, number, &self.duals, &self.types, &tangents);
        let found = found.ok().filter(|found| !is_strict || found.is_moderate());
        match found {
            Some(found) => {
                self.duals.push(found);
                Some(number)
            }
            None => {
                self.program.steps.pop();
                self.types.pop();
                None
            }
        }
    }

    /// A step with floats.
    fn float(&mut self) -> usize {
        let floats: Vec<usize> =
            (0..self.types.len()).filter(|&i| self.is_varying(i) && self.duals[i].is_moderate()).collect();
        // Recent steps are used more often, so that programs are deep.
        let recent = &floats[floats.len() - floats.len().min(3)..];
        let from = if self.rng.chance(2, 3) { recent } else { &floats };
        *self.rng.pick(from).expect("an input")
    }

    fn constant(&mut self) -> Option<usize> {
        let x = (self.rng.below(65) as f64 - 32.0) / 8.0;
        self.push(Step::Constant(DType::Float64, x.to_bits()), false)
    }

    fn operand(&mut self) -> Option<usize> {
        if self.rng.chance(1, 5) { self.constant() } else { Some(self.float()) }
    }

    fn apply(&mut self, op: Op, args: &[usize], is_strict: bool) -> Option<usize> {
        self.push(Step::Apply(op, args.iter().map(|&arg| Arg::Step(arg)).collect()), is_strict)
    }

    fn step(&mut self) -> Option<usize> {
        match self.rng.below(16) {
            0..=3 => {
                let (op, x) = (*self.rng.pick(UNARY)?, self.float());
                self.apply(op, &[x], true)
            }
            4..=7 => {
                let op = *self.rng.pick(BINARY)?;
                // The logarithm of a constant base is folded, and so rounded, when the graph of a derivative is built.
                let x = if op == Op::Pow { self.float() } else { self.operand()? };
                let y = self.operand()?;
                self.apply(op, &[x, y], true)
            }
            8 => {
                let op = if self.rng.chance(1, 2) { Op::Fma } else { Op::Clip };
                let (x, y, z) = (self.float(), self.operand()?, self.operand()?);
                self.apply(op, &[x, y, z], true)
            }
            9 => self.branch(),
            10 => {
                let x = self.float();
                let view = self.view(self.types[x].shape.clone())?;
                self.push(Step::View(x, view), true)
            }
            11 | 12 => self.reduction(),
            13 => {
                let x = self.float();
                let rank = self.types[x].shape.len();
                let scan = Cumulative {
                    is_product: self.rng.chance(1, 2),
                    axis: Some(self.rng.below(rank) as isize),
                    dtype: None,
                    include_initial: self.rng.chance(1, 3),
                };
                self.push(Step::Scan(x, scan), true)
            }
            14 => {
                let x = self.float();
                let axis = self.rng.below(self.types[x].shape.len()) as isize;
                let other = if self.rng.chance(1, 2) { x } else { self.float() };
                self.push(Step::Concat(vec![x, other], axis), true)
            }
            _ => self.recurrence(),
        }
    }

    /// `where` of a condition, and of a function that may be undefined where it is not taken.
    fn branch(&mut self) -> Option<usize> {
        let (x, y) = (self.float(), self.operand()?);
        let test = *self.rng.pick(TESTS)?;
        let condition = self.apply(test, &[x, y], true)?;
        let op = *self.rng.pick(UNARY)?;
        let risky = self.apply(op, &[x], false)?;
        let other = self.operand()?;
        let (first, second) = if self.rng.chance(1, 2) { (risky, other) } else { (other, risky) };
        self.apply(Op::Where, &[condition, first, second], true)
    }

    fn view(&mut self, shape: Vec<usize>) -> Option<View> {
        let rank = shape.len();
        let axis = self.rng.below(rank);
        Some(match self.rng.below(8) {
            0 => View::BroadcastTo([&[1 + self.rng.below(3)], &shape[..]].concat()),
            1 => View::PermuteDims(self.rng.permutation(rank).iter().map(|&axis| axis as isize).collect()),
            2 => View::Reshape(vec![-1]),
            3 => View::ExpandDims(self.rng.below(rank + 1) as isize),
            4 if rank > 0 => View::Flip(axis as isize),
            5 if rank > 0 => View::IndexAxis(axis as isize, self.rng.below(shape[axis]) as isize),
            6 if rank > 0 => View::SlidingWindow(1 + self.rng.below(shape[axis]), axis as isize),
            _ if rank > 0 => {
                let mut ranges = vec![PySlice { start: None, stop: None, step: 1 }; axis + 1];
                let start = Some(self.rng.below(shape[axis]) as isize);
                let step = 1 + self.rng.below(3) as isize;
                ranges[axis] = match self.rng.chance(1, 3) {
                    true => PySlice { start, stop: None, step: -step },
                    false => PySlice { start, stop: None, step },
                };
                View::Slice(ranges)
            }
            _ => return None,
        })
    }

    fn reduction(&mut self) -> Option<usize> {
        let functions = [
            Function::Sum,
            Function::Sum,
            Function::Mean,
            Function::Prod,
            Function::Max,
            Function::Min,
            Function::Var,
            Function::Std,
        ];
        let (function, x) = (*self.rng.pick(&functions)?, self.float());
        let rank = self.types[x].shape.len();
        let count = self.rng.below(rank + 1);
        let axes: Vec<isize> =
            self.rng.permutation(rank)[..count].iter().map(|&axis| axis as isize).collect();
        let of = if count == 0 { Reduction::all(function) } else { Reduction::along(function, &axes) };
        let keepdims = self.rng.chance(1, 2);
        self.push(Step::Reduce(x, Reduction { keepdims, ..of }), true)
    }

    /// A recurrence with one state, one or two inputs and perhaps a captured value and a table of which each step takes elements, of
    /// which a value is added.
    fn recurrence(&mut self) -> Option<usize> {
        let x = self.float();
        let shape = self.types[x].shape.clone();
        let axis = self.rng.below(shape.len());
        shape.get(axis)?;
        let second = if self.rng.chance(1, 2) { Some(self.float()) } else { None };
        let inputs: Vec<usize> = [Some(x), second].into_iter().flatten().collect();
        // The initial state and the captured value lack the axis.
        let lacking =
            |made: &mut Self, x: usize| made.push(Step::View(x, View::IndexAxis(axis as isize, 0)), true);
        let state = lacking(self, x)?;
        let mut captured = if self.rng.chance(1, 2) { vec![lacking(self, x)?] } else { Vec::new() };
        // The values of the body that are floats.
        let mut floats: Vec<usize> = (0..1 + inputs.len() + captured.len()).collect();
        let mut body = Vec::new();
        let mut latest = 0;
        if self.rng.chance(1, 3) {
            let x = self.float();
            captured.push(self.push(Step::View(x, View::Reshape(vec![-1])), true)?);
            let (table, extent) = (floats.len(), self.types[x].elements() as u64);
            let index = *self.rng.pick(&floats)?;
            latest = taken(&mut body, table, extent, index);
            floats.push(latest);
        }
        let given = 1 + inputs.len() + captured.len();
        let first_output = if body.is_empty() { given } else { latest };
        for _ in 0..1 + self.rng.below(3) {
            let any = |rng: &mut Rng| rng.pick(&floats).copied().map(Arg::Step);
            // The state or the latest value is an operand, so that steps depend on each other.
            let (other, latest_arg) = (any(self.rng)?, Arg::Step(latest));
            latest = given + body.len();
            floats.push(latest);
            body.push(match self.rng.chance(1, 3) {
                true => {
                    Step::Apply(*self.rng.pick(&[Op::Sin, Op::Tanh, Op::Abs, Op::Square])?, vec![latest_arg])
                }
                false => Step::Apply(*self.rng.pick(IN_STEPS)?, vec![latest_arg, other]),
            });
        }
        let of = RandomRecurrence {
            state: vec![state],
            inputs,
            captured,
            body,
            next: vec![latest],
            outputs: vec![first_output],
            axis: axis as isize - shape.len() as isize,
            order: if self.rng.chance(1, 2) { StepOrder::Forward } else { StepOrder::Backward },
        };
        let item = self.rng.below(2);
        self.push(Step::Recurrence(Box::new(of), item), true)
    }
}

/// Adds the steps that take an element of a table, the last of the values before the body, at an index that a value gives: the integer
/// part of twice its size, modulo the extent. The result is the number of the element.
fn taken(body: &mut Vec<Step>, table: usize, extent: u64, value: usize) -> usize {
    let first = table + 1;
    let step = |i: usize| Arg::Step(first + i);
    body.extend([
        Step::Apply(Op::Add, vec![Arg::Step(value), Arg::Step(value)]),
        Step::Apply(Op::Abs, vec![step(0)]),
        Step::Cast(first + 1, DType::Int64),
        Step::Constant(DType::Int64, extent),
        Step::Apply(Op::Remainder, vec![step(2), step(3)]),
        Step::Take(TakeKind::Take, table, first + 4, 0),
    ]);
    first + 5
}

impl Duals {
    /// Whether all elements and tangents are defined, and none of them is large.
    pub(super) fn is_moderate(&self) -> bool {
        let is_below = |x: &Real, most: f64| x.to_f64().abs() <= most;
        self.elements.iter().all(|x| is_below(&x.value, 64.0) && is_below(&x.tangent, f64::from(1 << 20)))
    }
}
