//! Type inference: promotion of dtypes, and the shape of a result.
//!
//! Given an op and the dtypes and shapes of its operands, some of which may be literals, inference finds the dtype to
//! which the operands are converted, and the type of the result. An error names the op, the types, and the cast that
//! would make the call valid. Sources: the Array API standard's promotion tables, and for mixed kinds with
//! [`Promotion::NumPy`] those of NumPy 2.

mod operand;
mod promotion;
mod routines;

use std::fmt;

use broadloom_ir::{Axes, HostDeclaration, Reduction, Scan};
use broadloom_math::DType;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::op::{Arity, Op};
use crate::scalar::Literal;
use crate::shape::{BroadcastError, Shape};
use crate::symbol::{Dim, Dims};

pub use operand::Operand;
pub use promotion::{
    BY_NUMPY, Bound, OfBools, Promotion, bounds_nothing, converted, literal, of_bools, pair, promote,
};
use promotion::{accepted, takes_any};
pub use routines::{RoutineResult, routine};

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

/// The shapes of a recurrence along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrenceShapes {
    /// The shape of the index space and of the outputs, with its dims if some are symbolic.
    pub space: (Shape, Option<Dims>),
    /// The shape of the states, which lacks the axis, with its dims if some are symbolic.
    pub others: (Shape, Option<Dims>),
}

/// Infers the shapes of a recurrence from its inputs, which have the axis and the rank of the index space, and from its other
/// operands, the initial states and captured values.
///
/// # Errors
/// [`ErrorKind::Shape`] if the operands do not broadcast, or for an axis that the inputs do not have.
pub fn recurrence(
    function: &str,
    inputs: &[Operand<'_>],
    others: &[Operand<'_>],
    axis: usize,
) -> Result<RecurrenceShapes> {
    let of_inputs = broadcast(function, inputs)?;
    let axes: Axes = [axis].into_iter().collect();
    combined(function, &operand_of(&of_inputs), |_| true, axes)?;
    let without = match &of_inputs {
        (_, Some(dims)) => {
            let left: SmallVec<[Dim; 4]> = axes.reduced(dims, false, Dim::Fixed(1)).collect();
            let dims = Dims::new(&left)?;
            (dims.least_shape()?, if dims.is_fixed() { None } else { Some(dims) })
        }
        (shape, None) => {
            let left: SmallVec<[usize; 4]> = axes.reduced(shape, false, 1).collect();
            (Shape::new(&left)?, None)
        }
    };
    let all: Vec<Operand<'_>> = [operand_of(&without)].into_iter().chain(others.iter().copied()).collect();
    let others = broadcast(function, &all)?;
    if others.1.as_ref().is_some_and(Dims::has_rest) {
        let why = format!("{function}: {} has any number of axes", operand_of(&others));
        return Err(Error::new(ErrorKind::Shape, why).with_help("declare its extents"));
    }
    if others.0.rank() != without.0.rank() {
        let why =
            format!("{function}: {} has more axes than the inputs without axis {axis}", operand_of(&others));
        return Err(Error::new(ErrorKind::Shape, why));
    }
    let steps = match &of_inputs {
        (_, Some(dims)) => dims[axis].clone(),
        (shape, None) => Dim::Fixed(shape[axis]),
    };
    let mut dims: SmallVec<[Dim; 4]> = match &others {
        (_, Some(dims)) => dims.iter().cloned().collect(),
        (shape, None) => shape.iter().map(|&extent| Dim::Fixed(extent)).collect(),
    };
    dims.insert(axis, steps);
    let dims = Dims::new(&dims)?;
    let space = (dims.least_shape()?, if dims.is_fixed() { None } else { Some(dims) });
    Ok(RecurrenceShapes { space, others })
}

/// A shape and its dims as an operand of any dtype.
fn operand_of((shape, dims): &(Shape, Option<Dims>)) -> Operand<'_> {
    match dims {
        Some(dims) => Operand::Symbolic(DType::Bool, dims),
        None => Operand::Array(DType::Bool, shape),
    }
}

/// Infers the dtype and the shape of arrays that are joined along an axis. Nothing is promoted.
///
/// # Errors
/// [`ErrorKind::Arity`] for no operands; [`ErrorKind::DType`] for different dtypes; [`ErrorKind::Shape`] for different ranks,
/// different extents along another axis, an axis that does not exist, and operands of open extents; [`ErrorKind::Limit`] for
/// too many elements.
pub fn concat(name: &str, operands: &[Operand<'_>], axis: usize) -> Result<(DType, Shape)> {
    let fail = |kind, why: String| Err(Error::new(kind, format!("{name}: {why}")));
    let mut joined: Option<(DType, SmallVec<[usize; 4]>)> = None;
    for operand in operands {
        let (dtype, shape) = match operand {
            Operand::Array(dtype, shape) => (*dtype, *shape),
            Operand::Symbolic(..) => {
                return fail(ErrorKind::Shape, format!("the extents of {operand} are open"));
            }
            Operand::Literal(_) => return fail(ErrorKind::Shape, format!("{operand} has no axes")),
        };
        if axis >= shape.rank() {
            return fail(ErrorKind::Shape, format!("{operand} has {} axes, {axis} is not one", shape.rank()));
        }
        let Some((of, extents)) = &mut joined else {
            joined = Some((dtype, shape[..].into()));
            continue;
        };
        if *of != dtype {
            let help = format!("write astype(x, {of})");
            return fail(ErrorKind::DType, format!("{of} and {dtype}")).map_err(|e: Error| e.with_help(help));
        }
        let fits = |(i, (have, new)): (usize, (&usize, &usize))| i == axis || have == new;
        if extents.len() != shape.rank() || !extents.iter().zip(shape.iter()).enumerate().all(fits) {
            let before = Shape::new(extents)?;
            return fail(
                ErrorKind::Shape,
                format!("{before} and {shape} differ along another axis than {axis}"),
            );
        }
        extents[axis] = extents[axis].saturating_add(shape[axis]);
    }
    match joined {
        Some((dtype, extents)) => Ok((dtype, Shape::new(&extents)?)),
        None => fail(ErrorKind::Arity, "there is nothing to join".to_owned()),
    }
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
    use super::operand::list;
    use super::*;
    use crate::op::Law;

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
        // The 24 approximate functions, and reciprocal, signbit and sqrt.
        assert_eq!(unary, 27);
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
        // NumPy's rule rounds a number among floats to infinity.
        assert_eq!(
            message(
                Op::Multiply,
                &[Operand::Array(DType::Float16, &s), Operand::Literal(Literal::Int(1 << 70))]
            ),
            "multiply: 1180591620717411303424 cannot be represented as float16; promote as NumPy does (promotion=numpy)"
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
