//! Binary floating-point numbers with 127-bit significands, in integer arithmetic.
//!
//! A sum, product, quotient or root is exact or has a relative error below 2^-125. The difference of operands within a factor of
//! two is exact. The range of exponents is large enough that nothing over- or underflows.

use std::cmp::Ordering;

/// The number of bits of a significand.
const BITS: u32 = 127;
/// The smallest normalised significand.
const TOP: u128 = 1 << (BITS - 1);

/// ± significand · 2^(exponent − 126), with a significand in [2^126, 2^127), or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideFloat {
    negative: bool,
    exponent: i32,
    significand: u128,
}

/// The high and low 128 bits of the product.
fn product(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let (high, low) = (a1 * b1, a0 * b0);
    // For a and b below 2^127, these sums don't overflow. For larger values, only the middle sum may, and its carry is added
    // below.
    let (middle, carried) = (a1 * b0).overflowing_add(a0 * b1);
    let (low, carry) = low.overflowing_add(middle << 64);
    (high + (middle >> 64) + (u128::from(carried) << 64) + u128::from(carry), low)
}

/// floor((high · 2^128 + low) / divisor), for a divisor that has its top bit set and is above `high` (Knuth's algorithm D).
fn quotient(high: u128, low: u128, divisor: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (d1, d0) = (divisor >> 64, divisor & LOW);
    let digit = |rest: u128, next: u128| {
        let (mut q, mut r) = (rest / d1, rest % d1);
        while q > LOW || q * d0 > (r << 64 | next) {
            q -= 1;
            r += d1;
            if r > LOW {
                break;
            }
        }
        (q, (rest << 64 | next).wrapping_sub(q.wrapping_mul(divisor)))
    };
    let (q1, rest) = digit(high, low >> 64);
    let (q0, _) = digit(rest, low & LOW);
    q1 << 64 | q0
}

impl WideFloat {
    /// Zero.
    pub const ZERO: WideFloat = WideFloat { negative: false, exponent: i32::MIN / 2, significand: 0 };
    /// One.
    pub const ONE: WideFloat = WideFloat::power_of_two(0);

    /// 2^`exponent`.
    pub const fn power_of_two(exponent: i32) -> WideFloat {
        WideFloat { negative: false, exponent, significand: TOP }
    }

    /// ± `significand` · 2^`exponent`, truncated to 127 bits.
    pub fn new(negative: bool, significand: u128, exponent: i32) -> WideFloat {
        if significand == 0 {
            return WideFloat::ZERO;
        }
        let zeros = significand.leading_zeros();
        let shifted = if zeros == 0 { significand >> 1 } else { significand << (zeros - 1) };
        WideFloat { negative, exponent: exponent + 127 - zeros as i32, significand: shifted }
    }

    /// The value of a float64. An infinity becomes ±2^10000. A function that has a finite limit at infinity is so close to it
    /// there that every format rounds it to the limit.
    ///
    /// # Panics
    /// For NaN.
    pub fn from_f64(x: f64) -> WideFloat {
        assert!(!x.is_nan());
        if x.is_infinite() {
            return WideFloat { negative: x < 0.0, ..WideFloat::power_of_two(10_000) };
        }
        let (field, fraction) = (x.to_bits() >> 52 & 0x7ff, x.to_bits() & ((1 << 52) - 1));
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
        WideFloat::new(x.is_sign_negative(), u128::from(significand), field.max(1) as i32 - 1075)
    }

    /// The value of an integer.
    pub fn from_i64(x: i64) -> WideFloat {
        WideFloat::new(x < 0, u128::from(x.unsigned_abs()), 0)
    }

    /// The value rounded towards zero to float64. Out of range, it is 0 or the largest number.
    pub fn to_f64(self) -> f64 {
        if self.significand == 0 || self.exponent < -1022 {
            return if self.negative { -0.0 } else { 0.0 };
        }
        let fraction = (self.significand >> 74) as u64 & ((1 << 52) - 1);
        let bits = ((self.exponent.min(1023) + 1023) as u64) << 52 | fraction;
        f64::from_bits(bits | u64::from(self.negative) << 63)
    }

    /// The sign, significand and exponent, with the significand rounded to `bits` bits.
    pub fn parts(self, bits: u32) -> (bool, u128, i32) {
        let spare = BITS - bits;
        let rounded = (self.significand + (1 << spare >> 1)) >> spare;
        (self.negative, rounded, self.exponent - (bits as i32 - 1))
    }

    /// floor(log2 |x|). For 0, a number far below all exponents.
    pub fn exponent(self) -> i32 {
        self.exponent
    }

    /// Whether the number is 0.
    pub fn is_zero(self) -> bool {
        self.significand == 0
    }

    /// Whether the number is negative.
    pub fn is_negative(self) -> bool {
        self.negative && !self.is_zero()
    }

    /// Whether the bit of weight 2^`exponent` is set in the magnitude.
    pub fn bit(self, exponent: i32) -> bool {
        let place = exponent - (self.exponent - 126);
        (0..127).contains(&place) && self.significand >> place & 1 == 1
    }

    /// The absolute value.
    pub fn abs(self) -> WideFloat {
        WideFloat { negative: false, ..self }
    }

    /// The absolute value with the given sign.
    pub fn with_sign(self, negative: bool) -> WideFloat {
        WideFloat { negative, ..self }
    }

    /// x · 2^`by`.
    pub fn scale(self, by: i32) -> WideFloat {
        if self.is_zero() { self } else { WideFloat { exponent: self.exponent + by, ..self } }
    }

    /// Compares magnitudes.
    pub fn compare_magnitude(self, other: WideFloat) -> Ordering {
        (self.exponent, self.significand).cmp(&(other.exponent, other.significand))
    }

    /// The square root of a non-negative value.
    pub fn sqrt(self) -> WideFloat {
        if self.is_zero() {
            return self;
        }
        let odd = self.exponent & 1;
        let x = WideFloat { exponent: odd, ..self };
        // Two Newton steps, from an approximation of 52 bits, have an error of 2^-208 plus the rounding of the last step.
        let mut root = WideFloat::from_f64(x.to_f64().sqrt());
        for _ in 0..2 {
            root = (root + x / root).scale(-1);
        }
        root.scale((self.exponent - odd) / 2)
    }

    /// The magnitude in units of 2^-127. It must be below 2.
    pub fn to_fixed(self) -> Fixed {
        debug_assert!(self.exponent <= 0);
        Fixed(if self.exponent < -127 { 0 } else { self.significand << 1 >> -self.exponent })
    }
}

impl From<f64> for WideFloat {
    fn from(x: f64) -> WideFloat {
        WideFloat::from_f64(x)
    }
}

impl From<Fixed> for WideFloat {
    fn from(x: Fixed) -> WideFloat {
        WideFloat::new(false, x.0, -127)
    }
}

impl std::ops::Neg for WideFloat {
    type Output = WideFloat;

    fn neg(self) -> WideFloat {
        WideFloat { negative: !self.negative, ..self }
    }
}

impl std::ops::Add for WideFloat {
    type Output = WideFloat;

    fn add(self, other: WideFloat) -> WideFloat {
        let (a, b) = if self.compare_magnitude(other).is_lt() { (other, self) } else { (self, other) };
        let distance = a.exponent.saturating_sub(b.exponent);
        if b.is_zero() || distance > 127 {
            return a;
        }
        // One bit below the significand is kept, so that the difference of operands whose exponents differ by at most 1 is exact.
        let (x, y) = (a.significand << 1, b.significand << 1 >> distance);
        if a.negative == b.negative {
            match x.checked_add(y) {
                Some(sum) => WideFloat::new(a.negative, sum, a.exponent - 127),
                None => WideFloat::new(a.negative, x / 2 + y / 2, a.exponent - 126),
            }
        } else {
            WideFloat::new(a.negative, x - y, a.exponent - 127)
        }
    }
}

impl std::ops::Sub for WideFloat {
    type Output = WideFloat;

    fn sub(self, other: WideFloat) -> WideFloat {
        self + -other
    }
}

impl std::ops::Mul for WideFloat {
    type Output = WideFloat;

    fn mul(self, other: WideFloat) -> WideFloat {
        if self.is_zero() || other.is_zero() {
            return WideFloat::ZERO;
        }
        let (high, low) = product(self.significand, other.significand);
        let negative = self.negative != other.negative;
        let exponent = self.exponent + other.exponent;
        if high < 1 << 125 {
            WideFloat { negative, exponent, significand: high << 2 | low >> 126 }
        } else {
            WideFloat { negative, exponent: exponent + 1, significand: high << 1 | low >> 127 }
        }
    }
}

impl std::ops::Div for WideFloat {
    type Output = WideFloat;

    /// The quotient, truncated to 127 bits.
    ///
    /// # Panics
    /// For a divisor of 0.
    fn div(self, other: WideFloat) -> WideFloat {
        assert!(!other.is_zero());
        if self.is_zero() {
            return self;
        }
        let less = self.significand < other.significand;
        let numerator = self.significand << u32::from(less);
        WideFloat {
            negative: self.negative != other.negative,
            exponent: self.exponent - other.exponent - i32::from(less),
            significand: quotient(numerator >> 1, numerator << 127, other.significand << 1),
        }
    }
}

/// A number in [0, 2) in units of 2^-127, for power series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed(u128);

impl Fixed {
    /// 1 / `n`.
    pub const fn inverse(n: u128) -> Fixed {
        Fixed((1 << 127) / n)
    }

    /// `numerator` / 2^`bits`.
    pub const fn ratio(numerator: u128, bits: u32) -> Fixed {
        Fixed(numerator << (127 - bits))
    }

    /// floor(x · 2^`bits`), for `bits` up to 64.
    pub fn floor(self, bits: u32) -> u64 {
        (self.0 >> (127 - bits)) as u64
    }

    /// The absolute difference.
    pub fn distance(self, other: Fixed) -> Fixed {
        Fixed(self.0.abs_diff(other.0))
    }
}

impl std::ops::Add for Fixed {
    type Output = Fixed;

    fn add(self, other: Fixed) -> Fixed {
        Fixed(self.0 + other.0)
    }
}

impl std::ops::Sub for Fixed {
    type Output = Fixed;

    fn sub(self, other: Fixed) -> Fixed {
        Fixed(self.0 - other.0)
    }
}

impl std::ops::Mul for Fixed {
    type Output = Fixed;

    /// The product is truncated by less than a unit.
    fn mul(self, other: Fixed) -> Fixed {
        let (high, low) = product(self.0, other.0);
        Fixed(high << 1 | low >> 127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn random(rng: &mut Rng) -> WideFloat {
        let significand = u128::from(rng.next()) << 64 | u128::from(rng.next());
        WideFloat::new(rng.chance(1, 2), significand | 1, rng.below(40) as i32 - 20)
    }

    /// Whether |error| ≤ 2^-125 of the value.
    fn close(error: WideFloat, value: WideFloat) -> bool {
        error.is_zero() || error.exponent() < value.exponent() - 124
    }

    #[test]
    fn products_of_halves_are_products() {
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let (a, b) = (rng.next(), rng.next());
            let (high, low) = product(u128::from(a) << 64, u128::from(b) << 64);
            assert_eq!((high, low), (u128::from(a) * u128::from(b), 0));
        }
        assert_eq!(product(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(product(u128::MAX, 1 << 64), ((1 << 64) - 1, u128::MAX << 64));
    }

    #[test]
    fn quotients_times_divisors_come_back() {
        let mut rng = Rng::new(2);
        for _ in 0..100_000 {
            let (a, b) = (random(&mut rng), random(&mut rng));
            assert!(close(a - (a / b) * b, a), "{a:?} / {b:?}");
            let root = a.abs().sqrt();
            assert!(close(a.abs() - root * root, a), "{a:?}");
        }
    }

    #[test]
    fn small_integers_are_exact() {
        let wide = WideFloat::from_i64;
        for a in -40..40_i64 {
            for b in -40..40_i64 {
                assert_eq!(wide(a) + wide(b), wide(a + b), "{a} + {b}");
                assert_eq!(wide(a) * wide(b), wide(a * b), "{a} * {b}");
                if b != 0 && a % b == 0 {
                    assert_eq!((wide(a) / wide(b)).to_f64(), (a / b) as f64, "{a} / {b}");
                }
            }
            assert_eq!(wide(a * a).sqrt(), wide(a.abs()), "{a}");
            assert_eq!(wide(a).to_f64(), a as f64);
        }
    }

    #[test]
    fn float64_values_survive() {
        for x in [5e-324, 1e-310, 2.2250738585072014e-308, 1.0, -1.5, std::f64::consts::PI, f64::MAX] {
            let wide = WideFloat::from_f64(x);
            let back =
                if x.abs() < 2.3e-308 { wide.scale(200).to_f64() / 2_f64.powi(200) } else { wide.to_f64() };
            assert_eq!(back, x);
        }
    }

    #[test]
    fn differences_of_near_values_are_exact() {
        let mut rng = Rng::new(3);
        for _ in 0..100_000 {
            let a = random(&mut rng).abs();
            let b = WideFloat::new(
                false,
                a.significand ^ u128::from(rng.next()),
                a.exponent - 126 + rng.below(2) as i32,
            );
            let difference = a - b;
            assert_eq!(b + difference, a, "{a:?} {b:?}");
        }
    }
}
