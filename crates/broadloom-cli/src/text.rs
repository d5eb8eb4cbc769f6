//! The text of an expression, and the form of paths in messages.

use std::path::Path;

use broadloom_core::printable;

/// A text, with the name that messages use for it.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub name: String,
    pub text: String,
}

/// A path for a message, on one line and without characters that a terminal would obey.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}
