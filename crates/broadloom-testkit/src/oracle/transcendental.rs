//! The functions that the standard asks for approximations of: its special cases exactly, all else as the reference has
//! it.
//!
//! In: arguments taken apart. Out: the exact result, or one that no format tells from it; and whether a float is near
//! enough to it.
//! Must hold: the arms stand in the order in which the standard's cases exclude one another, NaN first. What the text
//! leaves open (1 to the power of NaN; -inf in logaddexp; hypot, which is of a later edition) is as IEEE 754 and the
//! definitions have it.

use std::cmp::Ordering;

use super::exact::{Dyadic, Real};
use crate::reference::{self, Function};
use crate::value::Format;
use Real::{Finite, Infinite, Nan};

const NAN: Real = Nan { negative: false };
const INFINITY: Real = Infinite { negative: false };

/// How much of a unit in the last place counts as nothing: a result this close to a float is that float. Only an
/// error of nearly a whole unit could make it another.
const NOTHING: i32 = -40;

/// What is lost of a unit in the last place of the greater of two numbers that cancel, as a binary exponent: what sums of
/// two float64 hold is 2^-98 of it.
const CANCELLED: i32 = -46;

pub(super) fn apply(function: &str, args: &[Real]) -> Option<Real> {
    let function = Function::from_name(function)?;
    match (function, args) {
        (Function::Atan2, &[y, x]) => Some(atan2(y, x)),
        (Function::Hypot, &[x, y]) => Some(hypot(x, y)),
        (Function::LogAddExp, &[x, y]) => Some(logaddexp(x, y)),
        (Function::Pow, &[x, y]) => Some(pow(x, y)),
        (_, &[x]) => unary(function, x),
        _ => None,
    }
}

/// Whether a result is less than a unit in the last place away from the exact one, and is right to the bit where
/// that is special or, but for next to nothing, a float.
///
/// An error that is next to nothing beside `slack` is no error.
pub(super) fn is_near(exact: Real, got: Real, format: Format, slack: Option<Dyadic>) -> bool {
    let nearest = exact.rounded(format);
    let is_nearest = got.encode(format) == nearest.encode(format);
    let x = match (exact, got) {
        (Finite(x), Finite(_) | Infinite { .. }) if x.magnitude != 0 => x,
        _ => return is_nearest,
    };
    // An infinity counts as the power of two that comes after the largest number.
    let place = |x: Real| match x {
        Finite(x) => x,
        _ => Dyadic { negative: x.is_negative(), magnitude: 1, exponent: format.emax + 1 },
    };
    let error_is_below = |y: Real, exponent: i32| {
        let bound = Dyadic { negative: false, magnitude: 1, exponent };
        place(y).add(Dyadic { negative: !x.negative, ..x }).compare_magnitude(bound).is_lt()
    };
    if binade(x) > format.emax || error_is_below(nearest, unit(x, format) + NOTHING) {
        return is_nearest;
    }
    let is_slack = slack.is_some_and(|slack| error_is_below(got, unit(slack, format) + CANCELLED));
    is_slack || got.is_negative() == x.negative && error_is_below(got, unit(x, format))
}

/// The binary exponent of a number that is not 0.
fn binade(x: Dyadic) -> i32 {
    127 - x.magnitude.leading_zeros() as i32 + x.exponent
}

/// The binary exponent of a unit in the last place of a number.
fn unit(x: Dyadic, format: Format) -> i32 {
    binade(x).max(1 - format.emax) - format.fraction_bits() as i32
}

/// The general case: finite arguments within the domain.
fn general(function: Function, x: Dyadic, y: Dyadic) -> Real {
    let float64 = Format { precision: 53, emax: 1023 };
    let [x, y] = [x, y].map(|x| f64::from_bits(Finite(x).encode(float64)));
    let (negative, magnitude, exponent) = reference::value(function, x, y);
    Real::finite(negative, magnitude, exponent)
}

fn unary(function: Function, x: Real) -> Option<Real> {
    use Function::*;
    let Some(one) = x.compare(Real::one(false)) else { return Some(NAN) };
    let minus_one = x.compare(Real::one(true))?;
    Some(match (function, x) {
        (Acos | Asin | Atanh, _) if one.is_gt() || minus_one.is_lt() => NAN,
        (Atanh, _) if one.is_eq() || minus_one.is_eq() => Infinite { negative: x.is_negative() },
        (Acosh, _) if one.is_lt() => NAN,
        (Acos | Acosh | Log | Log2 | Log10, _) if one.is_eq() => Real::zero(false),
        (Log | Log2 | Log10, _) if x.is_zero() => Infinite { negative: true },
        (Log | Log2 | Log10, _) if x.is_negative() => NAN,
        (Log1p, _) if minus_one.is_lt() => NAN,
        (Log1p, _) if minus_one.is_eq() => Infinite { negative: true },
        (Cos | Sin | Tan, Infinite { .. }) => NAN,
        (Cosh, Infinite { .. }) => INFINITY,
        (Exp, Infinite { negative: true }) => Real::zero(false),
        (Expm1, Infinite { negative: true }) => Real::one(true),
        (Tanh, Infinite { negative }) => Real::one(negative),
        (Atan, Infinite { .. }) => atan2(x, Real::one(false)),
        (_, Infinite { .. }) => x,
        (Cos | Cosh | Exp, _) if x.is_zero() => Real::one(false),
        _ if x.is_zero() && function != Acos => x,
        (_, Finite(x)) => general(function, x, x),
        (_, Nan { .. }) => NAN,
    })
}

fn atan2(y: Real, x: Real) -> Real {
    // A point on the same ray; at infinity, the diagonals and the axes are all that is left.
    let (y, x) = match (y, x) {
        (Nan { .. }, _) | (_, Nan { .. }) => return NAN,
        (Infinite { negative: below }, Infinite { negative: left }) => (Real::one(below), Real::one(left)),
        (Infinite { negative }, Finite(_)) => (Real::one(negative), Real::zero(false)),
        (Finite(_), Infinite { negative }) => (Real::zero(y.is_negative()), Real::one(negative)),
        (Finite(_), Finite(_)) => (y, x),
    };
    match (y, x) {
        _ if y.is_zero() && !x.is_negative() => y,
        (Finite(y), Finite(x)) => general(Function::Atan2, y, x),
        _ => NAN,
    }
}

fn hypot(x: Real, y: Real) -> Real {
    match (x, y) {
        (Infinite { .. }, _) | (_, Infinite { .. }) => INFINITY,
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        _ if y.is_zero() => x.with_sign(false),
        _ if x.is_zero() => y.with_sign(false),
        (Finite(x), Finite(y)) => general(Function::Hypot, x, y),
    }
}

fn logaddexp(x: Real, y: Real) -> Real {
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        (Infinite { negative: false }, _) | (_, Infinite { negative: false }) => INFINITY,
        // The logarithm of the other's exponential alone; a zero of either sign has that of 1, whose logarithm is +0.
        (Infinite { .. }, z) | (z, Infinite { .. }) if z.is_zero() => Real::zero(false),
        (Infinite { .. }, z) | (z, Infinite { .. }) => z,
        (Finite(x), Finite(y)) => general(Function::LogAddExp, x, y),
    }
}

fn pow(x: Real, y: Real) -> Real {
    if y.is_zero() || x.compare(Real::one(false)).is_some_and(Ordering::is_eq) {
        return Real::one(false);
    }
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        (_, Infinite { negative }) => match (x.with_sign(false).compare(Real::one(false)), negative) {
            (Some(Ordering::Equal), _) => Real::one(false),
            (Some(Ordering::Greater), false) | (Some(Ordering::Less), true) => INFINITY,
            _ => Real::zero(false),
        },
        (_, Finite(exponent)) => {
            // The exponent is ± an odd number × 2^lowest.
            let lowest = exponent.exponent + exponent.magnitude.trailing_zeros() as i32;
            let negative = x.is_negative() && lowest == 0;
            match x {
                Finite(_) if !x.is_zero() && x.is_negative() && lowest < 0 => NAN,
                Finite(base) if !x.is_zero() => general(Function::Pow, base, exponent),
                _ if x.is_zero() == exponent.negative => Infinite { negative },
                _ => Real::zero(negative),
            }
        }
    }
}
