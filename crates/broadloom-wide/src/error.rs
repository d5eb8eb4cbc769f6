//! The error for functions that the wide back end refuses.

/// The reason why the wide back end refuses a function: the function uses something that is not supported. The back end
/// refuses the whole function; it never compiles something else in place of the unsupported part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the wide back end does not support {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Refuses a function; `what` names what is not supported.
pub(crate) fn refuse<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}
