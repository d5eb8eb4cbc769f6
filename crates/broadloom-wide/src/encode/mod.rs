//! Encodes allocated code as position-independent machine code with the constant pool behind it.
//!
//! A prologue and an epilogue save and restore registers as the calling convention demands. The body of a tail loop is
//! encoded twice: for whole blocks, and with masks for the remaining elements.

mod assembler;
mod frame;
mod function;
mod moves;
mod operand;
mod pool;
mod stack;

use crate::allocated::AllocatedFunction;
use crate::code::Code;
use crate::error::Unsupported;
use crate::target::{Convention, Level};

/// Encodes a function.
pub(crate) fn encode(
    func: &AllocatedFunction,
    level: Level,
    convention: Convention,
) -> Result<Code, Unsupported> {
    function::FunctionWriter::new(func, level, convention).write(func)
}
