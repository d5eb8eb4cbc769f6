//! The layout of the stack frame.
//!
//! From the stack pointer upwards: shadow space for called functions, spill slots, explicit stack slots, callee-saved
//! vector registers, and the mask and the limit of a tail loop.

use crate::allocated::{AInst, AllocatedFunction, PAddress, PBase, SpillSlot};
use crate::target::Convention;

const RSP: u8 = 4;

pub(super) struct Frame {
    shadow: u32,
    slots: u32,
    stack_slot_bytes: u32,
    has_tail: bool,
    /// The callee-saved general registers that the function writes.
    pub(super) saved: Vec<u8>,
    /// The vector registers that the function writes and whose low 128 bits it has to preserve.
    pub(super) saved_vectors: Vec<u8>,
}

fn has_tail(insts: &[AInst]) -> bool {
    insts.iter().any(|inst| match inst {
        AInst::TailLoop { .. } => true,
        AInst::Loop { body, .. } => has_tail(body),
        _ => false,
    })
}

impl Frame {
    pub(super) fn of(func: &AllocatedFunction, convention: Convention) -> Frame {
        let listed = |set: u32| (0..32u8).filter(|r| set >> r & 1 == 1).collect();
        Frame {
            shadow: if func.calls { convention.shadow().next_multiple_of(64) } else { 0 },
            slots: func.slots,
            stack_slot_bytes: func.stack_slot_bytes.next_multiple_of(64),
            has_tail: has_tail(&func.insts),
            saved: listed(func.written[0] & convention.saved()),
            saved_vectors: listed(func.written[1] & convention.saved_vectors()),
        }
    }

    fn slots(&self) -> i32 {
        self.shadow as i32
    }

    /// The offset of a spill slot from the stack pointer, in bytes.
    pub(super) fn slot(&self, slot: SpillSlot) -> i32 {
        self.slots() + 64 * slot.0 as i32
    }

    /// The offset of the explicit stack slots from the stack pointer, in bytes.
    pub(super) fn stack_slots(&self) -> i32 {
        self.slots() + 64 * self.slots as i32
    }

    fn saved_vectors_at(&self) -> i32 {
        self.stack_slots() + self.stack_slot_bytes as i32
    }

    fn tail_at(&self) -> i32 {
        self.saved_vectors_at() + 16 * self.saved_vectors.len() as i32
    }

    /// The address at which the i-th vector register of `saved_vectors` is saved.
    pub(super) fn saved_vector(&self, i: usize) -> PAddress {
        PAddress::at(PBase::Reg(RSP), self.saved_vectors_at() + 16 * i as i32)
    }

    /// The address of the stack memory that holds the tail mask.
    pub(super) fn tail_mask(&self) -> PAddress {
        PAddress::at(PBase::Reg(RSP), self.tail_at())
    }

    /// The address of the stack memory that holds the index at which a row's last whole block begins.
    pub(super) fn tail_limit(&self) -> PAddress {
        PAddress::at(PBase::Reg(RSP), self.tail_at() + 8)
    }

    pub(super) fn bytes(&self) -> u32 {
        (self.tail_at() as u32 + if self.has_tail { 16 } else { 0 }).next_multiple_of(64)
    }
}
