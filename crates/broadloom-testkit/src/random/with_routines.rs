//! Random programs that read elements at computed places: takes, sorts, searches, reductions by label and scatters.

use broadloom_core::graph::IntDivision;
use broadloom_core::routine::{ScatterMode, SegmentFunction};
use broadloom_core::{DType, Kind, Op};

use super::extension::{Extension, first_of};
use super::generate::{Size, program};
use super::program::{Arg, Program, PySlice, Step, TakeKind, View, WholeArrayCall};
use super::typing::Type;
use crate::reduction::{Function, Reduction};
use crate::tensor::Tensor;

/// The program of a seed, with takes, sorts, searches, reductions by label and scatters, and steps that use them.
///
/// ```
/// use broadloom_testkit::random::{Step, program_with_routines};
///
/// let program = program_with_routines(7);
/// let is_one = |step: &Step| matches!(step, Step::Take(..) | Step::WholeArray(..));
/// assert!(program.steps.iter().any(is_one), "{program}");
/// assert!(program.run().is_ok(), "{program}");
/// ```
pub fn program_with_routines(seed: u64) -> Program {
    first_of(seed, 0x5e67, |seed, rng| {
        // Some arrays are long enough for several threads.
        let is_long = rng.chance(1, 40);
        let mut program = program(seed, Size::Small);
        // Which of several errors is reported is not defined.
        program.semantics.int_division = IntDivision::Zero;
        let most = if is_long { 50_000 } else { 3000 };
        let mut extension = Extension { program, rng, made: Vec::new(), most };
        if is_long {
            extension.long();
        }
        for _ in 0..1 + extension.rng.below(if is_long { 2 } else { 4 }) {
            let made = match extension.rng.below(8) {
                0..=2 => extension.take(),
                3 | 4 => extension.ordered(),
                5 | 6 => extension.segments(),
                _ => extension.scatter(),
            };
            if let Some(made) = made {
                extension.made.push(made);
                extension.used(made);
            }
        }
        extension.with_roots()
    })
}

impl Extension<'_> {
    /// A step of the program for which a condition holds; one that was just made if possible, for half of the calls.
    fn some(&mut self, is_fit: impl Fn(&Type) -> bool) -> Option<usize> {
        let types = self.types();
        let fit: Vec<usize> = (0..types.len()).filter(|&i| is_fit(&types[i])).collect();
        let recent = self.made.last().copied().filter(|last| fit.contains(last) && self.rng.chance(1, 2));
        recent.or_else(|| self.rng.pick(&fit).copied())
    }

    /// An input of few values in many elements.
    fn long(&mut self) {
        let dtype = *self.rng.pick(&[DType::Float64, DType::Float32, DType::Int32]).expect("dtypes");
        let shape = [vec![20_011], vec![20_000, 2], vec![7, 31, 97]][self.rng.below(3)].clone();
        let few: Vec<u64> = (0..11).map(|_| self.rng.next() >> (64 - 8 * dtype.size())).collect();
        let bits = (0..shape.iter().product::<usize>()).map(|_| few[self.rng.below(few.len())]).collect();
        let long = self.push(Step::Input(Tensor { dtype, shape, bits }));
        self.made.extend(long);
    }

    /// Integers from `low` to before `high`, of this shape; few programs have one out of range. They are an input, or computed.
    fn integers(&mut self, shape: &[usize], low: i128, high: i128, dtype: DType) -> Option<usize> {
        let is_wrong = self.rng.chance(1, 12);
        let count: usize = shape.iter().product();
        let wrong = self.rng.below(count.max(1));
        let width = 8 * dtype.size() as u32;
        let fits = |x: i128| match dtype.kind() {
            Kind::Signed => (-(1_i128 << (width - 1))..1_i128 << (width - 1)).contains(&x),
            _ => (0..1_i128 << width).contains(&x),
        };
        let mut bits = Vec::new();
        for i in 0..count {
            let within = low + i128::from(self.rng.next() >> 1) % (high - low).max(1);
            let x = if is_wrong && i == wrong { high + i128::from(self.rng.next() >> 62) } else { within };
            let x = if fits(x) { x } else { low.max(0) };
            bits.push(x as u64 & (u64::MAX >> (64 - width)));
        }
        let input = self.push(Step::Input(Tensor { dtype, shape: shape.to_vec(), bits }))?;
        Some(match self.rng.below(4) {
            0 if !shape.is_empty() => self.push(Step::View(input, View::Flip(0)))?,
            1 => {
                let inverted = self.push(Step::Apply(Op::BitwiseInvert, vec![Arg::Step(input)]))?;
                self.push(Step::Apply(Op::BitwiseInvert, vec![Arg::Step(inverted)]))?
            }
            _ => input,
        })
    }

    fn take(&mut self) -> Option<usize> {
        let of = self.some(|t| !t.shape.is_empty())?;
        let shape = self.types()[of].shape.clone();
        let axis = self.rng.below(shape.len());
        let dtypes = [DType::Int64, DType::Int64, DType::Int32, DType::Int8, DType::UInt8, DType::UInt64];
        let dtype = *self.rng.pick(&dtypes).expect("dtypes");
        let low = if dtype.kind() == Kind::Signed { -(shape[axis] as i128) } else { 0 };
        let shown = axis as isize - if self.rng.chance(1, 2) { shape.len() as isize } else { 0 };
        let (kind, indices) = if self.rng.chance(1, 3) {
            let mut extents = shape.clone();
            extents[axis] = self.rng.below(6);
            for (i, extent) in extents.iter_mut().enumerate() {
                if i != axis && self.rng.chance(1, 4) {
                    *extent = 1;
                }
            }
            (TakeKind::AlongAxis, extents)
        } else {
            let rank = self.rng.below(3);
            (TakeKind::Take, (0..rank).map(|_| self.rng.below(9)).collect())
        };
        let at = self.integers(&indices, low, shape[axis] as i128, dtype)?;
        self.push(Step::Take(kind, of, at, shown))
    }

    fn ordered(&mut self) -> Option<usize> {
        let of = self.some(|t| !t.shape.is_empty())?;
        let Type { dtype, shape } = self.types()[of].clone();
        let axis = self.rng.below(shape.len()) as isize
            - if self.rng.chance(1, 2) { shape.len() as isize } else { 0 };
        let descending = self.rng.chance(1, 2);
        let call = match self.rng.below(5) {
            0 | 1 => WholeArrayCall::Sort { axis, descending },
            2 => WholeArrayCall::ArgSort { axis, descending },
            3 => {
                let extent = shape[axis.rem_euclid(shape.len() as isize) as usize];
                let (k, is_indices) = (self.rng.below(extent.min(20) + 1), self.rng.chance(1, 2));
                WholeArrayCall::TopK { k, axis, largest: descending, is_indices }
            }
            _ => {
                // In an array of one axis, sorted or not.
                let sorted = self.some(|t| t.shape.len() == 1 && t.dtype == dtype)?;
                let sort =
                    Step::WholeArray(WholeArrayCall::Sort { axis: 0, descending: false }, vec![sorted]);
                let sorted = if self.rng.chance(2, 3) { self.push(sort)? } else { sorted };
                let call = WholeArrayCall::SearchSorted { right: descending };
                return self.push(Step::WholeArray(call, vec![sorted, of]));
            }
        };
        self.push(Step::WholeArray(call, vec![of]))
    }

    fn segments(&mut self) -> Option<usize> {
        let function = *self.rng.pick(&SegmentFunction::ALL).expect("functions");
        let of = self.some(|t| !t.shape.is_empty() && t.dtype != DType::Bool)?;
        let n = self.types()[of].shape[0];
        let segments =
            if self.rng.chance(1, 4) { 1 + self.rng.below(3 * n + 1) } else { 1 + self.rng.below(6) };
        let dtypes = [DType::Int64, DType::Int64, DType::Int32, DType::Int16, DType::UInt16, DType::UInt64];
        let dtype = *self.rng.pick(&dtypes).expect("dtypes");
        let low = if dtype.kind() == Kind::Signed { -1 } else { 0 };
        let mut labels = self.integers(&[n], low, segments as i128, dtype)?;
        if self.rng.chance(1, 4) {
            let sort = WholeArrayCall::Sort { axis: 0, descending: false };
            labels = self.push(Step::WholeArray(sort, vec![labels]))?;
        }
        let args = if function == SegmentFunction::Count { vec![labels] } else { vec![of, labels] };
        self.push(Step::WholeArray(WholeArrayCall::Segments { function, segments }, args))
    }

    fn scatter(&mut self) -> Option<usize> {
        let mode = *self.rng.pick(&ScatterMode::ALL).expect("modes");
        let of = self.some(|t| mode == ScatterMode::Set || t.dtype != DType::Bool)?;
        let Type { dtype, .. } = self.types()[of];
        let count = self.types()[of].elements();
        let values = self.some(|t| t.dtype == dtype && t.elements() > 0)?;
        let shape = self.types()[values].shape.clone();
        let positions = self.integers(&shape, 0, count as i128, DType::Int64)?;
        self.push(Step::WholeArray(WholeArrayCall::Scatter(mode), vec![of, positions, values]))
    }

    /// Uses a value: a view, a function, a conversion or a reduction of it.
    fn used(&mut self, of: usize) {
        let t = self.types()[of].clone();
        let made = match self.rng.below(6) {
            0 if !t.shape.is_empty() => {
                let step = if self.rng.chance(1, 2) { 2 } else { -1 };
                let range = PySlice { start: None, stop: None, step };
                self.push(Step::View(of, View::Slice(vec![range])))
            }
            1 => {
                let function =
                    *self.rng.pick(&[Function::Sum, Function::Max, Function::Any]).expect("functions");
                self.push(Step::Reduce(of, Reduction::all(function)))
            }
            2 => {
                let dtype = *self.rng.pick(DType::ALL).expect("dtypes");
                self.push(Step::Cast(of, dtype))
            }
            3 => None,
            _ => {
                let same = self.some(|other| other.dtype == t.dtype);
                let op = *self.rng.pick(&[Op::Add, Op::Maximum, Op::Less, Op::Multiply]).expect("ops");
                same.and_then(|other| self.push(Step::Apply(op, vec![Arg::Step(of), Arg::Step(other)])))
            }
        };
        self.made.extend(made);
    }
}
