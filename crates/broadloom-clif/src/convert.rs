//! Conversions between integers and floats.
//!
//! In and out: [`Lanes`]. Must hold: integers round once to nearest even, floats truncate and saturate, NaN gives 0.

use broadloom_math::{Cmp, Float, Int, Ops, through};
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

use crate::emit::Emitter;
use crate::value::{Lanes, integer, scalar_of};
use crate::width::Width;

impl Emitter<'_> {
    pub(crate) fn float_of_int<T: Int, U: Float>(&mut self, x: Lanes) -> Lanes {
        let (wide, wide512) = (self.layout.is_wide(), self.layout.width == Width::W512);
        let float = scalar_of(U::DTYPE);
        match (T::WIDTH, U::DIGITS, T::SIGNED) {
            (8 | 16, ..) => {
                let x = if T::SIGNED { self.int_resize::<T, i32>(x) } else { self.widen_unsigned_to_i32(x) };
                self.float_of_int::<i32, U>(x)
            }
            (32 | 64, _, signed) if wide512 => {
                self.converted(x, float, |e, v, ty| e.float_of_lanes(v, ty, signed))
            }
            (32, 24, false) if wide => {
                // The halves are exact, and so is the product: the one rounding is the addition's.
                let low_half = self.splat(0xffffu32);
                let low = self.and::<u32>(x, low_half);
                let high = self.shr_const::<u32>(x, 16);
                let (low, high) = (self.float_of_int::<i32, f32>(low), self.float_of_int::<i32, f32>(high));
                let unit = self.splat(65536f32);
                self.fma::<f32>(high, unit, low)
            }
            (32, 24, signed) => self.converted(x, float, |e, v, ty| e.float_of_lanes(v, ty, signed)),
            (32, _, true) if wide => self.converted(x, float, |e, v, ty| e.float_of_lanes(v, ty, true)),
            (32, _, true) => {
                let low_first = self.split_halves(x);
                low_first.map(|v| {
                    let v = self.builder.ins().swiden_low(v);
                    self.builder.ins().fcvt_from_sint(types::F64X2, v)
                })
            }
            (32, _, false) => {
                // Under the exponent of 2^52 the bits are the value plus 2^52, exactly.
                let wide = self.int_resize::<u32, u64>(x);
                let magic = self.splat(0x4330_0000_0000_0000u64);
                let shifted = self.or::<u64>(wide, magic);
                let shifted = self.of_bits::<f64>(shifted);
                let magic = self.of_bits::<f64>(magic);
                self.sub::<f64>(shifted, magic)
            }
            (_, 53, signed) => self.float64_of_wide(x, signed),
            // The hosts' scalar instruction is no slower than a sequence that rounds once.
            (.., true) if !wide => {
                self.by_lane(&[x], types::F32X4, |e, s| e.builder.ins().fcvt_from_sint(types::F32, s[0]))
            }
            (.., signed) => {
                let x = self.round_to_odd(x, signed);
                let x = self.float64_of_wide(x, signed);
                self.float_resize::<f64, f32>(x)
            }
        }
    }

    /// As many floats as there are integers.
    fn float_of_lanes(&mut self, v: Value, ty: Type, signed: bool) -> Value {
        if signed {
            self.builder.ins().fcvt_from_sint(ty, v)
        } else {
            self.builder.ins().fcvt_from_uint(ty, v)
        }
    }

    /// 64-bit integers, rounded once: the halves are put under the exponents of 2^84 and 2^52, the first with the sign
    /// turned where there is one; taking both powers off the first is exact, and the sum of the two is rounded.
    fn float64_of_wide(&mut self, x: Lanes, signed: bool) -> Lanes {
        let (high_magic, offset) = if signed {
            (0x4530_0000_8000_0000u64, f64::from_bits(0x4530_0000_8010_0000))
        } else {
            (0x4530_0000_0000_0000, f64::from_bits(0x4530_0000_0010_0000))
        };
        let high = self.shr_const::<u64>(x, 32);
        let high_magic = self.splat(high_magic);
        let high = self.xor::<u64>(high, high_magic);
        let high = self.of_bits::<f64>(high);
        let offset = self.splat(offset);
        let high = self.sub::<f64>(high, offset);
        let (low_word, low_magic) = (self.splat(0xffff_ffffu64), self.splat(0x4330_0000_0000_0000u64));
        let low = self.and::<u64>(x, low_word);
        let low = self.or::<u64>(low, low_magic);
        let low = self.of_bits::<f64>(low);
        self.add::<f64>(high, low)
    }

    /// 64-bit integers, the long ones with the lowest 11 bits collected in the highest of them: exact in float64, and
    /// rounded to float32 as the integer itself. Long are those that float64 may not hold, above 2^53 or, with signs,
    /// below −2^52 or not below 2^52; of two's complement the odd neighbour is the same bits.
    fn round_to_odd(&mut self, x: Lanes, signed: bool) -> Lanes {
        let low_bits = self.splat(0x7ffu64);
        let low = self.and::<u64>(x, low_bits);
        let low = self.add::<u64>(low, low_bits);
        let all = self.or::<u64>(x, low);
        let high_bits = self.splat(!0x7ffu64);
        let odd = self.and::<u64>(all, high_bits);
        let from_least = if signed {
            let least = self.splat(1u64 << 52);
            self.add::<u64>(x, least)
        } else {
            x
        };
        let beyond = self.shr_const::<u64>(from_least, 53);
        let none = self.splat(0i64);
        let long = self.cmp::<i64>(Cmp::Gt, beyond, none);
        self.select::<u64>(long, odd, x)
    }

    pub(crate) fn int_of_float<T: Float, U: Int>(&mut self, x: Lanes) -> Lanes {
        if self.layout.is_wide()
            && let Some(y) = self.wide_int_of_float::<T, U>(x)
        {
            return y;
        }
        match (T::DIGITS, U::WIDTH) {
            // As many steps as a vector sequence for two lanes takes.
            (_, 64) if U::SIGNED && !self.layout.is_wide() => {
                self.by_lane(&[x], types::I64X2, |e, s| e.builder.ins().fcvt_to_sint_sat(types::I64, s[0]))
            }
            (_, 64) => through::float_to_int64::<Self, T, U>(self, x),
            (24, 32) if !U::SIGNED => x.map(|v| self.builder.ins().fcvt_to_uint_sat(types::I32X4, v)),
            (24, _) => {
                let mut x = x.map(|v| self.builder.ins().fcvt_to_sint_sat(types::I32X4, v));
                while u32::from(x.width) > U::WIDTH / 8 {
                    // The last step saturates to the type itself, those before keep the sign.
                    let last = u32::from(x.width) == 2 * U::WIDTH / 8;
                    x = self.narrow_saturating(x, U::SIGNED || !last);
                }
                x
            }
            _ => {
                // As in the host's instance: NaN to 0, clamp, truncate, take the low bits.
                let zero = self.splat(T::ZERO);
                let number = self.cmp::<T>(Cmp::Eq, x, x);
                let x = self.select::<T>(number, x, zero);
                let lo = self.splat(T::from_f64(U::MIN.wide() as f64));
                let hi = self.splat(T::from_f64(U::MAX.wide() as f64));
                let above = self.cmp::<T>(Cmp::Gt, x, lo);
                let x = self.select::<T>(above, x, lo);
                let below = self.cmp::<T>(Cmp::Lt, x, hi);
                let x = self.select::<T>(below, x, hi);
                let x = self.trunc::<T>(x);
                through::low_bits::<Self, T, U>(self, x)
            }
        }
    }

    /// The same by the instructions of vectors of more than 128 bits, if they have them.
    fn wide_int_of_float<T: Float, U: Int>(&mut self, x: Lanes) -> Option<Lanes> {
        let wide512 = self.layout.width == Width::W512;
        let (own, to) = if T::DIGITS == 24 { (types::I32, U::WIDTH) } else { (types::I64, U::WIDTH) };
        Some(match to {
            64 if wide512 && T::DIGITS == 24 => {
                let x = self.float_resize::<T, f64>(x);
                self.int_of_float::<f64, U>(x)
            }
            // AVX2 converts no float64, and float32 to signed integers only.
            _ if !wide512 && (T::DIGITS != 24 || to == 64) => return None,
            32 if !wide512 && !U::SIGNED => self.unsigned_of_float32::<T>(x),
            width if width == own.bits() => {
                let ty = self.layout.vector(own);
                x.map(|v| match U::SIGNED {
                    true => self.builder.ins().fcvt_to_sint_sat(ty, v),
                    false => self.builder.ins().fcvt_to_uint_sat(ty, v),
                })
            }
            width => {
                let ty = self.layout.vector(own);
                let whole = x.map(|v| self.builder.ins().fcvt_to_sint_sat(ty, v));
                let how = if U::SIGNED { Intrinsic::SaturateSigned } else { Intrinsic::SaturateUnsigned };
                self.converted_by(whole, integer(width / 8), how)
            }
        })
    }

    /// Unsigned 32-bit integers by the signed conversion: 2^31 is taken off before, where there is as much, and put back.
    /// What is left saturates to 2^31 − 1.
    fn unsigned_of_float32<T: Float>(&mut self, x: Lanes) -> Lanes {
        let zero = self.splat(T::ZERO);
        let above = self.cmp::<T>(Cmp::Gt, x, zero);
        let x = self.select::<T>(above, x, zero);
        let half = self.splat(T::from_f64((1u64 << 31) as f64));
        let large = self.cmp::<T>(Cmp::Ge, x, half);
        let off = self.select::<T>(large, half, zero);
        let x = self.sub::<T>(x, off);
        let low = x.map(|v| {
            let ty = self.layout.vector(types::I32);
            self.builder.ins().fcvt_to_sint_sat(ty, v)
        });
        let high = self.shift_const(large, 31, true, false);
        self.xor::<u32>(low, high)
    }
}
