//! Calls in a text that generate arrays, and calls of functions of whole arrays.

use broadloom_core::draws::DrawCall;
use broadloom_core::routine::{Routine, SegmentFunction};
use broadloom_core::text::{Element, GeneratorCall, RoutineCall, RoutineName};
use broadloom_core::{DType, Error, ErrorKind, Literal, Result, Scalar, fold};

use crate::array::Array;
use crate::create::repeated;
use crate::expr;
use crate::generated::{self, NoRange};
use crate::random;
use crate::sorts::first_of;

/// Makes the array that a generator call describes. Floats are computed in float64, and converted once.
pub(super) fn generate<'a>(call: &GeneratorCall, args: &[Array<'a>]) -> Result<Array<'a>> {
    match call {
        GeneratorCall::Arange { start, stop, step, dtype } => arange([*start, *stop, *step], *dtype),
        GeneratorCall::Linspace { start, stop, num, endpoint, dtype } => {
            if !dtype.is_float() {
                let error = Error::new(ErrorKind::DType, format!("linspace: does not give {dtype}"));
                return Err(error.with_help(format!("write `astype(linspace(…), {dtype})`")));
            }
            let [start, stop] = [start, stop].map(|x| x.to_dtype(DType::Float64));
            let numbers = generated::linspace(start?, stop?, extent("linspace", *num)?, *endpoint)?;
            Ok(numbers.astype(*dtype))
        }
        GeneratorCall::Eye { rows, cols, k, dtype } => {
            Array::eye(extent("eye", *rows)?, extent("eye", *cols)?, *k, *dtype)
        }
        GeneratorCall::Full { shape, value, dtype } => {
            let shape = shape.iter().map(|&n| extent("shape", n)).collect::<Result<Vec<usize>>>()?;
            let value = match (value, dtype) {
                (Element::Literal(x), dtype) => x.to_dtype(dtype.unwrap_or(x.default_dtype()))?,
                (Element::Scalar(x), Some(dtype)) => fold::cast(*x, *dtype),
                (Element::Scalar(x), None) => *x,
            };
            repeated(value, &shape)
        }
        GeneratorCall::Indices { axis } => args.first().ok_or_else(internal)?.indices(*axis),
        GeneratorCall::Key { seed } => {
            let seed = seed.to_dtype(DType::UInt64).map_err(|_| {
                let why = format!("key: the seed {seed} is not an integer below 2^64");
                Error::new(ErrorKind::Literal, why)
            })?;
            Ok(random::key(seed.bits))
        }
        GeneratorCall::Split { n } => random::split(args.first().ok_or_else(internal)?, extent("split", *n)?),
        GeneratorCall::FoldIn => {
            let [key, number] = args else { return Err(internal()) };
            random::fold_in(key, number)
        }
        GeneratorCall::Draw { draw, shape, dtype } => {
            let shape = shape.iter().map(|&n| extent(draw.name(), n)).collect::<Result<Vec<usize>>>()?;
            let (key, parameters) = args.split_first().ok_or_else(internal)?;
            random::draw(&DrawCall::new(*draw, &shape, Some(*dtype))?, key, parameters)
        }
    }
}

/// Calls a function of whole arrays.
pub(super) fn routine<'a>(call: &RoutineCall, args: &[Array<'a>]) -> Result<Array<'a>> {
    let RoutineCall { name, axis, count, flag } = *call;
    match (name, args) {
        (RoutineName::Sort, [x]) => x.sort(axis, flag),
        (RoutineName::ArgSort, [x]) => x.argsort(axis, flag),
        (RoutineName::SearchSorted, [sorted, queries]) => sorted.searchsorted(queries, flag),
        (RoutineName::TopK, [x]) => Ok(x.topk(extent("k", count)?, axis, flag)?.0),
        (RoutineName::TopKIndices, [x]) => Ok(x.topk(extent("k", count)?, axis, flag)?.1),
        (RoutineName::Segments(SegmentFunction::Count), [labels]) => {
            labels.segment_count(extent("k", count)?)
        }
        (RoutineName::Segments(function), [x, labels]) => {
            let function = function.function().ok_or_else(internal)?;
            x.segment_reduce(function, labels, extent("k", count)?)
        }
        (RoutineName::Scattered(function), args) => {
            let routine =
                Routine::Segments { function, segments: extent("size", count)?, at_positions: true };
            expr::routine(routine, args).and_then(first_of)
        }
        (RoutineName::Histogram, [x, edges]) => x.histogram(edges),
        (RoutineName::NonZero, [mask]) => {
            expr::routine(Routine::NonZero { size: extent("size", count)? }, std::slice::from_ref(mask))
                .and_then(first_of)
        }
        (RoutineName::Scatter(mode), [x, positions, values]) => x.scatter(mode, positions, values),
        _ => Err(internal()),
    }
}

/// A range of numbers of the dtype. The default dtype is int64 if all bounds are integers, and float64 if
/// one is a float.
fn arange<'a>(bounds: [Literal; 3], dtype: Option<DType>) -> Result<Array<'a>> {
    let all_integers = bounds.iter().all(|x| matches!(x, Literal::Int(_)));
    let dtype = dtype.unwrap_or(if all_integers { DType::Int64 } else { DType::Float64 });
    let computed = if dtype.is_float() { DType::Float64 } else { dtype };
    let [start, stop, step] = bounds;
    let scalar = |x: Literal| -> Result<Scalar> {
        x.to_dtype(computed).map_err(|_| {
            let why = format!("arange({start}, {stop}, {step}): {x} cannot be represented as {computed}");
            Error::new(ErrorKind::Literal, why)
        })
    };
    let numbers = generated::arange([scalar(start)?, scalar(stop)?, scalar(step)?]);
    let numbers = numbers.map_err(|why| match why {
        NoRange::Error(error) => error,
        NoRange::Bounds(why) => {
            Error::new(ErrorKind::Literal, format!("arange({start}, {stop}, {step}): {why}"))
        }
    })?;
    Ok(numbers.astype(dtype))
}

fn extent(of: &str, n: isize) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::new(ErrorKind::Shape, format!("{of}: the extent {n} is negative")))
}

/// An error that the resolver has already excluded.
fn internal() -> Error {
    Error::new(ErrorKind::Internal, "a call of a text lacks an operand")
}
