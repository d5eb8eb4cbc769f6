//! The error type of the workspace: an opaque [`Error`] with an [`ErrorKind`] to branch on and a message to show. A
//! message names what the user wrote (the op, the types, the axis), so that it can be shown as it is.

use std::fmt;

/// What sort of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Dtypes that don't promote, or that the function doesn't take.
    DType,
    /// Shapes that don't broadcast, an axis out of range, a view that can't be.
    Shape,
    /// A literal that its dtype can't hold.
    Literal,
    /// A name that is not bound, or a function that does not exist.
    Name,
    /// A wrong number of arguments.
    Arity,
    /// Text that is not an expression.
    Syntax,
    /// A division by zero under the integer option `error`.
    ZeroDivision,
    /// A limit was exceeded, or an allocation refused.
    Limit,
    /// Memory that is too short, misaligned, or overlapping.
    Memory,
    /// The caller stopped the run.
    Cancelled,
    /// An error of the operating system.
    Io,
    /// A defect of broadloom: please report it.
    Internal,
}

/// An error, with a kind and a message that names the op, the types, the axis or the place.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
}

/// A result with the project's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of a kind with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, message: message.into(), help: None }))
    }

    /// The same error with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help = Some(help.into());
        self
    }

    /// The kind, to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, without the advice.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, where there is something to say.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Whether the expression was at fault, not its data or the machine.
    pub fn is_type_error(&self) -> bool {
        matches!(self.kind(), ErrorKind::DType | ErrorKind::Shape | ErrorKind::Literal)
    }

    /// Whether an integer was divided by zero under the option `error`.
    pub fn is_zero_division(&self) -> bool {
        self.kind() == ErrorKind::ZeroDivision
    }

    /// Whether a limit was exceeded.
    pub fn is_limit(&self) -> bool {
        self.kind() == ErrorKind::Limit
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

impl std::error::Error for Error {}
