//! The CLIF instance of [`Ops`]: each primitive as vector instructions that every supported host has.
//!
//! In and out: [`Lanes`]. Must hold: exact, as the trait says; only instructions that the x86-64 (AVX, FMA) and
//! aarch64 back ends of Cranelift lower for vectors are emitted, since an unsupported one panics there. In vectors of
//! more than 128 bits there are intrinsics beside them.

use broadloom_math::functions::{float_to_half_by_bits, half_to_float_by_bits};
use broadloom_math::{Cmp, DType, Elem, Float, Int, Num, Ops, Rare2, Real, through};
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, InstructionData, MemFlagsData, Type, Value, types};
use smallvec::SmallVec;

use crate::emit::Emitter;
use crate::rare;
use crate::value::{Lanes, MAX_VECTORS, is_signed};
use crate::width::Width;

/// Bytes of an element in a value; a bool takes the width of its mask.
fn width<T: Elem>() -> u32 {
    T::DTYPE.size() as u32
}

impl Emitter<'_> {
    /// The same bits under another vector type.
    pub fn cast_bits(&mut self, ty: Type, v: Value) -> Value {
        if self.builder.func.dfg.value_type(v) == ty {
            return v;
        }
        self.builder.ins().bitcast(
            ty,
            MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little),
            v,
        )
    }

    fn float_or<T: Num>(
        &mut self,
        a: Lanes,
        b: Lanes,
        float: fn(&mut Self, Value, Value) -> Value,
        int: fn(&mut Self, Value, Value) -> Value,
    ) -> Lanes {
        let f = if T::DTYPE.is_float() { float } else { int };
        a.zip(&b, |x, y| f(self, x, y))
    }

    /// 8-bit products go through 16 bits: no host multiplies bytes lane by lane.
    pub(crate) fn multiply_bytes(&mut self, a: Value, b: Value) -> Value {
        if self.layout.is_wide() {
            return self.multiply_bytes_in_place(a, b);
        }
        let ins = |e: &mut Self, low: bool, v: Value| {
            if low { e.builder.ins().swiden_low(v) } else { e.builder.ins().swiden_high(v) }
        };
        let halves = [true, false].map(|low| {
            let (x, y) = (ins(self, low, a), ins(self, low, b));
            self.builder.ins().imul(x, y)
        });
        self.narrow_pair(halves[0], halves[1], 2)
    }

    /// The same within words of two bytes: the lower bytes' products, and those of the higher ones at their place.
    fn multiply_bytes_in_place(&mut self, a: Value, b: Value) -> Value {
        let (ty, words) = (self.builder.func.dfg.value_type(a), self.word_type());
        let (a, b) = (self.cast_bits(words, a), self.cast_bits(words, b));
        let (lower, higher) = (self.constant(words, 0x00ff), self.constant(words, 0xff00));
        let low = self.builder.ins().imul(a, b);
        let low = self.builder.ins().band(low, lower);
        let a = self.builder.ins().ushr_imm_u(a, 8);
        let b = self.builder.ins().band(b, higher);
        let high = self.builder.ins().imul(a, b);
        let both = self.builder.ins().bor(low, high);
        self.cast_bits(ty, both)
    }

    /// Calls `f` on each lane's scalars and puts the results in the lanes of `ty`.
    pub(crate) fn by_lane(
        &mut self,
        args: &[Lanes],
        ty: Type,
        mut f: impl FnMut(&mut Self, &[Value]) -> Value,
    ) -> Lanes {
        let out_lanes = ty.lane_count();
        let count = self.layout.lanes.div_ceil(out_lanes).max(1);
        let mut vectors = [Value::from_u32(0); crate::value::MAX_VECTORS];
        for (i, slot) in vectors.iter_mut().enumerate().take(count as usize) {
            let mut out = self.zero(ty);
            for lane in 0..out_lanes.min(self.layout.lanes) {
                let at = i as u32 * out_lanes + lane;
                let scalars: smallvec::SmallVec<[Value; 2]> = args.iter().map(|a| self.lane(a, at)).collect();
                let y = f(self, &scalars);
                out = self.builder.ins().insertlane(out, y, lane as u8);
            }
            *slot = out;
        }
        Lanes::new(ty.lane_bits() / 8, vectors.into_iter().take(count as usize))
    }

    /// Lane `at` of a value as a scalar.
    fn lane(&mut self, x: &Lanes, at: u32) -> Value {
        let per_vector = 16 / u32::from(x.width);
        let v = x.vectors()[(at / per_vector) as usize];
        self.builder.ins().extractlane(v, (at % per_vector) as u8)
    }

    pub(crate) fn shift_const(&mut self, x: Lanes, count: u32, left: bool, signed: bool) -> Lanes {
        if x.width == 1 && self.layout.is_wide() {
            return self.shift_bytes(x, count, left, signed);
        }
        let amount = i64::from(count);
        x.map(|v| match (left, signed) {
            (true, _) => self.builder.ins().ishl_imm_u(v, amount),
            (false, true) => self.builder.ins().sshr_imm_u(v, amount),
            (false, false) => self.builder.ins().ushr_imm_u(v, amount),
        })
    }

    /// 64-bit quotients, one lane after the other; anything for a null divisor.
    ///
    /// Through float64 as in the host's lanes they take 4.7 ns an element against 2.8 (measured on an AVX-512 host with a
    /// fast divider; not on older ones).
    fn divide_by_lane(&mut self, a: Lanes, b: Lanes) -> Lanes {
        let zero = self.zero(types::I64X2);
        let divisors = b.map(|v| {
            let null = self.builder.ins().icmp(IntCC::Equal, v, zero);
            self.builder.ins().isub(v, null)
        });
        self.by_lane(&[a, divisors], types::I64X2, |e, s| e.builder.ins().udiv(s[0], s[1]))
    }

    /// The lesser or greater of two integers, where a mask compares them: one instruction in vectors of more than 128 bits,
    /// but for 64-bit lanes in those of 256.
    fn extremes(&mut self, m: &Lanes, a: &Lanes, b: &Lanes) -> Option<Lanes> {
        if !self.layout.is_wide() || a.width == 8 && self.layout.width == Width::W256 {
            return None;
        }
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for ((&m, &a), &b) in m.vectors().iter().zip(a.vectors()).zip(b.vectors()) {
            let inst = self.builder.func.dfg.value_def(m).inst()?;
            let InstructionData::IntCompare { cond, args: [x, y], .. } = self.builder.func.dfg.insts[inst]
            else {
                return None;
            };
            let cond = match (a == x && b == y, a == y && b == x) {
                (true, _) => cond,
                (_, true) => cond.swap_args(),
                _ => return None,
            };
            out.push(match cond {
                IntCC::SignedLessThan | IntCC::SignedLessThanOrEqual => self.builder.ins().smin(a, b),
                IntCC::SignedGreaterThan | IntCC::SignedGreaterThanOrEqual => self.builder.ins().smax(a, b),
                IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual => self.builder.ins().umin(a, b),
                IntCC::UnsignedGreaterThan | IntCC::UnsignedGreaterThanOrEqual => {
                    self.builder.ins().umax(a, b)
                }
                _ => return None,
            });
        }
        Some(Lanes::new(a.width.into(), out))
    }

    /// An integer comparison of masks or bits.
    fn compare_ints(&mut self, cc: IntCC, a: Lanes, b: Lanes) -> Lanes {
        a.zip(&b, |x, y| self.builder.ins().icmp(cc, x, y))
    }
}

impl Ops for Emitter<'_> {
    type V<T: Elem> = Lanes;
    type M<T: Elem> = Lanes;

    fn splat<T: Elem>(&mut self, x: T) -> Lanes {
        let (ty, bits) = match T::DTYPE {
            DType::Bool => (self.layout.integer_vector(1), 0xff * x.to_bits64()),
            _ => (self.layout.vector_type::<T>(), x.to_bits64()),
        };
        let v = self.constant(ty, bits);
        Lanes::new(ty.lane_bits() / 8, std::iter::repeat_n(v, self.layout.vectors_of(ty.lane_bits() / 8)))
    }

    fn add<T: Num>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        self.float_or::<T>(a, b, |e, x, y| e.builder.ins().fadd(x, y), |e, x, y| e.builder.ins().iadd(x, y))
    }

    fn sub<T: Num>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        self.float_or::<T>(a, b, |e, x, y| e.builder.ins().fsub(x, y), |e, x, y| e.builder.ins().isub(x, y))
    }

    fn mul<T: Num>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        self.float_or::<T>(
            a,
            b,
            |e, x, y| e.builder.ins().fmul(x, y),
            |e, x, y| {
                if width::<T>() == 1 { e.multiply_bytes(x, y) } else { e.builder.ins().imul(x, y) }
            },
        )
    }

    fn div<T: Float>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        a.zip(&b, |x, y| self.builder.ins().fdiv(x, y))
    }

    fn neg<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().fneg(v))
    }

    fn sqrt<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().sqrt(v))
    }

    fn fma<T: Float>(&mut self, a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        let products = a.vectors().iter().zip(b.vectors()).zip(c.vectors());
        Lanes::new(width::<T>(), products.map(|((&x, &y), &z)| self.builder.ins().fma(x, y, z)))
    }

    fn ceil<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().ceil(v))
    }

    fn floor<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().floor(v))
    }

    fn trunc<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().trunc(v))
    }

    fn nearest<T: Float>(&mut self, x: Lanes) -> Lanes {
        x.map(|v| self.builder.ins().nearest(v))
    }

    fn and<T: Int>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        a.zip(&b, |x, y| self.builder.ins().band(x, y))
    }

    fn or<T: Int>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        a.zip(&b, |x, y| self.builder.ins().bor(x, y))
    }

    fn xor<T: Int>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        a.zip(&b, |x, y| self.builder.ins().bxor(x, y))
    }

    fn shl_const<T: Int>(&mut self, x: Lanes, count: u32) -> Lanes {
        self.shift_const(x, count, true, T::SIGNED)
    }

    fn shr_const<T: Int>(&mut self, x: Lanes, count: u32) -> Lanes {
        self.shift_const(x, count, false, T::SIGNED)
    }

    fn shl<T: Int>(&mut self, x: Lanes, count: Lanes) -> Lanes {
        self.shift_left::<T>(x, count)
    }

    fn shr<T: Int>(&mut self, x: Lanes, count: Lanes) -> Lanes {
        self.shift_right::<T>(x, count)
    }

    fn quotient<T: Int>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        if T::WIDTH == 64 && !self.layout.is_wide() {
            return through::by_magnitudes::<Self, T>(self, a, b, false, Self::divide_by_lane);
        }
        through::quotient::<Self, T>(self, a, b)
    }

    fn floor_quotient<T: Int>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        if T::WIDTH == 64 && !self.layout.is_wide() {
            return through::by_magnitudes::<Self, T>(self, a, b, T::SIGNED, Self::divide_by_lane);
        }
        through::floor_quotient::<Self, T>(self, a, b)
    }

    fn is_invariant<T: Elem>(&self, x: &Lanes) -> bool {
        x.invariant
    }

    fn cmp<T: Num>(&mut self, how: Cmp, a: Lanes, b: Lanes) -> Lanes {
        if T::DTYPE.is_float() {
            let cc = match how {
                Cmp::Eq => FloatCC::Equal,
                Cmp::Ne => FloatCC::NotEqual,
                Cmp::Lt => FloatCC::LessThan,
                Cmp::Le => FloatCC::LessThanOrEqual,
                Cmp::Gt => FloatCC::GreaterThan,
                Cmp::Ge => FloatCC::GreaterThanOrEqual,
            };
            return a.zip(&b, |x, y| self.builder.ins().fcmp(cc, x, y));
        }
        let cc = match (how, is_signed(T::DTYPE)) {
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
        self.compare_ints(cc, a, b)
    }

    fn select<T: Elem>(&mut self, m: Lanes, a: Lanes, b: Lanes) -> Lanes {
        if T::DTYPE == DType::Bool {
            let (a, b) = (self.resize(a, m.width.into()), self.resize(b, m.width.into()));
            return self.bit_select(m, a, b);
        }
        if let Some(extremes) = self.extremes(&m, &a, &b) {
            return extremes;
        }
        if self.layout.width == Width::W512 {
            // Masks are registers of their own there, and blends one step.
            return self.bit_select(m, a, b);
        }
        // A blend takes three steps on current hosts; next to a constant it takes one or two.
        let masks = |e: &mut Self, x: &Lanes| {
            let m: smallvec::SmallVec<[Value; 8]> = m
                .vectors()
                .iter()
                .zip(x.vectors())
                .map(|(&m, &x)| {
                    let ty = e.builder.func.dfg.value_type(x);
                    e.cast_bits(ty, m)
                })
                .collect();
            Lanes::new(width::<T>(), m)
        };
        match (self.constant_bits(&a), self.constant_bits(&b)) {
            // A mask that is a value already: all ones are a NaN.
            (Some(ones), Some(0)) if ones == u64::MAX >> (64 - 8 * width::<T>()) => masks(self, &a),
            (_, Some(0)) => {
                let m = masks(self, &a);
                m.zip(&a, |m, x| self.builder.ins().band(m, x))
            }
            (Some(0), _) => {
                let m = masks(self, &b);
                m.zip(&b, |m, x| self.builder.ins().band_not(x, m))
            }
            (Some(x), Some(y)) => {
                let m = masks(self, &a);
                let ty = self.layout.vector_type::<T>();
                let (differ, other) = (self.constant(ty, x ^ y), self.constant(ty, y));
                m.map(|m| {
                    let differ = self.builder.ins().band(m, differ);
                    self.builder.ins().bxor(differ, other)
                })
            }
            _ => self.bit_select(m, a, b),
        }
    }

    fn mask_and<T: Elem>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        // Bools may come as masks of different widths.
        let b = self.resize(b, a.width.into());
        a.zip(&b, |x, y| self.builder.ins().band(x, y))
    }

    fn mask_or<T: Elem>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        // Bools may come as masks of different widths.
        let b = self.resize(b, a.width.into());
        a.zip(&b, |x, y| self.builder.ins().bor(x, y))
    }

    fn mask_xor<T: Elem>(&mut self, a: Lanes, b: Lanes) -> Lanes {
        // Bools may come as masks of different widths.
        let b = self.resize(b, a.width.into());
        a.zip(&b, |x, y| self.builder.ins().bxor(x, y))
    }

    fn mask_not<T: Elem>(&mut self, a: Lanes) -> Lanes {
        a.map(|x| self.builder.ins().bnot(x))
    }

    fn mask_resize<T: Elem, U: Elem>(&mut self, m: Lanes) -> Lanes {
        self.resize(m, width::<U>())
    }

    fn truth<T: Elem>(&mut self, x: Lanes) -> Lanes {
        // A mask of bools stays as wide as it is.
        if T::DTYPE == DType::Bool { x } else { self.resize(x, width::<T>()) }
    }

    fn boolean<T: Elem>(&mut self, m: Lanes) -> Lanes {
        m
    }

    fn bits<T: Real>(&mut self, x: Lanes) -> Lanes {
        let ty = self.layout.vector_type::<T::Bits>();
        x.map(|v| self.cast_bits(ty, v))
    }

    fn of_bits<T: Real>(&mut self, x: Lanes) -> Lanes {
        let ty = self.layout.vector_type::<T>();
        x.map(|v| self.cast_bits(ty, v))
    }

    fn int_resize<T: Int, U: Int>(&mut self, x: Lanes) -> Lanes {
        let (mut x, to) = (x.with_uniform(None), width::<U>());
        if self.layout.is_wide() {
            return self.resize_integers(x, to, T::SIGNED);
        }
        while u32::from(x.width) < to {
            x = self.widen(x, T::SIGNED);
        }
        while u32::from(x.width) > to {
            x = self.narrow(x);
        }
        x
    }

    fn int_to_float<T: Int, U: Float>(&mut self, x: Lanes) -> Lanes {
        self.float_of_int::<T, U>(x)
    }

    fn float_to_int<T: Float, U: Int>(&mut self, x: Lanes) -> Lanes {
        self.int_of_float::<T, U>(x)
    }

    fn float_resize<T: Float, U: Float>(&mut self, x: Lanes) -> Lanes {
        match (T::DIGITS, U::DIGITS) {
            (24, 53) if self.layout.is_wide() => self.converted_by(x, types::F64, Intrinsic::Promote),
            (53, 24) if self.layout.is_wide() => self.converted_by(x, types::F32, Intrinsic::Demote),
            (24, 53) => {
                let low_first = self.split_halves(x);
                low_first.map(|v| self.builder.ins().fvpromote_low(v))
            }
            (53, 24) => {
                let halves = x.map(|v| self.builder.ins().fvdemote(v));
                self.join_halves(halves.with_width(4))
            }
            _ => x,
        }
    }

    fn half_to_float(&mut self, x: Lanes) -> Lanes {
        if self.layout.is_wide() {
            return self.converted_by(x, types::F32, Intrinsic::HalfToFloat);
        }
        half_to_float_by_bits(self, x)
    }

    fn float_to_half(&mut self, x: Lanes) -> Lanes {
        if self.layout.is_wide() {
            return self.converted_by(x, types::I16, Intrinsic::FloatToHalf);
        }
        float_to_half_by_bits(self, x)
    }

    fn rare2<F: Rare2<T>, T: Num>(&mut self, flagged: Lanes, a: Lanes, b: Lanes, fast: Lanes) -> Lanes {
        rare::emit::<F, T>(self, flagged, a, b, fast)
    }
}
