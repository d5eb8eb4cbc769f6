//! The files of registers, and what is in them.
//!
//! In: values that come and go. Out: which register has which. Must hold: a register has one value at most.

use crate::Level;
use crate::code::Place;
use crate::machine::{Class, Reg};
use crate::target::Convention;

/// A register that is no register.
pub const NONE: u8 = u8::MAX;

/// The general register that moves may use at any time.
pub const SCRATCH: u8 = 0;
/// The vector register that parts of vectors are read into.
pub const PART_VECTOR: u8 = 31;
/// The mask register for parts of vectors.
pub const PART_MASK: u8 = 7;

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// What each register has.
    pub has: [Option<Reg>; 32],
    /// The registers to choose from, the best first; as many as there are.
    pub order: [u8; 32],
    pub count: u8,
    /// Those that keep what they have until the loop ends.
    pub pinned: u32,
}

impl File {
    /// The registers to choose from, the best first.
    pub fn usable(&self) -> &[u8] {
        &self.order[..self.count as usize]
    }
}

#[derive(Debug)]
pub struct Files {
    pub files: [File; 3],
    /// Where each value is.
    pub place: Vec<u8>,
    /// The registers that were ever written, by file.
    pub written: [u32; 3],
}

impl Files {
    pub fn new(level: Level, convention: Convention, values: usize) -> Files {
        let file = |registers: Vec<u8>| {
            let mut order = [NONE; 32];
            order.iter_mut().zip(&registers).for_each(|(to, from)| *to = *from);
            File { has: [None; 32], order, count: registers.len() as u8, pinned: 0 }
        };
        let vectors: Vec<u8> = match level {
            Level::Avx2 => (0..16).collect(),
            // The low ones have shorter encodings; on Windows ten of them belong to the caller.
            Level::Avx512 => match convention {
                Convention::SystemV => (0..PART_VECTOR).collect(),
                Convention::Windows => (0..6).chain(16..PART_VECTOR).chain(6..16).collect(),
            },
        };
        let masks: Vec<u8> = (1..PART_MASK).collect();
        Files {
            files: [file(convention.general_order()), file(vectors), file(masks)],
            place: vec![NONE; values],
            written: [0; 3],
        }
    }

    pub fn file(&self, class: Class) -> &File {
        &self.files[class as usize]
    }

    pub fn place_of(&self, reg: Reg) -> Option<u8> {
        let place = self.place[reg.index()];
        (place != NONE).then_some(place)
    }

    pub fn is_pinned(&self, reg: Reg) -> bool {
        let place = self.place[reg.index()];
        place != NONE
            && self.files.iter().any(|f| f.has[place as usize] == Some(reg) && f.pinned >> place & 1 == 1)
    }

    pub fn put(&mut self, class: Class, place: u8, reg: Reg) {
        debug_assert_eq!(self.files[class as usize].has[place as usize], None);
        self.files[class as usize].has[place as usize] = Some(reg);
        self.place[reg.index()] = place;
        self.written[class as usize] |= 1 << place;
    }

    pub fn take(&mut self, class: Class, place: u8) -> Option<Reg> {
        let reg = self.files[class as usize].has[place as usize].take();
        if let Some(reg) = reg {
            self.place[reg.index()] = NONE;
        }
        reg
    }

    pub fn free(&self, class: Class, forbidden: u32) -> Option<u8> {
        let file = &self.files[class as usize];
        file.usable().iter().copied().find(|&r| file.has[r as usize].is_none() && forbidden >> r & 1 == 0)
    }

    /// Turns to what the files had before; what was ever written stays noted.
    pub fn turn_back(&mut self, files: [File; 3]) {
        for reg in self.files.iter().flat_map(|f| f.has).flatten() {
            self.place[reg.index()] = NONE;
        }
        self.files = files;
        for file in &self.files {
            for (place, reg) in file.has.iter().enumerate() {
                if let Some(reg) = reg {
                    self.place[reg.index()] = place as u8;
                }
            }
        }
    }
}

pub fn in_file(class: Class, register: u8) -> Place {
    match class {
        Class::General => Place::General(register),
        Class::Vector => Place::Vector(register),
        Class::Mask => Place::Mask(register),
    }
}
