//! Maps the reductions of a program to those of the library.

use std::slice;

use broadloom::{Array, Error, ErrorKind, ReductionCall, ReductionFunction, Result};

use crate::reduction::{Cumulative, Reduction};

/// A call of the library's function with this name, with the defaults of its parameters.
fn call(name: &str) -> Result<ReductionCall> {
    let unknown = || Error::new(ErrorKind::Name, format!("the library has no reduction `{name}`"));
    ReductionFunction::from_name(name).map(ReductionCall::new).ok_or_else(unknown)
}

/// The reduction of an array.
pub(super) fn reduce(x: &Array<'static>, r: &Reduction) -> Result<Array<'static>> {
    let plain = call(r.function.name())?;
    let axis = r.axes.as_deref().map(Into::into);
    let (keepdims, dtype) = (r.keepdims, r.dtype.or(plain.dtype));
    let call = ReductionCall { axis, keepdims, dtype, correction: r.correction, ord: r.ord, ..plain };
    Array::reduce(&call, slice::from_ref(x))
}

/// The cumulative sum or product of an array.
pub(super) fn scan(x: &Array<'static>, scan: &Cumulative) -> Result<Array<'static>> {
    let axis = scan.axis.map(|axis| [axis].as_slice().into());
    let (dtype, include_initial) = (scan.dtype, scan.include_initial);
    Array::reduce(&ReductionCall { axis, dtype, include_initial, ..call(scan.name())? }, slice::from_ref(x))
}
