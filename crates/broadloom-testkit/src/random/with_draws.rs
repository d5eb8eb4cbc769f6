//! Random programs that draw random numbers: from single keys and arrays of keys, given or computed, for elements that are computed
//! in order, apart, and by several threads.

use broadloom_core::draws::{Draw, DrawCall};
use broadloom_core::{DType, Kind, Literal, Op};

use super::draws::DRAWS;
use super::extension::{Extension, first_of};
use super::generate::{Size, program};
use super::program::{Arg, Program, PySlice, Step, View};
use crate::reduction::{Cumulative, Function, Reduction};
use crate::tensor::Tensor;

/// The program of a seed, with draws, and steps that use them.
///
/// ```
/// use broadloom_testkit::random::{Step, program_with_draws};
///
/// let program = program_with_draws(7);
/// assert!(program.steps.iter().any(|step| matches!(step, Step::Draw(..))), "{program}");
/// assert!(program.run().is_ok(), "{program}");
/// ```
pub fn program_with_draws(seed: u64) -> Program {
    first_of(seed, 0xd4a3, |seed, rng| {
        // Some draws are long enough for several threads.
        let is_long = rng.chance(1, 20);
        let (program, most) = (program(seed, Size::Small), if is_long { 50_000 } else { 3000 });
        let mut draws = Extension { program, rng, made: Vec::new(), most };
        for _ in 0..1 + draws.rng.below(if is_long { 2 } else { 4 }) {
            let key = draws.key();
            if let Some(drawn) = draws.draw(key, is_long) {
                draws.made.push(drawn);
                draws.used_draw(drawn);
                if draws.rng.chance(1, 2) {
                    draws.used_draw(drawn);
                }
            }
        }
        draws.with_roots()
    })
}

impl Extension<'_> {
    /// A key, or an array of keys: an input, a view of a larger one, or computed.
    fn key(&mut self) -> usize {
        let rows = 1 + self.rng.below(4);
        let shape = match self.rng.below(4) {
            0 => vec![rows, 4],
            1 => vec![4, rows],
            _ => vec![4],
        };
        let bits = (0..shape.iter().product::<usize>()).map(|_| match self.rng.below(6) {
            0 => 0,
            1 => u64::from(u32::MAX),
            _ => self.rng.next() >> 32,
        });
        let input = Tensor { dtype: DType::UInt32, shape: shape.clone(), bits: bits.collect() };
        let input = self.push(Step::Input(input)).expect("a filled array");
        let view = match shape[..] {
            [4, _] if self.rng.chance(1, 2) => Some(View::IndexAxis(1, -1)),
            [4, _] => Some(View::PermuteDims(vec![1, 0])),
            [_, _] if self.rng.chance(1, 3) => Some(View::IndexAxis(0, 0)),
            [_] if self.rng.chance(1, 8) => Some(View::Flip(0)),
            _ => None,
        };
        let key = view.and_then(|view| self.push(Step::View(input, view))).unwrap_or(input);
        let inverted = Step::Apply(Op::BitwiseInvert, vec![Arg::Step(key)]);
        self.rng.chance(1, 4).then(|| self.push(inverted)).flatten().unwrap_or(key)
    }

    fn draw(&mut self, key: usize, is_long: bool) -> Option<usize> {
        let draw = *self.rng.pick(&DRAWS).expect("draws");
        let dtype = *self.rng.pick(draw.gives().dtypes()).expect("dtypes");
        let types = self.types();
        let shape = match self.rng.below(4) {
            _ if is_long => [vec![20_011], vec![101, 203], vec![7, 31, 97]][self.rng.below(3)].clone(),
            0 => vec![self.rng.below(140)],
            // As many elements as a key has words.
            1 if self.rng.chance(1, 3) => vec![4],
            1 => vec![1 + self.rng.below(9), self.rng.below(40)],
            // The shape of another value, which the draw is combined with.
            _ => types[self.rng.below(types.len())].shape.clone(),
        };
        let mut args = vec![Arg::Step(key)];
        if draw == Draw::Integers {
            args.extend(self.bounds(dtype));
        }
        let call = DrawCall::new(draw, &shape, Some(dtype)).expect("a dtype of the draw");
        self.push(Step::Draw(Box::new(call), args))
    }

    /// Two numbers, or two integers of the program of one dtype.
    fn bounds(&mut self, dtype: DType) -> [Arg; 2] {
        let types = self.types();
        let integers: Vec<usize> = (0..types.len()).filter(|&i| types[i].dtype.is_integer()).collect();
        if let Some(&low) = self.rng.pick(&integers)
            && self.rng.chance(1, 3)
        {
            let same: Vec<usize> =
                integers.into_iter().filter(|&i| types[i].dtype == types[low].dtype).collect();
            return [low, *self.rng.pick(&same).expect("at least the other bound")].map(Arg::Step);
        }
        let width = 8 * dtype.size();
        let (first, end) = match dtype.kind() == Kind::Signed {
            true => (-(1_i128 << (width - 1)), 1_i128 << (width - 1)),
            false => (0, 1_i128 << width),
        };
        let (low, high) = match self.rng.below(5) {
            0 => (first, end),
            1 => (first, first + (end - first) / 2 + 1),
            2 => (0, 1 + i128::from(self.rng.next() >> 58)),
            3 => (0, 1),
            _ => (first, first + 1 + i128::from(self.rng.next()) % (end - first)),
        };
        [low, high].map(|bound| Arg::Literal(Literal::Int(bound)))
    }

    /// Views of a draw, functions of it, and reductions.
    fn used_draw(&mut self, drawn: usize) {
        let types = self.types();
        let t = types[drawn].clone();
        let rank = t.shape.len();
        let axis = if rank == 0 { 0 } else { self.rng.below(rank) as isize };
        let made = match self.rng.below(8) {
            0 if rank > 0 => self.push(Step::View(drawn, View::Flip(axis))),
            1 if rank > 0 => {
                let n = t.shape[axis as usize];
                let range = PySlice {
                    start: Some(self.rng.below(n + 1) as isize),
                    stop: None,
                    step: [1, 2, 3, -1, -2][self.rng.below(5)],
                };
                let mut ranges = vec![PySlice { start: None, stop: None, step: 1 }; axis as usize + 1];
                ranges[axis as usize] = range;
                self.push(Step::View(drawn, View::Slice(ranges)))
            }
            2 if rank > 1 => {
                let axes = self.rng.permutation(rank).into_iter().map(|axis| axis as isize).collect();
                self.push(Step::View(drawn, View::PermuteDims(axes)))
            }
            3 => {
                let functions = [Function::Sum, Function::Max, Function::Mean, Function::ArgMin];
                let reduction = match self.rng.chance(1, 2) && rank > 0 {
                    true => Reduction::along(*self.rng.pick(&functions).expect("functions"), &[axis]),
                    false => Reduction::all(*self.rng.pick(&functions).expect("functions")),
                };
                self.push(Step::Reduce(drawn, reduction))
            }
            4 if rank > 0 => {
                let scan =
                    Cumulative { is_product: false, axis: Some(axis), dtype: None, include_initial: false };
                self.push(Step::Scan(drawn, scan))
            }
            5 => {
                let dtype = *self.rng.pick(DType::ALL).expect("dtypes");
                self.push(Step::Cast(drawn, dtype))
            }
            _ => {
                // Another value of the dtype, which may be a draw, or the draw itself.
                let same: Vec<usize> = (0..types.len()).filter(|&i| types[i].dtype == t.dtype).collect();
                let other = *self.rng.pick(&same).expect("at least the draw");
                let ops = [Op::Add, Op::Multiply, Op::Less, Op::Maximum, Op::NotEqual];
                let op = *self.rng.pick(&ops).expect("ops");
                self.push(Step::Apply(op, vec![Arg::Step(drawn), Arg::Step(other)]))
            }
        };
        let Some(made) = made else { return };
        self.made.push(made);
        // What is made is used again, so that views and functions are above each other.
        if self.rng.chance(1, 2) {
            self.used_draw(made);
        }
    }
}
