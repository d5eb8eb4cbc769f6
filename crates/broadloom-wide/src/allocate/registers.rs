//! The state of the physical registers: which virtual register each one holds.
//!
//! A physical register holds one value at most, and a value is in one register at most. Pinned registers keep their values until
//! the loop ends.

use crate::allocated::{PReg, TAIL_MASK, TAIL_VECTOR};
use crate::inst::{RegClass, VReg};
use crate::target::{Convention, Level};

const NONE: u8 = u8::MAX;

/// The state of the registers of one class.
#[derive(Clone, Copy, Debug)]
struct ClassState {
    holds: [Option<VReg>; 32],
    /// The numbers of the allocatable registers, in allocation order; only the first `count` entries are valid.
    order: [u8; 32],
    count: u8,
    pinned: u32,
}

impl ClassState {
    fn new(registers: &[u8]) -> ClassState {
        let mut order = [NONE; 32];
        order.iter_mut().zip(registers).for_each(|(to, from)| *to = *from);
        ClassState { holds: [None; 32], order, count: registers.len() as u8, pinned: 0 }
    }

    fn allocatable(&self) -> &[u8] {
        &self.order[..self.count as usize]
    }
}

/// The contents of all physical registers at one point of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot([ClassState; 3]);

impl Snapshot {
    /// The registers in use, as (register, value, whether it is pinned).
    pub(super) fn held(&self) -> impl Iterator<Item = (PReg, VReg, bool)> + '_ {
        RegClass::ALL.into_iter().flat_map(|class| {
            let state = &self.0[class as usize];
            state.holds.iter().enumerate().filter_map(move |(number, held)| {
                let pinned = state.pinned >> number & 1 == 1;
                held.map(|reg| (PReg { class, number: number as u8 }, reg, pinned))
            })
        })
    }
}

/// The pinned registers, as a bit set for each class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pins([u32; 3]);

#[derive(Debug)]
pub(super) struct Registers {
    classes: [ClassState; 3],
    /// For each virtual register, the number of the physical register that holds it, or `NONE`.
    number: Vec<u8>,
    /// The registers that the function writes anywhere, as a bit set for each class.
    written: [u32; 3],
}

impl Registers {
    pub(super) fn new(level: Level, convention: Convention, values: usize) -> Registers {
        let vectors: Vec<u8> = match level {
            Level::Avx2 => (0..16).collect(),
            // Low-numbered vector registers have shorter encodings. On Windows ten of them are callee-saved, and these come
            // last.
            Level::Avx512 => match convention {
                Convention::SystemV => (0..TAIL_VECTOR.number).collect(),
                Convention::Windows => (0..6).chain(16..TAIL_VECTOR.number).chain(6..16).collect(),
            },
        };
        let masks: Vec<u8> = (1..TAIL_MASK.number).collect();
        Registers {
            classes: [&convention.general_order(), &vectors, &masks].map(|order| ClassState::new(order)),
            number: vec![NONE; values],
            written: [0; 3],
        }
    }

    fn class(&self, class: RegClass) -> &ClassState {
        &self.classes[class as usize]
    }

    pub(super) fn number_of(&self, reg: VReg) -> Option<u8> {
        let number = self.number[reg.index()];
        (number != NONE).then_some(number)
    }

    pub(super) fn held_by(&self, register: PReg) -> Option<VReg> {
        self.class(register.class).holds[register.number as usize]
    }

    /// The registers of a class that hold a value, with the value.
    pub(super) fn held(&self, class: RegClass) -> impl Iterator<Item = (PReg, VReg)> + use<> {
        let held = self.class(class).holds.into_iter().enumerate();
        held.filter_map(move |(number, held)| Some((PReg { class, number: number as u8 }, held?)))
    }

    pub(super) fn is_pinned(&self, reg: VReg) -> bool {
        let number = self.number[reg.index()];
        number != NONE
            && self
                .classes
                .iter()
                .any(|class| class.holds[number as usize] == Some(reg) && class.pinned >> number & 1 == 1)
    }

    /// Pins values to the registers that hold them. Returns the previous pins, to be passed to `restore_pins`.
    pub(super) fn pin(&mut self, values: impl Iterator<Item = (RegClass, VReg)>) -> Pins {
        let before = Pins([0, 1, 2].map(|i| self.classes[i].pinned));
        for (class, reg) in values {
            if let Some(number) = self.number_of(reg) {
                self.classes[class as usize].pinned |= 1 << number;
            }
        }
        before
    }

    pub(super) fn restore_pins(&mut self, pins: Pins) {
        for (class, pinned) in self.classes.iter_mut().zip(pins.0) {
            class.pinned = pinned;
        }
    }

    /// Puts a value into a free register.
    pub(super) fn put(&mut self, register: PReg, reg: VReg) {
        debug_assert_eq!(self.held_by(register), None);
        self.classes[register.class as usize].holds[register.number as usize] = Some(reg);
        self.number[reg.index()] = register.number;
        self.note_written(register);
    }

    /// Frees a register. Returns the value that it held.
    pub(super) fn take(&mut self, register: PReg) -> Option<VReg> {
        let reg = self.classes[register.class as usize].holds[register.number as usize].take();
        if let Some(reg) = reg {
            self.number[reg.index()] = NONE;
        }
        reg
    }

    pub(super) fn note_written(&mut self, register: PReg) {
        self.written[register.class as usize] |= 1 << register.number;
    }

    pub(super) fn written(&self) -> [u32; 3] {
        self.written
    }

    /// The number of the first free register of a class, in allocation order, that is not in the bit set `forbidden`.
    pub(super) fn free(&self, class: RegClass, forbidden: u32) -> Option<u8> {
        let state = self.class(class);
        let is_free = |&r: &u8| state.holds[r as usize].is_none() && forbidden >> r & 1 == 0;
        state.allocatable().iter().copied().find(is_free)
    }

    /// The registers of a class that may be evicted, each with the value that it holds, in allocation order. Pinned
    /// registers and those in the bit set `forbidden` may not.
    pub(super) fn evictable(&self, class: RegClass, forbidden: u32) -> impl Iterator<Item = (u8, VReg)> + '_ {
        let state = self.class(class);
        let kept = forbidden | state.pinned;
        state
            .allocatable()
            .iter()
            .filter_map(move |&r| state.holds[r as usize].filter(|_| kept >> r & 1 == 0).map(|reg| (r, reg)))
    }

    /// The number of allocatable registers of a class.
    pub(super) fn count(&self, class: RegClass) -> usize {
        usize::from(self.class(class).count)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot(self.classes)
    }

    /// Restores the contents that the registers had at a snapshot. Registers written since then still count as written.
    pub(super) fn restore(&mut self, snapshot: Snapshot) {
        for reg in self.classes.iter().flat_map(|class| class.holds).flatten() {
            self.number[reg.index()] = NONE;
        }
        self.classes = snapshot.0;
        for class in &self.classes {
            for (number, reg) in class.holds.iter().enumerate() {
                if let Some(reg) = reg {
                    self.number[reg.index()] = number as u8;
                }
            }
        }
    }
}
