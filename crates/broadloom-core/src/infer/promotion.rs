//! Promotion: the dtype to which operands of different dtypes are converted, the conversion of literals, and the exceptions that
//! NumPy's rules make for comparisons, for bounds of `clip` and for bools.
//!
//! Sources: the Array API standard's promotion tables, and NumPy 2 for [`Promotion::NumPy`].

use std::fmt;

use broadloom_math::{DType, Kind};

use super::operand::{Operand, list};
use crate::error::{Error, ErrorKind, Result};
use crate::fold;
use crate::op::{Law, Op};
use crate::scalar::{Literal, Scalar};

/// The rules by which dtypes of different kinds are promoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Promotion {
    /// The Array API standard's rules: mixing kinds is an error.
    #[default]
    Strict,
    /// NumPy 2's rules. A float function converts bools and 8-bit integers to float16, 16-bit integers to float32, and
    /// larger ones to float64.
    NumPy,
}

/// The advice to use the promotion option, whose name is the same in every interface.
pub const BY_NUMPY: &str = "promote as NumPy does (promotion=numpy)";

/// The dtype to which the operands of a function promote, before the function's own rules apply.
///
/// # Errors
/// [`ErrorKind::DType`], with the name of the function, if the mode does not allow their combination.
pub fn promote(function: impl fmt::Display, operands: &[Operand<'_>], mode: Promotion) -> Result<DType> {
    let mut met: Option<DType> = None;
    // Floats are promoted first, so that the result does not depend on the order of the operands: int16 and uint16
    // alone would promote to int32.
    let arrays =
        |float: bool| operands.iter().filter_map(Operand::dtype).filter(move |d| d.is_float() == float);
    for dtype in arrays(true).chain(arrays(false)) {
        met = Some(match met {
            None => dtype,
            Some(other) => {
                pair(other, dtype, mode).ok_or_else(|| mixed(&function, operands, other, dtype))?
            }
        });
    }
    let literals =
        || operands.iter().filter_map(|x| if let Operand::Literal(l) = x { Some(*l) } else { None });
    let Some(mut dtype) = met else {
        return all_literals(&function, operands, literals(), mode);
    };
    for literal in literals() {
        dtype = weak(dtype, literal, mode).ok_or_else(|| {
            Error::new(
                ErrorKind::DType,
                format!("{function}: {} with the literal {literal}", list(operands, |x| x.dtype().is_some())),
            )
            .with_help(match literal {
                Literal::Float(_) => {
                    format!("write astype(x, float64), or {BY_NUMPY}; {dtype} holds no {literal}")
                }
                _ => format!("write a literal of the kind of {dtype}, or {BY_NUMPY}"),
            })
        })?;
    }
    Ok(dtype)
}

/// The dtype of operands that are all literals: bool, int64 or float64, by the widest kind among them.
fn all_literals(
    function: &dyn fmt::Display,
    operands: &[Operand<'_>],
    literals: impl Iterator<Item = Literal> + Clone,
    mode: Promotion,
) -> Result<DType> {
    let dtype = literals.clone().map(Literal::default_dtype).max().unwrap_or(DType::Float64);
    let mut bools = literals.filter(|l| matches!(l, Literal::Bool(_)));
    if mode == Promotion::Strict && dtype != DType::Bool && bools.next().is_some() {
        let why = format!("{function}: {} mix bool and numbers", list(operands, |_| true));
        return Err(Error::new(ErrorKind::DType, why).with_help(format!("write numbers, or {BY_NUMPY}")));
    }
    Ok(dtype)
}

/// The dtype to which an array's dtype and a literal promote; `None` if the mode does not allow the combination.
fn weak(dtype: DType, literal: Literal, mode: Promotion) -> Option<DType> {
    match (literal, dtype.kind()) {
        (Literal::Bool(_), Kind::Bool) => Some(dtype),
        (Literal::Int(_), Kind::Signed | Kind::Unsigned | Kind::Float) => Some(dtype),
        (Literal::Float(_), Kind::Float) => Some(dtype),
        _ if mode == Promotion::Strict => None,
        (Literal::Float(_), _) => Some(DType::Float64),
        (Literal::Int(_), _) => Some(DType::Int64),
        (Literal::Bool(_), _) => Some(dtype),
    }
}

/// The dtype to which the dtypes of two arrays promote; `None` if the mode does not allow the combination.
pub fn pair(a: DType, b: DType, mode: Promotion) -> Option<DType> {
    use DType::*;
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    let numpy = mode == Promotion::NumPy;
    match (low.kind(), high.kind()) {
        (x, y) if x == y => Some(low.max(high)),
        (Kind::Signed, Kind::Unsigned) => match high {
            UInt8 => Some(low.max(Int16)),
            UInt16 => Some(low.max(Int32)),
            UInt32 => Some(Int64),
            _ => numpy.then_some(Float64),
        },
        (Kind::Bool, _) => numpy.then_some(high),
        _ => numpy.then(|| high.max(least_float(low))),
    }
}

/// The smallest float dtype that NumPy uses for a bool or integer dtype. float64 is used for 64-bit integers, although
/// it can't represent all of them.
fn least_float(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::Float16,
        2 => DType::Float32,
        _ => DType::Float64,
    }
}

fn mixed(function: &dyn fmt::Display, operands: &[Operand<'_>], a: DType, b: DType) -> Error {
    let message = format!("{function}: cannot promote {}", list(operands, |x| x.dtype().is_some()));
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    let help = match (low.kind(), high.kind()) {
        (Kind::Signed, Kind::Unsigned) => {
            format!("write astype(x, int64) for the {high} operand, or astype(x, float64) for both")
        }
        _ => format!("write astype(x, {high}) for the {low} operand"),
    };
    Error::new(ErrorKind::DType, message).with_help(format!("{help}, or {BY_NUMPY}"))
}

/// The dtype in which the op computes, given the promoted dtype; an error if the op does not take it.
pub(super) fn accepted(op: Op, dtype: DType, operands: &[Operand<'_>], mode: Promotion) -> Result<DType> {
    if op.dtypes().contains(&dtype) {
        return Ok(dtype);
    }
    let float_function = op.dtypes().iter().all(|d| d.is_float());
    let literals_only = operands.iter().all(|x| matches!(x, Operand::Literal(_)));
    if float_function && dtype.is_integer() && (op.has(Law::Divides) || literals_only) {
        return Ok(DType::Float64);
    }
    if float_function && mode == Promotion::NumPy {
        let arrays = || operands.iter().filter_map(Operand::dtype);
        // An integer literal is an int64 if all arrays are bool.
        let has_int64 = dtype != DType::Bool && arrays().all(|array| array == DType::Bool);
        return Ok(match arrays().map(least_float).max() {
            Some(float) if !op.has(Law::Divides) && !has_int64 => float,
            _ => DType::Float64,
        });
    }
    let error = Error::new(ErrorKind::DType, format!("{op}: does not take {}", list(operands, |_| true)));
    Err(match dtype {
        _ if float_function => error.with_help(format!("write astype(x, float64), or {BY_NUMPY}")),
        DType::Bool if of_bools(op).is_some() => {
            error.with_help(format!("write astype(x, int8), or {BY_NUMPY}"))
        }
        _ if op.dtypes() == [DType::UInt64] => error.with_help("write astype(x, uint64)"),
        DType::Bool => error.with_help("write astype(x, int8), or the dtype that you mean"),
        _ if op.dtypes() == [DType::Bool] => error.with_help(format!("write astype(x, bool), or {BY_NUMPY}")),
        _ => error.with_help(format!(
            "it takes {}",
            op.dtypes().iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
        )),
    })
}

/// Converts a literal to the dtype to which it was promoted. By NumPy's rules a float may be rounded to infinity, and a
/// bool is converted to 0 or 1.
///
/// # Errors
/// [`ErrorKind::Literal`], naming the literal and the dtype.
pub fn literal(x: Literal, dtype: DType, mode: Promotion) -> Result<Scalar> {
    match x.to_dtype(dtype) {
        Err(_) if mode == Promotion::NumPy && (dtype.is_float() || matches!(x, Literal::Bool(_))) => {
            Ok(converted(x, dtype))
        }
        made => made,
    }
}

/// Converts a literal to any dtype as `astype` does: a float saturates, an integer wraps.
pub fn converted(x: Literal, dtype: DType) -> Scalar {
    match x {
        Literal::Bool(x) => fold::cast(Scalar::of(x), dtype),
        Literal::Float(x) => fold::cast(Scalar::of(x), dtype),
        Literal::Int(x) if dtype == DType::Bool => Scalar::of(x != 0),
        Literal::Int(x) if dtype.is_float() => fold::cast(Scalar::of(x as f64), dtype),
        Literal::Int(x) => fold::cast(Scalar::of(x as u64), dtype),
    }
}

/// Whether NumPy's rule allows a literal that the dtype of the operands can't represent: a number among floats, an integer
/// in a comparison of integers, which is exact, and a bound of `clip`, if it allows the other bound too.
pub(super) fn takes_any(op: Op, dtype: DType, literal: Literal, operands: &[Operand<'_>]) -> bool {
    if self::literal(literal, dtype, Promotion::NumPy).is_ok() {
        return true;
    }
    if compares(op) {
        return dtype.is_integer() && matches!(literal, Literal::Int(_));
    }
    match (op, operands) {
        (Op::Clip, [x, low, high]) => {
            [(low, Bound::Low), (high, Bound::High)].into_iter().all(|(bound, side)| {
                match (x.dtype(), bound) {
                    (Some(of), Operand::Literal(bound)) => {
                        bound.to_dtype(dtype).is_ok() || bounds_nothing(side, *bound, of)
                    }
                    _ => true,
                }
            })
        }
        _ => false,
    }
}

/// A bound of `clip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The lower bound.
    Low,
    /// The upper bound.
    High,
}

/// Whether a number bounds no element of a dtype: an integer that is at most the minimum of an integer dtype, or at least
/// its maximum. NumPy leaves such bounds out, so that the dtype need not represent them (`_clip` in NumPy 2's
/// `numpy/_core/_methods.py`).
pub fn bounds_nothing(side: Bound, bound: Literal, dtype: DType) -> bool {
    let Literal::Int(bound) = bound else { return false };
    let bits = 8 * dtype.size() as u32;
    let (minimum, maximum) = match dtype.kind() {
        Kind::Signed => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        Kind::Unsigned => (0, (1_i128 << bits) - 1),
        Kind::Bool | Kind::Float => return false,
    };
    match side {
        Bound::Low => bound <= minimum,
        Bound::High => bound >= maximum,
    }
}

/// Whether a function is a comparison of its operands.
fn compares(op: Op) -> bool {
    matches!(op, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
}

/// How NumPy evaluates a function that takes no bools when all of its operands are bools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfBools {
    /// As these functions, which take bools: the first one of the first two operands, the next one of its result and the
    /// third operand.
    Functions(&'static [Op]),
    /// As the function itself, of operands that are converted to this dtype.
    Converted(DType),
    /// As the operand itself.
    Unchanged,
}

/// How NumPy evaluates a function of numbers when all of its operands are bools; `None` if it refuses them. Source: the
/// loops of NumPy 2's universal functions (`numpy.add.types` and the others).
pub fn of_bools(op: Op) -> Option<OfBools> {
    match op {
        Op::Add | Op::Maximum => Some(OfBools::Functions(&[Op::LogicalOr])),
        Op::Multiply | Op::Minimum => Some(OfBools::Functions(&[Op::LogicalAnd])),
        Op::Clip => Some(OfBools::Functions(&[Op::LogicalOr, Op::LogicalAnd])),
        Op::Abs | Op::Ceil | Op::Floor | Op::Trunc => Some(OfBools::Unchanged),
        Op::Round => Some(OfBools::Converted(DType::Float16)),
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => Some(OfBools::Converted(DType::UInt8)),
        Op::IsFinite | Op::IsInf | Op::IsNan => Some(OfBools::Converted(DType::UInt8)),
        Op::Square | Op::FloorDivide | Op::Remainder | Op::Pow => Some(OfBools::Converted(DType::Int8)),
        Op::BitwiseLeftShift | Op::BitwiseRightShift => Some(OfBools::Converted(DType::Int8)),
        _ => None,
    }
}
