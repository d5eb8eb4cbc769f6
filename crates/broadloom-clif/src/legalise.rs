//! Replaces primitives that a target has no instructions for by sequences of other primitives.
//!
//! Whether a primitive is replaced depends only on the vector width. At 128 bits, 64-bit integers are divided and
//! converted lane by lane, at larger widths through floats; AVX2 converts only signed 32-bit integers, AVX-512 all
//! integers except narrow ones. Each sequence computes the same bits as the primitive that it replaces. A sequence
//! consists of primitives, so GVN and LICM apply to its parts.

use broadloom_ir::DType;
use broadloom_math::record::{Inst, Primitive, Recorder, Sink, Var};
use broadloom_math::{Cmp, Float, Int, Num, Ops, quotients, through};
use broadloom_math::{float_to_half_by_bits, half_to_float_by_bits};

use broadloom_ir::VectorWidth;

/// Evaluates an expression in which `$t` is the Rust type of an integer dtype.
macro_rules! with_int {
    ($dtype:expr, $t:ident => $e:expr) => {
        with_int!(@ $dtype, $t => $e, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32,
            UInt64 u64)
    };
    (@ $dtype:expr, $t:ident => $e:expr, $($variant:ident $rust:ident),*) => {
        match $dtype {
            $(DType::$variant => {
                type $t = $rust;
                Some($e)
            })*
            _ => None,
        }
    };
}

/// Evaluates an expression in which `$t` is the Rust type of float32 or float64.
macro_rules! with_float {
    ($dtype:expr, $t:ident => $e:expr) => {
        match $dtype {
            DType::Float32 => {
                type $t = f32;
                $e
            }
            _ => {
                type $t = f64;
                $e
            }
        }
    };
}

/// If vectors of this width have no instructions for a primitive, adds other primitives that compute its value, and
/// returns that value.
pub fn expand(sink: &mut dyn Sink, width: VectorWidth, inst: &Inst) -> Option<Var> {
    let (wide, size) = (width > VectorWidth::W128, inst.dtype.size());
    let ([x, y, ..], dtype) = (inst.args, inst.dtype);
    let o = &mut Recorder::new(sink);
    match inst.primitive {
        Primitive::Quotient if size == 8 && !wide => match dtype {
            DType::UInt64 => None,
            _ => Some(through::by_magnitudes::<Recorder<'_>, i64>(o, x, y, false, Recorder::quotient::<u64>)),
        },
        Primitive::FloorQuotient if size == 8 && !wide => Some(match dtype {
            DType::UInt64 => o.quotient::<u64>(x, y),
            _ => through::by_magnitudes::<Recorder<'_>, i64>(o, x, y, true, Recorder::quotient::<u64>),
        }),
        Primitive::Quotient => with_int!(dtype, T => quotients::quotient::<Recorder<'_>, T>(o, x, y)),
        Primitive::FloorQuotient => {
            with_int!(dtype, T => quotients::floor_quotient::<Recorder<'_>, T>(o, x, y))
        }
        Primitive::MulHigh if !wide => match dtype {
            DType::UInt16 => Some(mul_high::<u16, u32>(o, x, y)),
            DType::UInt32 => Some(mul_high::<u32, u64>(o, x, y)),
            _ => None,
        },
        Primitive::Average if !wide => with_int!(dtype, T => average::<T>(o, x, y)),
        Primitive::HalfToFloat if !wide => Some(half_to_float_by_bits(o, x)),
        Primitive::FloatToHalf if !wide => Some(float_to_half_by_bits(o, x)),
        Primitive::IntToFloat(from) => with_float!(dtype, U => int_to_float::<U>(o, width, from, x)),
        Primitive::FloatToInt(from) => {
            with_float!(from, T => with_int!(dtype, U => float_to_int::<T, U>(o, width, x)).flatten())
        }
        Primitive::Shl if wide && size == 1 => {
            with_int!(dtype, T => shift_byte::<T>(o, x, y, |o, x, c| o.shl::<u16>(x, c)))
        }
        Primitive::Shr if wide && size == 1 => match dtype {
            DType::Int8 => Some(shift_byte::<i8>(o, x, y, |o, x, c| o.shr::<i16>(x, c))),
            _ => Some(shift_byte::<u8>(o, x, y, |o, x, c| o.shr::<u16>(x, c))),
        },
        _ => None,
    }
}

/// The high half of a product, computed by multiplying in lanes of twice the width.
fn mul_high<T: Int, U: Int>(o: &mut Recorder<'_>, x: Var, y: Var) -> Var {
    let (x, y) = (o.int_resize::<T, U>(x), o.int_resize::<T, U>(y));
    let product = o.mul::<U>(x, y);
    let high = o.shr_const::<U>(product, T::WIDTH);
    o.int_resize::<U, T>(high)
}

/// The mean of two integers, rounded up: `(x | y)` minus half of `(x ^ y)`.
fn average<T: Int>(o: &mut Recorder<'_>, x: Var, y: Var) -> Var {
    let (either, differ) = (o.or::<T>(x, y), o.xor::<T>(x, y));
    let half = o.shr_const::<T>(differ, 1);
    o.sub::<T>(either, half)
}

/// Shifts bytes, each by its own count, in lanes of 16 bits.
fn shift_byte<T: Int>(
    o: &mut Recorder<'_>,
    x: Var,
    count: Var,
    shift: impl FnOnce(&mut Recorder<'_>, Var, Var) -> Var,
) -> Var {
    let below = o.splat(7u8);
    let count = o.and::<u8>(count, below);
    let (x, count) = (o.int_resize::<T, i16>(x), o.int_resize::<u8, u16>(count));
    let shifted = shift(o, x, count);
    o.int_resize::<u16, T>(shifted)
}

fn int_to_float<U: Float>(o: &mut Recorder<'_>, width: VectorWidth, from: DType, x: Var) -> Option<Var> {
    let narrow = |o: &mut Recorder<'_>, x: Var| Some(o.int_to_float::<i32, U>(x));
    match from {
        DType::Int8 | DType::Int16 | DType::UInt8 | DType::UInt16 => {
            let x = with_int!(from, T => o.int_resize::<T, i32>(x))?;
            narrow(o, x)
        }
        _ if width == VectorWidth::W512 => None,
        DType::UInt32 if U::DIGITS == 24 && width == VectorWidth::W256 => {
            // The conversions of the two halves are exact, and so is the product, so only the addition rounds.
            let low_half = o.splat(0xffffu32);
            let low = o.and::<u32>(x, low_half);
            let high = o.shr_const::<u32>(x, 16);
            let (low, high) = (o.int_to_float::<i32, f32>(low), o.int_to_float::<i32, f32>(high));
            let unit = o.splat(65536f32);
            Some(o.fma::<f32>(high, unit, low))
        }
        DType::UInt32 if U::DIGITS == 53 => {
            // The float with the exponent of 2^52 and the bits of the integer as its mantissa is exactly 2^52 plus the
            // integer.
            let wide = o.int_resize::<u32, u64>(x);
            let magic = o.splat(0x4330_0000_0000_0000u64);
            let shifted = o.or::<u64>(wide, magic);
            let shifted = o.of_bits::<f64>(shifted);
            let magic = o.of_bits::<f64>(magic);
            Some(o.sub::<f64>(shifted, magic))
        }
        DType::Int64 | DType::UInt64 if U::DIGITS == 53 => Some(float64_of_long(o, x, from == DType::Int64)),
        // At 128 bits lanes are converted one by one, since the scalar instruction is no slower than a sequence that
        // rounds once.
        DType::Int64 if width == VectorWidth::W128 => None,
        DType::Int64 | DType::UInt64 => {
            let x = round_to_odd(o, x, from == DType::Int64);
            let x = float64_of_long(o, x, from == DType::Int64);
            Some(o.float_resize::<f64, f32>(x))
        }
        _ => None,
    }
}

/// Converts 64-bit integers to float64 with one rounding. The high and the low half become the mantissas of floats with the
/// exponents of 2^84 and 2^52 (the sign bit of a signed high half is flipped first). Subtracting 2^84 and 2^52 (and 2^63
/// for signed integers) from the high float is exact, and only the addition of the low float rounds.
fn float64_of_long(o: &mut Recorder<'_>, x: Var, signed: bool) -> Var {
    let (high_magic, offset) = if signed {
        (0x4530_0000_8000_0000u64, f64::from_bits(0x4530_0000_8010_0000))
    } else {
        (0x4530_0000_0000_0000, f64::from_bits(0x4530_0000_0010_0000))
    };
    let high = o.shr_const::<u64>(x, 32);
    let high_magic = o.splat(high_magic);
    let high = o.xor::<u64>(high, high_magic);
    let high = o.of_bits::<f64>(high);
    let offset = o.splat(offset);
    let high = o.sub::<f64>(high, offset);
    let (low_word, low_magic) = (o.splat(0xffff_ffffu64), o.splat(0x4330_0000_0000_0000u64));
    let low = o.and::<u64>(x, low_word);
    let low = o.or::<u64>(low, low_magic);
    let low = o.of_bits::<f64>(low);
    o.add::<f64>(high, low)
}

/// Prepares 64-bit integers for conversion to float32 through float64. If float64 may not represent an integer (it is
/// above 2^53 or, if signed, below −2^52 or not below 2^52), its lowest 11 bits are replaced by one bit, which is set
/// if any of them was set. The result is exact in float64, and is rounded to float32 as the integer itself would be. In
/// two's complement, setting that bit rounds negative integers to odd as well.
fn round_to_odd(o: &mut Recorder<'_>, x: Var, signed: bool) -> Var {
    let low_bits = o.splat(0x7ffu64);
    let low = o.and::<u64>(x, low_bits);
    let low = o.add::<u64>(low, low_bits);
    let all = o.or::<u64>(x, low);
    let high_bits = o.splat(!0x7ffu64);
    let odd = o.and::<u64>(all, high_bits);
    let from_minimum = if signed {
        let minimum = o.splat(1u64 << 52);
        o.add::<u64>(x, minimum)
    } else {
        x
    };
    let beyond = o.shr_const::<u64>(from_minimum, 53);
    let none = o.splat(0i64);
    let long = o.cmp::<i64>(Cmp::Gt, beyond, none);
    o.select::<u64>(long, odd, x)
}

fn float_to_int<T: Float, U: Int>(o: &mut Recorder<'_>, width: VectorWidth, x: Var) -> Option<Var> {
    match (width, T::DIGITS, U::WIDTH) {
        (VectorWidth::W512, 24, 64) => {
            let x = o.float_resize::<T, f64>(x);
            Some(o.float_to_int::<f64, U>(x))
        }
        (VectorWidth::W512, ..) => None,
        // A vector sequence for two lanes would have as many instructions as converting the lanes one by one.
        (VectorWidth::W128, _, 64) if U::SIGNED => None,
        (_, _, 64) => Some(through::float_to_int64::<Recorder<'_>, T, U>(o, x)),
        (VectorWidth::W256, 24, 32) if !U::SIGNED => Some(unsigned_of_float32(o, x)),
        (_, 24, _) => None,
        _ => Some(clamped::<T, U>(o, x)),
    }
}

/// Converts floats to integers as the scalar definition does: replaces NaN by 0, clamps, truncates and takes the low
/// bits.
fn clamped<T: Float, U: Int>(o: &mut Recorder<'_>, x: Var) -> Var {
    let zero = o.splat(T::ZERO);
    let number = o.cmp::<T>(Cmp::Eq, x, x);
    let x = o.select::<T>(number, x, zero);
    let minimum = o.splat(T::from_f64(U::MIN.wide() as f64));
    let maximum = o.splat(T::from_f64(U::MAX.wide() as f64));
    let above = o.cmp::<T>(Cmp::Gt, x, minimum);
    let x = o.select::<T>(above, x, minimum);
    let below = o.cmp::<T>(Cmp::Lt, x, maximum);
    let x = o.select::<T>(below, x, maximum);
    let x = o.trunc::<T>(x);
    through::low_bits::<Recorder<'_>, T, U>(o, x)
}

/// Converts float32 to unsigned 32-bit integers by the signed conversion. Before the conversion, 2^31 is subtracted
/// from numbers that are at least 2^31, and afterwards it is added back. A difference that is still too large saturates
/// to 2^31 − 1.
fn unsigned_of_float32(o: &mut Recorder<'_>, x: Var) -> Var {
    let zero = o.splat(f32::ZERO);
    let above = o.cmp::<f32>(Cmp::Gt, x, zero);
    let x = o.select::<f32>(above, x, zero);
    let half = o.splat((1u64 << 31) as f32);
    let large = o.cmp::<f32>(Cmp::Ge, x, half);
    let off = o.select::<f32>(large, half, zero);
    let x = o.sub::<f32>(x, off);
    let low = o.float_to_int::<f32, i32>(x);
    let (none, top) = (o.splat(0u32), o.splat(1u32 << 31));
    let large = o.mask_resize::<f32, u32>(large);
    let high = o.select::<u32>(large, top, none);
    o.xor::<u32>(low, high)
}
