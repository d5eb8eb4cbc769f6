//! Formulas over the columns of a table, in which cells may be empty.
//!
//! ```text
//! CSV ──▶ Table: values + a mask per column ──▶ Formula: one kernel, two outputs ──▶ a column ──▶ CSV
//! ```
//!
//! A cell of the result is empty exactly where a column that the formula uses is empty. Values and mask are computed
//! in one loop.
#![forbid(unsafe_code)]

pub mod formula;
pub mod table;

pub use formula::{Formula, FormulaError, Mistake};
pub use table::{Column, ColumnValues, FileRow, OddCell, Table, TableError};
