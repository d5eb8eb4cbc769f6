//! The abstract state: which virtual registers' values each physical register and spill slot holds.

use smallvec::SmallVec;

use crate::allocated::{PReg, SpillSlot};
use crate::check::error::{Allocation, Failure};
use crate::inst::VReg;

/// Virtual registers that have one value, sorted.
pub(super) type Values = SmallVec<[VReg; 2]>;

/// Registers of all classes come first, then the spill slots.
const SLOTS: usize = 3 * 32;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    holds: Vec<Values>,
    /// The first lane of the tail mask, where it is set.
    pub(super) tail_mask: Option<u16>,
}

fn place(allocation: Allocation) -> usize {
    match allocation {
        Allocation::Reg(PReg { class, number }) => 32 * class as usize + usize::from(number),
        Allocation::Slot(SpillSlot(slot)) => SLOTS + slot as usize,
    }
}

impl State {
    /// Nothing is known.
    pub(super) fn new(slots: u32) -> State {
        State { holds: vec![Values::new(); SLOTS + slots as usize], tail_mask: None }
    }

    pub(super) fn values(&self, at: Allocation) -> &Values {
        &self.holds[place(at)]
    }

    /// Whether the value is there.
    pub(super) fn read(&self, at: Allocation, wanted: VReg) -> Result<(), Failure> {
        let holds = self.values(at);
        match holds.contains(&wanted) {
            true => Ok(()),
            false => Err(Failure::WrongValue { wanted, at, holds: holds.to_vec() }),
        }
    }

    /// Overwrites a place; with no values, something unknown is there.
    pub(super) fn write(&mut self, at: Allocation, values: Values) {
        self.holds[place(at)] = values;
    }

    /// A new value of a virtual register, which is in one place only. In a loop the last iteration's is gone everywhere.
    pub(super) fn define(&mut self, reg: VReg, at: PReg) {
        for values in &mut self.holds {
            values.retain(|&mut value| value != reg);
        }
        self.write(Allocation::Reg(at), Values::from_slice(&[reg]));
    }

    /// A control flow edge on which parameters get values, given as (parameter, value), all at once.
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

    /// Where control flow meets, what holds on both ways holds.
    pub(super) fn meet(&mut self, other: &State) {
        for (values, others) in self.holds.iter_mut().zip(&other.holds) {
            values.retain(|value| others.contains(value));
        }
        self.tail_mask = self.tail_mask.filter(|_| self.tail_mask == other.tail_mask);
    }
}
