//! The text language: expressions such as `where(x > 0, x, -x) ** 2`, and programs of them.
//!
//! [`parse`] makes an [`Ast`] of UTF-8 text, [`Module`] resolves its names, and [`evaluate`] turns it into whatever a
//! [`Meaning`] constructs; errors are [`TextError`]s that point into the text. [`mod@print`] and [`nodes`] write text that
//! parses to the same values. Time and memory are linear in the text, nesting takes no call stack, and nothing panics.
//!
//! docs/language.md is the reference. Case files, printed graphs, the command and the face's `text` read and write it
//! through this module.

mod ast;
mod built_in;
mod diagnostics;
mod error;
mod lex;
mod library;
mod literal;
mod meaning;
mod module;
pub mod nodes;
mod number;
mod operator;
mod parse;
pub mod print;
mod resolve;
mod slips;
mod source;
mod statement;
mod suggestions;
#[cfg(test)]
mod tests;

pub use ast::{Ast, AstId, AstKind, AstNode, Body, Extent, Item, Statement, Type};
pub use built_in::{ASTYPE, signature};
pub use error::TextError;
pub use lex::is_name;
pub use library::Library;
pub use meaning::{Data, Meaning, View, evaluate};
pub use module::{Input, Module, Output};
pub use number::brief;
pub use operator::symbol;
pub use parse::parse;
pub use suggestions::nearest;

/// A range of bytes of the text.
pub type Span = std::ops::Range<u32>;

/// The limits of [`parse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The maximum length of a text in bytes; 1 MiB by default, and never more than 4 GiB.
    pub max_bytes: usize,
    /// The maximum number of syntax nodes, also after user-defined functions are inlined; 2^17 by default. A node takes
    /// less than 64 bytes, and about 200 more when it becomes an array.
    pub max_nodes: usize,
    /// The maximum depth of nested parentheses, calls and pending operators; 2^17 by default. It bounds memory only: about
    /// 64 bytes per level, on the heap.
    pub max_depth: usize,
    /// Whether inputs may have values (`x: int8[2] = [1, -2]`), and settings may stand in the text (`promotion numpy`,
    /// `int_division error`), as in case files; false by default.
    pub data: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { max_bytes: 1 << 20, max_nodes: 1 << 17, max_depth: 1 << 17, data: false }
    }
}
