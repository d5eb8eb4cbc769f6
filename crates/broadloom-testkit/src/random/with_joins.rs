//! Random programs that join arrays: values of a program with parts of themselves, as pads and shifts do, and with each other.

use broadloom_core::Op;

use super::extension::{Extension, first_of};
use super::generate::{Size, program};
use super::program::{Arg, Program, PySlice, Step, View};
use crate::reduction::{Cumulative, Function, Reduction};

/// The maximum number of elements of a joined array.
const MOST: usize = 3000;

/// The program of a seed, with joined arrays and windows of its values, and steps that use them.
///
/// ```
/// use broadloom_testkit::random::{Step, program_with_joins};
///
/// let program = program_with_joins(7);
/// assert!(program.steps.iter().any(|step| matches!(step, Step::Concat(..))), "{program}");
/// assert!(program.run().is_ok(), "{program}");
/// ```
pub fn program_with_joins(seed: u64) -> Program {
    first_of(seed, 0x70_1e, |seed, rng| {
        let program = program(seed, Size::Small);
        let mut joins = Extension { program, rng, made: Vec::new(), most: MOST };
        for _ in 0..1 + joins.rng.below(4) {
            joins.join();
            if joins.rng.chance(1, 3) {
                joins.window();
            }
        }
        joins.with_roots()
    })
}

impl Extension<'_> {
    /// Some indices of an axis.
    fn part(&mut self, of: usize, axis: usize) -> Option<usize> {
        let shape = self.types()[of].shape.clone();
        let n = shape[axis] as isize;
        let whole = PySlice { start: None, stop: None, step: 1 };
        let mut ranges = vec![whole; axis + 1];
        let from = self.rng.below(n as usize + 1) as isize;
        let to = self.rng.below(n as usize + 1) as isize;
        ranges[axis] = match self.rng.below(5) {
            0 => PySlice { start: Some(from), stop: Some(to), step: 1 },
            1 => PySlice { start: Some(from.max(to)), stop: Some(from.min(to)), step: -1 },
            2 => PySlice { start: Some(0), stop: Some(1), step: 1 },
            3 => PySlice { start: Some(-1), stop: None, step: 1 },
            _ => PySlice { start: Some(from), stop: None, step: 1 + self.rng.below(3) as isize },
        };
        self.push(Step::View(of, View::Slice(ranges)))
    }

    fn join(&mut self) {
        let types = self.types();
        let candidates: Vec<usize> = (0..types.len()).filter(|&i| !types[i].shape.is_empty()).collect();
        let recent =
            self.made.last().copied().filter(|&i| !types[i].shape.is_empty() && self.rng.chance(1, 2));
        let Some(first) = recent.or_else(|| self.rng.pick(&candidates).copied()) else { return };
        let axis = self.rng.below(types[first].shape.len());
        let mut parts = Vec::new();
        for _ in 0..1 + self.rng.below(4) {
            let next = match self.rng.below(4) {
                0 => Some(first),
                // Another array of the other extents, converted if need be.
                1 => {
                    let fits = |i: &usize| {
                        let (a, b) = (&types[first].shape, &types[*i].shape);
                        a.len() == b.len() && (0..a.len()).all(|other| other == axis || a[other] == b[other])
                    };
                    let others: Vec<usize> = candidates.iter().copied().filter(fits).collect();
                    let other = self.rng.pick(&others).copied();
                    other.and_then(|other| match types[other].dtype == types[first].dtype {
                        true => Some(other),
                        false => self.push(Step::Cast(other, types[first].dtype)),
                    })
                }
                _ => self.part(first, axis),
            };
            parts.extend(next);
        }
        let shown = if self.rng.chance(1, 2) {
            axis as isize
        } else {
            axis as isize - types[first].shape.len() as isize
        };
        let Some(joined) = self.push(Step::Concat(parts, shown)) else { return };
        self.made.push(joined);
        self.used_join(joined, axis);
    }

    /// Uses a joined array: neighbours are added, or it is reduced or scanned.
    fn used_join(&mut self, joined: usize, axis: usize) {
        let t = self.types()[joined].clone();
        let n = t.shape[axis] as isize;
        let slice = |start, stop| {
            let mut ranges = vec![PySlice { start: None, stop: None, step: 1 }; axis + 1];
            ranges[axis] = PySlice { start, stop, step: 1 };
            View::Slice(ranges)
        };
        let made = match self.rng.below(5) {
            0 | 1 if n > 2 => {
                let ends = [(None, Some(-2)), (Some(1), Some(-1)), (Some(2), None)];
                let ends = ends.map(|(start, stop)| self.push(Step::View(joined, slice(start, stop))));
                let [Some(a), Some(b), Some(c)] = ends else { return };
                let op = *self.rng.pick(&[Op::Add, Op::Maximum, Op::Multiply, Op::LogicalOr]).expect("ops");
                let first = self.push(Step::Apply(op, vec![Arg::Step(a), Arg::Step(c)]));
                first.and_then(|first| self.push(Step::Apply(op, vec![Arg::Step(first), Arg::Step(b)])))
            }
            2 => {
                let function =
                    *self.rng.pick(&[Function::Sum, Function::Max, Function::Any]).expect("functions");
                let axis = self.rng.below(t.shape.len()) as isize;
                self.push(Step::Reduce(joined, Reduction::along(function, &[axis])))
            }
            3 => {
                let scan = Cumulative {
                    is_product: false,
                    axis: Some(self.rng.below(t.shape.len()) as isize),
                    dtype: None,
                    include_initial: self.rng.chance(1, 3),
                };
                self.push(Step::Scan(joined, scan))
            }
            _ => {
                let op = *self.rng.pick(&[Op::Negative, Op::Abs, Op::IsNan, Op::LogicalNot]).expect("ops");
                self.push(Step::Apply(op, vec![Arg::Step(joined)]))
            }
        };
        self.made.extend(made);
    }

    /// Windows of an array, which are reduced or multiplied.
    fn window(&mut self) {
        let types = self.types();
        let candidates: Vec<usize> = (0..types.len()).filter(|&i| !types[i].shape.is_empty()).collect();
        let Some(&of) = self.rng.pick(&candidates) else { return };
        let axis = self.rng.below(types[of].shape.len());
        let length = self.rng.below(types[of].shape[axis].min(4) + 1);
        let Some(windows) = self.push(Step::View(of, View::SlidingWindow(length, axis as isize))) else {
            return;
        };
        let reduced = self.push(Step::Reduce(windows, Reduction::along(Function::Sum, &[-1])));
        self.made.push(reduced.unwrap_or(windows));
        if self.rng.chance(1, 2) {
            let squared = self.push(Step::Apply(Op::Multiply, vec![Arg::Step(windows); 2]));
            self.made.extend(squared);
        }
    }
}
