//! Intrinsics, and what moves lanes between vectors.
//!
//! In: calls of [`Intrinsic`]s. Out: instructions of the machine. Must hold: lanes keep their order.

use cranelift_codegen::ir::{Inst as ClifInst, Opcode, Value};

use crate::forms::{self, Op};
use crate::intrinsic::Intrinsic;
use crate::machine::{Class, Inst, Reg, Size, Source};
use crate::select::masks::lane;
use crate::select::{Select, refuse, size};
use crate::{Level, Unsupported};

impl Select<'_> {
    pub fn call(&mut self, inst: ClifInst, result: Option<Value>) -> Result<(), Unsupported> {
        let args = self.arguments(inst);
        let Some(intrinsic) = self.intrinsic(inst) else { return refuse("a call of an unknown function") };
        let Some(result) = result else {
            return match intrinsic {
                Intrinsic::StorePart => self.store_part(args),
                Intrinsic::StoreStream => self.store_stream(args),
                _ => refuse("a call without a result"),
            };
        };
        if self.is_mask_value(result) && self.level == Level::Avx512 {
            return self.mask_result(inst, Opcode::Call, result);
        }
        match intrinsic {
            Intrinsic::LoadPart => self.load(inst, result),
            Intrinsic::Broadcast => self.splat(result, args[0]),
            Intrinsic::Piece(place) => self.piece(result, args[0], place.into()),
            Intrinsic::Concat => self.concat(result, args),
            Intrinsic::ShiftLeft | Intrinsic::ShiftRight | Intrinsic::ShiftRightSigned => {
                self.shift_lanes(intrinsic, result, args)
            }
            _ => self.conversion(intrinsic, result, args[0]),
        }
    }

    fn shift_lanes(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        args: &[Value],
    ) -> Result<(), Unsupported> {
        let place = match lane(self.ty(result)) {
            2 => 0,
            4 => 1,
            8 => 2,
            _ => return refuse("a shift of bytes by counts of their own"),
        };
        let ops: [Op; 3] = match intrinsic {
            Intrinsic::ShiftLeft => [forms::PSLLVW, forms::PSLLVD, forms::PSLLVQ],
            Intrinsic::ShiftRight => [forms::PSRLVW, forms::PSRLVD, forms::PSRLVQ],
            _ => [forms::PSRAVW, forms::PSRAVD, forms::PSRAVQ],
        };
        if self.level == Level::Avx2 && (place == 0 || place == 2 && intrinsic == Intrinsic::ShiftRightSigned)
        {
            return self.shift_lanes_avx2(intrinsic, result, args);
        }
        self.binary(ops[place], result, args);
        Ok(())
    }

    /// The vector of which a value is the first piece: what lies above a piece may be anything. A mask in a register of
    /// its own has zeros there.
    pub fn first_piece_of(&self, v: Value) -> Option<Value> {
        let inst = self.def_of(v, Opcode::Call)?;
        let in_vector = self.level == Level::Avx2 || !self.is_mask_value(v);
        let first = in_vector && self.intrinsic(inst) == Some(Intrinsic::Piece(0));
        first.then(|| self.resolve(self.arguments(inst)[0]))
    }

    fn piece(&mut self, result: Value, x: Value, place: u32) -> Result<(), Unsupported> {
        if self.first_piece_of(result).is_some() {
            return Ok(());
        }
        let (from, to) = (self.ty(x).bytes(), self.ty(result).bytes());
        let (def, x) = (self.reg(result), self.reg(x));
        self.piece_of(def, x, from, to, place * to);
        Ok(())
    }

    /// So many bytes of a register from a byte on, which is not the first.
    fn piece_of(&mut self, def: Reg, x: Reg, from: u32, bytes: u32, at: u32) {
        let evex = self.level == Level::Avx512;
        if bytes >= 32 {
            let inst = Inst::new(forms::EXTRACTI64X4, Size::Z, Some(def), &[Source::Reg(x)]);
            return self.push(inst.immediate((at / 32) as i32));
        }
        let (quarter, inside) = (at / 16, at % 16);
        let mut x = x;
        if quarter > 0 {
            let to = if inside == 0 { def } else { self.fresh(Class::Vector) };
            let (op, size) = match evex {
                true => (forms::EXTRACTI32X4, Size::of_bytes(from)),
                false => (forms::EXTRACTI128, Size::Y),
            };
            self.push(Inst::new(op, size, Some(to), &[Source::Reg(x)]).immediate(quarter as i32));
            x = to;
        }
        if inside > 0 {
            let op = if evex { forms::PSRLDQ_E } else { forms::PSRLDQ };
            self.push(Inst::new(op, Size::X, Some(def), &[Source::Reg(x)]).immediate(inside as i32));
        }
    }

    fn concat(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let evex = self.level == Level::Avx512;
        let (def, low) = (self.reg(result), Source::Reg(self.reg(args[0])));
        let high = self.reg(args[1]);
        let (op, immediate) = match (ty.bytes(), evex) {
            (64, _) => (forms::INSERTI64X4, Some(1)),
            (32, true) => (forms::INSERTI32X4, Some(1)),
            (32, false) => (forms::INSERTI128, Some(1)),
            (16, _) => (forms::PUNPCKLQDQ, None),
            (8, _) => (forms::PUNPCKLDQ, None),
            _ => return refuse(format!("a concatenation to {ty}")),
        };
        let inst = Inst::new(op, size(ty), Some(def), &[low, Source::Reg(high)]);
        self.push(Inst { immediate, ..inst });
        Ok(())
    }
}
