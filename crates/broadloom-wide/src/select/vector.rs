//! Arithmetic on vectors: one machine instruction for each CLIF instruction where x86-64 has one. If a value is shorter
//! than its register, the register's upper lanes are unspecified.

use cranelift_codegen::ir::condcodes::{CondCode, FloatCC};
use cranelift_codegen::ir::{self, InstructionData, Opcode, Type, Value};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{RegClass, VInst, VOperand, VReg, VectorLength};
use crate::select::by_lane::{PMAXS, PMAXU, PMINS, PMINU, by_float, by_lane, lane, length};
use crate::select::lower::Lower;
use crate::target::Level;

const PADD: [Encoding; 4] = [encodings::PADDB, encodings::PADDW, encodings::PADDD, encodings::PADDQ];
const PSUB: [Encoding; 4] = [encodings::PSUBB, encodings::PSUBW, encodings::PSUBD, encodings::PSUBQ];
const PABS: [Encoding; 4] = [encodings::PABSB, encodings::PABSW, encodings::PABSD, encodings::PABSQ];
const BROADCAST: [Encoding; 4] =
    [encodings::PBROADCASTB, encodings::PBROADCASTW, encodings::PBROADCASTD, encodings::PBROADCASTQ];
const BROADCAST_G: [Encoding; 4] =
    [encodings::PBROADCASTB_G, encodings::PBROADCASTW_G, encodings::PBROADCASTD_G, encodings::PBROADCASTQ_G];

impl Lower<'_> {
    pub(super) fn vector(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        result: Value,
    ) -> Result<(), Unsupported> {
        if self.clif.is_mask(result) && self.clif.level == Level::Avx512 {
            return self.mask_result(inst, opcode, result);
        }
        let ty = self.clif.ty(result);
        let args = self.clif.arguments(inst);
        let w = lane(ty);
        match opcode {
            Opcode::Load => self.load(inst, result)?,
            Opcode::Vconst | Opcode::Bitcast => {}
            Opcode::Splat => self.splat(result, args[0])?,
            Opcode::Fadd => self.binary(by_float(ty, encodings::ADDPS, encodings::ADDPD), result, args),
            Opcode::Fsub => self.binary(by_float(ty, encodings::SUBPS, encodings::SUBPD), result, args),
            Opcode::Fmul => self.binary(by_float(ty, encodings::MULPS, encodings::MULPD), result, args),
            Opcode::Fdiv => self.binary(by_float(ty, encodings::DIVPS, encodings::DIVPD), result, args),
            Opcode::Sqrt => self.unary(by_float(ty, encodings::SQRTPS, encodings::SQRTPD), result, args[0]),
            Opcode::Fma => self.fma(result, args),
            Opcode::Nearest => self.round(result, args[0], 0x08),
            Opcode::Floor => self.round(result, args[0], 0x09),
            Opcode::Ceil => self.round(result, args[0], 0x0a),
            Opcode::Trunc => self.round(result, args[0], 0x0b),
            Opcode::Fneg => {
                let sign = self.vregs.constant_of(w, 1 << (8 * w - 1));
                self.with_constant(self.logic(ty, Logic::Xor), result, args[0], sign);
            }
            Opcode::Fabs => {
                let magnitude = self.vregs.constant_of(w, u64::MAX >> (65 - 8 * w));
                self.with_constant(self.logic(ty, Logic::And), result, args[0], magnitude);
            }
            Opcode::Iadd => self.binary(by_lane(w, PADD), result, args),
            Opcode::Isub => self.binary(by_lane(w, PSUB), result, args),
            Opcode::Ineg => {
                let (zero, def, x) = (self.vregs.constant(0), self.reg(result), self.source(args[0]));
                self.put(by_lane(w, PSUB), length(ty), def, &[VOperand::Reg(zero), x]);
            }
            Opcode::Imul => self.multiply(result, args)?,
            Opcode::AvgRound if w == 2 => self.binary(encodings::PAVGW, result, args),
            Opcode::Smax | Opcode::Smin | Opcode::Umax | Opcode::Umin => {
                let ops = match opcode {
                    Opcode::Smax => PMAXS,
                    Opcode::Smin => PMINS,
                    Opcode::Umax => PMAXU,
                    _ => PMINU,
                };
                match (w, self.clif.level) {
                    (8, Level::Avx2) => self.min_max_64(opcode, result, args),
                    _ => self.binary(by_lane(w, ops), result, args),
                }
            }
            Opcode::Iabs => match (w, self.clif.level) {
                (8, Level::Avx2) => self.abs_64(result, args[0]),
                _ => self.unary(by_lane(w, PABS), result, args[0]),
            },
            Opcode::Band | Opcode::Bor | Opcode::Bxor => self.bitwise(opcode, result, args),
            Opcode::Bnot => {
                let ones = self.vregs.constant(u64::MAX);
                self.with_constant(self.logic(ty, Logic::Xor), result, args[0], ones);
            }
            Opcode::Bitselect => self.bit_select(result, args),
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr => self.shift(opcode, result, args)?,
            Opcode::Icmp | Opcode::Fcmp => self.compare_vectors(inst, result)?,
            Opcode::FcvtFromSint | Opcode::FcvtFromUint => {
                self.float_of_int(result, args[0], opcode == Opcode::FcvtFromSint)?;
            }
            Opcode::FcvtToSintSat | Opcode::FcvtToUintSat => {
                self.int_of_float(result, args[0], opcode == Opcode::FcvtToSintSat)?;
            }
            other => return refuse(format!("{other} of {ty}")),
        }
        Ok(())
    }

    pub(super) fn binary(&mut self, op: Encoding, result: Value, args: &[Value]) {
        let (def, ty) = (self.reg(result), self.clif.ty(result));
        // A load that is to be folded has to be the last operand.
        let swap = op.commutes && self.sunk_through_casts(args[0]).is_some();
        let [x, y] = if swap { [args[1], args[0]] } else { [args[0], args[1]] };
        let x = self.reg(x);
        let y = self.source(y);
        self.put(op, length(ty), def, &[VOperand::Reg(x), y]);
    }

    pub(super) fn unary(&mut self, op: Encoding, result: Value, x: Value) {
        let (def, ty) = (self.reg(result), self.clif.ty(result));
        let x = self.source(x);
        self.put(op, length(ty), def, &[x]);
    }

    fn with_constant(&mut self, op: Encoding, result: Value, x: Value, constant: VReg) {
        let (def, ty) = (self.reg(result), self.clif.ty(result));
        let x = self.reg(x);
        self.put(op, length(ty), def, &[VOperand::Reg(x), VOperand::Reg(constant)]);
    }

    fn round(&mut self, result: Value, x: Value, how: i32) {
        let (def, ty) = (self.reg(result), self.clif.ty(result));
        let x = self.source(x);
        let op = match self.clif.level {
            Level::Avx512 => by_float(ty, encodings::RNDSCALEPS, encodings::RNDSCALEPD),
            Level::Avx2 => by_float(ty, encodings::ROUNDPS, encodings::ROUNDPD),
        };
        self.push(VInst::new(op, length(ty), Some(def), &[x]).immediate(how));
    }

    /// Selects `a·b + c`. Negations of the factors and of the addend are folded into it.
    fn fma(&mut self, result: Value, args: &[Value]) {
        let (def, ty) = (self.reg(result), self.clif.ty(result));
        let (mut a, mut b, mut c) = (args[0], args[1], args[2]);
        let (mut negative, mut subtracts) = (false, false);
        for factor in [&mut a, &mut b] {
            if let Some(inst) = self.clif.def_of(*factor, Opcode::Fneg) {
                (*factor, negative) = (self.clif.arguments(inst)[0], !negative);
            }
        }
        if let Some(inst) = self.clif.def_of(c, Opcode::Fneg) {
            (c, subtracts) = (self.clif.arguments(inst)[0], true);
        }
        let op = match (negative, subtracts) {
            (false, false) => by_float(ty, encodings::FMADD213PS, encodings::FMADD213PD),
            (true, false) => by_float(ty, encodings::FNMADD213PS, encodings::FNMADD213PD),
            (false, true) => by_float(ty, encodings::FMSUB213PS, encodings::FMSUB213PD),
            (true, true) => by_float(ty, encodings::FNMSUB213PS, encodings::FNMSUB213PD),
        };
        let [x, y, z] = [a, b, c].map(|v| VOperand::Reg(self.reg(v)));
        self.push(VInst::new(op, length(ty), Some(def), &[x, y, z]).tied());
    }

    fn multiply(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        if lane(ty) == 8
            && let [Some(x), Some(y)] = [args[0], args[1]].map(|v| self.clif.low_halves_of(v))
        {
            // The product of the lower halves is the whole product.
            let (def, factors) = (self.reg(result), [x, y].map(|v| VOperand::Reg(self.reg(v))));
            self.put(encodings::PMULUDQ, length(ty), def, &factors);
            return Ok(());
        }
        match (lane(ty), self.clif.level) {
            (2, _) => self.binary(encodings::PMULLW, result, args),
            (4, _) => self.binary(encodings::PMULLD, result, args),
            (8, Level::Avx512) => self.binary(encodings::PMULLQ, result, args),
            (8, Level::Avx2) => {
                // Of the four products of 32-bit halves, three contribute to the low 64 bits.
                let (def, length) = (self.reg(result), length(ty));
                let [a, b] = [args[0], args[1]].map(|v| VOperand::Reg(self.reg(v)));
                let [a_high, b_high] =
                    [a, b].map(|x| VOperand::Reg(self.make_i(encodings::PSRLQ_I, length, &[x], 32)));
                let low = self.make(encodings::PMULUDQ, length, &[a, b]);
                let x = self.make(encodings::PMULUDQ, length, &[a_high, b]);
                let y = self.make(encodings::PMULUDQ, length, &[a, b_high]);
                let mixed = self.make(encodings::PADDQ, length, &[VOperand::Reg(x), VOperand::Reg(y)]);
                let mixed = self.make_i(encodings::PSLLQ_I, length, &[VOperand::Reg(mixed)], 32);
                self.put(encodings::PADDQ, length, def, &[VOperand::Reg(low), VOperand::Reg(mixed)]);
            }
            _ => return refuse(format!("imul of {ty}")),
        }
        Ok(())
    }

    /// The encoding of a bitwise operation. The width of the lanes matters only for embedded broadcasts.
    pub(super) fn logic(&self, ty: Type, logic: Logic) -> Encoding {
        let ops = match logic {
            Logic::And => [encodings::PAND, encodings::PANDD, encodings::PANDQ],
            Logic::Or => [encodings::POR, encodings::PORD, encodings::PORQ],
            Logic::Xor => [encodings::PXOR, encodings::PXORD, encodings::PXORQ],
            Logic::AndNot => [encodings::PANDN, encodings::PANDND, encodings::PANDNQ],
        };
        match (self.clif.level, lane(ty)) {
            (Level::Avx2, _) => ops[0],
            (Level::Avx512, 8) => ops[2],
            (Level::Avx512, _) => ops[1],
        }
    }

    fn bitwise(&mut self, opcode: Opcode, result: Value, args: &[Value]) {
        let ty = self.clif.ty(result);
        let negated = [0, 1].map(|i| self.clif.complement_of(args[i]).filter(|_| opcode == Opcode::Band));
        // The complemented operand, if there is one, becomes the second.
        let (x, y, complement) = match negated {
            [_, Some(inner)] => (args[0], inner, true),
            [Some(inner), None] => (args[1], inner, true),
            _ => (args[0], args[1], false),
        };
        if self.clif.level == Level::Avx512 && opcode == Opcode::Band {
            // Either operand may be in a mask register.
            let def = self.reg(result);
            match (self.clif.is_mask(x), self.clif.is_mask(y), complement) {
                (false, true, true) => return self.zero_where(def, ty, y, x),
                (false, true, false) => return self.keep_where(def, ty, y, x),
                (true, false, false) => return self.keep_where(def, ty, x, y),
                _ => {}
            }
        }
        let logic = match opcode {
            // The machine's AND-NOT complements its first operand.
            Opcode::Band if complement => {
                return self.binary(self.logic(ty, Logic::AndNot), result, &[y, x]);
            }
            Opcode::Band => Logic::And,
            Opcode::Bor => Logic::Or,
            _ => Logic::Xor,
        };
        self.binary(self.logic(ty, logic), result, args);
    }

    /// Selects the bits of `a` where the bits of a constant are set, and the bits of `b` elsewhere, if one instruction
    /// can do it. Returns whether it can.
    fn blend_by_constant(&mut self, result: Value, bits: u64, a: Value, b: Value) -> bool {
        let ty = self.clif.ty(result);
        let whole = |lane: u32| {
            let ones = u64::MAX >> (64 - 8 * lane);
            (0..8 / lane).all(|i| matches!(bits >> (8 * lane * i) & ones, part if part == 0 || part == ones))
        };
        if self.clif.level == Level::Avx512 {
            let (def, m) = (self.reg(result), self.vregs.constant(bits));
            let [a, b] = [a, b].map(|v| VOperand::Reg(self.reg(v)));
            // Bit 4b + 2m + a of the immediate of `vpternlog` is the result for a bit b, a mask bit m and a
            // bit a: it is a where m is 1, and b where m is 0. The instruction overwrites b, so the constant
            // is kept.
            let inst = VInst::new(encodings::PTERNLOGQ, length(ty), Some(def), &[b, VOperand::Reg(m), a]);
            self.push(inst.tied().immediate(0xb8));
        } else if whole(2) {
            let words = (0..4).fold(0, |words, i| words | (bits >> (16 * i) & 1) << i) as i32;
            let (def, b, a) = (self.reg(result), VOperand::Reg(self.reg(b)), self.source(a));
            let inst = VInst::new(encodings::PBLENDW, length(ty), Some(def), &[b, a]);
            self.push(inst.immediate(words * 0x11));
        } else if whole(1) {
            let (def, m) = (self.reg(result), VOperand::Reg(self.vregs.constant(bits)));
            let [a, b] = [a, b].map(|v| VOperand::Reg(self.reg(v)));
            self.put(encodings::PBLENDVB, length(ty), def, &[b, a, m]);
        } else {
            return false;
        }
        true
    }

    fn bit_select(&mut self, result: Value, args: &[Value]) {
        let ty = self.clif.ty(result);
        let (m, a, b) = (args[0], args[1], args[2]);
        if let Some(op) = self.float_min_max(m, a, b) {
            return self.binary(op, result, &[a, b]);
        }
        if self.clif.level == Level::Avx512 && self.replaces_nan(m, a, b) {
            return self.replace_nan(result, a, b);
        }
        if let Some(bits) = self.clif.constant_bits(m)
            && self.blend_by_constant(result, bits, a, b)
        {
            return;
        }
        match (self.clif.level, self.clif.is_mask(m)) {
            (Level::Avx512, true) => self.select_by_mask(result, self.clif.resolve(m), a, b),
            (Level::Avx2, true) => match [a, b].map(|v| self.clif.constant_bits(v)) {
                [_, Some(0)] => self.binary(encodings::PAND, result, &[m, a]),
                [Some(0), _] => self.binary(encodings::PANDN, result, &[m, b]),
                _ => {
                    let def = self.reg(result);
                    let [no, yes, m] = [b, a, m].map(|v| VOperand::Reg(self.reg(v)));
                    self.put(encodings::PBLENDVB, length(ty), def, &[no, yes, m]);
                }
            },
            (Level::Avx512, false) => {
                let def = self.reg(result);
                let [m, a, b] = [m, a, b].map(|v| VOperand::Reg(self.reg(v)));
                // Bit 4m + 2a + b of the immediate of `vpternlog` is the result for a mask bit m and bits a
                // and b: a if m is 1, else b.
                let op = if lane(ty) == 8 { encodings::PTERNLOGQ } else { encodings::PTERNLOGD };
                self.push(VInst::new(op, length(ty), Some(def), &[m, a, b]).tied().immediate(0xca));
            }
            (Level::Avx2, false) => {
                let def = self.reg(result);
                let [m, a, b] = [m, a, b].map(|v| VOperand::Reg(self.reg(v)));
                let yes = self.make(encodings::PAND, length(ty), &[m, a]);
                let no = self.make(encodings::PANDN, length(ty), &[m, b]);
                self.put(encodings::POR, length(ty), def, &[VOperand::Reg(yes), VOperand::Reg(no)]);
            }
        }
    }

    /// Whether a select by `m` returns the constant `a`, such as the canonical NaN, where `b` is NaN, and `b`
    /// elsewhere.
    fn replaces_nan(&self, m: Value, a: Value, b: Value) -> bool {
        let compare = self.clif.def(self.clif.bare(m)).map(|def| self.clif.data(def));
        let Some(InstructionData::FloatCompare { cond: FloatCC::NotEqual, args, .. }) = compare else {
            return false;
        };
        let b = self.clif.bare(b);
        lane(self.clif.ty(args[0])) == lane(self.clif.ty(b))
            && args.iter().all(|&v| self.clif.bare(v) == b)
            && self.clif.constant_bits(self.clif.bare(a)).is_some()
    }

    /// Selects `a` where `b` is NaN, otherwise `b`, by the instruction `vfixupimm`, which chooses by the class (NaN,
    /// zero, infinity, …) of each number.
    ///
    /// PERF: this instruction runs on either of two ports. The alternative is a comparison and a blend, of which the
    /// comparison runs on one port only. A loop of twenty products and sums takes 0.93 times as long with this
    /// instruction.
    fn replace_nan(&mut self, result: Value, a: Value, b: Value) {
        let ty = self.clif.ty(result);
        let double = lane(ty) == 8;
        // The table has four bits for each class of numbers. The two lowest classes are quiet and signalling
        // NaNs. An entry of 0 keeps the first operand, `a`; 1 takes the second, `b`.
        let table = self.vregs.constant_of(lane(ty), 0x1111_1100);
        let def = self.reg(result);
        let [a, b] = [a, b].map(|v| VOperand::Reg(self.reg(v)));
        let op = if double { encodings::FIXUPIMMPD } else { encodings::FIXUPIMMPS };
        let inst = VInst::new(op, length(ty), Some(def), &[a, b, VOperand::Reg(table)]);
        self.push(inst.tied().immediate(0));
    }

    /// The minimum or maximum instruction that is equivalent to a comparison of floats and a select by its result, if
    /// there is one. (For integers, minimum and maximum are CLIF instructions.)
    fn float_min_max(&self, m: Value, a: Value, b: Value) -> Option<Encoding> {
        let InstructionData::FloatCompare { cond, args, .. } =
            self.clif.data(self.clif.def(self.clif.bare(m))?)
        else {
            return None;
        };
        let (a, b, w) = (self.clif.bare(a), self.clif.bare(b), lane(self.clif.ty(a)));
        let [x, y] = args.map(|v| self.clif.bare(v));
        let cond = match (lane(self.clif.ty(args[0])) == w, (a, b)) {
            (true, pair) if pair == (x, y) => cond,
            (true, pair) if pair == (y, x) => CondCode::swap_args(cond),
            _ => return None,
        };
        // If the operands are equal or one is NaN, the machine returns the second operand, as the select does.
        let [single, double] = match cond {
            FloatCC::LessThan => [encodings::MINPS, encodings::MINPD],
            FloatCC::GreaterThan => [encodings::MAXPS, encodings::MAXPD],
            _ => return None,
        };
        Some(if w == 4 { single } else { double })
    }

    /// Selects a shift of all lanes by one count, modulo the width of a lane.
    fn shift(&mut self, opcode: Opcode, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let w = lane(ty);
        let place = match w {
            2 => 0,
            4 => 1,
            8 => 2,
            _ => return refuse(format!("{opcode} of {ty}")),
        };
        let evex = self.clif.level == Level::Avx512;
        if !evex && opcode == Opcode::Sshr && w == 8 {
            return self.shift_right_signed_64(result, args);
        }
        if let Some(count) = self.clif.integer_constant(args[1]) {
            let count = (count as u64 % u64::from(8 * w)) as i32;
            let ops = match (opcode, evex) {
                (Opcode::Ishl, true) => [encodings::PSLLW_KI, encodings::PSLLD_KI, encodings::PSLLQ_KI],
                (Opcode::Ushr, true) => [encodings::PSRLW_KI, encodings::PSRLD_KI, encodings::PSRLQ_KI],
                (_, true) => [encodings::PSRAW_KI, encodings::PSRAD_KI, encodings::PSRAQ_KI],
                (Opcode::Ishl, false) => [encodings::PSLLW_I, encodings::PSLLD_I, encodings::PSLLQ_I],
                (Opcode::Ushr, false) => [encodings::PSRLW_I, encodings::PSRLD_I, encodings::PSRLQ_I],
                (_, false) => [encodings::PSRAW_I, encodings::PSRAD_I, encodings::PSRAD_I],
            };
            let def = self.reg(result);
            let x = if evex { self.source(args[0]) } else { VOperand::Reg(self.reg(args[0])) };
            self.push(VInst::new(ops[place], length(ty), Some(def), &[x]).immediate(count));
            return Ok(());
        }
        let ops = match opcode {
            Opcode::Ishl => [encodings::PSLLW_X, encodings::PSLLD_X, encodings::PSLLQ_X],
            Opcode::Ushr => [encodings::PSRLW_X, encodings::PSRLD_X, encodings::PSRLQ_X],
            _ => [encodings::PSRAW_X, encodings::PSRAD_X, encodings::PSRAQ_X],
        };
        let count = self.shift_count(args[1], w);
        let (def, x) = (self.reg(result), self.reg(args[0]));
        self.put(ops[place], length(ty), def, &[VOperand::Reg(x), VOperand::Reg(count)]);
        Ok(())
    }

    /// Emits code that reduces a shift count modulo the width of a lane, which has `lane` bytes. Returns a vector
    /// register that holds the count in its lowest lane.
    pub(super) fn shift_count(&mut self, count: Value, lane: u32) -> VReg {
        let count = self.reg(count);
        let low = self.vregs.fresh(RegClass::General);
        let bits = 8 * lane as i32 - 1;
        self.push(
            VInst::new(encodings::AND_I, VectorLength::L128, Some(low), &[VOperand::Reg(count)])
                .tied()
                .immediate(bits),
        );
        let op = if self.clif.level == Level::Avx512 { encodings::MOVQ_E } else { encodings::MOVQ };
        self.make(op, VectorLength::L128, &[VOperand::Reg(low)])
    }

    /// Broadcasts a scalar to every lane.
    pub(super) fn splat(&mut self, result: Value, scalar: Value) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let w = lane(ty);
        let def = self.reg(result);
        let op = by_lane(w, BROADCAST);
        if let Some(inst) = self.sunk(scalar) {
            let address = self.load_address(inst);
            self.put(op, length(ty), def, &[VOperand::Mem(address)]);
            return Ok(());
        }
        let x = self.reg(scalar);
        if self.clif.ty(scalar).is_float() {
            self.put(op, length(ty), def, &[VOperand::Reg(x)]);
        } else if self.clif.level == Level::Avx512 {
            self.put(by_lane(w, BROADCAST_G), length(ty), def, &[VOperand::Reg(x)]);
        } else {
            let low = self.make(encodings::MOVQ, VectorLength::L128, &[VOperand::Reg(x)]);
            self.put(op, length(ty), def, &[VOperand::Reg(low)]);
        }
        Ok(())
    }
}

/// Bitwise operations.
#[derive(Clone, Copy)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
    AndNot,
}
