//! Register allocation by one walk over the instruction sequence.
//!
//! A value stays in its register until another one needs it more: the value whose next use is farthest is evicted (L. Belady,
//! 1966), into a spill slot if it is no constant. At the head of an inner loop the values that the loop reads most are pinned to
//! registers for the whole loop, as many as leave room for what the body computes; all other values are in memory at the head and
//! are read from memory. Where control flow meets (loop heads, ends of out-of-line code) every value is where both ways expect
//! it: [`crate::check`] verifies this.

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
