//! The text language; today its expression part, such as `where(x > 0, x, -x) ** 2`.
//!
//! In: text of any bytes that are UTF-8. Out: an [`Ast`], or a [`SyntaxError`] that points into the text.
//! Must hold: time and memory are linear in the text, the depth of nesting costs no call stack, and nothing panics.
//! What names and functions mean is not known here; operators have become calls of the functions that they stand for.

use std::fmt;

mod ast;
mod lex;
mod nearest;
mod number;
mod parse;
#[cfg(test)]
mod tests;

pub use ast::{Ast, AstId, Kind, Node};
pub use nearest::nearest;
pub use parse::parse;

/// A range of bytes of the text.
pub type Span = std::ops::Range<u32>;

/// How much [`parse`] accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The longest text, in bytes; 1 MiB unless told, and never more than 4 GiB.
    pub max_bytes: usize,
    /// The most nodes an [`Ast`] may have; a million unless told.
    pub max_nodes: usize,
    /// The deepest nesting of parentheses, calls and pending operators; a million unless told. It bounds memory
    /// only: about 64 bytes a level, on the heap.
    pub max_depth: usize,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { max_bytes: 1 << 20, max_nodes: 1_000_000, max_depth: 1_000_000 }
    }
}

/// Why a text is not an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntaxError {
    /// The bytes at fault; empty at the end of the text where something is missing.
    pub span: Span,
    /// What was found and what was expected.
    pub message: String,
    /// What to write instead, where that can be guessed.
    pub help: Option<String>,
    /// Whether a limit of [`ParseOptions`] was met, so that the text may be well formed.
    pub is_limit: bool,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.span.start, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}
