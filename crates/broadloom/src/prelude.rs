//! The names that most programs need: `use broadloom::prelude::*;`.

pub use crate::functions::where_;
pub use crate::{
    Array, DType, Element, Error, ErrorKind, Evaluation, IndexMode, IntoArray, Options, Over, Promotion,
    Range, Result, eval_many, f16, with_promotion,
};
#[cfg(feature = "ndarray")]
pub use crate::{AssignLazy, Lazy, lazy};
