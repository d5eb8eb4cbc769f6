//! Functions whose operands NumPy takes and the op table does not: bools in arithmetic, numbers in logic, integers of any two dtypes in
//! comparisons.
//!
//! Inference has the dtypes of NumPy's rule ([`Promotion::NumPy`](crate::Promotion::NumPy)). This module replaces a function where NumPy
//! computes another one for these operands. Source: the loops of NumPy 2's universal functions (`numpy.add.types` and the others).

use broadloom_core::{DType, Literal, Op, Result};
use broadloom_math::Kind;
use smallvec::{SmallVec, smallvec};

use crate::array::{Array, Operand};
use crate::expr::{apply, cast};

/// The result of a function that NumPy's rule replaces for these operands; `None` if it is the function of the table.
pub(crate) fn replaced<'a>(op: Op, operands: &[Operand<'a>]) -> Result<Option<Array<'a>>> {
    // Numbers without an array have no dtype of NumPy's.
    if operands.iter().all(|x| x.number().is_some()) {
        return Ok(None);
    }
    let of = |op: Op, dtype: DType| apply(op, operands.iter().map(|x| converted(x, dtype)).collect());
    let is_bool = operands.iter().all(|x| kind(x) == Kind::Bool);
    let made = match op {
        Op::Add | Op::Maximum if is_bool => of(Op::LogicalOr, DType::Bool)?,
        Op::Multiply | Op::Minimum if is_bool => of(Op::LogicalAnd, DType::Bool)?,
        Op::Abs | Op::Ceil | Op::Floor | Op::Trunc if is_bool => operands[0].clone().into_array(),
        Op::Round if is_bool => of(op, DType::Float16)?,
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual if is_bool => of(op, DType::UInt8)?,
        Op::IsFinite | Op::IsInf | Op::IsNan if is_bool => of(op, DType::UInt8)?,
        Op::Square | Op::FloorDivide | Op::Remainder | Op::Pow if is_bool => of(op, DType::Int8)?,
        Op::BitwiseLeftShift | Op::BitwiseRightShift if is_bool => of(op, DType::Int8)?,
        Op::Reciprocal if kind(&operands[0]) != Kind::Float => {
            let x = if is_bool { converted(&operands[0], DType::Int8) } else { operands[0].clone() };
            apply(Op::TruncDivide, smallvec![Operand::Number(Literal::Int(1).into()), x])?
        }
        Op::LogicalAnd | Op::LogicalNot | Op::LogicalOr | Op::LogicalXor if !is_bool => of(op, DType::Bool)?,
        Op::Where if kind(&operands[0]) != Kind::Bool => {
            let mut operands: SmallVec<[Operand<'a>; 3]> = operands.into();
            operands[0] = converted(&operands[0], DType::Bool);
            apply(op, operands)?
        }
        _ => match (Comparison::of(op), operands) {
            (Some(comparison), [a, b]) => return comparison.of_integers(a, b),
            _ => return Ok(None),
        },
    };
    Ok(Some(made))
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

/// An operand in a dtype, as `astype` converts it.
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

    /// The comparison of exchanged operands.
    fn exchanged(self) -> Comparison {
        match self {
            Comparison::Equal | Comparison::NotEqual => self,
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
        }
    }

    /// Whether it holds between a number and a greater one.
    fn holds_below(self) -> bool {
        matches!(self, Comparison::NotEqual | Comparison::Less | Comparison::LessEqual)
    }

    /// Compares integers that have no common dtype: int64 with uint64, and an array with a number beyond its dtype.
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

    /// Compares integers of any signed dtype with those of any unsigned one.
    fn of_signs<'a>(self, signed: &Operand<'a>, unsigned: &Operand<'a>) -> Result<Option<Array<'a>>> {
        if unsigned.clone().into_array().dtype() != DType::UInt64 {
            return Ok(None);
        }
        let zero = Operand::Number(Literal::Int(0).into());
        let is_negative = apply(Op::Less, smallvec![signed.clone(), zero])?;
        let others = apply(self.op(), smallvec![converted(signed, DType::UInt64), unsigned.clone()])?;
        let made = match self.holds_below() {
            true => apply(Op::LogicalOr, smallvec![is_negative.into(), others.into()])?,
            false => {
                let is_other = apply(Op::LogicalNot, smallvec![is_negative.into()])?;
                apply(Op::LogicalAnd, smallvec![is_other.into(), others.into()])?
            }
        };
        Ok(Some(made))
    }

    /// Compares integers with a number that their dtype does not hold.
    fn with_number<'a>(self, array: &Operand<'a>, number: Literal) -> Result<Option<Array<'a>>> {
        let dtype = array.clone().into_array().dtype();
        let held = if dtype == DType::Bool { DType::Int64 } else { dtype };
        let Literal::Int(x) = number else { return Ok(None) };
        if held.is_float() || number.to_dtype(held).is_ok() {
            return Ok(None);
        }
        let holds = if x < 0 { self.exchanged().holds_below() } else { self.holds_below() };
        // All elements are equal to themselves.
        let same = if holds { Op::Equal } else { Op::NotEqual };
        Ok(Some(apply(same, smallvec![array.clone(), array.clone()])?))
    }
}
