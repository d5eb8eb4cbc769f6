//! Reductions of the elements along axes.
//!
//! [`broadloom_core::reductions`] contains the table of all reductions. A few are node kinds; means, variances and norms are
//! composed of these and of element-wise functions. [`Array::reduce`] applies a row of the table; the text language, C, Python
//! and the methods of arrays call it.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let x = Array::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 9.0]]);
//! assert_eq!(x.sum(())?.item::<f32>()?, 24.0);
//! assert_eq!(x.mean(0)?.to_vec::<f32>()?, [3.0, 5.0]);
//! let softmax = {
//!     let e = (&x - x.max(Over::axis(-1).keep_dims())?).exp();
//!     &e / e.sum(Over::axis(-1).keep_dims())?
//! };
//! assert!(softmax.sum(-1)?.equal(1).all(())?.item::<bool>()?);
//! # Ok::<(), Error>(())
//! ```

mod extremes;
mod methods;
mod moments;
mod nan;
mod norms;
mod over;
mod scans;

use broadloom_core::infer::BY_NUMPY;
use broadloom_core::reductions::ReductionFunction;
use broadloom_core::routine::SegmentFunction;
use broadloom_core::{DType, Error, ErrorKind, Kind, Promotion, Result};
use broadloom_ir::{Axes, Reduction};

use crate::array::Array;
use crate::expr;
use crate::promote::promotion;

pub use over::Over;

/// A sum or product, computed in the accumulator's dtype and rounded once to the result's dtype.
fn accumulated<'a>(name: &str, reduction: Reduction, x: &Array<'a>, over: &Over) -> Result<Array<'a>> {
    let axes = over.resolve(name, x)?;
    let (x, result) = accumulated_from(name, x, over.result_dtype())?;
    let reduced = expr::reduce(reduction, &x, axes, over.keeps_dims())?;
    Ok(expr::cast(reduced, result))
}

/// How a function is computed by label: the function of a segment, the elements in the dtype in which it is computed, and the dtype of
/// the result.
pub(crate) fn by_label<'a>(
    name: &str,
    function: ReductionFunction,
    x: &Array<'a>,
) -> Result<(SegmentFunction, Array<'a>, DType)> {
    let by = SegmentFunction::ALL.into_iter().find(|by| by.function() == Some(function));
    let Some(by) = by else {
        let why = format!("{name}: sum, prod, max, min and mean are computed by label");
        return Err(Error::new(ErrorKind::Name, why));
    };
    let (x, dtype) = match by {
        SegmentFunction::Mean => floats(name, x)?,
        SegmentFunction::Max | SegmentFunction::Min => extremes::ordered(name, x)?,
        SegmentFunction::Sum | SegmentFunction::Prod | SegmentFunction::Count => {
            accumulated_from(name, x, None)?
        }
    };
    Ok((by, x, dtype))
}

/// Whether any element is true, or whether all elements are true.
fn bools<'a>(reduction: Reduction, x: &Array<'a>, over: &Over) -> Result<Array<'a>> {
    let axes = over.resolve(reduction.name(), x)?;
    over.without_dtype(reduction.name())?;
    let bools = expr::cast(expr::typed(x)?, DType::Bool);
    expr::reduce(reduction, &bools, axes, over.keeps_dims())
}

/// The number of elements that are not 0.
fn count_nonzero<'a>(x: &Array<'a>, over: &Over) -> Result<Array<'a>> {
    let axes = over.resolve("count_nonzero", x)?;
    over.without_dtype("count_nonzero")?;
    let ones = expr::cast(expr::cast(expr::typed(x)?, DType::Bool), DType::Int64);
    expr::reduce(Reduction::Sum, &ones, axes, over.keeps_dims())
}

/// The elements converted to the dtype in which their sum is computed, and the dtype of the result.
fn accumulated_from<'a>(name: &str, x: &Array<'a>, wanted: Option<DType>) -> Result<(Array<'a>, DType)> {
    let x = expr::typed(x)?;
    let refused = |dtype, or: &str| {
        let error = Error::new(ErrorKind::DType, format!("{name}: does not take {dtype}"));
        Err(error.with_help(format!("write astype(x, int64), or {or}; count_nonzero counts")))
    };
    let result = match (wanted, x.dtype()) {
        (Some(DType::Bool), _) => return refused(DType::Bool, "the dtype that you mean"),
        (Some(dtype), _) => dtype,
        (None, dtype) => match dtype.kind() {
            Kind::Float => dtype,
            Kind::Signed => DType::Int64,
            Kind::Unsigned => DType::UInt64,
            Kind::Bool if promotion() == Promotion::NumPy => DType::Int64,
            Kind::Bool => return refused(dtype, BY_NUMPY),
        },
    };
    // Elements are converted to the requested dtype first, and then to the accumulator's, which is wider for float16, so that
    // sums of float16 are rounded once.
    let elements = if wanted.is_some() { expr::cast(x, result) } else { x };
    Ok((expr::cast(elements, accumulator(result)), result))
}

/// The dtype in which sums with results of this dtype are computed.
fn accumulator(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Float if dtype == DType::Float64 => DType::Float64,
        Kind::Float => DType::Float32,
        Kind::Unsigned => DType::UInt64,
        Kind::Signed | Kind::Bool => DType::Int64,
    }
}

/// The elements of an array of floats, converted to the dtype in which its mean is computed, and the dtype of the mean. Integers
/// are an error or, under NumPy's promotion, become float64.
fn floats<'a>(name: &str, x: &Array<'a>) -> Result<(Array<'a>, DType)> {
    let x = expr::typed(x)?;
    let dtype = x.dtype();
    if dtype.is_float() {
        return Ok((expr::cast(x, accumulator(dtype)), dtype));
    }
    if promotion() == Promotion::NumPy {
        return Ok((expr::cast(x, DType::Float64), DType::Float64));
    }
    Err(Error::new(ErrorKind::DType, format!("{name}: does not take {dtype}"))
        .with_help(format!("write astype(x, float64), or {BY_NUMPY}")))
}

/// The sum of elements, computed in their own dtype.
fn sum<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    expr::reduce(Reduction::Sum, x, axes, keep_dims)
}
