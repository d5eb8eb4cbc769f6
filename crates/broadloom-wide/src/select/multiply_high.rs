//! The high halves of products of unsigned integers, and shifts of all lanes by one count. Divisions by a constant or
//! by a number common to all lanes are computed by these two operations, as multiplications by a reciprocal.
//!
//! x86-64 has instructions for the high halves of products of 16-bit lanes only, and for 64-bit products of
//! the even-indexed 32-bit lanes; wider products are built from these 64-bit products.

use cranelift_codegen::ir::Value;

use crate::encodings;
use crate::error::{Unsupported, refuse};
use crate::inst::{VInst, VOperand, VReg, VectorLength};
use crate::select::by_lane::{lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

impl Lower<'_> {
    pub(super) fn multiply_high(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        match lane(ty) {
            2 => self.binary(encodings::PMULHUW, result, args),
            4 => {
                let def = self.reg(result);
                let [a, b] = [args[0], args[1]].map(|v| self.reg(v));
                self.multiply_high_32(def, length(ty), a, b);
            }
            8 => {
                let def = self.reg(result);
                let [a, b] = [args[0], args[1]].map(|v| self.reg(v));
                self.multiply_high_64(def, length(ty), a, b);
            }
            _ => return refuse(format!("the high halves of products of {ty}")),
        }
        Ok(())
    }

    /// The high halves of 32-bit products. The products of the even-indexed lanes are shifted down by 32
    /// bits; the high halves for the odd-indexed lanes are already in place. All lanes of `b` are equal.
    fn multiply_high_32(&mut self, def: VReg, length: VectorLength, a: VReg, b: VReg) {
        let a_odd = self.upper_halves(length, a);
        let even = self.product(length, a, b);
        let odd = self.product(length, a_odd, b);
        let even = self.upper_halves(length, even);
        let [even, odd] = [even, odd].map(VOperand::Reg);
        if self.clif.level == Level::Avx2 {
            self.push(VInst::new(encodings::PBLENDD, length, Some(def), &[even, odd]).immediate(0xaa));
            return;
        }
        // Merges the lower halves of the 64-bit lanes of `even`, whose upper halves are 0, with the upper halves of the
        // lanes of `odd`.
        let upper = VOperand::Reg(self.vregs.constant(0xffff_ffff_0000_0000));
        let inst = VInst::new(encodings::PTERNLOGQ, length, Some(def), &[even, odd, upper]);
        self.push(inst.tied().immediate(0xf8));
    }

    /// The high halves of 64-bit products, computed from the four products of 32-bit halves. Three of
    /// them are used in full; of the product of the two lower halves, only the upper half is used.
    fn multiply_high_64(&mut self, def: VReg, length: VectorLength, a: VReg, b: VReg) {
        let [a_high, b_high] = [a, b].map(|x| self.upper_halves(length, x));
        let lowest = self.product(length, a, b);
        let lowest = self.upper_halves(length, lowest);
        let middle = self.product(length, a_high, b);
        // Neither this sum nor the next overflows 64 bits: a product is at most (2^32 − 1)^2, and at most 2^32 − 1 is
        // added.
        let middle = self.sum(length, middle, lowest);
        let lower_half = self.vregs.constant(0xffff_ffff);
        let and = if self.clif.level == Level::Avx2 { encodings::PAND } else { encodings::PANDQ };
        let carried = self.make(and, length, &[VOperand::Reg(middle), VOperand::Reg(lower_half)]);
        let other = self.product(length, a, b_high);
        let other = self.sum(length, other, carried);
        let highest = self.product(length, a_high, b_high);
        let [middle, other] = [middle, other].map(|x| self.upper_halves(length, x));
        let highest = self.sum(length, highest, middle);
        self.put(encodings::PADDQ, length, def, &[VOperand::Reg(highest), VOperand::Reg(other)]);
    }

    /// The 64-bit products of the lower halves of 64-bit lanes.
    fn product(&mut self, length: VectorLength, a: VReg, b: VReg) -> VReg {
        self.make(encodings::PMULUDQ, length, &[VOperand::Reg(a), VOperand::Reg(b)])
    }

    fn sum(&mut self, length: VectorLength, a: VReg, b: VReg) -> VReg {
        self.make(encodings::PADDQ, length, &[VOperand::Reg(a), VOperand::Reg(b)])
    }

    /// The upper halves of 64-bit lanes, moved down to the lower halves.
    fn upper_halves(&mut self, length: VectorLength, x: VReg) -> VReg {
        let op = if self.clif.level == Level::Avx2 { encodings::PSRLQ_I } else { encodings::PSRLQ_KI };
        self.make_i(op, length, &[VOperand::Reg(x)], 32)
    }

    /// Selects a logical right shift of all lanes by the count in the lowest 64 bits of a vector.
    pub(super) fn shift_right_uniform(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let op = match lane(ty) {
            2 => encodings::PSRLW_X,
            4 => encodings::PSRLD_X,
            8 => encodings::PSRLQ_X,
            _ => return refuse(format!("a shift of {ty}")),
        };
        let (def, x, count) = (self.reg(result), self.reg(args[0]), self.reg(args[1]));
        self.put(op, length(ty), def, &[VOperand::Reg(x), VOperand::Reg(count)]);
        Ok(())
    }
}
