//! Gradients: derivatives of expressions, forwards and in reverse, as expressions.
//!
//! A derivative is made of the same operations as the expression, before anything is rewritten or evaluated. It therefore has
//! everything that expressions have: fusion, every executor with the same bits, sums in the canonical order, derivatives of its own.
//!
//! [`grad`], [`vjp`] and [`jvp`] differentiate arrays with respect to arrays that they were computed from; [`value_and_grad`] and
//! the others take a function. With respect to an array in memory, name it by [`variable`] first: views of an array in memory are
//! arrays of their own, on which the derivative would not depend.
//!
//! ```
//! use broadloom::gradients::{grad, variable};
//! use broadloom::prelude::*;
//!
//! let x = variable(&Array::from([1.0, 2.0, 3.0]))?;
//! let y = (x.square() * 2.0).sum(())?;
//! assert_eq!(grad(&y, &[&x])?[0].to_vec::<f64>()?, [4.0, 8.0, 12.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Rules
//!
//! A product of an adjoint or tangent that is exactly zero with a derivative that depends on values is +0, so that a branch of
//! [`where_`](crate::functions::where_) that is not taken contributes nothing, even if its derivative is infinite or NaN. Equal
//! operands of `maximum` and `minimum`, and equal maxima and minima of reductions, share the derivative evenly. The derivatives of
//! `abs`, `sign`, `floor` and the like are 0 at their kinks, and those of norms and of `hypot` at the origin. The contributions
//! of several uses of an array are added in the order of the expression, the last use first; those of an array that was broadcast,
//! in the canonical order of sums. Integers, bools and random draws are constants.

mod batch;
mod checkpoints;
mod combinations;
mod custom;
mod dependents;
mod forward;
mod functions;
mod jacobians;
mod linear;
mod linearity;
mod loops;
mod recurrences;
mod reductions;
mod regions;
mod reverse;
mod routines;
mod rules;
mod scans;
mod substitution;
mod tables;
mod views;

pub use custom::{custom_jvp, custom_vjp};
pub use functions::{checkpoint, grad, jvp, stop_gradient, value_and_grad, variable, vjp};
pub use jacobians::{hessian, jacfwd, jacrev, vmap};
