//! The text language: expressions such as `sum(where(x > 0, x, -x) ** 2, axis=0)`, and programs of them.
//!
//! [`parse`] turns UTF-8 text into an [`Ast`], [`Module`] resolves its names, and [`evaluate`] turns it into the values
//! that a [`Meaning`] constructs. Errors are [`TextError`]s with positions in the text. [`mod@print`] and [`nodes`]
//! write text that parses to the same values. Time and memory are linear in the text, nesting uses no call stack, and
//! nothing panics.
//!
//! docs/language.md is the reference. Case files, printed graphs, the command and the `text` modules of the interfaces
//! read and write the language through this module.

mod ast;
mod bind;
mod built_in;
mod call;
mod diagnostics;
mod error;
mod evaluate;
mod lex;
mod library;
mod literal;
mod meaning;
mod module;
pub mod nodes;
mod number;
mod operator;
mod options;
mod parameters;
mod parse;
pub mod print;
mod resolve;
mod slips;
mod source;
mod statement;
mod suggestions;
#[cfg(test)]
mod tests;
mod while_loop;

pub use ast::{
    Ast, AstId, AstKind, AstNode, Body, Carried, Extent, Item, Keyword, LoopHead, LoopStatement, ScanAxis,
    Statement, Type,
};
pub use broadloom_ir::TextPlace;
pub use call::{Element, GeneratorCall, RoutineCall};
pub use error::{Span, TextError};
pub use evaluate::evaluate;
pub use lex::is_name;
pub use library::Library;
pub use meaning::{Data, LoopCall, LoopKind, LoopPart, LoopRun, Meaning, View};
pub use module::{Input, Module, Output};
pub use number::brief;
pub use operator::symbol;
pub use options::ParseOptions;
pub use parameters::{ASTYPE, BuiltIn, RoutineName, TakeName, built_ins};
pub use parse::parse;
pub use suggestions::nearest;
