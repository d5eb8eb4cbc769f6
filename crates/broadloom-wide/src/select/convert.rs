//! Conversions between lanes of different types: CLIF's own, and those that are intrinsics.
//!
//! Integers become floats by rounding once, to nearest even. Floats become integers by truncating and saturating; NaN
//! becomes 0.

use cranelift_codegen::ir::Value;

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{RegClass, VInst, VOperand, VectorLength};
use crate::intrinsic::Intrinsic;
use crate::select::by_lane::{PMAXS, by_lane, lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

/// The index of a pair of lane widths in the tables below. The pairs, in bytes, are (1, 2), (1, 4), (1, 8),
/// (2, 4), (2, 8), (4, 8).
fn pair(narrow: u32, broad: u32) -> Option<usize> {
    [(1, 2), (1, 4), (1, 8), (2, 4), (2, 8), (4, 8)].iter().position(|&p| p == (narrow, broad))
}

const SIGNED: [Encoding; 6] = [
    encodings::PMOVSXBW,
    encodings::PMOVSXBD,
    encodings::PMOVSXBQ,
    encodings::PMOVSXWD,
    encodings::PMOVSXWQ,
    encodings::PMOVSXDQ,
];
const UNSIGNED: [Encoding; 6] = [
    encodings::PMOVZXBW,
    encodings::PMOVZXBD,
    encodings::PMOVZXBQ,
    encodings::PMOVZXWD,
    encodings::PMOVZXWQ,
    encodings::PMOVZXDQ,
];
const TRUNCATE: [Encoding; 6] = [
    encodings::PMOVWB,
    encodings::PMOVDB,
    encodings::PMOVQB,
    encodings::PMOVDW,
    encodings::PMOVQW,
    encodings::PMOVQD,
];
const SATURATE: [Encoding; 6] = [
    encodings::PMOVSWB,
    encodings::PMOVSDB,
    encodings::PMOVSQB,
    encodings::PMOVSDW,
    encodings::PMOVSQW,
    encodings::PMOVSQD,
];
const SATURATE_UNSIGNED: [Encoding; 6] = [
    encodings::PMOVUSWB,
    encodings::PMOVUSDB,
    encodings::PMOVUSQB,
    encodings::PMOVUSDW,
    encodings::PMOVUSQW,
    encodings::PMOVUSQD,
];

impl Lower<'_> {
    pub(super) fn conversion(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        x: Value,
    ) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        // The larger of the two types determines the vector length of the conversion.
        let long = VectorLength::of_bytes(to.bytes().max(from.bytes()));
        let unknown = || Unsupported(format!("{intrinsic:?} from {from} to {to}"));
        match intrinsic {
            Intrinsic::SignExtend | Intrinsic::ZeroExtend => {
                let ops = if intrinsic == Intrinsic::SignExtend { SIGNED } else { UNSIGNED };
                let op = ops[pair(lane(from), lane(to)).ok_or_else(unknown)?];
                let def = self.reg(result);
                // If the result fills its vector register, a memory operand has exactly the size of the source, so a
                // load can be folded.
                let exact = long.bytes() == to.bytes();
                let x = match self.sunk_through_casts(x).filter(|_| exact) {
                    Some(inst) => VOperand::Mem(self.load_address(inst)),
                    None => VOperand::Reg(self.reg(x)),
                };
                self.put(op, long, def, &[x]);
            }
            Intrinsic::Truncate | Intrinsic::SaturateSigned | Intrinsic::SaturateUnsigned
                if self.clif.level == Level::Avx512 =>
            {
                let place = pair(lane(to), lane(from)).ok_or_else(unknown)?;
                let def = self.reg(result);
                let mut x = VOperand::Reg(self.reg(x));
                let op = match intrinsic {
                    Intrinsic::Truncate => TRUNCATE[place],
                    Intrinsic::SaturateSigned => SATURATE[place],
                    _ => {
                        // The instruction takes its operand as unsigned, so negative numbers are replaced by 0 first.
                        let zero = self.vregs.constant(0);
                        let max = by_lane(lane(from), PMAXS);
                        x = VOperand::Reg(self.make(max, long, &[x, VOperand::Reg(zero)]));
                        SATURATE_UNSIGNED[place]
                    }
                };
                self.put(op, long, def, &[x]);
            }
            Intrinsic::Truncate | Intrinsic::SaturateSigned | Intrinsic::SaturateUnsigned => {
                return self.narrow_avx2(intrinsic, result, x);
            }
            Intrinsic::ResizeMask => return self.resize_mask_avx2(result, x),
            Intrinsic::Promote => self.converted(encodings::CVTPS2PD, long, result, x),
            Intrinsic::Demote => self.converted(encodings::CVTPD2PS, long, result, x),
            Intrinsic::HalfToFloat => self.converted(encodings::CVTPH2PS, long, result, x),
            Intrinsic::FloatToHalf => {
                let (def, x) = (self.reg(result), self.reg(x));
                self.push(VInst::new(encodings::CVTPS2PH, long, Some(def), &[VOperand::Reg(x)]).immediate(0));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn converted(&mut self, op: Encoding, length: VectorLength, result: Value, x: Value) {
        let def = self.reg(result);
        let x = VOperand::Reg(self.reg(x));
        self.put(op, length, def, &[x]);
    }

    pub(super) fn float_of_int(&mut self, result: Value, x: Value, signed: bool) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        let long = VectorLength::of_bytes(to.bytes().max(from.bytes()));
        let op = match (lane(from), lane(to), signed) {
            (4, 4, true) => encodings::CVTDQ2PS,
            (4, 8, true) => encodings::CVTDQ2PD,
            (4, 4, false) => encodings::CVTUDQ2PS,
            (4, 8, false) => encodings::CVTUDQ2PD,
            (8, 8, true) => encodings::CVTQQ2PD,
            (8, 8, false) => encodings::CVTUQQ2PD,
            (8, 4, true) => encodings::CVTQQ2PS,
            (8, 4, false) => encodings::CVTUQQ2PS,
            _ => return refuse(format!("a conversion from {from} to {to}")),
        };
        if !(lane(from) == 4 && signed) {
            self.clif.needs(Level::Avx512, "a conversion of wide or unsigned integers")?;
        }
        self.converted(op, long, result, x);
        Ok(())
    }

    pub(super) fn int_of_float(&mut self, result: Value, x: Value, signed: bool) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        let length = length(to);
        if lane(from) != lane(to) {
            return refuse(format!("a conversion from {from} to {to}"));
        }
        if self.clif.level == Level::Avx2 {
            return self.int_of_float_avx2(result, x, signed);
        }
        let double = lane(to) == 8;
        let def = self.reg(result);
        let x = VOperand::Reg(self.reg(x));
        if !signed {
            // The conversion from float to unsigned integer turns numbers that are too large into all ones,
            // the maximum, as required. The maximum with 0 turns NaN into 0.
            let zero = VOperand::Reg(self.vregs.constant(0));
            let max = if double { encodings::MAXPD } else { encodings::MAXPS };
            let natural = self.make(max, length, &[x, zero]);
            let op = if double { encodings::CVTTPD2UQQ } else { encodings::CVTTPS2UDQ };
            self.put(op, length, def, &[VOperand::Reg(natural)]);
            return Ok(());
        }
        // The conversion from float to signed integer turns numbers out of range and NaN into the minimum
        // integer, which is right for those that are too small. NaN is masked to 0, and numbers that are too
        // large are replaced by the maximum.
        let (compare, convert, one_above, max) = match double {
            true => (encodings::CMPKPD, encodings::CVTTPD2QQ, 0x43e0_0000_0000_0000, i64::MAX as u64),
            false => (encodings::CMPKPS, encodings::CVTTPS2DQ, 0x4f00_0000, i32::MAX as u64),
        };
        let (number, large) = (self.vregs.fresh(RegClass::Mask), self.vregs.fresh(RegClass::Mask));
        let limit = VOperand::Reg(self.vregs.constant_of(lane(to), one_above));
        self.push(VInst::new(compare, length, Some(number), &[x, x]).immediate(0x07));
        self.push(VInst::new(compare, length, Some(large), &[x, limit]).immediate(0x1d));
        let converted = self.vregs.fresh(RegClass::Vector);
        self.push(VInst::new(convert, length, Some(converted), &[x]).zeroing(number));
        let max = VOperand::Reg(self.vregs.constant_of(lane(to), max));
        let blend = if double { encodings::PBLENDMQ } else { encodings::PBLENDMD };
        self.push(VInst::new(blend, length, Some(def), &[VOperand::Reg(converted), max]).merging(large));
        Ok(())
    }
}
