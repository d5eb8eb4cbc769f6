//! Masks: comparisons, and what is made of their truths.
//!
//! In: comparisons, bitwise operations of their results, choices by them. Out: instructions on mask registers where there
//! are such, else on vectors whose lanes are all ones or all zeros. Must hold: a mask register has zeros above its lanes.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Inst as ClifInst, InstructionData as Data, Opcode, Type, Value};

use crate::forms::{self, Op};
use crate::intrinsic::Intrinsic;
use crate::machine::{Class, Condition, Inst, Reg, Size, Source};
use crate::select::{Select, by_lane, refuse, size};
use crate::{Level, Unsupported};

/// An operation on masks of so many lanes.
fn by_lanes(lanes: u32, ops: [Op; 4]) -> Op {
    ops[match lanes {
        0..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        _ => 3,
    }]
}

const KAND: [Op; 4] = [forms::KANDB, forms::KANDW, forms::KANDD, forms::KANDQ];
const KANDN: [Op; 4] = [forms::KANDNB, forms::KANDNW, forms::KANDND, forms::KANDNQ];
const KOR: [Op; 4] = [forms::KORB, forms::KORW, forms::KORD, forms::KORQ];
const KXOR: [Op; 4] = [forms::KXORB, forms::KXORW, forms::KXORD, forms::KXORQ];
const KNOT: [Op; 4] = [forms::KNOTB, forms::KNOTW, forms::KNOTD, forms::KNOTQ];
const KORTEST: [Op; 4] = [forms::KORTESTB, forms::KORTESTW, forms::KORTESTD, forms::KORTESTQ];
const PMOVM2: [Op; 4] = [forms::PMOVM2B, forms::PMOVM2W, forms::PMOVM2D, forms::PMOVM2Q];
const PMOV2M: [Op; 4] = [forms::PMOVB2M, forms::PMOVW2M, forms::PMOVD2M, forms::PMOVQ2M];
pub const MOVDQU: [Op; 4] = [forms::MOVDQU8, forms::MOVDQU16, forms::MOVDQU32, forms::MOVDQU64];
pub const PBLENDM: [Op; 4] = [forms::PBLENDMB, forms::PBLENDMW, forms::PBLENDMD, forms::PBLENDMQ];
const PCMPK: [Op; 4] = [forms::PCMPKB, forms::PCMPKW, forms::PCMPKD, forms::PCMPKQ];
const PCMPUK: [Op; 4] = [forms::PCMPUKB, forms::PCMPUKW, forms::PCMPUKD, forms::PCMPUKQ];

pub fn lane(ty: Type) -> u32 {
    ty.lane_bits() / 8
}

impl Select<'_> {
    /// Notes whether the result of an instruction is a mask, from what is known of its operands.
    pub fn note_mask(&mut self, inst: ClifInst) {
        let &[result] = self.dfg().inst_results(inst) else { return };
        if !self.ty(result).is_vector() {
            return;
        }
        let args = self.arguments(inst);
        let mask = |s: &Self, v: Value| s.is_mask_value(v);
        let truth = |s: &Self, v: Value| mask(s, v) || matches!(s.constant_bits(v), Some(0 | u64::MAX));
        let is_mask = match self.dfg().insts[inst].opcode() {
            Opcode::Icmp | Opcode::Fcmp => true,
            Opcode::Band | Opcode::Bor | Opcode::Bxor => {
                args.iter().all(|&a| truth(self, a)) && args.iter().any(|&a| mask(self, a))
            }
            Opcode::Bnot => mask(self, args[0]),
            Opcode::Bitselect => args.iter().all(|&a| truth(self, a)) && mask(self, args[0]),
            Opcode::Bitcast => {
                mask(self, args[0]) && self.ty(args[0]).lane_count() == self.ty(result).lane_count()
            }
            Opcode::Call => match self.intrinsic(inst) {
                Some(Intrinsic::ResizeMask) => true,
                Some(Intrinsic::Piece(_) | Intrinsic::Concat) => {
                    args.iter().all(|&a| truth(self, a)) && args.iter().any(|&a| mask(self, a))
                }
                _ => false,
            },
            _ => false,
        };
        self.is_mask[result.as_u32() as usize] = is_mask;
    }

    /// Whether every lane of a value is all ones or all zeros, because of how it was made.
    pub fn is_mask_value(&self, v: Value) -> bool {
        self.is_mask[self.resolve(v).as_u32() as usize]
    }

    /// The mask register of a value.
    pub fn mask(&mut self, v: Value) -> Reg {
        let v = self.resolve(v);
        if let Some(mask) = self.masks[v.as_u32() as usize] {
            return mask;
        }
        if self.is_mask_value(v) {
            if let Some(inner) = self.bitcast_of(v) {
                return self.mask(inner);
            }
            let mask = self.fresh(Class::Mask);
            self.masks[v.as_u32() as usize] = Some(mask);
            return mask;
        }
        // A constant, or a vector that holds truths: made here.
        let ty = self.ty(v);
        let mask = self.fresh(Class::Mask);
        match self.constant_bits(v) {
            Some(0) => self.zero_mask(mask),
            _ => {
                let x = self.reg(v);
                let op = by_lane(lane(ty), PMOV2M);
                // A short vector has other lanes above.
                let all = if ty.bytes() < 16 { self.fresh(Class::Mask) } else { mask };
                self.put(op, size(ty), all, &[Source::Reg(x)]);
                if ty.bytes() < 16 {
                    self.keep_lanes(mask, all, ty.lane_count());
                }
            }
        }
        mask
    }

    fn zero_mask(&mut self, mask: Reg) {
        // No register is known to be free of dependence; what is xored with itself is zero whatever it was.
        let zero = self.constant(0);
        self.put(forms::PMOVB2M, Size::Z, mask, &[Source::Reg(zero)]);
    }

    /// The vector form of a mask that was asked for as one, after the mask itself is there.
    fn finish_mask(&mut self, result: Value) {
        if let (Some(vector), Some(mask)) =
            (self.regs[result.as_u32() as usize], self.masks[result.as_u32() as usize])
        {
            let ty = self.ty(result);
            self.put(by_lane(lane(ty), PMOVM2), size(ty), vector, &[Source::Reg(mask)]);
        }
    }

    /// An instruction whose result is a mask with a register of its own.
    pub fn mask_result(&mut self, inst: ClifInst, opcode: Opcode, result: Value) -> Result<(), Unsupported> {
        let args = self.arguments(inst);
        let lanes = self.ty(result).lane_count();
        let def = match self.masks[result.as_u32() as usize] {
            Some(def) => def,
            None => {
                let def = self.fresh(Class::Mask);
                self.masks[result.as_u32() as usize] = Some(def);
                def
            }
        };
        let three = |s: &mut Self, ops, a, b| {
            let (a, b) = (s.mask(a), s.mask(b));
            s.put(by_lanes(lanes, ops), Size::X, def, &[Source::Reg(a), Source::Reg(b)]);
        };
        match opcode {
            Opcode::Icmp | Opcode::Fcmp => self.compare(inst, def)?,
            // The machine negates the first.
            Opcode::Band => match (self.negated(args[0]), self.negated(args[1])) {
                (_, Some(inner)) => three(self, KANDN, inner, args[0]),
                (Some(inner), _) => three(self, KANDN, inner, args[1]),
                _ => three(self, KAND, args[0], args[1]),
            },
            Opcode::Bor => three(self, KOR, args[0], args[1]),
            Opcode::Bxor => match (self.constant_bits(args[0]), self.constant_bits(args[1])) {
                (_, Some(u64::MAX)) => self.not(def, lanes, args[0]),
                (Some(u64::MAX), _) => self.not(def, lanes, args[1]),
                _ => three(self, KXOR, args[0], args[1]),
            },
            Opcode::Bnot => self.not(def, lanes, args[0]),
            Opcode::Bitselect
                if (self.constant_bits(args[1]), self.constant_bits(args[2]))
                    == (Some(u64::MAX), Some(0)) =>
            {
                let m = self.mask(args[0]);
                self.put(forms::KMOVQ, Size::X, def, &[Source::Reg(m)]);
            }
            Opcode::Bitselect => {
                let [m, a, b] = [args[0], args[1], args[2]].map(|v| self.mask(v));
                let (yes, no) = (self.fresh(Class::Mask), self.fresh(Class::Mask));
                self.put(by_lanes(lanes, KAND), Size::X, yes, &[Source::Reg(m), Source::Reg(a)]);
                self.put(by_lanes(lanes, KANDN), Size::X, no, &[Source::Reg(m), Source::Reg(b)]);
                self.put(by_lanes(lanes, KOR), Size::X, def, &[Source::Reg(yes), Source::Reg(no)]);
            }
            Opcode::Bitcast => {
                // Whoever asked for the mask was given the inner one's; this is for its vector form.
                let inner = self.mask(args[0]);
                self.put(forms::KMOVQ, Size::X, def, &[Source::Reg(inner)]);
                let (outer, inner) = (result, self.resolve(args[0]));
                if self.regs[outer.as_u32() as usize] == self.regs[inner.as_u32() as usize] {
                    // The inner one sets the vector form of both.
                    return Ok(());
                }
            }
            Opcode::Call => self.mask_intrinsic(inst, def, lanes)?,
            other => return refuse(format!("{other} of masks")),
        }
        self.finish_mask(result);
        Ok(())
    }

    /// What a value is the complement of.
    pub fn negated(&self, v: Value) -> Option<Value> {
        self.def_of(v, Opcode::Bnot).map(|inst| self.arguments(inst)[0])
    }

    fn not(&mut self, def: Reg, lanes: u32, x: Value) {
        let x = self.mask(x);
        // The shortest complement has eight bits.
        let all = if lanes < 8 { self.fresh(Class::Mask) } else { def };
        self.put(by_lanes(lanes, KNOT), Size::X, all, &[Source::Reg(x)]);
        if lanes < 8 {
            self.keep_lanes(def, all, lanes);
        }
    }

    /// The lowest bits of a mask.
    fn keep_lanes(&mut self, def: Reg, all: Reg, lanes: u32) {
        let up = self.fresh(Class::Mask);
        let left = 64 - lanes as i32;
        self.push(Inst::new(forms::KSHIFTLQ, Size::X, Some(up), &[Source::Reg(all)]).immediate(left));
        self.push(Inst::new(forms::KSHIFTRQ, Size::X, Some(def), &[Source::Reg(up)]).immediate(left));
    }

    fn mask_intrinsic(&mut self, inst: ClifInst, def: Reg, lanes: u32) -> Result<(), Unsupported> {
        let args = self.arguments(inst);
        match self.intrinsic(inst) {
            Some(Intrinsic::ResizeMask) => {
                let x = self.mask(args[0]);
                self.put(forms::KMOVQ, Size::X, def, &[Source::Reg(x)]);
            }
            Some(Intrinsic::Piece(place)) => {
                let x = self.mask(args[0]);
                // Lanes above the piece are other pieces' unless it is the last one.
                let (all, first) = (self.ty(args[0]).lane_count(), u32::from(place) * lanes);
                let up = self.fresh(Class::Mask);
                let left = 64 - first - lanes;
                let inst = Inst::new(forms::KSHIFTLQ, Size::X, Some(up), &[Source::Reg(x)]);
                debug_assert!(first + lanes <= all);
                self.push(inst.immediate(left as i32));
                let down = Inst::new(forms::KSHIFTRQ, Size::X, Some(def), &[Source::Reg(up)]);
                self.push(down.immediate((64 - lanes) as i32));
            }
            Some(Intrinsic::Concat) => {
                let (low, high) = (self.mask(args[0]), self.mask(args[1]));
                let up = self.fresh(Class::Mask);
                let shift = Inst::new(forms::KSHIFTLQ, Size::X, Some(up), &[Source::Reg(high)]);
                self.push(shift.immediate(lanes as i32 / 2));
                self.put(by_lanes(lanes, KOR), Size::X, def, &[Source::Reg(low), Source::Reg(up)]);
            }
            _ => return refuse("a call of masks"),
        }
        Ok(())
    }

    fn compare(&mut self, inst: ClifInst, def: Reg) -> Result<(), Unsupported> {
        let (op, args, condition) = match self.dfg().insts[inst] {
            Data::FloatCompare { cond, args, .. } => {
                let op = if lane(self.ty(args[0])) == 4 { forms::CMPKPS } else { forms::CMPKPD };
                (op, args, float_condition(cond))
            }
            Data::IntCompare { cond, args, .. } => {
                let (condition, unsigned) = int_condition(cond);
                let ops = if unsigned { PCMPUK } else { PCMPK };
                (by_lane(lane(self.ty(args[0])), ops), args, condition)
            }
            _ => return refuse("a comparison of another format"),
        };
        let ty = self.ty(args[0]);
        let (x, y) = (self.reg(args[0]), self.source(args[1]));
        if ty.bytes() < 16 {
            // What lies above the lanes compares as it may.
            let all = self.fresh(Class::Mask);
            self.push(Inst::new(op, size(ty), Some(all), &[Source::Reg(x), y]).immediate(condition));
            self.keep_lanes(def, all, ty.lane_count());
            return Ok(());
        }
        self.push(Inst::new(op, size(ty), Some(def), &[Source::Reg(x), y]).immediate(condition));
        Ok(())
    }

    /// Sets the flags by whether any lane is not zero.
    pub fn any_true(&mut self, v: Value) -> Result<Condition, Unsupported> {
        let ty = self.ty(v);
        if self.level == Level::Avx2 {
            return self.any_true_of_vector(v);
        }
        let lanes = ty.lane_count();
        let m = match self.is_mask_value(v) {
            true => self.mask(v),
            false => return refuse("vany_true of something else than a mask"),
        };
        self.push(Inst::new(by_lanes(lanes, KORTEST), Size::X, None, &[Source::Reg(m), Source::Reg(m)]));
        Ok(Condition::NotEqual)
    }

    /// `m ? a : b` with a mask register.
    pub fn choose(&mut self, result: Value, m: Value, a: Value, b: Value) {
        let ty = self.ty(result);
        let (w, size) = (lane(ty), size(ty));
        let def = self.reg(result);
        let is_zero = |s: &Self, v| s.constant_bits(v) == Some(0);
        if is_zero(self, b) {
            return self.keep(def, ty, m, a);
        }
        let m = self.mask(m);
        let (no, yes) = (self.reg(b), self.source(a));
        self.push(Inst::new(by_lane(w, PBLENDM), size, Some(def), &[Source::Reg(no), yes]).merging(m));
    }

    /// `x` where the mask is set, else 0.
    pub fn keep(&mut self, def: Reg, ty: Type, m: Value, x: Value) {
        let m = self.mask(m);
        let x = self.source(x);
        self.push(Inst::new(by_lane(lane(ty), MOVDQU), size(ty), Some(def), &[x]).zeroing(m));
    }

    /// `x` where the mask is not set, else 0.
    pub fn drop(&mut self, def: Reg, ty: Type, m: Value, x: Value) {
        let m = self.mask(m);
        let not = self.fresh(Class::Mask);
        self.put(by_lanes(ty.lane_count(), KNOT), Size::X, not, &[Source::Reg(m)]);
        let x = self.source(x);
        self.push(Inst::new(by_lane(lane(ty), MOVDQU), size(ty), Some(def), &[x]).zeroing(not));
    }
}

/// The predicate of a comparison of floats, quiet.
pub fn float_condition(cond: FloatCC) -> i32 {
    match cond {
        FloatCC::Equal => 0x00,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::Unordered => 0x03,
        FloatCC::NotEqual => 0x04,
        FloatCC::UnorderedOrGreaterThanOrEqual => 0x15,
        FloatCC::UnorderedOrGreaterThan => 0x16,
        FloatCC::Ordered => 0x07,
        FloatCC::UnorderedOrEqual => 0x08,
        FloatCC::UnorderedOrLessThan => 0x19,
        FloatCC::UnorderedOrLessThanOrEqual => 0x1a,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::GreaterThanOrEqual => 0x1d,
        FloatCC::GreaterThan => 0x1e,
    }
}

/// The predicate of a comparison of integers, and whether they are unsigned.
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
