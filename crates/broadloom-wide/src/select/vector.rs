//! Arithmetic on vectors.
//!
//! In: vector instructions. Out: instructions of the machine, one for one wherever it has them. Must hold: the bits of
//! CLIF, in every lane of the value; lanes beyond hold anything.

use cranelift_codegen::ir::condcodes::{CondCode, FloatCC};
use cranelift_codegen::ir::{Inst as ClifInst, InstructionData as Data, Opcode, Type, Value};

use crate::forms::{self, Op};
use crate::machine::{Address, Base, Inst, Reg, Size, Source};
use crate::select::masks::lane;
use crate::select::{Select, by_lane, refuse, size};
use crate::{Level, Unsupported};

const PADD: [Op; 4] = [forms::PADDB, forms::PADDW, forms::PADDD, forms::PADDQ];
const PSUB: [Op; 4] = [forms::PSUBB, forms::PSUBW, forms::PSUBD, forms::PSUBQ];
pub const PMAXS: [Op; 4] = [forms::PMAXSB, forms::PMAXSW, forms::PMAXSD, forms::PMAXSQ];
pub const PMINS: [Op; 4] = [forms::PMINSB, forms::PMINSW, forms::PMINSD, forms::PMINSQ];
pub const PMAXU: [Op; 4] = [forms::PMAXUB, forms::PMAXUW, forms::PMAXUD, forms::PMAXUQ];
pub const PMINU: [Op; 4] = [forms::PMINUB, forms::PMINUW, forms::PMINUD, forms::PMINUQ];
const PABS: [Op; 4] = [forms::PABSB, forms::PABSW, forms::PABSD, forms::PABSQ];
const BROADCAST: [Op; 4] = [forms::PBROADCASTB, forms::PBROADCASTW, forms::PBROADCASTD, forms::PBROADCASTQ];
const BROADCAST_G: [Op; 4] =
    [forms::PBROADCASTB_G, forms::PBROADCASTW_G, forms::PBROADCASTD_G, forms::PBROADCASTQ_G];

/// One of two operations, by the width of float lanes.
pub fn float(ty: Type, single: Op, double: Op) -> Op {
    if lane(ty) == 4 { single } else { double }
}

impl Select<'_> {
    pub fn vector(&mut self, inst: ClifInst, opcode: Opcode, result: Value) -> Result<(), Unsupported> {
        if self.is_mask_value(result) && self.level == Level::Avx512 {
            return self.mask_result(inst, opcode, result);
        }
        let ty = self.ty(result);
        let args = self.arguments(inst);
        let w = lane(ty);
        match opcode {
            Opcode::Load => self.load(inst, result)?,
            Opcode::Vconst | Opcode::Bitcast => {}
            Opcode::Splat => self.splat(result, args[0])?,
            Opcode::Fadd => self.binary(float(ty, forms::ADDPS, forms::ADDPD), result, args),
            Opcode::Fsub => self.binary(float(ty, forms::SUBPS, forms::SUBPD), result, args),
            Opcode::Fmul => self.binary(float(ty, forms::MULPS, forms::MULPD), result, args),
            Opcode::Fdiv => self.binary(float(ty, forms::DIVPS, forms::DIVPD), result, args),
            Opcode::Sqrt => self.unary(float(ty, forms::SQRTPS, forms::SQRTPD), result, args[0]),
            Opcode::Fma => self.product(result, args),
            Opcode::Nearest => self.round(result, args[0], 0x08),
            Opcode::Floor => self.round(result, args[0], 0x09),
            Opcode::Ceil => self.round(result, args[0], 0x0a),
            Opcode::Trunc => self.round(result, args[0], 0x0b),
            Opcode::Fneg => {
                let sign = self.constant_of(w, 1 << (8 * w - 1));
                self.with_constant(self.logic(ty, Logic::Xor), result, args[0], sign);
            }
            Opcode::Fabs => {
                let magnitude = self.constant_of(w, u64::MAX >> (65 - 8 * w));
                self.with_constant(self.logic(ty, Logic::And), result, args[0], magnitude);
            }
            Opcode::Iadd => self.binary(by_lane(w, PADD), result, args),
            Opcode::Isub => self.binary(by_lane(w, PSUB), result, args),
            Opcode::Ineg => {
                let (zero, def, x) = (self.constant(0), self.reg(result), self.source(args[0]));
                self.put(by_lane(w, PSUB), size(ty), def, &[Source::Reg(zero), x]);
            }
            Opcode::Imul => self.multiply(result, args)?,
            Opcode::Smax | Opcode::Smin | Opcode::Umax | Opcode::Umin => {
                let ops = match opcode {
                    Opcode::Smax => PMAXS,
                    Opcode::Smin => PMINS,
                    Opcode::Umax => PMAXU,
                    _ => PMINU,
                };
                match (w, self.level) {
                    (8, Level::Avx2) => self.extreme_64(opcode, result, args),
                    _ => self.binary(by_lane(w, ops), result, args),
                }
            }
            Opcode::Iabs => match (w, self.level) {
                (8, Level::Avx2) => self.magnitude_64(result, args[0]),
                _ => self.unary(by_lane(w, PABS), result, args[0]),
            },
            Opcode::Band | Opcode::Bor | Opcode::Bxor => self.bitwise(opcode, result, args),
            Opcode::Bnot => {
                let ones = self.constant(u64::MAX);
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

    pub fn binary(&mut self, op: Op, result: Value, args: &[Value]) {
        let (def, ty) = (self.reg(result), self.ty(result));
        // The one that can be memory goes last, where the places may change.
        let swap = op.commutes && self.sunk_through_casts(args[0]).is_some();
        let [x, y] = if swap { [args[1], args[0]] } else { [args[0], args[1]] };
        let x = self.reg(x);
        let y = self.source(y);
        self.put(op, size(ty), def, &[Source::Reg(x), y]);
    }

    pub fn unary(&mut self, op: Op, result: Value, x: Value) {
        let (def, ty) = (self.reg(result), self.ty(result));
        let x = self.source(x);
        self.put(op, size(ty), def, &[x]);
    }

    fn with_constant(&mut self, op: Op, result: Value, x: Value, constant: Reg) {
        let (def, ty) = (self.reg(result), self.ty(result));
        let x = self.reg(x);
        self.put(op, size(ty), def, &[Source::Reg(x), Source::Reg(constant)]);
    }

    fn round(&mut self, result: Value, x: Value, how: i32) {
        let (def, ty) = (self.reg(result), self.ty(result));
        let x = self.source(x);
        let op = match self.level {
            Level::Avx512 => float(ty, forms::RNDSCALEPS, forms::RNDSCALEPD),
            Level::Avx2 => float(ty, forms::ROUNDPS, forms::ROUNDPD),
        };
        self.push(Inst::new(op, size(ty), Some(def), &[x]).immediate(how));
    }

    /// a·b + c, with a negation of a factor taken in.
    fn product(&mut self, result: Value, args: &[Value]) {
        let (def, ty) = (self.reg(result), self.ty(result));
        let (mut a, mut b, c) = (args[0], args[1], args[2]);
        let mut negative = false;
        for factor in [&mut a, &mut b] {
            if let Some(inst) = self.def_of(*factor, Opcode::Fneg) {
                (*factor, negative) = (self.arguments(inst)[0], !negative);
            }
        }
        let op = match negative {
            false => float(ty, forms::FMADDPS, forms::FMADDPD),
            true => float(ty, forms::FNMADDPS, forms::FNMADDPD),
        };
        let [x, y, z] = [a, b, c].map(|v| Source::Reg(self.reg(v)));
        self.push(Inst::new(op, size(ty), Some(def), &[x, y, z]).tied());
    }

    fn multiply(&mut self, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        match (lane(ty), self.level) {
            (2, _) => self.binary(forms::PMULLW, result, args),
            (4, _) => self.binary(forms::PMULLD, result, args),
            (8, Level::Avx512) => self.binary(forms::PMULLQ, result, args),
            (8, Level::Avx2) => {
                // Of the four products of halves three reach into the low 64 bits.
                let (def, size) = (self.reg(result), size(ty));
                let [a, b] = [args[0], args[1]].map(|v| Source::Reg(self.reg(v)));
                let [a_high, b_high] =
                    [a, b].map(|x| Source::Reg(self.make_i(forms::PSRLQ_I, size, &[x], 32)));
                let low = self.make(forms::PMULUDQ, size, &[a, b]);
                let x = self.make(forms::PMULUDQ, size, &[a_high, b]);
                let y = self.make(forms::PMULUDQ, size, &[a, b_high]);
                let mixed = self.make(forms::PADDQ, size, &[Source::Reg(x), Source::Reg(y)]);
                let mixed = self.make_i(forms::PSLLQ_I, size, &[Source::Reg(mixed)], 32);
                self.put(forms::PADDQ, size, def, &[Source::Reg(low), Source::Reg(mixed)]);
            }
            _ => return refuse(format!("imul of {ty}")),
        }
        Ok(())
    }

    /// A bitwise operation for lanes of a type: of what width they are is told to what stands in memory.
    pub fn logic(&self, ty: Type, logic: Logic) -> Op {
        let ops = match logic {
            Logic::And => [forms::PAND, forms::PANDD, forms::PANDQ],
            Logic::Or => [forms::POR, forms::PORD, forms::PORQ],
            Logic::Xor => [forms::PXOR, forms::PXORD, forms::PXORQ],
            Logic::AndNot => [forms::PANDN, forms::PANDND, forms::PANDNQ],
        };
        match (self.level, lane(ty)) {
            (Level::Avx2, _) => ops[0],
            (Level::Avx512, 8) => ops[2],
            (Level::Avx512, _) => ops[1],
        }
    }

    fn bitwise(&mut self, opcode: Opcode, result: Value, args: &[Value]) {
        let ty = self.ty(result);
        let negated = [0, 1].map(|i| self.negated(args[i]).filter(|_| opcode == Opcode::Band));
        // With the operand that is complemented, if one is, second.
        let (x, y, complement) = match negated {
            [_, Some(inner)] => (args[0], inner, true),
            [Some(inner), None] => (args[1], inner, true),
            _ => (args[0], args[1], false),
        };
        if self.level == Level::Avx512 && opcode == Opcode::Band {
            // One of the two is a mask with a register of its own.
            let def = self.reg(result);
            match (self.is_mask_value(x), self.is_mask_value(y), complement) {
                (false, true, true) => return self.drop(def, ty, y, x),
                (false, true, false) => return self.keep(def, ty, y, x),
                (true, false, false) => return self.keep(def, ty, x, y),
                _ => {}
            }
        }
        let logic = match opcode {
            // The machine complements the first.
            Opcode::Band if complement => {
                return self.binary(self.logic(ty, Logic::AndNot), result, &[y, x]);
            }
            Opcode::Band => Logic::And,
            Opcode::Bor => Logic::Or,
            _ => Logic::Xor,
        };
        self.binary(self.logic(ty, logic), result, args);
    }

    fn bit_select(&mut self, result: Value, args: &[Value]) {
        let ty = self.ty(result);
        let (m, a, b) = (args[0], args[1], args[2]);
        if let Some(op) = self.extreme(m, a, b) {
            return self.binary(op, result, &[a, b]);
        }
        match (self.level, self.is_mask_value(m)) {
            (Level::Avx512, true) => self.choose(result, self.resolve(m), a, b),
            (Level::Avx2, true) => match [a, b].map(|v| self.constant_bits(v)) {
                [_, Some(0)] => self.binary(forms::PAND, result, &[m, a]),
                [Some(0), _] => self.binary(forms::PANDN, result, &[m, b]),
                _ => {
                    let def = self.reg(result);
                    let [no, yes, m] = [b, a, m].map(|v| Source::Reg(self.reg(v)));
                    self.put(forms::PBLENDVB, size(ty), def, &[no, yes, m]);
                }
            },
            (Level::Avx512, false) => {
                let def = self.reg(result);
                let [m, a, b] = [m, a, b].map(|v| Source::Reg(self.reg(v)));
                // Bit 4a + 2b + c of the table is the result; with the mask first, it is a where 1 and b where 0.
                let op = if lane(ty) == 8 { forms::PTERNLOGQ } else { forms::PTERNLOGD };
                self.push(Inst::new(op, size(ty), Some(def), &[m, a, b]).tied().immediate(0xca));
            }
            (Level::Avx2, false) => {
                let def = self.reg(result);
                let [m, a, b] = [m, a, b].map(|v| Source::Reg(self.reg(v)));
                let yes = self.make(forms::PAND, size(ty), &[m, a]);
                let no = self.make(forms::PANDN, size(ty), &[m, b]);
                self.put(forms::POR, size(ty), def, &[Source::Reg(yes), Source::Reg(no)]);
            }
        }
    }

    /// The operation that picks the lesser or the greater of two floats, if that is the choice. (Those of integers are
    /// instructions of CLIF.)
    fn extreme(&self, m: Value, a: Value, b: Value) -> Option<Op> {
        let Data::FloatCompare { cond, args, .. } = self.data(self.def(self.bare(m))?) else { return None };
        let (a, b, w) = (self.bare(a), self.bare(b), lane(self.ty(a)));
        let [x, y] = args.map(|v| self.bare(v));
        let cond = match (lane(self.ty(args[0])) == w, (a, b)) {
            (true, pair) if pair == (x, y) => cond,
            (true, pair) if pair == (y, x) => CondCode::swap_args(cond),
            _ => return None,
        };
        // Where the two are equal or one is no number, the machine gives the second as well.
        let [single, double] = match cond {
            FloatCC::LessThan => [forms::MINPS, forms::MINPD],
            FloatCC::GreaterThan => [forms::MAXPS, forms::MAXPD],
            _ => return None,
        };
        Some(if w == 4 { single } else { double })
    }

    /// Shifts of all lanes by one count, which is taken modulo the width.
    fn shift(&mut self, opcode: Opcode, result: Value, args: &[Value]) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let w = lane(ty);
        let place = match w {
            2 => 0,
            4 => 1,
            8 => 2,
            _ => return refuse(format!("{opcode} of {ty}")),
        };
        let evex = self.level == Level::Avx512;
        if !evex && opcode == Opcode::Sshr && w == 8 {
            return self.shift_right_signed_64(result, args);
        }
        if let Some(count) = self.integer_constant(args[1]) {
            let count = (count as u64 % u64::from(8 * w)) as i32;
            let ops = match (opcode, evex) {
                (Opcode::Ishl, true) => [forms::PSLLW_KI, forms::PSLLD_KI, forms::PSLLQ_KI],
                (Opcode::Ushr, true) => [forms::PSRLW_KI, forms::PSRLD_KI, forms::PSRLQ_KI],
                (_, true) => [forms::PSRAW_KI, forms::PSRAD_KI, forms::PSRAQ_KI],
                (Opcode::Ishl, false) => [forms::PSLLW_I, forms::PSLLD_I, forms::PSLLQ_I],
                (Opcode::Ushr, false) => [forms::PSRLW_I, forms::PSRLD_I, forms::PSRLQ_I],
                (_, false) => [forms::PSRAW_I, forms::PSRAD_I, forms::PSRAD_I],
            };
            let def = self.reg(result);
            let x = if evex { self.source(args[0]) } else { Source::Reg(self.reg(args[0])) };
            self.push(Inst::new(ops[place], size(ty), Some(def), &[x]).immediate(count));
            return Ok(());
        }
        let ops = match opcode {
            Opcode::Ishl => [forms::PSLLW_X, forms::PSLLD_X, forms::PSLLQ_X],
            Opcode::Ushr => [forms::PSRLW_X, forms::PSRLD_X, forms::PSRLQ_X],
            _ => [forms::PSRAW_X, forms::PSRAD_X, forms::PSRAQ_X],
        };
        let count = self.shift_count(args[1], w);
        let (def, x) = (self.reg(result), self.reg(args[0]));
        self.put(ops[place], size(ty), def, &[Source::Reg(x), Source::Reg(count)]);
        Ok(())
    }

    /// A count in a vector's lowest lane, modulo the width of lanes.
    pub fn shift_count(&mut self, count: Value, lane: u32) -> Reg {
        use crate::machine::Class;
        let count = self.reg(count);
        let low = self.fresh(Class::General);
        let bits = 8 * lane as i32 - 1;
        self.push(Inst::new(forms::AND_I, Size::X, Some(low), &[Source::Reg(count)]).tied().immediate(bits));
        let op = if self.level == Level::Avx512 { forms::MOVQ_E } else { forms::MOVQ };
        self.make(op, Size::X, &[Source::Reg(low)])
    }

    /// One scalar in every lane.
    pub fn splat(&mut self, result: Value, scalar: Value) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let w = lane(ty);
        let def = self.reg(result);
        let op = by_lane(w, BROADCAST);
        if let Some(inst) = self.sunk(scalar) {
            let address = Address { broadcast: w as u8, ..self.load_address(inst) };
            if matches!(address.base, Base::Reg(_) | Base::Frame) {
                self.put(op, size(ty), def, &[Source::Mem(address)]);
                return Ok(());
            }
        }
        let x = self.reg(scalar);
        if self.ty(scalar).is_float() {
            self.put(op, size(ty), def, &[Source::Reg(x)]);
        } else if self.level == Level::Avx512 {
            self.put(by_lane(w, BROADCAST_G), size(ty), def, &[Source::Reg(x)]);
        } else {
            let low = self.make(forms::MOVQ, Size::X, &[Source::Reg(x)]);
            self.put(op, size(ty), def, &[Source::Reg(low)]);
        }
        Ok(())
    }

    /// The instruction's own data, for those that need more than its operands.
    pub fn data(&self, inst: ClifInst) -> Data {
        self.dfg().insts[inst]
    }
}

/// Bitwise operations.
#[derive(Clone, Copy)]
pub enum Logic {
    And,
    Or,
    Xor,
    AndNot,
}
