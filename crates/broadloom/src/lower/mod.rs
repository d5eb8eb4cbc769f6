//! Converts handles to the structure of their expressions, and the memory, literals and functions that it refers to.
//!
//! [`Lowered`] is made at each evaluation, so it borrows from the handles and allocates nothing for a short expression: it has
//! the entries of a [`Structure`](broadloom_core::structure::Structure), together with the memory, the literals and the host
//! functions that the numbers in it refer to. A symbolic kernel keeps a [`Template`] instead. Nothing recurses along the
//! expression.

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
