//! Conversions between lanes of different types.
//!
//! In: conversions of CLIF and the intrinsics for the others. Out: instructions of the machine. Must hold: integers round
//! once to nearest even; floats truncate and saturate, NaN gives 0.

use cranelift_codegen::ir::Value;

use crate::forms::{self, Op};
use crate::intrinsic::Intrinsic;
use crate::machine::{Inst, Size, Source};
use crate::select::masks::lane;
use crate::select::{Select, refuse, size};
use crate::{Level, Unsupported};

/// Which of six pairs of widths: 1→2, 1→4, 1→8, 2→4, 2→8, 4→8.
fn pair(narrow: u32, broad: u32) -> Option<usize> {
    [(1, 2), (1, 4), (1, 8), (2, 4), (2, 8), (4, 8)].iter().position(|&p| p == (narrow, broad))
}

const SIGNED: [Op; 6] =
    [forms::PMOVSXBW, forms::PMOVSXBD, forms::PMOVSXBQ, forms::PMOVSXWD, forms::PMOVSXWQ, forms::PMOVSXDQ];
const UNSIGNED: [Op; 6] =
    [forms::PMOVZXBW, forms::PMOVZXBD, forms::PMOVZXBQ, forms::PMOVZXWD, forms::PMOVZXWQ, forms::PMOVZXDQ];
const TRUNCATE: [Op; 6] =
    [forms::PMOVWB, forms::PMOVDB, forms::PMOVQB, forms::PMOVDW, forms::PMOVQW, forms::PMOVQD];
const SATURATE: [Op; 6] =
    [forms::PMOVSWB, forms::PMOVSDB, forms::PMOVSQB, forms::PMOVSDW, forms::PMOVSQW, forms::PMOVSQD];
const SATURATE_UNSIGNED: [Op; 6] =
    [forms::PMOVUSWB, forms::PMOVUSDB, forms::PMOVUSQB, forms::PMOVUSDW, forms::PMOVUSQW, forms::PMOVUSQD];

impl Select<'_> {
    pub fn conversion(&mut self, intrinsic: Intrinsic, result: Value, x: Value) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        // The longer of the two says how many lanes are converted.
        let long = Size::of_bytes(to.bytes().max(from.bytes()));
        let unknown = || Unsupported(format!("{intrinsic:?} from {from} to {to}"));
        match intrinsic {
            Intrinsic::SignExtend | Intrinsic::ZeroExtend => {
                let ops = if intrinsic == Intrinsic::SignExtend { SIGNED } else { UNSIGNED };
                let op = ops[pair(lane(from), lane(to)).ok_or_else(unknown)?];
                let def = self.reg(result);
                // As many bytes are read as there are lanes for.
                let exact = long.bytes() == to.bytes();
                let x = match self.sunk_through_casts(x).filter(|_| exact) {
                    Some(inst) => Source::Mem(self.load_address(inst)),
                    None => Source::Reg(self.reg(x)),
                };
                self.put(op, long, def, &[x]);
            }
            Intrinsic::Truncate | Intrinsic::SaturateSigned | Intrinsic::SaturateUnsigned
                if self.level == Level::Avx512 =>
            {
                let place = pair(lane(to), lane(from)).ok_or_else(unknown)?;
                let def = self.reg(result);
                let mut x = Source::Reg(self.reg(x));
                let op = match intrinsic {
                    Intrinsic::Truncate => TRUNCATE[place],
                    Intrinsic::SaturateSigned => SATURATE[place],
                    _ => {
                        // The machine takes the number for unsigned.
                        let zero = self.constant(0);
                        let max = crate::select::by_lane(lane(from), crate::select::vector::PMAXS);
                        x = Source::Reg(self.make(max, long, &[x, Source::Reg(zero)]));
                        SATURATE_UNSIGNED[place]
                    }
                };
                self.put(op, long, def, &[x]);
            }
            Intrinsic::Truncate | Intrinsic::SaturateSigned | Intrinsic::SaturateUnsigned => {
                return self.narrow_avx2(intrinsic, result, x);
            }
            Intrinsic::ResizeMask => return self.resize_mask_avx2(result, x),
            Intrinsic::Promote => self.converted(forms::CVTPS2PD, long, result, x),
            Intrinsic::Demote => self.converted(forms::CVTPD2PS, long, result, x),
            Intrinsic::HalfToFloat => self.converted(forms::CVTPH2PS, long, result, x),
            Intrinsic::FloatToHalf => {
                let (def, x) = (self.reg(result), self.reg(x));
                self.push(Inst::new(forms::CVTPS2PH, long, Some(def), &[Source::Reg(x)]).immediate(0));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn converted(&mut self, op: Op, size: Size, result: Value, x: Value) {
        let def = self.reg(result);
        let x = Source::Reg(self.reg(x));
        self.put(op, size, def, &[x]);
    }

    pub fn float_of_int(&mut self, result: Value, x: Value, signed: bool) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        let long = Size::of_bytes(to.bytes().max(from.bytes()));
        let op = match (lane(from), lane(to), signed) {
            (4, 4, true) => forms::CVTDQ2PS,
            (4, 8, true) => forms::CVTDQ2PD,
            (4, 4, false) => forms::CVTUDQ2PS,
            (4, 8, false) => forms::CVTUDQ2PD,
            (8, 8, true) => forms::CVTQQ2PD,
            (8, 8, false) => forms::CVTUQQ2PD,
            (8, 4, true) => forms::CVTQQ2PS,
            (8, 4, false) => forms::CVTUQQ2PS,
            _ => return refuse(format!("a conversion from {from} to {to}")),
        };
        if !(lane(from) == 4 && signed) {
            self.needs(Level::Avx512, "a conversion of wide or unsigned integers")?;
        }
        self.converted(op, long, result, x);
        Ok(())
    }

    pub fn int_of_float(&mut self, result: Value, x: Value, signed: bool) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        let size = size(to);
        if lane(from) != lane(to) {
            return refuse(format!("a conversion from {from} to {to}"));
        }
        if self.level == Level::Avx2 {
            return self.int_of_float_avx2(result, x, signed);
        }
        let double = lane(to) == 8;
        let def = self.reg(result);
        let x = Source::Reg(self.reg(x));
        if !signed {
            // What is too large or no number becomes all ones: of no number the maximum with 0 is 0.
            let zero = Source::Reg(self.constant(0));
            let max = if double { forms::MAXPD } else { forms::MAXPS };
            let natural = self.make(max, size, &[x, zero]);
            let op = if double { forms::CVTTPD2UQQ } else { forms::CVTTPS2UDQ };
            self.put(op, size, def, &[Source::Reg(natural)]);
            return Ok(());
        }
        // What is too large, too small or no number becomes the least integer: right for the second.
        let (compare, convert, one_above, greatest) = match double {
            true => (forms::CMPKPD, forms::CVTTPD2QQ, 0x43e0_0000_0000_0000, i64::MAX as u64),
            false => (forms::CMPKPS, forms::CVTTPS2DQ, 0x4f00_0000, i32::MAX as u64),
        };
        let class = crate::machine::Class::Mask;
        let (number, large) = (self.fresh(class), self.fresh(class));
        let limit = Source::Reg(self.constant_of(lane(to), one_above));
        self.push(Inst::new(compare, size, Some(number), &[x, x]).immediate(0x07));
        self.push(Inst::new(compare, size, Some(large), &[x, limit]).immediate(0x1d));
        let converted = self.fresh(crate::machine::Class::Vector);
        self.push(Inst::new(convert, size, Some(converted), &[x]).zeroing(number));
        let greatest = Source::Reg(self.constant_of(lane(to), greatest));
        let blend = if double { forms::PBLENDMQ } else { forms::PBLENDMD };
        self.push(Inst::new(blend, size, Some(def), &[Source::Reg(converted), greatest]).merging(large));
        Ok(())
    }
}
