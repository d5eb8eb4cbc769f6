//! Encodes allocated code as position-independent bytes, with the constant pool behind them.
//!
//! The code leaves registers and stack as the calling convention asks. The body of a tail loop is written twice: for whole blocks, and
//! masked for the remaining elements.

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
