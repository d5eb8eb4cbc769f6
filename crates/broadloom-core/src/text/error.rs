//! [`TextError`], an error at a position in a text.
//!
//! A span is within the text, on character boundaries. A `TextError` has the same methods as an [`Error`] and can be
//! converted to one; for a type error it also contains the operands.

use std::fmt;

use broadloom_ir::{TextPlace, printable_lines};

use crate::error::{Error, ErrorKind};

/// A range of byte offsets in a text.
pub type Span = std::ops::Range<u32>;

/// An error in a text, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextError {
    /// The position of the error: a name, a literal, an operator, or the name of a function; empty at the end of the
    /// text.
    pub span: Span,
    /// The error message.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
    /// The kind of error, for programs that handle it.
    pub kind: ErrorKind,
    /// For a type error, the span of each operand, and its type or value.
    pub operands: Vec<(Span, String)>,
    /// For a type error, whether an operand contains a name, so that other arrays might have suitable types.
    pub uses_names: bool,
    /// The line, the column and the text of the line. Set in every error that a public function for texts returns.
    pub(super) place: Option<Box<TextPlace>>,
}

impl TextError {
    /// An error of a kind at a span. Control characters in the message, which a terminal would interpret, are escaped.
    pub fn new(kind: ErrorKind, span: &Span, message: impl Into<String>) -> TextError {
        TextError {
            span: span.clone(),
            message: printable_lines(&message.into()).into_owned(),
            help: None,
            kind,
            operands: Vec::new(),
            uses_names: false,
            place: None,
        }
    }

    /// Attaches the text, so that the error has a line and a column and can be rendered. An error that has a text
    /// already keeps it.
    pub fn in_text(mut self, text: &str) -> TextError {
        if self.place.is_none() {
            self.place = Some(Box::new(TextPlace::new(text, &self.span)));
        }
        self
    }

    /// Attaches advice.
    pub fn with_help(self, help: impl Into<String>) -> TextError {
        self.with(Some(help.into()))
    }

    /// Attaches advice, if there is any.
    pub(super) fn with(mut self, help: Option<String>) -> TextError {
        self.help = help.map(|help| printable_lines(&help).into_owned());
        self
    }

    /// Converts an [`Error`] to a `TextError` at a span.
    pub fn of(error: &Error, span: &Span) -> TextError {
        TextError::new(error.kind(), span, error.message()).with(error.help().map(str::to_owned))
    }

    /// The kind of error, for programs that handle it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message, without the advice.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice on how to fix the error, if there is any.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The line and column of the error, if the text is attached.
    pub fn place(&self) -> Option<&TextPlace> {
        self.place.as_deref()
    }

    /// The byte range of the text that is at fault.
    pub fn span(&self) -> Option<Span> {
        Some(self.span.clone())
    }

    /// The line number, from 1.
    pub fn line(&self) -> Option<usize> {
        self.place().map(TextPlace::line)
    }

    /// The column of the error in its line, in characters, from 1.
    pub fn column(&self) -> Option<usize> {
        self.place().map(TextPlace::column)
    }

    /// Formats the error as compilers do, with the line of the text and a mark below the position: [`Error::render`].
    ///
    /// ```
    /// use broadloom_core::text::{ParseOptions, parse};
    ///
    /// let error = parse("y = 1\nreturn y + ln", &ParseOptions::default()).and_then(|_| parse("(1", &ParseOptions::default()));
    /// let shown = error.unwrap_err().render();
    /// assert!(shown.ends_with("\n1 | (1\n  | ^"), "{shown}");
    /// ```
    pub fn render(&self) -> String {
        Error::from(self.clone()).render()
    }

    /// Whether the error is in the expression, not in its data or the machine.
    pub fn is_type_error(&self) -> bool {
        matches!(self.kind, ErrorKind::DType | ErrorKind::Shape | ErrorKind::Literal)
    }

    /// Whether a limit of [`ParseOptions`](super::ParseOptions) was exceeded, in which case the text may be well
    /// formed.
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    /// The line and column at which the error begins, both from 1; columns count characters.
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
        match &self.place {
            Some(place) => write!(f, "line {}, column {}: {}", place.line(), place.column(), self.message)?,
            None => write!(f, "at byte {}: {}", self.span.start, self.message)?,
        }
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}

impl From<TextError> for Error {
    fn from(e: TextError) -> Error {
        let error = match e.place {
            Some(place) => Error::new(e.kind, e.message).with_place(*place),
            None => Error::new(e.kind, format!("at byte {}: {}", e.span.start, e.message)),
        };
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
