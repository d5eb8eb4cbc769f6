//! Tests whether a float64 is so close to the midpoint of two float32 that it does not decide which of them is the
//! nearest. There are two tests; each is used where it takes fewer instructions.

use crate::functions::float64::Float64;
use crate::ops::{Cmp, Ops};

/// A mask of the lanes where the midpoint of two float32 is at most 2^−`bits` of `y` away from `y`, which
/// must not be subnormal in float32. The mask is false for infinities and NaN, whose low bits are all 0 or
/// all 1.
///
/// The low 29 bits of a midpoint are 2^28. In units of the last place of `y`, the midpoint must be less than
/// k = 2^(53 − bits) away. The low bits of `y` plus 2^28 + k are then less than 2k, apart from a carry.
#[inline(always)]
pub(super) fn is_near<O: Ops>(o: &mut O, y: O::V<f64>, bits: u32) -> O::M<f64> {
    let k = 1_u64 << (53 - bits);
    let y = o.bits::<f64>(y);
    let shift = o.splat((1 << 28) + k);
    let moved = o.add::<u64>(y, shift);
    let window = o.splat((1 << 29) - 2 * k);
    let moved = o.and::<u64>(moved, window);
    let zero = o.splat(0_u64);
    let near = o.cmp::<u64>(Cmp::Eq, moved, zero);
    o.mask_resize::<u64, f64>(near)
}

/// The float32 to which every value within 2^−`bits` of `y` ≥ 0 rounds, and a mask of the lanes where there is no such
/// float32. Rounding is monotonic, so it is enough to round both ends of the interval. This test also holds for
/// subnormal results, where [`is_near`] does not, and for NaN and infinities.
#[inline(always)]
pub(super) fn rounded<O: Ops>(o: &mut O, y: O::V<f64>, bits: u32) -> (O::V<f32>, O::M<f32>) {
    let width = f64::from_bits(u64::from(1023 - bits) << 52);
    let (low, high) = (o.fma_c(y, -width, y), o.fma_c(y, width, y));
    let (low, high) = (o.float_resize::<f64, f32>(low), o.float_resize::<f64, f32>(high));
    let differ = o.cmp::<f32>(Cmp::Lt, low, high);
    (high, differ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Scalar;

    /// The midpoint of a float32 and the next one.
    fn middle(low: f32) -> f64 {
        let high = f32::from_bits(low.to_bits() + 1);
        // The successor of the largest float32 counts as 2^128.
        let high = if high.is_finite() { f64::from(high) } else { 2_f64.powi(128) };
        (f64::from(low) + high) / 2.0
    }

    fn moved(y: f64, units: i64) -> f64 {
        f64::from_bits((y.to_bits() as i64 + units) as u64)
    }

    #[test]
    fn what_is_near_to_a_tie_is_found_and_nothing_else() {
        for bits in [40, 42, 51] {
            let k = 1_i64 << (53 - bits);
            for low in [f32::MIN_POSITIVE, 1.0, 1.999_999_9, 0.1, 3e38, f32::MAX] {
                let near = |units| is_near(&mut Scalar, moved(middle(low), units), bits);
                for units in [-k, 1 - k, -1, 0, 1, k - 1] {
                    assert!(near(units), "{low:e} {units}");
                    assert!(is_near(&mut Scalar, -moved(middle(low), units), bits), "-{low:e} {units}");
                }
                for units in [-k - 1, k, 100 * k, -100 * k] {
                    assert!(!near(units), "{low:e} {units}");
                }
                assert!(!is_near(&mut Scalar, f64::from(low), bits));
            }
            for y in [0.0, f64::INFINITY, f64::NAN, f64::from_bits(u64::MAX), f64::from(f32::NAN)] {
                assert!(!is_near(&mut Scalar, y, bits) && !is_near(&mut Scalar, -y, bits), "{y}");
            }
        }
    }

    /// The values include subnormals, whose midpoints are odd multiples of 2^−150, and the largest float32.
    #[test]
    fn a_rounding_is_given_where_it_is_one_for_the_whole_interval() {
        let least = f32::from_bits(1);
        for low in
            [0.0, least, 5.0 * least, f32::from_bits((1 << 23) - 1), f32::MIN_POSITIVE, 1.0, 0.1, f32::MAX]
        {
            for bits in [40, 42, 51] {
                let slack = middle(low) * 2_f64.powi(-(bits as i32));
                for (away, flags) in [(0.0, true), (0.5, true), (-0.5, true), (1.5, false), (-1.5, false)] {
                    let y = middle(low) + away * slack;
                    let (rounded, flagged) = rounded(&mut Scalar, y, bits);
                    assert_eq!(flagged, flags, "{low:e} {away} {bits}");
                    assert!(flagged || rounded.to_bits() == (y as f32).to_bits(), "{low:e} {away} {bits}");
                }
            }
        }
        for y in [0.0, f64::INFINITY, f64::from_bits(1), 1e300] {
            assert_eq!(rounded(&mut Scalar, y, 42), (y as f32, false));
        }
        let (nan, flagged) = rounded(&mut Scalar, f64::NAN, 42);
        assert!(nan.is_nan() && !flagged);
    }
}
