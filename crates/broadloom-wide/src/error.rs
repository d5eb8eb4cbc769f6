//! Why a function is not compiled.

/// A function has something that the wide back end does not support. It is never compiled to something else instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the wide back end does not support {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Refuses a function, with what is not supported.
pub(crate) fn refuse<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}
