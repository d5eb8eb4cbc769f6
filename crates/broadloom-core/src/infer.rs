//! Type inference: promotion of dtypes, and the shape of a result.
//!
//! Given an op and the dtypes and shapes of its operands, some of which may be literals, inference finds the dtype to
//! which the operands are converted, and the type of the result. An error names the op, the types, and the cast that
//! would make the call valid. Sources: the Array API standard's promotion tables, and for mixed kinds with
//! [`Promotion::NumPy`] those of NumPy 2.

use std::fmt;

use broadloom_ir::{Axes, HostDeclaration, Reduction, Scan};
use broadloom_math::{DType, Kind};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::fold;
use crate::op::{Arity, Law, Op};
use crate::scalar::{Literal, Scalar};
use crate::shape::{BroadcastError, Shape};
use crate::symbol::{Dim, Dims};

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

/// An operand, described for inference.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(DType, &'a Shape),
    /// An array whose shape depends on the inputs of a kernel.
    Symbolic(DType, &'a Dims),
    /// A 0-d literal, whose dtype follows from the arrays.
    Literal(Literal),
}

impl Operand<'_> {
    /// The dtype of an array; `None` for a literal.
    fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Array(dtype, _) | Operand::Symbolic(dtype, _) => Some(*dtype),
            Operand::Literal(_) => None,
        }
    }
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Array(dtype, shape) => write!(f, "{dtype}{shape}"),
            Operand::Symbolic(dtype, dims) => write!(f, "{dtype}{dims}"),
            Operand::Literal(x) => write!(f, "{x}"),
        }
    }
}

/// The types of a function applied to operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The dtype to which the operands are converted. For [`Arity::Choice`] it applies to the last two; the first one
    /// is bool.
    pub operand: DType,
    /// The result's dtype.
    pub result: DType,
    /// The result's shape; with symbolic dimensions, their [`Dims::least_shape`].
    pub shape: Shape,
    /// The result's dims, if some of its dimensions are symbolic.
    pub dims: Option<Dims>,
}

impl Signature {
    /// The dtype to which operand `i` is converted.
    pub fn operand(&self, op: Op, i: usize) -> DType {
        if op.arity() == Arity::Choice && i == 0 { DType::Bool } else { self.operand }
    }
}

/// Infers the types of an op applied to operands.
///
/// # Errors
/// [`ErrorKind::Arity`], [`ErrorKind::DType`], [`ErrorKind::Shape`] or [`ErrorKind::Literal`].
pub fn apply(op: Op, operands: &[Operand<'_>], mode: Promotion) -> Result<Signature> {
    if operands.len() != op.operands() {
        return Err(Error::new(
            ErrorKind::Arity,
            format!("{op} takes {} operand{}, not {}", op.operands(), plural(op.operands()), operands.len()),
        ));
    }
    let promoted = match op.arity() {
        Arity::Choice => {
            require_condition(op, &operands[0], mode)?;
            &operands[1..]
        }
        _ => operands,
    };
    let operand = accepted(op, promote(op, promoted, mode)?, promoted, mode)?;
    for x in promoted {
        if let Operand::Literal(literal) = x {
            self::literal(*literal, operand, mode).map_err(|e| {
                let error = Error::new(e.kind(), format!("{op}: {}", e.message()));
                match mode {
                    Promotion::Strict if takes_any(op, operand, *literal, promoted) => {
                        error.with_help(BY_NUMPY)
                    }
                    _ => error,
                }
            })?;
        }
    }
    let (shape, dims) = broadcast(op.name(), operands)?;
    let result =
        op.result(operand).ok_or_else(|| Error::new(ErrorKind::Internal, format!("{op}({operand})")))?;
    Ok(Signature { operand, result, shape, dims })
}

/// Infers the shape of a call of a host function, and also its [`Dims`] if some of its dimensions are symbolic. Nothing is
/// promoted.
///
/// # Errors
/// [`ErrorKind::Arity`], [`ErrorKind::DType`], [`ErrorKind::Shape`] or [`ErrorKind::Literal`].
pub fn call(function: &HostDeclaration, operands: &[Operand<'_>]) -> Result<(Shape, Option<Dims>)> {
    let (name, signature) = (function.name(), function.signature());
    let takes = signature.operands();
    if operands.len() != takes.len() {
        let why =
            format!("{name} takes {} operand{}, not {}", takes.len(), plural(takes.len()), operands.len());
        return Err(Error::new(ErrorKind::Arity, why));
    }
    for (i, (operand, &wanted)) in operands.iter().zip(takes).enumerate() {
        match operand {
            Operand::Array(dtype, _) | Operand::Symbolic(dtype, _) if *dtype != wanted => {
                let why = format!("{name}: operand {} is {dtype}, it takes {wanted}", i + 1);
                return Err(Error::new(ErrorKind::DType, why).with_help(format!("write astype(x, {wanted})")));
            }
            Operand::Array(..) | Operand::Symbolic(..) => {}
            Operand::Literal(literal) => {
                let refused = |e: Error| Error::new(e.kind(), format!("{name}: {}", e.message()));
                literal.to_dtype(wanted).map_err(refused)?;
            }
        }
    }
    broadcast(name, operands)
}

/// Infers the shape of a reduction, and also its [`Dims`] if some of its dimensions are symbolic. [`Reduction::result`] is
/// its dtype.
///
/// # Errors
/// [`ErrorKind::DType`] for a dtype that the reduction does not take without a conversion; [`ErrorKind::Shape`] for
/// axes that the operand does not have, for an operand of dynamic rank, and for the minimum or maximum of no elements.
pub fn reduce(
    reduction: Reduction,
    operand: &Operand<'_>,
    axes: Axes,
    keep_dims: bool,
) -> Result<(Shape, Option<Dims>)> {
    combined(reduction.name(), operand, |dtype| reduction.takes(dtype), axes)?;
    match operand {
        Operand::Symbolic(_, dims) => {
            let left: SmallVec<[Dim; 4]> = axes.reduced(dims, keep_dims, Dim::Fixed(1)).collect();
            let dims = Dims::new(&left)?;
            let shape = dims.least_shape()?;
            Ok((shape, if dims.is_fixed() { None } else { Some(dims) }))
        }
        Operand::Array(dtype, shape) => {
            let left: SmallVec<[usize; 4]> = axes.reduced(shape, keep_dims, 1).collect();
            let left = Shape::new(&left)?;
            if axes.count(shape) == 0 && left.elements() > 0 && reduction.of_nothing(*dtype).is_none() {
                let why = format!("{reduction}: {operand} has no elements along {}", spoken(axes));
                return Err(
                    Error::new(ErrorKind::Shape, why).with_help("there is no minimum or maximum of nothing")
                );
            }
            Ok((left, None))
        }
        Operand::Literal(_) => Ok((Shape::scalar(), None)),
    }
}

/// Infers the shape of a scan, and also its [`Dims`] if the operand has symbolic dimensions. With the initial element, the
/// axis is longer by one.
///
/// # Errors
/// The errors of [`reduce`].
pub fn scan(scan: Scan, operand: &Operand<'_>, axis: usize, initial: bool) -> Result<(Shape, Option<Dims>)> {
    combined(scan.name(), operand, |dtype| scan.takes(dtype), [axis].into_iter().collect())?;
    match operand {
        Operand::Symbolic(_, dims) => {
            let mut dims: SmallVec<[Dim; 4]> = dims.iter().cloned().collect();
            if initial && let Some(longer) = dims[axis].more(1) {
                dims[axis] = longer;
            }
            let dims = Dims::new(&dims)?;
            Ok((dims.least_shape()?, Some(dims)))
        }
        Operand::Array(_, shape) => {
            let mut extents: SmallVec<[usize; 4]> = shape[..].into();
            extents[axis] = extents[axis].saturating_add(initial.into());
            Ok((Shape::new(&extents)?, None))
        }
        Operand::Literal(_) => Ok((Shape::scalar(), None)),
    }
}

/// Checks the totals of the blocks before the operand of a scan: they must have its dtype, its extents along all other
/// axes, and at least this number of blocks along `axis`.
///
/// # Errors
/// [`ErrorKind::Internal`], since users do not give totals.
pub fn before(operand: &Operand<'_>, axis: usize, totals: &Operand<'_>, blocks: usize) -> Result<()> {
    if let (Operand::Array(dtype, shape), Operand::Array(of, totals)) = (operand, totals) {
        let fits = |(i, (extent, of)): (usize, (&usize, &usize))| {
            if i == axis { *of >= blocks } else { extent == of }
        };
        let extents = || shape.iter().zip(totals.iter()).enumerate();
        if dtype == of && shape.rank() == totals.rank() && extents().all(fits) {
            return Ok(());
        }
    }
    Err(Error::new(ErrorKind::Internal, "totals of other elements than a scan's"))
}

/// Checks the operand and the axis of the function that returns each element's index along the axis.
///
/// # Errors
/// [`ErrorKind::Shape`] for an axis that the operand does not have, and for an operand of dynamic rank.
pub fn index(operand: &Operand<'_>, axis: usize) -> Result<()> {
    combined("indices", operand, |_| true, [axis].into_iter().collect())
}

/// Checks the dtype and the axes of the operand of a reduction, a scan or an index.
fn combined(name: &str, operand: &Operand<'_>, takes: impl Fn(DType) -> bool, axes: Axes) -> Result<()> {
    if let Some(dtype) = operand.dtype()
        && !takes(dtype)
    {
        return Err(Error::new(ErrorKind::DType, format!("{name}: does not take {dtype} as it is")));
    }
    let rank = match operand {
        Operand::Array(_, shape) => shape.rank(),
        Operand::Symbolic(_, dims) if dims.has_rest() => {
            let why = format!("{name}: the rank of {operand} is open");
            return Err(Error::new(ErrorKind::Shape, why).with_help("name its dimensions instead of `...`"));
        }
        Operand::Symbolic(_, dims) => dims.len(),
        Operand::Literal(_) => 0,
    };
    if !axes.fit(rank) {
        let why =
            format!("{name}: {operand} has {rank} axes, {} is not one", axes.iter().last().unwrap_or(0));
        return Err(Error::new(ErrorKind::Shape, why));
    }
    Ok(())
}

/// Names axes in an error message.
fn spoken(axes: Axes) -> String {
    let mut all = axes.iter();
    match (all.next(), all.next()) {
        (Some(axis), None) => format!("axis {axis}"),
        _ => format!("the axes {axes}"),
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Whether NumPy's rule allows a literal that the dtype of the operands can't represent: in a comparison of integers, which
/// is exact, and as a bound of `clip`, if it allows the other bound too.
fn takes_any(op: Op, dtype: DType, literal: Literal, operands: &[Operand<'_>]) -> bool {
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

fn require_condition(op: Op, condition: &Operand<'_>, mode: Promotion) -> Result<()> {
    match condition {
        Operand::Literal(Literal::Bool(_)) => Ok(()),
        array if array.dtype() == Some(DType::Bool) => Ok(()),
        other => {
            let error =
                Error::new(ErrorKind::DType, format!("{op}: the condition must be bool, not {other}"));
            Err(error.with_help(match mode {
                Promotion::Strict => {
                    format!("compare it with something, write astype(x, bool), or {BY_NUMPY}")
                }
                Promotion::NumPy => "compare it with something, or write astype(x, bool)".to_owned(),
            }))
        }
    }
}

/// The dtype to which the operands promote, before the op's own rules apply.
fn promote(op: Op, operands: &[Operand<'_>], mode: Promotion) -> Result<DType> {
    let mut met: Option<DType> = None;
    // Floats are promoted first, so that the result does not depend on the order of the operands: int16 and uint16
    // alone would promote to int32.
    let arrays =
        |float: bool| operands.iter().filter_map(Operand::dtype).filter(move |d| d.is_float() == float);
    for dtype in arrays(true).chain(arrays(false)) {
        met = Some(match met {
            None => dtype,
            Some(other) => pair(other, dtype, mode).ok_or_else(|| mixed(op, operands, other, dtype))?,
        });
    }
    let literals =
        || operands.iter().filter_map(|x| if let Operand::Literal(l) = x { Some(*l) } else { None });
    let Some(mut dtype) = met else {
        return all_literals(op, operands, literals(), mode);
    };
    for literal in literals() {
        dtype = weak(dtype, literal, mode).ok_or_else(|| {
            Error::new(
                ErrorKind::DType,
                format!("{op}: {} with the literal {literal}", list(operands, |x| x.dtype().is_some())),
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
    op: Op,
    operands: &[Operand<'_>],
    literals: impl Iterator<Item = Literal> + Clone,
    mode: Promotion,
) -> Result<DType> {
    let dtype = literals.clone().map(Literal::default_dtype).max().unwrap_or(DType::Float64);
    let mut bools = literals.filter(|l| matches!(l, Literal::Bool(_)));
    if mode == Promotion::Strict && dtype != DType::Bool && bools.next().is_some() {
        let why = format!("{op}: {} mix bool and numbers", list(operands, |_| true));
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

/// The smallest float dtype that NumPy uses for a bool or integer dtype. float64 is used for 64-bit integers, although
/// it can't represent all of them.
fn least_float(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::Float16,
        2 => DType::Float32,
        _ => DType::Float64,
    }
}

fn mixed(op: Op, operands: &[Operand<'_>], a: DType, b: DType) -> Error {
    let message = format!("{op}: cannot promote {}", list(operands, |x| x.dtype().is_some()));
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
fn accepted(op: Op, dtype: DType, operands: &[Operand<'_>], mode: Promotion) -> Result<DType> {
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
        DType::Bool => error.with_help("write astype(x, int8), or the dtype that you mean"),
        _ if op.dtypes() == [DType::Bool] => error.with_help(format!("write astype(x, bool), or {BY_NUMPY}")),
        _ => error.with_help(format!(
            "it takes {}",
            op.dtypes().iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
        )),
    })
}

fn list(operands: &[Operand<'_>], keep: impl Fn(&Operand<'_>) -> bool) -> String {
    let shown: Vec<String> = operands
        .iter()
        .filter(|x| keep(x))
        .map(|x| x.dtype().map_or_else(|| x.to_string(), |dtype| dtype.to_string()))
        .collect();
    shown.join(" and ")
}

/// The shape to which operands broadcast. If some of its dimensions are symbolic, also its [`Dims`]; the shape is then
/// the [`Dims::least_shape`].
pub fn broadcast(op: &str, operands: &[Operand<'_>]) -> Result<(Shape, Option<Dims>)> {
    let mut shapes: SmallVec<[&Shape; 3]> = SmallVec::new();
    for operand in operands {
        match operand {
            Operand::Array(_, shape) => shapes.push(shape),
            Operand::Symbolic(..) => return symbolic_broadcast(op, operands),
            Operand::Literal(_) => {}
        }
    }
    let shape = Shape::broadcast(&shapes).map_err(|e| match e {
        BroadcastError::Axis { axis, left, right } => mismatch(op, operands, axis, &left, &right),
        BroadcastError::Limit(e) => Error::new(e.kind(), format!("{op}: {}", e.message())),
    })?;
    Ok((shape, None))
}

#[cold]
fn symbolic_broadcast(op: &str, operands: &[Operand<'_>]) -> Result<(Shape, Option<Dims>)> {
    let known: SmallVec<[Dims; 3]> = operands
        .iter()
        .filter_map(|x| match x {
            Operand::Array(_, shape) => Some(Dims::of(shape)),
            Operand::Symbolic(_, dims) => Some((*dims).clone()),
            Operand::Literal(_) => None,
        })
        .collect();
    let known: SmallVec<[&Dims; 3]> = known.iter().collect();
    let dims = Dims::broadcast(&known, &mut |_| {})
        .map_err(|e| mismatch(op, operands, e.axis, &e.left, &e.right))?;
    let shape = dims.least_shape().map_err(|e| Error::new(e.kind(), format!("{op}: {}", e.message())))?;
    // If no dimension is symbolic, the shape describes the result completely.
    let dims = if dims.is_fixed() { None } else { Some(dims) };
    Ok((shape, dims))
}

fn mismatch(
    op: &str,
    operands: &[Operand<'_>],
    axis: isize,
    left: &dyn fmt::Display,
    right: &dyn fmt::Display,
) -> Error {
    let shown: Vec<String> = operands.iter().map(|x| x.to_string()).collect();
    let shown = match &shown[..] {
        [first, second] => format!("{first} with {second}"),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
        [] => String::new(),
    };
    Error::new(ErrorKind::Shape, format!("{op}: cannot broadcast {shown} (axis {axis}: {left} and {right})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promoted(a: &str, b: &str, mode: Promotion) -> Option<&'static str> {
        let dtype = |n| DType::from_name(n).expect("a dtype");
        assert_eq!(pair(dtype(a), dtype(b), mode), pair(dtype(b), dtype(a), mode), "symmetric");
        pair(dtype(a), dtype(b), mode).map(DType::name)
    }

    #[test]
    fn strict_promotion_is_the_standards_table() {
        for (a, b, out) in [
            ("int8", "int16", Some("int16")),
            ("uint8", "uint64", Some("uint64")),
            ("int8", "uint8", Some("int16")),
            ("int16", "uint8", Some("int16")),
            ("int8", "uint16", Some("int32")),
            ("int32", "uint16", Some("int32")),
            ("int8", "uint32", Some("int64")),
            ("int64", "uint32", Some("int64")),
            ("int64", "uint64", None),
            ("int8", "uint64", None),
            ("float16", "float64", Some("float64")),
            ("bool", "bool", Some("bool")),
            ("bool", "int8", None),
            ("int32", "float32", None),
        ] {
            assert_eq!(promoted(a, b, Promotion::Strict), out, "{a} {b}");
        }
    }

    #[test]
    fn numpy_promotion_of_mixed_kinds() {
        // Expected dtypes: numpy.promote_types of NumPy 2.
        for (a, b, out) in [
            ("bool", "int8", "int8"),
            ("bool", "float16", "float16"),
            ("int8", "float16", "float16"),
            ("uint8", "float16", "float16"),
            ("int16", "float16", "float32"),
            ("uint16", "float32", "float32"),
            ("int32", "float16", "float64"),
            ("int32", "float32", "float64"),
            ("uint64", "float32", "float64"),
            ("int8", "uint64", "float64"),
        ] {
            assert_eq!(promoted(a, b, Promotion::NumPy), Some(out), "{a} {b}");
        }
    }

    /// The dtype to which operands are converted and the dtype of the result, or the error.
    fn typed(op: Op, operands: &[Operand<'_>], mode: Promotion) -> Result<(DType, DType)> {
        apply(op, operands, mode).map(|signature| (signature.operand, signature.result))
    }

    #[test]
    fn integers_of_float_functions_are_errors_or_float64() {
        let shape = Shape::new(&[3]).unwrap();
        let of_floats = |op: &Op| op.dtypes().iter().all(|d| d.is_float()) && !op.has(Law::Internal);
        let mut unary = 0;
        for op in Op::ALL.iter().copied().filter(of_floats) {
            unary += usize::from(op.operands() == 1);
            // NumPy 2 computes float functions in a dtype that depends on the size of integers and bools; quotients are
            // float64.
            let types = |dtype: DType| {
                let float = match dtype.size() {
                    _ if op.has(Law::Divides) => DType::Float64,
                    1 => DType::Float16,
                    2 => DType::Float32,
                    _ => DType::Float64,
                };
                Ok((float, op.result(float).unwrap()))
            };
            for &dtype in DType::ALL.iter().filter(|d| d.is_integer()) {
                let x = Operand::Array(dtype, &shape);
                let two = Operand::Literal(Literal::Int(2));
                let mut cases = vec![vec![x; op.operands()]];
                if op.operands() > 1 {
                    cases.push([vec![x; op.operands() - 1], vec![two]].concat());
                }
                for operands in cases {
                    assert_eq!(typed(op, &operands, Promotion::NumPy), types(dtype), "{op}");
                    let strict = typed(op, &operands, Promotion::Strict);
                    if op.has(Law::Divides) {
                        assert_eq!(strict, types(dtype), "{op}");
                        continue;
                    }
                    let given = list(&operands, |_| true);
                    let words = format!(
                        "{op}: does not take {given}; write astype(x, float64), or promote as NumPy does (promotion=numpy)"
                    );
                    let error = strict.expect_err("strict");
                    assert_eq!((error.kind(), error.to_string()), (ErrorKind::DType, words));
                }
            }
            // By the standard's rules bools are not numbers. If all operands are literals, the result is float64 by
            // both sets of rules.
            let bools = vec![Operand::Array(DType::Bool, &shape); op.operands()];
            let literals = vec![Operand::Literal(Literal::Int(2)); op.operands()];
            let error = typed(op, &bools, Promotion::Strict).expect_err("bool");
            assert!(error.to_string().contains("write astype(x, float64)"), "{error}");
            assert_eq!(typed(op, &bools, Promotion::NumPy), types(DType::Bool), "{op}");
            for mode in [Promotion::Strict, Promotion::NumPy] {
                assert_eq!(typed(op, &literals, mode), types(DType::Int64), "{op}");
            }
        }
        // The 22 approximate functions, and reciprocal, signbit and sqrt.
        assert_eq!(unary, 25);
    }

    #[test]
    fn floats_and_integers_meet_in_functions_of_two_floats_as_promotion_says() {
        let shape = Shape::new(&[3]).unwrap();
        for op in [Op::Atan2, Op::Hypot, Op::LogAddExp, Op::NextAfter, Op::CopySign] {
            let meet = |a, b, mode| {
                typed(op, &[Operand::Array(a, &shape), Operand::Array(b, &shape)], mode).map(|(_, out)| out)
            };
            assert_eq!(meet(DType::Float16, DType::Float32, Promotion::Strict), Ok(DType::Float32));
            assert_eq!(meet(DType::Int8, DType::Float16, Promotion::NumPy), Ok(DType::Float16));
            assert_eq!(meet(DType::Float32, DType::Int32, Promotion::NumPy), Ok(DType::Float64));
            assert_eq!(meet(DType::Int8, DType::UInt64, Promotion::NumPy), Ok(DType::Float64));
            assert_eq!(
                meet(DType::Float32, DType::Int32, Promotion::Strict).expect_err("mixed").to_string(),
                format!(
                    "{op}: cannot promote float32 and int32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)"
                )
            );
        }
    }

    #[test]
    fn integers_stay_integers_in_pow() {
        let shape = Shape::new(&[3]).unwrap();
        let array = |dtype| Operand::Array(dtype, &shape);
        let (two, minus, half) = (Literal::Int(2), Literal::Int(-1), Literal::Float(0.5));
        let [two, minus, half] = [two, minus, half].map(Operand::Literal);
        use DType::*;
        use Promotion::{NumPy, Strict};
        for (operands, mode, out) in [
            ([array(Int32), array(Int32)], Strict, Ok(Int32)),
            ([array(Int32), array(Int32)], NumPy, Ok(Int32)),
            ([array(Int8), array(UInt8)], Strict, Ok(Int16)),
            ([array(UInt8), two], Strict, Ok(UInt8)),
            ([two, array(Int16)], Strict, Ok(Int16)),
            ([array(Int16), minus], Strict, Ok(Int16)),
            ([two, minus], Strict, Ok(Int64)),
            ([two, half], Strict, Ok(Float64)),
            ([array(Float16), two], Strict, Ok(Float16)),
            ([half, array(Float32)], Strict, Ok(Float32)),
            ([array(Int32), half], NumPy, Ok(Float64)),
            ([array(Int8), array(Float16)], NumPy, Ok(Float16)),
            ([array(Int32), array(Float32)], NumPy, Ok(Float64)),
            (
                [array(Int32), half],
                Strict,
                Err(
                    "pow: int32 with the literal 0.5; write astype(x, float64), or promote as NumPy does (promotion=numpy); int32 holds no 0.5",
                ),
            ),
            (
                [array(Int32), array(Float32)],
                Strict,
                Err(
                    "pow: cannot promote int32 and float32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)",
                ),
            ),
            ([array(UInt8), minus], Strict, Err("pow: -1 cannot be represented as uint8")),
            (
                [array(Bool), array(Bool)],
                Strict,
                Err(
                    "pow: does not take bool and bool; write astype(x, int8), or promote as NumPy does (promotion=numpy)",
                ),
            ),
        ] {
            let got = typed(Op::Pow, &operands, mode).map(|(_, out)| out).map_err(|e| e.to_string());
            assert_eq!(got, out.map_err(str::to_owned), "{mode:?}");
        }
    }

    #[test]
    fn calls_take_exactly_what_they_are_declared_with() {
        let f = HostDeclaration::new("mix", &[DType::Bool, DType::Float32, DType::UInt8], DType::Float32, 1)
            .unwrap();
        let (s, t) = (Shape::new(&[3, 1]).unwrap(), Shape::new(&[4]).unwrap());
        let [b, x, n] = [DType::Bool, DType::Float32, DType::UInt8].map(|d| Operand::Array(d, &s));
        let wide = Operand::Array(DType::Float32, &t);
        let literal = |x: i128| Operand::Literal(Literal::Int(x));
        assert_eq!(call(&f, &[b, wide, n]).unwrap().0[..], [3, 4]);
        assert_eq!(call(&f, &[b, literal(7), literal(255)]).unwrap().0[..], [3, 1]);
        let five = Shape::new(&[5]).unwrap();
        for (operands, kind, words) in [
            (&[b, x][..], ErrorKind::Arity, "mix takes 3 operands, not 2"),
            (
                &[b, n, n],
                ErrorKind::DType,
                "mix: operand 2 is uint8, it takes float32; write astype(x, float32)",
            ),
            (&[x, x, n], ErrorKind::DType, "mix: operand 1 is float32, it takes bool; write astype(x, bool)"),
            (&[b, x, literal(256)], ErrorKind::Literal, "mix: 256 cannot be represented as uint8"),
            (
                &[b, wide, Operand::Array(DType::UInt8, &five)],
                ErrorKind::Shape,
                "mix: cannot broadcast bool[3,1], float32[4] and uint8[5] (axis -1: 4 and 5)",
            ),
        ] {
            let error = call(&f, operands).expect_err("an error");
            assert_eq!((error.kind(), error.to_string()), (kind, words.to_owned()));
        }
    }

    #[test]
    fn messages_name_op_types_and_cast() {
        let (s, t) = (Shape::new(&[3, 4]).unwrap(), Shape::new(&[5]).unwrap());
        let message = |op, operands: &[Operand<'_>]| {
            apply(op, operands, Promotion::Strict).expect_err("an error").to_string()
        };
        assert_eq!(
            message(Op::Add, &[Operand::Array(DType::Float32, &s), Operand::Array(DType::Float32, &t)]),
            "add: cannot broadcast float32[3,4] with float32[5] (axis -1: 4 and 5)"
        );
        assert_eq!(
            message(Op::Add, &[Operand::Array(DType::Int32, &s), Operand::Array(DType::Float32, &s)]),
            "add: cannot promote int32 and float32; write astype(x, float32) for the int32 operand, or promote as NumPy does (promotion=numpy)"
        );
        assert_eq!(
            message(Op::Add, &[Operand::Array(DType::UInt8, &s), Operand::Literal(Literal::Int(300))]),
            "add: 300 cannot be represented as uint8"
        );
        // NumPy's rule leaves out a bound that bounds nothing.
        for (low, high, words) in [
            (-1, 300, "clip: -1 cannot be represented as uint8; promote as NumPy does (promotion=numpy)"),
            (0, 256, "clip: 256 cannot be represented as uint8; promote as NumPy does (promotion=numpy)"),
            (-1, -2, "clip: -1 cannot be represented as uint8"),
            (256, 300, "clip: 256 cannot be represented as uint8"),
        ] {
            let [low, high] = [low, high].map(|x| Operand::Literal(Literal::Int(x)));
            assert_eq!(message(Op::Clip, &[Operand::Array(DType::UInt8, &s), low, high]), words);
        }
        assert_eq!(
            message(Op::Sqrt, &[Operand::Array(DType::Int32, &s)]),
            "sqrt: does not take int32; write astype(x, float64), or promote as NumPy does (promotion=numpy)"
        );
        assert_eq!(message(Op::Add, &[]), "add takes 2 operands, not 0");
    }
}
