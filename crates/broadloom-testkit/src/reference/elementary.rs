//! The quick reference for the values of functions: it computes with significands of 127 bits, fast enough
//! for a hundred million points.
//!
//! Every step is a rounded operation of [`WideFloat`], a truncated operation of [`Fixed`] on a value near 1,
//! or a series truncated below 2^-128. Sums in which terms cancel have exact terms, or lose no more bits than
//! a comment beside them states. Every value is therefore within [`RELATIVE_ERROR`]. The constants come from
//! [`super::precise`].

use std::sync::LazyLock;

use super::arguments;
use super::precise::{Constants, ERFC_SATURATED};
use super::wide::{Fixed, WideFloat};

/// The bound on the relative error of every value: 2^-104, which only `pow` needs. The error of the other functions is below
/// 2^-112.
pub const RELATIVE_ERROR: f64 = 4.930380657631324e-32;

/// For arguments beyond 2^14, the exponential and related functions are replaced by very small or large values, which every
/// format rounds to zero or infinity.
const SATURATED: i32 = 14;
const HUGE: WideFloat = WideFloat::power_of_two(1 << 20);

pub(super) static CONSTANTS: LazyLock<Constants> = LazyLock::new(Constants::new);

/// A table of the constants 1/f(0), 1/f(1), ….
macro_rules! inverses {
    ($n:literal, |$k:ident| $f:expr) => {{
        let mut table = [Fixed::inverse(1); $n];
        let mut $k = 0;
        while $k < $n {
            table[$k] = Fixed::inverse($f);
            $k += 1;
        }
        table
    }};
}

const fn factorial(n: u128) -> u128 {
    if n == 0 { 1 } else { n * factorial(n - 1) }
}

/// The coefficients 1/1!, 1/2!, … of (e^s − 1)/s, for s below 2^-5; truncation error 2^-138.
const EXPM1: [Fixed; 18] = inverses!(18, |k| factorial(k as u128 + 1));
/// The coefficients 1/1!, 1/3!, … of sin(s)/s in powers of s², for s up to 2^-6; truncation error 2^-144.
const SIN: [Fixed; 8] = inverses!(8, |k| factorial(2 * k as u128 + 1));
/// The coefficients 1/0!, 1/2!, … of cos(s) in powers of s²; truncation error 2^-140.
const COS: [Fixed; 8] = inverses!(8, |k| factorial(2 * k as u128));
/// The coefficients 1, 1/3, 1/5, … of atan(s)/s in powers of s², for s up to 2^-6; truncation error 2^-136. The first nine are
/// also used for atanh(s)/s with s up to 2^-7.5; truncation error 2^-139.
const ODD: [Fixed; 11] = inverses!(11, |k| 2 * k as u128 + 1);

/// The coefficients 1/(0!·1), 1/(1!·3), 1/(2!·5), … of erf(s)·√π/(2s) in powers of s², for s up to 1; truncation error 2^-130.
const ERF: [Fixed; 32] = inverses!(32, |k| factorial(k as u128) * (2 * k as u128 + 1));

/// c0 + c1·t + c2·t² + …
fn sum(coefficients: &[Fixed], t: Fixed) -> Fixed {
    let (last, rest) = coefficients.split_last().expect("coefficients");
    rest.iter().rev().fold(*last, |p, &c| c + t * p)
}

/// c0 − c1·t + c2·t² − …
fn alternating(coefficients: &[Fixed], t: Fixed) -> Fixed {
    let (last, rest) = coefficients.split_last().expect("coefficients");
    rest.iter().rev().fold(*last, |p, &c| c - t * p)
}

/// e^x.
pub fn exp(x: WideFloat) -> WideFloat {
    if x.exponent() >= SATURATED {
        return if x.is_negative() { WideFloat::ONE / HUGE } else { HUGE };
    }
    let constants = &*CONSTANTS;
    let mut k = (x.to_f64() * std::f64::consts::LOG2_E).floor() as i64;
    let rest = |k: i64| {
        let k = WideFloat::from_i64(k);
        // The first product is exact, since its factors have 107 and 16 bits.
        (x - k * constants.ln2_high) - k * constants.ln2_low
    };
    let mut r = rest(k);
    if r.is_negative() {
        k -= 1;
        r = rest(k);
    }
    let r = r.to_fixed();
    let j = r.floor(5);
    let s = r - Fixed::ratio(u128::from(j), 5);
    let power = Fixed::ratio(1, 0) + s * sum(&EXPM1, s);
    (constants.exp[j as usize] * WideFloat::from(power)).scale(k as i32)
}

/// e^x − 1.
pub fn expm1(x: WideFloat) -> WideFloat {
    if x.exponent() < -5 {
        let s = x.abs().to_fixed();
        let series = if x.is_negative() { alternating(&EXPM1, s) } else { sum(&EXPM1, s) };
        return x * WideFloat::from(series);
    }
    // The result is at least 2^-6 in magnitude, so at most 6 bits cancel.
    exp(x) - WideFloat::ONE
}

/// 2^x. The integer part is split off, so that its power is exact.
pub fn exp2(x: WideFloat) -> WideFloat {
    if x.exponent() >= SATURATED {
        return exp(x);
    }
    let whole = x.to_f64().round();
    exp((x - whole.into()) * CONSTANTS.ln2).scale(whole as i32)
}

/// The cube root, by two Newton steps from the target's float64 result.
pub fn cbrt(x: WideFloat) -> WideFloat {
    // x = m · 2^3k with m in [1, 8)
    let k = x.exponent().div_euclid(3);
    let m = x.abs().scale(-3 * k);
    let three = WideFloat::from_i64(3);
    let step = |y: WideFloat| y - (y * y * y - m) / (three * y * y);
    step(step(m.to_f64().cbrt().into())).scale(k).with_sign(x.is_negative())
}

/// erf(x) for |x| up to 1: (2x/√π)·(1 − x²/3 + x⁴/(2!·5) − …).
fn erf_near(x: WideFloat) -> WideFloat {
    let a = x.abs().to_fixed();
    x * CONSTANTS.two_over_root_pi * WideFloat::from(alternating(&ERF, a * a))
}

/// erfc(x) for x ≥ 1/2, by the trapezoidal rule with step h = 1/3 on the real line:
///
/// erfc(x) = (x·e^(−x²)/π)·∫ e^(−t²)/(x² + t²) dt
///         = (h·x·e^(−x²)/π)·(1/x² + 2·Σ e^(−k²h²)/(x² + k²h²)) − 2/(e^(2πx/h) − 1)
///
/// with a relative error of about e^(−π²/h²) = 2^-128. The last term is the contribution of the poles, which is only needed for x
/// below π/h (F. Matta and A. Reichel, "Uniform computation of the error function and other related functions", 1971).
fn erfc_far(x: WideFloat) -> WideFloat {
    let square = x * x;
    let steps = CONSTANTS.gauss.iter().zip(1..);
    let sum = steps.fold(WideFloat::ZERO, |sum, (&weight, k)| {
        sum + weight / (square + WideFloat::from_i64(k * k) / WideFloat::from_i64(9))
    });
    let sum = WideFloat::ONE / square + sum.scale(1);
    let integral = x * exp(-square) * sum / (WideFloat::from_i64(3) * CONSTANTS.half_pi.scale(1));
    if x.to_f64() > 9.4 {
        return integral;
    }
    let poles = exp(WideFloat::from_i64(12) * CONSTANTS.half_pi * x) - WideFloat::ONE;
    integral - WideFloat::from_i64(2) / poles
}

/// erf(x).
pub fn erf(x: WideFloat) -> WideFloat {
    if x.exponent() < 0 {
        return erf_near(x);
    }
    (WideFloat::ONE - erfc(x.abs())).with_sign(x.is_negative())
}

/// erfc(x).
pub fn erfc(x: WideFloat) -> WideFloat {
    match () {
        () if x.is_negative() => WideFloat::ONE + erf(x.abs()),
        () if x.exponent() < -1 => WideFloat::ONE - erf_near(x),
        () if x.to_f64() > ERFC_SATURATED => WideFloat::ONE / HUGE,
        () => erfc_far(x),
    }
}

/// sinh(x).
pub fn sinh(x: WideFloat) -> WideFloat {
    let e = expm1(x.abs());
    (e + e / (e + WideFloat::ONE)).scale(-1).with_sign(x.is_negative())
}

/// cosh(x).
pub fn cosh(x: WideFloat) -> WideFloat {
    let e = exp(x.abs());
    (e + WideFloat::ONE / e).scale(-1)
}

/// tanh(x).
pub fn tanh(x: WideFloat) -> WideFloat {
    let e = expm1(x.abs().scale(1));
    (e / (e + WideFloat::from_i64(2))).with_sign(x.is_negative())
}

/// 2·atanh(s), which is the logarithm of (1 + s)/(1 − s), for s below 2^-7.
fn twice_atanh(s: WideFloat) -> WideFloat {
    let fixed = s.abs().to_fixed();
    (s * WideFloat::from(sum(&ODD[..9], fixed * fixed))).scale(1)
}

/// ln x, for x above 0.
pub fn log(x: WideFloat) -> WideFloat {
    let constants = &*CONSTANTS;
    let mut e = x.exponent();
    let mut m = x.scale(-e);
    if m.compare_magnitude(WideFloat::new(false, 3, -1)).is_ge() {
        e += 1;
        m = m.scale(-1);
    }
    // m is in [3/4, 3/2), so that the logarithm of m never nearly cancels e·ln2.
    let j = (m.to_f64() * 64.0).round() as i64;
    let c = WideFloat::new(false, j as u128, -6);
    let near = twice_atanh((m - c) / (m + c));
    WideFloat::from_i64(i64::from(e)) * constants.ln2 + constants.log[j as usize - 48] + near
}

/// ln(1 + x), for x above −1.
pub fn log1p(x: WideFloat) -> WideFloat {
    if x.exponent() < -7 {
        return twice_atanh(x / (WideFloat::from_i64(2) + x));
    }
    // The logarithm is at least 2^-8 in magnitude, so at most 8 bits cancel, and none if 1 + x is exact.
    log(WideFloat::ONE + x)
}

/// log2 x, for x above 0.
pub fn log2(x: WideFloat) -> WideFloat {
    log(x) / CONSTANTS.ln2
}

/// log10 x, for x above 0.
pub fn log10(x: WideFloat) -> WideFloat {
    log(x) / CONSTANTS.ln10
}

/// Reduces x modulo π/2 to the remainder of minimum magnitude. Returns the multiple of π/2, modulo 4, and the remainder.
fn reduce(x: f64) -> (u64, WideFloat) {
    if x.abs() < 0.78 {
        return (0, WideFloat::from_f64(x));
    }
    // x = m · 2^e, and bit k of 2/π has the weight 2^-k. Bits with e − k ≥ 2 only contribute multiples of 4. The 320 bits after
    // these leave an error below 2^-264, and no float64 is closer to a multiple of π/2 than 2^-62.
    let e = (x.to_bits() >> 52 & 0x7ff) as i32 - 1075;
    let m = x.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let first = (e - 1).max(1);
    let window = CONSTANTS.two_over_pi_window(first as u32);
    let mut words = [0_u64; 6];
    let mut carry = 0_u128;
    for i in (0..5).rev() {
        let word = u128::from(window[i]) * u128::from(m) + carry;
        words[i + 1] = word as u64;
        carry = word >> 64;
    }
    words[0] = carry as u64;
    // `words` is an integer with the most significant word first, in units of 2^-point.
    let point = (first + 319 - e) as u32;
    let bit = |i: u32| words[5 - (i / 64) as usize] >> (i % 64) & 1;
    let mut quadrant = bit(point + 1) << 1 | bit(point);
    let above = bit(point - 1) == 1;
    if above {
        quadrant += 1;
        words.iter_mut().for_each(|word| *word = !*word);
    }
    // The fraction bits, shifted to the most significant position.
    let (skip, shift) = ((384 - point) / 64, (384 - point) % 64);
    let word = |i: u32| {
        let at = |i: u32| words.get(i as usize).copied().unwrap_or(0);
        let i = i + skip;
        if shift == 0 { at(i) } else { at(i) << shift | at(i + 1) >> (64 - shift) }
    };
    let head = u128::from(word(0)) << 64 | u128::from(word(1));
    let tail = u128::from(word(2)) << 64 | u128::from(word(3));
    let fraction = WideFloat::new(false, head, -128) + WideFloat::new(false, tail, -256);
    let r = fraction * CONSTANTS.half_pi;
    let negative = above != x.is_sign_negative();
    let quadrant = if x.is_sign_negative() { 4 - quadrant % 4 } else { quadrant };
    (quadrant % 4, r.with_sign(negative))
}

/// The sine and cosine of an angle of at most π/4 in magnitude.
fn sin_cos_near(r: WideFloat) -> (WideFloat, WideFloat) {
    let a = r.abs().to_fixed();
    let j = (a + Fixed::ratio(1, 6)).floor(5);
    let c = Fixed::ratio(u128::from(j), 5);
    let d = a.distance(c);
    let t = d * d;
    let (sin, cos) = (alternating(&SIN, t), alternating(&COS, t));
    if j == 0 {
        return (r * WideFloat::from(sin), WideFloat::from(cos));
    }
    // Both results are above 2^-7, and the rounding error is in units of 2^-127.
    let (sin_c, cos_c) = CONSTANTS.sin_cos[j as usize];
    let (x, y) = (sin_c * cos, cos_c * (d * sin));
    let (z, w) = (cos_c * cos, sin_c * (d * sin));
    let (sin, cos) = if a < c { (x - y, z + w) } else { (x + y, z - w) };
    (WideFloat::from(sin).with_sign(r.is_negative()), WideFloat::from(cos))
}

/// sin(x).
pub fn sin(x: f64) -> WideFloat {
    let (quadrant, r) = reduce(x);
    let (sin, cos) = sin_cos_near(r);
    match quadrant {
        0 => sin,
        1 => cos,
        2 => -sin,
        _ => -cos,
    }
}

/// cos(x).
pub fn cos(x: f64) -> WideFloat {
    let (quadrant, r) = reduce(x);
    let (sin, cos) = sin_cos_near(r);
    match quadrant {
        0 => cos,
        1 => -sin,
        2 => -cos,
        _ => sin,
    }
}

/// tan(x).
pub fn tan(x: f64) -> WideFloat {
    let (quadrant, r) = reduce(x);
    let (sin, cos) = sin_cos_near(r);
    if quadrant % 2 == 0 { sin / cos } else { -(cos / sin) }
}

/// The polar angle of the point (x, y), for y in [0, x].
fn octant(y: WideFloat, x: WideFloat) -> WideFloat {
    let distance = y.exponent().saturating_sub(x.exponent()).max(-60);
    let quotient = y.scale(-y.exponent()).to_f64() / x.scale(-x.exponent()).to_f64();
    let j = if y.is_zero() { 0 } else { (quotient * f64::powi(2.0, distance + 5)).round() as i64 };
    let c = WideFloat::new(false, j as u128, -5);
    // With c = 0, no digits cancel. Otherwise the angle is above 2^-6, and the difference y − c·x has an
    // error of at most 2^-125 of x.
    let s = (y - c * x) / (x + c * y);
    let fixed = s.abs().to_fixed();
    s * WideFloat::from(alternating(&ODD, fixed * fixed)) + CONSTANTS.atan[j as usize]
}

/// The polar angle of the point (x, y).
pub fn atan2(y: WideFloat, x: WideFloat) -> WideFloat {
    let (b, a) = (y.abs(), x.abs());
    let steep = b.compare_magnitude(a).is_gt();
    let acute = if steep { CONSTANTS.half_pi - octant(a, b) } else { octant(b, a) };
    let angle = if x.is_negative() { CONSTANTS.half_pi.scale(1) - acute } else { acute };
    angle.with_sign(y.is_negative())
}

/// The polar angle of a point with float64 coordinates. If both are zero, their signs determine it.
pub fn angle(y: f64, x: f64) -> WideFloat {
    atan2(y.into(), arguments::abscissa(y, x).into()).with_sign(y.is_sign_negative())
}

/// atan(x).
pub fn atan(x: WideFloat) -> WideFloat {
    atan2(x, WideFloat::ONE)
}

/// √(1 − x²), the other leg of a right triangle with hypotenuse 1.
fn complement(x: WideFloat) -> WideFloat {
    ((WideFloat::ONE - x) * (WideFloat::ONE + x)).sqrt()
}

/// asin(x), for |x| ≤ 1.
pub fn asin(x: WideFloat) -> WideFloat {
    atan2(x, complement(x))
}

/// acos(x), for |x| ≤ 1.
pub fn acos(x: WideFloat) -> WideFloat {
    atan2(complement(x), x)
}

/// asinh(x).
pub fn asinh(x: WideFloat) -> WideFloat {
    let a = x.abs();
    let square = a * a;
    log1p(a + square / (WideFloat::ONE + (WideFloat::ONE + square).sqrt())).with_sign(x.is_negative())
}

/// acosh(x), for x ≥ 1.
pub fn acosh(x: WideFloat) -> WideFloat {
    let t = x - WideFloat::ONE;
    log1p(t + (t * (t + WideFloat::from_i64(2))).sqrt())
}

/// atanh(x), for |x| < 1.
pub fn atanh(x: WideFloat) -> WideFloat {
    let a = x.abs();
    log1p(a.scale(1) / (WideFloat::ONE - a)).scale(-1).with_sign(x.is_negative())
}

/// √(x² + y²).
pub fn hypot(x: WideFloat, y: WideFloat) -> WideFloat {
    (x * x + y * y).sqrt()
}

/// x^y, for x above 0.
pub fn pow(x: WideFloat, y: WideFloat) -> WideFloat {
    // The logarithm's relative error is multiplied by |y·ln x|, which is below 2^10 for results in range.
    exp(y * log(x))
}

/// x^y, for nonzero x; y must be an integer if x is negative.
pub fn signed_pow(x: f64, y: f64) -> WideFloat {
    pow(x.abs().into(), y.into()).with_sign(x < 0.0 && arguments::is_odd(y))
}

/// The square root of a float64 by a Newton step from the target's result, as a second implementation for the filter.
pub fn sqrt_again(x: f64) -> f64 {
    let root = x.sqrt();
    if root > 0.0 && root.is_finite() { 0.5 * (root + x / root) } else { root }
}

/// ln(e^x + e^y), and the number of bits that cancelled in the last sum.
pub fn logaddexp(x: WideFloat, y: WideFloat) -> (WideFloat, i32) {
    let (greater, less) = if (x - y).is_negative() { (y, x) } else { (x, y) };
    let rest = log1p(exp(less - greater));
    let result = greater + rest;
    (result, rest.exponent().saturating_sub(result.exponent()).max(0))
}
