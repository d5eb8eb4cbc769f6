//! Masks in the mask registers of AVX-512: comparisons, bitwise operations on masks, and selects by masks.
//!
//! The bits of a mask register above those of the mask's lanes are always zero. A mask is converted to a vector, whose
//! lanes are all ones or all zeros, only for uses that need a vector.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstructionData, Opcode, Type, Value};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{Condition, RegClass, VInst, VOperand, VReg, VectorLength};
use crate::intrinsic::Intrinsic;
use crate::select::by_lane::{by_lane, by_lane_count, float_predicate, lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

const KAND: [Encoding; 4] = [encodings::KANDB, encodings::KANDW, encodings::KANDD, encodings::KANDQ];
const KANDN: [Encoding; 4] = [encodings::KANDNB, encodings::KANDNW, encodings::KANDND, encodings::KANDNQ];
const KOR: [Encoding; 4] = [encodings::KORB, encodings::KORW, encodings::KORD, encodings::KORQ];
const KXOR: [Encoding; 4] = [encodings::KXORB, encodings::KXORW, encodings::KXORD, encodings::KXORQ];
const KNOT: [Encoding; 4] = [encodings::KNOTB, encodings::KNOTW, encodings::KNOTD, encodings::KNOTQ];
const KORTEST: [Encoding; 4] =
    [encodings::KORTESTB, encodings::KORTESTW, encodings::KORTESTD, encodings::KORTESTQ];
const PMOVM2: [Encoding; 4] =
    [encodings::PMOVM2B, encodings::PMOVM2W, encodings::PMOVM2D, encodings::PMOVM2Q];
const PMOV2M: [Encoding; 4] =
    [encodings::PMOVB2M, encodings::PMOVW2M, encodings::PMOVD2M, encodings::PMOVQ2M];
const MOVDQU: [Encoding; 4] =
    [encodings::MOVDQU8, encodings::MOVDQU16, encodings::MOVDQU32, encodings::MOVDQU64];
const PBLENDM: [Encoding; 4] =
    [encodings::PBLENDMB, encodings::PBLENDMW, encodings::PBLENDMD, encodings::PBLENDMQ];
const PCMPK: [Encoding; 4] = [encodings::PCMPKB, encodings::PCMPKW, encodings::PCMPKD, encodings::PCMPKQ];
const PCMPUK: [Encoding; 4] =
    [encodings::PCMPUKB, encodings::PCMPUKW, encodings::PCMPUKD, encodings::PCMPUKQ];

impl Lower<'_> {
    /// The mask register that holds a value.
    pub(super) fn mask(&mut self, v: Value) -> VReg {
        let v = self.clif.resolve(v);
        if let Some(mask) = self.vregs.mask_of(v) {
            return mask;
        }
        if self.clif.is_mask(v) {
            if let Some(inner) = self.clif.bitcast_of(v).or_else(|| self.clif.resized_mask_of(v)) {
                return self.mask(inner);
            }
            let mask = self.vregs.fresh(RegClass::Mask);
            self.vregs.set_mask(v, mask);
            return mask;
        }
        // The value is a constant, or a vector whose lanes are all ones or all zeros but that is not the
        // result of a comparison.
        let ty = self.clif.ty(v);
        let mask = self.vregs.fresh(RegClass::Mask);
        match self.clif.constant_bits(v) {
            Some(0) => self.zero_mask(mask),
            _ => {
                let x = self.reg(v);
                let op = by_lane(lane(ty), PMOV2M);
                // If the vector is shorter than its register, the register's upper lanes are arbitrary, so their bits in the
                // mask are cleared.
                let all = if ty.bytes() < 16 { self.vregs.fresh(RegClass::Mask) } else { mask };
                self.put(op, length(ty), all, &[VOperand::Reg(x)]);
                if ty.bytes() < 16 {
                    self.keep_lanes(mask, all, ty.lane_count());
                }
            }
        }
        mask
    }

    fn zero_mask(&mut self, mask: VReg) {
        // The mask is made from the vector constant 0: mask instructions that make zeros depend on the register's old value.
        let zero = self.vregs.constant(0);
        self.put(encodings::PMOVB2M, VectorLength::L512, mask, &[VOperand::Reg(zero)]);
    }

    /// Converts a mask that has been computed to a vector, if a use needs the vector.
    fn finish_mask(&mut self, result: Value) {
        if let (Some(vector), Some(mask)) = (self.vregs.of(result), self.vregs.mask_of(result)) {
            let ty = self.clif.ty(result);
            self.put(by_lane(lane(ty), PMOVM2), length(ty), vector, &[VOperand::Reg(mask)]);
        }
    }

    /// Selects an instruction whose result is in a mask register.
    pub(super) fn mask_result(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        result: Value,
    ) -> Result<(), Unsupported> {
        let args = self.clif.arguments(inst);
        let lanes = self.clif.ty(result).lane_count();
        if let Some(inner) = self.clif.resized_mask_of(result) {
            // Uses of this mask read the register of the mask before resizing; only the vector has to be computed.
            let mask = self.mask(inner);
            self.vregs.set_mask(result, mask);
            self.finish_mask(result);
            return Ok(());
        }
        let def = match self.vregs.mask_of(result) {
            Some(def) => def,
            None => {
                let def = self.vregs.fresh(RegClass::Mask);
                self.vregs.set_mask(result, def);
                def
            }
        };
        let three = |s: &mut Self, ops, a, b| {
            let (a, b) = (s.mask(a), s.mask(b));
            s.put(by_lane_count(lanes, ops), VectorLength::L128, def, &[VOperand::Reg(a), VOperand::Reg(b)]);
        };
        match opcode {
            Opcode::Icmp | Opcode::Fcmp => self.compare(inst, def)?,
            // The machine's AND-NOT complements its first operand.
            Opcode::Band => match (self.clif.complement_of(args[0]), self.clif.complement_of(args[1])) {
                (_, Some(inner)) => three(self, KANDN, inner, args[0]),
                (Some(inner), _) => three(self, KANDN, inner, args[1]),
                _ => three(self, KAND, args[0], args[1]),
            },
            Opcode::Bor => three(self, KOR, args[0], args[1]),
            Opcode::Bxor => match (self.clif.constant_bits(args[0]), self.clif.constant_bits(args[1])) {
                (_, Some(u64::MAX)) => self.not(def, lanes, args[0]),
                (Some(u64::MAX), _) => self.not(def, lanes, args[1]),
                _ => three(self, KXOR, args[0], args[1]),
            },
            Opcode::Bnot => self.not(def, lanes, args[0]),
            Opcode::Bitselect
                if (self.clif.constant_bits(args[1]), self.clif.constant_bits(args[2]))
                    == (Some(u64::MAX), Some(0)) =>
            {
                let m = self.mask(args[0]);
                self.put(encodings::KMOVQ, VectorLength::L128, def, &[VOperand::Reg(m)]);
            }
            Opcode::Bitselect => {
                let [m, a, b] = [args[0], args[1], args[2]].map(|v| self.mask(v));
                let (yes, no) = (self.vregs.fresh(RegClass::Mask), self.vregs.fresh(RegClass::Mask));
                self.put(
                    by_lane_count(lanes, KAND),
                    VectorLength::L128,
                    yes,
                    &[VOperand::Reg(m), VOperand::Reg(a)],
                );
                self.put(
                    by_lane_count(lanes, KANDN),
                    VectorLength::L128,
                    no,
                    &[VOperand::Reg(m), VOperand::Reg(b)],
                );
                self.put(
                    by_lane_count(lanes, KOR),
                    VectorLength::L128,
                    def,
                    &[VOperand::Reg(yes), VOperand::Reg(no)],
                );
            }
            Opcode::Bitcast => {
                // Uses of this mask read the register of the bitcast's operand; only the vector has to be computed.
                let inner = self.mask(args[0]);
                self.put(encodings::KMOVQ, VectorLength::L128, def, &[VOperand::Reg(inner)]);
                let (outer, inner) = (result, self.clif.resolve(args[0]));
                if self.vregs.of(outer) == self.vregs.of(inner) {
                    // The two values share a vector register, which the instruction that defines the inner value sets.
                    return Ok(());
                }
            }
            Opcode::Call => self.mask_intrinsic(inst, def, lanes)?,
            other => return refuse(format!("{other} of masks")),
        }
        self.finish_mask(result);
        Ok(())
    }

    fn not(&mut self, def: VReg, lanes: u32, x: Value) {
        let x = self.mask(x);
        // The shortest mask instruction complements eight bits, so with fewer lanes the bits above them have to be
        // cleared.
        let all = if lanes < 8 { self.vregs.fresh(RegClass::Mask) } else { def };
        self.put(by_lane_count(lanes, KNOT), VectorLength::L128, all, &[VOperand::Reg(x)]);
        if lanes < 8 {
            self.keep_lanes(def, all, lanes);
        }
    }

    /// Clears the bits of a mask above its lanes.
    fn keep_lanes(&mut self, def: VReg, all: VReg, lanes: u32) {
        let moved = match lanes {
            8 => Some(encodings::KMOVB),
            16 => Some(encodings::KMOVW),
            32 => Some(encodings::KMOVD),
            _ => None,
        };
        if let Some(op) = moved {
            return self.put(op, VectorLength::L128, def, &[VOperand::Reg(all)]);
        }
        let up = self.vregs.fresh(RegClass::Mask);
        let left = 64 - lanes as i32;
        self.push(
            VInst::new(encodings::KSHIFTLQ, VectorLength::L128, Some(up), &[VOperand::Reg(all)])
                .immediate(left),
        );
        self.push(
            VInst::new(encodings::KSHIFTRQ, VectorLength::L128, Some(def), &[VOperand::Reg(up)])
                .immediate(left),
        );
    }

    fn mask_intrinsic(&mut self, inst: ir::Inst, def: VReg, lanes: u32) -> Result<(), Unsupported> {
        let args = self.clif.arguments(inst);
        match self.clif.intrinsic(inst) {
            Some(Intrinsic::ResizeMask) => {
                let x = self.mask(args[0]);
                self.put(encodings::KMOVQ, VectorLength::L128, def, &[VOperand::Reg(x)]);
            }
            Some(Intrinsic::Piece(index)) => {
                let x = self.mask(args[0]);
                let (all, first) = (self.clif.ty(args[0]).lane_count(), u32::from(index) * lanes);
                debug_assert!(first + lanes <= all);
                if first == 0 {
                    self.keep_lanes(def, x, lanes);
                    return Ok(());
                }
                // Unless the subvector is the last one, the bits above its own belong to other subvectors and have to
                // be cleared.
                let is_last = first + lanes == all;
                let down = if is_last { def } else { self.vregs.fresh(RegClass::Mask) };
                let shift =
                    VInst::new(encodings::KSHIFTRQ, VectorLength::L128, Some(down), &[VOperand::Reg(x)]);
                self.push(shift.immediate(first as i32));
                if !is_last {
                    self.keep_lanes(def, down, lanes);
                }
            }
            Some(Intrinsic::Concat) => {
                let (low, high) = (self.mask(args[0]), self.mask(args[1]));
                let joined = match lanes {
                    16 => Some(encodings::KUNPCKBW),
                    32 => Some(encodings::KUNPCKWD),
                    64 => Some(encodings::KUNPCKDQ),
                    _ => None,
                };
                if let Some(op) = joined {
                    self.put(op, VectorLength::L128, def, &[VOperand::Reg(high), VOperand::Reg(low)]);
                    return Ok(());
                }
                let up = self.vregs.fresh(RegClass::Mask);
                let shift =
                    VInst::new(encodings::KSHIFTLQ, VectorLength::L128, Some(up), &[VOperand::Reg(high)]);
                self.push(shift.immediate(lanes as i32 / 2));
                self.put(
                    by_lane_count(lanes, KOR),
                    VectorLength::L128,
                    def,
                    &[VOperand::Reg(low), VOperand::Reg(up)],
                );
            }
            _ => return refuse("an intrinsic on masks"),
        }
        Ok(())
    }

    fn compare(&mut self, inst: ir::Inst, def: VReg) -> Result<(), Unsupported> {
        let (op, args, condition) = match self.clif.data(inst) {
            InstructionData::FloatCompare { cond, args, .. } => {
                let op = if lane(self.clif.ty(args[0])) == 4 { encodings::CMPKPS } else { encodings::CMPKPD };
                (op, args, float_predicate(cond))
            }
            InstructionData::IntCompare { cond, args, .. } => {
                let (condition, unsigned) = int_condition(cond);
                let ops = if unsigned { PCMPUK } else { PCMPK };
                (by_lane(lane(self.clif.ty(args[0])), ops), args, condition)
            }
            _ => return refuse("a comparison of an unknown format"),
        };
        let ty = self.clif.ty(args[0]);
        let (x, y) = (self.reg(args[0]), self.source(args[1]));
        if ty.bytes() < 16 {
            // The upper lanes of the register are arbitrary, since the vector is shorter, so the bits that the comparison sets
            // for them are cleared.
            let all = self.vregs.fresh(RegClass::Mask);
            self.push(VInst::new(op, length(ty), Some(all), &[VOperand::Reg(x), y]).immediate(condition));
            self.keep_lanes(def, all, ty.lane_count());
            return Ok(());
        }
        self.push(VInst::new(op, length(ty), Some(def), &[VOperand::Reg(x), y]).immediate(condition));
        Ok(())
    }

    /// Emits a test of whether any lane is nonzero, which sets the CPU's flags. Returns the condition code
    /// that holds if any lane is nonzero.
    pub(super) fn any_true(&mut self, v: Value) -> Result<Condition, Unsupported> {
        let ty = self.clif.ty(v);
        if self.clif.level == Level::Avx2 {
            return self.any_true_of_vector(v);
        }
        let lanes = ty.lane_count();
        let m = match self.clif.is_mask(v) {
            true => self.mask(v),
            false => return refuse("vany_true of anything but a mask"),
        };
        self.push(VInst::new(
            by_lane_count(lanes, KORTEST),
            VectorLength::L128,
            None,
            &[VOperand::Reg(m), VOperand::Reg(m)],
        ));
        Ok(Condition::NotEqual)
    }

    /// Selects the lanes of `a` where the mask is set and the lanes of `b` elsewhere: `m ? a : b`.
    pub(super) fn select_by_mask(&mut self, result: Value, m: Value, a: Value, b: Value) {
        let ty = self.clif.ty(result);
        let (w, length) = (lane(ty), length(ty));
        let def = self.reg(result);
        let is_zero = |s: &Self, v| s.clif.constant_bits(v) == Some(0);
        if is_zero(self, b) {
            return self.keep_where(def, ty, m, a);
        }
        let m = self.mask(m);
        let (no, yes) = (self.reg(b), self.source(a));
        self.push(VInst::new(by_lane(w, PBLENDM), length, Some(def), &[VOperand::Reg(no), yes]).merging(m));
    }

    /// Clears the lanes for which the mask is not set: `m ? x : 0`.
    pub(super) fn keep_where(&mut self, def: VReg, ty: Type, m: Value, x: Value) {
        let m = self.mask(m);
        let x = self.source(x);
        self.push(VInst::new(by_lane(lane(ty), MOVDQU), length(ty), Some(def), &[x]).zeroing(m));
    }

    /// Clears the lanes for which the mask is set: `m ? 0 : x`.
    pub(super) fn zero_where(&mut self, def: VReg, ty: Type, m: Value, x: Value) {
        let m = self.mask(m);
        let not = self.vregs.fresh(RegClass::Mask);
        self.put(by_lane_count(ty.lane_count(), KNOT), VectorLength::L128, not, &[VOperand::Reg(m)]);
        let x = self.source(x);
        self.push(VInst::new(by_lane(lane(ty), MOVDQU), length(ty), Some(def), &[x]).zeroing(not));
    }
}

/// The immediate of an integer comparison instruction for a condition, and whether the comparison is unsigned.
fn int_condition(cond: IntCC) -> (i32, bool) {
    match cond {
        IntCC::Equal => (0, false),
        IntCC::NotEqual => (4, false),
        IntCC::SignedLessThan => (1, false),
        IntCC::SignedLessThanOrEqual => (2, false),
        IntCC::SignedGreaterThanOrEqual => (5, false),
        IntCC::SignedGreaterThan => (6, false),
        IntCC::UnsignedLessThan => (1, true),
        IntCC::UnsignedLessThanOrEqual => (2, true),
        IntCC::UnsignedGreaterThanOrEqual => (5, true),
        IntCC::UnsignedGreaterThan => (6, true),
    }
}
