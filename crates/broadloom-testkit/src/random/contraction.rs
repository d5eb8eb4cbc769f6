//! Finds the sums in a program that are rounded only once according to the rule on contraction in docs/language.md. It applies
//! the rule to the steps as written.
//!
//! It shares no code with the rewriting that it tests. It takes the operands in the order in which a step lists them, and keeps
//! repeated operands.

use broadloom_core::{DType, Literal, Op};

use super::affine::{Affine, axis_of};
use super::program::{Arg, Program, Step, View};
use super::typing::{self, Type};
use crate::oracle;
use crate::tensor::Tensor;

/// An operand of a fused sum, and whether it is negated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed {
    pub arg: Arg,
    pub is_negative: bool,
}

/// The operands of the fused multiply-add to which contraction converts a sum or difference of floats: two
/// factors and the addend.
pub(super) fn fused(
    program: &Program,
    (op, args): (Op, &[Arg]),
    dtype: DType,
    known: (&[Tensor], &[Type]),
) -> Option<[Signed; 3]> {
    if !program.semantics.contract || !dtype.is_float() {
        return None;
    }
    let (left, right) = match (op, args) {
        (Op::Add | Op::Subtract, &[left, right]) => (left, right),
        _ => return None,
    };
    let steps = Steps { program, values: known.0, types: known.1, dtype };
    let is_difference = op == Op::Subtract;
    let positive = |arg: Arg| Signed { arg, is_negative: false };
    if let Some((a, b, is_negative)) = steps.product(left) {
        let a = Signed { arg: a, is_negative };
        return Some([a, positive(b), Signed { arg: right, is_negative: is_difference }]);
    }
    let (a, b, is_negative) = steps.product(right)?;
    Some([Signed { arg: a, is_negative: is_negative != is_difference }, positive(b), positive(left)])
}

struct Steps<'p> {
    program: &'p Program,
    values: &'p [Tensor],
    types: &'p [Type],
    /// The dtype in which the sum is computed.
    dtype: DType,
}

impl Steps<'_> {
    /// Returns the factors, and whether the product is negated, if an operand of a sum is a product.
    fn product(&self, arg: Arg) -> Option<(Arg, Arg, bool)> {
        let Arg::Step(step) = arg else { return None };
        let step = self.behind(step);
        // An operand of another dtype is converted first, so it is not contracted.
        if self.types[step].dtype != self.dtype {
            return None;
        }
        let (step, is_negative) = match &self.program.steps[step] {
            Step::Apply(Op::Negative, args) => match args[0] {
                Arg::Step(inner) => (self.behind(inner), true),
                Arg::Literal(_) => return None,
            },
            _ => (step, false),
        };
        match &self.program.steps[step] {
            Step::Apply(Op::Multiply, args) => Some((args[0], args[1], is_negative)),
            Step::Apply(Op::Square, args) => Some((args[0], args[0], is_negative)),
            Step::Apply(Op::Pow, args) if self.is_two(args[1]) => Some((args[0], args[0], is_negative)),
            _ => None,
        }
    }

    /// Skips views and conversions that change nothing.
    fn behind(&self, mut step: usize) -> usize {
        loop {
            step = match &self.program.steps[step] {
                Step::Cast(arg, dtype) if self.types[*arg].dtype == *dtype => *arg,
                Step::View(arg, view) if changes_nothing(view, &self.types[*arg].shape) => *arg,
                _ => return step,
            };
        }
    }

    /// Whether the operand is the number 2, possibly converted.
    fn is_two(&self, arg: Arg) -> bool {
        let step = match arg {
            Arg::Literal(Literal::Int(x)) => return x == 2,
            Arg::Literal(Literal::Float(x)) => {
                return typing::literal(Literal::Float(x), self.dtype) == self.two();
            }
            Arg::Literal(Literal::Bool(_)) => return false,
            Arg::Step(step) => step,
        };
        let mut at = step;
        loop {
            at = match &self.program.steps[at] {
                Step::Constant(..) => break,
                Step::Cast(arg, _) => *arg,
                Step::View(arg, view) if changes_nothing(view, &self.types[*arg].shape) => *arg,
                _ => return false,
            };
        }
        let x = &self.values[step];
        let x = crate::Value::from_bits(x.dtype.name(), x.bits[0]).expect("a dtype of the oracle");
        Some(oracle::cast(x, self.dtype.name()).bits()) == self.two()
    }

    fn two(&self) -> Option<u64> {
        typing::literal(Literal::Int(2), self.dtype)
    }
}

/// Whether a view keeps all elements at the same indices and permutes no axes.
fn changes_nothing(view: &View, shape: &[usize]) -> bool {
    match view {
        View::PermuteDims(axes) => {
            axes.iter().enumerate().all(|(i, &axis)| axis_of(axis, shape.len()).is_ok_and(|axis| axis == i))
        }
        View::ExpandDims(_) | View::Squeeze(_) | View::IndexAxis(..) | View::SlidingWindow(..) => false,
        View::Slice(_) | View::BroadcastTo(_) | View::Reshape(_) | View::Flip(_) => Affine::of(view, shape)
            .is_ok_and(|of| {
                of.shape == shape && of.positions().into_iter().eq(0..shape.iter().product::<usize>())
            }),
    }
}
