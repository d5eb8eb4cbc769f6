//! Minimum and maximum, and their indices.

use broadloom_core::infer::BY_NUMPY;
use broadloom_core::{DType, Error, ErrorKind, Promotion, Result};
use broadloom_ir::Reduction;

use super::Over;
use crate::array::Array;
use crate::expr;
use crate::promote::promotion;

/// The minimum or maximum, or its index.
pub(super) fn extreme<'a>(reduction: Reduction, x: &Array<'a>, over: &Over) -> Result<Array<'a>> {
    let name = reduction.name();
    over.without_dtype(name)?;
    let axes = over.resolve(name, x)?;
    let (x, dtype) = ordered(name, x)?;
    let reduced = expr::reduce(reduction, &x, axes, over.keeps_dims())?;
    match reduction {
        Reduction::ArgMax | Reduction::ArgMin => Ok(reduced),
        _ => Ok(expr::cast(reduced, dtype)),
    }
}

/// The elements in the dtype in which they are compared, and the dtype of their minimum. Bools are an error or, under NumPy's
/// promotion, are compared as uint8.
pub(super) fn ordered<'a>(name: &str, x: &Array<'a>) -> Result<(Array<'a>, DType)> {
    let x = expr::typed(x)?;
    let dtype = x.dtype();
    if dtype != DType::Bool {
        return Ok((x, dtype));
    }
    if promotion() == Promotion::Strict {
        let error = Error::new(ErrorKind::DType, format!("{name}: does not take bool"));
        return Err(error.with_help(format!("any and all reduce bools; or {BY_NUMPY}")));
    }
    Ok((expr::cast(x, DType::UInt8), dtype))
}
