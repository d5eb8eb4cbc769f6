//! One instruction.
//!
//! In: an instruction over values. Out: the same over registers and memory. Must hold: an operand that is in memory is read
//! from there where the machine can do that; a register that is written was nobody's, or its value was done with.

use smallvec::SmallVec;

use crate::Unsupported;
use crate::allocate::Allocator;
use crate::allocate::file::in_file;
use crate::code::{Encoded, Memory, MemoryBase, Operand, Out};
use crate::machine::{Address, Base, Class, Inst, Kind, Reg, Source};

impl Allocator<'_> {
    pub fn inst(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let mut sources: SmallVec<[Source; 3]> = inst.sources.clone();
        let in_register =
            |a: &Self, s: &Source| matches!(s, Source::Reg(r) if a.files.place_of(*r).is_some());
        let is_reg = |s: &Source| matches!(s, Source::Reg(_));
        if inst.op.commutes
            && sources.len() == 2
            && is_reg(&sources[1])
            && !in_register(self, &sources[0])
            && in_register(self, &sources[1])
        {
            sources.swap(0, 1);
        } else if inst.op.commutes && inst.tied && sources.len() == 2 && in_register(self, &sources[1]) {
            // The one that is done with is the one to be written over.
            if let (Source::Reg(x), Source::Reg(y)) = (sources[0], sources[1])
                && !self.is_dead(x)
                && self.is_dead(y)
            {
                sources.swap(0, 1);
            }
        }
        // The operand that stays in memory.
        let mut memory = inst.op.memory.map(usize::from).filter(|&i| {
            i < sources.len()
                && matches!(sources[i], Source::Reg(r) if self.can_stay(r))
                && (i > 0 || !inst.tied)
                && !(inst.op.product)
        });
        // An operand that is there twice is fetched.
        if let Some(i) = memory
            && sources.iter().filter(|&s| *s == sources[i]).count() > 1
        {
            memory = None;
        }
        if inst.op.product {
            let absent = |a: &Self, s: &Source| matches!(s, Source::Reg(r) if a.can_stay(*r));
            let twice = |s: &Source| inst.sources.iter().filter(|&t| t == s).count() > 1;
            // The sum's, then a factor.
            memory = [2, 0, 1].into_iter().find(|&i| absent(self, &sources[i]) && !twice(&sources[i]));
        }
        self.fetch_all(&sources, memory, inst.mask)?;
        let forbidden = self.held(&sources, inst.mask);
        // Those that are done with, each once.
        let mut dead: SmallVec<[Reg; 8]> = SmallVec::new();
        for reg in inst.reads() {
            if self.stored_in_cold.is_none() && self.is_dead(reg) && !dead.contains(&reg) {
                dead.push(reg);
            }
        }
        let evex_mask = inst.mask.map(|m| self.register(m)).transpose()?;
        if inst.op.product {
            return self.product(inst, sources, memory, &dead, forbidden);
        }
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let class = inst.def.map(|def| self.class(def));
        if inst.tied {
            let (Source::Reg(first), Some(def), Some(class)) = (sources[0], inst.def, class) else {
                return Err(Unsupported("an instruction that is tied to nothing".into()));
            };
            let register = self.register(first)?;
            let others = self.operands(&sources[1..], memory.map(|m| m - 1), inst)?;
            let again = inst.reads().filter(|&r| r == first).count() > 1;
            let to = if dead.contains(&first) && !again {
                self.release(first);
                register
            } else {
                let to = self.room_for(class, forbidden[class as usize])?;
                self.copy_register(class, to, register);
                to
            };
            dead.iter().for_each(|&reg| self.release(reg));
            self.files.put(class, to, def);
            operands.push(Operand::In(in_file(class, to)));
            operands.extend(others);
        } else {
            let others = self.operands(&sources, memory, inst)?;
            let free = self.free_slots.len();
            dead.iter().for_each(|&reg| self.release(reg));
            // What gives way for the result must not go where an operand is still to be read.
            let read_here = self.free_slots.split_off(free);
            if let (Some(def), Some(class)) = (inst.def, class) {
                let held = self.held_still(&sources, inst.mask, &dead);
                let to = self.room_for(class, held[class as usize])?;
                self.files.put(class, to, def);
                operands.push(Operand::In(in_file(class, to)));
            }
            self.free_slots.extend(read_here);
            operands.extend(others);
        }
        self.push(inst, inst.op, operands, evex_mask);
        self.done(inst.def);
        Ok(())
    }

    /// A result that nobody reads.
    fn done(&mut self, def: Option<Reg>) {
        if let Some(def) = def
            && self.stored_in_cold.is_none()
            && self.is_dead(def)
        {
            self.release(def);
        }
    }

    fn push(
        &mut self,
        inst: &Inst,
        op: crate::forms::Op,
        operands: SmallVec<[Operand; 4]>,
        mask: Option<u8>,
    ) {
        let (size, zeroing, immediate) = (inst.size, inst.zeroing, inst.immediate.map(i64::from));
        self.out.push(Out::Inst(Encoded { op, size, operands, immediate, mask, zeroing }));
    }

    /// a·b + c, tied to whichever is done with.
    fn product(
        &mut self,
        inst: &Inst,
        sources: SmallVec<[Source; 3]>,
        memory: Option<usize>,
        dead: &[Reg],
        forbidden: [u32; 3],
    ) -> Result<(), Unsupported> {
        let Some(def) = inst.def else { return Err(Unsupported("a product without a result".into())) };
        let regs: SmallVec<[Reg; 3]> =
            sources.iter().filter_map(|s| if let Source::Reg(r) = s { Some(*r) } else { None }).collect();
        let [a, b, c] = regs[..] else { return Err(Unsupported("a product of memory".into())) };
        let free = |i: usize| memory != Some(i) && dead.contains(&[a, b, c][i]);
        let tied = [2, 0, 1].into_iter().find(|&i| free(i));
        let (tied, copy) = match tied {
            Some(i) => (i, false),
            // Not the one in memory.
            None => ([2, 0, 1].into_iter().find(|&i| memory != Some(i)).unwrap_or(0), true),
        };
        // The other two, the one in memory last.
        let (form, second, third) = match (tied, memory) {
            (2, Some(0)) => (2, 1, 0),
            (2, _) => (2, 0, 1),
            (0, Some(1)) => (0, 2, 1),
            (0, _) => (1, 1, 2),
            (_, Some(0)) => (0, 2, 0),
            (_, _) => (1, 0, 2),
        };
        let mut others: SmallVec<[Operand; 2]> = SmallVec::new();
        for place in [second, third] {
            let staying = (memory == Some(place)).then_some(0);
            others.extend(self.operands(&sources[place..=place], staying, inst)?);
        }
        let register = self.register([a, b, c][tied])?;
        let to = if copy {
            let to = self.room_for(Class::Vector, forbidden[Class::Vector as usize])?;
            self.copy_register(Class::Vector, to, register);
            to
        } else {
            register
        };
        dead.iter().for_each(|&reg| self.release(reg));
        self.files.put(Class::Vector, to, def);
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(Operand::In(in_file(Class::Vector, to)));
        operands.extend(others);
        self.push(inst, inst.op.product_form(form), operands, None);
        self.done(inst.def);
        Ok(())
    }

    /// Whether a value is in no register, and can be read where it is.
    fn can_stay(&self, reg: Reg) -> bool {
        self.files.place_of(reg).is_none()
            && match self.kinds[reg.index()] {
                Kind::Integer(_) => false,
                Kind::Constant(bits) => bits != 0,
                Kind::Set(_) => self.stored[reg.index()],
            }
    }

    pub fn room_for(&mut self, class: Class, forbidden: u32) -> Result<u8, Unsupported> {
        self.room(class, forbidden).ok_or_else(|| Unsupported("more operands than registers".into()))
    }

    pub fn register(&self, reg: Reg) -> Result<u8, Unsupported> {
        self.files.place_of(reg).ok_or_else(|| Unsupported("a value that is in no register".into()))
    }

    /// The registers that the operands are in, by file.
    fn held(&self, sources: &[Source], mask: Option<Reg>) -> [u32; 3] {
        self.held_still(sources, mask, &[])
    }

    fn held_still(&self, sources: &[Source], mask: Option<Reg>, dead: &[Reg]) -> [u32; 3] {
        let mut held = [0; 3];
        let mut hold = |reg: Reg| {
            if let Some(place) = self.files.place_of(reg).filter(|_| !dead.contains(&reg)) {
                held[self.class(reg) as usize] |= 1 << place;
            }
        };
        for source in sources {
            match source {
                Source::Reg(reg) => hold(*reg),
                Source::Mem(address) => address.reads().into_iter().flatten().for_each(&mut hold),
            }
        }
        mask.into_iter().for_each(&mut hold);
        held
    }

    /// Brings into registers what has to be in one.
    fn fetch_all(
        &mut self,
        sources: &[Source],
        memory: Option<usize>,
        mask: Option<Reg>,
    ) -> Result<(), Unsupported> {
        for (i, source) in sources.iter().enumerate() {
            let wanted = match source {
                Source::Reg(_) if memory == Some(i) => [None, None],
                Source::Reg(reg) => [Some(*reg), None],
                Source::Mem(address) => address.reads(),
            };
            for reg in wanted.into_iter().flatten() {
                self.fetch_one(reg, sources, mask)?;
            }
        }
        if let Some(mask) = mask {
            self.fetch_one(mask, sources, None)?;
        }
        Ok(())
    }

    fn fetch_one(&mut self, reg: Reg, sources: &[Source], mask: Option<Reg>) -> Result<(), Unsupported> {
        if self.files.place_of(reg).is_some() {
            return Ok(());
        }
        let class = self.class(reg);
        let held = self.held(sources, mask)[class as usize];
        let to = self.room_for(class, held)?;
        self.fetch(class, to, reg);
        self.files.put(class, to, reg);
        Ok(())
    }

    fn operands(
        &mut self,
        sources: &[Source],
        memory: Option<usize>,
        inst: &Inst,
    ) -> Result<SmallVec<[Operand; 4]>, Unsupported> {
        let mut operands = SmallVec::new();
        for (i, source) in sources.iter().enumerate() {
            operands.push(match source {
                Source::Reg(reg) if memory == Some(i) => Operand::At(self.staying(*reg, inst)?),
                Source::Reg(reg) => Operand::In(in_file(self.class(*reg), self.register(*reg)?)),
                Source::Mem(address) => Operand::At(self.memory(address)?),
            });
        }
        Ok(operands)
    }

    /// Where a value that is in no register is read.
    pub fn staying(&self, reg: Reg, inst: &Inst) -> Result<Memory, Unsupported> {
        let all = inst.size.bytes() as u8;
        Ok(match (self.kinds[reg.index()], self.slots[reg.index()]) {
            (Kind::Constant(bits), _) => {
                let halves = bits as u32 == (bits >> 32) as u32;
                let evex = self.level == crate::Level::Avx512;
                let (bytes, broadcast) = match inst.op.broadcast {
                    4 if evex && halves => (4, true),
                    8 if evex => (8, true),
                    _ => (all, false),
                };
                Memory { broadcast, ..Memory::at(MemoryBase::Pool { bits, bytes }, 0) }
            }
            (Kind::Set(_), Some(slot)) => Memory::spill(slot),
            _ => return Err(Unsupported("a value that is nowhere".into())),
        })
    }

    fn memory(&self, address: &Address) -> Result<Memory, Unsupported> {
        let base = match address.base {
            Base::Reg(reg) => MemoryBase::General(self.register(reg)?),
            Base::Frame => MemoryBase::Frame,
        };
        let index = match address.index {
            Some((reg, shift)) => Some((self.register(reg)?, shift)),
            None => None,
        };
        // A scalar for all lanes is what the broadcasting instruction itself reads.
        Ok(Memory { base, index, offset: address.offset, broadcast: false, part: address.part })
    }
}
