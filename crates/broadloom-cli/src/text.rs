//! The text of an expression.

/// A text, and what messages call it.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub name: String,
    pub text: String,
}
