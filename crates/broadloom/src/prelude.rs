//! The names that most programs need: `use broadloom::prelude::*;`.

pub use crate::functions::where_;
pub use crate::{
    Array, DType, Element, Error, IntoArray, Options, Over, Promotion, Range, Result, eval_many,
    eval_many_with, f16, with_promotion,
};
#[cfg(feature = "ndarray")]
pub use crate::{AssignLazy, Lazy, lazy};
