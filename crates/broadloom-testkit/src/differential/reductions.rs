//! Maps the reductions of a program to those of the library.

use broadloom::text::expression;
use broadloom::{Array, Over, Result};

use crate::reduction::{Cumulative, Function, Reduction};

/// The reduction of an array.
pub(super) fn reduce(x: &Array<'static>, r: &Reduction) -> Result<Array<'static>> {
    let over = || {
        let axes = r.axes.as_deref().map_or_else(Over::all, Over::axes);
        let kept = if r.keepdims { axes.keep_dims() } else { axes };
        r.dtype.map_or(kept.clone(), |dtype| kept.dtype(dtype))
    };
    match r.function {
        Function::Sum => x.sum(over()),
        Function::Prod => x.prod(over()),
        Function::Max => x.max(over()),
        Function::Min => x.min(over()),
        Function::Mean => x.mean(over()),
        Function::Var => x.var(over(), r.correction),
        Function::Std => x.std(over(), r.correction),
        Function::Any => x.any(over()),
        Function::All => x.all(over()),
        Function::ArgMax => x.argmax(over()),
        Function::ArgMin => x.argmin(over()),
        Function::CountNonzero => x.count_nonzero(over()),
        // The library has `count` in the text language only.
        Function::Count => Ok(expression(&r.text("x"), &[("x", x.clone())])?),
        Function::VectorNorm => x.vector_norm(over(), r.ord),
        Function::NanSum => x.nansum(over()),
        Function::NanProd => x.nanprod(over()),
        Function::NanMean => x.nanmean(over()),
        Function::NanMin => x.nanmin(over()),
        Function::NanMax => x.nanmax(over()),
        Function::NanVar => x.nanvar(over(), r.correction),
        Function::NanStd => x.nanstd(over(), r.correction),
    }
}

/// The cumulative sum or product of an array.
pub(super) fn scan(x: &Array<'static>, scan: &Cumulative) -> Result<Array<'static>> {
    match scan.is_product {
        true => x.cumulative_prod(scan.axis, scan.dtype, scan.include_initial),
        false => x.cumulative_sum(scan.axis, scan.dtype, scan.include_initial),
    }
}
