//! Parses constructs that consist of literals only: typed constants, lists, indices, and the values of inputs.
//!
//! These constructs do not nest, so each is read by a loop. A typed number is exact or rounded like a literal, and a
//! NaN has the bits that are written in the text.

use super::Span;
use super::ast::{AstKind, Item};
use super::error::{TextError, limit, syntax};
use super::lex::Token;
use super::number::Number;
use super::parse::{ParsedOperand, Parser, Pending, Waiting};
use crate::indices::Indices;
use crate::shape::MAX_RANK;
use crate::{DType, ErrorKind, Literal, Scalar};

/// A literal, including its sign.
#[derive(Clone, Copy, Debug)]
enum LiteralValue {
    Literal(Literal),
    /// `nan(bits)`, with bits in the format of the dtype to which the literal will be converted.
    Nan(u64),
}

/// The bits of the quiet NaN that `nan` denotes in a dtype, and the mask of the sign bit.
pub(super) fn nan(dtype: DType) -> (u64, u64) {
    match dtype {
        DType::Float16 => (0x7e00, 1 << 15),
        DType::Float32 => (0x7fc0_0000, 1 << 31),
        _ => (0x7ff8 << 48, 1 << 63),
    }
}

impl Parser<'_> {
    /// The value of a number literal. If `nan` is followed by bits in parentheses, it is the float64 NaN with these
    /// bits.
    pub(super) fn payload(&mut self, number: Number, span: &mut Span) -> Result<Number, TextError> {
        match self.nan_bits(number, span)? {
            None => Ok(number),
            Some(bits) => self
                .scalar(DType::Float64, LiteralValue::Nan(bits), span)
                .map(|x| Number::Float(f64::from_bits(x.bits))),
        }
    }

    /// Reads the bits in parentheses after `nan`, if there are any, and extends the span over them.
    fn nan_bits(&mut self, number: Number, span: &mut Span) -> Result<Option<u64>, TextError> {
        let is_nan = matches!(number, Number::Float(x) if x.is_nan());
        if !is_nan || self.accept(Token::Open)?.is_none() {
            return Ok(None);
        }
        self.opens();
        let bits = match self.take()? {
            Some((Token::Number(Number::Int(bits)), _)) => bits,
            found => return Err(self.expected(found.as_ref(), "the bits of a NaN, such as `nan(0x7e01)`")),
        };
        span.end = self.closing(Token::Close, "`)` after the bits of a NaN")?.end;
        Ok(Some(bits))
    }

    /// Consumes the token that closes a parenthesis or bracket.
    fn closing(&mut self, token: Token, what: &str) -> Result<Span, TextError> {
        match self.take()? {
            Some((found, span)) if found == token => {
                self.closes();
                Ok(span)
            }
            found => Err(self.expected(found.as_ref(), what)),
        }
    }

    /// Parses a literal with an optional sign before it.
    fn value(&mut self, what: &str) -> Result<(LiteralValue, Span), TextError> {
        let sign = match self.peek()? {
            Some(Token::Minus | Token::Plus) => self.take()?,
            _ => None,
        };
        let negative = matches!(sign, Some((Token::Minus, _)));
        let (value, mut span) = match self.take()? {
            Some((Token::Bool(x), span)) if sign.is_none() => (LiteralValue::Literal(Literal::Bool(x)), span),
            Some((Token::Number(number), mut span)) => {
                let value = match (self.nan_bits(number, &mut span)?, number) {
                    (Some(_), _) if sign.is_some() => {
                        return Err(syntax(&span, "the sign of a NaN is among its bits", None));
                    }
                    (Some(bits), _) => LiteralValue::Nan(bits),
                    (None, Number::Int(x)) if negative => LiteralValue::Literal(Literal::Int(-i128::from(x))),
                    (None, Number::Int(x)) => LiteralValue::Literal(Literal::Int(x.into())),
                    (None, Number::Float(x)) if negative => LiteralValue::Literal(Literal::Float(-x)),
                    (None, Number::Float(x)) => LiteralValue::Literal(Literal::Float(x)),
                };
                (value, span)
            }
            found => return Err(self.expected(found.as_ref(), what)),
        };
        if let Some((_, sign)) = sign {
            span.start = sign.start;
        }
        Ok((value, span))
    }

    fn scalar(&self, dtype: DType, value: LiteralValue, span: &Span) -> Result<Scalar, TextError> {
        let cannot = || {
            let message = format!("`{}` is no {dtype}", self.quote(span));
            TextError::new(ErrorKind::Literal, span, message)
        };
        match value {
            LiteralValue::Literal(Literal::Float(x)) if x.is_nan() && dtype.is_float() => {
                let (quiet, sign) = nan(dtype);
                Ok(Scalar { dtype, bits: if x.is_sign_negative() { quiet | sign } else { quiet } })
            }
            LiteralValue::Literal(Literal::Bool(_)) if dtype != DType::Bool => Err(cannot()),
            LiteralValue::Literal(x) => x.to_dtype(dtype).map_err(|_| cannot()),
            LiteralValue::Nan(bits) => {
                let x = Scalar { dtype, bits };
                let fits = dtype.size() == 8 || bits >> (8 * dtype.size()) == 0;
                if dtype.is_float() && fits && x.is_nan() { Ok(x) } else { Err(cannot()) }
            }
        }
    }

    /// Parses `dtype(literal)`, beginning at the opening parenthesis; the dtype's name has been consumed.
    pub(super) fn constant(&mut self, dtype: DType, name: Span) -> Result<ParsedOperand, TextError> {
        self.take()?;
        self.opens();
        let convert = || Some(format!("to convert an array, write `astype(x, {dtype})`"));
        let (value, at) = self.value(&format!("a number in `{dtype}(…)`")).map_err(|e| e.with(convert()))?;
        let scalar = self.scalar(dtype, value, &at)?;
        let close = self
            .closing(Token::Close, &format!("`)` after the number of `{dtype}(…)`"))
            .map_err(|e| e.with(convert()))?;
        self.push(AstKind::Constant(scalar), name.start..close.end, &[])
    }

    /// Parses an integer with an optional sign before it.
    fn integer(&mut self, what: &str) -> Result<isize, TextError> {
        let (value, span) = self.value(what)?;
        match value {
            LiteralValue::Literal(Literal::Int(x)) => isize::try_from(x).map_err(|_| {
                limit(&span, format!("`{}` is beyond any axis, extent or index", self.quote(&span)))
            }),
            _ => Err(syntax(&span, format!("found `{}`, expected {what}", self.quote(&span)), None)),
        }
    }

    /// Whether another element follows; consumes the separator or the closing token, whose end is stored in `end`.
    fn another(&mut self, closing: Token, end: &mut u32, what: &str) -> Result<bool, TextError> {
        match self.take()? {
            Some((token, span)) if token == closing => {
                self.closes();
                *end = span.end;
                Ok(false)
            }
            Some((Token::Comma, _)) => match self.peek()? {
                Some(token) if token == closing => self.another(closing, end, what),
                _ => Ok(true),
            },
            found => {
                let mark = if closing == Token::Close { ")" } else { "]" };
                Err(self.expected(found.as_ref(), &format!("`,` or `{mark}` after {what}")))
            }
        }
    }

    /// Parses `[integer, …]` or `(integer, …)`; the bracket or parenthesis has been consumed.
    pub(super) fn list(&mut self, open: Span, closing: Token) -> Result<ParsedOperand, TextError> {
        self.opens();
        let first = self.ast.integers.len();
        let mut end = open.end;
        let mut more = match self.peek()? {
            Some(token) if token == closing => self.another(closing, &mut end, "a list")?,
            _ => true,
        };
        while more {
            let x = self.integer("an integer")?;
            self.ast.integers.push(x);
            more = self.another(closing, &mut end, "an integer")?;
            if self.ast.integers.len() - first > MAX_RANK {
                return Err(limit(&open, format!("a list has at most {MAX_RANK} integers")));
            }
        }
        let list = AstKind::List(first as u32..self.ast.integers.len() as u32);
        self.push(list, open.start..end, &[])
    }

    /// Parses the indices in brackets after an operand, up to `]`, or up to the end of the name, literal or empty argument
    /// list with which a computed index begins.
    pub(super) fn index(&mut self, operand: ParsedOperand, open: Span) -> Result<ParsedOperand, TextError> {
        self.opens();
        let (first, items) = (self.operands.len() as u32, self.items.len() as u32);
        self.operands.push(operand);
        self.wait(open, Waiting::Index { first, items })?;
        self.indices()
    }

    /// Continues with the next of the indices in brackets, if there is one.
    pub(super) fn indices(&mut self) -> Result<ParsedOperand, TextError> {
        let Some(Pending { span, what: Waiting::Index { first, items } }) = self.stack.last() else {
            return Err(TextError::new(ErrorKind::Internal, &(0..0), "no bracket is open"));
        };
        let (open, first, items) = (span.clone(), *first as usize, *items as usize);
        loop {
            if self.items.len() > items
                && let Some(end) = self.accept(Token::BracketEnd)?
            {
                return self.close_index(end);
            }
            if self.items.len() - items == MAX_RANK {
                return Err(limit(&open, format!("an array has at most {MAX_RANK} axes")));
            }
            if self.begins_computed()? {
                self.items.push(Item::Computed);
                return self.operand();
            }
            let item = self.item().map_err(|error| self.bad_index(error, first, &open))?;
            if item == Item::Rest && self.items[items..].contains(&Item::Rest) {
                return Err(syntax(&open, "found a second `...` among these indices", None));
            }
            self.items.push(item);
            match self.take()? {
                Some((Token::BracketEnd, end)) => return self.close_index(end),
                Some((Token::Comma, _)) => {}
                found => {
                    let error = self.expected(found.as_ref(), "`,` or `]` after an index");
                    return Err(self.bad_index(error, first, &open));
                }
            }
        }
    }

    /// Completes indices at their closing bracket. Their operands have been pushed.
    pub(super) fn close_index(&mut self, end: Span) -> Result<ParsedOperand, TextError> {
        self.closes();
        let Some(Pending { what: Waiting::Index { first, items }, .. }) = self.stack.pop() else {
            return Err(TextError::new(ErrorKind::Internal, &end, "no bracket is open"));
        };
        let start = self.ast.items.len() as u32;
        self.ast.items.extend(self.items.drain(items as usize..));
        let items = AstKind::Index(start..self.ast.items.len() as u32);
        let span = self.operands[first as usize].span.start..end.end;
        self.push_taking(items, span, first as usize)
    }

    /// Whether the next index is an expression, and neither an integer, a range nor `...`.
    fn begins_computed(&mut self) -> Result<bool, TextError> {
        let first = self.peek()?;
        let tokens = self.lexer.clone().map_while(Result::ok);
        let mut tokens = tokens.filter(|token| *token != Token::Newline);
        let number = match first {
            None | Some(Token::Colon | Token::Rest | Token::BracketEnd | Token::Comma | Token::Close) => {
                return Ok(false);
            }
            // These are refused with advice.
            Some(Token::Name) if matches!(self.lexer.slice(), "None" | "newaxis") => return Ok(false),
            Some(Token::Minus | Token::Plus) => tokens.next(),
            first => first,
        };
        let ends = |token| matches!(token, None | Some(Token::Colon | Token::Comma | Token::BracketEnd));
        Ok(!matches!(number, Some(Token::Number(_))) || !ends(tokens.next()))
    }

    fn item(&mut self) -> Result<Item, TextError> {
        const WHAT: &str = "an index, `start:stop:step` or `...`";
        if self.accept(Token::Rest)?.is_some() {
            return Ok(Item::Rest);
        }
        let start = match self.peek()? {
            Some(Token::Colon) => None,
            _ => Some(self.integer(WHAT)?),
        };
        let Some(colon) = self.accept(Token::Colon)? else {
            return start.map(|at| Item::Of(Indices::At(at))).ok_or_else(|| self.expected(None, WHAT));
        };
        let stop = self.bound()?;
        let step = match self.accept(Token::Colon)? {
            Some(_) => self.bound()?.unwrap_or(1),
            None => 1,
        };
        if step == 0 {
            return Err(syntax(&colon, "a step of 0 leads nowhere", None));
        }
        Ok(Item::Of(Indices::Range { start, stop, step }))
    }

    fn bound(&mut self) -> Result<Option<isize>, TextError> {
        match self.peek()? {
            Some(Token::Colon | Token::Comma | Token::BracketEnd) => Ok(None),
            _ => self.integer("an integer, `:`, `,` or `]`").map(Some),
        }
    }

    /// Parses `[value, …]`, beginning at the opening bracket, as elements of a dtype, and adds them to
    /// [`Ast::data`](super::Ast::data).
    pub(super) fn elements(&mut self, dtype: DType) -> Result<std::ops::Range<u32>, TextError> {
        let first = self.ast.data.len() as u32;
        match self.take()? {
            Some((Token::Bracket, _)) => self.opens(),
            found => return Err(self.expected(found.as_ref(), "`[` and the values of the input")),
        }
        let mut end = 0;
        let mut more = match self.peek()? {
            Some(Token::BracketEnd) => self.another(Token::BracketEnd, &mut end, "values")?,
            _ => true,
        };
        while more {
            let (value, span) = self.value("a value")?;
            let scalar = self.scalar(dtype, value, &span)?;
            self.ast.data.push(scalar.bits);
            more = self.another(Token::BracketEnd, &mut end, "a value")?;
        }
        Ok(first..self.ast.data.len() as u32)
    }
}
