//! Spill slots: which value has a slot, whether the slot holds the value yet, and when a slot may be reused.
//!
//! A slot that is freed becomes reusable only after the current instruction, which may still read it. In out-of-line code no slot
//! is freed or reused, and a value stored there counts as stored only until that code ends.

use crate::allocated::SpillSlot;
use crate::inst::VReg;

#[derive(Debug)]
pub(super) struct SpillSlots {
    slot: Vec<Option<SpillSlot>>,
    is_stored: Vec<bool>,
    /// The values that the current out-of-line code has stored; `None` on the inline path.
    stored_in_cold: Option<Vec<VReg>>,
    count: u32,
    free: Vec<SpillSlot>,
    /// Spill slots freed by the current instruction. They become reusable only after it, since it may still read them.
    freed: Vec<SpillSlot>,
}

impl SpillSlots {
    pub(super) fn new(values: usize) -> SpillSlots {
        SpillSlots {
            slot: vec![None; values],
            is_stored: vec![false; values],
            stored_in_cold: None,
            count: 0,
            free: Vec::new(),
            freed: Vec::new(),
        }
    }

    /// The spill slot that holds a value, if the value has been stored.
    pub(super) fn stored(&self, reg: VReg) -> Option<SpillSlot> {
        self.slot[reg.index()].filter(|_| self.is_stored[reg.index()])
    }

    pub(super) fn is_stored(&self, reg: VReg) -> bool {
        self.is_stored[reg.index()]
    }

    /// Returns the spill slot in which the caller is going to store a value, and records the value as stored.
    pub(super) fn store(&mut self, reg: VReg) -> SpillSlot {
        let slot = match self.slot[reg.index()] {
            Some(slot) => slot,
            None => {
                // In out-of-line code a freed slot may still hold a value that this code reads.
                let free = if self.in_cold() { None } else { self.free.pop() };
                let slot = free.unwrap_or_else(|| self.fresh());
                self.slot[reg.index()] = Some(slot);
                slot
            }
        };
        self.is_stored[reg.index()] = true;
        if let Some(stored) = &mut self.stored_in_cold {
            stored.push(reg);
        }
        slot
    }

    /// A new slot that belongs to no value.
    pub(super) fn fresh(&mut self) -> SpillSlot {
        self.count += 1;
        SpillSlot(self.count - 1)
    }

    /// Frees the slot of a dead value. Does nothing in out-of-line code.
    pub(super) fn free(&mut self, reg: VReg) {
        if self.in_cold() {
            return;
        }
        if let Some(slot) = self.slot[reg.index()].take() {
            self.is_stored[reg.index()] = false;
            self.freed.push(slot);
        }
    }

    /// Ends the current instruction: the slots that it has freed become reusable.
    pub(super) fn end_instruction(&mut self) {
        self.free.append(&mut self.freed);
    }

    pub(super) fn in_cold(&self) -> bool {
        self.stored_in_cold.is_some()
    }

    pub(super) fn enter_cold(&mut self) {
        self.stored_in_cold = Some(Vec::new());
    }

    /// Ends out-of-line code. Its stores are not executed on the inline path, so the values that it stored no
    /// longer count as stored.
    pub(super) fn leave_cold(&mut self) {
        for reg in self.stored_in_cold.take().unwrap_or_default() {
            self.is_stored[reg.index()] = false;
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}
