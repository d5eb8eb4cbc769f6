//! Shifts by a constant, and shifts with a count for each lane. For vectors of 128 bits Cranelift emits no shift with a
//! count for each lane, so it is built from other instructions.
//!
//! Counts are taken modulo the width of a lane in bits.

use broadloom_ir::DType;
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

use crate::value::{Lanes, VECTOR, integer, is_signed};
use crate::vectors::Vectors;

/// A table of bytes whose entry i is 2^i if that fits into a byte, otherwise 0.
const POWERS: [u8; VECTOR as usize] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

impl Vectors<'_> {
    /// Shifts lanes by a constant count that is less than their width.
    pub fn shift_const(&mut self, x: Lanes, count: u32, left: bool, signed: bool) -> Lanes {
        if x.width == 1 && self.layout.is_wide() {
            return self.shift_bytes(x, count, left, signed);
        }
        let amount = i64::from(count);
        x.map(|v| match (left, signed) {
            (true, _) => self.ins().ishl_imm_u(v, amount),
            (false, true) => self.ins().sshr_imm_u(v, amount),
            (false, false) => self.ins().ushr_imm_u(v, amount),
        })
    }

    /// Computes x·2^count for lanes of a dtype.
    pub fn shift_left(&mut self, dtype: DType, x: Lanes, count: Lanes) -> Lanes {
        if let Some(c) = count.uniform {
            return x.map(|v| self.ins().ishl(v, c));
        }
        if self.layout.is_wide() {
            return self.shift(dtype, x, count, Intrinsic::ShiftLeft);
        }
        let power = self.power_of_two(dtype, count, 0);
        self.multiply(x, power)
    }

    /// Computes ⌊x / 2^count⌋. At 128 bits, lanes of less than 64 bits are multiplied by 2^(width − 1 − count) in lanes
    /// of twice the width, and the product is shifted right by width − 1 bits.
    pub fn shift_right(&mut self, dtype: DType, x: Lanes, count: Lanes) -> Lanes {
        let signed = is_signed(dtype);
        if let Some(c) = count.uniform {
            return x.map(|v| if signed { self.ins().sshr(v, c) } else { self.ins().ushr(v, c) });
        }
        if self.layout.is_wide() {
            let how = if signed { Intrinsic::ShiftRightSigned } else { Intrinsic::ShiftRight };
            return self.shift(dtype, x, count, how);
        }
        match dtype {
            DType::Int64 | DType::UInt64 => self.by_lane(&[x, count], types::I64X2, |e, s| {
                if signed { e.ins().sshr(s[0], s[1]) } else { e.ins().ushr(s[0], s[1]) }
            }),
            DType::Int32 => {
                // Only unsigned 32-bit words can be multiplied to 64-bit products, so if x is negative, its complement
                // is shifted.
                let zero = self.zero(types::I32X4);
                let sign = x.map(|v| self.ins().icmp(IntCC::SignedLessThan, v, zero));
                let size = x.zip(&sign, |x, sign| self.ins().bxor(x, sign));
                let shifted = self.shift_right(DType::UInt32, size, count);
                shifted.zip(&sign, |x, sign| self.ins().bxor(x, sign))
            }
            _ => {
                let width = 8 * dtype.size() as u32;
                let power = self.power_of_two(dtype, count, width - 1);
                let (x, power) = (self.widen(x, signed), self.widen(power, false));
                let product = x.zip(&power, |x, p| self.ins().imul(x, p));
                let quotient = self.shift_const(product, width - 1, false, signed);
                if width == 32 { self.narrow(quotient) } else { self.narrow_saturating(quotient, signed) }
            }
        }
    }

    /// Computes ⌊x / 2^count⌋ of unsigned lanes. All 64-bit lanes of `count` are equal. The result is 0 if the count is
    /// at least the width of a lane of x.
    pub fn shift_right_uniform(&mut self, x: Lanes, count: Lanes) -> Lanes {
        let count = count.vectors()[0];
        if self.layout.is_wide() {
            return x.map(|x| {
                let ty = self.type_of(x);
                self.call(Intrinsic::ShiftRightUniform, &[x, count], ty)
            });
        }
        let (width, ty) = (8 * i64::from(x.width), self.layout.integer_vector(x.width.into()));
        let count = self.ins().extractlane(count, 0);
        let lane = integer(x.width.into());
        let within = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, count, width);
        let (all, none) = (self.ins().iconst(types::I64, -1), self.ins().iconst(types::I64, 0));
        let mask = self.ins().select(within, all, none);
        let mask = if lane == types::I64 { mask } else { self.ins().ireduce(lane, mask) };
        let mask = self.ins().splat(ty, mask);
        x.map(|v| {
            let v = self.ins().ushr(v, count);
            self.ins().band(v, mask)
        })
    }

    /// Shifts lanes of at least 16 bits, each by its own count, in vectors of more than 128 bits, for which this is one
    /// instruction.
    fn shift(&mut self, dtype: DType, x: Lanes, count: Lanes, how: Intrinsic) -> Lanes {
        let below = self.constant(self.layout.vector_of(dtype), 8 * dtype.size() as u64 - 1);
        let count = count.map(|c| self.ins().band(c, below));
        x.zip(&count, |x, c| {
            let ty = self.type_of(x);
            self.call(how, &[x, c], ty)
        })
    }

    /// Shifts bytes by a constant in vectors of more than 128 bits: shifts 16-bit words, and clears the bits that come
    /// from the other byte of the word.
    fn shift_bytes(&mut self, x: Lanes, count: u32, left: bool, signed: bool) -> Lanes {
        let own = if left { 0xff << count & 0xff } else { 0xff >> count };
        let ty = self.layout.integer_vector(1);
        let words = self.word_type();
        let own = self.constant(ty, own);
        let sign = (signed && !left).then(|| self.constant(ty, 0x80 >> count));
        let count = i64::from(count);
        x.map(|v| {
            let v = self.cast_bits(words, v);
            let v = if left { self.ins().ishl_imm_u(v, count) } else { self.ins().ushr_imm_u(v, count) };
            let v = self.cast_bits(ty, v);
            let v = self.ins().band(v, own);
            let Some(sign) = sign else { return v };
            // The sign bit has moved to a lower position, and is extended from there.
            let v = self.ins().bxor(v, sign);
            self.ins().isub(v, sign)
        })
    }

    /// Computes 2^(count xor turn), with `count` modulo the width of a lane. Each byte of the power is looked up in a
    /// table.
    fn power_of_two(&mut self, dtype: DType, count: Lanes, turn: u32) -> Lanes {
        let (bytes, width) = (dtype.size() as u32, 8 * dtype.size() as u32);
        let ty = self.layout.vector_of(dtype);
        let low_bits = self.constant(ty, u64::from(width - 1));
        let turn = (turn != 0).then(|| self.constant(ty, u64::from(turn)));
        let table = self.constant_vector(types::I8X16, POWERS);
        // Byte j of a lane consists of the bits of the power from bit 8·j upwards, so it is looked up at the index
        // count − 8·j.
        let first = self
            .constant(self.layout.integer_vector(bytes), 0x3830_2820_1810_0800 & (u64::MAX >> (64 - width)));
        let first = self.cast_bits(types::I8X16, first);
        count.map(|c| {
            let mut c = self.ins().band(c, low_bits);
            if let Some(turn) = turn {
                c = self.ins().bxor(c, turn);
            }
            let mut bit = self.cast_bits(types::I8X16, c);
            if bytes > 1 {
                let lowest = std::array::from_fn(|i| (i as u32 / bytes * bytes) as u8);
                bit = self.shuffle(bit, bit, lowest);
                bit = self.ins().isub(bit, first);
            }
            let power = self.ins().swizzle(table, bit);
            self.cast_bits(ty, power)
        })
    }
}
