//! The numbers of a floating-point format by their position in the total order.
//!
//! The order covers all bit patterns: numbers ascend, −0 precedes +0, and NaNs are at both ends. Consecutive positions
//! therefore cross the boundaries of binades, and the boundaries between normal numbers, subnormals, zeros and infinities.

use broadloom_core::DType;
use broadloom_testkit::reference::FloatFormat;
use half::f16;

/// The number of bits of the format.
pub fn width(format: FloatFormat) -> u32 {
    8 * format.dtype.size() as u32
}

/// The number with these bits.
pub fn from_bits(format: FloatFormat, bits: u64) -> f64 {
    match format.dtype {
        DType::Float16 => f16::from_bits(bits as u16).to_f64(),
        DType::Float32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of a number that the format can represent.
pub fn to_bits(format: FloatFormat, x: f64) -> u64 {
    match format.dtype {
        DType::Float16 => u64::from(f16::from_f64(x).to_bits()),
        DType::Float32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

/// Rounds to the nearest number of the format.
pub fn round(format: FloatFormat, x: f64) -> f64 {
    from_bits(format, to_bits(format, x))
}

/// The number at a position, of 2^width positions.
pub fn at_place(format: FloatFormat, place: u64) -> f64 {
    let sign = 1 << (width(format) - 1);
    from_bits(format, if place & sign == 0 { (sign - 1 - place) | sign } else { place ^ sign })
}

/// The position of a number.
pub fn place(format: FloatFormat, x: f64) -> u64 {
    let (bits, sign) = (to_bits(format, x), 1 << (width(format) - 1));
    if bits & sign == 0 { bits | sign } else { sign - 1 - (bits ^ sign) }
}

/// The number that is `by` positions away from `x`.
pub fn step(format: FloatFormat, x: f64, by: i64) -> f64 {
    let last = u64::MAX >> (64 - width(format));
    at_place(format, place(format, x).saturating_add_signed(by).min(last))
}

/// Formats a number exactly in hexadecimal, as `%a` in C does.
pub fn hex(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let bits = x.to_bits();
    let (field, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    let sign = if x < 0.0 { "-" } else { "" };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    let (lead, exponent) = if field == 0 { (0, -1022) } else { (1, field as i64 - 1023) };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

/// The shortest decimal that rounds to this number of the format.
pub fn decimal(format: FloatFormat, x: f64) -> String {
    match format.dtype {
        DType::Float16 => format!("{}", f16::from_f64(x)),
        DType::Float32 if x == 0.0 || (1e-4..1e7).contains(&x.abs()) => format!("{}", x as f32),
        DType::Float32 => format!("{:e}", x as f32),
        _ if x == 0.0 || (1e-4..1e7).contains(&x.abs()) => format!("{x}"),
        _ => format!("{x:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_order_and_come_back() {
        for format in FloatFormat::ALL {
            let last = u64::MAX >> (64 - width(format));
            let step = (last / 65_536).max(1);
            let mut before = f64::NEG_INFINITY;
            for place_of in (0..=last).step_by(step as usize) {
                let x = at_place(format, place_of);
                if x.is_nan() {
                    continue;
                }
                assert!(before <= x, "{format:?} {place_of:x}");
                assert_eq!(place(format, x), place_of);
                before = x;
            }
            assert_eq!(super::step(format, 0.0, -1).to_bits(), (-0.0_f64).to_bits());
        }
    }

    #[test]
    fn numbers_print_as_in_c() {
        assert_eq!(hex(1.0), "0x1p+0");
        assert_eq!(hex(-0.1), "-0x1.999999999999ap-4");
        assert_eq!(hex(5e-324), "0x0.0000000000001p-1022");
        assert_eq!(decimal(FloatFormat::FLOAT32, f64::from(0.1_f32)), "0.1");
    }
}
