//! A text with resolved names: its syntax tree, and the object that each name and call refers to.

use std::ops::Range;

use super::Span;
use super::ast::{Ast, AstKind, Body};
use super::call::Call;
use crate::Op;

/// The object that a node refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A literal or an operator, which refers to nothing else.
    Itself,
    /// A dtype, list, number or bool that its function takes as syntax, so that it has no value.
    Syntax,
    /// A parameter of the user-defined function with this number.
    Parameter(u32),
    /// An input or a binding, numbered in their order.
    Slot(u32),
    /// A name that the text does not declare. If it is the name of a constant, it is the constant unless a value is given.
    Free,
    /// A constant, in the body of a user-defined function.
    Constant(Constant),
    Op(Op),
    /// A call of [`Source::calls`].
    Call(u32),
    Function(Function),
}

/// A named number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constant {
    E,
    Pi,
}

impl Constant {
    pub(super) fn value(self) -> f64 {
        match self {
            Constant::E => std::f64::consts::E,
            Constant::Pi => std::f64::consts::PI,
        }
    }
}

/// A user-defined function, or a host function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// A function that the same text defines.
    Own(u32),
    /// A function that a text of the library defines.
    Library { source: u32, def: u32 },
    /// A host function.
    Host { id: u32, arity: u32 },
}

/// The definition of a function.
#[derive(Clone, Debug)]
pub(super) struct Def {
    pub(super) name: Span,
    pub(super) parameters: Range<u32>,
    pub(super) body: Body,
}

/// A text with resolved names.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) ast: Ast,
    pub(super) references: Vec<Reference>,
    /// The calls of functions that take more than operands.
    pub(super) calls: Vec<Call>,
    pub(super) defs: Vec<Def>,
}

impl Source {
    /// Whether an element of a result may depend on elements of the operands at other positions.
    pub(super) fn moves_elements(&self) -> bool {
        self.calls.iter().any(|call| !matches!(call, Call::Astype(_)))
            || self.ast.nodes().iter().any(|node| matches!(node.kind, AstKind::Index(_)))
    }
}
