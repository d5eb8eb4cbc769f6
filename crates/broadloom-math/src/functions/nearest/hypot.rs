//! The nearest float32 to √(x1² + x2²), exact ties included.
//!
//! # Proof
//!
//! Let x and y be float32, neither NaN nor infinite, v = √(x² + y²), and ○ the rounding of float64.
//!
//! 1. *x² and y² are exact in float64.* They have at most 48 bits, are 0 or at least 2^−298, and below 2^256.
//! 2. *r = ○√○(x² + y²) is within 2^−51·r of v.* The sum is one fused operation on the exact y·y and x², which are positive: it
//!    is off by a factor within 1 ± 2^−53, of which the root leaves 1 ± 2^−53.9; the root is rounded by another 1 ± 2^−53.
//!    Nothing under- or overflows: a sum that is not 0 is from 2^−298 to 2^257.
//! 3. *Outside of the slow path the result is the nearest.* The ends ○(r − 2^−51·r) and ○(r + 2^−51·r) differ from r by 2^−51·r
//!    less at most 2^−53·r, which is more than |r − v|: v lies between them. Rounding to float32 keeps the order. Where both ends
//!    round to one float32, v does too.
//! 4. *The slow path compares v with the right middle.* A lane takes it only if a middle m of two adjacent float32 is within
//!    2^−50.9·r of r, and takes as m the middle between the two float32 around r: the bits of r below float32's are replaced by
//!    100…0. For a subnormal result the least normal number is added before and subtracted afterwards, both exactly, so that the
//!    last place is 2^−149. Two middles are at least 2^−24·r apart, so m is the only one that can be between r and v.
//! 5. *The comparison is exact.* m has at most 25 bits: m² has 50 and is exact. x² + y² is s + e exactly, by Knuth's sum of two
//!    (s = ○(x² + y²)). s and m² differ by less than a factor 1 + 2^−49: s − m² is exact by Sterbenz's lemma. The sum of two
//!    float64 (s − m²) + e, rounded, has the sign of the exact one, and is 0 only if that is: sums of float64 don't underflow to
//!    0.
//! 6. *So is the rounding.* v > m, v = m and v < m as x² + y² − m² is positive, 0 or negative. In the first and last case the
//!    float64 next to m on that side is rounded to float32, which gives the float32 on that side of m; in the other m itself,
//!    which is rounded to even. For m = 2^128 − 2^103, the middle between the greatest float32 and 2^128, that is an infinity, as
//!    IEEE 754 has it.
//! 7. An infinite operand gives infinity, also beside NaN, by selection; another NaN comes through the arithmetic as NaN.

use crate::functions::compare::magnitude;
use crate::functions::float64::Float64;
use crate::functions::nearest::{Nearest, tie};
use crate::functions::power::Hypot;
use crate::host::Scalar;
use crate::ops::{Binary, Cmp, Ops, Rare2};

/// The number of correct bits of the float64 root: the sum is rounded once, at 2^−53, and its root once more.
const GOOD: u32 = 51;

/// √(x1² + x2²) in float64, where the sum and the root are rounded. The squares of float32 are exact in float64, and
/// neither overflow nor underflow.
#[inline(always)]
fn root<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<f64> {
    let (x1, x2) = (o.float_resize::<f32, f64>(x1), o.float_resize::<f32, f64>(x2));
    let square = o.mul::<f64>(x1, x1);
    let sum = o.fma::<f64>(x2, x2, square);
    o.sqrt::<f64>(sum)
}

impl Binary<f32> for Nearest<Hypot> {
    type Out = f32;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<f32> {
        let y = root(o, x1, x2);
        let (y, flagged) = tie::rounded(o, y, GOOD);
        let y = o.rare2::<BesideTie, f32>(flagged, x1, x2, y);
        // An infinite operand gives infinity, even if the other one is NaN.
        let infinity = o.splat(f32::INFINITY);
        let [first, second] = [x1, x2].map(|x| {
            let bits = magnitude::<O, f32>(o, x);
            let a = o.of_bits::<f32>(bits);
            o.cmp::<f32>(Cmp::Eq, a, infinity)
        });
        let infinite = o.mask_or::<f32>(first, second);
        o.select::<f32>(infinite, infinity, y)
    }
}

/// The slow path, for roots on or next to the midpoint of two float32: compares the sum of the squares with the square
/// of the midpoint, exactly.
struct BesideTie;

impl Rare2<f32> for BesideTie {
    #[inline(always)]
    fn call(x1: f32, x2: f32) -> f32 {
        let o = &mut Scalar;
        let y = root(o, x1, x2);
        let least = f64::from(f32::MIN_POSITIVE);
        // Subnormals have the same spacing as the smallest normal numbers.
        let middle = if y < least { middle_around(y + least) - least } else { middle_around(y) };
        // The midpoint has 25 bits, so its square is exact. So is the difference below, since its operands are close
        // together.
        let (x1, x2) = (f64::from(x1), f64::from(x2));
        let sum = o.two_sum(x1 * x1, x2 * x2);
        let above = (sum.hi - middle * middle) + sum.lo;
        // A float64 adjacent to the midpoint rounds like every other value on that side of it.
        let y = if above > 0.0 {
            f64::from_bits(middle.to_bits() + 1)
        } else if above < 0.0 {
            f64::from_bits(middle.to_bits() - 1)
        } else {
            middle
        };
        y as f32
    }
}

/// The midpoint of the two float32 around a positive `y` that is in float32's normal range.
fn middle_around(y: f64) -> f64 {
    f64::from_bits(y.to_bits() & !((1 << 29) - 1) | 1 << 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hypot(x1: f32, x2: f32) -> f32 {
        <Nearest<Hypot>>::call(&mut Scalar, x1, x2)
    }

    /// The largest integer whose square is at most `x`.
    fn integer_root(x: u128) -> u128 {
        let mut root = (x as f64).sqrt() as u128;
        while root * root > x {
            root -= 1;
        }
        while (root + 1) * (root + 1) <= x {
            root += 1;
        }
        root
    }

    /// The nearest float32 to √(a² + b²) for nonzero integers below 2^38, computed with integers only.
    fn exact(a: u64, b: u64) -> f32 {
        const SCALE: u32 = 24;
        let [a, b] = [a, b].map(|side| u128::from(side) << SCALE);
        let sum = a * a + b * b;
        let root = integer_root(sum);
        let drop = 128 - root.leading_zeros() - 24;
        let kept = root >> drop;
        let middle = (2 * kept + 1) << (drop - 1);
        let up = match sum.cmp(&(middle * middle)) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => kept & 1 == 1,
            std::cmp::Ordering::Greater => true,
        };
        // A carry out of the 24 bits gives a power of two, which is exact in float32.
        (kept + u128::from(up)) as f32 * 2_f32.powi(drop as i32 - SCALE as i32)
    }

    fn check(a: u64, b: u64) {
        assert_eq!((a as f32 as u64, b as f32 as u64), (a, b), "not float32");
        let wanted = exact(a, b);
        for scale in [0, -40, 60, -149] {
            let (x1, x2) = (a as f64 * 2_f64.powi(scale), b as f64 * 2_f64.powi(scale));
            let wanted = f64::from(wanted) * 2_f64.powi(scale);
            // Scaling both operands scales the result, unless it leaves the normal range.
            if wanted < f64::from(f32::MIN_POSITIVE) || wanted > f64::from(f32::MAX) {
                continue;
            }
            let (x1, x2) = (x1 as f32, x2 as f32);
            for [x1, x2] in [[x1, x2], [x2, x1], [-x1, x2], [-x2, -x1]] {
                assert_eq!(f64::from(hypot(x1, x2)), wanted, "{a} {b} 2^{scale}");
            }
        }
    }

    /// Right triangles whose hypotenuse is an odd integer of 25 bits are exact ties. Operands next to them miss the tie
    /// by as little as float32 allows.
    #[test]
    fn ties_go_to_even_and_what_is_beside_them_to_its_side() {
        let (mut ties, mut seen) = (0, [0; 2]);
        // p² + q² is 1 modulo 4, and three times that is 3 modulo 4, so that ties round up and down.
        for factor in [1, 3, 7] {
            for p in (2..5_800_u64).step_by(7) {
                for q in (1..p).step_by(11).filter(|q| (p - q) % 2 == 1) {
                    let [a, b, c] = [p * p - q * q, 2 * p * q, p * p + q * q].map(|side| factor * side);
                    let are_floats = |sides: &[u64]| sides.iter().all(|&side| side as f32 as u64 == side);
                    if !(1 << 24..1 << 25).contains(&c) || !are_floats(&[a, b]) {
                        continue;
                    }
                    ties += 1;
                    seen[(c >> 1 & 1) as usize] += 1;
                    check(a, b);
                    for (da, db) in [(1, 0), (0, 1), (-1, 0), (0, -1), (1, -1), (-1, 1)] {
                        let [a, b] = [a as i64 + da, b as i64 + db].map(|side| side as u64);
                        if are_floats(&[a, b]) {
                            check(a, b);
                        }
                    }
                }
            }
        }
        assert!(ties > 1000 && seen.iter().all(|&n| n > 100), "{ties} {seen:?}");
    }

    /// One operand is so small that it only decides on which side of a tie, or of a float32, the root lies.
    #[test]
    fn a_small_operand_decides_and_random_ones_are_the_nearest() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for _ in 0..200_000 {
            let shift = next() % 24;
            let a = (next() % (1 << 24)).max(1) << (next() % 14);
            let b = (next() % (1 << 24)).max(1) >> shift;
            check(a, b);
        }
        // The root of a² + b² exceeds a by at most b²/2a.
        for b in 1..3000 {
            check((1 << 24) - 1 - b % 7, b);
            check(((1 << 24) - 1 - b % 7) << 13, b << 1);
        }
    }

    /// All pairs of small subnormals, whose roots have ties at odd multiples of 2^−150, and the ends of the range.
    #[test]
    fn subnormal_numbers_and_the_ends() {
        for a in 0..400_u64 {
            for b in 0..400_u64 {
                let sum = u128::from(a * a + b * b);
                let root = integer_root(sum);
                let wanted = root + u128::from(sum - root * root > root);
                assert_eq!(
                    u128::from(hypot(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits()),
                    wanted
                );
            }
        }
        assert_eq!(hypot(f32::INFINITY, f32::NAN), f32::INFINITY);
        assert_eq!(hypot(f32::NAN, f32::NEG_INFINITY), f32::INFINITY);
        assert!(hypot(f32::NAN, 1.0).is_nan());
        assert_eq!(hypot(-0.0, 0.0).to_bits(), 0);
        assert_eq!(hypot(f32::MAX, f32::MAX), f32::INFINITY);
        assert_eq!(hypot(f32::MAX, 1.0), f32::MAX);
    }
}
