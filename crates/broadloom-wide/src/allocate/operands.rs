//! Allocates the operands of one operation.
//!
//! A value in memory is folded into the instruction as its memory operand, if the encoding allows it. A result is
//! written only to a register that is free or whose value is dead.

use smallvec::SmallVec;

use crate::allocate::state::Allocator;
use crate::allocated::{AInst, PAddress, PBase, PInst, POperand, PReg};
use crate::encodings::{Encoding, FmaOrder};
use crate::error::{Unsupported, refuse};
use crate::inst::{VAddress, VBase, VInst, VOperand, VReg, VRegKind};
use crate::target::Level;

type RegisterOperands = SmallVec<[POperand; 4]>;

/// An operation whose operands are being allocated.
struct Operation<'i> {
    inst: &'i VInst,
    /// The sources, with the first two exchanged where that saves a move.
    sources: SmallVec<[VOperand; 3]>,
    /// The index in `sources` of the source that the instruction reads from memory: from a spill slot or the constant
    /// pool.
    memory: Option<usize>,
    /// The virtual registers among the sources that no later instruction reads, without duplicates.
    dead: SmallVec<[VReg; 8]>,
    /// The physical registers that hold the sources, as a bit set for each register class.
    held: [u32; 3],
}

impl Operation<'_> {
    fn count(&self, source: VOperand) -> usize {
        self.sources.iter().filter(|&&other| other == source).count()
    }

    /// The source at an index, and whether the instruction reads it from memory.
    fn source(&self, position: usize) -> (VOperand, bool) {
        (self.sources[position], self.memory == Some(position))
    }
}

impl Allocator<'_> {
    pub(super) fn operation(&mut self, inst: &VInst) -> Result<(), Unsupported> {
        let sources = self.commuted(inst);
        let mut op = Operation { inst, sources, memory: None, dead: SmallVec::new(), held: [0; 3] };
        op.memory = self.folded(&op);
        self.fetch_all(&op)?;
        op.held = self.held(&op.sources, inst.mask);
        for reg in inst.reads() {
            if !self.slots.in_cold() && self.is_dead(reg) && !op.dead.contains(&reg) {
                op.dead.push(reg);
            }
        }
        let mask = inst.mask.map(|mask| self.register(mask)).transpose()?;
        let (encoding, operands) = if inst.encoding.is_fma() {
            self.fma(&op)?
        } else if inst.tied {
            (inst.encoding, self.tied(&op)?)
        } else {
            (inst.encoding, self.untied(&op)?)
        };
        let allocated = PInst {
            encoding,
            length: inst.length,
            operands,
            immediate: inst.immediate.map(i64::from),
            mask: mask.map(|mask| mask.number),
            zeroing: inst.zeroing,
        };
        self.emit(AInst::Op { id: self.id(), inst: allocated });
        // Free the register of a result that nothing reads.
        if let Some(def) = inst.def
            && !self.slots.in_cold()
            && self.is_dead(def)
        {
            self.release(def);
        }
        Ok(())
    }

    /// The sources of an operation. If it is commutative, they may be exchanged: a source in a register comes before
    /// one in memory, and in a tied operation, whose result overwrites the first source, a source that is dead
    /// afterwards comes first.
    fn commuted(&self, inst: &VInst) -> SmallVec<[VOperand; 3]> {
        let mut sources = inst.sources.clone();
        if let (true, [first, VOperand::Reg(second)]) = (inst.encoding.commutes, &sources[..])
            && self.register_of(*second).is_some()
        {
            let first = first.reg();
            let is_absent = first.is_none_or(|first| self.register_of(first).is_none());
            let overwrites =
                inst.tied && first.is_some_and(|first| !self.is_dead(first)) && self.is_dead(*second);
            if is_absent || overwrites {
                sources.swap(0, 1);
            }
        }
        sources
    }

    /// The index of the source that the instruction should read from memory instead of a register, if there is one. A
    /// value that the operation reads twice is loaded into a register instead.
    fn folded(&self, op: &Operation<'_>) -> Option<usize> {
        let can_fold = |i: usize| {
            let source = op.sources[i];
            source.reg().is_some_and(|reg| self.is_foldable(reg)) && op.count(source) == 1
        };
        if op.inst.encoding.is_fma() {
            // Fold the addend if possible, otherwise a factor.
            return [2, 0, 1].into_iter().find(|&i| can_fold(i));
        }
        let position = op.inst.encoding.memory.map(usize::from)?;
        let is_free = position < op.sources.len() && (position > 0 || !op.inst.tied);
        (is_free && can_fold(position)).then_some(position)
    }

    /// Whether a value is in no register, and an instruction could read it from memory.
    fn is_foldable(&self, reg: VReg) -> bool {
        self.register_of(reg).is_none()
            && match self.func.kinds[reg.index()] {
                VRegKind::Integer(_) => false,
                VRegKind::Constant(bits) => bits != 0,
                VRegKind::Defined(_) => self.slots.is_stored(reg),
            }
    }

    /// Allocates a tied operation, whose result overwrites its first source. If the first source is read again, the
    /// result overwrites a copy of it.
    fn tied(&mut self, op: &Operation<'_>) -> Result<RegisterOperands, Unsupported> {
        let (VOperand::Reg(first), Some(def)) = (op.sources[0], op.inst.def) else {
            return refuse("a tied instruction without a result");
        };
        let others = self.sources(op, 1..op.sources.len())?;
        let again = op.inst.reads().filter(|&reg| reg == first).count() > 1;
        let can_overwrite = op.dead.contains(&first) && !again;
        let to = self.overwritten(op, first, can_overwrite)?;
        if can_overwrite {
            self.release(first);
        }
        self.define(op, to, def);
        Ok([POperand::Reg(to)].into_iter().chain(others).collect())
    }

    /// The register that a tied operation overwrites: if `can_overwrite`, the source's own register, else a new one
    /// with a copy of the source.
    fn overwritten(
        &mut self,
        op: &Operation<'_>,
        source: VReg,
        can_overwrite: bool,
    ) -> Result<PReg, Unsupported> {
        let from = self.register(source)?;
        if can_overwrite {
            return Ok(from);
        }
        let to = self.room_for(from.class, op.held[from.class as usize])?;
        self.copy(to, from);
        Ok(to)
    }

    fn define(&mut self, op: &Operation<'_>, to: PReg, def: VReg) {
        op.dead.iter().for_each(|&reg| self.release(reg));
        self.registers.put(to, def);
    }

    fn untied(&mut self, op: &Operation<'_>) -> Result<RegisterOperands, Unsupported> {
        let sources = self.sources(op, 0..op.sources.len())?;
        op.dead.iter().for_each(|&reg| self.release(reg));
        let mut operands = RegisterOperands::new();
        if let Some(def) = op.inst.def {
            let class = self.func.class(def);
            let held = self.held(&op.sources, op.inst.mask);
            let to = self.room_for(class, held[class as usize])?;
            self.registers.put(to, def);
            operands.push(POperand::Reg(to));
        }
        operands.extend(sources);
        Ok(operands)
    }

    /// Allocates a multiply-add `a·b + c`. Of the three operand orders (132, 213, 231) it uses the one in which the
    /// result overwrites a dead source, if there is one, and the source folded from memory is the last operand.
    fn fma(&mut self, op: &Operation<'_>) -> Result<(Encoding, RegisterOperands), Unsupported> {
        let (Some(def), [VOperand::Reg(a), VOperand::Reg(b), VOperand::Reg(c)]) =
            (op.inst.def, &op.sources[..])
        else {
            return refuse("a multiply-add of memory");
        };
        let reg = [*a, *b, *c];
        let is_free = |i: usize| op.memory != Some(i);
        let dead = [2, 0, 1].into_iter().find(|&i| is_free(i) && op.dead.contains(&reg[i]));
        let tied = dead.or_else(|| [2, 0, 1].into_iter().find(|&i| is_free(i))).unwrap_or(0);
        let (order, second, third) = match (tied, op.memory) {
            (2, Some(0)) => (FmaOrder::O231, 1, 0),
            (2, _) => (FmaOrder::O231, 0, 1),
            (0, Some(1)) => (FmaOrder::O132, 2, 1),
            (0, _) => (FmaOrder::O213, 1, 2),
            (_, Some(0)) => (FmaOrder::O132, 2, 0),
            (_, _) => (FmaOrder::O213, 0, 2),
        };
        let others = [self.source(op, second)?, self.source(op, third)?];
        let to = self.overwritten(op, reg[tied], dead.is_some())?;
        self.define(op, to, def);
        let operands = [POperand::Reg(to)].into_iter().chain(others).collect();
        Ok((op.inst.encoding.with_fma_order(order), operands))
    }

    /// The physical registers that hold the sources and the mask, as a bit set for each register class.
    fn held(&self, sources: &[VOperand], mask: Option<VReg>) -> [u32; 3] {
        let mut held = [0; 3];
        for reg in sources.iter().flat_map(|source| source.reads()).chain(mask) {
            if let Some(register) = self.register_of(reg) {
                held[register.class as usize] |= 1 << register.number;
            }
        }
        held
    }

    /// Makes sure that each operand that is not folded from memory is in a register.
    fn fetch_all(&mut self, op: &Operation<'_>) -> Result<(), Unsupported> {
        for (i, source) in op.sources.iter().enumerate() {
            if op.memory == Some(i) {
                continue;
            }
            for reg in source.reads() {
                self.fetch_operand(reg, &op.sources, op.inst.mask)?;
            }
        }
        match op.inst.mask {
            Some(mask) => self.fetch_operand(mask, &op.sources, None),
            None => Ok(()),
        }
    }

    fn fetch_operand(
        &mut self,
        reg: VReg,
        sources: &[VOperand],
        mask: Option<VReg>,
    ) -> Result<(), Unsupported> {
        if self.register_of(reg).is_some() {
            return Ok(());
        }
        let class = self.func.class(reg);
        let held = self.held(sources, mask)[class as usize];
        let to = self.room_for(class, held)?;
        self.fetch(to, reg)?;
        self.registers.put(to, reg);
        Ok(())
    }

    fn sources(
        &self,
        op: &Operation<'_>,
        positions: std::ops::Range<usize>,
    ) -> Result<RegisterOperands, Unsupported> {
        positions.map(|position| self.source(op, position)).collect()
    }

    fn source(&self, op: &Operation<'_>, position: usize) -> Result<POperand, Unsupported> {
        Ok(match op.source(position) {
            (VOperand::Reg(reg), true) => POperand::Mem(self.folded_address(reg, op.inst)?),
            (VOperand::Reg(reg), false) => POperand::Reg(self.register(reg)?),
            (VOperand::Mem(address), _) => POperand::Mem(self.address(&address)?),
        })
    }

    /// The address of a value that is folded from memory: its spill slot, or its entry in the constant pool.
    fn folded_address(&self, reg: VReg, inst: &VInst) -> Result<PAddress, Unsupported> {
        match self.func.kinds[reg.index()] {
            VRegKind::Constant(bits) => {
                let halves = bits as u32 == (bits >> 32) as u32;
                let avx512 = self.level == Level::Avx512;
                let (bytes, broadcast) = match inst.encoding.broadcast {
                    4 if avx512 && halves => (4, true),
                    8 if avx512 => (8, true),
                    _ => (inst.length.bytes() as u8, false),
                };
                Ok(PAddress { broadcast, ..PAddress::at(PBase::Pool { bits, bytes }, 0) })
            }
            _ => match self.slots.stored(reg) {
                Some(slot) => Ok(PAddress::at(PBase::Spill(slot), 0)),
                None => refuse("a folded operand outside of memory"),
            },
        }
    }

    fn address(&self, address: &VAddress) -> Result<PAddress, Unsupported> {
        let base = match address.base {
            VBase::Reg(reg) => PBase::Reg(self.register(reg)?.number),
            VBase::StackSlots => PBase::StackSlots,
        };
        let index = match address.index {
            Some((reg, shift)) => Some((self.register(reg)?, shift)),
            None => None,
        };
        Ok(PAddress { index, tail: address.tail, ..PAddress::at(base, address.offset) })
    }
}
