//! Expressions written as text, such as `where(x > 0, x, -x) * 2`.
//!
//! In: text, and arrays under names. Out: the array that the text means, or a [`TextError`] that points into it.
//! Must hold: one loop over the parsed nodes, no recursion; the words of a type error are those of the `try_`
//! function that the text names. What the text means is typed in this thread's [promotion mode](crate::promotion).
//!
//! The language has Python's operators with Python's precedence, except that comparisons do not chain; the
//! [functions](crate::functions) under the standard's names, `where(condition, x2, x3)` among them; and
//! `astype(x, float32)`. Numbers, `true`, `false`, `nan` and `inf` are literals without a dtype of their own.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::text::expression;
//!
//! let nir = Array::from_vec(vec![3_u16, 5]);
//! let red = Array::from_vec(vec![1_u16, 5]);
//! let index = expression(
//!     "(astype(nir, float32) - astype(red, float32)) / (astype(nir, float32) + astype(red, float32))",
//!     &[("nir", nir), ("red", red)],
//! )?;
//! assert_eq!(index.to_vec::<f32>()?, [0.5, 0.0]);
//! # Ok::<(), Error>(())
//! ```

use std::fmt;

use broadloom_core::op::Arity;
use broadloom_core::text::{Ast, AstId, Kind, Node, SyntaxError, nearest, parse};
use broadloom_core::{DType, Error, ErrorKind, Literal, Op};
use broadloom_mem::FloatEnv;
use rustc_hash::FxHashMap;

use crate::array::Array;
use crate::operand::Operand;

pub use broadloom_core::text::{ParseOptions, Span};

#[cfg(test)]
mod tests;

/// The array that a text means, its names bound to these arrays.
///
/// # Errors
/// If the text is not an expression, has a name that is not among `names`, or does not type.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::text::expression;
///
/// let x = Array::from_vec(vec![1.0_f32, 4.0]);
/// assert_eq!(expression("sqrt(x) + 1", &[("x", x)])?.to_vec::<f32>()?, [2.0, 3.0]);
///
/// let wrong = expression("sqrt(y) + 1", &[]).unwrap_err();
/// assert_eq!((wrong.span, &*wrong.message), (5..6, "`y` is not known"));
/// # Ok::<(), Error>(())
/// ```
pub fn expression<'a>(text: &str, names: &[(&str, Array<'a>)]) -> Result<Array<'a>, TextError> {
    Expression::parse(text)?.build(names)
}

/// A text that was parsed, to be built with one set of arrays after another.
#[derive(Clone, Debug)]
pub struct Expression {
    ast: Ast,
}

impl Expression {
    /// Parses a text within the default limits.
    ///
    /// # Errors
    /// If the text is not an expression.
    pub fn parse(text: &str) -> Result<Expression, TextError> {
        Expression::parse_with(text, &ParseOptions::default())
    }

    /// Parses a text within limits.
    ///
    /// # Errors
    /// If the text is not an expression, or exceeds a limit.
    pub fn parse_with(text: &str, options: &ParseOptions) -> Result<Expression, TextError> {
        // Reading a decimal may multiply by a power of ten, whatever the host has set.
        let _ieee = FloatEnv::ieee();
        Ok(Expression { ast: parse(text, options)? })
    }

    /// The names that the text has, each once, in the order of their first appearance.
    ///
    /// ```
    /// use broadloom::text::Expression;
    ///
    /// let sum = Expression::parse("b + a * b")?;
    /// assert_eq!(sum.names(), ["b", "a"]);
    /// # Ok::<(), broadloom::text::TextError>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        let mut seen = FxHashMap::default();
        let names = self.ast.nodes().iter().filter_map(|node| match &node.kind {
            Kind::Name(name) => Some(&**name),
            _ => None,
        });
        names.filter(|name| seen.insert(*name, ()).is_none()).collect()
    }

    /// The array that the text means, its names bound to these arrays; where a name is there twice, to the last.
    ///
    /// # Errors
    /// For the first name or function, from the left, that does not exist, has a wrong number of arguments, or
    /// does not take what it is given.
    pub fn build<'a>(&self, names: &[(&str, Array<'a>)]) -> Result<Array<'a>, TextError> {
        // Errors show literals, whatever the host has set.
        let _ieee = FloatEnv::ieee();
        let known: FxHashMap<&str, &Array<'a>> = names.iter().map(|(name, array)| (*name, array)).collect();
        let mut build = Build {
            ast: &self.ast,
            known,
            candidates: names.iter().map(|(name, _)| *name).collect(),
            is_dtype_due: vec![false; self.ast.nodes().len()],
            uses_names: vec![false; self.ast.nodes().len()],
            values: Vec::with_capacity(self.ast.nodes().len()),
        };
        build.find_dtypes();
        for node in self.ast.nodes() {
            let value = build.value(node)?;
            build.values.push(value);
        }
        // The parser gives no dtype outside of a call.
        build.values.pop().flatten().ok_or_else(|| build.misplaced_dtype(&self.ast[self.ast.root()]))
    }
}

/// An expression while its arrays are made.
struct Build<'e, 'n, 'a> {
    ast: &'e Ast,
    known: FxHashMap<&'n str, &'n Array<'a>>,
    /// The known names in the caller's order.
    candidates: Vec<&'n str>,
    /// Whether a node is the second argument of astype.
    is_dtype_due: Vec<bool>,
    /// Whether a node, or what it is made of, is a name.
    uses_names: Vec<bool>,
    /// The arrays of the nodes before; none for a dtype, or if it was used.
    values: Vec<Option<Array<'a>>>,
}

impl<'a> Build<'_, '_, 'a> {
    fn find_dtypes(&mut self) {
        for node in self.ast.nodes() {
            if let Kind::Call { function, args, .. } = &node.kind
                && **function == *ASTYPE
                && let Some(dtype) = args.get(1)
            {
                self.is_dtype_due[dtype.index()] = true;
            }
        }
    }

    /// The array of the next node, of which the arguments have theirs.
    fn value(&mut self, node: &Node) -> Result<Option<Array<'a>>, TextError> {
        let at = self.values.len();
        let literal = match &node.kind {
            Kind::DType(_) if self.is_dtype_due[at] => return Ok(None),
            Kind::DType(_) => return Err(self.misplaced_dtype(node)),
            _ if self.is_dtype_due[at] => return Err(self.not_a_dtype(node)),
            Kind::Name(name) => {
                self.uses_names[at] = true;
                return match self.known.get(&**name) {
                    Some(array) => Ok(Some((*array).clone())),
                    None => Err(self.unknown_name(node, name)),
                };
            }
            Kind::Call { function, function_span, args } => {
                self.uses_names[at] = args.iter().any(|arg| self.uses_names[arg.index()]);
                return self.call(function, function_span, args).map(Some);
            }
            Kind::Bool(x) => Literal::Bool(*x),
            Kind::Int(x) => Literal::Int(*x),
            Kind::Float(x) => Literal::Float(*x),
        };
        Ok(Some(Array::scalar(literal)))
    }

    fn call(&mut self, function: &str, span: &Span, args: &[AstId]) -> Result<Array<'a>, TextError> {
        if function == ASTYPE {
            let [_, dtype] = args else { return Err(wrong_arity(ASTYPE, "x, dtype", 2, span, args)) };
            let Kind::DType(dtype) = self.ast[*dtype].kind else {
                return Err(self.not_a_dtype(&self.ast[*dtype]));
            };
            return self.take(args).first().map(|x| x.astype(dtype)).ok_or_else(|| self.used_twice(span));
        }
        let Some(op) = Op::from_name(function) else { return Err(self.unknown_function(function, span)) };
        if args.len() != op.operands() {
            return Err(wrong_arity(function, signature(op), op.operands(), span, args));
        }
        let operands = self.take(args);
        if operands.len() != args.len() {
            return Err(self.used_twice(span));
        }
        Array::apply(op, &operands).map_err(|error| TextError {
            span: span.clone(),
            message: error.message().to_owned(),
            help: error.help().map(str::to_owned),
            kind: error.kind(),
            operands: (args.iter().zip(&operands))
                .map(|(arg, array)| (self.ast[*arg].span.clone(), Operand::from(array).known().to_string()))
                .collect(),
            uses_names: args.iter().any(|arg| self.uses_names[arg.index()]),
        })
    }

    /// The arrays of these nodes; there are fewer only if one is a dtype, or was used before.
    fn take(&mut self, args: &[AstId]) -> Vec<Array<'a>> {
        args.iter().filter_map(|arg| self.values[arg.index()].take()).collect()
    }

    fn used_twice(&self, span: &Span) -> TextError {
        // The parser uses no node twice.
        error(ErrorKind::Internal, span, "a part of the text was used twice", None)
    }

    fn unknown_name(&self, node: &Node, name: &str) -> TextError {
        let help = if name != ASTYPE && Op::from_name(name).is_none() {
            nearest(name, self.candidates.iter().copied()).map(|other| format!("did you mean `{other}`?"))
        } else {
            Some(format!("`{name}` is a function: write its arguments after it, in parentheses"))
        };
        let help = help.or_else(|| match &self.candidates[..] {
            [] => Some("no names are known".to_owned()),
            known if known.len() <= 8 => Some(format!("known are `{}`", known.join("`, `"))),
            _ => None,
        });
        error(ErrorKind::Name, &node.span, format!("`{}` is not known", brief(name)), help)
    }

    fn unknown_function(&self, function: &str, span: &Span) -> TextError {
        let help = if self.known.contains_key(function) {
            Some(format!("`{function}` is an array; to multiply, write `*`"))
        } else {
            similar_function(function).map(|other| format!("did you mean `{other}`?"))
        };
        error(ErrorKind::Name, span, format!("there is no function `{}`", brief(function)), help)
    }

    fn misplaced_dtype(&self, node: &Node) -> TextError {
        let name = match node.kind {
            Kind::DType(dtype) => dtype.name(),
            _ => "this",
        };
        let message = format!("`{name}` is a dtype, which only the second argument of `{ASTYPE}` can be");
        error(ErrorKind::Arity, &node.span, message, Some(format!("to convert, write `{ASTYPE}(x, {name})`")))
    }

    fn not_a_dtype(&self, node: &Node) -> TextError {
        let all = DType::ALL.iter().map(|dtype| dtype.name());
        let (message, help) = match &node.kind {
            Kind::Name(name) => (
                format!("`{}` is not a dtype", brief(name)),
                nearest(name, all.clone()).map(|other| format!("did you mean `{other}`?")),
            ),
            _ => (format!("the second argument of `{ASTYPE}` must be a dtype"), None),
        };
        let help = help.or_else(|| Some(format!("dtypes are {}", all.collect::<Vec<_>>().join(", "))));
        error(ErrorKind::Name, &node.span, message, help)
    }
}

/// The one function that is not in the op table, because a dtype is among its arguments.
const ASTYPE: &str = "astype";

/// The arguments of an op, as its documentation names them.
pub fn signature(op: Op) -> &'static str {
    match op.arity() {
        Arity::Unary => "x",
        Arity::Binary => "x1, x2",
        Arity::Ternary => "x, lo, hi",
        Arity::Choice => "condition, x2, x3",
    }
}

fn wrong_arity(function: &str, signature: &str, takes: usize, span: &Span, args: &[AstId]) -> TextError {
    let plural = if takes == 1 { "" } else { "s" };
    let message =
        format!("`{function}({signature})` takes {takes} argument{plural}, but is given {}", args.len());
    error(ErrorKind::Arity, span, message, None)
}

/// A function that is spelt alike, or else the only one that begins so.
fn similar_function(name: &str) -> Option<String> {
    let functions = || Op::public().map(Op::name).chain([ASTYPE]);
    nearest(name, functions()).or_else(|| {
        let mut begin = functions().filter(|function| name.len() >= 3 && function.starts_with(name));
        begin.next().filter(|_| begin.next().is_none()).map(str::to_owned)
    })
}

/// A name, shortened if it is long.
fn brief(name: &str) -> String {
    const LONGEST: usize = 40;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn error(kind: ErrorKind, span: &Span, message: impl Into<String>, help: Option<String>) -> TextError {
    TextError {
        span: span.clone(),
        message: message.into(),
        help,
        kind,
        operands: Vec::new(),
        uses_names: false,
    }
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextError {
    /// The bytes at fault: a name, a literal, an operator, or the name of a function; empty at the end of the text.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to write instead, where that is known.
    pub help: Option<String>,
    /// The kind, to branch on.
    pub kind: ErrorKind,
    /// Of a type error, each operand: where it stands, and its type or value.
    pub operands: Vec<(Span, String)>,
    /// Of a type error, whether a name is part of the operands, so that other arrays might have fitted.
    pub uses_names: bool,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.span.start, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}

impl From<SyntaxError> for TextError {
    fn from(e: SyntaxError) -> TextError {
        let kind = if e.is_limit { ErrorKind::Limit } else { ErrorKind::Syntax };
        error(kind, &e.span, e.message, e.help)
    }
}

impl From<TextError> for Error {
    fn from(e: TextError) -> Error {
        let error = Error::new(e.kind, format!("at byte {}: {}", e.span.start, e.message));
        match e.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}
