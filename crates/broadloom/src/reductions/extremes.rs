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
    let x = expr::typed(x)?;
    if x.dtype() != DType::Bool {
        return expr::reduce(reduction, &x, axes, over.keeps_dims());
    }
    if promotion() == Promotion::Strict {
        let error = Error::new(ErrorKind::DType, format!("{name}: does not take bool"));
        return Err(error.with_help(format!("any and all reduce bools; or {BY_NUMPY}")));
    }
    let reduced = expr::reduce(reduction, &expr::cast(x, DType::UInt8), axes, over.keeps_dims())?;
    match reduction {
        Reduction::ArgMax | Reduction::ArgMin => Ok(reduced),
        _ => Ok(expr::cast(reduced, DType::Bool)),
    }
}
