//! The error type of the workspace: an opaque [`Error`] with an [`ErrorKind`] to branch on and a message to show. A message names
//! what the user wrote (the op, the types, the axis), so that it can be shown to the user unchanged. An error in a program text
//! contains its position in the text, and [`Error::render`] shows the line.

use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::place::TextPlace;
use crate::printable::printable_lines;

/// The kind of an error, for callers that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Dtypes that don't promote, or that the function doesn't take.
    DType,
    /// Shapes that don't broadcast, an axis out of range, or an impossible view.
    Shape,
    /// A literal that its dtype can't represent.
    Literal,
    /// A name that is not bound, or a function that does not exist.
    Name,
    /// A wrong number of arguments.
    Arity,
    /// Text that is not an expression.
    Syntax,
    /// A division by zero under the integer option `error`.
    ZeroDivision,
    /// An index outside of its axis.
    Index,
    /// A limit was exceeded, or an allocation failed.
    Limit,
    /// Memory that is too short, misaligned, or overlapping.
    Memory,
    /// A host function failed; [`source`](std::error::Error::source) is the error that it returned.
    Host,
    /// The caller stopped the run.
    Cancelled,
    /// The run took longer than its time limit.
    TimeLimit,
    /// An operation that has no derivative, or none of the requested mode.
    Derivative,
    /// An error of the operating system.
    Io,
    /// A defect of broadloom: please report it.
    Internal,
}

/// An error, with a kind and a message that names the op, the types, the axis or the position in the text.
///
/// Two errors are equal if their kinds, messages, suggestions and positions are equal; their sources are not compared.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    place: Option<TextPlace>,
}

// An error is immutable, so unwinding can't leave it in an inconsistent state.
impl UnwindSafe for Error {}
impl RefUnwindSafe for Error {}

impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        let (a, b) = (&self.0, &other.0);
        a.kind == b.kind && a.message == b.message && a.help == b.help && a.place == b.place
    }
}

impl Eq for Error {}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error. Control characters in the message, which a terminal would obey, are escaped.
    ///
    /// ```
    /// use broadloom_ir::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Name, "`\u{1b}[2J` is not known");
    /// assert_eq!(error.message(), "`\\u{1b}[2J` is not known");
    /// ```
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = fit(message.into());
        Error(Box::new(Inner { kind, message, help: None, source: None, place: None }))
    }

    /// Adds a suggestion to the error.
    pub fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help = Some(fit(help.into()));
        self
    }

    /// Adds the cause of the error, which [`source`](std::error::Error::source) returns.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into().into());
        self
    }

    /// Adds the error's position in a text.
    pub fn with_place(mut self, place: TextPlace) -> Error {
        self.0.place = Some(place);
        self
    }

    /// The kind of the error, to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without the suggestion.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// A suggestion of what to do about the error, if there is one.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The error's position in a text; `None` if the error is not about a text.
    pub fn place(&self) -> Option<&TextPlace> {
        self.0.place.as_ref()
    }

    /// The byte range of the text that the error is about; `None` if the error is not about a text.
    pub fn span(&self) -> Option<std::ops::Range<u32>> {
        self.place().map(TextPlace::span)
    }

    /// The number of the line that the error is about, from 1; `None` if the error is not about a text.
    pub fn line(&self) -> Option<usize> {
        self.place().map(TextPlace::line)
    }

    /// The number of the character in the [line](Error::line), from 1; `None` if the error is not about a text.
    pub fn column(&self) -> Option<usize> {
        self.place().map(TextPlace::column)
    }

    /// Formats the error over several lines, as compilers do: the message, the line of the text with a mark below the position
    /// (for an error about a text), and the suggestion, if there is one.
    ///
    /// ```
    /// use broadloom_ir::{Error, ErrorKind, TextPlace};
    ///
    /// let text = "a = 1\nreturn a + b";
    /// let error = Error::new(ErrorKind::Name, "`b` is not known").with_help("known are `a`");
    /// let error = error.with_place(TextPlace::new(text, &(17..18)));
    /// assert_eq!((error.line(), error.column()), (Some(2), Some(12)));
    /// assert_eq!(
    ///     error.render(),
    ///     "error: `b` is not known\n \
    ///      --> line 2, column 12\n  \
    ///       |\n\
    ///      2 | return a + b\n  \
    ///       |            ^\n  \
    ///       = help: known are `a`"
    /// );
    /// ```
    pub fn render(&self) -> String {
        let mut out = format!("error: {}", self.0.message);
        let mut margin = 0;
        if let Some(place) = &self.0.place {
            place.render(&mut out);
            margin = place.line().to_string().len() + 1;
        }
        if let Some(help) = &self.0.help {
            out.extend(["\n", &" ".repeat(margin.max(1)), "= help: ", help]);
        }
        out
    }

    /// Whether the error is in the expression, not in its data or the machine: its kind is `DType`, `Shape` or `Literal`.
    pub fn is_type_error(&self) -> bool {
        matches!(self.kind(), ErrorKind::DType | ErrorKind::Shape | ErrorKind::Literal)
    }

    /// Whether an integer was divided by zero under the option `error`.
    pub fn is_zero_division(&self) -> bool {
        self.kind() == ErrorKind::ZeroDivision
    }

    /// Whether a host function failed; [`source`](std::error::Error::source) is the error that it returned.
    pub fn is_host_failure(&self) -> bool {
        self.kind() == ErrorKind::Host
    }

    /// Whether a limit was exceeded.
    pub fn is_limit(&self) -> bool {
        self.kind() == ErrorKind::Limit
    }
}

/// Escapes the characters of a message that a terminal would obey.
fn fit(message: String) -> String {
    match printable_lines(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(escaped) => escaped,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.0.place {
            write!(f, "line {}, column {}: ", place.line(), place.column())?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
