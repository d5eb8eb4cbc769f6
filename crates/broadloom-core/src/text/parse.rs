//! The parser of expressions: operator precedence with an explicit stack.
//!
//! [`statement`](super::statement) and [`literal`](super::literal) parse the rest of the grammar. There is no
//! recursion, and each token is pushed and popped at most once, so that parsing takes linear time.

use super::ast::{Ast, AstId, AstKind, AstNode, Body, Item, Keyword, Statement};
use super::error::{TextError, limit, syntax};
use super::lex::{Lexer, Token};
use super::number::{Number, brief};
use super::operator::{Binding, binary, prefix};
use super::{ParseOptions, Span};
use crate::{DType, Op};

/// A complete operand, and its span including the parentheses around it.
#[derive(Clone, Debug)]
pub(super) struct ParsedOperand {
    pub(super) id: AstId,
    pub(super) span: Span,
}

/// A pending operator or parenthesis, whose right operand or content is incomplete.
pub(super) struct Pending {
    /// The span of the operator or the opening parenthesis.
    pub(super) span: Span,
    pub(super) what: Waiting,
}

pub(super) enum Waiting {
    Prefix {
        op: Op,
    },
    /// A binary operator. Its left operand is the last element of [`Parser::operands`].
    Binary {
        binding: Binding,
        op: Op,
    },
    Group,
    /// A call. Its arguments so far are the elements of [`Parser::operands`], beginning at `first`. The named arguments
    /// among them are listed in [`Parser::keywords`], beginning at `keywords`.
    Call {
        name: Span,
        first: u32,
        keywords: u32,
    },
    /// Indices in brackets. The indexed operand and the computed indices so far are the elements of
    /// [`Parser::operands`], beginning at `first`; the items so far are those of [`Parser::items`], beginning at
    /// `items`.
    Index {
        first: u32,
        items: u32,
    },
}

/// A token and its span.
pub(super) type TokenAt = (Token, Span);

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) options: &'a ParseOptions,
    pub(super) lexer: Lexer<'a>,
    /// The token that was peeked at, if any; `Some(None)` is the end of the text.
    ahead: Option<Option<TokenAt>>,
    pub(super) stack: Vec<Pending>,
    /// The operands of incomplete operators and calls.
    pub(super) operands: Vec<ParsedOperand>,
    /// The named arguments of incomplete calls: the span of the name, and the index of the argument among the operands.
    pub(super) keywords: Vec<(Span, u32)>,
    /// The items of incomplete indices.
    pub(super) items: Vec<Item>,
    /// The number of open parentheses and brackets. Within them, the end of a line does not end the statement.
    pub(super) open: u32,
    /// The number of open parentheses at which an expression ends: those of the heads of loops around it.
    pub(super) base: u32,
    /// The number of loops around the statement.
    pub(super) nesting: usize,
    pub(super) ast: Ast,
}

/// Parses a program, which may be a single expression.
///
/// The operators, from the loosest to the tightest: comparisons, `|`, `^`, `&`, shifts, `+ -`, `* / // %`, signs and
/// `~`, `**`. They associate as in Python and denote the Array API's functions. A sign directly before a number belongs
/// to the number, unless `**` follows: `-128` is one node, and `-2**2` is `-(2**2)`. Names are not resolved.
///
/// # Errors
/// If the text is not a program, or exceeds a limit of the options ([`TextError::is_limit`]).
///
/// ```
/// use broadloom_core::Op;
/// use broadloom_core::text::{AstKind, ParseOptions, parse};
///
/// let ast = parse("-x ** 2 < 1e-3", &ParseOptions::default())?;
/// let calls = ast.nodes().iter().filter_map(|node| match &node.kind {
///     AstKind::Operator { op, .. } => Some(*op),
///     _ => None,
/// });
/// assert!(calls.eq([Op::Pow, Op::Negative, Op::Less]));
/// # Ok::<(), broadloom_core::text::TextError>(())
/// ```
pub fn parse(text: &str, options: &ParseOptions) -> Result<Ast, TextError> {
    parse_program(text, options).map_err(|error| error.in_text(text))
}

fn parse_program(text: &str, options: &ParseOptions) -> Result<Ast, TextError> {
    let ast = parse_any(text, options)?;
    let end = text.len() as u32..text.len() as u32;
    let found = "found the end of the text, expected";
    match ast.statements().last() {
        Some(Statement::Output { .. }) => Ok(ast),
        None => Err(syntax(&end, format!("{found} an expression"), None)),
        Some(statement @ (Statement::Binding { .. } | Statement::Loop(_))) => {
            let name = brief(ast.at(&ast.place(statement)));
            let help = format!("write `return {name}`; to compare, write `==`");
            Err(syntax(&end, format!("{found} `return` and what is to be computed"), Some(help)))
        }
        Some(_) => Err(syntax(&end, format!("{found} `return` and what is to be computed"), None)),
    }
}

/// Parses statements, with or without a `return`.
pub(super) fn parse_any(text: &str, options: &ParseOptions) -> Result<Ast, TextError> {
    let longest = options.max_bytes.min(u32::MAX as usize);
    if text.len() > longest {
        let message = format!("the text has {} bytes, more than the limit of {longest}", text.len());
        return Err(limit(&(0..u32::try_from(text.len()).unwrap_or(u32::MAX)), message));
    }
    let mut parser = Parser {
        text,
        options,
        lexer: Lexer::new(text),
        ahead: None,
        stack: Vec::new(),
        operands: Vec::new(),
        keywords: Vec::new(),
        items: Vec::new(),
        open: 0,
        base: 0,
        nesting: 0,
        ast: Ast::default(),
    };
    parser.program()?;
    Ok(Ast { text: text.into(), ..parser.ast })
}

impl<'a> Parser<'a> {
    pub(super) fn text(&self, span: &Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn next(&mut self) -> Result<Option<TokenAt>, TextError> {
        loop {
            let Some(token) = self.lexer.next() else { return Ok(None) };
            let span = self.lexer.span();
            let span = span.start as u32..span.end as u32;
            match token {
                Ok(Token::Newline) if self.open > 0 => {}
                Ok(token) => return Ok(Some((token, span))),
                Err(Some(number)) => return Err(syntax(&span, number.message, number.help)),
                Err(None) => return Err(self.bad_character(span.start)),
            }
        }
    }

    pub(super) fn peek(&mut self) -> Result<Option<Token>, TextError> {
        if self.ahead.is_none() {
            self.ahead = Some(self.next()?);
        }
        Ok(self.ahead.as_ref().and_then(|word| word.as_ref()).map(|(token, _)| *token))
    }

    pub(super) fn take(&mut self) -> Result<Option<TokenAt>, TextError> {
        match self.ahead.take() {
            Some(word) => Ok(word),
            None => self.next(),
        }
    }

    /// Consumes the next token if it is `token`, and returns its span.
    pub(super) fn accept(&mut self, token: Token) -> Result<Option<Span>, TextError> {
        if self.peek()? != Some(token) {
            return Ok(None);
        }
        Ok(self.take()?.map(|(_, span)| span))
    }

    /// Enters a parenthesis or bracket. It must be called before the next token is peeked at.
    pub(super) fn opens(&mut self) {
        self.open += 1;
    }

    /// Leaves a parenthesis or bracket. It must be called before the next token is peeked at.
    pub(super) fn closes(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn push(
        &mut self,
        kind: AstKind,
        span: Span,
        args: &[AstId],
    ) -> Result<ParsedOperand, TextError> {
        self.check_nodes(&span)?;
        let first = self.ast.args.len() as u32;
        self.ast.args.extend_from_slice(args);
        Ok(self.node(kind, span, first))
    }

    /// Pushes a node whose arguments are all operands from `first` on.
    pub(super) fn push_taking(
        &mut self,
        kind: AstKind,
        span: Span,
        first: usize,
    ) -> Result<ParsedOperand, TextError> {
        self.check_nodes(&span)?;
        let start = self.ast.args.len() as u32;
        self.ast.args.extend(self.operands.drain(first..).map(|operand| operand.id));
        Ok(self.node(kind, span, start))
    }

    fn check_nodes(&self, span: &Span) -> Result<(), TextError> {
        if self.ast.nodes.len() < self.options.max_nodes {
            return Ok(());
        }
        Err(limit(span, format!("the expression has more than {} nodes", self.options.max_nodes)))
    }

    fn node(&mut self, kind: AstKind, span: Span, first: u32) -> ParsedOperand {
        // The index fits a u32: a text is shorter than 4 GiB, and every node takes at least a byte of it.
        let id = AstId(self.ast.nodes.len() as u32);
        let args = first..self.ast.args.len() as u32;
        self.ast.nodes.push(AstNode { kind, span: span.clone(), args });
        ParsedOperand { id, span }
    }

    pub(super) fn wait(&mut self, span: Span, what: Waiting) -> Result<(), TextError> {
        if self.stack.len() >= self.options.max_depth {
            let message = format!("the expression nests more than {} deep", self.options.max_depth);
            return Err(limit(&span, message));
        }
        self.stack.push(Pending { span, what });
        Ok(())
    }

    /// Parses an expression, up to the end of the statement or a comma outside of parentheses.
    pub(super) fn expression(&mut self) -> Result<Body, TextError> {
        let start = self.ast.nodes.len() as u32;
        let mut operand = self.operand()?;
        loop {
            let at_end = match self.peek()? {
                None | Some(Token::Newline) => true,
                Some(Token::Semicolon | Token::Comma) => self.open == self.base,
                Some(Token::Close | Token::Range) => self.base > 0 && self.open == self.base,
                Some(Token::BraceEnd) => self.nesting > 0 && self.open == self.base,
                _ => false,
            };
            if at_end {
                self.reduce(operand, None)?;
                if let Some(opener) = self.stack.last() {
                    return Err(self.unclosed(opener));
                }
                return Ok(Body { nodes: start..self.ast.nodes.len() as u32 });
            }
            let Some((token, span)) = self.take()? else { return Err(self.no_operand(None)) };
            operand = match token {
                Token::Close => self.close(operand, span)?,
                Token::Comma => {
                    let next = self.reduce(operand, None)?;
                    match self.stack.last() {
                        Some(Pending { what: Waiting::Call { .. }, .. }) => {
                            self.operands.push(next);
                            self.operand()?
                        }
                        Some(Pending { what: Waiting::Index { .. }, .. }) => {
                            self.operands.push(next);
                            self.indices()?
                        }
                        _ => return Err(self.stray_comma(&span)),
                    }
                }
                Token::Bracket => self.index(operand, span)?,
                Token::BracketEnd => {
                    let last = self.reduce(operand, None)?;
                    if !matches!(self.stack.last(), Some(Pending { what: Waiting::Index { .. }, .. })) {
                        return Err(self.not_an_operator(token, span));
                    }
                    self.operands.push(last);
                    self.close_index(span)?
                }
                _ => match binary(token) {
                    Some((binding, op)) => {
                        let left = self.reduce(operand, Some((binding, &span)))?;
                        self.operands.push(left);
                        self.wait(span, Waiting::Binary { binding, op })?;
                        self.operand()?
                    }
                    None => return Err(self.not_an_operator(token, span)),
                },
            };
        }
    }

    /// Completes a parenthesised operand or a call at its `)`.
    fn close(&mut self, operand: ParsedOperand, span: Span) -> Result<ParsedOperand, TextError> {
        let last = self.reduce(operand, None)?;
        if matches!(self.stack.last(), Some(Pending { what: Waiting::Index { .. }, .. })) {
            return Err(self.not_an_operator(Token::Close, span));
        }
        self.closes();
        match self.stack.pop() {
            Some(Pending { what: Waiting::Call { name, first, keywords }, .. }) => {
                self.operands.push(last);
                self.call(name, first, keywords, span)
            }
            Some(group) => Ok(ParsedOperand { id: last.id, span: group.span.start..span.end }),
            None => Err(syntax(&span, "found `)`, but no parenthesis is open", None)),
        }
    }

    /// Parses the beginning of an operand, up to the end of its name, literal or empty argument list.
    pub(super) fn operand(&mut self) -> Result<ParsedOperand, TextError> {
        loop {
            let Some((token, span)) = self.take()? else { return Err(self.no_operand(None)) };
            match token {
                Token::Bool(value) => return self.push(AstKind::Bool(value), span, &[]),
                Token::Number(number) => return self.number(number, span),
                Token::Name => {
                    let next = self.peek()?;
                    if next == Some(Token::Assign) && self.begins_argument() {
                        self.take()?;
                        self.keywords.push((span, self.operands.len() as u32));
                        continue;
                    }
                    let Some(dtype) = DType::from_name(self.text(&span)) else {
                        match next {
                            Some(Token::Open) => self.open_call(span)?,
                            _ => return self.push(AstKind::Name, span, &[]),
                        }
                        continue;
                    };
                    match next {
                        Some(Token::Open) => return self.constant(dtype, span),
                        next => return self.dtype(dtype, span, next),
                    }
                }
                Token::Open if self.is_argument() && self.begins_list() => {
                    return self.list(span, Token::Close);
                }
                Token::Open => {
                    self.opens();
                    self.wait(span, Waiting::Group)?;
                }
                Token::Bracket if self.is_argument() => return self.list(span, Token::BracketEnd),
                // There are no arguments, or the last argument is followed by a comma.
                Token::Close if self.begins_argument() => match self.stack.pop() {
                    Some(Pending { what: Waiting::Call { name, first, keywords }, .. }) => {
                        self.closes();
                        return self.call(name, first, keywords, span);
                    }
                    _ => return Err(self.no_operand(Some((token, span)))),
                },
                _ => match prefix(token) {
                    Some(op) => self.wait(span, Waiting::Prefix { op })?,
                    None => return Err(self.no_operand(Some((token, span)))),
                },
            }
        }
    }

    /// Whether the next token belongs to an argument of a call, with nothing but the argument's name before it.
    fn is_argument(&self) -> bool {
        matches!(self.stack.last(), Some(Pending { what: Waiting::Call { .. }, .. }))
    }

    /// The name of the argument whose value begins at the next token, if it is a named one.
    pub(super) fn open_keyword(&self) -> Option<&Span> {
        let Some(Pending { what: Waiting::Call { keywords, .. }, .. }) = self.stack.last() else {
            return None;
        };
        let (name, operand) = self.keywords[*keywords as usize..].last()?;
        (*operand as usize == self.operands.len()).then_some(name)
    }

    /// Whether an argument of a call, with its name if it has one, begins at the next token.
    fn begins_argument(&self) -> bool {
        self.is_argument() && self.open_keyword().is_none()
    }

    /// Whether the content of a parenthesis that was just opened is a list of numbers: `(0, 1)`, `(-1,)`, `()`.
    fn begins_list(&self) -> bool {
        let tokens = self.lexer.clone().map_while(Result::ok);
        let mut tokens = tokens.filter(|token| *token != Token::Newline);
        let number = match tokens.next() {
            Some(Token::Close) => return true,
            Some(Token::Minus | Token::Plus) => tokens.next(),
            first => first,
        };
        matches!(number, Some(Token::Number(_))) && tokens.next() == Some(Token::Comma)
    }

    /// Pushes a number, including the sign before it unless `**` follows, which binds tighter than the sign.
    fn number(&mut self, number: Number, mut span: Span) -> Result<ParsedOperand, TextError> {
        let number = self.payload(number, &mut span)?;
        let is_sign =
            |top: &mut Pending| matches!(top.what, Waiting::Prefix { op: Op::Negative | Op::Positive });
        let mut negative = false;
        if self.peek()? != Some(Token::StarStar)
            && let Some(sign) = self.stack.pop_if(is_sign)
        {
            span.start = sign.span.start;
            negative = matches!(sign.what, Waiting::Prefix { op: Op::Negative });
        }
        let kind = match number {
            Number::Int(value) if negative => AstKind::Int(-i128::from(value)),
            Number::Int(value) => AstKind::Int(value.into()),
            Number::Float(value) if negative => AstKind::Float(-value),
            Number::Float(value) => AstKind::Float(value),
        };
        self.push(kind, span, &[])
    }

    /// Pushes the name of a dtype that is not followed by a parenthesis.
    fn dtype(&mut self, dtype: DType, span: Span, next: Option<Token>) -> Result<ParsedOperand, TextError> {
        let closes = matches!(next, None | Some(Token::Comma | Token::Close));
        if self.is_argument() && closes {
            return self.push(AstKind::DType(dtype), span, &[]);
        }
        let message = format!("`{dtype}` is a dtype, which can only be an argument of a function");
        let help = format!("to convert, write `astype(x, {dtype})`; a number of it is `{dtype}(1)`");
        Err(syntax(&span, message, Some(help)))
    }

    /// Begins a call at its opening parenthesis.
    fn open_call(&mut self, name: Span) -> Result<(), TextError> {
        let open = self.take()?.map_or(name.clone(), |(_, open)| open);
        self.opens();
        let (first, keywords) = (self.operands.len() as u32, self.keywords.len() as u32);
        self.wait(open, Waiting::Call { name, first, keywords })
    }

    /// Completes a call at its closing parenthesis. Its arguments are the operands from `first` on.
    fn call(
        &mut self,
        name: Span,
        first: u32,
        keywords: u32,
        close: Span,
    ) -> Result<ParsedOperand, TextError> {
        let span = name.start..close.end;
        let start = self.ast.keywords.len() as u32;
        let named = self.keywords.drain(keywords as usize..);
        self.ast.keywords.extend(named.map(|(name, operand)| Keyword { name, argument: operand - first }));
        let keywords = start..self.ast.keywords.len() as u32;
        self.push_taking(AstKind::Call { name, keywords }, span, first as usize)
    }

    /// Completes every pending operator that binds the operand tighter than the operator `next` does. Without `next`,
    /// completes all operators up to the innermost open parenthesis.
    fn reduce(
        &mut self,
        operand: ParsedOperand,
        next: Option<(Binding, &Span)>,
    ) -> Result<ParsedOperand, TextError> {
        let mut right = operand;
        while let Some(top) = self.stack.last() {
            let binding = match top.what {
                Waiting::Prefix { .. } => Binding::Sign,
                Waiting::Binary { binding, .. } => binding,
                Waiting::Group | Waiting::Call { .. } | Waiting::Index { .. } => break,
            };
            if let Some((next, span)) = next {
                if binding < next || (binding == next && next == Binding::Power) {
                    break;
                }
                if binding == next
                    && next == Binding::Comparison
                    && let Some(left) = self.operands.last()
                {
                    return Err(self.chained(left, &top.span, &right, span));
                }
            }
            let Some(Pending { span: at, what }) = self.stack.pop() else { break };
            right = match what {
                Waiting::Prefix { op } => {
                    let span = at.start..right.span.end;
                    self.push(AstKind::Operator { op, at }, span, &[right.id])?
                }
                Waiting::Binary { op, .. } => {
                    // The left operand was pushed before the operator was.
                    let Some(left) = self.operands.pop() else { break };
                    let span = left.span.start..right.span.end;
                    self.push(AstKind::Operator { op, at }, span, &[left.id, right.id])?
                }
                Waiting::Group | Waiting::Call { .. } | Waiting::Index { .. } => break,
            };
        }
        Ok(right)
    }
}
