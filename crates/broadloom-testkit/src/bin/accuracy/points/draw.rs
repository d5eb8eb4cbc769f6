//! Random floating-point numbers of several distributions, from which the points of functions are drawn.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::FloatFormat;

use crate::format::{at_place, round, step, width};

/// A number in [low, high).
pub fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * ((rng.next() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A number of either sign, whose exponent is uniformly distributed in [low, high].
pub fn scaled(rng: &mut Rng, low: i32, high: i32) -> f64 {
    let exponent = low + rng.below((high - low + 1) as usize) as i32;
    let sign = if rng.chance(1, 2) { 1.0 } else { -1.0 };
    let (half, rest) = (exponent / 2, exponent - exponent / 2);
    sign * uniform(rng, 1.0, 2.0) * 2_f64.powi(half) * 2_f64.powi(rest)
}

/// A number near `x`: often an adjacent one, sometimes thousands of positions away.
pub fn near(rng: &mut Rng, format: FloatFormat, x: f64) -> f64 {
    let reach = 1 << rng.below(13);
    step(format, round(format, x), rng.below(2 * reach + 1) as i64 - reach as i64)
}

/// A number with random bits.
pub fn any(rng: &mut Rng, format: FloatFormat) -> f64 {
    at_place(format, rng.next() >> (64 - width(format)))
}

/// A subnormal number, or one of the smallest normal ones.
pub fn least(rng: &mut Rng, format: FloatFormat) -> f64 {
    let count = 2_u64 << (format.precision - 1);
    step(format, 0.0, (rng.next() % (2 * count)) as i64 - count as i64)
}

/// A subnormal number whose exponent is uniformly distributed, so that most have few significant bits.
pub fn tiny(rng: &mut Rng, format: FloatFormat) -> f64 {
    scaled(rng, format.least - format.precision + 1, format.least - 1)
}

/// A number with only its first significant bits kept, between one and `bits` of them.
pub fn keep_bits(rng: &mut Rng, x: f64, bits: i32) -> f64 {
    let kept = 1 + rng.below(bits as usize);
    f64::from_bits(x.to_bits() & !((1 << (53 - kept)) - 1))
}

/// A number of either sign with one to `bits` significant bits, whose exponent is uniformly distributed in [low, high].
pub fn few_bits(rng: &mut Rng, bits: i32, low: i32, high: i32) -> f64 {
    let x = scaled(rng, low, high);
    keep_bits(rng, x, bits)
}
