//! The syntax tree of a program, flat in arenas.
//!
//! Nodes are in post-order: those of an expression are a range whose last node is the root, and every other node of it is an
//! argument of exactly one later node. A loop can therefore read a tree without recursion.

use std::ops::{Index, Range};

use super::Span;
use crate::{DType, Op, Scalar};

/// The number of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AstId(pub(super) u32);

impl AstId {
    /// The index into [`Ast::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum AstKind {
    /// A variable. The text of the node is its name.
    Name,
    /// The literal `true` or `false`.
    Bool(bool),
    /// An integer literal with the sign before it: −(2^64 − 1) to 2^64 − 1.
    Int(i128),
    /// A float literal with the sign before it, rounded to nearest; also `nan` and `inf`.
    Float(f64),
    /// A literal with a dtype, such as `float32(0.5)`.
    Constant(Scalar),
    /// The name of a dtype, which can only be an argument of a function.
    DType(DType),
    /// A list of integers in brackets or parentheses, which can only be an argument of a function. It is a range of
    /// [`Ast::integers`].
    List(Range<u32>),
    /// An operator with its operands.
    Operator {
        /// The operator's function.
        op: Op,
        /// The place of the operator.
        at: Span,
    },
    /// A call of a function.
    Call {
        /// The place of the function's name.
        name: Span,
        /// The named arguments, as a range of [`Ast::keywords`].
        keywords: Range<u32>,
    },
    /// An operand with indices in brackets, which are a range of [`Ast::items`].
    Index(Range<u32>),
}

/// A literal, name, operator or call.
#[derive(Clone, Debug, PartialEq)]
pub struct AstNode {
    /// The kind of the node.
    pub kind: AstKind,
    /// The place of the node's whole text, without parentheses around it.
    pub span: Span,
    /// The operands, as a range of [`Ast::args`].
    pub(super) args: Range<u32>,
}

/// The `name=` before an argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The place of the name.
    pub name: Span,
    /// The number of the argument, from 0.
    pub argument: u32,
}

/// One of several indices in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A single index, which removes the axis.
    At(isize),
    /// A range `start:stop:step`, as in Python.
    Range {
        /// The first index, if given.
        start: Option<isize>,
        /// The index to stop before, if given.
        stop: Option<isize>,
        /// The distance from one index to the next; 1 if it is not given.
        step: isize,
    },
    /// The index `...`, for the axes that the other indices leave.
    Rest,
}

/// The nodes of an expression; the last one is its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub(super) nodes: Range<u32>,
}

impl Body {
    /// The root node of the expression.
    pub fn root(&self) -> AstId {
        AstId(self.nodes.end - 1)
    }

    /// The ids of all nodes, arguments before users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = AstId> + ExactSizeIterator + use<> {
        (self.nodes.start..self.nodes.end).map(AstId)
    }
}

/// One extent of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A fixed number.
    Fixed(usize),
    /// A symbol, which is a name for a number.
    Symbol(Span),
    /// `...`: any number of leading axes.
    Rest,
}

/// A type in a declaration: `dtype[extent, …]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The dtype.
    pub dtype: DType,
    /// The place of the type's whole text.
    pub span: Span,
    pub(super) extents: Range<u32>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A setting such as `promotion numpy`, allowed only with [`ParseOptions::data`](super::ParseOptions::data).
    Setting {
        /// The name of the setting.
        name: Span,
        /// The value of the setting.
        value: Span,
    },
    /// The declaration of an input, `name: type`, with values where these are allowed.
    Input {
        /// The input's name.
        name: Span,
        /// The input's type.
        ty: Type,
        /// The input's elements, row by row, as a range of [`Ast::data`].
        data: Option<Range<u32>>,
    },
    /// A binding `name = value`, possibly with a type.
    Binding {
        /// The name that is bound.
        name: Span,
        /// The declared type, if any.
        ty: Option<Type>,
        /// The value.
        value: Body,
    },
    /// The definition of a function, `def name(parameter, …) = body`.
    Def {
        /// The function's name.
        name: Span,
        /// The names of the parameters, as a range of [`Ast::parameters`].
        parameters: Range<u32>,
        /// The function's body.
        body: Body,
    },
    /// A result in the statement `return`.
    Output {
        /// The result's name, if one is written before it.
        name: Option<Span>,
        /// The expression of the result.
        value: Body,
    },
}

/// The syntax tree of a program.
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

    /// All nodes, arguments before users.
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

    /// The expression, if the text is only an expression.
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
