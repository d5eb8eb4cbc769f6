//! Loops.
//!
//! In: heads and branches back. Out: loops whose heads have the pinned values and the parameters in registers, and all else
//! in memory. Must hold: whatever way the head is reached, each value is where the loop expects it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Unsupported;
use crate::allocate::Allocator;
use crate::allocate::file::in_file;
use crate::allocate::moves::Move;
use crate::allocate::uses::{reads, sets};
use crate::code::{Memory, Operand, Out};
use crate::machine::{Class, Condition, Kind, Partial, Reg, Step};

/// Registers beyond what the body needs by its own values: for operands that are brought in.
const SPARE: [usize; 3] = [2, 2, 1];

/// A loop that the walk is in.
pub struct Open {
    pub head: u32,
    end: u32,
    /// The registers of its parameters.
    parameters: SmallVec<[(Class, u8); 2]>,
    /// Of a loop over blocks of which the last may be a part: the row's elements, the block's.
    partial: Option<(Operand, u32)>,
    pinned_before: [u32; 3],
    /// What stands before the loop.
    before: Vec<Out>,
}

impl Allocator<'_> {
    pub fn open(
        &mut self,
        parameters: &[(Reg, Reg)],
        end: u32,
        partial: Option<Partial>,
    ) -> Result<(), Unsupported> {
        let head = self.at;
        let pins = self.pins(head, end, partial);
        // Everything that lives is in memory from here on, but for what is pinned and has a register now.
        for class in [Class::General, Class::Vector, Class::Mask] {
            for place in 0..32u8 {
                let Some(reg) = self.files.files[class as usize].has[place as usize] else { continue };
                let first_value = parameters.iter().any(|&(_, value)| value == reg);
                let lives = self.next_use(reg) != u32::MAX;
                if pins.contains(&reg) {
                    continue;
                }
                if lives {
                    self.store(reg);
                }
                if !first_value {
                    self.files.take(class, place);
                }
            }
        }
        // A pinned value is read after the loop as if it were in memory, too, where an outer loop comes round again.
        for &reg in &pins {
            let class = self.class(reg);
            if self.files.place_of(reg).is_none() {
                let to = self.room_for(class, 0)?;
                self.fetch(class, to, reg);
                self.files.put(class, to, reg);
            }
        }
        let mut places: SmallVec<[(Class, u8); 2]> = SmallVec::new();
        for &(param, value) in parameters {
            let class = self.class(param);
            // Each keeps its own, read or not: the way back writes them all.
            let held = places.iter().filter(|p| p.0 == class).fold(0u32, |held, p| held | 1 << p.1);
            let to = self.room_for(class, held)?;
            self.fetch(class, to, value);
            self.files.put(class, to, param);
            places.push((class, to));
        }
        for &(_, value) in parameters {
            if let Some(place) = self.files.place_of(value).filter(|_| !pins.contains(&value)) {
                self.files.take(self.class(value), place);
            }
        }
        let pinned_before = [0, 1, 2].map(|i| self.files.files[i].pinned);
        for &reg in &pins {
            if let Some(place) = self.files.place_of(reg) {
                self.files.files[self.class(reg) as usize].pinned |= 1 << place;
            }
        }
        let partial = match partial {
            Some(partial) => Some((self.columns(partial.columns)?, partial.lanes)),
            None => None,
        };
        let before = std::mem::take(&mut self.out);
        self.loops.push(Open { head, end, parameters: places, partial, pinned_before, before });
        Ok(())
    }

    /// What is to stay in registers throughout a loop.
    fn pins(&self, head: u32, end: u32, partial: Option<Partial>) -> Vec<Reg> {
        let body = &self.steps[head as usize + 1..=end as usize];
        let is_inner = !body.iter().any(|step| matches!(step, Step::Loop { .. } | Step::Call { .. }));
        if !is_inner {
            return Vec::new();
        }
        let inside = |reg: Reg| self.set_at[reg.index()].is_some_and(|at| at >= head);
        let (mut live, mut most) = ([0usize; 3], [0usize; 3]);
        let mut is_live: FxHashMap<Reg, ()> = FxHashMap::default();
        let mut outside: FxHashMap<Reg, u32> = FxHashMap::default();
        for (i, step) in body.iter().enumerate().rev() {
            let at = head + 1 + i as u32;
            let mut new = [0usize; 3];
            sets(step, &mut |reg| {
                if is_live.remove(&reg).is_some() {
                    live[self.class(reg) as usize] -= 1;
                } else {
                    new[self.class(reg) as usize] += 1;
                }
            });
            reads(step, &mut |reg| {
                if inside(reg) {
                    // What cold code computes for itself is no concern of the line.
                    let own = self.set_at[reg.index()] == Some(at);
                    if !own && is_live.insert(reg, ()).is_none() {
                        live[self.class(reg) as usize] += 1;
                    }
                } else if !matches!(self.kinds[reg.index()], Kind::Integer(_)) {
                    // An integer is made where it is read, mostly in cold code.
                    *outside.entry(reg).or_default() += 1;
                }
            });
            for class in 0..3 {
                let cold = matches!(step, Step::Cold { .. });
                most[class] = most[class].max(live[class] + if cold { 0 } else { new[class] });
            }
        }
        if let Some(partial) = partial {
            *outside.entry(partial.columns).or_default() += 1;
        }
        let mut wanted: Vec<(Reg, u32)> = outside.into_iter().collect();
        // The most used first; addresses before all.
        wanted.sort_unstable_by_key(|&(reg, count)| (u32::MAX - count, reg));
        let mut room = [0, 1, 2].map(|i| {
            let spare = most[i] + SPARE[i] + if i == 0 { 1 } else { 0 };
            usize::from(self.files.files[i].count).saturating_sub(spare)
        });
        let mut pins = Vec::new();
        for (reg, _) in wanted {
            let left = &mut room[self.class(reg) as usize];
            if *left > 0 {
                *left -= 1;
                pins.push(reg);
            }
        }
        pins
    }

    pub fn back(&mut self, head: u32, condition: Condition, values: &[Reg]) -> Result<(), Unsupported> {
        let Some(open) = self.loops.last() else {
            return Err(Unsupported("a branch back to nothing".into()));
        };
        if open.head != head {
            return Err(Unsupported("a branch back over a loop".into()));
        }
        let (end, partial) = (open.end, open.partial);
        let wanted: SmallVec<[Move; 2]> =
            open.parameters.iter().zip(values).map(|(&(class, to), &reg)| Move { class, to, reg }).collect();
        // What is in the way is needed after the loop, or in the rest of it.
        if partial.is_some() {
            for m in &wanted {
                let has = self.files.file(m.class).has[m.to as usize];
                if let Some(reg) = has.filter(|&reg| reg != m.reg) {
                    if self.next_use(reg) != u32::MAX {
                        self.store(reg);
                    }
                    self.files.take(m.class, m.to);
                }
            }
        }
        let line = std::mem::take(&mut self.out);
        self.moves(&wanted);
        let moves = std::mem::replace(&mut self.out, line);
        match partial {
            Some(_) => self.out.extend(moves),
            None => self.out.push(Out::Back(condition, moves)),
        }
        if self.at == end {
            self.close()?;
        }
        self.release_dead();
        Ok(())
    }

    fn close(&mut self) -> Result<(), Unsupported> {
        let Some(open) = self.loops.pop() else { return Err(Unsupported("a loop without a head".into())) };
        let body = std::mem::replace(&mut self.out, open.before);
        for (file, pinned) in self.files.files.iter_mut().zip(open.pinned_before) {
            file.pinned = pinned;
        }
        let Some((columns, lanes)) = open.partial else {
            self.out.push(Out::Loop(body));
            return Ok(());
        };
        let index = open.parameters.first().map_or(0, |&(_, place)| place);
        self.out.push(Out::Partial { body, index, columns, lanes });
        Ok(())
    }

    /// Where the row's elements are counted, throughout the loop.
    fn columns(&self, reg: Reg) -> Result<Operand, Unsupported> {
        match (self.files.place_of(reg), self.slots[reg.index()]) {
            (Some(place), _) if self.files.is_pinned(reg) => Ok(Operand::In(in_file(Class::General, place))),
            (_, Some(slot)) if self.stored[reg.index()] => Ok(Operand::At(Memory::spill(slot))),
            _ => Err(Unsupported("the number of columns is nowhere".into())),
        }
    }
}
