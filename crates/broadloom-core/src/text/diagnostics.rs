//! The error messages of the parser.
//!
//! Quoted text is truncated, so that a message is short however long the text is.

use super::Span;
use super::error::{TextError, syntax};
use super::lex::{self, Token};
use super::number::brief;
use super::parse::{ParsedOperand, Parser, Pending, TokenAt, Waiting};

impl Parser<'_> {
    /// The text, on one line and not too long, for a message.
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

    /// The place of a token, or the end of the text.
    pub(super) fn place(&self, word: Option<&TokenAt>) -> Span {
        let end = self.text.len() as u32;
        word.map_or(end..end, |(_, span)| span.clone())
    }

    /// Another token was expected.
    pub(super) fn expected(&self, found: Option<&TokenAt>, what: &str) -> TextError {
        let message = format!("found {}, expected {what}", self.describe(found));
        let help = found.and_then(|(token, _)| token.advice()).map(str::to_owned);
        syntax(&self.place(found), message, help)
    }

    /// An operand was expected.
    pub(super) fn no_operand(&self, found: Option<TokenAt>) -> TextError {
        if let Some((token, span)) = &found
            && let Some(refusal) = self.refusal(*token, span)
        {
            return refusal;
        }
        let expected = match self.stack.last() {
            None => "an expression".into(),
            Some(Pending { what: Waiting::Group, .. }) => "an expression after `(`".into(),
            Some(Pending { what: Waiting::Call { name, first }, .. }) => {
                let which = if self.operands.len() == *first as usize { "an" } else { "another" };
                format!("{which} argument of `{}`, or `)`", self.quote(name))
            }
            Some(Pending { span, .. }) => format!("an operand after `{}`", self.text(span)),
        };
        let mut error = self.expected(found.as_ref(), &expected);
        if matches!(found, Some((Token::Bracket, _))) {
            error.help = Some("a list is an argument of a function, such as `reshape(x, [2, 3])`".into());
        }
        error
    }

    /// An operator was expected.
    pub(super) fn not_an_operator(&self, token: Token, span: Span) -> TextError {
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
        syntax(&span, message, help.map(str::to_owned))
    }

    /// A token that is an operator in other languages.
    fn refusal(&self, token: Token, span: &Span) -> Option<TextError> {
        if !matches!(token, Token::And | Token::Or | Token::Not | Token::Assign) {
            return None;
        }
        let in_call = matches!(self.stack.last(), Some(Pending { what: Waiting::Call { .. }, .. }));
        let help = match token {
            Token::Assign if in_call => {
                Some("to compare, write `==`; arguments are given in order, without names")
            }
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
            _ => "this parenthesis is never closed".into(),
        };
        syntax(&open.span, message, None)
    }

    /// `left first middle next …`, all comparisons.
    pub(super) fn chained(
        &self,
        left: &ParsedOperand,
        first: &Span,
        middle: &ParsedOperand,
        next: &Span,
    ) -> TextError {
        let pair = self.quote(&(left.span.start..middle.span.end));
        let (middle, operator) = (self.quote(&middle.span), self.text(next));
        let message = format!("comparisons do not chain: found `{operator}` after `{}`", self.text(first));
        syntax(next, message, Some(format!("write `({pair}) & ({middle} {operator} …)`")))
    }

    pub(super) fn bad_character(&self, start: u32) -> TextError {
        let character = self.text[start as usize..].chars().next().unwrap_or_default();
        let span = start..start + character.len_utf8() as u32;
        let shown = if character.is_alphanumeric() {
            character.to_string()
        } else {
            character.escape_debug().to_string()
        };
        let message = format!("found the character `{shown}`, which is not part of the language");
        syntax(&span, message, lex::instead_of(character).map(str::to_owned))
    }
}
