//! The parser of statements.
//!
//! A statement ends at the end of a line or at `;`, outside of parentheses and brackets; `return` is the last
//! statement.

use super::Span;
use super::ast::{Extent, Statement, Type};
use super::error::{TextError, limit, syntax};
use super::lex::Token;
use super::number::Number;
use super::parse::Parser;
use super::slips;
use super::suggestions::nearest;
use crate::shape::MAX_RANK;
use crate::{DType, Dim};

impl Parser<'_> {
    /// Parses the whole text.
    pub(super) fn program(&mut self) -> Result<(), TextError> {
        loop {
            match self.peek()? {
                None => break,
                Some(Token::Newline | Token::Semicolon) => {
                    self.take()?;
                    continue;
                }
                Some(_) => {}
            }
            if matches!(self.ast.statements.last(), Some(Statement::Output { .. })) {
                let found = self.take()?;
                let span = self.place(found.as_ref());
                let message = format!("found {} after what is returned", self.describe(found.as_ref()));
                return Err(syntax(
                    &span,
                    message,
                    Some("results are separated by `,`: `return a, b`".into()),
                ));
            }
            self.statement()?;
            match self.peek()? {
                None | Some(Token::Newline | Token::Semicolon) => {}
                Some(_) => {
                    let found = self.take()?;
                    return Err(match &found {
                        Some((Token::Comma, span)) => self.stray_comma(span),
                        found => self.expected(found.as_ref(), "the end of the statement"),
                    });
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), TextError> {
        let first = self.peek()?;
        // The second token is peeked at without consuming the name, which may begin an expression.
        let second = match first {
            Some(Token::Name) => self.lexer.clone().next().and_then(Result::ok),
            _ => None,
        };
        match (first, second) {
            (Some(Token::Def), _) => self.def(),
            (Some(Token::Return), _) => self.results(),
            (_, Some(Token::Colon)) => self.typed(),
            (_, Some(Token::Assign)) => self.binding(),
            (_, Some(Token::Comma)) if self.is_loop() => self.repeated(),
            (_, Some(Token::Name)) if self.options.data => {
                let (name, value) = (self.new_name("a setting")?, self.new_name("a value")?);
                self.ast.statements.push(Statement::Setting { name, value });
                Ok(())
            }
            _ => {
                let value = self.expression()?;
                self.ast.statements.push(Statement::Output { name: None, value });
                Ok(())
            }
        }
    }

    /// Parses `name = value`, or a loop.
    pub(super) fn binding(&mut self) -> Result<(), TextError> {
        if self.is_loop() {
            return self.repeated();
        }
        let name = self.new_name("a name")?;
        self.take()?;
        let value = self.expression()?;
        self.ast.statements.push(Statement::Binding { name, ty: None, value });
        Ok(())
    }

    /// Parses a name that a statement defines.
    pub(super) fn new_name(&mut self, what: &str) -> Result<Span, TextError> {
        match self.take()? {
            Some((Token::Name, span)) if DType::from_name(self.text(&span)).is_none() => Ok(span),
            Some((Token::Name, span)) => {
                let message = format!("`{}` is a dtype, which can't be {what}", self.text(&span));
                Err(syntax(&span, message, None))
            }
            found => Err(self.expected(found.as_ref(), what)),
        }
    }

    /// Parses `name: type`, and the value or the elements that may follow.
    fn typed(&mut self) -> Result<(), TextError> {
        let name = self.new_name("a name")?;
        self.take()?;
        let ty = self.ty()?;
        if self.accept(Token::Assign)?.is_none() {
            self.ast.statements.push(Statement::Input { name, ty, data: None });
            return Ok(());
        }
        if self.peek()? != Some(Token::Bracket) {
            let value = self.expression()?;
            self.ast.statements.push(Statement::Binding { name, ty: Some(ty), value });
            return Ok(());
        }
        if !self.options.data {
            let found = self.take()?;
            let help = "values are handed over when the program runs; only case files have them in the text";
            let message = "found `[`, expected an expression: an input has no values in the text";
            return Err(syntax(&self.place(found.as_ref()), message, Some(help.into())));
        }
        let fixed = |extent: &Extent| if let Extent::Fixed(n) = extent { Some(*n) } else { None };
        let extents: Option<Vec<usize>> = self.ast.extents(&ty).iter().map(fixed).collect();
        let Some(extents) = extents else {
            return Err(syntax(&ty.span, "an input with values has numbers for extents", None));
        };
        let expected = match extents.contains(&0) {
            true => Some(0),
            false => extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent)),
        };
        let data = self.elements(ty.dtype)?;
        if expected != Some(data.len()) {
            let wanted = expected.map_or("more than can be".into(), |n| n.to_string());
            return Err(syntax(&name, format!("{} elements, not {wanted}", data.len()), None));
        }
        self.ast.statements.push(Statement::Input { name, ty, data: Some(data) });
        Ok(())
    }

    /// Parses a type: `dtype`, or `dtype[extent, …]`.
    fn ty(&mut self) -> Result<Type, TextError> {
        let (dtype, mut span) = match self.take()? {
            Some((Token::Name, span)) => match DType::from_name(self.text(&span)) {
                Some(dtype) => (dtype, span),
                None => {
                    let names = || DType::ALL.iter().map(|dtype| dtype.name());
                    let name = self.text(&span);
                    let help = slips::dtype(name).unwrap_or_else(|| match nearest(name, names()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("dtypes are {}", names().collect::<Vec<_>>().join(", ")),
                    });
                    return Err(syntax(&span, format!("`{}` is not a dtype", self.quote(&span)), Some(help)));
                }
            },
            found => return Err(self.expected(found.as_ref(), "a type, such as `float32[n, 3]`")),
        };
        let first = self.ast.extents.len();
        if self.accept(Token::Bracket)?.is_some() {
            self.opens();
            loop {
                if let Some(end) = self.accept(Token::BracketEnd)? {
                    self.closes();
                    span.end = end.end;
                    break;
                }
                let is_first = self.ast.extents.len() == first;
                let extent = self.extent(is_first)?;
                self.ast.extents.push(extent);
                if self.ast.extents.len() - first > MAX_RANK {
                    return Err(limit(&span, format!("an array has at most {MAX_RANK} axes")));
                }
                if self.accept(Token::Comma)?.is_none() && self.peek()? != Some(Token::BracketEnd) {
                    let found = self.take()?;
                    return Err(self.expected(found.as_ref(), "`,` or `]` after an extent"));
                }
            }
        }
        Ok(Type { dtype, span, extents: first as u32..self.ast.extents.len() as u32 })
    }

    fn extent(&mut self, is_first: bool) -> Result<Extent, TextError> {
        match self.take()? {
            Some((Token::Number(Number::Int(n)), span)) => match usize::try_from(n) {
                Ok(n) if n <= isize::MAX as usize => Ok(Extent::Fixed(n)),
                _ => Err(limit(&span, "an extent beyond what memory can address")),
            },
            Some((Token::Rest, _)) if is_first => Ok(Extent::Rest),
            Some((Token::Rest, span)) => {
                Err(syntax(&span, "`...` can only be the first of the extents", None))
            }
            Some((Token::Name, span)) if DType::from_name(self.text(&span)).is_none() => {
                let is_sum = matches!(self.peek()?, Some(Token::Plus | Token::Minus | Token::Open));
                if is_sum { self.derived(span).map(Extent::Derived) } else { Ok(Extent::Symbol(span)) }
            }
            found => Err(self.expected(found.as_ref(), "an extent: a number, a name, or `...` first")),
        }
    }

    /// Parses an extent that is computed from a symbol's, such as `n - 1`, `ceil(n / 2)` or `min(n, 5)`; its first name
    /// has been consumed.
    fn derived(&mut self, name: Span) -> Result<Dim, TextError> {
        let (mut name, mut is_least, mut is_quotient) = (name, false, false);
        while self.accept(Token::Open)?.is_some() {
            match self.text(&name) {
                "min" if !is_least && !is_quotient => is_least = true,
                "ceil" if !is_quotient => is_quotient = true,
                _ => {
                    return Err(syntax(
                        &name,
                        "an extent is computed by `+`, `-`, `ceil` and `min` alone",
                        None,
                    ));
                }
            }
            // The dividend may be in parentheses.
            let is_sum = is_quotient && self.accept(Token::Open)?.is_some();
            name = match self.take()? {
                Some((Token::Name, span)) => span,
                found => return Err(self.expected(found.as_ref(), "the name of an extent")),
            };
            if is_sum {
                let sum = self.sum(&name)?;
                self.closed()?;
                return self.quotient(sum, is_least);
            }
        }
        match is_quotient {
            true => self.quotient(Dim::from(self.text(&name)), is_least),
            false => {
                let sum = self.sum(&name)?;
                self.least(sum, is_least)
            }
        }
    }

    /// Parses the numbers that are added to and subtracted from the symbol `name`.
    fn sum(&mut self, name: &Span) -> Result<Dim, TextError> {
        let mut sum = Dim::from(self.text(name));
        loop {
            sum = if self.accept(Token::Plus)?.is_some() {
                let count = self.count()?;
                sum.more(count).unwrap_or(sum)
            } else if self.accept(Token::Minus)?.is_some() {
                let count = self.count()?;
                sum.less(count).unwrap_or(sum)
            } else {
                return Ok(sum);
            };
        }
    }

    /// Parses `/ step)` after a dividend.
    fn quotient(&mut self, sum: Dim, is_least: bool) -> Result<Dim, TextError> {
        match self.take()? {
            Some((Token::Slash, _)) => {}
            found => {
                return Err(self.expected(found.as_ref(), "`/` and a number: an extent is `ceil(n / 2)`"));
            }
        }
        let step = self.count()?;
        self.closed()?;
        self.least(sum.every(step).unwrap_or(sum), is_least)
    }

    /// Parses `, most)` after an extent, if the extent is in `min(…)`.
    fn least(&mut self, extent: Dim, is_least: bool) -> Result<Dim, TextError> {
        if !is_least {
            return Ok(extent);
        }
        match self.take()? {
            Some((Token::Comma, _)) => {}
            found => return Err(self.expected(found.as_ref(), "`,` and a number: an extent is `min(n, 5)`")),
        }
        let most = self.count()?;
        self.closed()?;
        Ok(extent.at_most(most).unwrap_or(extent))
    }

    /// Parses a number in an extent.
    fn count(&mut self) -> Result<usize, TextError> {
        match self.take()? {
            Some((Token::Number(Number::Int(n)), span)) => match usize::try_from(n) {
                Ok(0) => Err(syntax(&span, "a number in an extent is at least 1", None)),
                Ok(n) if n <= isize::MAX as usize => Ok(n),
                _ => Err(limit(&span, "an extent beyond what memory can address")),
            },
            found => Err(self.expected(found.as_ref(), "a number")),
        }
    }

    fn closed(&mut self) -> Result<(), TextError> {
        match self.take()? {
            Some((Token::Close, _)) => Ok(()),
            found => Err(self.expected(found.as_ref(), "`)`")),
        }
    }

    /// `def name(parameter, …) = body`
    fn def(&mut self) -> Result<(), TextError> {
        self.take()?;
        let name = self.new_name("the name of a function")?;
        match self.take()? {
            Some((Token::Open, _)) => self.opens(),
            found => return Err(self.expected(found.as_ref(), "`(` and the parameters of the function")),
        }
        let first = self.ast.parameters.len() as u32;
        while self.accept(Token::Close)?.is_none() {
            let parameter = self.new_name("a parameter, or `)`")?;
            self.ast.parameters.push(parameter);
            if self.accept(Token::Comma)?.is_none() && self.peek()? != Some(Token::Close) {
                let found = self.take()?;
                return Err(self.expected(found.as_ref(), "`,` or `)` after a parameter"));
            }
        }
        self.closes();
        let parameters = first..self.ast.parameters.len() as u32;
        match self.take()? {
            Some((Token::Assign, _)) => {}
            found => {
                let mut error = self.expected(found.as_ref(), "`=` and what the function is");
                error.help = Some("a function is `def f(x) = x * 2`".into());
                return Err(error);
            }
        }
        let body = self.expression()?;
        self.ast.statements.push(Statement::Def { name, parameters, body });
        Ok(())
    }

    /// Parses `return result, …`.
    fn results(&mut self) -> Result<(), TextError> {
        self.take()?;
        loop {
            let is_named = self.peek()? == Some(Token::Name)
                && self.lexer.clone().next().and_then(Result::ok) == Some(Token::Assign);
            let name = if is_named { Some(self.new_name("a name")?) } else { None };
            if is_named {
                self.take()?;
            }
            let value = self.expression()?;
            self.ast.statements.push(Statement::Output { name, value });
            if self.accept(Token::Comma)?.is_none() {
                return Ok(());
            }
        }
    }
}
