//! Conversions between integers and floats.
//!
//! In and out: [`Lanes`]. Must hold: integers round once to nearest even, floats truncate and saturate, NaN gives 0.

use broadloom_math::{Cmp, Float, Int, Ops, through};
use cranelift_codegen::ir::{InstBuilder, types};

use crate::emit::Emitter;
use crate::value::Lanes;

impl Emitter<'_> {
    pub(crate) fn float_of_int<T: Int, U: Float>(&mut self, x: Lanes) -> Lanes {
        match (T::WIDTH, U::DIGITS, T::SIGNED) {
            (8 | 16, ..) => {
                let x = if T::SIGNED { self.int_resize::<T, i32>(x) } else { self.widen_unsigned_to_i32(x) };
                self.float_of_int::<i32, U>(x)
            }
            (32, 24, true) => x.map(|v| self.builder.ins().fcvt_from_sint(types::F32X4, v)),
            (32, 24, false) => x.map(|v| self.builder.ins().fcvt_from_uint(types::F32X4, v)),
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
            (.., true) => {
                self.by_lane(&[x], types::F32X4, |e, s| e.builder.ins().fcvt_from_sint(types::F32, s[0]))
            }
            (.., false) => {
                let x = self.round_to_odd(x);
                let x = self.float64_of_wide(x, false);
                self.float_resize::<f64, f32>(x)
            }
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

    /// Unsigned 64-bit integers, those above 2^53 with the lowest 11 bits collected in the highest of them: exact in
    /// float64, and rounded to float32 as the integer itself.
    fn round_to_odd(&mut self, x: Lanes) -> Lanes {
        let low_bits = self.splat(0x7ffu64);
        let low = self.and::<u64>(x, low_bits);
        let low = self.add::<u64>(low, low_bits);
        let all = self.or::<u64>(x, low);
        let high_bits = self.splat(!0x7ffu64);
        let odd = self.and::<u64>(all, high_bits);
        let beyond = self.shr_const::<u64>(x, 53);
        let none = self.splat(0i64);
        let long = self.cmp::<i64>(Cmp::Gt, beyond, none);
        self.select::<u64>(long, odd, x)
    }

    pub(crate) fn int_of_float<T: Float, U: Int>(&mut self, x: Lanes) -> Lanes {
        match (T::DIGITS, U::WIDTH) {
            // As many steps as a vector sequence for two lanes takes.
            (_, 64) if U::SIGNED => {
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
}
