//! Instruction selection: from optimised CLIF to machine instructions over virtual registers.
//!
//! Selection goes backwards, from uses to definitions. At each instruction it is known whether and in what form the
//! result is used, and definitions that one machine instruction can compute together with their use (loads, addresses,
//! negations) are folded into it. No instruction is selected for an unused value. An unsupported instruction is refused
//! by name.

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

/// Selects the machine instructions of a function.
pub(crate) fn select(func: &Function, level: Level) -> Result<VFunction, Unsupported> {
    lower::Lower::new(clif::Clif::survey(func, level)?).function()
}
