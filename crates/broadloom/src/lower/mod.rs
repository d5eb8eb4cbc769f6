//! Converts handles to the structure of their expressions, and to the memory, literals and functions to which it refers.
//!
//! [`Lowered`] is made at each evaluation, so it borrows from the handles, and allocates nothing for a short expression. It
//! contains the entries of a [`Structure`](broadloom_core::structure::Structure), and the memory, literals and host functions to
//! which the slot numbers in the entries refer. A symbolic kernel keeps a [`Template`] instead. Nothing recurses along the
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
