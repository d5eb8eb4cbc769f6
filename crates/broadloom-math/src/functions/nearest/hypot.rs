//! The nearest float32 to √(x1² + x2²), exact ties included. docs/nearest.md has the proof.

use crate::functions::declare_half_path;
use crate::functions::float64::Float64;
use crate::functions::nearest::tie;
use crate::host::Scalar;
use crate::ops::{Binary, Cmp, Ops, Rare2};

/// The nearest float32 to √(x1² + x2²)
#[derive(Clone, Copy, Debug)]
pub struct NearestHypot;

declare_half_path!(Own: NearestHypot);

/// Bits that the float64 root is good for: the sum is rounded once, at 2^−53, and the root of it once more.
const GOOD: u32 = 51;

/// √(x1² + x2²) of magnitudes, both rounded: float32's squares are exact in float64, and neither over- nor underflow.
#[inline(always)]
fn root<O: Ops>(o: &mut O, a1: O::V<f64>, a2: O::V<f64>) -> O::V<f64> {
    let square = o.mul::<f64>(a1, a1);
    let sum = o.fma::<f64>(a2, a2, square);
    o.sqrt::<f64>(sum)
}

impl Binary<f32> for NearestHypot {
    type Out = f32;
    #[inline(always)]
    fn call<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<f32> {
        let (x1, x2) = (o.float_resize::<f32, f64>(x1), o.float_resize::<f32, f64>(x2));
        let (a1, a2) = (o.abs(x1), o.abs(x2));
        let y = root(o, a1, a2);
        let flagged = tie::is_near_of_any(o, y, GOOD);
        let y = o.rare2::<BesideTie, f64>(flagged, a1, a2, y);
        // An infinite operand, also beside NaN.
        let first = o.is(a1, Cmp::Eq, f64::INFINITY);
        let second = o.is(a2, Cmp::Eq, f64::INFINITY);
        let infinite = o.mask_or::<f64>(first, second);
        let y = o.put(infinite, f64::INFINITY, y);
        o.float_resize::<f64, f32>(y)
    }
}

/// A float64 on the right side of the middle of two float32, or the middle itself: the sum of the squares is compared
/// with the middle's square, exactly.
struct BesideTie;

impl Rare2<f64> for BesideTie {
    fn call(a1: f64, a2: f64) -> f64 {
        let o = &mut Scalar;
        let y = root(o, a1, a2);
        let least = f64::from(f32::MIN_POSITIVE);
        // The middle between the float32 on either side; a subnormal's neighbours are as far as the least normal number's.
        let middle = if y < least { middle_above(y + least) - least } else { middle_above(y) };
        // Of 25 bits, so that its square is exact, and so is the difference of two numbers so near to one another.
        let sum = o.two_sum(a1 * a1, a2 * a2);
        let above = (sum.hi - middle * middle) + sum.lo;
        if above > 0.0 {
            f64::from_bits(middle.to_bits() + 1)
        } else if above < 0.0 {
            f64::from_bits(middle.to_bits() - 1)
        } else {
            middle
        }
    }
}

/// The middle of two neighbours among the float32 between which a positive `y` is that is no subnormal one.
fn middle_above(y: f64) -> f64 {
    f64::from_bits(y.to_bits() & !((1 << 29) - 1) | 1 << 28)
}
