//! Random numbers of a floating format: uniform ones, any exponents, numbers next to another, any bits, few bits, subnormals.
//! The points of functions of one and of two arguments are drawn from these.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::Format;

use crate::format::{at_place, round, step, width};

/// A number in [low, high).
pub fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * ((rng.next() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A number whose exponent is any in [low, high] as likely as another, of either sign.
pub fn scaled(rng: &mut Rng, low: i32, high: i32) -> f64 {
    let exponent = low + rng.below((high - low + 1) as usize) as i32;
    let sign = if rng.chance(1, 2) { 1.0 } else { -1.0 };
    let (half, rest) = (exponent / 2, exponent - exponent / 2);
    sign * uniform(rng, 1.0, 2.0) * 2_f64.powi(half) * 2_f64.powi(rest)
}

/// A number close to another: often the next one, at times some thousands of places away.
pub fn near(rng: &mut Rng, format: Format, x: f64) -> f64 {
    let reach = 1 << rng.below(13);
    step(format, round(format, x), rng.below(2 * reach + 1) as i64 - reach as i64)
}

/// Any pattern of bits.
pub fn any(rng: &mut Rng, format: Format) -> f64 {
    at_place(format, rng.next() >> (64 - width(format)))
}

/// A subnormal number, or one of the least normal ones.
pub fn least(rng: &mut Rng, format: Format) -> f64 {
    let count = 2_u64 << (format.precision - 1);
    step(format, 0.0, (rng.next() % (2 * count)) as i64 - count as i64)
}

/// A subnormal number whose exponent is any as likely as another, so that most have few bits.
pub fn tiny(rng: &mut Rng, format: Format) -> f64 {
    scaled(rng, format.least - format.precision + 1, format.least - 1)
}

/// The first bits of a number, one to `bits` of them.
pub fn keep_bits(rng: &mut Rng, x: f64, bits: i32) -> f64 {
    let kept = 1 + rng.below(bits as usize);
    f64::from_bits(x.to_bits() & !((1 << (53 - kept)) - 1))
}

/// A number of one to `bits` bits whose exponent is any in [low, high] as likely as another, of either sign.
pub fn few_bits(rng: &mut Rng, bits: i32, low: i32, high: i32) -> f64 {
    let x = scaled(rng, low, high);
    keep_bits(rng, x, bits)
}
