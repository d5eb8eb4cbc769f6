//! Shifts by a count per lane, which 128-bit vector units have for no width that Cranelift emits.
//!
//! In: values and counts. Out: shifted values. Must hold: counts are taken modulo the width.

use broadloom_math::{Int, Ops};
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{InstBuilder, Type, types};

use crate::emit::Emitter;
use crate::value::{Lanes, VECTOR};

/// 2^i in byte i, and 0 in those that no power of a byte has.
const POWERS: [u8; VECTOR as usize] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

impl Emitter<'_> {
    /// x·2^count.
    pub(crate) fn shift_left<T: Int>(&mut self, x: Lanes, count: Lanes) -> Lanes {
        if self.layout.is_wide() {
            return self.shift::<T>(x, count, Intrinsic::ShiftLeft);
        }
        if let Some(c) = count.uniform {
            return x.map(|v| self.builder.ins().ishl(v, c));
        }
        let power = self.power_of_two::<T>(count, 0);
        self.mul::<T>(x, power)
    }

    /// ⌊x / 2^count⌋: below 64 bits, a product with 2^(width − 1 − count) in twice the width.
    pub(crate) fn shift_right<T: Int>(&mut self, x: Lanes, count: Lanes) -> Lanes {
        if self.layout.is_wide() {
            let how = if T::SIGNED { Intrinsic::ShiftRightSigned } else { Intrinsic::ShiftRight };
            return self.shift::<T>(x, count, how);
        }
        if let Some(c) = count.uniform {
            let signed = T::SIGNED;
            return x
                .map(|v| if signed { self.builder.ins().sshr(v, c) } else { self.builder.ins().ushr(v, c) });
        }
        match T::WIDTH {
            64 => self.by_lane(&[x, count], self.layout.vector_type::<T>(), |e, s| {
                if T::SIGNED { e.builder.ins().sshr(s[0], s[1]) } else { e.builder.ins().ushr(s[0], s[1]) }
            }),
            32 if T::SIGNED => {
                // There is a product of unsigned words only: of x or of its complement.
                let zero = self.zero(types::I32X4);
                let sign = x.map(|v| {
                    let negative = cranelift_codegen::ir::condcodes::IntCC::SignedLessThan;
                    self.builder.ins().icmp(negative, v, zero)
                });
                let size = self.xor::<T>(x, sign);
                let shifted = self.shift_right::<u32>(size, count);
                self.xor::<T>(shifted, sign)
            }
            width => {
                let power = self.power_of_two::<T>(count, width - 1);
                let (x, power) = (self.widen(x, T::SIGNED), self.widen(power, false));
                let product = x.zip(&power, |x, p| self.builder.ins().imul(x, p));
                let quotient = self.shift_const(product, width - 1, false, T::SIGNED);
                if width == 32 { self.narrow(quotient) } else { self.narrow_saturating(quotient, T::SIGNED) }
            }
        }
    }

    /// A shift in vectors of more than 128 bits, which have one instruction for it but for bytes: those go through 16 bits.
    fn shift<T: Int>(&mut self, x: Lanes, count: Lanes, how: Intrinsic) -> Lanes {
        let below = u64::from(T::WIDTH - 1);
        if let Some(bits) = self.constant_bits(&count) {
            return self.shift_const(x, (bits & below) as u32, how == Intrinsic::ShiftLeft, T::SIGNED);
        }
        if T::WIDTH == 8 {
            let below = self.constant(self.layout.integer_vector(1), below);
            let count = count.map(|c| self.builder.ins().band(c, below));
            let (x, count) = (self.resize_integers(x, 2, T::SIGNED), self.resize_integers(count, 2, false));
            let shifted = self.shifted(x, count, how);
            return self.resize_integers(shifted, 1, false);
        }
        if let Some(c) = count.uniform {
            return x.map(|v| match how {
                Intrinsic::ShiftLeft => self.builder.ins().ishl(v, c),
                Intrinsic::ShiftRight => self.builder.ins().ushr(v, c),
                _ => self.builder.ins().sshr(v, c),
            });
        }
        let below = self.constant(self.layout.vector_type::<T>(), below);
        let count = count.map(|c| self.builder.ins().band(c, below));
        self.shifted(x, count, how)
    }

    fn shifted(&mut self, x: Lanes, count: Lanes, how: Intrinsic) -> Lanes {
        x.zip(&count, |x, c| {
            let ty = self.builder.func.dfg.value_type(x);
            self.call(how, &[x, c], ty)
        })
    }

    /// Bytes shifted by a constant, in vectors of more than 128 bits: as halves of 16 bits, without what comes in from
    /// the neighbour.
    pub(crate) fn shift_bytes(&mut self, x: Lanes, count: u32, left: bool, signed: bool) -> Lanes {
        let own = if left { 0xff << count & 0xff } else { 0xff >> count };
        let ty = self.layout.integer_vector(1);
        let words = self.word_type();
        let own = self.constant(ty, own);
        let sign = (signed && !left).then(|| self.constant(ty, 0x80 >> count));
        let count = i64::from(count);
        x.map(|v| {
            let v = self.cast_bits(words, v);
            let v = if left {
                self.builder.ins().ishl_imm_u(v, count)
            } else {
                self.builder.ins().ushr_imm_u(v, count)
            };
            let v = self.cast_bits(ty, v);
            let v = self.builder.ins().band(v, own);
            let Some(sign) = sign else { return v };
            // The sign is at a lower bit now: extended from there.
            let v = self.builder.ins().bxor(v, sign);
            self.builder.ins().isub(v, sign)
        })
    }

    /// A vector of bytes as one of half as many words.
    pub(crate) fn word_type(&self) -> Type {
        let bytes = self.layout.integer_vector(1);
        types::I16.by(bytes.lane_count() / 2).unwrap_or(bytes)
    }

    /// 2^(count xor turn), the counts modulo the width: each byte of a lane looks up its bit, if it has it.
    fn power_of_two<T: Int>(&mut self, count: Lanes, turn: u32) -> Lanes {
        let bytes = T::WIDTH / 8;
        let ty = self.layout.vector_type::<T>();
        let low_bits = self.constant(ty, u64::from(T::WIDTH - 1));
        let turn = (turn != 0).then(|| self.constant(ty, u64::from(turn)));
        let table = self.constant_vector(types::I8X16, POWERS);
        // Byte j has the bits from 8·j on.
        let first = self.constant(
            self.layout.integer_vector(bytes),
            0x3830_2820_1810_0800 & (u64::MAX >> (64 - T::WIDTH)),
        );
        let first = self.cast_bits(types::I8X16, first);
        count.map(|c| {
            let mut c = self.builder.ins().band(c, low_bits);
            if let Some(turn) = turn {
                c = self.builder.ins().bxor(c, turn);
            }
            let mut bit = self.cast_bits(types::I8X16, c);
            if bytes > 1 {
                let lowest = std::array::from_fn(|i| (i as u32 / bytes * bytes) as u8);
                bit = self.shuffle(bit, bit, lowest);
                bit = self.builder.ins().isub(bit, first);
            }
            let power = self.builder.ins().swizzle(table, bit);
            self.cast_bits(ty, power)
        })
    }
}
