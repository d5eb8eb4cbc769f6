//! The functions that the standard allows to be approximate. Special cases are exact, and other values come from the reference.
//!
//! The special cases and the reference are declared in [`reference`], once for each function. Where the standard leaves a
//! choice (1 to the power of NaN, -inf in logaddexp, and hypot, which is from a later edition), IEEE 754 and the mathematical
//! definitions decide.

use super::exact::{Dyadic, ExactReal};
use crate::reference::{self, Function, Special};
use crate::value::Format;
use ExactReal::{Finite, Infinite, Nan};

const NAN: ExactReal = Nan { negative: false };

/// The binary logarithm of the tolerance in ulps within which an exact result counts as a float. Only an error of nearly an ulp
/// could lead to another float.
const NOTHING: i32 = -40;

pub(super) fn apply(function: &str, args: &[ExactReal]) -> Option<ExactReal> {
    let function = Function::from_name(function)?;
    let (&[x, y] | &[x, y, ..]) = &[args, args].concat()[..] else { return None };
    if args.len() != function.arity() {
        return None;
    }
    let float64 = Format { precision: 53, emax: 1023 };
    let [x, y] = [x, y].map(|x| f64::from_bits(x.encode(float64)));
    Some(match function.special(x, y) {
        Some(Special::Nan) => NAN,
        Some(Special::Infinite(negative)) => Infinite { negative },
        Some(Special::Exactly(value)) => ExactReal::decode(value.to_bits(), float64),
        None => {
            let (negative, magnitude, exponent) = reference::value(function, x, y);
            ExactReal::finite(negative, magnitude, exponent)
        }
    })
}

/// Whether a result is less than an ulp away from the exact one. If the exact result is special, or within the tolerance of a
/// float, the result must have the exact bits.
pub(super) fn is_near(exact: ExactReal, got: ExactReal, format: Format) -> bool {
    let nearest = exact.rounded(format);
    let is_nearest = got.encode(format) == nearest.encode(format);
    let x = match (exact, got) {
        (Finite(x), Finite(_) | Infinite { .. }) if x.magnitude != 0 => x,
        _ => return is_nearest,
    };
    // An infinity counts as the power of two after the largest number.
    let place = |x: ExactReal| match x {
        Finite(x) => x,
        _ => Dyadic { negative: x.is_negative(), magnitude: 1, exponent: format.emax + 1 },
    };
    let error_is_below = |y: ExactReal, exponent: i32| {
        let bound = Dyadic { negative: false, magnitude: 1, exponent };
        place(y).add(Dyadic { negative: !x.negative, ..x }).compare_magnitude(bound).is_lt()
    };
    if binade(x) > format.emax || error_is_below(nearest, unit(x, format) + NOTHING) {
        return is_nearest;
    }
    got.is_negative() == x.negative && error_is_below(got, unit(x, format))
}

/// The binary exponent of a number that is not 0.
fn binade(x: Dyadic) -> i32 {
    127 - x.magnitude.leading_zeros() as i32 + x.exponent
}

/// The binary exponent of an ulp of a number.
fn unit(x: Dyadic, format: Format) -> i32 {
    binade(x).max(1 - format.emax) - format.fraction_bits() as i32
}
