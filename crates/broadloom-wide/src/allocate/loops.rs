//! Allocates registers around loops.
//!
//! At the head of a loop the pinned values and the loop's parameters are in registers and all other values are in
//! memory, whichever way control reaches the head. A branch back therefore moves only the parameters' next values.

use smallvec::SmallVec;

use crate::allocate::liveness::NEVER;
use crate::allocate::pins;
use crate::allocate::state::{Allocator, OpenLoop, Wanted};
use crate::allocated::{AInst, PAddress, PBase, POperand, PReg};
use crate::error::{Unsupported, refuse};
use crate::inst::{Condition, InstId, LoopParameter, RegClass, TailLoop, VReg};

impl Allocator<'_> {
    pub(super) fn open_loop(
        &mut self,
        parameters: &[LoopParameter],
        end: u32,
        tail: Option<TailLoop>,
    ) -> Result<(), Unsupported> {
        let head = self.at();
        let registers = RegClass::ALL.map(|class| self.registers.count(class));
        let pins = pins::choose(self.func, &self.liveness, (head, end), tail, registers);
        self.spill_all_but(&pins, parameters);
        // A pinned value is not stored in a spill slot here: it needs one only if an instruction after the loop, or the
        // next iteration of an outer loop, reads it from memory.
        for &reg in &pins {
            if self.register_of(reg).is_none() {
                let to = self.room_for(self.func.class(reg), 0)?;
                self.fetch(to, reg)?;
                self.registers.put(to, reg);
            }
        }
        let parameters = self.place_parameters(parameters, &pins)?;
        let func = self.func;
        let before_pins = self.registers.pin(pins.iter().map(|&reg| (func.class(reg), reg)));
        let tail = match tail {
            Some(tail) => Some((self.columns(tail.columns)?, tail.lanes)),
            None => None,
        };
        let before = self.begin_body();
        self.loops.push(OpenLoop { head, end, parameters, tail, pins: before_pins, before });
        Ok(())
    }

    /// Frees all registers except the registers of pinned values and of the parameters' initial values. Values that are read
    /// later are stored in their spill slots first.
    fn spill_all_but(&mut self, pins: &[VReg], parameters: &[LoopParameter]) {
        for class in RegClass::ALL {
            for (register, reg) in self.registers.held(class) {
                if pins.contains(&reg) {
                    continue;
                }
                if self.next_use(reg) != NEVER {
                    self.spill(reg);
                }
                if !parameters.iter().any(|p| p.initial == reg) {
                    self.registers.take(register);
                }
            }
        }
    }

    /// Gives each loop parameter a register of its own, whether it is read or not, because the branch back writes all of them.
    fn place_parameters(
        &mut self,
        parameters: &[LoopParameter],
        pins: &[VReg],
    ) -> Result<SmallVec<[PReg; 2]>, Unsupported> {
        let mut registers: SmallVec<[PReg; 2]> = SmallVec::new();
        for &LoopParameter { parameter, initial } in parameters {
            let class = self.func.class(parameter);
            let same_class = registers.iter().filter(|r| r.class == class);
            let held = same_class.fold(0u32, |held, r| held | 1 << r.number);
            let to = self.room_for(class, held)?;
            self.fetch(to, initial)?;
            self.registers.put(to, parameter);
            registers.push(to);
        }
        for p in parameters {
            if let Some(register) = self.register_of(p.initial).filter(|_| !pins.contains(&p.initial)) {
                self.registers.take(register);
            }
        }
        Ok(registers)
    }

    pub(super) fn back(
        &mut self,
        head: u32,
        condition: Condition,
        values: &[VReg],
    ) -> Result<(), Unsupported> {
        let Some(open) = self.loops.last() else { return refuse("a branch back outside of loops") };
        if open.head != head {
            return refuse("a branch back over an inner loop");
        }
        let (end, is_tail) = (open.end, open.tail.is_some());
        let wanted: SmallVec<[Wanted; 2]> =
            open.parameters.iter().zip(values).map(|(&to, &reg)| Wanted { to, reg }).collect();
        if is_tail {
            if self.at() != end {
                return refuse("a loop over blocks with two branches back");
            }
            self.clear(&wanted);
        }
        let moves = self.parallel_moves(&wanted)?;
        match is_tail {
            true => moves.into_iter().for_each(|m| self.emit(AInst::Move(m))),
            false => self.emit(AInst::Back { id: self.id(), condition, moves }),
        }
        if self.at() == end {
            self.close_loop(head)?;
        }
        self.release_dead();
        Ok(())
    }

    /// Frees the registers to which the branch back of a tail loop moves the loop's parameters. These moves
    /// also run when the loop ends, so a value in such a register that is read after the loop is spilled
    /// first.
    fn clear(&mut self, wanted: &[Wanted]) {
        for w in wanted {
            if let Some(reg) = self.registers.held_by(w.to).filter(|&reg| reg != w.reg) {
                if self.next_use(reg) != NEVER {
                    self.spill(reg);
                }
                self.registers.take(w.to);
            }
        }
    }

    fn close_loop(&mut self, head: u32) -> Result<(), Unsupported> {
        let Some(open) = self.loops.pop() else { return refuse("a loop without a head") };
        let body = self.end_body(open.before);
        self.registers.restore_pins(open.pins);
        let id = InstId { index: head, cold: None };
        self.emit(match (open.tail, open.parameters.first()) {
            (None, _) => AInst::Loop { id, body },
            (Some((columns, lanes)), Some(index)) => {
                AInst::TailLoop { id, body, back: self.id(), index: index.number, columns, lanes }
            }
            (Some(_), None) => return refuse("a loop over blocks without an index"),
        });
        Ok(())
    }

    /// The location of the length of a row, in elements: a register or spill slot that holds it during the whole loop.
    fn columns(&self, reg: VReg) -> Result<POperand, Unsupported> {
        match (self.register_of(reg), self.slots.stored(reg)) {
            (Some(register), _) if self.registers.is_pinned(reg) => Ok(POperand::Reg(register)),
            (_, Some(slot)) => Ok(POperand::Mem(PAddress::at(PBase::Spill(slot), 0))),
            _ => refuse("a number of columns outside of registers and memory"),
        }
    }
}
