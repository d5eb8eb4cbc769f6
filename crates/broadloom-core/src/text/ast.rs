//! The syntax tree of a program, stored flat in arenas.
//!
//! Nodes are in post-order: the nodes of an expression are a range whose last node is the root, and every other node in
//! it is an argument of exactly one later node. A tree can therefore be traversed by a loop, without recursion.

use std::ops::{Index, Range};

use super::Span;
use crate::indices::Indices;
use crate::node::StepOrder;
use crate::{DType, Dim, Op, Scalar};

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
    /// An integer literal, including the sign before it: −(2^64 − 1) … 2^64 − 1.
    Int(i128),
    /// A float literal, including the sign before it, rounded to nearest; also `nan` and `inf`.
    Float(f64),
    /// A literal with a dtype, such as `float32(0.5)`.
    Constant(Scalar),
    /// The name of a dtype, which may only be an argument of a function.
    DType(DType),
    /// Integers in brackets or parentheses, a range of [`Ast::integers`]. The list may only be an argument of a
    /// function.
    List(Range<u32>),
    /// An operator applied to its operands.
    Operator {
        /// The function that the operator denotes.
        op: Op,
        /// The span of the operator.
        at: Span,
    },
    /// A call of a function.
    Call {
        /// The span of the function's name.
        name: Span,
        /// The named arguments: a range of [`Ast::keywords`].
        keywords: Range<u32>,
    },
    /// Indices in brackets after an operand: a range of [`Ast::items`]. The computed ones are the node's further
    /// arguments, in their order.
    Index(Range<u32>),
}

/// A literal, name, operator or call.
#[derive(Clone, Debug, PartialEq)]
pub struct AstNode {
    /// The kind of the node.
    pub kind: AstKind,
    /// The span of the whole node, without parentheses around it.
    pub span: Span,
    /// The operands: a range of the arena that [`Ast::args`] reads.
    pub(super) args: Range<u32>,
}

/// The name of a named argument: `name=` before an argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The span of the name.
    pub name: Span,
    /// The index of the argument in the call, from 0.
    pub argument: u32,
}

/// One of the comma-separated indices in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The indices of one axis.
    Of(Indices),
    /// An expression, whose elements are indices of one axis.
    Computed,
    /// `...`: all axes for which there are no other indices.
    Rest,
}

/// The nodes of an expression, the last of which is its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub(super) nodes: Range<u32>,
}

impl Body {
    /// The root of the expression.
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
    /// A fixed extent.
    Fixed(usize),
    /// A symbol: the name of an extent.
    Symbol(Span),
    /// An extent that is computed from a symbol's: `n - 1`.
    Derived(Dim),
    /// `...`: any number of leading axes.
    Rest,
}

/// A type: `dtype[extent, …]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The dtype.
    pub dtype: DType,
    /// The span of the whole type.
    pub span: Span,
    pub(super) extents: Range<u32>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `promotion numpy`; only if [`ParseOptions::data`](super::ParseOptions::data) is set.
    Setting {
        /// The name of the setting.
        name: Span,
        /// The value of the setting.
        value: Span,
    },
    /// `name: type`, with values if [`ParseOptions::data`](super::ParseOptions::data) is set.
    Input {
        /// The name of the input.
        name: Span,
        /// The type of the input.
        ty: Type,
        /// The elements in row-major order: a range of [`Ast::data`].
        data: Option<Range<u32>>,
    },
    /// `name = value`, or `name: type = value`.
    Binding {
        /// The name that is bound.
        name: Span,
        /// The declared type, if any.
        ty: Option<Type>,
        /// The expression of the value.
        value: Body,
    },
    /// Names that are bound to the values of a loop. The loop has this index in [`Ast::loops`].
    Loop(u32),
    /// The definition of a function, `def name(parameter, …) = body`.
    Def {
        /// The name of the function.
        name: Span,
        /// The names of the parameters: a range of [`Ast::parameters`].
        parameters: Range<u32>,
        /// The expression of the result.
        body: Body,
    },
    /// One of the results listed after `return`.
    Output {
        /// The name of the result, if one is written before it.
        name: Option<Span>,
        /// The expression of the result.
        value: Body,
    },
}

/// A value that a loop carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The name of the value in the condition and the body.
    pub name: Span,
    /// The expression of the initial value.
    pub first: Body,
}

/// The part of a loop that determines how often its body is repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopHead {
    /// `while (…; condition) limit …`
    While {
        /// The bindings before the condition.
        bindings: Vec<Statement>,
        /// The condition.
        condition: Body,
        /// The maximum number of iterations.
        limit: Option<u64>,
    },
    /// `for (…; name in lower..upper)`
    For {
        /// The name of the integer.
        name: Span,
        /// The first integer.
        lower: Body,
        /// The integer at which the loop ends.
        upper: Body,
    },
    /// `scan (…; name in value, …, axis=0)`, or with `reduce`
    Scan {
        /// The names of the elements in the body, each with the expression of its input.
        inputs: Vec<Carried>,
        /// The axis and the order of the steps.
        along: ScanAxis,
    },
}

/// The axis along which a `scan` or a `reduce` runs, and the order of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanAxis {
    /// The axis of the inputs; a negative number counts from the last one.
    pub axis: isize,
    /// The order of the steps.
    pub order: StepOrder,
    /// The number of steps, if it is given.
    pub length: Option<usize>,
}

/// A loop: `name, … = while (name = value, …; condition) limit … { … }`, or with `for (name = value, …; name in lower..upper)`,
/// or with `scan (name = value, …; name in input, …, axis=0)`, or with `reduce` and the same.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopStatement {
    /// The names to which the values are bound after the loop, a range of [`Ast::parameters`]; `_` binds nothing. Those of a
    /// `scan` that come after its carried values are its outputs, which its body binds.
    pub names: Range<u32>,
    /// The span of `while`, `for`, `scan` or `reduce`.
    pub at: Span,
    /// The offset of the end of the loop.
    pub end: u32,
    /// The carried values, one for each name that is not one of an output.
    pub carried: Vec<Carried>,
    /// The condition, the range of integers, or the inputs.
    pub head: LoopHead,
    /// The bindings of the body.
    pub body: Vec<Statement>,
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
    pub(super) loops: Vec<LoopStatement>,
}

impl Ast {
    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The part of the text that a span covers.
    ///
    /// # Panics
    /// If the span belongs to another text.
    pub fn at(&self, span: &Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// All nodes, arguments before users.
    pub fn nodes(&self) -> &[AstNode] {
        &self.nodes
    }

    /// The statements, in the order of the text.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The loops, each after those in it.
    pub fn loops(&self) -> &[LoopStatement] {
        &self.loops
    }

    /// The operands of a node.
    pub fn args(&self, node: &AstNode) -> &[AstId] {
        &self.args[node.args.start as usize..node.args.end as usize]
    }

    /// The named arguments of an [`AstKind::Call`], in the order of the arguments.
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

    /// The integers of an [`AstKind::List`].
    pub fn integers(&self, of: &Range<u32>) -> &[isize] {
        &self.integers[of.start as usize..of.end as usize]
    }

    /// The indices of an [`AstKind::Index`].
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

    /// The span of a statement's name, or of its first name.
    pub(super) fn place(&self, statement: &Statement) -> Span {
        match statement {
            Statement::Setting { name, .. }
            | Statement::Input { name, .. }
            | Statement::Binding { name, .. }
            | Statement::Def { name, .. }
            | Statement::Output { name: Some(name), .. } => name.clone(),
            Statement::Output { name: None, .. } => 0..0,
            Statement::Loop(number) => {
                let names = self.parameters(&self.loops[*number as usize].names);
                names.iter().find(|name| self.at(name) != "_").unwrap_or(&names[0]).clone()
            }
        }
    }

    /// The expression, if the program consists of a single expression.
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
