//! Sequences of AVX2 instructions for operations that are single instructions in AVX-512. AVX2 shuffles do not cross
//! 128-bit halves, so narrowing conversions work on the two halves and combine them afterwards.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstructionData, Opcode, Value};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{Condition, RegClass, VInst, VOperand, VReg, VectorLength};
use crate::intrinsic::Intrinsic;
use crate::select::by_lane::{PMAXS, PMAXU, PMINS, PMINU, by_lane, float_predicate, lane, length, repeated};
use crate::select::lower::Lower;
use crate::target::Level;

const PCMPEQ: [Encoding; 4] =
    [encodings::PCMPEQB, encodings::PCMPEQW, encodings::PCMPEQD, encodings::PCMPEQQ];
const PCMPGT: [Encoding; 4] =
    [encodings::PCMPGTB, encodings::PCMPGTW, encodings::PCMPGTD, encodings::PCMPGTQ];

/// The sign bit of a 64-bit lane.
const SIGN: u64 = 1 << 63;

impl Lower<'_> {
    /// Emits `op(x, y)` with a new register for its result, which is returned.
    fn two(&mut self, op: Encoding, length: VectorLength, x: VReg, y: VReg) -> VReg {
        self.make(op, length, &[VOperand::Reg(x), VOperand::Reg(y)])
    }

    /// Emits `def = op(x, y)`.
    fn set(&mut self, op: Encoding, length: VectorLength, def: VReg, x: VReg, y: VReg) {
        self.put(op, length, def, &[VOperand::Reg(x), VOperand::Reg(y)]);
    }

    fn shifted(&mut self, op: Encoding, length: VectorLength, x: VReg, by: i32) -> VReg {
        self.make_i(op, length, &[VOperand::Reg(x)], by)
    }

    /// The upper 128 bits of a vector of 256 bits.
    fn upper(&mut self, x: VReg) -> VReg {
        self.make_i(encodings::EXTRACTI128, VectorLength::L256, &[VOperand::Reg(x)], 1)
    }

    // Shifts.

    /// Selects an arithmetic right shift of 64-bit lanes, all by the same count modulo 64.
    pub(super) fn shift_right_signed_64(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let length = length(self.clif.ty(result));
        let (def, x) = (self.reg(result), self.reg(args[0]));
        if let Some(count) = self.clif.integer_constant(args[1]) {
            match count & 63 {
                0 => self.put(encodings::MOVAPS, length, def, &[VOperand::Reg(x)]),
                63 => {
                    let zero = self.vregs.constant(0);
                    self.set(encodings::PCMPGTQ, length, def, zero, x);
                }
                count => {
                    let shifted = self.shifted(encodings::PSRLQ_I, length, x, count as i32);
                    let sign = self.vregs.constant(SIGN >> count);
                    self.sign_extend_from(sign, length, def, shifted);
                }
            }
            return Ok(());
        }
        let count = self.shift_count(args[1], 8);
        let sign = self.vregs.constant(SIGN);
        let [shifted, sign] = [x, sign].map(|x| self.two(encodings::PSRLQ_X, length, x, count));
        self.sign_extend_from(sign, length, def, shifted);
        Ok(())
    }

    /// Sets `def` to `x`, sign-extended in each lane from the only bit that is set in `sign`. The bits of `x` above
    /// that bit are 0.
    fn sign_extend_from(&mut self, sign: VReg, length: VectorLength, def: VReg, x: VReg) {
        let flipped = self.two(encodings::PXOR, length, x, sign);
        self.set(encodings::PSUBQ, length, def, flipped, sign);
    }

    /// Selects an arithmetic right shift of 64-bit lanes, or any shift of 16-bit lanes, with a count for each lane.
    pub(super) fn shift_lanes_avx2(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        args: &[Value],
    ) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let length = length(ty);
        let (def, x, counts) = (self.reg(result), self.reg(args[0]), self.reg(args[1]));
        match (lane(ty), intrinsic) {
            (8, Intrinsic::ShiftRightSigned) => {
                let sign = self.vregs.constant(SIGN);
                let [shifted, sign] = [x, sign].map(|x| self.two(encodings::PSRLVQ, length, x, counts));
                self.sign_extend_from(sign, length, def, shifted);
            }
            (2, _) => self.shift_lanes_16(intrinsic, length, def, x, counts),
            _ => return refuse(format!("{intrinsic:?} of {ty}")),
        }
        Ok(())
    }

    /// Shifts 16-bit lanes. The even-indexed and the odd-indexed lanes are shifted separately, each in a lane of 32
    /// bits.
    fn shift_lanes_16(
        &mut self,
        intrinsic: Intrinsic,
        length: VectorLength,
        def: VReg,
        x: VReg,
        counts: VReg,
    ) {
        let low_half = self.vregs.constant_of(4, 0xffff);
        let even_counts = self.two(encodings::PAND, length, counts, low_half);
        let odd_counts = self.shifted(encodings::PSRLD_I, length, counts, 16);
        let (even, odd) = match intrinsic {
            Intrinsic::ShiftLeft => {
                let high_half = self.vregs.constant_of(4, 0xffff_0000);
                let high = self.two(encodings::PAND, length, x, high_half);
                let even = self.two(encodings::PSLLVD, length, x, even_counts);
                (even, self.two(encodings::PSLLVD, length, high, odd_counts))
            }
            Intrinsic::ShiftRight => {
                let low = self.two(encodings::PAND, length, x, low_half);
                let even = self.two(encodings::PSRLVD, length, low, even_counts);
                (even, self.two(encodings::PSRLVD, length, x, odd_counts))
            }
            _ => {
                // The even-indexed lanes are moved to the upper halves of the 32-bit lanes, so that their sign bit is
                // also the sign bit of the 32-bit lane.
                let low = self.shifted(encodings::PSLLD_I, length, x, 16);
                let even = self.two(encodings::PSRAVD, length, low, even_counts);
                let even = self.shifted(encodings::PSRLD_I, length, even, 16);
                (even, self.two(encodings::PSRAVD, length, x, odd_counts))
            }
        };
        let sources = [VOperand::Reg(even), VOperand::Reg(odd)];
        self.push(VInst::new(encodings::PBLENDW, length, Some(def), &sources).immediate(0xaa));
    }

    // Narrowing.

    pub(super) fn narrow_avx2(
        &mut self,
        intrinsic: Intrinsic,
        result: Value,
        x: Value,
    ) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        let (narrow, broad) = (lane(to), lane(from));
        let (def, x) = (self.reg(result), self.reg(x));
        if intrinsic == Intrinsic::Truncate {
            self.truncate(def, x, length(from), broad, narrow);
            return Ok(());
        }
        let signed = intrinsic == Intrinsic::SaturateSigned;
        match (broad, narrow, signed) {
            (4, 2, true) => self.pack(&[encodings::PACKSSDW], length(from), def, x),
            (4, 2, false) => self.pack(&[encodings::PACKUSDW], length(from), def, x),
            (2, 1, true) => self.pack(&[encodings::PACKSSWB], length(from), def, x),
            (2, 1, false) => self.pack(&[encodings::PACKUSWB], length(from), def, x),
            // The first pack saturates to 16 bits but keeps the sign, so the second pack still saturates in the right
            // direction.
            (4, 1, true) => self.pack(&[encodings::PACKSSDW, encodings::PACKSSWB], length(from), def, x),
            (4, 1, false) => self.pack(&[encodings::PACKSSDW, encodings::PACKUSWB], length(from), def, x),
            _ => return refuse(format!("{intrinsic:?} from {from} to {to}")),
        }
        Ok(())
    }

    /// Keeps the low `narrow` bytes of each lane of `broad` bytes.
    fn truncate(&mut self, def: VReg, x: VReg, length: VectorLength, broad: u32, narrow: u32) {
        // Each 128-bit half keeps at most 8 bytes. The constant of shuffle indices repeats every 8 bytes, and so does
        // the result.
        let indices = (0..8).map(|i| u64::from(i % narrow + i / narrow * broad % 16) << (8 * i));
        let indices = self.vregs.constant(indices.fold(0, |all, index| all | index));
        if length == VectorLength::L128 {
            return self.set(encodings::PSHUFB, length, def, x, indices);
        }
        let halves = self.two(encodings::PSHUFB, length, x, indices);
        let op = match broad / narrow {
            2 => {
                let quarters =
                    VInst::new(encodings::PERMQ_I, VectorLength::L256, Some(def), &[VOperand::Reg(halves)]);
                // Takes the first and the third 64-bit lane, which hold the results of the two halves.
                return self.push(quarters.immediate(0b10_00));
            }
            4 => encodings::PUNPCKLDQ,
            _ => encodings::PUNPCKLWD,
        };
        let upper = self.upper(halves);
        self.set(op, VectorLength::L128, def, halves, upper);
    }

    /// Keeps the low half of each lane of two vectors. The upper halves are cleared first, so the pack instruction
    /// never saturates.
    pub(super) fn truncate_pair(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(args[0]));
        let (mask, pack) = match lane(from) {
            2 => (0xff, encodings::PACKUSWB),
            4 => (0xffff, encodings::PACKUSDW),
            _ => return refuse(format!("a pair of {from} to {to}")),
        };
        let (def, length) = (self.reg(result), length(from));
        let mask = self.vregs.constant_of(lane(from), mask);
        let [low, high] = [args[0], args[1]].map(|v| self.reg(v));
        let [low, high] = [low, high].map(|x| self.two(encodings::PAND, length, x, mask));
        let halves = VOperand::Reg(self.two(pack, length, low, high));
        // The pack works within 128-bit halves: each half now has 64 bits from the first vector, then 64 from the
        // second.
        self.push(VInst::new(encodings::PERMQ_I, length, Some(def), &[halves]).immediate(0b11_01_10_00));
        Ok(())
    }

    /// Narrows lanes by a sequence of pack instructions, each of which halves the width of the lanes.
    fn pack(&mut self, packs: &[Encoding], length: VectorLength, def: VReg, x: VReg) {
        let (mut low, mut high) = (x, if length == VectorLength::L128 { x } else { self.upper(x) });
        for (i, &op) in packs.iter().enumerate() {
            let to = if i + 1 == packs.len() { def } else { self.vregs.fresh(RegClass::Vector) };
            self.set(op, VectorLength::L128, to, low, high);
            (low, high) = (to, to);
        }
    }

    pub(super) fn resize_mask_avx2(&mut self, result: Value, x: Value) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        if lane(to) > lane(from) {
            return self.conversion(Intrinsic::SignExtend, result, x);
        }
        let (def, x) = (self.reg(result), self.reg(x));
        // Signed saturation keeps 0 and −1, the two values of a mask's lanes. A 64-bit lane is packed as two equal
        // lanes of 32 bits.
        match (lane(from), lane(to)) {
            (2, 1) => self.pack(&[encodings::PACKSSWB], length(from), def, x),
            (4, 2) | (8, 4) => self.pack(&[encodings::PACKSSDW], length(from), def, x),
            (4, 1) => self.pack(&[encodings::PACKSSDW, encodings::PACKSSWB], length(from), def, x),
            (8, 2) => self.pack(&[encodings::PACKSSDW, encodings::PACKSSDW], length(from), def, x),
            (8, 1) => self.pack(
                &[encodings::PACKSSDW, encodings::PACKSSDW, encodings::PACKSSWB],
                length(from),
                def,
                x,
            ),
            _ => return refuse(format!("a mask from {from} to {to}")),
        }
        Ok(())
    }

    pub(super) fn int_of_float_avx2(
        &mut self,
        result: Value,
        x: Value,
        signed: bool,
    ) -> Result<(), Unsupported> {
        let (to, from) = (self.clif.ty(result), self.clif.ty(x));
        if lane(from) != 4 || !signed {
            return refuse(format!("a conversion from {from} to {to}"));
        }
        let length = length(to);
        let (def, x) = (self.reg(result), self.reg(x));
        let one_above = self.vregs.constant_of(4, 0x4f00_0000);
        let number = self.make_i(encodings::CMPPS, length, &[VOperand::Reg(x), VOperand::Reg(x)], 0x07);
        let large =
            self.make_i(encodings::CMPPS, length, &[VOperand::Reg(x), VOperand::Reg(one_above)], 0x1d);
        // The conversion from float to integer gives the minimum integer for numbers out of range and for
        // NaN. Its complement is the maximum, which is taken where the number is too large.
        let converted = self.make(encodings::CVTTPS2DQ, length, &[VOperand::Reg(x)]);
        let held = self.two(encodings::PXOR, length, converted, large);
        self.set(encodings::PAND, length, def, held, number);
        Ok(())
    }

    // Comparisons.

    pub(super) fn compare_vectors(&mut self, inst: ir::Inst, result: Value) -> Result<(), Unsupported> {
        let def = self.reg(result);
        match self.clif.data(inst) {
            InstructionData::FloatCompare { cond, args: [x, y], .. } => {
                let ty = self.clif.ty(x);
                let op = if lane(ty) == 4 { encodings::CMPPS } else { encodings::CMPPD };
                let (x, y) = (VOperand::Reg(self.reg(x)), self.source(y));
                self.push(VInst::new(op, length(ty), Some(def), &[x, y]).immediate(float_predicate(cond)));
                Ok(())
            }
            InstructionData::IntCompare { cond, args, .. } => {
                self.compare_integers(cond, def, args[0], args[1]);
                Ok(())
            }
            _ => refuse("a comparison of another format"),
        }
    }

    /// Selects a comparison of integers. AVX2 only has instructions for x = y and signed x > y; the other conditions
    /// are derived from these.
    fn compare_integers(&mut self, cond: IntCC, def: VReg, x: Value, y: Value) {
        use IntCC::*;
        let ty = self.clif.ty(x);
        let (w, length) = (lane(ty), length(ty));
        let (equal, greater) = (by_lane(w, PCMPEQ), by_lane(w, PCMPGT));
        // x ≥ y if x is the maximum of x and y, and x ≤ y if x is the minimum.
        let min_max = match cond {
            SignedGreaterThanOrEqual => Some(PMAXS),
            SignedLessThanOrEqual => Some(PMINS),
            UnsignedGreaterThanOrEqual => Some(PMAXU),
            UnsignedLessThanOrEqual => Some(PMINU),
            _ => None,
        };
        match (cond, min_max) {
            (Equal, _) => {
                let (x, y) = (VOperand::Reg(self.reg(x)), self.source(y));
                self.put(equal, length, def, &[x, y]);
            }
            (NotEqual, _) => {
                let (x, y) = (VOperand::Reg(self.reg(x)), self.source(y));
                let same = self.make(equal, length, &[x, y]);
                self.complement(length, def, same);
            }
            (SignedGreaterThan, _) => {
                let (x, y) = (VOperand::Reg(self.reg(x)), self.source(y));
                self.put(greater, length, def, &[x, y]);
            }
            (SignedLessThan, _) => {
                let (y, x) = (VOperand::Reg(self.reg(y)), self.source(x));
                self.put(greater, length, def, &[y, x]);
            }
            (_, Some(min_max)) if w < 8 => {
                let (x, y) = (self.reg(x), self.source(y));
                let result = self.make(by_lane(w, min_max), length, &[VOperand::Reg(x), y]);
                self.set(equal, length, def, x, result);
            }
            _ => {
                let unsigned = matches!(
                    cond,
                    UnsignedGreaterThan
                        | UnsignedLessThan
                        | UnsignedGreaterThanOrEqual
                        | UnsignedLessThanOrEqual
                );
                let [x, y] = [x, y].map(|v| if unsigned { self.sign_flipped(v) } else { self.reg(v) });
                match cond {
                    UnsignedGreaterThan => self.set(greater, length, def, x, y),
                    UnsignedLessThan => self.set(greater, length, def, y, x),
                    SignedLessThanOrEqual | UnsignedLessThanOrEqual => {
                        let above = self.two(greater, length, x, y);
                        self.complement(length, def, above);
                    }
                    _ => {
                        let below = self.two(greater, length, y, x);
                        self.complement(length, def, below);
                    }
                }
            }
        }
    }

    fn complement(&mut self, length: VectorLength, def: VReg, x: VReg) {
        let ones = self.vregs.constant(u64::MAX);
        self.set(encodings::PXOR, length, def, x, ones);
    }

    /// Maps unsigned integers to signed ones in the same order, by flipping the sign bit.
    fn sign_flipped(&mut self, v: Value) -> VReg {
        let ty = self.clif.ty(v);
        let sign = repeated(lane(ty), 1 << (8 * lane(ty) - 1));
        if let Some(bits) = self.clif.constant_bits(v) {
            return self.vregs.constant(bits ^ sign);
        }
        let (x, sign) = (self.reg(v), self.vregs.constant(sign));
        self.two(encodings::PXOR, length(ty), x, sign)
    }

    /// Selects the minimum or maximum of 64-bit integers.
    pub(super) fn min_max_64(&mut self, opcode: Opcode, result: Value, args: &[Value]) {
        let length = length(self.clif.ty(result));
        let def = self.reg(result);
        let [x, y] = [args[0], args[1]].map(|v| self.reg(v));
        let unsigned = matches!(opcode, Opcode::Umax | Opcode::Umin);
        let [a, b] = match unsigned {
            true => {
                let sign = self.vregs.constant(SIGN);
                [x, y].map(|x| self.two(encodings::PXOR, length, x, sign))
            }
            false => [x, y],
        };
        let above = VOperand::Reg(self.two(encodings::PCMPGTQ, length, a, b));
        let [x, y] = [x, y].map(VOperand::Reg);
        let [no, yes] = if matches!(opcode, Opcode::Smax | Opcode::Umax) { [y, x] } else { [x, y] };
        self.put(encodings::PBLENDVB, length, def, &[no, yes, above]);
    }

    /// Selects the absolute value of 64-bit integers.
    pub(super) fn abs_64(&mut self, result: Value, x: Value) {
        let length = length(self.clif.ty(result));
        let (def, x, zero) = (self.reg(result), self.reg(x), self.vregs.constant(0));
        let negative = self.two(encodings::PCMPGTQ, length, zero, x);
        let flipped = self.two(encodings::PXOR, length, x, negative);
        self.set(encodings::PSUBQ, length, def, flipped, negative);
    }

    /// Selects an integer whose i-th bit is the highest bit of the vector's i-th lane.
    pub(super) fn high_bits(&mut self, result: Value, x: Value) -> Result<(), Unsupported> {
        let ty = self.clif.ty(x);
        self.clif.needs(Level::Avx2, "the highest bits of a vector that may be a mask register")?;
        let op = match lane(ty) {
            4 => encodings::MOVMSKPS,
            8 => encodings::MOVMSKPD,
            _ => return refuse(format!("the highest bits of {ty}")),
        };
        if ty.bytes() < 16 {
            return refuse(format!("the highest bits of {ty}"));
        }
        let (def, x) = (self.reg(result), self.reg(x));
        self.put(op, length(ty), def, &[VOperand::Reg(x)]);
        Ok(())
    }

    /// Emits a test of whether any lane is nonzero, which sets the CPU's flags. Returns the condition code
    /// that holds if any lane is nonzero.
    pub(super) fn any_true_of_vector(&mut self, v: Value) -> Result<Condition, Unsupported> {
        let ty = self.clif.ty(v);
        let mut x = self.reg(v);
        // If the vector is shorter than its register, the register's upper bits are arbitrary and must not be tested,
        // so the vector's bytes are zero-extended to fill the register.
        let spread = match ty.bytes() {
            2 => Some(encodings::PMOVZXBQ),
            4 => Some(encodings::PMOVZXBD),
            8 => Some(encodings::PMOVZXBW),
            _ => None,
        };
        if let Some(op) = spread {
            x = self.make(op, VectorLength::L128, &[VOperand::Reg(x)]);
        }
        self.push(VInst::new(encodings::PTEST, length(ty), None, &[VOperand::Reg(x), VOperand::Reg(x)]));
        Ok(Condition::NotEqual)
    }
}
