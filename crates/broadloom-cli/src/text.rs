//! The text of an expression, and the display of names in messages.

use std::path::Path;

use broadloom_core::printable;

/// A text, and its name in messages.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub name: String,
    pub text: String,
}

/// A path for a message, on one line, with characters escaped that a terminal would interpret.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}
