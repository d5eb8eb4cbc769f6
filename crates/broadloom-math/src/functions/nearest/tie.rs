//! Whether a float64 is so near to the middle of two float32 that it doesn't decide which of them is the nearest.

use crate::functions::float64::Float64;
use crate::ops::{Cmp, Ops};

/// Where the middle of two float32 is at most 2^−`bits` of `y` away, for a `y` that is no subnormal float32. Never of
/// infinities and NaN, whose low bits are all 0 or all 1.
///
/// The middle has the low 29 bits 2^28. In units of the last place of `y` it is less than k = 2^(53 − bits) away, so that
/// these bits and 2^28 + k add up to less than 2k, but for a carry.
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

/// As [`is_near`], for any `y`: among the subnormal float32, all of which have the last place of the least normal number,
/// with that number added.
#[inline(always)]
pub(super) fn is_near_of_any<O: Ops>(o: &mut O, y: O::V<f64>, bits: u32) -> O::M<f64> {
    let a = o.abs(y);
    let least = f64::from(f32::MIN_POSITIVE);
    let small = o.is(a, Cmp::Lt, least);
    let moved = o.add_c(a, least);
    let y = o.select::<f64>(small, moved, a);
    is_near(o, y, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Scalar;

    /// A float64 so far from the middle of a float32 and the next one, in units of its own last place.
    fn from_middle(low: f32, units: i64) -> f64 {
        let high = f32::from_bits(low.to_bits() + 1);
        let middle = if high.is_finite() {
            (f64::from(low) + f64::from(high)) / 2.0
        } else {
            2_f64.powi(128) - 2_f64.powi(103)
        };
        f64::from_bits((middle.to_bits() as i64 + units) as u64)
    }

    #[test]
    fn what_is_near_to_a_tie_is_found_and_nothing_else() {
        for bits in [40, 42, 51] {
            let k = 1_i64 << (53 - bits);
            for low in [f32::MIN_POSITIVE, 1.0, 1.999_999_9, 0.1, 3e38, f32::MAX] {
                for sign in [1.0, -1.0] {
                    let flags = |units: i64| {
                        let y = sign * from_middle(low, units);
                        [is_near(&mut Scalar, y, bits), is_near_of_any(&mut Scalar, y, bits)]
                    };
                    for units in [-k, 1 - k, -1, 0, 1, k - 1] {
                        assert_eq!(flags(units), [true; 2], "{low:e} {units}");
                    }
                    for units in [-k - 1, k, 100 * k, -100 * k] {
                        assert_eq!(flags(units), [false; 2], "{low:e} {units}");
                    }
                }
                assert!(!is_near(&mut Scalar, f64::from(low), bits));
            }
            for y in [0.0, f64::INFINITY, f64::NAN, f64::from_bits(u64::MAX), f64::from(f32::NAN)] {
                assert!(!is_near(&mut Scalar, y, bits) && !is_near_of_any(&mut Scalar, -y, bits), "{y}");
            }
        }
    }

    /// Middles between subnormal float32 are odd multiples of 2^−150.
    #[test]
    fn ties_of_subnormal_numbers_are_others() {
        let unit = 2_f64.powi(-150);
        for multiple in [1.0, 3.0, 8_388_607.0, 16_777_215.0] {
            for sign in [1.0, -1.0] {
                let middle = sign * multiple * unit;
                for factor in [1.0, 1.0 + 2_f64.powi(-50), 1.0 - 2_f64.powi(-50)] {
                    assert!(is_near_of_any(&mut Scalar, middle * factor, 42), "{multiple}");
                }
                // Twice as far off as the least normal number allows.
                let off = unit * 2_f64.powi(24 - 40);
                assert!(!is_near_of_any(&mut Scalar, middle + off, 42), "{multiple}");
                assert!(!is_near_of_any(&mut Scalar, middle + sign * unit, 42), "{multiple}");
            }
        }
    }
}
