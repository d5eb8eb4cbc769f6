//! The checker's abstract state: for each physical register and spill slot, the virtual registers whose value it holds.

use smallvec::SmallVec;

use crate::allocated::{PReg, SpillSlot};
use crate::check::error::{Allocation, AllocationMistake};
use crate::inst::VReg;

/// The virtual registers whose value is in one physical register or spill slot, in ascending order.
pub(super) type Values = SmallVec<[VReg; 2]>;

/// The index of the first spill slot in `AllocatorState::holds`. The 32 registers of each of the three classes come before it.
const SLOTS: usize = 3 * 32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AllocatorState {
    holds: Vec<Values>,
    /// The lane of the block to which the lowest bit of the tail mask belongs, if the mask is set.
    pub(super) tail_mask: Option<u16>,
}

fn place(allocation: Allocation) -> usize {
    match allocation {
        Allocation::Reg(PReg { class, number }) => 32 * class as usize + usize::from(number),
        Allocation::Slot(SpillSlot(slot)) => SLOTS + slot as usize,
    }
}

impl AllocatorState {
    /// The state in which the contents of all registers and slots are unknown.
    pub(super) fn new(slots: u32) -> AllocatorState {
        AllocatorState { holds: vec![Values::new(); SLOTS + slots as usize], tail_mask: None }
    }

    pub(super) fn values(&self, at: Allocation) -> &Values {
        &self.holds[place(at)]
    }

    /// Fails unless the value is in that register or slot.
    pub(super) fn read(&self, at: Allocation, wanted: VReg) -> Result<(), AllocationMistake> {
        let holds = self.values(at);
        match holds.contains(&wanted) {
            true => Ok(()),
            false => Err(AllocationMistake::WrongValue { wanted, at, holds: holds.to_vec() }),
        }
    }

    /// Records that a register or slot holds these values; an empty list means that its contents are unknown.
    pub(super) fn write(&mut self, at: Allocation, values: Values) {
        self.holds[place(at)] = values;
    }

    /// Records the definition of a virtual register: only the register `at` holds its value now. Copies of its value
    /// from the previous iteration of a loop are forgotten.
    pub(super) fn define(&mut self, reg: VReg, at: PReg) {
        for values in self.holds.iter_mut().filter(|values| values.contains(&reg)) {
            values.retain(|&mut value| value != reg);
        }
        self.write(Allocation::Reg(at), Values::from_slice(&[reg]));
    }

    /// Follows a control flow edge that assigns values to parameters, given as (parameter, value), all at the same
    /// time.
    pub(super) fn pass(&mut self, edges: &[(VReg, VReg)]) {
        for values in self.holds.iter_mut().filter(|values| !values.is_empty()) {
            let passed = edges.iter().filter(|(_, value)| values.contains(value)).map(|&(p, _)| p);
            let mut new: Values = passed.collect();
            new.extend(values.iter().copied().filter(|reg| edges.iter().all(|(p, _)| p != reg)));
            new.sort_unstable();
            new.dedup();
            *values = new;
        }
    }

    /// Joins two states: each register or slot keeps the values that it holds in both.
    pub(super) fn meet(&mut self, other: &AllocatorState) {
        for (values, others) in self.holds.iter_mut().zip(&other.holds) {
            values.retain(|value| others.contains(value));
        }
        self.tail_mask = self.tail_mask.filter(|_| self.tail_mask == other.tail_mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inst::RegClass;

    #[test]
    fn a_copy_of_the_previous_value_is_forgotten() {
        let (value, slot) = (VReg(7), Allocation::Slot(SpillSlot(0)));
        let register = PReg { class: RegClass::Vector, number: 3 };
        let mut state = AllocatorState::new(1);
        state.write(slot, Values::from_slice(&[value]));
        assert!(state.read(slot, value).is_ok());
        state.define(value, register);
        assert!(state.read(Allocation::Reg(register), value).is_ok());
        assert!(state.read(slot, value).is_err());
    }
}
