//! The parser of loops.
//!
//! There are four kinds: `x, n = while (x = 0.0, n = 0; x*x < 4) limit 1000 { x = x*x + c; n = n + 1 }` and
//! `x = for (x = 0.0; i in 0..k) { x = x + i }`, which repeat for each element, and
//! `s, y = scan (s = 0.0; v in xs, axis=0) { s = s + v; y = s / 2 }`, which runs along an axis, as does `reduce`, which is written in the
//! same way. Their keywords are names everywhere else. At most [`MAX_NESTING`] loops are nested, so that the parser, the
//! resolver and the evaluation may recurse along them.

use broadloom_ir::figures::counted;
use broadloom_ir::kernel::MAX_NESTING;

use super::Span;
use super::ast::{Carried, LoopHead, LoopStatement, ScanAxis, Statement};
use super::error::{TextError, limit, syntax};
use super::lex::{Lexer, Token};
use super::number::{Number, brief};
use super::parse::Parser;
use crate::node::StepOrder;

const WHILE: &str = "while";
const FOR: &str = "for";
const SCAN: &str = "scan";
const REDUCE: &str = "reduce";
const IN: &str = "in";
const LIMIT: &str = "limit";

impl Parser<'_> {
    /// Whether the statement binds names to the values of a loop; the next token is the first name.
    pub(super) fn is_loop(&self) -> bool {
        let mut tokens = self.lexer.clone();
        let next = |tokens: &mut Lexer<'_>| tokens.next().and_then(Result::ok);
        loop {
            match next(&mut tokens) {
                Some(Token::Comma) if next(&mut tokens) == Some(Token::Name) => {}
                Some(Token::Assign) => break,
                _ => return false,
            }
        }
        if next(&mut tokens) != Some(Token::Name) || !matches!(tokens.slice(), WHILE | FOR | SCAN | REDUCE) {
            return false;
        }
        // A call of a user's function with this name has no named arguments.
        let mut tokens = tokens.map_while(Result::ok);
        let mut next = || tokens.find(|token| *token != Token::Newline);
        next() == Some(Token::Open) && next() == Some(Token::Name) && next() == Some(Token::Assign)
    }

    /// Parses `name, … = while (…) limit … { … }`, or a loop with `for`, `scan` or `reduce`.
    pub(super) fn repeated(&mut self) -> Result<(), TextError> {
        let first = self.ast.parameters.len();
        loop {
            let name = self.new_name("a name")?;
            self.ast.parameters.push(name);
            if self.accept(Token::Comma)?.is_none() {
                break;
            }
        }
        let names = first as u32..self.ast.parameters.len() as u32;
        self.take()?;
        let at = self.take()?.map_or(0..0, |(_, span)| span);
        if self.nesting >= MAX_NESTING {
            return Err(limit(&at, format!("more than {MAX_NESTING} loops are nested")));
        }
        self.nesting += 1;
        self.take()?;
        self.opens();
        let base = std::mem::replace(&mut self.base, self.open);
        let carried = self.carried()?;
        let is_scan = self.text(&at) == SCAN;
        if carried.len() != names.len() && !(is_scan && carried.len() < names.len()) {
            let (values, bound) = (carried.len() as u64, names.len() as u64);
            let (carries, is_bound_to) = (counted(values, "value"), counted(bound, "name"));
            let message = format!("a loop that carries {carries} is bound to {is_bound_to}");
            let help = "write `_` for a value that is not used";
            return Err(syntax(&at, message, Some(help.into())));
        }
        let outer = std::mem::take(&mut self.ast.statements);
        let head = match self.text(&at) {
            FOR => self.range(base)?,
            SCAN => self.inputs(base, StepOrder::Forward)?,
            REDUCE => self.inputs(base, StepOrder::Canonical)?,
            _ => self.condition(base)?,
        };
        let end = self.block()?.end;
        let body = std::mem::replace(&mut self.ast.statements, outer);
        self.nesting -= 1;
        let number = self.ast.loops.len() as u32;
        self.ast.loops.push(LoopStatement { names, at, end, carried, head, body });
        self.ast.statements.push(Statement::Loop(number));
        Ok(())
    }

    /// Parses the bindings of the body, in braces. Returns the span of the closing brace.
    fn block(&mut self) -> Result<Span, TextError> {
        self.ends(Token::Brace, "`{` and the body of the loop")?;
        loop {
            while matches!(self.peek()?, Some(Token::Newline | Token::Semicolon)) {
                self.take()?;
            }
            if let Some(span) = self.accept(Token::BraceEnd)? {
                return Ok(span);
            }
            self.inner()?;
            if !matches!(self.peek()?, Some(Token::Newline | Token::Semicolon | Token::BraceEnd)) {
                let found = self.take()?;
                return Err(self.expected(found.as_ref(), "`;`, the end of the line, or `}`"));
            }
        }
    }

    /// Parses the rest of the head of a `while`, which is in `base` parentheses.
    fn condition(&mut self, base: u32) -> Result<LoopHead, TextError> {
        // Values that the condition needs may be bound before it.
        while self.is_binding()? {
            self.inner()?;
            self.ends(Token::Semicolon, "`;` and the condition")?;
        }
        let condition = self.expression()?;
        let bindings = std::mem::take(&mut self.ast.statements);
        self.closes();
        self.base = base;
        self.ends(Token::Close, "`)` after the condition")?;
        Ok(LoopHead::While { bindings, condition, limit: self.limit()? })
    }

    /// Parses the rest of the head of a `for`, which is in `base` parentheses.
    fn range(&mut self, base: u32) -> Result<LoopHead, TextError> {
        let name = self.new_name("the name of the integer")?;
        match self.take()? {
            Some((Token::Name, span)) if self.text(&span) == IN => {}
            found => return Err(self.expected(found.as_ref(), "`in` and a range, such as `0..4`")),
        }
        let lower = self.expression()?;
        self.ends(Token::Range, "`..` and the end of the range")?;
        let upper = self.expression()?;
        self.closes();
        self.base = base;
        self.ends(Token::Close, "`)` after the range")?;
        Ok(LoopHead::For { name, lower, upper })
    }

    /// Parses the rest of the head of a `scan` or `reduce`, which is in `base` parentheses.
    fn inputs(&mut self, base: u32, order: StepOrder) -> Result<LoopHead, TextError> {
        let mut along = ScanAxis { order, ..ScanAxis::default() };
        let (mut inputs, mut options) = (Vec::new(), Vec::new());
        loop {
            let name = self.new_name("`name in input`, or `axis=0`")?;
            match self.take()? {
                Some((Token::Name, span)) if self.text(&span) == IN && options.is_empty() => {
                    let first = self.expression()?;
                    inputs.push(Carried { name, first });
                }
                Some((Token::Assign, _)) => {
                    let option = self.text(&name).to_owned();
                    if options.contains(&option) {
                        return Err(syntax(&name, format!("`{option}` is given twice"), None));
                    }
                    self.scan_option(&name, &option, &mut along)?;
                    options.push(option);
                }
                found => return Err(self.expected(found.as_ref(), "`in` and an input")),
            }
            if self.accept(Token::Comma)?.is_none() {
                break;
            }
        }
        self.closes();
        self.base = base;
        self.ends(Token::Close, "`,` and another input, or `)`")?;
        Ok(LoopHead::Scan { inputs, along })
    }

    /// Parses the value of an option of a `scan` or `reduce`.
    fn scan_option(&mut self, name: &Span, option: &str, along: &mut ScanAxis) -> Result<(), TextError> {
        let is_scan = along.order != StepOrder::Canonical;
        if !(option == "axis" || is_scan && matches!(option, "reverse" | "length")) {
            let message = format!("a {} has no option `{}`", along.order.function(), brief(option));
            let options = if is_scan {
                "the options are `axis`, `reverse` and `length`"
            } else {
                "its option is `axis`"
            };
            return Err(syntax(name, message, Some(options.into())));
        }
        if option == "reverse" {
            return match self.take()? {
                Some((_, span)) if matches!(self.text(&span), "true" | "false") => {
                    let is_reversed = self.text(&span) == "true";
                    along.order = if is_reversed { StepOrder::Backward } else { StepOrder::Forward };
                    Ok(())
                }
                found => Err(self.expected(found.as_ref(), "`true` or `false`")),
            };
        }
        let is_negative = option == "axis" && self.accept(Token::Minus)?.is_some();
        let found = self.take()?;
        let Some((Token::Number(Number::Int(number)), span)) = &found else {
            return Err(self.expected(found.as_ref(), "an integer"));
        };
        let Ok(number) = isize::try_from(*number) else {
            return Err(syntax(span, "the number is too large".to_owned(), None));
        };
        match option {
            "axis" => along.axis = if is_negative { -number } else { number },
            _ => along.length = Some(number.unsigned_abs()),
        }
        Ok(())
    }

    /// Parses the initial values, up to the `;` after them.
    fn carried(&mut self) -> Result<Vec<Carried>, TextError> {
        let mut carried = Vec::new();
        loop {
            let name = self.new_name("the name of a carried value")?;
            self.ends(Token::Assign, "`=` and the initial value")?;
            let first = self.expression()?;
            carried.push(Carried { name, first });
            if self.accept(Token::Comma)?.is_none() {
                break;
            }
        }
        self.ends(Token::Semicolon, "`,` and another carried value, or `;`")?;
        Ok(carried)
    }

    /// Parses `limit 1000`, if it is there.
    fn limit(&mut self) -> Result<Option<u64>, TextError> {
        if self.peek()? != Some(Token::Name) {
            return Ok(None);
        }
        let found = self.take()?;
        match &found {
            Some((_, span)) if self.text(span) == LIMIT => {}
            found => return Err(self.expected(found.as_ref(), "`limit` or `{`")),
        }
        match self.take()? {
            Some((Token::Number(Number::Int(limit)), _)) => Ok(Some(limit)),
            found => Err(self.expected(found.as_ref(), "the number of iterations")),
        }
    }

    /// Whether a binding begins here.
    fn is_binding(&mut self) -> Result<bool, TextError> {
        let is_name = self.peek()? == Some(Token::Name);
        let mut tokens = self.lexer.clone().map_while(Result::ok);
        let next = tokens.find(|token| self.open == 0 || *token != Token::Newline);
        Ok(is_name && (matches!(next, Some(Token::Assign)) || self.is_loop()))
    }

    /// Parses a statement of a loop.
    fn inner(&mut self) -> Result<(), TextError> {
        if !self.is_binding()? {
            let found = self.take()?;
            let mut error = self.expected(found.as_ref(), "a binding: `name = value`");
            error.help = Some("the last value of a carried name is its next one".into());
            return Err(error);
        }
        self.binding()
    }

    /// Consumes a token that must follow.
    fn ends(&mut self, token: Token, expected: &str) -> Result<Span, TextError> {
        match self.take()? {
            Some((found, span)) if found == token => Ok(span),
            found => Err(self.expected(found.as_ref(), expected)),
        }
    }
}
