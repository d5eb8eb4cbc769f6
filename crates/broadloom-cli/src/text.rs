//! The text of an expression, and names formatted for messages.

use std::path::Path;

use broadloom_core::printable;

/// A text, and the name by which messages refer to it.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub name: String,
    pub text: String,
}

/// Formats a path for a message: on one line, with escapes for characters that a terminal would
/// interpret.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}
