//! The text language: expressions such as `where(x > 0, x, -x) ** 2`, and programs of them.
//!
//! A text becomes an [`Ast`], then a [`Module`] whose names are resolved, then whatever a [`Meaning`] makes of it, or a
//! [`TextError`] that points into the text; [`mod@print`] and [`nodes`] write what reads back. Time and memory are
//! linear in the text, the depth of nesting costs no call stack, and nothing panics, since texts come from anywhere.
//!
//! docs/language.md is the reference. Case files, printed graphs, the command and the face's `text` read and write it
//! through this module.

mod ast;
mod error;
mod lex;
mod literal;
mod meaning;
mod module;
mod nearest;
pub mod nodes;
mod number;
mod operator;
mod parse;
pub mod print;
mod resolve;
mod say;
mod statement;
#[cfg(test)]
mod tests;

pub use ast::{Ast, AstId, Body, Extent, Item, Kind, Node, Statement, Type};
pub use error::TextError;
pub use lex::is_name;
pub use meaning::{Data, Meaning, View, evaluate};
pub use module::{Input, Library, Module, Output};
pub use nearest::nearest;
pub use number::brief;
pub use operator::symbol;
pub use parse::parse;
pub use resolve::{ASTYPE, signature};

/// A range of bytes of the text.
pub type Span = std::ops::Range<u32>;

/// How much [`parse`] accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The longest text, in bytes; 1 MiB unless told, and never more than 4 GiB.
    pub max_bytes: usize,
    /// The most nodes of syntax, and the most that composites may become when they are written out; 2^17 unless told.
    /// A node takes less than 64 bytes, and about 200 more where it becomes an array's.
    pub max_nodes: usize,
    /// The deepest nesting of parentheses, calls and pending operators; 2^17 unless told. It bounds memory only: about
    /// 64 bytes a level, on the heap.
    pub max_depth: usize,
    /// Whether inputs may have values (`x: int8[2] = [1, -2]`), and settings may stand in the text (`promotion numpy`,
    /// `int_division error`), as in case files; not unless told.
    pub data: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { max_bytes: 1 << 20, max_nodes: 1 << 17, max_depth: 1 << 17, data: false }
    }
}
