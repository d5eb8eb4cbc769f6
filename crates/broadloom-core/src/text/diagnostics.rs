//! The error messages of the parser.
//!
//! Quoted text is truncated, so that a message is short however long the text is.

use super::Span;
use super::ast::AstKind;
use super::built_in::built_in;
use super::error::{TextError, syntax};
use super::lex::{self, Lexer, Token};
use super::number::brief;
use super::parse::{ParsedOperand, Parser, Pending, TokenAt, Waiting};
use super::slips;
use crate::Op;

impl Parser<'_> {
    /// The text of a span for a message, on one line and truncated.
    pub(super) fn quote(&self, span: &Span) -> String {
        let words: Vec<&str> = self.text(span).split_whitespace().take(20).collect();
        brief(&words.join(" ")).into_owned()
    }

    pub(super) fn describe(&self, word: Option<&TokenAt>) -> String {
        match word {
            None => "the end of the text".into(),
            Some((Token::Newline, _)) => "the end of the line".into(),
            Some((Token::Name, span)) => format!("the name `{}`", self.quote(span)),
            Some((Token::Number(_), span)) => format!("the number `{}`", self.quote(span)),
            Some((_, span)) => format!("`{}`", self.quote(span)),
        }
    }

    /// The span of a token; the end of the text if there is none.
    pub(super) fn place(&self, word: Option<&TokenAt>) -> Span {
        let end = self.text.len() as u32;
        word.map_or(end..end, |(_, span)| span.clone())
    }

    /// The error for a token where another one was expected.
    pub(super) fn expected(&self, found: Option<&TokenAt>, what: &str) -> TextError {
        let message = format!("found {}, expected {what}", self.describe(found));
        let end = found.map_or(self.text.trim_end().len(), |(_, span)| span.end as usize);
        let help = slips::operator(&self.text[..end]).or(found.and_then(|(token, _)| token.advice()));
        syntax(&self.place(found), message, help.map(str::to_owned))
    }

    /// The text of the last operand, if it is a name.
    fn last_name(&self) -> Option<&str> {
        let node = self.ast.nodes.last()?;
        matches!(node.kind, AstKind::Name).then(|| self.text(&node.span))
    }

    /// Advice on an operand that directly follows a name.
    fn after_name(&self, span: &Span) -> Option<String> {
        let name = self.last_name()?;
        let call = || format!("to call `{name}`, write `{name}({})`", self.quote(span));
        let infix = || slips::infix(self.text(span));
        infix().or_else(|| slips::before_operand(name)).or_else(|| built_in(name).map(|_| call()))
    }

    /// The error for a token where an operand was expected.
    pub(super) fn no_operand(&self, found: Option<TokenAt>) -> TextError {
        if let Some((token, span)) = &found
            && let Some(refusal) = self.refusal(*token, span)
        {
            return refusal;
        }
        let expected = match self.stack.last() {
            None => "an expression".into(),
            Some(Pending { what: Waiting::Group, .. }) => "an expression after `(`".into(),
            Some(Pending { what: Waiting::Call { name, first, .. }, .. }) => {
                if let Some(keyword) = self.open_keyword() {
                    let expected = format!("a value after `{}=`", self.quote(keyword));
                    return self.expected(found.as_ref(), &expected);
                }
                let which = if self.operands.len() == *first as usize { "an" } else { "another" };
                format!("{which} argument of `{}`, or `)`", self.quote(name))
            }
            Some(Pending { what: Waiting::Index { .. }, .. }) => "an index or `]`".into(),
            Some(Pending { span, .. }) => format!("an operand after `{}`", self.text(span)),
        };
        let mut error = self.expected(found.as_ref(), &expected);
        if matches!(found, Some((Token::Bracket, _))) {
            error.help = Some("a list is an argument of a function, such as `reshape(x, [2, 3])`".into());
        }
        error
    }

    /// The error for a token where an operator was expected.
    pub(super) fn not_an_operator(&self, token: Token, span: Span) -> TextError {
        if let Some(refusal) = self.refusal(token, &span) {
            return refusal;
        }
        let opener = self
            .stack
            .iter()
            .rev()
            .find(|p| !matches!(p.what, Waiting::Prefix { .. } | Waiting::Binary { .. }));
        let expected = match opener.map(|p| &p.what) {
            None => "an operator",
            Some(Waiting::Call { .. }) => "an operator, `,` or `)`",
            Some(Waiting::Index { .. }) => "an operator, `,` or `]`",
            Some(_) => "an operator or `)`",
        };
        let help = match token {
            Token::Open => Some("to multiply, write `*`; only a name can be called"),
            Token::Colon if matches!(opener.map(|p| &p.what), Some(Waiting::Call { .. })) => {
                Some("an argument with a name is written `axis=0`")
            }
            Token::Colon if matches!(opener.map(|p| &p.what), Some(Waiting::Index { .. })) => {
                Some("the bounds and the step of a range are integers")
            }
            Token::Name | Token::Number(_) | Token::Bool(_) => Some("to multiply, write `*`"),
            _ => slips::operator(&self.text[..span.end as usize]).or(token.advice()),
        };
        let is_operand = matches!(token, Token::Name | Token::Number(_) | Token::Bool(_) | Token::Open);
        let help = self.after_name(&span).filter(|_| is_operand).or(help.map(str::to_owned));
        let message = format!("found {}, expected {expected}", self.describe(Some(&(token, span.clone()))));
        syntax(&span, message, help)
    }

    /// If a token is an operator in other languages, the error for it; otherwise `None`.
    fn refusal(&self, token: Token, span: &Span) -> Option<TextError> {
        if !matches!(token, Token::And | Token::Or | Token::Not | Token::Assign) {
            return None;
        }
        let in_call = matches!(self.stack.last(), Some(Pending { what: Waiting::Call { .. }, .. }));
        let is_index = |node: &super::ast::AstNode| matches!(node.kind, AstKind::Index(_));
        let help = match token {
            Token::Assign if slips::operator(&self.text[..span.end as usize]).is_some() => {
                slips::operator(&self.text[..span.end as usize])
            }
            Token::Assign if self.ast.nodes.last().is_some_and(is_index) => {
                Some("arrays are never changed: to choose by element, write `where(condition, a, b)`")
            }
            Token::Assign if in_call => Some("to compare, write `==`; an argument has one name: `axis=0`"),
            Token::Assign => Some("to compare, write `==`; a name is bound at the start of a line"),
            _ => token.advice(),
        };
        let message = format!("`{}` is not an operator of this language", self.text(span));
        Some(syntax(span, message, help.map(str::to_owned)))
    }

    pub(super) fn unclosed(&self, open: &Pending) -> TextError {
        let message = match &open.what {
            Waiting::Call { name, .. } => {
                format!("the arguments of `{}` have no `)` at their end", self.quote(name))
            }
            Waiting::Index { .. } => "this bracket is never closed".into(),
            _ => "this parenthesis is never closed".into(),
        };
        syntax(&open.span, message, None)
    }

    /// The error for chained comparisons, `left first middle next …`.
    pub(super) fn chained(
        &self,
        left: &ParsedOperand,
        first: &Span,
        middle: &ParsedOperand,
        next: &Span,
    ) -> TextError {
        let operator = self.text(next);
        let message = format!("comparisons do not chain: found `{operator}` after `{}`", self.text(first));
        let right = self.operand_after(next.end);
        let node = &self.ast[middle.id];
        let help = match &node.kind {
            // `a < b & c < d`: `b & c` was parsed first, so the advice adds parentheses around both comparisons.
            AstKind::Operator { op: Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor, at }
                if middle.span == node.span =>
            {
                let low = self.quote(&(left.span.start..at.start));
                let high = self.quote(&(at.end..middle.span.end));
                format!("write `({low}) {} ({high} {operator} {right})`", self.text(at))
            }
            _ => {
                let pair = self.quote(&(left.span.start..middle.span.end));
                format!("write `({pair}) & ({} {operator} {right})`", self.quote(&middle.span))
            }
        };
        syntax(next, message, Some(help))
    }

    /// The text of the operand that begins at `start`, up to the next operator that binds as loosely as a comparison.
    fn operand_after(&self, start: u32) -> String {
        let mut lexer = Lexer::new(&self.text[start as usize..]);
        let (mut depth, mut end, mut more) = (0u32, self.text.len() as u32, false);
        while let Some(token) = lexer.next() {
            let Ok(token) = token else { break };
            let closes = matches!(token, Token::Close | Token::BracketEnd);
            let separates = match token {
                Token::Newline => self.open == 0,
                Token::Comma | Token::Semicolon | Token::Ampersand | Token::Bar | Token::Caret => true,
                token => slips::compares(token),
            };
            if depth == 0 && (closes || separates) {
                (end, more) = (start + lexer.span().start as u32, slips::compares(token));
                break;
            }
            depth = depth.saturating_sub(u32::from(closes));
            depth += u32::from(matches!(token, Token::Open | Token::Bracket));
        }
        match self.quote(&(start..end)) {
            operand if operand.is_empty() => "…".into(),
            operand if more => format!("{operand} …"),
            operand => operand,
        }
    }

    /// The error for a comma that does not separate arguments or results.
    pub(super) fn stray_comma(&self, span: &Span) -> TextError {
        let help = match &self.stack[..] {
            [] => Some("several results are written `return y = a, z = b`".into()),
            _ => Some("there are no tuples: several results are written `return y = a, z = b`".into()),
        };
        syntax(span, "found `,`, which only separates arguments, or results of `return`", help)
    }

    /// Adds advice to an error in the brackets after the operand of this number, on what is neither an index nor a range.
    pub(super) fn bad_index(&self, error: TextError, operand: usize, open: &Span) -> TextError {
        if error.help.is_some() {
            return error;
        }
        let rest = &self.text[open.end as usize..];
        let mut lexer = Lexer::new(rest);
        let (mut depth, mut is_range, mut names, mut none) = (0u32, false, false, false);
        while let Some(Ok(token)) = lexer.next() {
            match token {
                Token::BracketEnd if depth == 0 => break,
                Token::Open | Token::Bracket => depth += 1,
                Token::Close | Token::BracketEnd => depth = depth.saturating_sub(1),
                Token::Colon => is_range |= depth == 0,
                Token::Name => {
                    names = true;
                    none |= matches!(lexer.slice(), "None" | "newaxis");
                }
                _ => {}
            }
        }
        let operand = self.quote(&self.operands[operand].span);
        error.with(match () {
            () if none => Some(format!("to add an axis, write `expand_dims({operand}, 0)`")),
            () if is_range && names => Some("the bounds and the step of a range are integers".into()),
            () => None,
        })
    }

    pub(super) fn bad_character(&self, start: u32) -> TextError {
        let character = self.text[start as usize..].chars().next().unwrap_or_default();
        let span = start..start + character.len_utf8() as u32;
        let shown = if character.is_alphanumeric() || character.is_ascii_punctuation() {
            character.to_string()
        } else {
            character.escape_debug().to_string()
        };
        let message = format!("found the character `{shown}`, which is not part of the language");
        let (before, after) = (&self.text[..start as usize], &self.text[span.end as usize..]);
        let help = match character {
            '.' => Some(slips::member(before, after)),
            _ => lex::instead_of(character).map(str::to_owned),
        };
        syntax(&span, message, help)
    }
}
