//! The functions of the language: the op table, the conversion, and the functions that change a shape.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::source::{Constant, Reference, ViewName};
use crate::Op;
use crate::op::Arity;

/// The name of the conversion, which is not in the op table because a dtype is among its arguments.
pub const ASTYPE: &str = "astype";

/// The functions that change a shape, with the names of their parameters.
const VIEWS: [(&str, ViewName, &str); 7] = [
    ("permute_dims", ViewName::PermuteDims, "x, [axis, …]"),
    ("broadcast_to", ViewName::BroadcastTo, "x, [extent, …]"),
    ("reshape", ViewName::Reshape, "x, [extent, …]"),
    ("expand_dims", ViewName::ExpandDims, "x, axis"),
    ("squeeze", ViewName::Squeeze, "x, axis"),
    ("flip", ViewName::Flip, "x, axis"),
    ("index_axis", ViewName::IndexAxis, "x, axis, index"),
];

/// What a name stands for where nothing else has it: `inf` and `nan` are literals, which nothing else can be named.
pub(super) fn constant(name: &str) -> Option<Constant> {
    match name {
        "e" => Some(Constant::E),
        "pi" => Some(Constant::Pi),
        _ => None,
    }
}

/// The parameters of a function that changes a shape, for messages.
pub(super) fn view_signature(view: ViewName) -> &'static str {
    VIEWS.iter().find(|(_, other, _)| *other == view).map_or("x", |(.., parameters)| *parameters)
}

/// The arguments of an op, as its documentation names them.
pub fn signature(op: Op) -> &'static str {
    match op.arity() {
        Arity::Unary => "x",
        Arity::Binary => "x1, x2",
        Arity::Ternary => "x, lo, hi",
        Arity::Choice => "condition, x2, x3",
    }
}

/// What the name of a function of the language refers to.
pub(super) fn built_in(name: &str) -> Option<Reference> {
    static TABLE: LazyLock<HashMap<&str, Reference>> = LazyLock::new(|| {
        let views = VIEWS.iter().map(|(name, view, _)| (*name, Reference::View(*view)));
        let ops = Op::public().map(|op| (op.name(), Reference::Op(op)));
        ops.chain(views).chain([(ASTYPE, Reference::Astype)]).collect()
    });
    TABLE.get(name).copied()
}

/// The names of the functions of the language.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    Op::public().map(Op::name).chain([ASTYPE]).chain(VIEWS.iter().map(|(name, ..)| *name))
}
