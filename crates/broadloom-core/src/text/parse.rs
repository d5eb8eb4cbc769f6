//! The parser: operator precedence with a stack of its own.
//!
//! In: text and limits. Out: an [`Ast`] in post-order, or the first error.
//! Must hold: no recursion; each token is pushed and taken off the stack at most once, so that time is linear.

use logos::{Lexer, Logos};

use super::ast::{self, Ast, AstId, Kind, Node};
use super::lex::{self, Token};
use super::number::{Number, brief};
use super::{ParseOptions, Span, SyntaxError};
use crate::DType;

/// How tightly an operator binds, loosest first: Python's order, but that comparisons do not chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Comparison,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Sign,
    Power,
}

/// The function that an operator between two operands stands for.
fn binary(token: Token) -> Option<(Binding, &'static str)> {
    Some(match token {
        Token::Equal => (Binding::Comparison, "equal"),
        Token::NotEqual => (Binding::Comparison, "not_equal"),
        Token::Less => (Binding::Comparison, "less"),
        Token::LessEqual => (Binding::Comparison, "less_equal"),
        Token::Greater => (Binding::Comparison, "greater"),
        Token::GreaterEqual => (Binding::Comparison, "greater_equal"),
        Token::Bar => (Binding::Or, "bitwise_or"),
        Token::Caret => (Binding::Xor, "bitwise_xor"),
        Token::Ampersand => (Binding::And, "bitwise_and"),
        Token::ShiftLeft => (Binding::Shift, "bitwise_left_shift"),
        Token::ShiftRight => (Binding::Shift, "bitwise_right_shift"),
        Token::Plus => (Binding::Sum, "add"),
        Token::Minus => (Binding::Sum, "subtract"),
        Token::Star => (Binding::Product, "multiply"),
        Token::Slash => (Binding::Product, "divide"),
        Token::SlashSlash => (Binding::Product, "floor_divide"),
        Token::Percent => (Binding::Product, "remainder"),
        Token::StarStar => (Binding::Power, "pow"),
        _ => return None,
    })
}

/// The function that an operator before its operand stands for; all bind as [`Binding::Sign`].
fn prefix(token: Token) -> Option<&'static str> {
    Some(match token {
        Token::Minus => "negative",
        Token::Plus => "positive",
        Token::Tilde => "bitwise_invert",
        _ => return None,
    })
}

/// An operand that is complete, with the parentheses around it.
#[derive(Clone, Debug)]
struct Operand {
    id: AstId,
    span: Span,
}

/// What waits for the operand at its right to be complete.
struct Pending {
    /// The operator or the opening parenthesis.
    span: Span,
    what: Waiting,
}

enum Waiting {
    Prefix { token: Token, function: &'static str },
    Binary { binding: Binding, function: &'static str, left: Operand },
    Group,
    Call { name: Span, args: Vec<AstId> },
}

/// Parses one expression.
///
/// The operators, loosest first: comparisons, `|`, `^`, `&`, shifts, `+ -`, `* / // %`, signs and `~`, `**`; they
/// associate as in Python and become calls of the Array API's functions. A sign directly before a number belongs to
/// the number, unless `**` follows: `-128` is one node and `-2**2` is `-(2**2)`.
///
/// # Errors
///
/// If the text is not an expression, or meets a limit of the options ([`SyntaxError::is_limit`]).
///
/// ```
/// use broadloom_core::text::{Kind, ParseOptions, parse};
/// let ast = parse("-x ** 2 < 1e-3", &ParseOptions::default())?;
/// let calls = ast.nodes().iter().filter_map(|node| match &node.kind {
///     Kind::Call { function, .. } => Some(&**function),
///     _ => None,
/// });
/// assert!(calls.eq(["pow", "negative", "less"]));
/// # Ok::<(), broadloom_core::text::SyntaxError>(())
/// ```
pub fn parse(text: &str, options: &ParseOptions) -> Result<Ast, SyntaxError> {
    let longest = options.max_bytes.min(u32::MAX as usize);
    if text.len() > longest {
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        return Err(limit(
            0..end,
            format!("the text has {} bytes, more than the limit of {longest}", text.len()),
        ));
    }
    let lexer = Token::lexer(text);
    let mut parser = Parser { text, options, lexer, ahead: None, nodes: Vec::new(), stack: Vec::new() };
    let mut operand = parser.operand()?;
    loop {
        operand = match parser.take()? {
            None => {
                parser.reduce(operand, None)?;
                return match parser.stack.last() {
                    None => Ok(Ast::new(parser.nodes)),
                    Some(opener) => Err(parser.unclosed(opener)),
                };
            }
            Some((Token::Close, span)) => {
                let last = parser.reduce(operand, None)?;
                match parser.stack.pop() {
                    Some(Pending { what: Waiting::Call { name, mut args }, .. }) => {
                        args.push(last.id);
                        parser.call(name, args, span)?
                    }
                    Some(group) => Operand { id: last.id, span: group.span.start..span.end },
                    None => return Err(error(span, "found `)`, but no parenthesis is open", None)),
                }
            }
            Some((Token::Comma, span)) => {
                let next = parser.reduce(operand, None)?;
                match parser.stack.last_mut() {
                    Some(Pending { what: Waiting::Call { args, .. }, .. }) => args.push(next.id),
                    _ => {
                        let message = "found `,`, which only separates the arguments of a function";
                        return Err(error(span, message, None));
                    }
                }
                parser.operand()?
            }
            Some((token, span)) => match binary(token) {
                Some((binding, function)) => {
                    let left = parser.reduce(operand, Some((binding, &span)))?;
                    parser.wait(span, Waiting::Binary { binding, function, left })?;
                    parser.operand()?
                }
                None => return Err(parser.not_an_operator(token, span)),
            },
        }
    }
}

/// A token and where it stands.
type Word = (Token, Span);

struct Parser<'a> {
    text: &'a str,
    options: &'a ParseOptions,
    lexer: Lexer<'a, Token>,
    /// A token that was looked at and not taken; `Some(None)` is the end.
    ahead: Option<Option<Word>>,
    nodes: Vec<Node>,
    stack: Vec<Pending>,
}

impl<'a> Parser<'a> {
    fn text(&self, span: &Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn next(&mut self) -> Result<Option<Word>, SyntaxError> {
        let Some(token) = self.lexer.next() else { return Ok(None) };
        let span = self.lexer.span();
        let span = span.start as u32..span.end as u32;
        match token {
            Ok(token) => Ok(Some((token, span))),
            Err(Some(number)) => Err(error(span, number.message, number.help)),
            Err(None) => Err(self.bad_character(span.start)),
        }
    }

    fn peek(&mut self) -> Result<Option<Token>, SyntaxError> {
        if self.ahead.is_none() {
            self.ahead = Some(self.next()?);
        }
        Ok(self.ahead.as_ref().and_then(|word| word.as_ref()).map(|(token, _)| *token))
    }

    fn take(&mut self) -> Result<Option<Word>, SyntaxError> {
        match self.ahead.take() {
            Some(word) => Ok(word),
            None => self.next(),
        }
    }

    fn push(&mut self, kind: Kind, span: Span) -> Result<Operand, SyntaxError> {
        if self.nodes.len() >= self.options.max_nodes {
            return Err(limit(
                span,
                format!("the expression has more than {} nodes", self.options.max_nodes),
            ));
        }
        Ok(Operand { id: ast::push(&mut self.nodes, Node { kind, span: span.clone() }), span })
    }

    fn wait(&mut self, span: Span, what: Waiting) -> Result<(), SyntaxError> {
        if self.stack.len() >= self.options.max_depth {
            return Err(limit(
                span,
                format!("the expression nests more than {} deep", self.options.max_depth),
            ));
        }
        self.stack.push(Pending { span, what });
        Ok(())
    }

    /// Reads what stands where an operand is due, up to the end of its name, literal or empty argument list.
    fn operand(&mut self) -> Result<Operand, SyntaxError> {
        loop {
            let Some((token, span)) = self.take()? else { return Err(self.no_operand(None)) };
            match token {
                Token::Bool(value) => return self.push(Kind::Bool(value), span),
                Token::Number(number) => return self.number(number, span),
                Token::Name => match self.peek()? {
                    Some(Token::Open) => self.open_call(span)?,
                    next => return self.name(span, next),
                },
                Token::Open => self.wait(span, Waiting::Group)?,
                // No arguments, or a comma after the last.
                Token::Close => match self.stack.pop_if(|top| matches!(top.what, Waiting::Call { .. })) {
                    Some(Pending { what: Waiting::Call { name, args }, .. }) => {
                        return self.call(name, args, span);
                    }
                    _ => return Err(self.no_operand(Some((token, span)))),
                },
                _ => match prefix(token) {
                    Some(function) => self.wait(span, Waiting::Prefix { token, function })?,
                    None => return Err(self.no_operand(Some((token, span)))),
                },
            }
        }
    }

    /// A number, with the sign before it unless `**` follows, which binds tighter.
    fn number(&mut self, number: Number, mut span: Span) -> Result<Operand, SyntaxError> {
        let is_sign =
            |top: &mut Pending| matches!(top.what, Waiting::Prefix { token: Token::Minus | Token::Plus, .. });
        let mut negative = false;
        if self.peek()? != Some(Token::StarStar)
            && let Some(sign) = self.stack.pop_if(is_sign)
        {
            span.start = sign.span.start;
            negative = matches!(sign.what, Waiting::Prefix { token: Token::Minus, .. });
        }
        let kind = match number {
            Number::Int(value) if negative => Kind::Int(-i128::from(value)),
            Number::Int(value) => Kind::Int(value.into()),
            Number::Float(value) if negative => Kind::Float(-value),
            Number::Float(value) => Kind::Float(value),
        };
        self.push(kind, span)
    }

    /// A name that is not called, before the token `next`.
    fn name(&mut self, span: Span, next: Option<Token>) -> Result<Operand, SyntaxError> {
        let name = self.text(&span);
        let kind = match DType::from_name(name) {
            None => Kind::Name(name.into()),
            Some(dtype) => {
                let opens = matches!(self.stack.last(), Some(Pending { what: Waiting::Call { .. }, .. }));
                let closes = matches!(next, None | Some(Token::Comma | Token::Close));
                if !(opens && closes) {
                    let message = format!("`{name}` is a dtype, which can only be an argument of a function");
                    return Err(error(span, message, Some(format!("to convert, write `astype(x, {name})`"))));
                }
                Kind::DType(dtype)
            }
        };
        self.push(kind, span)
    }

    /// The beginning of a call, up to its parenthesis.
    fn open_call(&mut self, name: Span) -> Result<(), SyntaxError> {
        let function = self.text(&name);
        if DType::from_name(function).is_some() {
            let message = format!("`{function}` is a dtype, not a function");
            return Err(error(name, message, Some(format!("to convert, write `astype(x, {function})`"))));
        }
        let open = self.take()?.map_or(name.clone(), |(_, open)| open);
        self.wait(open, Waiting::Call { name, args: Vec::new() })
    }

    fn call(&mut self, name: Span, args: Vec<AstId>, close: Span) -> Result<Operand, SyntaxError> {
        let span = name.start..close.end;
        self.push(Kind::Call { function: self.text(&name).into(), function_span: name, args }, span)
    }

    /// Completes every operator that binds the operand tighter than `next` does: all up to the innermost open
    /// parenthesis if there is none.
    fn reduce(&mut self, operand: Operand, next: Option<(Binding, &Span)>) -> Result<Operand, SyntaxError> {
        let mut right = operand;
        while let Some(top) = self.stack.last() {
            let binding = match top.what {
                Waiting::Prefix { .. } => Binding::Sign,
                Waiting::Binary { binding, .. } => binding,
                Waiting::Group | Waiting::Call { .. } => break,
            };
            if let Some((next, span)) = next {
                if binding < next || (binding == next && next == Binding::Power) {
                    break;
                }
                if let (Binding::Comparison, Waiting::Binary { left, .. }) = (next, &top.what)
                    && binding == next
                {
                    return Err(self.chained(left, &top.span, &right, span));
                }
            }
            let Some(Pending { span: operator, what }) = self.stack.pop() else { break };
            let (function, args, start) = match what {
                Waiting::Prefix { function, .. } => (function, vec![right.id], operator.start),
                Waiting::Binary { function, left, .. } => {
                    (function, vec![left.id, right.id], left.span.start)
                }
                Waiting::Group | Waiting::Call { .. } => break,
            };
            let kind = Kind::Call { function: function.into(), function_span: operator, args };
            right = self.push(kind, start..right.span.end)?;
        }
        Ok(right)
    }

    /// The text, on one line and not too long, for a message.
    fn quote(&self, span: &Span) -> String {
        let words: Vec<&str> = self.text(span).split_whitespace().take(20).collect();
        brief(&words.join(" ")).into_owned()
    }

    fn describe(&self, word: Option<&Word>) -> String {
        match word {
            None => "the end of the text".into(),
            Some((Token::Name, span)) => format!("the name `{}`", self.quote(span)),
            Some((Token::Number(_), span)) => format!("the number `{}`", self.quote(span)),
            Some((_, span)) => format!("`{}`", self.quote(span)),
        }
    }

    fn end(&self) -> Span {
        let end = self.text.len() as u32;
        end..end
    }

    /// Something else stands where an operand is due.
    fn no_operand(&self, found: Option<Word>) -> SyntaxError {
        if let Some((token, span)) = &found
            && let Some(refusal) = self.refusal(*token, span)
        {
            return refusal;
        }
        let expected = match self.stack.last() {
            None => "an expression".into(),
            Some(Pending { what: Waiting::Group, .. }) => "an expression after `(`".into(),
            Some(Pending { what: Waiting::Call { name, args }, .. }) => {
                let which = if args.is_empty() { "an" } else { "another" };
                format!("{which} argument of `{}`, or `)`", self.quote(name))
            }
            Some(Pending { span, .. }) => format!("an operand after `{}`", self.text(span)),
        };
        let message = format!("found {}, expected {expected}", self.describe(found.as_ref()));
        let help = found.as_ref().and_then(|(token, _)| token.advice()).map(str::to_owned);
        error(found.map_or(self.end(), |(_, span)| span), message, help)
    }

    /// Something else stands where an operator is due.
    fn not_an_operator(&self, token: Token, span: Span) -> SyntaxError {
        if let Some(refusal) = self.refusal(token, &span) {
            return refusal;
        }
        let opener =
            self.stack.iter().rev().find(|p| matches!(p.what, Waiting::Group | Waiting::Call { .. }));
        let expected = match opener.map(|p| &p.what) {
            None => "an operator",
            Some(Waiting::Call { .. }) => "an operator, `,` or `)`",
            Some(_) => "an operator or `)`",
        };
        let help = match token {
            Token::Open => Some("to multiply, write `*`; only a name can be called"),
            Token::Name | Token::Number(_) | Token::Bool(_) => Some("to multiply, write `*`"),
            _ => token.advice(),
        };
        let message = format!("found {}, expected {expected}", self.describe(Some(&(token, span.clone()))));
        error(span, message, help.map(str::to_owned))
    }

    /// A word that is an operator elsewhere.
    fn refusal(&self, token: Token, span: &Span) -> Option<SyntaxError> {
        if !matches!(token, Token::And | Token::Or | Token::Not | Token::Assign) {
            return None;
        }
        let in_call = matches!(self.stack.last(), Some(Pending { what: Waiting::Call { .. }, .. }));
        let help = match token {
            Token::Assign if in_call => {
                Some("to compare, write `==`; arguments are given in order, without names")
            }
            _ => token.advice(),
        };
        let message = format!("`{}` is not an operator of this language", self.text(span));
        Some(error(span.clone(), message, help.map(str::to_owned)))
    }

    fn unclosed(&self, open: &Pending) -> SyntaxError {
        let message = match &open.what {
            Waiting::Call { name, .. } => {
                format!("the arguments of `{}` have no `)` at their end", self.quote(name))
            }
            _ => "this parenthesis is never closed".into(),
        };
        error(open.span.clone(), message, None)
    }

    /// `left first middle next …`, all comparisons.
    fn chained(&self, left: &Operand, first: &Span, middle: &Operand, next: &Span) -> SyntaxError {
        let pair = self.quote(&(left.span.start..middle.span.end));
        let (middle, operator) = (self.quote(&middle.span), self.text(next));
        let message = format!("comparisons do not chain: found `{operator}` after `{}`", self.text(first));
        error(next.clone(), message, Some(format!("write `({pair}) & ({middle} {operator} …)`")))
    }

    fn bad_character(&self, start: u32) -> SyntaxError {
        let character = self.text[start as usize..].chars().next().unwrap_or_default();
        let span = start..start + character.len_utf8() as u32;
        let shown = if character.is_alphanumeric() {
            character.to_string()
        } else {
            character.escape_debug().to_string()
        };
        let message = format!("found the character `{shown}`, which is not part of the language");
        error(span, message, lex::instead_of(character).map(str::to_owned))
    }
}

fn error(span: Span, message: impl Into<String>, help: Option<String>) -> SyntaxError {
    SyntaxError { span, message: message.into(), help, is_limit: false }
}

fn limit(span: Span, message: String) -> SyntaxError {
    SyntaxError { span, message, help: None, is_limit: true }
}
