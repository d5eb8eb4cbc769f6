//! Applies functions in the thread's promotion mode.
//!
//! Type inference implements the dtypes of NumPy's promotion ([`Promotion::NumPy`]). This module replaces a function if NumPy
//! computes another function of the operands: arithmetic of bools, logical functions of numbers, comparisons of integers of any two
//! dtypes, and `clip` with bounds that bound nothing. Source: the loops of NumPy 2's universal functions (`numpy.add.types`
//! and the others).

use broadloom_core::infer::{Bound, OfBools, bounds_nothing, of_bools};
use broadloom_core::{DType, Literal, Op, Promotion, Result};
use broadloom_math::Kind;
use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Operand};
use crate::expr::{self, cast};
use crate::promote::promotion;

/// Applies a function to the operands of a user's call.
pub(crate) fn apply<'a>(op: Op, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Array<'a>> {
    if promotion() == Promotion::NumPy
        && let Some(replaced) = replaced(op, &operands)?
    {
        return Ok(replaced);
    }
    expr::apply(op, operands)
}

/// The dtypes to which a function converts these operands. A number that is compared with integers keeps its default dtype (int64
/// for a literal), whatever its value is.
pub(crate) fn operand_dtypes<'a>(op: Op, operands: SmallVec<[Operand<'a>; 3]>) -> Result<Vec<DType>> {
    if promotion() == Promotion::NumPy {
        let kinds = || operands.iter().map(kind);
        let own = |operand: &Operand<'a>| operand.clone().into_array().dtype();
        if kinds().all(|kind| kind == Kind::Bool)
            && let Some(instead) = of_bools(op)
        {
            let dtype = if let OfBools::Converted(dtype) = instead { dtype } else { DType::Bool };
            return Ok(vec![dtype; operands.len()]);
        }
        if Comparison::of(op).is_some() && kinds().all(|kind| kind != Kind::Float) {
            return Ok(operands.iter().map(own).collect());
        }
        if let Some((op, others)) = without_bounds(op, &operands) {
            return Ok(vec![expr::operand_dtypes(op, others)?[0]; operands.len()]);
        }
    }
    expr::operand_dtypes(op, operands)
}

/// The result of a function that is replaced for these operands; `None` if the function is computed as usual.
fn replaced<'a>(op: Op, operands: &[Operand<'a>]) -> Result<Option<Array<'a>>> {
    // NumPy's rules concern arrays; expressions that consist of numbers only are typed as usual.
    if operands.iter().all(|x| x.number().is_some()) {
        return Ok(None);
    }
    let of = |op: Op, dtype: DType| expr::apply(op, operands.iter().map(|x| converted(x, dtype)).collect());
    let is_bool = operands.iter().all(|x| kind(x) == Kind::Bool);
    if is_bool && let Some(instead) = of_bools(op) {
        let first = operands[0].clone().into_array();
        return match instead {
            OfBools::Functions(ops) => ops
                .iter()
                .zip(&operands[1..])
                .try_fold(first, |made, (op, x)| expr::apply(*op, smallvec![made.into(), x.clone()]))
                .map(Some),
            OfBools::Converted(dtype) => of(op, dtype).map(Some),
            OfBools::Unchanged => Ok(Some(first)),
        };
    }
    if let Some((op, others)) = without_bounds(op, operands) {
        return expr::apply(op, others).map(Some);
    }
    let made = match op {
        Op::Reciprocal if kind(&operands[0]) != Kind::Float => {
            let x = if is_bool { converted(&operands[0], DType::Int8) } else { operands[0].clone() };
            expr::apply(Op::TruncDivide, smallvec![Operand::Number(Literal::Int(1).into()), x])?
        }
        Op::LogicalAnd | Op::LogicalNot | Op::LogicalOr | Op::LogicalXor if !is_bool => of(op, DType::Bool)?,
        Op::Where if kind(&operands[0]) != Kind::Bool => {
            let mut operands: SmallVec<[Operand<'a>; 3]> = operands.into();
            operands[0] = converted(&operands[0], DType::Bool);
            expr::apply(op, operands)?
        }
        _ => match (Comparison::of(op), operands) {
            (Some(comparison), [a, b]) => return comparison.of_integers(a, b),
            _ => return Ok(None),
        },
    };
    Ok(Some(made))
}

/// For `clip` of an array with bounds that bound none of its elements, the function of the other operands that gives the
/// same elements; `None` for other functions and bounds.
fn without_bounds<'a>(op: Op, operands: &[Operand<'a>]) -> Option<(Op, SmallVec<[Operand<'a>; 3]>)> {
    let (Op::Clip, [Operand::Array(x), low, high]) = (op, operands) else { return None };
    if operands[0].number().is_some() {
        return None;
    }
    let is_left_out = |side: Bound, bound: &Operand<'a>| {
        bound.number().is_some_and(|number| bounds_nothing(side, number.literal(), x.dtype()))
    };
    let x = operands[0].clone();
    match (is_left_out(Bound::Low, low), is_left_out(Bound::High, high)) {
        (false, false) => None,
        (true, false) => Some((Op::Minimum, smallvec![x, high.clone()])),
        (false, true) => Some((Op::Maximum, smallvec![x, low.clone()])),
        (true, true) => Some((Op::Positive, smallvec![x])),
    }
}

/// The kind of an operand's dtype, or of a number.
fn kind(operand: &Operand<'_>) -> Kind {
    match (operand, operand.number().map(|x| x.literal())) {
        (_, Some(Literal::Bool(_))) => Kind::Bool,
        (_, Some(Literal::Int(_))) => Kind::Signed,
        (_, Some(Literal::Float(_))) => Kind::Float,
        (Operand::Array(array), None) => array.dtype().kind(),
        (Operand::Number(_), None) => unreachable!("a number has a literal"),
    }
}

/// The operand converted to a dtype as `astype` does.
fn converted<'a>(operand: &Operand<'a>, dtype: DType) -> Operand<'a> {
    cast(operand.clone().into_array(), dtype).into()
}

/// A comparison of two numbers.
#[derive(Clone, Copy)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    fn of(op: Op) -> Option<Comparison> {
        Some(match op {
            Op::Equal => Comparison::Equal,
            Op::NotEqual => Comparison::NotEqual,
            Op::Less => Comparison::Less,
            Op::LessEqual => Comparison::LessEqual,
            Op::Greater => Comparison::Greater,
            Op::GreaterEqual => Comparison::GreaterEqual,
            _ => return None,
        })
    }

    fn op(self) -> Op {
        match self {
            Comparison::Equal => Op::Equal,
            Comparison::NotEqual => Op::NotEqual,
            Comparison::Less => Op::Less,
            Comparison::LessEqual => Op::LessEqual,
            Comparison::Greater => Op::Greater,
            Comparison::GreaterEqual => Op::GreaterEqual,
        }
    }

    /// The equivalent comparison with the operands exchanged.
    fn exchanged(self) -> Comparison {
        match self {
            Comparison::Equal | Comparison::NotEqual => self,
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
        }
    }

    /// Whether the comparison is true if the first operand is less than the second.
    fn holds_below(self) -> bool {
        matches!(self, Comparison::NotEqual | Comparison::Less | Comparison::LessEqual)
    }

    /// Compares integers without a common dtype: signed integers with uint64, and an array with a number that its dtype can't
    /// represent. `None` for other operands.
    fn of_integers<'a>(self, a: &Operand<'a>, b: &Operand<'a>) -> Result<Option<Array<'a>>> {
        match (a.number(), b.number()) {
            (None, Some(number)) => self.with_number(a, number.literal()),
            (Some(number), None) => self.exchanged().with_number(b, number.literal()),
            _ => match (kind(a), kind(b)) {
                (Kind::Signed, Kind::Unsigned) => self.of_signs(a, b),
                (Kind::Unsigned, Kind::Signed) => self.exchanged().of_signs(b, a),
                _ => Ok(None),
            },
        }
    }

    /// Compares integers of a signed dtype with integers of an unsigned one; `None` unless the latter is uint64.
    fn of_signs<'a>(self, signed: &Operand<'a>, unsigned: &Operand<'a>) -> Result<Option<Array<'a>>> {
        if unsigned.clone().into_array().dtype() != DType::UInt64 {
            return Ok(None);
        }
        let zero = Operand::Number(Literal::Int(0).into());
        let is_negative = expr::apply(Op::Less, smallvec![signed.clone(), zero])?;
        let others = expr::apply(self.op(), smallvec![converted(signed, DType::UInt64), unsigned.clone()])?;
        let made = match self.holds_below() {
            true => expr::apply(Op::LogicalOr, smallvec![is_negative.into(), others.into()])?,
            false => {
                let is_other = expr::apply(Op::LogicalNot, smallvec![is_negative.into()])?;
                apply(Op::LogicalAnd, smallvec![is_other.into(), others.into()])?
            }
        };
        Ok(Some(made))
    }

    /// Compares integers with a number that their dtype can't represent; `None` for other numbers. The result is the same for all
    /// elements.
    fn with_number<'a>(self, array: &Operand<'a>, number: Literal) -> Result<Option<Array<'a>>> {
        let dtype = array.clone().into_array().dtype();
        let held = if dtype == DType::Bool { DType::Int64 } else { dtype };
        let Literal::Int(x) = number else { return Ok(None) };
        if held.is_float() || number.to_dtype(held).is_ok() {
            return Ok(None);
        }
        let holds = if x < 0 { self.exchanged().holds_below() } else { self.holds_below() };
        // Each element is equal to itself, so the result is true for all elements or false for all elements.
        let same = if holds { Op::Equal } else { Op::NotEqual };
        Ok(Some(expr::apply(same, smallvec![array.clone(), array.clone()])?))
    }
}
