//! [`TextError`], an error with its place in a text.
//!
//! A span lies within the text, on character boundaries.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// A range of bytes of a text.
pub type Span = std::ops::Range<u32>;

/// An error in a text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextError {
    /// The place of the error: a name, a literal, an operator, or the name of a function; empty at the end of the text.
    pub span: Span,
    /// The error message.
    pub message: String,
    /// Advice, if there is some.
    pub help: Option<String>,
    /// The kind of error, for programs.
    pub kind: ErrorKind,
    /// For a type error, the place of each operand, and its type or value.
    pub operands: Vec<(Span, String)>,
    /// For a type error, whether an operand contains a name, so that other arrays might fit.
    pub uses_names: bool,
}

impl TextError {
    /// An error of a kind at a place.
    pub fn new(kind: ErrorKind, span: &Span, message: impl Into<String>) -> TextError {
        TextError {
            span: span.clone(),
            message: message.into(),
            help: None,
            kind,
            operands: Vec::new(),
            uses_names: false,
        }
    }

    /// The same error with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> TextError {
        self.help = Some(help.into());
        self
    }

    /// The same error with advice, if there is some.
    pub(super) fn with(mut self, help: Option<String>) -> TextError {
        self.help = help;
        self
    }

    /// An error of the library, at a place.
    pub fn of(error: &Error, span: &Span) -> TextError {
        TextError::new(error.kind(), span, error.message()).with(error.help().map(str::to_owned))
    }

    /// Whether a limit of [`ParseOptions`](super::ParseOptions) was exceeded; the text may be well formed.
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    /// Line and column of the beginning, both from 1; columns count characters.
    ///
    /// ```
    /// use broadloom_core::text::{ParseOptions, parse};
    ///
    /// let text = "y = 1\nreturn y +";
    /// let error = parse(text, &ParseOptions::default()).unwrap_err();
    /// assert_eq!(error.position(text), (2, 11));
    /// ```
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start as usize).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.bytes().filter(|&b| b == b'\n').count() + 1, line.chars().count() + 1)
    }
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

impl From<TextError> for Error {
    fn from(e: TextError) -> Error {
        let error = Error::new(e.kind, format!("at byte {}: {}", e.span.start, e.message));
        match e.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }
}

pub(super) fn syntax(span: &Span, message: impl Into<String>, help: Option<String>) -> TextError {
    TextError::new(ErrorKind::Syntax, span, message).with(help)
}

pub(super) fn limit(span: &Span, message: impl Into<String>) -> TextError {
    TextError::new(ErrorKind::Limit, span, message)
}
