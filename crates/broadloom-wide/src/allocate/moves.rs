//! Moves: between registers, from and to slots, of constants.
//!
//! In: what is wanted where. Out: instructions. Must hold: none of them touches the flags; moves that are wanted at once
//! happen as if at once.

use smallvec::{SmallVec, smallvec};

use crate::Level;
use crate::allocate::Allocator;
use crate::allocate::file::{NONE, in_file};
use crate::code::{Encoded, Memory, MemoryBase, Operand, Out};
use crate::forms::{self, Op};
use crate::machine::{Class, Kind, Reg, Size};

/// A value that is wanted in a register.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub class: Class,
    pub to: u8,
    pub reg: Reg,
}

/// Where a move comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Register(u8),
    Slot(u32),
}

impl Allocator<'_> {
    pub fn widest(&self) -> Size {
        match self.level {
            Level::Avx2 => Size::Y,
            Level::Avx512 => Size::Z,
        }
    }

    pub fn emit(&mut self, op: Op, size: Size, operands: &[Operand], immediate: Option<i64>) {
        let operands = SmallVec::from_slice(operands);
        self.out.push(Out::Inst(Encoded { op, size, operands, immediate, mask: None, zeroing: false }));
    }

    fn copy(&mut self, class: Class, to: u8, from: u8) {
        let (op, size) = match class {
            Class::General => (forms::MOV, Size::X),
            Class::Vector => (forms::MOVAPS, self.widest()),
            Class::Mask => (forms::KMOVQ, Size::X),
        };
        let places = [to, from].map(|r| Operand::In(in_file(class, r)));
        self.emit(op, size, &places, None);
    }

    pub fn copy_register(&mut self, class: Class, to: u8, from: u8) {
        if to != from {
            self.copy(class, to, from);
        }
    }

    fn store_at(&mut self, class: Class, slot: u32, from: u8) {
        let (op, size) = match class {
            Class::General => (forms::MOV_STORE, Size::X),
            Class::Vector => (forms::MOVUPS_STORE, self.widest()),
            Class::Mask => (forms::KMOVQ_STORE, Size::X),
        };
        self.emit(op, size, &[Operand::At(Memory::spill(slot)), Operand::In(in_file(class, from))], None);
    }

    fn load_from(&mut self, class: Class, to: u8, from: Memory) {
        let (op, size) = match class {
            Class::General => (forms::MOV, Size::X),
            Class::Vector => (forms::MOVUPS, self.widest()),
            Class::Mask => (forms::KMOVQ, Size::X),
        };
        self.emit(op, size, &[Operand::In(in_file(class, to)), Operand::At(from)], None);
    }

    /// Writes a value to its slot, if it is not there yet.
    pub fn store(&mut self, reg: Reg) {
        if self.is_constant(reg) || self.stored[reg.index()] {
            return;
        }
        let Some(place) = self.files.place_of(reg) else { return };
        let slot = self.slot(reg);
        self.store_at(self.class(reg), slot, place);
        self.stored[reg.index()] = true;
        if let Some(stored) = &mut self.stored_in_cold {
            stored.push(reg);
        }
    }

    fn slot(&mut self, reg: Reg) -> u32 {
        if let Some(slot) = self.slots[reg.index()] {
            return slot;
        }
        // A slot that was let go may hold what the line has stored and cold code still reads.
        let free = if self.stored_in_cold.is_none() { self.free_slots.pop() } else { None };
        let slot = free.unwrap_or_else(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        self.slots[reg.index()] = Some(slot);
        slot
    }

    /// Puts a value into a register, from wherever it is.
    pub fn fetch(&mut self, class: Class, to: u8, reg: Reg) {
        self.files.written[class as usize] |= 1 << to;
        if let Some(from) = self.files.place_of(reg) {
            return self.copy_register(class, to, from);
        }
        match self.kinds[reg.index()] {
            Kind::Constant(bits) => self.fetch_constant(to, bits),
            Kind::Integer(value) => {
                let place = Operand::In(in_file(class, to));
                let op = if i32::try_from(value).is_ok() { forms::MOV_I32 } else { forms::MOV_I64 };
                self.emit(op, Size::X, &[place], Some(value));
            }
            Kind::Set(_) => {
                if !self.stored[reg.index()] {
                    self.lost = Some(reg);
                }
                let slot = self.slot(reg);
                self.load_from(class, to, Memory::spill(slot));
            }
        }
    }

    fn fetch_constant(&mut self, to: u8, bits: u64) {
        let place = Operand::In(in_file(Class::Vector, to));
        let size = self.widest();
        let evex = self.level == Level::Avx512;
        match bits {
            0 if evex => self.emit(forms::PXORD, Size::X, &[place; 3], None),
            0 => self.emit(forms::PXOR, Size::X, &[place; 3], None),
            u64::MAX if evex => self.emit(forms::PTERNLOGD, size, &[place; 3], Some(0xff)),
            u64::MAX => self.emit(forms::PCMPEQD, size, &[place; 3], None),
            _ => {
                let halves = bits as u32 == (bits >> 32) as u32;
                let (op, bytes) = if halves { (forms::PBROADCASTD, 4) } else { (forms::PBROADCASTQ, 8) };
                let pool = Memory::at(MemoryBase::Pool { bits, bytes }, 0);
                self.emit(op, size, &[place, Operand::At(pool)], None);
            }
        }
    }

    /// Puts values into registers as if all at once.
    pub fn moves(&mut self, wanted: &[Move]) {
        let mut pending: SmallVec<[(Class, u8, From); 16]> = smallvec![];
        for m in wanted {
            if let Some(from) = self.files.place_of(m.reg)
                && from != m.to
            {
                pending.push((m.class, m.to, From::Register(from)));
            }
        }
        while !pending.is_empty() {
            let ready = pending.iter().position(|&(class, to, _)| {
                !pending.iter().any(|&(other, _, from)| other == class && from == From::Register(to))
            });
            if let Some(i) = ready {
                let (class, to, from) = pending.swap_remove(i);
                self.files.written[class as usize] |= 1 << to;
                match from {
                    From::Register(from) => self.copy(class, to, from),
                    From::Slot(slot) => self.load_from(class, to, Memory::spill(slot)),
                }
            } else if let Some((class, register)) = pending.iter().find_map(|&(class, _, from)| match from {
                From::Register(register) => Some((class, register)),
                From::Slot(_) => None,
            }) {
                // A ring: what one of them has goes through memory, to all that want it.
                let slot = self.slot_count;
                self.slot_count += 1;
                self.store_at(class, slot, register);
                for (other, _, from) in &mut pending {
                    if *other == class && *from == From::Register(register) {
                        *from = From::Slot(slot);
                    }
                }
            }
        }
        for m in wanted {
            if self.files.place_of(m.reg).is_none() {
                self.fetch(m.class, m.to, m.reg);
            }
        }
    }

    /// A free register, if need be after another value has given way.
    pub fn room(&mut self, class: Class, forbidden: u32) -> Option<u8> {
        if let Some(free) = self.files.free(class, forbidden) {
            return Some(free);
        }
        let file = self.files.file(class);
        let mut victim = (NONE, 0);
        for &r in file.usable() {
            let Some(has) = file.has[r as usize] else { continue };
            if (forbidden | file.pinned) >> r & 1 == 1 {
                continue;
            }
            // Of what is used as late, the one that need not be stored.
            let next = u64::from(self.next_use(has));
            let cheap = u64::from(self.is_constant(has) || self.stored[has.index()]);
            let late = 2 * next + cheap + 1;
            if late > victim.1 {
                victim = (r, late);
            }
        }
        let (place, _) = victim;
        if place == NONE {
            return None;
        }
        let has = file.has[place as usize];
        if let Some(reg) = has {
            if self.stored_in_cold.is_some() || self.next_use(reg) != u32::MAX || self.is_needed_here(reg) {
                self.store(reg);
            }
            self.files.take(class, place);
        }
        Some(place)
    }

    /// Whether the step at hand itself still reads a value.
    fn is_needed_here(&self, reg: Reg) -> bool {
        self.uses.all(reg).binary_search(&self.at).is_ok()
    }

    /// Forgets a value that nobody needs any more.
    pub fn release(&mut self, reg: Reg) {
        if let Some(place) = self.files.place_of(reg) {
            self.files.take(self.class(reg), place);
        }
        // A value from outside of a loop is read there again the next time round.
        let own = !self.is_from_outside(reg);
        if own && let Some(slot) = self.slots[reg.index()].filter(|_| self.stored_in_cold.is_none()) {
            self.slots[reg.index()] = None;
            self.stored[reg.index()] = false;
            self.let_go.push(slot);
        }
    }
}
