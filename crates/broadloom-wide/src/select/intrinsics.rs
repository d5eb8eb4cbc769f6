//! Selects machine instructions for calls of intrinsics. Extract and concat, the intrinsics on subvectors, are lowered
//! here.

use cranelift_codegen::ir::{self, Opcode, Value};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{RegClass, VInst, VOperand, VReg, VectorLength};
use crate::intrinsic::Intrinsic;
use crate::select::by_lane::{lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

impl Lower<'_> {
    pub(super) fn call(&mut self, inst: ir::Inst, result: Option<Value>) -> Result<(), Unsupported> {
        let args = self.clif.arguments(inst);
        let Some(intrinsic) = self.clif.intrinsic(inst) else {
            return refuse("a call of an unknown function");
        };
        let Some(result) = result else {
            return match intrinsic {
                Intrinsic::StorePart => self.store_masked(args),
                Intrinsic::StoreStream => self.store_stream(args),
                Intrinsic::StoreFirst => self.store_first(args),
                _ => refuse("a call without a result"),
            };
        };
        if self.clif.is_mask(result) && self.clif.level == Level::Avx512 {
            return self.mask_result(inst, Opcode::Call, result);
        }
        match intrinsic {
            Intrinsic::LoadPart => self.load(inst, result),
            Intrinsic::Gather => self.gather(result, args),
            Intrinsic::Broadcast => self.splat(result, args[0]),
            Intrinsic::Piece(index) => self.extract(result, args[0], index.into()),
            Intrinsic::Concat => self.concat(result, args),
            Intrinsic::ShiftLeft | Intrinsic::ShiftRight | Intrinsic::ShiftRightSigned => {
                self.shift_lanes(intrinsic, result, args)
            }
            Intrinsic::TruncatePair => self.truncate_pair(result, args),
            Intrinsic::MultiplyHigh => self.multiply_high(result, args),
            Intrinsic::ShiftRightUniform => self.shift_right_uniform(result, args),
            Intrinsic::Minimum | Intrinsic::Maximum => self.float_extremum(intrinsic, result, args),
            Intrinsic::Reverse => self.reverse(result, args[0]),
            Intrinsic::EverySecond => self.every_second(result, args),
            _ => self.conversion(intrinsic, result, args[0]),
        }
    }

    fn shift_lanes(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        args: &[Value],
    ) -> Result<(), Unsupported> {
        let place = match lane(self.clif.ty(result)) {
            2 => 0,
            4 => 1,
            8 => 2,
            _ => return refuse("a shift of bytes by a count per lane"),
        };
        let ops: [Encoding; 3] = match intrinsic {
            Intrinsic::ShiftLeft => [encodings::PSLLVW, encodings::PSLLVD, encodings::PSLLVQ],
            Intrinsic::ShiftRight => [encodings::PSRLVW, encodings::PSRLVD, encodings::PSRLVQ],
            _ => [encodings::PSRAVW, encodings::PSRAVD, encodings::PSRAVQ],
        };
        if self.clif.level == Level::Avx2
            && (place == 0 || place == 2 && intrinsic == Intrinsic::ShiftRightSigned)
        {
            return self.shift_lanes_avx2(intrinsic, result, args);
        }
        self.binary(ops[place], result, args);
        Ok(())
    }

    /// Selects the minimum or maximum of floats, with −0 smaller than 0. AVX-512 has an instruction for it. On AVX2,
    /// `MIN` and `MAX` return the second operand if both are equal, so the result is computed with the operands in both
    /// orders; the bitwise OR (for the minimum) or AND (for the maximum) of the two results has the right sign of zero.
    fn float_extremum(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        args: &[Value],
    ) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let (is_least, is_single) = (intrinsic == Intrinsic::Minimum, lane(ty) == 4);
        if self.clif.level == Level::Avx512 {
            let op = if is_single { encodings::RANGEPS } else { encodings::RANGEPD };
            let (def, x, y) = (self.reg(result), VOperand::Reg(self.reg(args[0])), self.source(args[1]));
            // Bit 0 of the immediate selects the maximum; bits 2 and 3 select the sign of the result.
            let how = if is_least { 4 } else { 5 };
            self.push(VInst::new(op, length(ty), Some(def), &[x, y]).immediate(how));
            return Ok(());
        }
        let (op, join) = match (is_least, is_single) {
            (true, true) => (encodings::MINPS, encodings::POR),
            (true, false) => (encodings::MINPD, encodings::POR),
            (false, true) => (encodings::MAXPS, encodings::PAND),
            (false, false) => (encodings::MAXPD, encodings::PAND),
        };
        let def = self.reg(result);
        let [x, y] = [args[0], args[1]].map(|v| VOperand::Reg(self.reg(v)));
        let both = [[x, y], [y, x]].map(|sources| VOperand::Reg(self.make(op, length(ty), &sources)));
        self.put(join, length(ty), def, &both);
        Ok(())
    }

    fn extract(&mut self, result: Value, x: Value, index: u32) -> Result<(), Unsupported> {
        if self.clif.lowest_subvector_of(result).is_some() {
            return Ok(());
        }
        let (from, to) = (self.clif.ty(x).bytes(), self.clif.ty(result).bytes());
        let (def, x) = (self.reg(result), self.reg(x));
        self.extract_at(def, x, from, to, index * to);
        Ok(())
    }

    /// Emits the extraction of `bytes` bytes at the byte offset `at`, which is not 0, from a vector of `from` bytes.
    fn extract_at(&mut self, def: VReg, x: VReg, from: u32, bytes: u32, at: u32) {
        let evex = self.clif.level == Level::Avx512;
        if bytes >= 32 {
            let inst =
                VInst::new(encodings::EXTRACTI64X4, VectorLength::L512, Some(def), &[VOperand::Reg(x)]);
            return self.push(inst.immediate((at / 32) as i32));
        }
        let (quarter, inside) = (at / 16, at % 16);
        let mut x = x;
        if quarter > 0 {
            let to = if inside == 0 { def } else { self.vregs.fresh(RegClass::Vector) };
            let (op, length) = match evex {
                true => (encodings::EXTRACTI32X4, VectorLength::of_bytes(from)),
                false => (encodings::EXTRACTI128, VectorLength::L256),
            };
            self.push(VInst::new(op, length, Some(to), &[VOperand::Reg(x)]).immediate(quarter as i32));
            x = to;
        }
        if inside > 0 {
            let op = if evex { encodings::PSRLDQ_E } else { encodings::PSRLDQ };
            self.push(
                VInst::new(op, VectorLength::L128, Some(def), &[VOperand::Reg(x)]).immediate(inside as i32),
            );
        }
    }

    fn concat(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let evex = self.clif.level == Level::Avx512;
        let (def, low) = (self.reg(result), VOperand::Reg(self.reg(args[0])));
        let high = self.reg(args[1]);
        let (op, immediate) = match (ty.bytes(), evex) {
            (64, _) => (encodings::INSERTI64X4, Some(1)),
            (32, true) => (encodings::INSERTI32X4, Some(1)),
            (32, false) => (encodings::INSERTI128, Some(1)),
            (16, _) => (encodings::PUNPCKLQDQ, None),
            (8, _) => (encodings::PUNPCKLDQ, None),
            _ => return refuse(format!("a concatenation to {ty}")),
        };
        let inst = VInst::new(op, length(ty), Some(def), &[low, VOperand::Reg(high)]);
        self.push(VInst { immediate, ..inst });
        Ok(())
    }
}
