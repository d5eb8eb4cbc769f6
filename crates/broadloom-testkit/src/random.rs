//! Random programs of array operations, their expected results, and the shrinking of a failing program.
//!
//! A seed determines a well-typed [`Program`], the same on every target. [`Program::run`] computes its
//! expected results. The reference shares only the names of ops and dtypes, and the scalar instance of
//! approximate functions, with the crates under test.

pub(crate) mod affine;
mod contraction;
mod draws;
mod extension;
mod generate;
mod loops;
mod program;
mod recurrences;
mod reference;
mod shape;
mod shrink;
mod text;
pub(crate) mod typing;
mod whole_arrays;
mod with_draws;
mod with_joins;
mod with_loops;
mod with_routines;

pub use generate::{Size, instance, program, with_other_values};
pub use program::{Arg, Program, PySlice, RandomRecurrence, Step, TakeKind, View, While, WholeArrayCall};
pub use reference::Outcome;
pub use shrink::{shrink, shrink_while};
pub use text::ProgramError;
pub(crate) use text::{element, type_text};
pub use typing::{Type, type_of};
pub use with_draws::program_with_draws;
pub use with_joins::program_with_joins;
pub use with_loops::program_with_loops;
pub use with_routines::program_with_routines;

pub use crate::rng::Rng;
pub use crate::tensor::Tensor;
