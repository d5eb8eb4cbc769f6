//! The tree of an expression, flat in an arena.
//!
//! In: nodes, arguments before their users. Out: the same, to read in that order with one loop.
//! Must hold: post-order; every node but the root is an argument of exactly one later node; the root is the last.

use std::ops::Index;

use super::Span;
use crate::DType;

/// The place of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AstId(u32);

impl AstId {
    /// The place as an index into [`Ast::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A variable.
    Name(Box<str>),
    /// `true` or `false`
    Bool(bool),
    /// An integer literal with the sign before it: −(2^64 − 1) … 2^64 − 1.
    Int(i128),
    /// A float literal with the sign before it, rounded to nearest; `nan` and `inf` too.
    Float(f64),
    /// A dtype's name; only ever an argument of a function.
    DType(DType),
    /// A function of the arguments, or an operator, under the name of the function that it stands for.
    Call {
        /// The function's name, as written or as [`parse`](super::parse) names the operator.
        function: Box<str>,
        /// Where the function's name or the operator stands.
        function_span: Span,
        /// The arguments in order.
        args: Vec<AstId>,
    },
}

/// One literal, name or call of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What the node is.
    pub kind: Kind,
    /// All of its text, without parentheses around it.
    pub span: Span,
}

/// An expression.
///
/// The nodes stand in post-order: arguments before the call that uses them, the root last. None is used twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    nodes: Vec<Node>,
}

impl Ast {
    /// `nodes` is not empty and in post-order.
    pub(super) fn new(nodes: Vec<Node>) -> Ast {
        debug_assert!(!nodes.is_empty());
        Ast { nodes }
    }

    /// Every node, arguments before users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every node with its id, arguments before users.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (AstId, &Node)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(i, node)| (AstId(i as u32), node))
    }

    /// The node of the whole expression, which is the last one.
    pub fn root(&self) -> AstId {
        AstId(self.nodes.len() as u32 - 1)
    }
}

impl Index<AstId> for Ast {
    type Output = Node;
    fn index(&self, id: AstId) -> &Node {
        &self.nodes[id.index()]
    }
}

/// The arena while it grows.
pub(super) fn push(nodes: &mut Vec<Node>, node: Node) -> AstId {
    // A text is shorter than 4 GiB and no node takes less than a byte of it.
    let id = AstId(nodes.len() as u32);
    nodes.push(node);
    id
}
