//! The register allocator's state at one instruction, and the actions on values that all kinds of instructions share:
//! fetch, spill, evict, free.

use smallvec::SmallVec;

use crate::allocate::liveness::{Liveness, NEVER};
use crate::allocate::parallel;
use crate::allocate::registers::{Pins, Registers};
use crate::allocate::slots::SpillSlots;
use crate::allocated::{AInst, POperand, PReg, RegMove};
use crate::error::Unsupported;
use crate::inst::{InstId, RegClass, VFunction, VReg, VRegKind};
use crate::target::{Convention, Level};

/// A request to move the value `reg` to the physical register `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) to: PReg,
    pub(super) reg: VReg,
}

/// A loop that contains the current instruction.
pub(super) struct OpenLoop {
    pub(super) head: u32,
    pub(super) end: u32,
    /// The registers of the loop's parameters.
    pub(super) parameters: SmallVec<[PReg; 2]>,
    /// For a tail loop (a loop over the blocks of a row, with masks in the last block): the operand that
    /// holds the row's length in elements, and the number of elements of a block.
    pub(super) tail: Option<(POperand, u32)>,
    /// The pins to restore after the loop.
    pub(super) pins: Pins,
    /// The code emitted before the loop.
    pub(super) before: Vec<AInst>,
}

pub(super) struct Allocator<'f> {
    pub(super) func: &'f VFunction,
    pub(super) level: Level,
    pub(super) convention: Convention,
    pub(super) liveness: Liveness,
    pub(super) registers: Registers,
    pub(super) slots: SpillSlots,
    pub(super) loops: Vec<OpenLoop>,
    pub(super) calls: bool,
    code: Vec<AInst>,
    current: InstId,
}

impl<'f> Allocator<'f> {
    pub(super) fn new(func: &'f VFunction, level: Level, convention: Convention) -> Allocator<'f> {
        let count = func.kinds.len();
        Allocator {
            func,
            level,
            convention,
            liveness: Liveness::of(func),
            registers: Registers::new(level, convention, count),
            slots: SpillSlots::new(count),
            loops: Vec::new(),
            calls: false,
            code: Vec::with_capacity(func.insts.len()),
            current: InstId { index: 0, cold: None },
        }
    }

    // The instruction being allocated.

    pub(super) fn begin(&mut self, index: usize) {
        self.current = InstId { index: index as u32, cold: None };
    }

    pub(super) fn begin_cold(&mut self, index: usize) {
        self.current.cold = Some(index as u32);
    }

    pub(super) fn end_cold(&mut self) {
        self.current.cold = None;
    }

    pub(super) fn id(&self) -> InstId {
        self.current
    }

    /// The index of the current instruction. In out-of-line code this is the index of the branch that enters it.
    pub(super) fn at(&self) -> u32 {
        self.current.index
    }

    pub(super) fn next_use(&self, reg: VReg) -> u32 {
        self.liveness.next_use(reg, self.at())
    }

    /// Whether no later instruction reads the value, in this iteration of the loop or in the next one.
    pub(super) fn is_dead(&self, reg: VReg) -> bool {
        self.next_use(reg) == NEVER && !self.registers.is_pinned(reg)
    }

    /// Whether a value was defined before the innermost loop that contains the current instruction.
    fn is_from_outside(&self, reg: VReg) -> bool {
        let defined = self.liveness.defined_at(reg);
        self.loops.last().is_some_and(|open| defined.is_none_or(|at| at < open.head))
    }

    // Emitting code.

    pub(super) fn emit(&mut self, inst: AInst) {
        self.code.push(inst);
    }

    pub(super) fn emit_move(&mut self, m: RegMove) {
        if let RegMove::Copy { to, .. } | RegMove::Reload { to, .. } = m {
            self.registers.note_written(to);
        }
        self.code.push(AInst::Move(m));
    }

    /// Begins a nested body, to which instructions are now emitted. Returns the code emitted before it, to be
    /// passed to `end_body`.
    pub(super) fn begin_body(&mut self) -> Vec<AInst> {
        std::mem::take(&mut self.code)
    }

    /// Ends a nested body and returns it. Instructions are emitted after `before` again.
    pub(super) fn end_body(&mut self, before: Vec<AInst>) -> Vec<AInst> {
        std::mem::replace(&mut self.code, before)
    }

    // Registers and spill slots.

    pub(super) fn register_of(&self, reg: VReg) -> Option<PReg> {
        let number = self.registers.number_of(reg)?;
        Some(PReg { class: self.func.class(reg), number })
    }

    pub(super) fn register(&self, reg: VReg) -> Result<PReg, Unsupported> {
        self.register_of(reg).ok_or_else(|| Unsupported("an operand outside of registers".into()))
    }

    pub(super) fn copy(&mut self, to: PReg, from: PReg) {
        if to != from {
            self.emit_move(RegMove::Copy { to, from });
        }
    }

    /// Stores a value in its spill slot, unless it is there already.
    pub(super) fn spill(&mut self, reg: VReg) {
        if self.func.is_constant(reg) || self.slots.is_stored(reg) {
            return;
        }
        let Some(from) = self.register_of(reg) else { return };
        let slot = self.slots.store(reg);
        self.emit_move(RegMove::Spill { slot, from });
    }

    /// The move that loads a value into a register from its spill slot, or rematerialises it if it is a constant.
    fn materialise(&self, to: PReg, reg: VReg) -> Result<RegMove, Unsupported> {
        Ok(match self.func.kinds[reg.index()] {
            VRegKind::Constant(bits) => RegMove::Constant { to: to.number, bits },
            VRegKind::Integer(value) => RegMove::Integer { to: to.number, value },
            VRegKind::Defined(_) => match self.slots.stored(reg) {
                Some(slot) => RegMove::Reload { to, slot },
                // A use without a definition is a bug in instruction selection.
                None => return Err(Unsupported(format!("a use of v{} without a definition", reg.0))),
            },
        })
    }

    /// Emits the move that brings a value into a register: a copy, a reload from its spill slot, or the constant. The
    /// caller records what the register holds.
    pub(super) fn fetch(&mut self, to: PReg, reg: VReg) -> Result<(), Unsupported> {
        self.registers.note_written(to);
        match self.register_of(reg) {
            Some(from) => self.copy(to, from),
            None => {
                let m = self.materialise(to, reg)?;
                self.emit_move(m);
            }
        }
        Ok(())
    }

    /// Moves that have the effect of moving all these values to their registers at the same time.
    pub(super) fn parallel_moves(&mut self, wanted: &[Wanted]) -> Result<Vec<RegMove>, Unsupported> {
        let copies: SmallVec<[(PReg, PReg); 16]> = wanted
            .iter()
            .filter_map(|w| self.register_of(w.reg).map(|from| (w.to, from)))
            .filter(|(to, from)| to != from)
            .collect();
        let mut moves = Vec::new();
        parallel::sequence(&copies, || self.slots.fresh(), &mut moves);
        for w in wanted {
            self.registers.note_written(w.to);
            if self.register_of(w.reg).is_none() {
                moves.push(self.materialise(w.to, w.reg)?);
            }
        }
        Ok(moves)
    }

    /// A free register of a class that is not in the bit set `forbidden`. If there is none, the value whose next use is
    /// farthest away is evicted.
    pub(super) fn room_for(&mut self, class: RegClass, forbidden: u32) -> Result<PReg, Unsupported> {
        if let Some(number) = self.registers.free(class, forbidden) {
            return Ok(PReg { class, number });
        }
        let mut victim = None;
        for (number, reg) in self.registers.evictable(class, forbidden) {
            let next = u64::from(self.next_use(reg));
            // Among registers whose next uses are equally far, prefer a value that need not be stored.
            let cheap = u64::from(self.func.is_constant(reg) || self.slots.is_stored(reg));
            let late = 2 * next + cheap + 1;
            if victim.is_none_or(|(_, _, latest)| late > latest) {
                victim = Some((number, reg, late));
            }
        }
        let Some((number, reg, _)) = victim else {
            return Err(Unsupported("more operands than registers".into()));
        };
        let is_needed =
            self.slots.in_cold() || self.next_use(reg) != NEVER || self.liveness.is_read_at(reg, self.at());
        if is_needed {
            self.spill(reg);
        }
        let register = PReg { class, number };
        self.registers.take(register);
        Ok(register)
    }

    /// Frees the register and the spill slot of a dead value. The slot is kept if the next iteration of the loop reads
    /// the value from it.
    pub(super) fn release(&mut self, reg: VReg) {
        if let Some(register) = self.register_of(reg) {
            self.registers.take(register);
        }
        if !self.is_from_outside(reg) {
            self.slots.free(reg);
        }
    }

    /// Frees the registers of all values that are dead.
    pub(super) fn release_dead(&mut self) {
        for class in RegClass::ALL {
            for (_, reg) in self.registers.held(class) {
                if self.is_dead(reg) {
                    self.release(reg);
                }
            }
        }
    }

    /// Returns the emitted code, with the final states of the registers and the spill slots.
    pub(super) fn finish(self) -> (Vec<AInst>, Registers, SpillSlots) {
        (self.code, self.registers, self.slots)
    }
}
