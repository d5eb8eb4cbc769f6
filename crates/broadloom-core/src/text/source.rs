//! A text with resolved names: the syntax tree, and the object to which each name and call in it refers.

use std::ops::Range;

use super::Span;
use super::ast::{Ast, AstKind, Body};
use super::call::Call;
use crate::Op;

/// The object to which a node refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// The node itself, for a literal or an operator.
    Itself,
    /// Nothing: a dtype, list, number or bool that a function takes as syntax, and that has no value.
    Syntax,
    /// A parameter of the user-defined function whose body contains the node.
    Parameter(u32),
    /// The input or binding with this number, in the order of the text. Within a loop, the next numbers are those of its carried
    /// values and its bindings; after the loop they are used again.
    Slot(u32),
    /// A name that the text does not declare. If it is the name of a constant, it refers to the constant unless the
    /// caller provides a value for the name.
    Free,
    /// A constant, within the body of a user-defined function.
    Constant(Constant),
    Op(Op),
    /// The element of [`Source::calls`] with this index.
    Call(u32),
    Function(Function),
}

/// A named constant of the language.
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

/// A user-defined function or a host function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// The user-defined function with this number in the same text.
    Own(u32),
    /// A user-defined function of the library: the number of its text, and its number in that text.
    Library { source: u32, def: u32 },
    /// A host function.
    Host { id: u32, arity: u32 },
}

/// The definition of a user-defined function.
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
    /// For each loop of the syntax tree, the slots with the next values at the end of its body.
    pub(super) next: Vec<Vec<u32>>,
}

impl Source {
    /// Whether there is a call of a derivative.
    pub(super) fn differentiates(&self) -> bool {
        self.calls.contains(&Call::Grad)
    }

    /// Whether an element of a result may depend on operands' elements at other indices than its own.
    pub(super) fn moves_elements(&self) -> bool {
        self.calls.iter().any(|call| !matches!(call, Call::Astype(_)))
            || self.ast.nodes().iter().any(|node| matches!(node.kind, AstKind::Index(_)))
    }
}
