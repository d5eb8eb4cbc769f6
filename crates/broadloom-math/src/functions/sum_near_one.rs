//! e^m + e^k − 1 where the sum of the exponentials is near 1, for the slow path of logaddexp.
//!
//! The difference can be as small as about 2^−107 of e^k (each of the 2^62 float64 values of m has a nearest k, and the
//! remaining difference is effectively random), so that a double-double would have none of its digits. Both terms are
//! computed as fixed-point integers of 192 bits, with a relative error of 2^−178 in e^k: a difference above 2^−124 of
//! e^k is known to less than half an ulp. The arithmetic never panics, whatever the arguments are.

use std::f64::consts::LOG2_E;

/// A fixed-point number: 64-bit limbs, lowest first, of an integer of 192 bits in units of 2^−[`FRACTION`].
type Fixed = [u64; LIMBS];

const LIMBS: usize = 3;
/// The number of bits after the binary point. The other eight bits hold integers below 256.
const FRACTION: i32 = 64 * LIMBS as i32 - 8;

/// ln 2 · 2^192.
const LN2: Fixed = [0x40f3_4326_7298_b62d, 0xc9e3_b398_03f2_f6af, 0xb172_17f7_d1cf_79ab];

/// 1/k! at index k.
static INVERSE_FACTORIALS: [Fixed; 43] = inverse_factorials();

/// 1/k! is below 2^−56 from this k on, so that it has two nonzero limbs; from [`ONE_LIMB`] on it is below
/// 2^−120 and has one.
const TWO_LIMBS: usize = 20;
const ONE_LIMB: usize = 34;

const fn inverse_factorials() -> [Fixed; 43] {
    let mut all = [[0, 0, 1 << 56]; 43];
    let mut k = 1;
    while k < all.len() {
        let (mut rest, mut i) = (0, LIMBS);
        while i > 0 {
            i -= 1;
            let part = rest << 64 | all[k - 1][i] as u128;
            all[k][i] = (part / k as u128) as u64;
            rest = part % k as u128;
        }
        k += 1;
    }
    all
}

/// The number ± magnitude · 2^exponent.
pub(crate) struct Difference {
    negative: bool,
    magnitude: Fixed,
    exponent: i32,
}

/// e^m + e^k − 1 for negative m ≥ k where the sum of the exponentials is close to 1.
pub(crate) fn sum_less_one(m: f64, k: f64) -> Difference {
    // e^k = 2^−n · e^r with |r| ≤ ln 2 / 2. For NaN, n is 0.
    let n = (-k * LOG2_E + 0.5) as u16;
    let (significand, exponent) = significand(k);
    // The subtraction wraps modulo 1; |r| is below 1/2, so its sign is known.
    let r = subtract(times(LN2, n), place(significand, exponent.saturating_add(64 * LIMBS as i32))).0;
    let is_negative = r[LIMBS - 1] >> 63 == 1;
    let r = if is_negative { negate(r) } else { r };
    let r = [r[0] >> 8 | r[1] << 56, r[1] >> 8 | r[2] << 56, r[2] >> 8];
    let power = series(r, is_negative, 0, 37);

    // 1 − e^−u = u · (1 − u/2 + u²/6 − …). Multiplied by 2^n, the product is close to e^r.
    let (significand, exponent) = self::significand(m);
    let ratio = series(place(significand, exponent + FRACTION), true, 1, 42);
    let u = place(significand, exponent.saturating_add(FRACTION + i32::from(n)));
    let (difference, negative) = subtract(power, product::<LIMBS>(&u, &ratio));
    let magnitude = if negative { negate(difference) } else { difference };
    Difference { negative, magnitude, exponent: -FRACTION - i32::from(n) }
}

impl Difference {
    /// The first 128 bits, their exponent, and whether nonzero bits follow. The bits are 0 for 0.
    fn leading(&self) -> (u128, i32, bool) {
        let [low, middle, high] = self.magnitude;
        let (mut top, mut rest) = (u128::from(high) << 64 | u128::from(middle), low);
        let mut exponent = self.exponent + 64;
        if top >> 64 == 0 {
            (top, rest) = (top << 64 | u128::from(rest), 0);
            exponent -= 64;
        }
        let zeros = top.leading_zeros();
        // `zeros` is below 64, unless the number is so short that `rest` is 0.
        top = top.checked_shl(zeros).unwrap_or(0) | u128::from(rest) >> (64 - zeros.min(64));
        (top, exponent - zeros as i32, rest.checked_shl(zeros).unwrap_or(0) != 0)
    }

    /// Whether the difference d is so small that log(1 + d) equals d in double precision: d² is far below an
    /// ulp of d.
    pub fn is_tiny(&self) -> bool {
        self.leading().1 < -127 - 64
    }

    /// Rounds to the nearest double, which may be subnormal.
    pub fn rounded(&self) -> f64 {
        let (top, exponent, mut inexact) = self.leading();
        // The result is rounded to a multiple of 2^unit.
        let unit = (exponent + 127 - 52).max(-1074);
        let cut = (unit - exponent).clamp(1, 128) as u32;
        let mut y = top.checked_shr(cut).unwrap_or(0) as u64;
        if unit - exponent <= 128 {
            let below = top << (128 - cut);
            inexact |= below << 1 != 0;
            let half = below >> 127 == 1;
            y += u64::from(half && (inexact || y & 1 == 1));
        }
        // A carry increments the exponent. The leading bit of a normal number adds 1 to its exponent field.
        let y = f64::from_bits((((unit + 1074) as u64) << 52).wrapping_add(y));
        if self.negative { -y } else { y }
    }

    /// The first 53 bits and the next 53 as two doubles, for a difference that is not tiny.
    pub fn parts(&self) -> [f64; 2] {
        let (top, exponent, _) = self.leading();
        let sign = if self.negative { -1.0 } else { 1.0 };
        [75, 22].map(|from| {
            let bits = (top >> from) as u64 & ((1 << 53) - 1);
            let unit = (exponent + from + 1023).clamp(1, 2046) as u64;
            sign * bits as f64 * f64::from_bits(unit << 52)
        })
    }
}

/// Decomposes |x| into an integer of 53 bits and an exponent of 2.
fn significand(x: f64) -> (u64, i32) {
    let (field, fraction) = (x.to_bits() >> 52 & 0x7ff, x.to_bits() & ((1 << 52) - 1));
    let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
    (significand, field.max(1) as i32 - 1075)
}

/// `x` · 2^`by` modulo 2^192, rounded down to an integer.
fn place(x: u64, by: i32) -> Fixed {
    [0, 1, 2].map(|limb| match by - 64 * limb {
        up @ 0..64 => x << up,
        down @ -63..0 => x >> -down,
        _ => 0,
    })
}

/// `x` · `n` modulo 2^192.
fn times(x: Fixed, n: u16) -> Fixed {
    let mut carry = 0;
    x.map(|limb| {
        let product = u128::from(limb) * u128::from(n) + carry;
        carry = product >> 64;
        product as u64
    })
}

/// `a` + `b` modulo 2^192.
fn add(a: Fixed, b: Fixed) -> Fixed {
    let mut carry = false;
    std::array::from_fn(|i| {
        let (sum, first) = a[i].overflowing_add(b[i]);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first | second;
        sum
    })
}

/// `a` − `b` modulo 2^192, and whether the difference is negative.
fn subtract(a: Fixed, b: Fixed) -> (Fixed, bool) {
    let mut borrow = false;
    let difference = std::array::from_fn(|i| {
        let (difference, first) = a[i].overflowing_sub(b[i]);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        borrow = first | second;
        difference
    });
    (difference, borrow)
}

fn negate(x: Fixed) -> Fixed {
    subtract([0; LIMBS], x).0
}

/// The fixed-point product of `x` and `y`, rounded down, where `y` has `N` nonzero limbs. The upper `N` limbs of `x`
/// are then enough.
#[inline(always)]
fn product<const N: usize>(x: &Fixed, y: &Fixed) -> Fixed {
    let mut sum = [0; 2 * LIMBS];
    for i in 0..N {
        let mut carry = 0;
        for (j, &limb) in y.iter().enumerate().take(N) {
            let part = u128::from(x[LIMBS - N + i]) * u128::from(limb) + u128::from(sum[i + j]) + carry;
            sum[i + j] = part as u64;
            carry = part >> 64;
        }
        sum[i + N] = carry as u64;
    }
    std::array::from_fn(|i| if i < N { sum[N - 1 + i] >> 56 | sum[N + i] << 8 } else { 0 })
}

/// The sum of (±x)^(k − first) / k! for `first` ≤ k ≤ `last`, with an error of at most 10 units of the last place for x
/// below 0.7.
fn series(x: Fixed, is_negative: bool, first: usize, last: usize) -> Fixed {
    let mut y = INVERSE_FACTORIALS[last];
    for k in (first..last).rev() {
        let more = match k {
            ONE_LIMB.. => product::<1>(&x, &y),
            TWO_LIMBS.. => product::<2>(&x, &y),
            _ => product::<LIMBS>(&x, &y),
        };
        let c = INVERSE_FACTORIALS[k];
        y = if is_negative { subtract(c, more).0 } else { add(c, more) };
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: mpmath.
    #[test]
    fn differences_are_rounded_correctly() {
        for (m, k, want) in [
            (-0.2, -1.7, 0.001_414_277_130_716_508),
            // Double-doubles would have 38 correct bits of the next result. In the result after that,
            // everything except the second double of ln 2 cancels.
            (-4.535_906_210_002_51e-5, -10.000_923_255_011_076, 2.502_640_616_526_390_8e-26),
            (-std::f64::consts::LN_2, -std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17),
            (-1.064_447_259_493_656_6e-7, -16.055_640_044_919_37, 2.447_677_935_991_264_5e-33),
            // The exact value is 322.08 times the smallest subnormal.
            (-7e-322, -738.3, 1.59e-321),
        ] {
            let got = sum_less_one(m, k);
            assert_eq!(got.rounded(), want, "{m:e}, {k:e}");
            let [hi, lo] = got.parts();
            assert!(hi + lo == want || want < f64::MIN_POSITIVE, "{m:e}, {k:e}");
        }
    }

    /// Machine code calls this function and cannot unwind, so it must return for arguments outside of its domain as
    /// well.
    #[test]
    fn any_arguments_give_something() {
        let edge_cases = [0.0, -1.0, -745.2, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::INFINITY, f64::NAN];
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = state ^ state >> 31;
            if bits.is_multiple_of(5) { edge_cases[(bits >> 8) as usize % 8] } else { f64::from_bits(bits) }
        };
        for _ in 0..100_000 {
            let difference = sum_less_one(random(), -random());
            assert!(!difference.rounded().is_nan());
            assert!(difference.is_tiny() || difference.parts()[0] != 0.0);
        }
    }
}
