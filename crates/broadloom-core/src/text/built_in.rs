//! Looks up the functions and constants of the language by name: the ops, and the functions that take more than
//! operands.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::parameters::{BuiltIn, built_ins};
use super::source::Constant;
use crate::Op;

/// Looks up a constant that applies if nothing else is bound to its name. `inf` and `nan` are literals, not names, so
/// they are not among the constants.
pub(super) fn constant(name: &str) -> Option<Constant> {
    match name {
        "e" => Some(Constant::E),
        "pi" => Some(Constant::Pi),
        _ => None,
    }
}

/// A built-in function of the language.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Op(Op),
    BuiltIn(&'static BuiltIn),
}

/// Looks up a built-in function of the language by name.
pub(super) fn built_in(name: &str) -> Option<Named> {
    static TABLE: LazyLock<HashMap<&str, Named>> = LazyLock::new(|| {
        let ops = Op::public().map(|op| (op.name(), Named::Op(op)));
        ops.chain(built_ins().map(|function| (function.name, Named::BuiltIn(function)))).collect()
    });
    TABLE.get(name).copied()
}

/// The names of all built-in functions of the language.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    Op::public().map(Op::name).chain(built_ins().map(|function| function.name))
}
