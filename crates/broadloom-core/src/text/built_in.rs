//! Looks up the functions of the language by name: the functions of the op table, and those that take more than operands.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::parameters::{BuiltIn, built_ins};
use super::source::Constant;
use crate::Op;
use crate::op::Arity;

/// The constant with a name, unless the text binds the name. (`inf` and `nan` are literals, and nothing else can have these
/// names.)
pub(super) fn constant(name: &str) -> Option<Constant> {
    match name {
        "e" => Some(Constant::E),
        "pi" => Some(Constant::Pi),
        _ => None,
    }
}

/// The arguments of an op, named as in its documentation.
pub fn signature(op: Op) -> &'static str {
    match op.arity() {
        Arity::Unary => "x",
        Arity::Binary => "x1, x2",
        Arity::Ternary if op == Op::Clip => "x, lo, hi",
        Arity::Ternary => "x1, x2, x3",
        Arity::Choice => "condition, x2, x3",
    }
}

/// A function of the language, found by its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Op(Op),
    BuiltIn(&'static BuiltIn),
}

/// The function of the language with this name.
pub(super) fn built_in(name: &str) -> Option<Named> {
    static TABLE: LazyLock<HashMap<&str, Named>> = LazyLock::new(|| {
        let ops = Op::public().map(|op| (op.name(), Named::Op(op)));
        ops.chain(built_ins().map(|function| (function.name, Named::BuiltIn(function)))).collect()
    });
    TABLE.get(name).copied()
}

/// The names of all functions of the language.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    Op::public().map(Op::name).chain(built_ins().map(|function| function.name))
}
