//! Permutations of lanes of 32 and 64 bits: reversal, and every second lane of two vectors.
//!
//! The permutations are immediates of instructions. Most instructions permute within 128 bits, so a second one moves
//! data across the groups of 128 bits.

use cranelift_codegen::ir::Value;

use crate::encodings;
use crate::error::{Unsupported, refuse};
use crate::inst::{VInst, VOperand, VReg, VectorLength};
use crate::select::by_lane::{lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

/// Immediates of permutations, as four lane numbers of two bits. The first reverses four lanes; the second
/// exchanges the two lower lanes with the two upper ones.
const FOUR_REVERSED: i32 = 0b00_01_10_11;
const TWO_SWAPPED: i32 = 0b01_00_11_10;

impl Lower<'_> {
    pub(super) fn reverse(&mut self, result: Value, x: Value) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let (lane, length) = (lane(ty), length(ty));
        if !matches!(lane, 4 | 8) || ty.bytes() < 16 {
            return refuse(format!("the lanes of {ty} reversed"));
        }
        let (def, x) = (self.reg(result), self.source(x));
        let within = if lane == 4 { FOUR_REVERSED } else { TWO_SWAPPED };
        match length {
            VectorLength::L128 => {
                self.push(VInst::new(encodings::PSHUFD, length, Some(def), &[x]).immediate(within));
            }
            VectorLength::L256 if lane == 8 => self.quarters(length, def, x, FOUR_REVERSED),
            VectorLength::L256 => {
                let parts = self.make_i(encodings::PSHUFD, length, &[x], within);
                self.quarters(length, def, VOperand::Reg(parts), TWO_SWAPPED);
            }
            VectorLength::L512 => {
                let parts = VOperand::Reg(self.make_i(encodings::PSHUFD, length, &[x], within));
                let inst = VInst::new(encodings::SHUFI64X2, length, Some(def), &[parts, parts]);
                self.push(inst.immediate(FOUR_REVERSED));
            }
        }
        Ok(())
    }

    pub(super) fn every_second(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        // In each 128 bits, the lower half gets lanes of the first vector and the upper half lanes of the second.
        let (op, lanes) = match lane(ty) {
            4 if ty.bytes() >= 16 => (encodings::SHUFPS, 0b11_01_10_00),
            8 if ty.bytes() >= 16 => (encodings::SHUFPD, 0b10_10_10_10),
            _ => return refuse(format!("every second lane of {ty}")),
        };
        let (def, length) = (self.reg(result), length(ty));
        let first = VOperand::Reg(self.reg(args[0]));
        let second = self.source(args[1]);
        if length == VectorLength::L128 {
            // With two lanes, only two bits of the immediate count.
            let lanes = if lane(ty) == 8 { lanes & 0b11 } else { lanes };
            self.push(VInst::new(op, length, Some(def), &[first, second]).immediate(lanes));
            return Ok(());
        }
        let lanes = if length == VectorLength::L256 && lane(ty) == 8 { lanes & 0b1111 } else { lanes };
        let parts = self.make_i(op, length, &[first, second], lanes);
        // Each 128 bits now have 64 bits of the first vector, then 64 bits of the second.
        self.quarters(length, def, VOperand::Reg(parts), 0b11_01_10_00);
        Ok(())
    }

    /// Permutes the four 64-bit lanes of each 256 bits by an immediate.
    fn quarters(&mut self, length: VectorLength, def: VReg, x: VOperand, order: i32) {
        let op = if self.clif.level == Level::Avx512 { encodings::PERMQ_E } else { encodings::PERMQ_I };
        self.push(VInst::new(op, length, Some(def), &[x]).immediate(order));
    }
}
