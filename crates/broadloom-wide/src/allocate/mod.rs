//! Register allocation in one pass over the instruction sequence.
//!
//! A value stays in its register until the register is needed for another value. Then the value whose next use is
//! farthest away is evicted (L. Belady, 1966); unless it is a constant, it is stored in a spill slot. At the head of an
//! innermost loop the values that the loop reads most often are pinned to registers for the whole loop, as many as
//! possible while enough registers remain for the values that the body computes. All other values are in memory at the
//! head, and the body reads them from there. Where two control flow paths meet (loop heads, ends of out-of-line code)
//! every value is in the register or slot that both paths expect; [`crate::check`] verifies this.

mod calls;
mod cold;
mod liveness;
mod loops;
mod operands;
mod parallel;
mod pins;
mod registers;
mod slots;
mod state;
#[cfg(test)]
mod tests;

use crate::allocated::{AInst, AllocatedFunction};
use crate::error::Unsupported;
use crate::inst::{MInst, VFunction};
use crate::target::{Convention, Level};
use state::Allocator;

/// Allocates registers for a function.
pub(crate) fn allocate(
    func: &VFunction,
    level: Level,
    convention: Convention,
) -> Result<AllocatedFunction, Unsupported> {
    let mut allocator = Allocator::new(func, level, convention);
    allocator.enter(&func.parameters);
    for (at, inst) in func.insts.iter().enumerate() {
        allocator.begin(at);
        match inst {
            MInst::Op(inst) => allocator.operation(inst)?,
            MInst::Call { target, arguments } => allocator.call(*target, arguments)?,
            MInst::Cold { condition, body, parameters } => allocator.cold(*condition, body, parameters)?,
            MInst::Loop { parameters, end, tail } => allocator.open_loop(parameters, *end, *tail)?,
            MInst::Back { head, condition, values } => allocator.back(*head, *condition, values)?,
            MInst::Return => allocator.emit(AInst::Return),
        }
        allocator.slots.end_instruction();
    }
    let calls = allocator.calls;
    let (insts, registers, slots) = allocator.finish();
    Ok(AllocatedFunction {
        insts,
        slots: slots.count(),
        stack_slot_bytes: func.stack_slot_bytes,
        written: registers.written(),
        calls,
    })
}
