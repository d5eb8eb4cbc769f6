//! Type inference of routines: the dtype and the shape of each result.

use broadloom_math::{DType, Kind};
use smallvec::{SmallVec, smallvec};

use super::operand::Operand;
use crate::error::{Error, ErrorKind, Result};
use crate::routine::{Routine, SegmentFunction};
use crate::shape::Shape;
use crate::symbol::{Dim, Dims};

/// The dtype and the shape of a routine's result, and its dims if some of them are symbolic.
pub type RoutineResult = (DType, Shape, Option<Dims>);

/// The results of a routine.
pub type RoutineResults = SmallVec<[RoutineResult; 2]>;

/// The extents of an operand.
type Extents = SmallVec<[Dim; 4]>;

/// The number of segments is below this, since the labels of elements that belong to none take the last number of 32 bits.
const SEGMENTS: usize = u32::MAX as usize;

/// Infers the results of a routine. Nothing is promoted.
///
/// # Errors
/// [`ErrorKind::Arity`] for another number of operands; [`ErrorKind::DType`] and [`ErrorKind::Shape`] for operands that the routine
/// does not take; [`ErrorKind::Limit`] for results of too many elements.
pub fn routine(of: &Routine, operands: &[Operand<'_>]) -> Result<RoutineResults> {
    match of {
        Routine::Segments { function, segments, .. } => by_label(of.name(), *function, *segments, operands),
        Routine::Sort { .. } => sorted(of, operands, None),
        Routine::ArgSort { .. } => sorted(of, operands, Some(DType::Int64)),
        Routine::TopK { k, .. } => first(*k, operands),
        Routine::SearchSorted { .. } => searched(operands),
        Routine::Histogram => binned(operands),
        Routine::NonZero { size } => selected(*size, operands),
        Routine::Scatter => scattered(operands),
    }
}

/// The elements of the only operand along its last axis in order, or their indices.
fn sorted(of: &Routine, operands: &[Operand<'_>], dtype: Option<DType>) -> Result<RoutineResults> {
    let name = of.name();
    let [x] = operands else { return arity(name, 1, operands) };
    let shape = with_last_axis(name, x)?;
    Ok(smallvec![result(dtype.or(x.dtype()).unwrap_or(DType::Int64), &shape)?])
}

fn first(k: usize, operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let [x] = operands else { return arity("topk", 1, operands) };
    let mut shape = with_last_axis("topk", x)?;
    if let Some(last) = shape.last_mut() {
        if let Dim::Fixed(row) = last
            && k > *row
        {
            let why = format!("topk: {k} of {row} elements along an axis");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        *last = Dim::Fixed(k);
    }
    Ok(smallvec![result(x.dtype().unwrap_or(DType::Int64), &shape)?, result(DType::Int64, &shape)?])
}

/// The extents of an array that has a last axis.
fn with_last_axis(name: &str, x: &Operand<'_>) -> Result<Extents> {
    let shape = extents(name, x)?;
    match shape.is_empty() {
        true => Err(Error::new(ErrorKind::Shape, format!("{name}: {x} has no axes"))),
        false => Ok(shape),
    }
}

fn searched(operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let [sorted, queries] = operands else { return arity("searchsorted", 2, operands) };
    if extents("searchsorted", sorted)?.len() != 1 {
        let why = format!("searchsorted: the sorted array has one axis, not those of {sorted}");
        return Err(Error::new(ErrorKind::Shape, why));
    }
    same("searchsorted", queries, "in", sorted)?;
    Ok(smallvec![result(DType::Int64, &extents("searchsorted", queries)?)?])
}

fn binned(operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let [x, edges] = operands else { return arity("histogram", 2, operands) };
    let of_edges = extents("histogram", edges)?;
    let bins = match &of_edges[..] {
        [Dim::Fixed(0)] => None,
        [edges] => edges.less(1),
        _ => None,
    };
    let Some(bins) = bins else {
        let why = format!("histogram: edges have one axis and an element at least, not {edges}");
        return Err(Error::new(ErrorKind::Shape, why));
    };
    same("histogram", x, "between edges of", edges)?;
    let is_wide =
        |dtype: DType| matches!(dtype, DType::Float32 | DType::Float64 | DType::Int64 | DType::UInt64);
    if !x.dtype().is_some_and(is_wide) {
        return Err(Error::new(ErrorKind::DType, format!("histogram: does not take {x} as it is")));
    }
    Ok(smallvec![result(DType::Int64, &[bins])?])
}

fn selected(size: usize, operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let [mask] = operands else { return arity("nonzero", 1, operands) };
    if mask.dtype() != Some(DType::Bool) {
        return Err(Error::new(ErrorKind::DType, format!("nonzero: a mask is bool, not {mask}")));
    }
    Ok(smallvec![result(DType::Int64, &[Dim::Fixed(size)])?])
}

fn scattered(operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let [x, positions, values] = operands else { return arity("scatter", 3, operands) };
    if positions.dtype() != Some(DType::Int64) {
        return Err(Error::new(ErrorKind::DType, format!("scatter: positions are int64, not {positions}")));
    }
    same("scatter", values, "among", x)?;
    let (at, of) = (extents("scatter", positions)?, extents("scatter", values)?);
    if at.len() != of.len() || at.iter().zip(&of).any(|(at, of)| !at.may_equal(of)) {
        let why = format!("scatter: {values} at the positions {positions}");
        return Err(Error::new(ErrorKind::Shape, why));
    }
    Ok(smallvec![result(x.dtype().unwrap_or(DType::Int64), &extents("scatter", x)?)?])
}

/// Fails unless both operands have one dtype.
fn same(name: &str, x: &Operand<'_>, relation: &str, y: &Operand<'_>) -> Result<()> {
    match (x.dtype(), y.dtype()) {
        (Some(of), Some(other)) if of == other => Ok(()),
        _ => {
            let shown = |operand: &Operand<'_>| {
                operand.dtype().map_or_else(|| operand.to_string(), |dtype| dtype.to_string())
            };
            let why = format!("{name}: {} {relation} {}", shown(x), shown(y));
            Err(Error::new(ErrorKind::DType, why).with_help("convert one of them by astype"))
        }
    }
}

fn by_label(
    name: &str,
    function: SegmentFunction,
    segments: usize,
    operands: &[Operand<'_>],
) -> Result<RoutineResults> {
    let fail = |kind, why: String| Err(Error::new(kind, format!("{name}: {why}")));
    let (rows, labels) = match (function, operands) {
        (SegmentFunction::Count, [labels]) => (None, labels),
        (SegmentFunction::Count, _) => return arity(name, 1, operands),
        (_, [rows, labels]) => (Some(rows), labels),
        _ => return arity(name, 2, operands),
    };
    let of_labels = extents(name, labels)?;
    let [count] = &of_labels[..] else {
        return fail(ErrorKind::Shape, format!("labels have one axis, not those of {labels}"));
    };
    if !labels.dtype().is_some_and(|dtype| matches!(dtype.kind(), Kind::Signed | Kind::Unsigned)) {
        return fail(ErrorKind::DType, format!("labels are integers, not {labels}"));
    }
    if segments >= SEGMENTS {
        return fail(ErrorKind::Limit, "2^32 − 1 segments or more".to_owned());
    }
    let counts = || result(DType::Int64, &[Dim::Fixed(segments)]);
    let Some((rows, reduction)) = rows.zip(function.reduction()) else { return Ok(smallvec![counts()?]) };
    let of_rows = extents(name, rows)?;
    let Some((_, others)) = of_rows.split_first().filter(|(first, _)| first.may_equal(count)) else {
        return fail(ErrorKind::Shape, format!("{count} labels for the first axis of {rows}"));
    };
    let dtype = rows.dtype().filter(|dtype| reduction.takes(*dtype));
    let Some(dtype) = dtype else {
        return fail(ErrorKind::DType, format!("does not take {rows} as it is"));
    };
    let shape: Extents = [Dim::Fixed(segments)].iter().chain(others).cloned().collect();
    let mut results: RoutineResults = smallvec![result(dtype, &shape)?];
    if function == SegmentFunction::Mean {
        results.push(counts()?);
    }
    Ok(results)
}

/// The extents of an array, whose rank must be known.
fn extents(name: &str, operand: &Operand<'_>) -> Result<Extents> {
    match operand {
        Operand::Array(_, shape) => Ok(shape.iter().map(|&extent| Dim::Fixed(extent)).collect()),
        Operand::Symbolic(_, dims) if dims.has_rest() => {
            let why = format!("{name}: the rank of {operand} is open");
            Err(Error::new(ErrorKind::Shape, why).with_help("name its dimensions instead of `...`"))
        }
        Operand::Symbolic(_, dims) => Ok(dims.iter().cloned().collect()),
        Operand::Literal(_) => Ok(Extents::new()),
    }
}

/// A result with these extents.
fn result(dtype: DType, extents: &[Dim]) -> Result<RoutineResult> {
    let dims = Dims::new(extents)?;
    Ok((dtype, dims.least_shape()?, if dims.is_fixed() { None } else { Some(dims) }))
}

fn arity(name: &str, wanted: usize, operands: &[Operand<'_>]) -> Result<RoutineResults> {
    let plural = if wanted == 1 { "" } else { "s" };
    let why = format!("{name} takes {wanted} operand{plural}, not {}", operands.len());
    Err(Error::new(ErrorKind::Arity, why))
}
