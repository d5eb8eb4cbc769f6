//! Operators of ONNX that differ from the functions of the Array API standard. This module checks that operands have equal shapes
//! and dtypes, since it does not promote or broadcast the operands.

use broadloom_core::{Error, ErrorKind, Kind, Op, Result};
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;

/// ONNX Div: `trunc_divide` of integers, `divide` of floats.
///
/// # Errors
/// If dtypes or shapes differ, or for bool.
///
/// ```
/// use broadloom::prelude::*;
///
/// let a = Array::from_vec(vec![7_i32, -7, 7]);
/// let b = Array::from_vec(vec![2_i32, 2, 0]);
/// assert_eq!(broadloom::onnx::div(&a, &b)?.to_vec::<i32>()?, [3, -3, 0]);
/// assert!(broadloom::onnx::div(&a, &b.slice(..1)?).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn div<'a>(a: impl IntoArray<'a>, b: impl IntoArray<'a>) -> Result<Array<'a>> {
    let (a, b) = (expr::typed(&a.into_array())?, expr::typed(&b.into_array())?);
    let fail = |kind: ErrorKind, why: String| Err(Error::new(kind, format!("onnx::div: {why}")));
    if a.dtype() != b.dtype() {
        return fail(ErrorKind::DType, format!("{} and {} are different dtypes", a.dtype(), b.dtype()));
    }
    if a.all_dims() != b.all_dims() {
        let (a, b) = (a.all_dims(), b.all_dims());
        return fail(ErrorKind::Shape, format!("{a} and {b} are different shapes"));
    }
    let op = match a.dtype().kind() {
        Kind::Float => Op::Divide,
        Kind::Signed | Kind::Unsigned => Op::TruncDivide,
        Kind::Bool => return fail(ErrorKind::DType, "does not take bool".into()),
    };
    expr::apply(op, smallvec![a.into(), b.into()])
}
