//! Loads, stores and their addresses. A load is folded into its only use, unless a store between them may write the
//! memory that the load reads.

use cranelift_codegen::ir::{self, InstructionData, Opcode, Type, Value, types};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{RegClass, TailAccess, VAddress, VBase, VInst, VOperand, VReg, VectorLength};
use crate::select::by_lane::length;
use crate::select::lower::Lower;
use crate::target::Level;

impl Lower<'_> {
    /// The load of a value whose only use is the current instruction, if the load can be moved to that instruction.
    pub(super) fn sunk(&self, v: Value) -> Option<ir::Inst> {
        let v = self.clif.resolve(v);
        let load = self.clif.movable_load(v, self.at?)?;
        self.vregs.of(v).is_none().then_some(load)
    }

    /// Like `sunk`, but also finds a load whose value is used through bitcasts that have no other use.
    pub(super) fn sunk_through_casts(&self, v: Value) -> Option<ir::Inst> {
        let mut v = self.clif.resolve(v);
        while let Some(inner) = self.clif.bitcast_of(v) {
            if !self.clif.is_used_once(v) || self.vregs.of(v).is_some() {
                return None;
            }
            v = inner;
        }
        self.sunk(v)
    }

    /// Whether a load fills a vector register, so that it can be folded as a memory operand.
    pub(super) fn is_whole_operand(&self, inst: ir::Inst) -> bool {
        let ty = self.clif.ty(self.clif.dfg().first_result(inst));
        ty.is_vector() && ty.bytes() >= 16
    }

    /// The address of a load, or of a subvector that an instruction extracts from a loaded value.
    pub(super) fn load_address(&mut self, inst: ir::Inst) -> VAddress {
        if let Some((load, index)) = self.clif.piece_of_load(inst) {
            let ty = self.clif.ty(self.clif.dfg().first_result(inst));
            let whole = self.load_address(load);
            let offset = whole.offset + i32::from(index) * ty.bytes() as i32;
            let first = u16::from(index) * ty.lane_count() as u16;
            let tail = whole.tail.map(|t| TailAccess { lane: t.lane.saturating_add(first), ..t });
            return VAddress { offset, tail, ..whole };
        }
        match self.clif.data(inst) {
            InstructionData::Load { arg, offset, .. } => self.address(arg, offset.into()),
            _ => {
                let args = self.clif.arguments(inst);
                let (address, left) = (args[0], args[1]);
                let element = self.clif.ty(self.clif.dfg().first_result(inst)).lane_bits() / 8;
                self.masked_address(address, left, element)
            }
        }
    }

    fn masked_address(&mut self, address: Value, left: Value, element: u32) -> VAddress {
        // If `left` is not counted from the block's first element, the lane is set to `u16::MAX`, and `check`
        // refuses the function.
        let lane = self.clif.first_lane(left).unwrap_or(u16::MAX);
        let tail = Some(TailAccess { element: element as u8, lane });
        VAddress { tail, ..self.address(address, 0) }
    }

    /// Splits a CLIF address into base, index and offset.
    pub(super) fn address(&mut self, v: Value, offset: i64) -> VAddress {
        let (mut v, mut offset) = (self.clif.resolve(v), offset);
        while let Some((base, by)) = self.clif.linear(v) {
            (v, offset) = (base, offset + by);
        }
        if i32::try_from(offset).is_err() {
            self.refused = Some(Unsupported(format!("an address {offset} bytes from its base")));
        }
        let at = |base, index, offset: i64| VAddress { base, index, offset: offset as i32, tail: None };
        if let Some(inst) = self.clif.def_of(v, Opcode::StackAddr)
            && let InstructionData::StackAddr { stack_slot, offset: inside, .. } = self.clif.dfg().insts[inst]
        {
            let slot = self.clif.slot_offsets[stack_slot.as_u32() as usize];
            return at(VBase::StackSlots, None, i64::from(slot) + i64::from(i32::from(inside)) + offset);
        }
        if let Some(inst) = self.clif.def_of(v, Opcode::Iadd) {
            let args = self.clif.arguments(inst);
            let (mut base, mut index, mut shift) =
                (self.clif.resolve(args[0]), self.clif.resolve(args[1]), 0);
            for _ in 0..2 {
                if let Some(shifted) = self.clif.def_of(index, Opcode::Ishl)
                    && let Some(by @ 0..=3) = self.clif.integer_constant(self.clif.arguments(shifted)[1])
                {
                    (index, shift) = (self.clif.resolve(self.clif.arguments(shifted)[0]), by as u8);
                    break;
                }
                std::mem::swap(&mut base, &mut index);
            }
            let base = self.reg(base);
            let index = self.reg(index);
            return at(VBase::Reg(base), Some((index, shift)), offset);
        }
        let base = self.reg(v);
        at(VBase::Reg(base), None, offset)
    }

    /// Emits the load of a value at the current instruction. Returns the register that holds it.
    pub(super) fn load_now(&mut self, inst: ir::Inst, v: Value) -> VReg {
        let ty = self.clif.ty(v);
        let address = self.load_address(inst);
        let class = if ty.is_vector() || ty.is_float() { RegClass::Vector } else { RegClass::General };
        let def = self.vregs.fresh(class);
        let op = self.load_op(ty);
        self.put(op, length(ty), def, &[VOperand::Mem(address)]);
        def
    }

    /// Selects a gather. The instruction clears its mask, so each gather has a mask of its own; lanes outside of the mask, of which
    /// there are none, would be those of a vector that the result overwrites.
    pub(super) fn gather(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let (ty, positions) = (self.clif.ty(result), self.clif.ty(args[1]));
        let (op, shift) = match ty.lane_bits() {
            32 => (encodings::GATHERQPS, 2),
            64 => (encodings::GATHERQPD, 3),
            _ => return refuse("a gather of narrow lanes"),
        };
        let (base, index) = (self.reg(args[0]), self.reg(args[1]));
        let (def, length) = (self.reg(result), length(positions));
        let from = VOperand::Mem(VAddress {
            base: VBase::Reg(base),
            index: Some((index, shift)),
            offset: 0,
            tail: None,
        });
        let zero = VOperand::Reg(self.vregs.constant(0));
        if self.clif.level == Level::Avx512 {
            let (mask, ones) = (self.vregs.fresh(RegClass::Mask), self.vregs.constant(u64::MAX));
            self.put(encodings::PMOVB2M, VectorLength::L512, mask, &[VOperand::Reg(ones)]);
            self.push(VInst::new(op, length, Some(def), &[zero, from]).tied().merging(mask));
        } else {
            let ones = self.make(encodings::PCMPEQD, length, &[zero, zero]);
            self.push(VInst::new(op, length, Some(def), &[zero, from, VOperand::Reg(ones)]).tied());
        }
        Ok(())
    }

    fn load_op(&self, ty: Type) -> Encoding {
        let evex = self.clif.level == Level::Avx512;
        match ty.bytes() {
            8 if ty == types::I64 => encodings::MOV,
            4 if ty == types::I32 => encodings::MOV32,
            2 if ty == types::I16 => encodings::MOVZX16,
            1 => encodings::MOVZX8,
            4 if evex => encodings::MOVD_E,
            4 => encodings::MOVD,
            8 if evex => encodings::MOVQ_E,
            8 => encodings::MOVQ,
            _ => encodings::MOVUPS,
        }
    }

    /// Selects a load that is not folded into its user.
    pub(super) fn load(&mut self, inst: ir::Inst, result: Value) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let address = self.load_address(inst);
        check(address)?;
        let def = self.reg(result);
        let op = self.load_op(ty);
        self.put(op, length(ty), def, &[VOperand::Mem(address)]);
        Ok(())
    }

    pub(super) fn store(&mut self, inst: ir::Inst) -> Result<(), Unsupported> {
        let InstructionData::Store { args: [value, address], offset, .. } = self.clif.dfg().insts[inst]
        else {
            return refuse("a store of an unknown format");
        };
        let ty = self.clif.ty(value);
        let evex = self.clif.level == Level::Avx512;
        if let Some(constant) = self.clif.integer_constant(value).filter(|_| ty == types::I8) {
            let address = self.address(address, offset.into());
            let inst = VInst::new(encodings::MOV8_I, VectorLength::L128, None, &[VOperand::Mem(address)]);
            self.push(inst.immediate(constant as i8 as i32));
            return Ok(());
        }
        let reg = self.reg(value);
        let address = self.address(address, offset.into());
        let op = match (ty.is_vector() || ty.is_float(), ty.bytes()) {
            (false, 8) => encodings::MOV_STORE,
            (false, 4) => encodings::MOV_STORE32,
            (false, 2) => encodings::MOV_STORE16,
            (false, _) => encodings::MOV_STORE8,
            (true, bytes) => vector_store(bytes, evex),
        };
        self.push(VInst::new(op, length(ty), None, &[VOperand::Mem(address), VOperand::Reg(reg)]));
        Ok(())
    }

    pub(super) fn store_masked(&mut self, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(args[0]);
        let reg = self.reg(args[0]);
        let address = self.masked_address(args[1], args[2], ty.lane_bits() / 8);
        check(address)?;
        let op = vector_store(ty.bytes(), self.clif.level == Level::Avx512);
        self.push(VInst::new(op, length(ty), None, &[VOperand::Mem(address), VOperand::Reg(reg)]));
        Ok(())
    }

    pub(super) fn store_stream(&mut self, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(args[0]);
        let reg = self.reg(args[0]);
        let address = self.address(args[1], 0);
        if ty.bytes() < 16 {
            return refuse("a non-temporal store of less than 128 bits");
        }
        self.push(VInst::new(
            encodings::MOVNTPS,
            length(ty),
            None,
            &[VOperand::Mem(address), VOperand::Reg(reg)],
        ));
        Ok(())
    }

    /// Selects the store of a vector's lowest lane. Steps, which alone need it, are compiled for AVX2.
    pub(super) fn store_first(&mut self, args: &[Value]) -> Result<(), Unsupported> {
        if self.clif.level == Level::Avx512 {
            return refuse("a store of the lowest lane in code for AVX-512");
        }
        let reg = self.reg(args[0]);
        let address = self.address(args[1], 0);
        let store =
            |op| VInst::new(op, VectorLength::L128, None, &[VOperand::Mem(address), VOperand::Reg(reg)]);
        self.push(match self.clif.ty(args[0]).lane_bits() / 8 {
            // The immediate is the lane.
            1 => store(encodings::PEXTRB_STORE).immediate(0),
            2 => store(encodings::PEXTRW_STORE).immediate(0),
            bytes => store(vector_store(bytes, false)),
        });
        Ok(())
    }
}

fn vector_store(bytes: u32, evex: bool) -> Encoding {
    match (bytes, evex) {
        (4, true) => encodings::MOVD_STORE_E,
        (4, false) => encodings::MOVD_STORE,
        (8, true) => encodings::MOVQ_STORE_E,
        (8, false) => encodings::MOVQ_STORE,
        _ => encodings::MOVUPS_STORE,
    }
}

fn check(address: VAddress) -> Result<(), Unsupported> {
    match address.tail {
        Some(tail) if tail.lane == u16::MAX => refuse("a masked access that is not counted from the block"),
        _ => Ok(()),
    }
}
