//! Loads, stores and their addresses.
//!
//! In: accesses of CLIF. Out: operands in memory, or instructions that move. Must hold: a load is taken in by its only
//! use, and moves there past no store.

use cranelift_codegen::ir::{Inst as ClifInst, InstructionData as Data, Opcode, Type, Value, types};

use crate::forms::{self, Op};
use crate::intrinsic::Intrinsic;
use crate::machine::{Address, Base, Class, Inst, Part, Reg, Size, Source};
use crate::select::{Select, refuse, size};
use crate::{Level, Unsupported};

impl Select<'_> {
    /// The load of a value that is used here only, and as good as here.
    pub fn sunk(&self, v: Value) -> Option<ClifInst> {
        let v = self.resolve(v);
        let (inst, at) = (self.def(v)?, self.at?);
        let is_load = match self.dfg().insts[inst].opcode() {
            Opcode::Load => true,
            Opcode::Call => self.intrinsic(inst) == Some(Intrinsic::LoadPart),
            _ => false,
        };
        let place = |i: ClifInst| i.as_u32() as usize;
        let once = self.uses[v.as_u32() as usize] == 1 && self.regs[v.as_u32() as usize].is_none();
        if !(is_load && once) || self.blocks[place(inst)] != self.blocks[place(at)] {
            return None;
        }
        let between = self.stores[place(inst)] as usize..self.stores[place(at)] as usize;
        let apart = self.stored[between].iter().all(|&store| self.are_apart(inst, store));
        apart.then_some(inst)
    }

    /// Whether a store can't write what a load reads: other elements of a row. An output is an input in place, element for
    /// element, or overlaps none.
    fn are_apart(&self, load: ClifInst, store: ClifInst) -> bool {
        let part = |inst: ClifInst, intrinsic, left: usize| {
            let is_part = self.intrinsic(inst) == Some(intrinsic);
            let left = self.arguments(inst).get(left).copied().filter(|_| is_part)?;
            self.first_lane(left).ok()
        };
        match (part(load, Intrinsic::LoadPart, 1), part(store, Intrinsic::StorePart, 2)) {
            (Some(read), Some(written)) => read != written,
            _ => false,
        }
    }

    /// The same, through bitcasts that are used here only.
    pub fn sunk_through_casts(&self, v: Value) -> Option<ClifInst> {
        let mut v = self.resolve(v);
        while let Some(inner) = self.bitcast_of(v) {
            if self.uses[v.as_u32() as usize] != 1 || self.regs[v.as_u32() as usize].is_some() {
                return None;
            }
            v = inner;
        }
        self.sunk(v)
    }

    /// Whether a load fills a register of some length, so that it can stand for one.
    pub fn is_whole_operand(&self, inst: ClifInst) -> bool {
        let ty = self.ty(self.dfg().first_result(inst));
        ty.is_vector() && ty.bytes() >= 16
    }

    /// Where a load reads.
    pub fn load_address(&mut self, inst: ClifInst) -> Address {
        match self.dfg().insts[inst] {
            Data::Load { arg, offset, .. } => self.address(arg, offset.into()),
            _ => {
                let args = self.arguments(inst);
                let (address, left) = (args[0], args[1]);
                let element = self.ty(self.dfg().first_result(inst)).lane_bits() / 8;
                self.part_address(address, left, element)
            }
        }
    }

    fn part_address(&mut self, address: Value, left: Value, element: u32) -> Address {
        // What is wrong with `left` was found when the loop was surveyed, or is found by `store` and `load_now`.
        let lane = self.first_lane(left).unwrap_or(u16::MAX);
        Address { part: Some(Part { element: element as u8, lane }), ..self.address(address, 0) }
    }

    /// An address as a base, an index and an offset.
    pub fn address(&mut self, v: Value, offset: i64) -> Address {
        let (mut v, mut offset) = (self.resolve(v), offset);
        while let Some((base, by)) = self.linear(v) {
            (v, offset) = (base, offset + by);
        }
        if i32::try_from(offset).is_err() {
            self.refused = Some(Unsupported(format!("an address {offset} bytes from another")));
        }
        let at = |base, index, offset: i64| Address {
            base,
            index,
            offset: offset as i32,
            part: None,
            broadcast: 0,
        };
        if let Some(inst) = self.def_of(v, Opcode::StackAddr)
            && let Data::StackAddr { stack_slot, offset: inside, .. } = self.dfg().insts[inst]
        {
            let slot = self.slots[stack_slot.as_u32() as usize];
            return at(Base::Frame, None, i64::from(slot) + i64::from(i32::from(inside)) + offset);
        }
        if let Some(inst) = self.def_of(v, Opcode::Iadd) {
            let args = self.arguments(inst);
            let (mut base, mut index, mut shift) = (self.resolve(args[0]), self.resolve(args[1]), 0);
            for _ in 0..2 {
                if let Some(shifted) = self.def_of(index, Opcode::Ishl)
                    && let Some(by @ 0..=3) = self.integer_constant(self.arguments(shifted)[1])
                {
                    (index, shift) = (self.resolve(self.arguments(shifted)[0]), by as u8);
                    break;
                }
                std::mem::swap(&mut base, &mut index);
            }
            let base = self.reg(base);
            let index = self.reg(index);
            return at(Base::Reg(base), Some((index, shift)), offset);
        }
        let base = self.reg(v);
        at(Base::Reg(base), None, offset)
    }

    /// Loads a value right here.
    pub fn load_now(&mut self, inst: ClifInst, v: Value) -> Reg {
        let ty = self.ty(v);
        let address = self.load_address(inst);
        let class = if ty.is_vector() || ty.is_float() { Class::Vector } else { Class::General };
        let def = self.fresh(class);
        let op = self.load_op(ty);
        self.put(op, size(ty), def, &[Source::Mem(address)]);
        def
    }

    fn load_op(&self, ty: Type) -> Op {
        let evex = self.level == Level::Avx512;
        match ty.bytes() {
            8 if ty == types::I64 => forms::MOV,
            4 if ty == types::I32 => forms::MOV32,
            2 if ty == types::I16 => forms::MOVZX16,
            1 => forms::MOVZX8,
            4 if evex => forms::MOVD_E,
            4 => forms::MOVD,
            8 if evex => forms::MOVQ_E,
            8 => forms::MOVQ,
            _ => forms::MOVUPS,
        }
    }

    /// A load whose value is used more than once, or elsewhere.
    pub fn load(&mut self, inst: ClifInst, result: Value) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let address = self.load_address(inst);
        check(address)?;
        let def = self.reg(result);
        let op = self.load_op(ty);
        self.put(op, size(ty), def, &[Source::Mem(address)]);
        Ok(())
    }

    pub fn store(&mut self, inst: ClifInst) -> Result<(), Unsupported> {
        let Data::Store { args: [value, address], offset, .. } = self.dfg().insts[inst] else {
            return refuse("a store of another format");
        };
        let ty = self.ty(value);
        let evex = self.level == Level::Avx512;
        if let Some(constant) = self.integer_constant(value).filter(|_| ty == types::I8) {
            let address = self.address(address, offset.into());
            let inst = Inst::new(forms::MOV8_I, Size::X, None, &[Source::Mem(address)]);
            self.push(inst.immediate(constant as i8 as i32));
            return Ok(());
        }
        let reg = self.reg(value);
        let address = self.address(address, offset.into());
        let op = match (ty.is_vector() || ty.is_float(), ty.bytes()) {
            (false, 8) => forms::MOV_STORE,
            (false, 4) => forms::MOV_STORE32,
            (false, 2) => forms::MOV_STORE16,
            (false, _) => forms::MOV_STORE8,
            (true, bytes) => vector_store(bytes, evex),
        };
        self.push(Inst::new(op, size(ty), None, &[Source::Mem(address), Source::Reg(reg)]));
        Ok(())
    }

    pub fn store_part(&mut self, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.ty(args[0]);
        let reg = self.reg(args[0]);
        let address = self.part_address(args[1], args[2], ty.lane_bits() / 8);
        check(address)?;
        let op = vector_store(ty.bytes(), self.level == Level::Avx512);
        self.push(Inst::new(op, size(ty), None, &[Source::Mem(address), Source::Reg(reg)]));
        Ok(())
    }

    pub fn store_stream(&mut self, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.ty(args[0]);
        let reg = self.reg(args[0]);
        let address = self.address(args[1], 0);
        if ty.bytes() < 16 {
            return refuse("a store past the caches of less than 128 bits");
        }
        self.push(Inst::new(forms::MOVNTPS, size(ty), None, &[Source::Mem(address), Source::Reg(reg)]));
        Ok(())
    }
}

fn vector_store(bytes: u32, evex: bool) -> Op {
    match (bytes, evex) {
        (4, true) => forms::MOVD_STORE_E,
        (4, false) => forms::MOVD_STORE,
        (8, true) => forms::MOVQ_STORE_E,
        (8, false) => forms::MOVQ_STORE,
        _ => forms::MOVUPS_STORE,
    }
}

fn check(address: Address) -> Result<(), Unsupported> {
    match address.part {
        Some(part) if part.lane == u16::MAX => {
            refuse("a part of a vector that is not counted from the block")
        }
        _ => Ok(()),
    }
}
