//! A text with resolved names: the syntax tree, and what each name and call in it refers to.

use std::ops::Range;

use super::Span;
use super::ast::{Ast, AstKind, Body};
use crate::Op;

/// What a node refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A literal or an operator, which refers to nothing else.
    Itself,
    /// A dtype, list or integer that its function takes as syntax; it has no value.
    Syntax,
    /// A parameter of the user-defined function.
    Parameter(u32),
    /// An input or a binding, in their order.
    Slot(u32),
    /// A name that nothing in the text declares; one of a constant is the constant unless a value is given for it.
    Free,
    /// A constant, in the body of a user-defined function.
    Constant(Constant),
    Op(Op),
    Astype,
    View(ViewName),
    Function(Function),
}

/// A number with a name.
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
    /// A function of the same text.
    Own(u32),
    /// A function of a text of the library.
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
    pub(super) defs: Vec<Def>,
}

/// A function that changes a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewName {
    PermuteDims,
    BroadcastTo,
    Reshape,
    ExpandDims,
    Squeeze,
    Flip,
    IndexAxis,
}

impl ViewName {
    /// Whether the second argument is a list; otherwise the arguments after the first are integers.
    pub(super) fn takes_list(self) -> bool {
        matches!(self, ViewName::PermuteDims | ViewName::BroadcastTo | ViewName::Reshape)
    }
}

impl Source {
    /// Whether some function changes a shape.
    pub(super) fn has_views(&self) -> bool {
        self.references.iter().any(|reference| matches!(reference, Reference::View(_)))
            || self.ast.nodes().iter().any(|node| matches!(node.kind, AstKind::Index(_)))
    }
}
