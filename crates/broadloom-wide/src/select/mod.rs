//! Instruction selection: from optimised CLIF to machine instructions over virtual registers.
//!
//! It goes backwards, from uses to definitions: an instruction sees whether its result is used, and in what form, and folds
//! definitions that the machine can do in one with itself (loads, addresses, negations). An unused value costs
//! nothing. What is not supported is refused by name.

mod avx2;
mod blocks;
mod by_lane;
mod clif;
mod convert;
mod intrinsics;
mod lower;
mod masks;
mod memory;
mod multiply_high;
mod permute;
mod scalar;
mod survey;
mod vector;
mod vregs;

use cranelift_codegen::ir::Function;

use crate::error::Unsupported;
use crate::inst::VFunction;
use crate::target::Level;

/// Selects the instructions of a function.
pub(crate) fn select(func: &Function, level: Level) -> Result<VFunction, Unsupported> {
    lower::Lower::new(clif::Clif::survey(func, level)?).function()
}
