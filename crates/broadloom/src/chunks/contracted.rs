//! Contraction of expressions that are evaluated in chunks.
//!
//! Contraction depends on the views between a product and a sum, and narrowing an expression to a chunk removes and adds views.
//! Products are therefore contracted before any expression is narrowed. A product that is the operand of a view is wrapped in
//! an op that prevents contraction, because narrowing may remove the view.

use broadloom_core::node::NodeKind;
use broadloom_core::rewrite::contract::{self, Contraction};
use broadloom_core::{Error, ErrorKind, Op, Result};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::narrow::Nodes;
use crate::array::{Array, Kind};
use crate::expr::{self, is_two};

/// Contracts the products in the results. Contracting the returned expressions again, or any part of them, changes nothing.
pub(super) fn contracted<'a>(results: &[&Array<'a>]) -> Result<Vec<Array<'a>>> {
    let nodes = Nodes::of(results)?;
    let mut made: FxHashMap<*const (), Array<'a>> = FxHashMap::default();
    for (_, array) in nodes.iter() {
        let new = |old: &Array<'a>| made.get(&address(old)).cloned().ok_or_else(missing);
        let kind = &array.0.kind;
        let found = contract::contraction(kind, |x| &x.0.kind, is_two).filter(|_| array.dtype().is_float());
        let contracted = match (found, kind) {
            (Some(found), _) => fused(&found, new)?,
            (None, NodeKind::Leaf(_)) => array.clone(),
            (None, kind) => {
                let is_view = matches!(kind, NodeKind::View { .. });
                let operand = |old: &Array<'a>| match is_view && expr::is_product(old) {
                    true => apply(Op::Positive, smallvec![new(old)?]),
                    false => new(old),
                };
                let kind: Kind<'a> = kind.try_map(operand, |_| Err(missing()), Clone::clone)?;
                Array::of(kind, array.dtype(), array.0.shape.clone())
            }
        };
        made.insert(address(array), contracted);
    }
    results.iter().map(|result| made.get(&address(result)).cloned().ok_or_else(missing)).collect()
}

fn fused<'a>(
    found: &Contraction<&Array<'a>>,
    new: impl Fn(&Array<'a>) -> Result<Array<'a>>,
) -> Result<Array<'a>> {
    let signed = |x: &Array<'a>, negates: bool| match negates {
        true => apply(Op::Negative, smallvec![new(x)?]),
        false => new(x),
    };
    let [a, b] = found.factors;
    let operands = [signed(a, found.negates_product)?, new(b)?, signed(found.addend, found.negates_addend)?];
    apply(Op::Fma, operands.into_iter().collect())
}

fn apply<'a>(op: Op, operands: SmallVec<[Array<'a>; 3]>) -> Result<Array<'a>> {
    expr::apply(op, operands.into_iter().map(Into::into).collect())
}

fn address(array: &Array<'_>) -> *const () {
    std::sync::Arc::as_ptr(&array.0).cast()
}

fn missing() -> Error {
    Error::new(ErrorKind::Internal, "an expression of a chunk has no operand")
}
