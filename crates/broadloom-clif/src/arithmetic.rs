//! Arithmetic, comparisons and selections as CLIF instructions.
//!
//! Each is exact, as the primitive's definition says, and only instructions that the x86-64 (AVX, FMA) and aarch64 back
//! ends of Cranelift lower for vectors are used at 128 bits, since an unsupported one panics there. In vectors of more than
//! 128 bits there are [intrinsics](broadloom_wide::Intrinsic) beside them.

use broadloom_ir::DType;
use broadloom_math::Cmp;
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

use crate::value::{Lanes, is_signed};
use crate::vectors::Vectors;
use crate::width::Width;

impl Vectors<'_> {
    /// 8-bit products go through 16 bits: no vector unit multiplies bytes lane by lane.
    pub fn multiply_bytes(&mut self, a: Value, b: Value) -> Value {
        if self.layout.is_wide() {
            return self.multiply_bytes_in_place(a, b);
        }
        let widen = |e: &mut Self, low: bool, v: Value| {
            if low { e.ins().swiden_low(v) } else { e.ins().swiden_high(v) }
        };
        let halves = [true, false].map(|low| {
            let (x, y) = (widen(self, low, a), widen(self, low, b));
            self.ins().imul(x, y)
        });
        self.narrow_pair(halves[0], halves[1], 2)
    }

    /// Products within words of two bytes: those of the lower bytes, and those of the higher ones at their place.
    fn multiply_bytes_in_place(&mut self, a: Value, b: Value) -> Value {
        let (ty, words) = (self.type_of(a), self.word_type());
        let (a, b) = (self.cast_bits(words, a), self.cast_bits(words, b));
        let (lower, higher) = (self.constant(words, 0x00ff), self.constant(words, 0xff00));
        let low = self.ins().imul(a, b);
        let low = self.ins().band(low, lower);
        let a = self.ins().ushr_imm_u(a, 8);
        let b = self.ins().band(b, higher);
        let high = self.ins().imul(a, b);
        let both = self.ins().bor(low, high);
        self.cast_bits(ty, both)
    }

    /// A vector of bytes as one of half as many words.
    pub fn word_type(&self) -> Type {
        let bytes = self.layout.integer_vector(1);
        types::I16.by(bytes.lane_count() / 2).unwrap_or(bytes)
    }

    /// Products of lanes of a dtype that is no float.
    pub fn multiply(&mut self, a: Lanes, b: Lanes) -> Lanes {
        match a.width {
            1 => a.zip(&b, |x, y| self.multiply_bytes(x, y)),
            _ => a.zip(&b, |x, y| self.ins().imul(x, y)),
        }
    }

    /// The high halves of products of unsigned lanes by lanes that are all the same.
    pub fn multiply_high(&mut self, a: Lanes, b: Lanes) -> Lanes {
        if !self.layout.is_wide() {
            // Of shorter lanes it is legalised.
            return self.by_lane(&[a, b], types::I64X2, |e, s| e.ins().umulhi(s[0], s[1]));
        }
        a.zip(&b, |x, y| {
            let ty = self.type_of(x);
            self.call(Intrinsic::MultiplyHigh, &[x, y], ty)
        })
    }

    /// Quotients of unsigned 64-bit integers, one lane after the other; 0 where the divisor is.
    ///
    /// Through float64 as in the interpreter's lanes they take 4.7 ns an element against 2.8 (measured on an AVX-512 target
    /// with a fast divider; not on older ones).
    pub fn quotient(&mut self, a: Lanes, b: Lanes) -> Lanes {
        let zero = self.zero(types::I64X2);
        let by_zero = b.map(|v| self.ins().icmp(IntCC::Equal, v, zero));
        let divisors = b.zip(&by_zero, |v, by_zero| self.ins().isub(v, by_zero));
        let quotients = self.by_lane(&[a, divisors], types::I64X2, |e, s| e.ins().udiv(s[0], s[1]));
        quotients.zip(&by_zero, |q, by_zero| self.ins().band_not(q, by_zero))
    }

    /// A mask of the lanes for which a comparison of this dtype holds.
    pub fn compare(&mut self, how: Cmp, dtype: DType, a: Lanes, b: Lanes) -> Lanes {
        if dtype.is_float() {
            let cc = match how {
                Cmp::Eq => FloatCC::Equal,
                Cmp::Ne => FloatCC::NotEqual,
                Cmp::Lt => FloatCC::LessThan,
                Cmp::Le => FloatCC::LessThanOrEqual,
                Cmp::Gt => FloatCC::GreaterThan,
                Cmp::Ge => FloatCC::GreaterThanOrEqual,
            };
            return a.zip(&b, |x, y| self.ins().fcmp(cc, x, y));
        }
        let cc = match (how, is_signed(dtype)) {
            (Cmp::Eq, _) => IntCC::Equal,
            (Cmp::Ne, _) => IntCC::NotEqual,
            (Cmp::Lt, true) => IntCC::SignedLessThan,
            (Cmp::Le, true) => IntCC::SignedLessThanOrEqual,
            (Cmp::Gt, true) => IntCC::SignedGreaterThan,
            (Cmp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
            (Cmp::Lt, false) => IntCC::UnsignedLessThan,
            (Cmp::Le, false) => IntCC::UnsignedLessThanOrEqual,
            (Cmp::Gt, false) => IntCC::UnsignedGreaterThan,
            (Cmp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        };
        a.zip(&b, |x, y| self.ins().icmp(cc, x, y))
    }

    /// `a` where the mask's bits are set, else `b`.
    pub fn bit_select(&mut self, m: Lanes, a: Lanes, b: Lanes) -> Lanes {
        let out = m.zip3(&a, &b, |m, x, y| {
            let ty = self.type_of(x);
            let m = self.cast_bits(ty, m);
            self.ins().bitselect(m, x, y)
        });
        out.with_width(a.width.into())
    }

    /// `a` where the mask is set, else `b`: lanes of this dtype.
    pub fn select(&mut self, dtype: DType, m: Lanes, a: Lanes, b: Lanes) -> Lanes {
        if self.layout.width == Width::W512 {
            // Masks are registers of their own there, and blends one instruction.
            return self.bit_select(m, a, b);
        }
        // A blend takes three micro-operations on current units; next to a constant it takes one or two instructions of one.
        let ty = self.layout.vector_of(dtype);
        let ones = u64::MAX >> (64 - 8 * u32::from(a.width));
        match (self.constants.bits_of(&a), self.constants.bits_of(&b)) {
            // A mask that is a value already: all ones are a NaN.
            (Some(bits), Some(0)) if bits == ones => self.cast_lanes(ty, m),
            (_, Some(0)) => {
                let m = self.cast_lanes(ty, m);
                m.zip(&a, |m, x| self.ins().band(m, x))
            }
            (Some(0), _) => {
                let m = self.cast_lanes(ty, m);
                m.zip(&b, |m, x| self.ins().band_not(x, m))
            }
            (Some(x), Some(y)) => {
                let m = self.cast_lanes(ty, m);
                let (differ, other) = (self.constant(ty, x ^ y), self.constant(ty, y));
                m.map(|m| {
                    let differ = self.ins().band(m, differ);
                    self.ins().bxor(differ, other)
                })
            }
            _ => self.bit_select(m, a, b),
        }
    }

    /// A value's bits under a vector type whose lanes are as wide.
    pub fn cast_lanes(&mut self, ty: Type, x: Lanes) -> Lanes {
        x.map(|v| self.cast_bits(ty, v)).with_width(ty.lane_type().bytes())
    }
}
