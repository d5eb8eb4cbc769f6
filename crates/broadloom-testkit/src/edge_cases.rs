//! The edge-case values of each dtype, at which implementations tend to fail.
//!
//! They are zeros, ones, minima and maxima, numbers next to powers of two, halves, subnormals, infinities, and NaNs of both signs
//! that are quiet, carry a payload, or signal. The list is the same on every target, so that a failure can be reproduced on
//! another target.

use broadloom_core::{DType, Kind, Scalar};

/// The edge-case values of a dtype, without duplicates.
pub fn values(dtype: DType) -> Vec<Scalar> {
    let mut bits: Vec<u64> = match dtype.kind() {
        Kind::Bool => vec![0, 1],
        Kind::Signed | Kind::Unsigned => integers(8 * dtype.size() as u32),
        Kind::Float => match dtype {
            DType::Float16 => floats(10, 5),
            DType::Float32 => floats(23, 8),
            _ => floats(52, 11),
        },
    };
    bits.sort_unstable();
    bits.dedup();
    bits.into_iter().map(|bits| Scalar { dtype, bits }).collect()
}

/// Bit patterns around every power of two of either sign, and small numbers.
fn integers(width: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - width);
    let mut out: Vec<u64> = (0..=20).chain([100, 127, 128, 255, 1000]).collect();
    for shift in (0..width).step_by(if width > 16 { 5 } else { 1 }).chain([width - 2, width - 1]) {
        let power = 1u64 << shift;
        out.extend([power.wrapping_sub(1), power, power.wrapping_add(1)]);
    }
    let negated: Vec<u64> = out.iter().map(|x| x.wrapping_neg()).collect();
    out.into_iter().chain(negated).map(|x| x & mask).collect()
}

/// Bit patterns of floats with these numbers of fraction and exponent bits.
fn floats(fraction: u32, exponent: u32) -> Vec<u64> {
    let bias = (1u64 << (exponent - 1)) - 1;
    let one = bias << fraction;
    let infinity = ((1u64 << exponent) - 1) << fraction;
    let unit = 1u64 << fraction;
    let (signalling, quiet) = (infinity + 1, infinity + (unit >> 1));
    let mut out =
        vec![0, 1, 2, unit - 1, unit, unit + 1, infinity - 1, infinity, quiet, quiet + 5, signalling];
    // Numbers around 2^e, and fractions above it.
    let exponents = [-8i64, -4, -2, -1, 0, 1, 2, 3, 5, 7, 8, 11, 15];
    let precision = i64::from(fraction);
    for e in exponents.into_iter().chain([precision - 1, precision, precision + 1, 31, 32, 63, 64]) {
        if e.unsigned_abs() < bias {
            let power = one.wrapping_add_signed(e << fraction);
            out.extend([
                power - 1,
                power,
                power + 1,
                power + unit / 2,
                power + unit / 4 * 3,
                power + unit / 3,
            ]);
        }
    }
    // A significand of all ones, and an irregular one, with a few exponents.
    out.extend([
        one + unit - 1,
        one + (0x5_a5a5_a5a5_a5a5 & (unit - 1)),
        unit * 7 + 12345 % unit,
        infinity - unit,
    ]);
    let sign = 1u64 << (fraction + exponent);
    let negative: Vec<u64> = out.iter().map(|x| x | sign).collect();
    out.into_iter().chain(negative).collect()
}
