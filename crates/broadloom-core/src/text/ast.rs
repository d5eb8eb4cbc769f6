//! The syntax tree of a program, flat in arenas.
//!
//! Nodes are in post-order: those of an expression are a range whose last node is the root, and every other node of it
//! is an argument of exactly one later node. So a tree is read by a loop, without recursion.

use std::ops::{Index, Range};

use super::Span;
use crate::indices::Indices;
use crate::{DType, Dim, Op, Scalar};

/// The index of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AstId(pub(super) u32);

impl AstId {
    /// The index into [`Ast::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variant of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum AstKind {
    /// A variable; its text is the name.
    Name,
    /// `true` or `false`
    Bool(bool),
    /// An integer literal with the sign before it: −(2^64 − 1) … 2^64 − 1.
    Int(i128),
    /// A float literal with the sign before it, rounded to nearest; `nan` and `inf` too.
    Float(f64),
    /// A literal with a dtype, such as `float32(0.5)`.
    Constant(Scalar),
    /// A dtype's name; only ever an argument of a function.
    DType(DType),
    /// Integers in brackets or parentheses; only ever an argument of a function. A range of [`Ast::integers`].
    List(Range<u32>),
    /// An operator.
    Operator {
        /// The operator's function.
        op: Op,
        /// The place of the operator.
        at: Span,
    },
    /// A function.
    Call {
        /// The place of its name.
        name: Span,
        /// Its named arguments: a range of [`Ast::keywords`].
        keywords: Range<u32>,
    },
    /// Indices in brackets after an operand. A range of [`Ast::items`].
    Index(Range<u32>),
}

/// One literal, name, operator or call.
#[derive(Clone, Debug, PartialEq)]
pub struct AstNode {
    /// The variant of the node.
    pub kind: AstKind,
    /// All of its text, without parentheses around it.
    pub span: Span,
    /// Its operands, a range of [`Ast::args`].
    pub(super) args: Range<u32>,
}

/// `name=` before an argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The place of the name.
    pub name: Span,
    /// The number of the argument, from 0.
    pub argument: u32,
}

/// One of the indices in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Those of one axis.
    Of(Indices),
    /// `...`: the axes that the other indices leave.
    Rest,
}

/// The nodes of an expression; the last one is its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub(super) nodes: Range<u32>,
}

impl Body {
    /// The node of the whole expression.
    pub fn root(&self) -> AstId {
        AstId(self.nodes.end - 1)
    }

    /// Every node's id, arguments before users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = AstId> + ExactSizeIterator + use<> {
        (self.nodes.start..self.nodes.end).map(AstId)
    }
}

/// One extent of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Fixed(usize),
    /// A symbol: a name for a number.
    Symbol(Span),
    /// An extent that follows from a symbol: `n - 1`.
    Derived(Dim),
    /// `...`: any number of leading axes.
    Rest,
}

/// `dtype[extent, …]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The dtype.
    pub dtype: DType,
    /// All of its text.
    pub span: Span,
    pub(super) extents: Range<u32>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `promotion numpy`; only where [`ParseOptions::data`](super::ParseOptions::data) admits it.
    Setting {
        /// The name of the setting.
        name: Span,
        /// Its value.
        value: Span,
    },
    /// `name: type`, with values where these are admitted.
    Input {
        /// Its name.
        name: Span,
        /// Its type.
        ty: Type,
        /// Its elements, row by row: a range of [`Ast::data`].
        data: Option<Range<u32>>,
    },
    /// `name = value`, perhaps with a type.
    Binding {
        /// Its name.
        name: Span,
        /// The declared type, if any.
        ty: Option<Type>,
        /// The value.
        value: Body,
    },
    /// `def name(parameter, …) = body`
    Def {
        /// Its name.
        name: Span,
        /// Its parameters' names, a range of [`Ast::parameters`].
        parameters: Range<u32>,
        /// The body.
        body: Body,
    },
    /// One of the results of `return`.
    Output {
        /// Its name, where one is written before it.
        name: Option<Span>,
        /// The value.
        value: Body,
    },
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    pub(super) text: Box<str>,
    pub(super) nodes: Vec<AstNode>,
    pub(super) args: Vec<AstId>,
    pub(super) keywords: Vec<Keyword>,
    pub(super) integers: Vec<isize>,
    pub(super) items: Vec<Item>,
    pub(super) extents: Vec<Extent>,
    pub(super) parameters: Vec<Span>,
    pub(super) data: Vec<u64>,
    pub(super) statements: Vec<Statement>,
}

impl Ast {
    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span.
    ///
    /// # Panics
    /// If the span is that of another text.
    pub fn at(&self, span: &Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Every node, arguments before users.
    pub fn nodes(&self) -> &[AstNode] {
        &self.nodes
    }

    /// The statements in order.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The operands of a node.
    pub fn args(&self, node: &AstNode) -> &[AstId] {
        &self.args[node.args.start as usize..node.args.end as usize]
    }

    /// The names of the arguments of a [`AstKind::Call`], in the order of the arguments.
    pub fn keywords(&self, of: &Range<u32>) -> &[Keyword] {
        &self.keywords[of.start as usize..of.end as usize]
    }

    /// The arguments of a node, each with its name if it has one.
    pub fn arguments(&self, node: &AstNode) -> impl Iterator<Item = (Option<&Span>, AstId)> {
        let keywords = match &node.kind {
            AstKind::Call { keywords, .. } => self.keywords(keywords),
            _ => &[],
        };
        let mut keywords = keywords.iter().peekable();
        self.args(node).iter().zip(0..).map(move |(arg, number)| {
            let keyword = keywords.next_if(|keyword| keyword.argument == number);
            (keyword.map(|keyword| &keyword.name), *arg)
        })
    }

    /// The elements of a [`AstKind::List`].
    pub fn integers(&self, of: &Range<u32>) -> &[isize] {
        &self.integers[of.start as usize..of.end as usize]
    }

    /// The indices of a [`AstKind::Index`].
    pub fn items(&self, of: &Range<u32>) -> &[Item] {
        &self.items[of.start as usize..of.end as usize]
    }

    /// The extents of a type.
    pub fn extents(&self, of: &Type) -> &[Extent] {
        &self.extents[of.extents.start as usize..of.extents.end as usize]
    }

    /// The names of the parameters of a [`Statement::Def`].
    pub fn parameters(&self, of: &Range<u32>) -> &[Span] {
        &self.parameters[of.start as usize..of.end as usize]
    }

    /// The bits of the elements of a [`Statement::Input`].
    pub fn data(&self, of: &Range<u32>) -> &[u64] {
        &self.data[of.start as usize..of.end as usize]
    }

    /// The expression, if the text is no more than one.
    pub fn expression(&self) -> Option<&Body> {
        match &self.statements[..] {
            [Statement::Output { name: None, value }] => Some(value),
            _ => None,
        }
    }
}

impl Index<AstId> for Ast {
    type Output = AstNode;
    fn index(&self, id: AstId) -> &AstNode {
        &self.nodes[id.index()]
    }
}
