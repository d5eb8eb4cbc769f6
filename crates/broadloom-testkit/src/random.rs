//! Random programs of array operations, what they must give, and how to make a failing one small.
//!
//! In: a seed. Out: a [`Program`] that types, over every op, dtype, conversion and view; [`Program::run`] gives
//! what it must compute. Must hold: one seed is one program, on every host; the reference shares no code with the
//! crates it judges, but for the names of ops and dtypes, and the scalar instance of functions that are approximate.

mod affine;
mod generate;
mod program;
mod reference;
mod rng;
mod shrink;
mod text;
mod typing;

pub use generate::{Size, instance, program, with_other_values};
pub use program::{Arg, Program, PySlice, Step, Tensor, View};
pub use reference::Outcome;
pub use rng::Rng;
pub use shrink::{shrink, shrink_while};
pub use text::ProgramError;
#[cfg(feature = "check")]
pub(crate) use text::{element, type_text};
pub use typing::{Type, type_of};
