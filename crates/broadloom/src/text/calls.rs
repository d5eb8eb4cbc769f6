//! The calls of a text that take options, on arrays.

use broadloom_core::text::{ReductionCall, ReductionName};
use broadloom_core::{Error, ErrorKind, Result};

use crate::array::Array;
use crate::reductions::Over;

/// A reduction with the options that the text gives.
pub(super) fn reduce<'a>(call: &ReductionCall, args: &[Array<'a>]) -> Result<Array<'a>> {
    use ReductionName as Name;
    let x = args.first().ok_or_else(internal)?;
    let mut over = call.axis.as_deref().map_or_else(Over::all, Over::axes);
    if call.keepdims {
        over = over.keep_dims();
    }
    // A function without this option is never given it.
    if let Some(dtype) = call.dtype {
        over = over.dtype(dtype);
    }
    let axis = call.axis.as_deref().and_then(<[isize]>::first).copied();
    let (correction, initial) = (call.correction, call.include_initial);
    match call.name {
        Name::Sum => x.sum(over),
        Name::Prod => x.prod(over),
        Name::Max => x.max(over),
        Name::Min => x.min(over),
        Name::Mean => x.mean(over),
        Name::Var => x.var(over, correction),
        Name::Std => x.std(over, correction),
        Name::Any => x.any(over),
        Name::All => x.all(over),
        Name::ArgMax => x.argmax(over),
        Name::ArgMin => x.argmin(over),
        Name::CountNonzero => x.count_nonzero(over),
        Name::Count => x.count(&over),
        Name::VecDot => x.vecdot(args.get(1).ok_or_else(internal)?, axis.unwrap_or(-1)),
        Name::VectorNorm => x.vector_norm(over, call.ord),
        Name::CumulativeSum => x.cumulative_sum(axis, call.dtype, initial),
        Name::CumulativeProd => x.cumulative_prod(axis, call.dtype, initial),
        Name::NanSum => x.nansum(over),
        Name::NanProd => x.nanprod(over),
        Name::NanMean => x.nanmean(over),
        Name::NanMin => x.nanmin(over),
        Name::NanMax => x.nanmax(over),
        Name::NanVar => x.nanvar(over, correction),
        Name::NanStd => x.nanstd(over, correction),
        name => {
            let why = format!("{}: a function of the text that arrays do not have", name.name());
            Err(Error::new(ErrorKind::Internal, why))
        }
    }
}

/// An error that the resolver rules out.
fn internal() -> Error {
    Error::new(ErrorKind::Internal, "a call of a text lacks an operand")
}
