//! From handles to the structure of their expressions, and what it leaves out.
//!
//! [`Lowered`] is made anew at each evaluation, so it borrows from the handles and allocates nothing for a short
//! expression: entries of a [`Structure`](broadloom_core::structure::Structure), and beside them the memory, the
//! literals and the host functions that its numbers stand for. A symbolic kernel keeps a [`Template`] instead. Nothing
//! recurses along the expression.

mod declared;
mod expression;
mod leaves;
mod memo;
mod template;
mod walk;

pub(crate) use declared::Place;
pub(crate) use expression::{Expression, SizeLimits};
pub(crate) use leaves::visit_leaves;
pub(crate) use template::Template;
pub(crate) use walk::Lowered;

#[cfg(test)]
mod tests;
