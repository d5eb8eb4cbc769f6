//! What AVX2 has no instruction for.
//!
//! In: operations that AVX-512 has. Out: sequences for AVX2. Must hold: the same bits. Shuffles stay in their 128-bit half,
//! so what has less than half of its bytes left is put together afterwards.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Inst as ClifInst, InstructionData as Data, Opcode, Value};

use crate::Unsupported;
use crate::forms::{self, Op};
use crate::intrinsic::Intrinsic;
use crate::machine::{Condition, Inst, Reg, Size, Source};
use crate::select::masks::{float_condition, lane};
use crate::select::vector::{PMAXS, PMAXU, PMINS, PMINU};
use crate::select::{Select, by_lane, refuse, repeated, size};

const PCMPEQ: [Op; 4] = [forms::PCMPEQB, forms::PCMPEQW, forms::PCMPEQD, forms::PCMPEQQ];
const PCMPGT: [Op; 4] = [forms::PCMPGTB, forms::PCMPGTW, forms::PCMPGTD, forms::PCMPGTQ];

/// The sign of a 64-bit lane.
const SIGN: u64 = 1 << 63;

impl Select<'_> {
    /// `op(x, y)` in a new register.
    fn two(&mut self, op: Op, size: Size, x: Reg, y: Reg) -> Reg {
        self.make(op, size, &[Source::Reg(x), Source::Reg(y)])
    }

    /// `def = op(x, y)`.
    fn set(&mut self, op: Op, size: Size, def: Reg, x: Reg, y: Reg) {
        self.put(op, size, def, &[Source::Reg(x), Source::Reg(y)]);
    }

    fn shifted(&mut self, op: Op, size: Size, x: Reg, by: i32) -> Reg {
        self.make_i(op, size, &[Source::Reg(x)], by)
    }

    /// The upper 128 bits of 256.
    fn upper(&mut self, x: Reg) -> Reg {
        self.make_i(forms::EXTRACTI128, Size::Y, &[Source::Reg(x)], 1)
    }

    // Shifts.

    /// 64-bit lanes shifted right by one count, modulo 64; the sign comes in.
    pub fn shift_right_signed_64(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let size = size(self.ty(result));
        let (def, x) = (self.reg(result), self.reg(args[0]));
        if let Some(count) = self.integer_constant(args[1]) {
            match count & 63 {
                0 => self.put(forms::MOVAPS, size, def, &[Source::Reg(x)]),
                63 => {
                    let zero = self.constant(0);
                    self.set(forms::PCMPGTQ, size, def, zero, x);
                }
                count => {
                    let shifted = self.shifted(forms::PSRLQ_I, size, x, count as i32);
                    let sign = self.constant(SIGN >> count);
                    self.extend_from(sign, size, def, shifted);
                }
            }
            return Ok(());
        }
        let count = self.shift_count(args[1], 8);
        let sign = self.constant(SIGN);
        let [shifted, sign] = [x, sign].map(|x| self.two(forms::PSRLQ_X, size, x, count));
        self.extend_from(sign, size, def, shifted);
        Ok(())
    }

    /// `def` = `x` with all bits above `sign`, one bit of each lane, set to that bit. Those of `x` are 0.
    fn extend_from(&mut self, sign: Reg, size: Size, def: Reg, x: Reg) {
        let turned = self.two(forms::PXOR, size, x, sign);
        self.set(forms::PSUBQ, size, def, turned, sign);
    }

    /// Lanes of 64 bits shifted right by counts of their own with their sign, or of 16 bits by any such shift.
    pub fn shift_lanes_avx2(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        args: &[Value],
    ) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let size = size(ty);
        let (def, x, counts) = (self.reg(result), self.reg(args[0]), self.reg(args[1]));
        match (lane(ty), intrinsic) {
            (8, Intrinsic::ShiftRightSigned) => {
                let sign = self.constant(SIGN);
                let [shifted, sign] = [x, sign].map(|x| self.two(forms::PSRLVQ, size, x, counts));
                self.extend_from(sign, size, def, shifted);
            }
            (2, _) => self.shift_lanes_16(intrinsic, size, def, x, counts),
            _ => return refuse(format!("{intrinsic:?} of {ty}")),
        }
        Ok(())
    }

    /// Even and odd lanes, each as 32 bits.
    fn shift_lanes_16(&mut self, intrinsic: Intrinsic, size: Size, def: Reg, x: Reg, counts: Reg) {
        let low_half = self.constant_of(4, 0xffff);
        let even_counts = self.two(forms::PAND, size, counts, low_half);
        let odd_counts = self.shifted(forms::PSRLD_I, size, counts, 16);
        let (even, odd) = match intrinsic {
            Intrinsic::ShiftLeft => {
                let high_half = self.constant_of(4, 0xffff_0000);
                let high = self.two(forms::PAND, size, x, high_half);
                let even = self.two(forms::PSLLVD, size, x, even_counts);
                (even, self.two(forms::PSLLVD, size, high, odd_counts))
            }
            Intrinsic::ShiftRight => {
                let low = self.two(forms::PAND, size, x, low_half);
                let even = self.two(forms::PSRLVD, size, low, even_counts);
                (even, self.two(forms::PSRLVD, size, x, odd_counts))
            }
            _ => {
                // With its sign on top.
                let low = self.shifted(forms::PSLLD_I, size, x, 16);
                let even = self.two(forms::PSRAVD, size, low, even_counts);
                let even = self.shifted(forms::PSRLD_I, size, even, 16);
                (even, self.two(forms::PSRAVD, size, x, odd_counts))
            }
        };
        let sources = [Source::Reg(even), Source::Reg(odd)];
        self.push(Inst::new(forms::PBLENDW, size, Some(def), &sources).immediate(0xaa));
    }

    // Narrowing.

    pub fn narrow_avx2(&mut self, intrinsic: Intrinsic, result: Value, x: Value) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        let (narrow, broad) = (lane(to), lane(from));
        let (def, x) = (self.reg(result), self.reg(x));
        if intrinsic == Intrinsic::Truncate {
            self.truncate(def, x, size(from), broad, narrow);
            return Ok(());
        }
        let signed = intrinsic == Intrinsic::SaturateSigned;
        match (broad, narrow, signed) {
            (4, 2, true) => self.pack(&[forms::PACKSSDW], size(from), def, x),
            (4, 2, false) => self.pack(&[forms::PACKUSDW], size(from), def, x),
            (2, 1, true) => self.pack(&[forms::PACKSSWB], size(from), def, x),
            (2, 1, false) => self.pack(&[forms::PACKUSWB], size(from), def, x),
            // The first step keeps the sign, and what is too large.
            (4, 1, true) => self.pack(&[forms::PACKSSDW, forms::PACKSSWB], size(from), def, x),
            (4, 1, false) => self.pack(&[forms::PACKSSDW, forms::PACKUSWB], size(from), def, x),
            _ => return refuse(format!("{intrinsic:?} from {from} to {to}")),
        }
        Ok(())
    }

    /// The low bytes of each lane.
    fn truncate(&mut self, def: Reg, x: Reg, size: Size, broad: u32, narrow: u32) {
        // The lanes of a half leave 8 bytes or less, which fill the half again and again.
        let places = (0..8).map(|i| u64::from(i % narrow + i / narrow * broad % 16) << (8 * i));
        let places = self.constant(places.fold(0, |all, place| all | place));
        if size == Size::X {
            return self.set(forms::PSHUFB, size, def, x, places);
        }
        let halves = self.two(forms::PSHUFB, size, x, places);
        let op = match broad / narrow {
            2 => {
                let quarters = Inst::new(forms::PERMQ_I, Size::Y, Some(def), &[Source::Reg(halves)]);
                // The first and the third.
                return self.push(quarters.immediate(0b10_00));
            }
            4 => forms::PUNPCKLDQ,
            _ => forms::PUNPCKLWD,
        };
        let upper = self.upper(halves);
        self.set(op, Size::X, def, halves, upper);
    }

    /// Each step packs all lanes into half of the bytes.
    fn pack(&mut self, steps: &[Op], size: Size, def: Reg, x: Reg) {
        let (mut low, mut high) = (x, if size == Size::X { x } else { self.upper(x) });
        for (i, &op) in steps.iter().enumerate() {
            let to = if i + 1 == steps.len() { def } else { self.fresh(crate::machine::Class::Vector) };
            self.set(op, Size::X, to, low, high);
            (low, high) = (to, to);
        }
    }

    pub fn resize_mask_avx2(&mut self, result: Value, x: Value) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        if lane(to) > lane(from) {
            return self.conversion(Intrinsic::SignExtend, result, x);
        }
        let (def, x) = (self.reg(result), self.reg(x));
        // Saturated, 0 and −1 stay what they are; 64 bits count as two equal lanes.
        match (lane(from), lane(to)) {
            (2, 1) => self.pack(&[forms::PACKSSWB], size(from), def, x),
            (4, 2) | (8, 4) => self.pack(&[forms::PACKSSDW], size(from), def, x),
            (4, 1) => self.pack(&[forms::PACKSSDW, forms::PACKSSWB], size(from), def, x),
            (8, 2) => self.pack(&[forms::PACKSSDW, forms::PACKSSDW], size(from), def, x),
            (8, 1) => self.pack(&[forms::PACKSSDW, forms::PACKSSDW, forms::PACKSSWB], size(from), def, x),
            _ => return refuse(format!("a mask from {from} to {to}")),
        }
        Ok(())
    }

    pub fn int_of_float_avx2(&mut self, result: Value, x: Value, signed: bool) -> Result<(), Unsupported> {
        let (to, from) = (self.ty(result), self.ty(x));
        if lane(from) != 4 || !signed {
            return refuse(format!("a conversion from {from} to {to}"));
        }
        let size = size(to);
        let (def, x) = (self.reg(result), self.reg(x));
        let one_above = self.constant_of(4, 0x4f00_0000);
        let number = self.make_i(forms::CMPPS, size, &[Source::Reg(x), Source::Reg(x)], 0x07);
        let large = self.make_i(forms::CMPPS, size, &[Source::Reg(x), Source::Reg(one_above)], 0x1d);
        // What is too large, too small or no number becomes the least integer, whose complement is the greatest.
        let converted = self.make(forms::CVTTPS2DQ, size, &[Source::Reg(x)]);
        let held = self.two(forms::PXOR, size, converted, large);
        self.set(forms::PAND, size, def, held, number);
        Ok(())
    }

    // Comparisons.

    pub fn compare_vectors(&mut self, inst: ClifInst, result: Value) -> Result<(), Unsupported> {
        let def = self.reg(result);
        match self.dfg().insts[inst] {
            Data::FloatCompare { cond, args: [x, y], .. } => {
                let ty = self.ty(x);
                let op = if lane(ty) == 4 { forms::CMPPS } else { forms::CMPPD };
                let (x, y) = (Source::Reg(self.reg(x)), self.source(y));
                self.push(Inst::new(op, size(ty), Some(def), &[x, y]).immediate(float_condition(cond)));
                Ok(())
            }
            Data::IntCompare { cond, args, .. } => {
                self.compare_integers(cond, def, args[0], args[1]);
                Ok(())
            }
            _ => refuse("a comparison of another format"),
        }
    }

    /// There are x = y and, with signs, x > y.
    fn compare_integers(&mut self, cond: IntCC, def: Reg, x: Value, y: Value) {
        use IntCC::*;
        let ty = self.ty(x);
        let (w, size) = (lane(ty), size(ty));
        let (equal, greater) = (by_lane(w, PCMPEQ), by_lane(w, PCMPGT));
        // The greater one, or less, of the two is x.
        let extreme = match cond {
            SignedGreaterThanOrEqual => Some(PMAXS),
            SignedLessThanOrEqual => Some(PMINS),
            UnsignedGreaterThanOrEqual => Some(PMAXU),
            UnsignedLessThanOrEqual => Some(PMINU),
            _ => None,
        };
        match (cond, extreme) {
            (Equal, _) => {
                let (x, y) = (Source::Reg(self.reg(x)), self.source(y));
                self.put(equal, size, def, &[x, y]);
            }
            (NotEqual, _) => {
                let (x, y) = (Source::Reg(self.reg(x)), self.source(y));
                let same = self.make(equal, size, &[x, y]);
                self.complement(size, def, same);
            }
            (SignedGreaterThan, _) => {
                let (x, y) = (Source::Reg(self.reg(x)), self.source(y));
                self.put(greater, size, def, &[x, y]);
            }
            (SignedLessThan, _) => {
                let (y, x) = (Source::Reg(self.reg(y)), self.source(x));
                self.put(greater, size, def, &[y, x]);
            }
            (_, Some(extreme)) if w < 8 => {
                let (x, y) = (self.reg(x), self.source(y));
                let extreme = self.make(by_lane(w, extreme), size, &[Source::Reg(x), y]);
                self.set(equal, size, def, x, extreme);
            }
            _ => {
                let unsigned = matches!(
                    cond,
                    UnsignedGreaterThan
                        | UnsignedLessThan
                        | UnsignedGreaterThanOrEqual
                        | UnsignedLessThanOrEqual
                );
                let [x, y] = [x, y].map(|v| if unsigned { self.sign_turned(v) } else { self.reg(v) });
                match cond {
                    UnsignedGreaterThan => self.set(greater, size, def, x, y),
                    UnsignedLessThan => self.set(greater, size, def, y, x),
                    SignedLessThanOrEqual | UnsignedLessThanOrEqual => {
                        let above = self.two(greater, size, x, y);
                        self.complement(size, def, above);
                    }
                    _ => {
                        let below = self.two(greater, size, y, x);
                        self.complement(size, def, below);
                    }
                }
            }
        }
    }

    fn complement(&mut self, size: Size, def: Reg, x: Reg) {
        let ones = self.constant(u64::MAX);
        self.set(forms::PXOR, size, def, x, ones);
    }

    /// Unsigned integers as signed ones in the same order.
    fn sign_turned(&mut self, v: Value) -> Reg {
        let ty = self.ty(v);
        let sign = repeated(lane(ty), 1 << (8 * lane(ty) - 1));
        if let Some(bits) = self.constant_bits(v) {
            return self.constant(bits ^ sign);
        }
        let (x, sign) = (self.reg(v), self.constant(sign));
        self.two(forms::PXOR, size(ty), x, sign)
    }

    /// The lesser or the greater of 64-bit integers.
    pub fn extreme_64(&mut self, opcode: Opcode, result: Value, args: &[Value]) {
        let size = size(self.ty(result));
        let def = self.reg(result);
        let [x, y] = [args[0], args[1]].map(|v| self.reg(v));
        let unsigned = matches!(opcode, Opcode::Umax | Opcode::Umin);
        let [a, b] = match unsigned {
            true => {
                let sign = self.constant(SIGN);
                [x, y].map(|x| self.two(forms::PXOR, size, x, sign))
            }
            false => [x, y],
        };
        let above = Source::Reg(self.two(forms::PCMPGTQ, size, a, b));
        let [x, y] = [x, y].map(Source::Reg);
        let [no, yes] = if matches!(opcode, Opcode::Smax | Opcode::Umax) { [y, x] } else { [x, y] };
        self.put(forms::PBLENDVB, size, def, &[no, yes, above]);
    }

    /// The magnitude of 64-bit integers.
    pub fn magnitude_64(&mut self, result: Value, x: Value) {
        let size = size(self.ty(result));
        let (def, x, zero) = (self.reg(result), self.reg(x), self.constant(0));
        let negative = self.two(forms::PCMPGTQ, size, zero, x);
        let turned = self.two(forms::PXOR, size, x, negative);
        self.set(forms::PSUBQ, size, def, turned, negative);
    }

    /// Sets the flags by whether any lane is not zero.
    pub fn any_true_of_vector(&mut self, v: Value) -> Result<Condition, Unsupported> {
        let ty = self.ty(v);
        let mut x = self.reg(v);
        // What lies above the lanes doesn't count: they are spread over a register.
        let spread = match ty.bytes() {
            2 => Some(forms::PMOVZXBQ),
            4 => Some(forms::PMOVZXBD),
            8 => Some(forms::PMOVZXBW),
            _ => None,
        };
        if let Some(op) = spread {
            x = self.make(op, Size::X, &[Source::Reg(x)]);
        }
        self.push(Inst::new(forms::PTEST, size(ty), None, &[Source::Reg(x), Source::Reg(x)]));
        Ok(Condition::NotEqual)
    }
}
